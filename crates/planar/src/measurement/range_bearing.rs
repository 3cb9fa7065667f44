//! The range and the bearing of a landmark.

use crate::input::MeasurementKind;
use crate::measurement::position::{in_range, is_between};
use crate::measurement::{Component, LandmarkMeasurement, TOO_NEAR_M};
use crate::output::DropReason;
use lienav_lie::{rotation, skew};
use nalgebra::{Matrix2, Vector2};

/// Bearings beyond this many radians are refused.
pub(super) const MAX_BEARING_RAD: f64 = 4.0 * std::f64::consts::PI;

/// (range in m, bearing in rad, counterclockwise from the sensor's x axis): h(z) = (|z|, ∠z).
///
/// The variances at the range r are σ_r² + (k r)² + d² and σ_b² + (d/r)²: a range that is measured by triangulation or
/// by the size of a tag is worse far away, and the point of a landmark that is read is not its centre.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RangeBearing {
    /// Standard deviation of a range, m.
    pub range_std_m: f64,
    /// Standard deviation of a bearing, rad.
    pub bearing_std_rad: f64,
    /// k: standard deviation of a range as a share of it, beside the former.
    pub range_std_ratio: f64,
    /// d: standard deviation of the point that is read from the landmark's position, in any direction, m.
    pub landmark_std_m: f64,
    /// Nearer landmarks are not read, m.
    pub min_range_m: f64,
    /// Farther landmarks are not read, m.
    pub max_range_m: f64,
}

impl LandmarkMeasurement<2> for RangeBearing {
    fn components(&self) -> [Component; 2] {
        [Component::Range, Component::Bearing]
    }

    fn noise(&self) -> Matrix2<f64> {
        let (a, b) = (self.range_std_m, self.bearing_std_rad);
        Matrix2::new(a * a, 0.0, 0.0, b * b)
    }

    fn noise_of(&self, read: &Vector2<f64>) -> Matrix2<f64> {
        let mut noise = self.noise();
        if self.range_std_ratio > 0.0 || self.landmark_std_m > 0.0 {
            let (d, far) = (self.landmark_std_m, self.range_std_ratio * read.x);
            // What is nearer than its own size is seen in any direction.
            let across = (d / read.x.max(self.min_range_m).max(TOO_NEAR_M)).min(1.0);
            noise[(0, 0)] += far * far + d * d;
            noise[(1, 1)] += across * across;
        }
        noise
    }

    fn predict(&self, z: &Vector2<f64>) -> Vector2<f64> {
        Vector2::new(z.norm(), z.y.atan2(z.x))
    }

    /// Rows zᵀ/r and (Jz)ᵀ/r².
    fn jacobian(&self, z: &Vector2<f64>) -> Option<Matrix2<f64>> {
        let r = z.norm();
        if r < TOO_NEAR_M {
            return None;
        }
        let (u, t) = (z / r, skew(z) / (r * r));
        Some(Matrix2::new(u.x, u.y, t.x, t.y))
    }

    fn read(&self, observed: &Vector2<f64>) -> Result<Vector2<f64>, DropReason> {
        if observed.x < 0.0 || observed.y.abs() > MAX_BEARING_RAD {
            return Err(DropReason::Absurd);
        }
        in_range(observed.x, self.min_range_m, self.max_range_m)?;
        Ok(*observed)
    }

    fn place(&self, read: &Vector2<f64>, stated: &Matrix2<f64>) -> Option<(Vector2<f64>, Matrix2<f64>)> {
        let z = rotation(read.y) * Vector2::new(read.x, 0.0);
        let inverse = self.jacobian(&z)?.try_inverse()?;
        let covariance = inverse * stated * inverse.transpose();
        is_between(z.norm(), self.min_range_m, self.max_range_m).then_some((z, covariance))
    }

    fn levelled_as(&self) -> Option<MeasurementKind> {
        Some(MeasurementKind::RangeBearing)
    }

    fn sees(&self, z: &Vector2<f64>) -> bool {
        is_between(z.norm(), self.min_range_m, self.max_range_m)
    }
}
