//! Charts of a landmark: how a correction is applied to its place z relative to a centre, and what that does to errors.
//!
//! A correction δz has a part along z, the relative change of range s = z·δz/|z|², and a rotation τ = z × δz/|z|². A
//! chart is z⁺ = f(s) Exp(τ) z. In the chart's own coordinates the correction is an addition, so that the covariance in
//! these coordinates does not change; what it becomes for δz is the derivative.

use lienav_lie::{LieGroup, So3, hat};
use nalgebra::{Matrix3, Vector3};
use serde::{Deserialize, Serialize};

/// Coordinates in which corrections of a landmark add up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Chart {
    /// Its place in (x, y, z), moved by the exponential of SE₂₊ₙ(3). Propagation is linear in it.
    Cartesian,
    /// Bearing and log range, f(s) = eˢ: the symmetry SOT(3).
    LogRange,
    /// Bearing and inverse range, f(s) = 1/(1 − s). Pixels are almost linear in it.
    #[default]
    InverseRange,
}

/// Where the chart of a landmark is centred.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Centre {
    /// At the sensor of now: each update has its own chart.
    Sensor,
    /// Where the sensor was when it saw the landmark first: one chart for as long as the landmark lives.
    #[default]
    FirstSight,
}

/// A correction may bring a landmark nearer or farther by this factor at most: beyond it, the inverse range would
/// change sign.
const LARGEST_FACTOR: f64 = 10.0;

/// A landmark nearer to the centre than this is in (x, y, z), m.
const NEAREST_M: f64 = 1e-6;

impl Chart {
    fn is_cartesian(self, z: &Vector3<f64>) -> bool {
        self == Self::Cartesian || z.norm_squared() < NEAREST_M * NEAREST_M
    }

    /// z⁺, and ∂z⁺/∂(δz) at this δz.
    pub fn retract(self, z: &Vector3<f64>, dz: &Vector3<f64>) -> (Vector3<f64>, Matrix3<f64>) {
        if self.is_cartesian(z) {
            return (z + dz, Matrix3::identity());
        }
        let square = z.norm_squared();
        let (s, tau) = (z.dot(dz) / square, z.cross(dz) / square);
        let limit = LARGEST_FACTOR.ln();
        let (factor, slope) = match self {
            Self::Cartesian => (1.0 + s, 1.0),
            Self::LogRange => {
                let factor = s.clamp(-limit, limit).exp();
                (factor, factor)
            }
            Self::InverseRange => {
                let factor = 1.0 / (1.0 - s).clamp(1.0 / LARGEST_FACTOR, LARGEST_FACTOR);
                (factor, factor * factor)
            }
        };
        let turned = So3::exp(&tau) * *z;
        let mut derivative = turned * z.transpose() * (slope / square);
        let by_tau = hat(&(turned * -factor));
        for (k, mut column) in
            (hat(z) / square).column_iter().enumerate().map(|(k, c)| (k, So3::dexp(&tau, &c.into_owned())))
        {
            column = by_tau * column;
            let mut sum = derivative.column_mut(k);
            sum += column;
        }
        (turned * factor, derivative)
    }

    /// The correction that brings a landmark from `z` to `next`; `None` where that is more than a chart allows for.
    pub fn correction(self, z: &Vector3<f64>, next: &Vector3<f64>) -> Option<Vector3<f64>> {
        if self.is_cartesian(z) {
            return Some(next - z);
        }
        let ratio = next.norm() / z.norm();
        if !(1.0 / LARGEST_FACTOR..=LARGEST_FACTOR).contains(&ratio) {
            return None;
        }
        let s = match self {
            Self::Cartesian => ratio - 1.0,
            Self::LogRange => ratio.ln(),
            Self::InverseRange => 1.0 - 1.0 / ratio,
        };
        let axis = z.cross(next);
        let length = axis.norm();
        let angle = length.atan2(z.dot(next));
        let tau = if length > 0.0 { axis * (angle / length) } else { Vector3::zeros() };
        Some(z * s + tau.cross(z))
    }
}
