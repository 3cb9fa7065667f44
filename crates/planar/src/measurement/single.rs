//! Measurements of one number: a range alone, and a bearing alone. Neither says where a landmark is; both say along
//! which line it lies.

use crate::measurement::position::is_between;
use crate::measurement::range_bearing::MAX_BEARING_RAD;
use crate::measurement::{Component, LandmarkMeasurement, TOO_NEAR_M};
use crate::output::DropReason;
use lienav_lie::{rotation, skew, wrap_angle};
use nalgebra::{Matrix1, Matrix1x2, Matrix2, Vector1, Vector2};
use std::f64::consts::TAU;

/// The most places that one measurement initializes a landmark with.
pub const MAX_HYPOTHESES: usize = 48;

/// A range, m: h(z) = |z|. Radio beacons and sonar give it. A part of the measurements may be too long, because
/// something stood in the line of sight; none is too short.
#[derive(Clone, Debug, PartialEq)]
pub struct Range {
    /// Standard deviation of a range in line of sight, m.
    pub std_m: f64,
    /// Nearer landmarks are not read, m.
    pub min_range_m: f64,
    /// Farther landmarks are not read, m.
    pub max_range_m: f64,
    /// The probability that a measurement is too long.
    pub late_probability: f64,
    /// By how much it is then too long at most, m: any length up to this is as probable.
    pub late_max_m: f64,
}

impl LandmarkMeasurement<1> for Range {
    fn components(&self) -> [Component; 1] {
        [Component::Range]
    }

    fn noise(&self) -> Matrix1<f64> {
        Matrix1::new(self.std_m * self.std_m)
    }

    fn predict(&self, z: &Vector2<f64>) -> Vector1<f64> {
        Vector1::new(z.norm())
    }

    /// zᵀ/r.
    fn jacobian(&self, z: &Vector2<f64>) -> Option<Matrix1x2<f64>> {
        let r = z.norm();
        (r >= TOO_NEAR_M).then(|| z.transpose() / r)
    }

    /// A range of zero is that of a device that heard nothing.
    fn read(&self, observed: &Vector1<f64>) -> Result<Vector1<f64>, DropReason> {
        if observed.x <= 0.0 {
            return Err(DropReason::Absurd);
        }
        let is_in_range = is_between(observed.x, self.min_range_m, self.max_range_m);
        if is_in_range { Ok(*observed) } else { Err(DropReason::OutOfRange) }
    }

    /// Normal distributions on a circle of the radius that was read, as many as keep each nearly straight: an arc of
    /// standard deviation α has a sagitta of rα²/2, which is to be no more than a part of the noise of the range.
    fn hypotheses(&self, read: &Vector1<f64>, stated: &Matrix1<f64>) -> Vec<(Vector2<f64>, Matrix2<f64>)> {
        let (r, std) = (read.x, stated.x.sqrt());
        let wanted = TAU / (SPACING * (2.0 * SAGITTA * std / r).sqrt());
        let count = wanted.ceil().clamp(4.0, MAX_HYPOTHESES as f64);
        let square = (TAU / (SPACING * count)).powi(2);
        // The mean of r cos a and the variances of r cos a and r sin a, a ~ N(0, α²).
        let (along, across) = (0.5 * (1.0 - (-square).exp()).powi(2), 0.5 * (1.0 - (-2.0 * square).exp()));
        let own = Matrix2::new(stated.x + r * r * along, 0.0, 0.0, r * r * across);
        let place = |k: usize| {
            let turn = rotation(TAU * k as f64 / count);
            (turn * Vector2::new(r * (-0.5 * square).exp(), 0.0), turn * own * turn.transpose())
        };
        (0..count as usize).map(place).collect()
    }

