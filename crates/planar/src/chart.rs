//! Charts of a landmark seen from the robot: how a small correction is applied to z, and what that does to errors.
//!
//! As complex numbers, every chart here is z⁺ = z f(w) with w = δz/z: the real part of w is the relative change of
//! range, the imaginary part the change of bearing. In the chart's own coordinates the correction is an addition, so
//! the covariance in these coordinates does not change; what it becomes for δz is the derivative.

use nalgebra::{Matrix2, Vector2};
use serde::{Deserialize, Serialize};

/// Coordinates in which corrections of a landmark add up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Chart {
    /// z itself: f(w) = 1 + w. Propagation is linear in it.
    Cartesian,
    /// (log r, β): f(w) = eʷ, the polar symmetry SOT(2) of equivariant filters.
    LogRange,
    /// (1/r, β): f(w) = e^{i Im w}/(1 − Re w). Bearings of a stereo pair are almost linear in it.
    InverseRange,
}

/// Where the chart of a landmark is centred.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Centre {
    /// At the current position of the robot: each scan has its own chart.
    Robot,
    /// Where the robot was when it saw the landmark first: one chart for as long as the landmark is in view. Bearings
    /// from anywhere near are almost linear in the inverse range and the bearing from there.
    FirstSight,
}

/// The charts of the landmarks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Charts {
    /// The coordinates.
    pub kind: Chart,
    /// Where the charts are centred.
    pub centre: Centre,
}

/// A correction may bring a landmark nearer by this factor at most: beyond it, the inverse range would change sign.
const LARGEST_INVERSE: f64 = 10.0;

impl Chart {
    /// The correction that brings a landmark from `z` to `next`; `None` where that is more than a chart allows for.
    pub fn correction(self, z: &Vector2<f64>, next: &Vector2<f64>) -> Option<Vector2<f64>> {
        let square = z.norm_squared();
        if self == Self::Cartesian || square < 1e-12 {
            return Some(next - z);
        }
        let ratio = (next.norm_squared() / square).sqrt();
        if !(1.0 / LARGEST_INVERSE..=LARGEST_INVERSE).contains(&ratio) {
            return None;
        }
        let (dot, cross) = (z.dot(next), z.x * next.y - z.y * next.x);
        let stretch = match self {
            Self::Cartesian => ratio - 1.0,
            Self::LogRange => ratio.ln(),
            Self::InverseRange => 1.0 - 1.0 / ratio,
        };
        Some(conformal(z) * Vector2::new(stretch, cross.atan2(dot)))
    }

    /// z⁺, and ∂z⁺/∂(δz) at this δz.
    pub fn retract(self, z: &Vector2<f64>, dz: &Vector2<f64>) -> (Vector2<f64>, Matrix2<f64>) {
        let square = z.norm_squared();
        if self == Self::Cartesian || square < 1e-12 {
            return (z + dz, Matrix2::identity());
        }
        let w = Vector2::new(z.dot(dz), z.x * dz.y - z.y * dz.x) / square;
        let (scale, stretch) = match self {
            Self::Cartesian => (1.0, 1.0),
            Self::LogRange => (w.x.clamp(-LARGEST_INVERSE.ln(), LARGEST_INVERSE.ln()).exp(), 1.0),
            Self::InverseRange => {
                let inverse = (1.0 - w.x).clamp(1.0 / LARGEST_INVERSE, LARGEST_INVERSE);
                (1.0 / inverse, 1.0 / inverse)
            }
        };
        let (s, c) = w.y.sin_cos();
        let next = scale * Vector2::new(c * z.x - s * z.y, s * z.x + c * z.y);
        // δz⁺ = z⁺ (stretch·Re δw + i Im δw), δw = δ(δz)/z.
        let derivative = conformal(&next) * Matrix2::new(stretch, 0.0, 0.0, 1.0) * conformal(z).transpose() / square;
        (next, derivative)
    }
}

/// Multiplication by z as a matrix.
fn conformal(z: &Vector2<f64>) -> Matrix2<f64> {
    Matrix2::new(z.x, -z.y, z.y, z.x)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const ALL: [Chart; 3] = [Chart::Cartesian, Chart::LogRange, Chart::InverseRange];

    proptest! {
        #[test]
        fn the_derivative_against_finite_differences(r in 0.5..20.0f64, b in -3.0..3.0f64, u in -0.3..0.3f64, v in -0.3..0.3f64) {
            let z = Vector2::new(r * b.cos(), r * b.sin());
            let (dz, h) = (Vector2::new(u, v) * r, 1e-6 * r);
            for chart in ALL {
                let (_, derivative) = chart.retract(&z, &dz);
                for k in 0..2 {
                    let mut step = Vector2::zeros();
                    step[k] = h;
                    let numeric = (chart.retract(&z, &(dz + step)).0 - chart.retract(&z, &(dz - step)).0) / (2.0 * h);
                    prop_assert!((numeric - derivative.column(k)).norm() < 1e-7, "{chart:?}");
                }
            }
        }

        #[test]
        fn a_correction_leads_where_it_was_taken_for(r in 0.5..20.0f64, b in -3.0..3.0f64, scale in 0.11..9.0f64, turn in -3.0..3.0f64) {
            let z = Vector2::new(r * b.cos(), r * b.sin());
            let next = scale * lienav_lie::rotation(turn) * z;
            for chart in ALL {
                let (reached, _) = chart.retract(&z, &chart.correction(&z, &next).unwrap());
                prop_assert!((reached - next).norm() < 1e-12 * next.norm().max(r), "{chart:?}");
            }
            prop_assert!(Chart::InverseRange.correction(&z, &(z * 11.0)).is_none());
        }

        #[test]
        fn corrections_add_up_in_the_coordinates_of_the_chart(r in 0.5..20.0f64, b in -2.0..2.0f64, u in -0.2..0.2f64, v in -0.2..0.2f64) {
            let z = Vector2::new(r * b.cos(), r * b.sin());
            // δz that changes range by u·r and bearing by v, to first order.
            let dz = Vector2::new(z.x * u - z.y * v, z.y * u + z.x * v);
            let polar = |z: Vector2<f64>| (z.norm(), z.y.atan2(z.x));
            let (log, _) = Chart::LogRange.retract(&z, &dz);
            prop_assert!((polar(log).0.ln() - (r.ln() + u)).abs() < 1e-12);
            prop_assert!((polar(log).1 - (b + v)).abs() < 1e-12);
            let (inverse, _) = Chart::InverseRange.retract(&z, &dz);
            prop_assert!((1.0 / polar(inverse).0 - (1.0 - u) / r).abs() < 1e-12);
        }

        #[test]
        fn no_correction_loses_the_landmark(x in -1e3..1e3f64, y in -1e3..1e3f64, u in -1e6..1e6f64, v in -1e6..1e6f64) {
            for chart in ALL {
                let (next, derivative) = chart.retract(&Vector2::new(x, y), &Vector2::new(u, v));
                prop_assert!(next.iter().chain(derivative.iter()).all(|x| x.is_finite()));
            }
        }
    }
}