    /// The share of measurements in line of sight among those with this residual: those that are too long spread evenly
    /// over [`Range::late_max_m`], blurred by the variance.
    fn trust(&self, residual: &Vector1<f64>, variance: &Matrix1<f64>) -> f64 {
        if self.late_probability <= 0.0 || self.late_max_m <= 0.0 {
            return 1.0;
        }
        let std = variance.x.sqrt();
        let up_to = |x: f64| 0.5 * libm::erfc(-x / (std * std::f64::consts::SQRT_2));
        let late = (up_to(residual.x) - up_to(residual.x - self.late_max_m)) / self.late_max_m;
        let fair = (-0.5 * (residual.x / std).powi(2)).exp() / (std * TAU.sqrt());
        let (fair, late) = ((1.0 - self.late_probability) * fair, self.late_probability * late);
        if fair + late > 0.0 { fair / (fair + late) } else { 1.0 }
    }

    fn sees(&self, z: &Vector2<f64>) -> bool {
        is_between(z.norm(), self.min_range_m, self.max_range_m)
    }
}

/// A bearing, rad, counterclockwise from the sensor's x axis: h(z) = ∠z. A camera that tells marks apart gives it.
#[derive(Clone, Debug, PartialEq)]
pub struct Bearing {
    /// Standard deviation of a bearing, rad.
    pub std_rad: f64,
    /// No landmark is nearer than this, m.
    pub min_range_m: f64,
    /// No landmark is farther than this, m.
    pub max_range_m: f64,
}

impl LandmarkMeasurement<1> for Bearing {
    fn components(&self) -> [Component; 1] {
        [Component::Bearing]
    }

    fn noise(&self) -> Matrix1<f64> {
        Matrix1::new(self.std_rad * self.std_rad)
    }

    fn predict(&self, z: &Vector2<f64>) -> Vector1<f64> {
        Vector1::new(z.y.atan2(z.x))
    }

    /// (Jz)ᵀ/r².
    fn jacobian(&self, z: &Vector2<f64>) -> Option<Matrix1x2<f64>> {
        let square = z.norm_squared();
        (square >= TOO_NEAR_M * TOO_NEAR_M).then(|| skew(z).transpose() / square)
    }

    /// Turns do not matter; many of them are no bearing.
    fn read(&self, observed: &Vector1<f64>) -> Result<Vector1<f64>, DropReason> {
        if observed.x.abs() > MAX_BEARING_RAD {
            return Err(DropReason::Absurd);
        }
        Ok(Vector1::new(wrap_angle(observed.x)))
    }

    /// Normal distributions along the line of sight, whose distances grow as a geometric series with their standard
    /// deviations (Kwok and Dissanayake 2004).
    fn hypotheses(&self, read: &Vector1<f64>, stated: &Matrix1<f64>) -> Vec<(Vector2<f64>, Matrix2<f64>)> {
        let ratio = (1.0 + DEPTH) / (1.0 - DEPTH);
        let nearest = self.min_range_m.max(1e-3 * self.max_range_m).max(TOO_NEAR_M);
        let turn = rotation(read.x);
        let ranges = std::iter::successors(Some(nearest / (1.0 - DEPTH)), |r| Some(r * ratio));
        let place = |r: f64| {
            let own = Matrix2::new((DEPTH * r).powi(2), 0.0, 0.0, r * r * stated.x);
            (turn * Vector2::new(r, 0.0), turn * own * turn.transpose())
        };
        let near = ranges.take(MAX_HYPOTHESES).take_while(|r| r * (1.0 - DEPTH) < self.max_range_m);
        near.map(place).collect()
    }

    fn sees(&self, z: &Vector2<f64>) -> bool {
        is_between(z.norm(), self.min_range_m, self.max_range_m)
    }
}

/// From one of equal normal distributions to the next, in standard deviations: their sum is level to three hundredths.
const SPACING: f64 = 1.7;
/// The sagitta of a normal distribution on a circle, in standard deviations of the range.
const SAGITTA: f64 = 0.3;
/// The standard deviation of a distance along a line of sight, as a part of the distance.
const DEPTH: f64 = 0.1;
