//! The position of a landmark, as a sensor sees it.

use crate::input::MeasurementKind;
use crate::measurement::{Component, LandmarkMeasurement, TOO_NEAR_M};
use crate::output::DropReason;
use nalgebra::{Matrix2, Vector2};

/// (x, y) of a landmark in the sensor frame, m: h(z) = z.
#[derive(Clone, Debug, PartialEq)]
pub struct Position {
    /// Standard deviation of each coordinate, m.
    pub std_m: f64,
    /// Nearer landmarks are not read, m.
    pub min_range_m: f64,
    /// Farther landmarks are not read, m.
    pub max_range_m: f64,
}

impl LandmarkMeasurement<2> for Position {
    fn components(&self) -> [Component; 2] {
        [Component::Linear; 2]
    }

    fn noise(&self) -> Matrix2<f64> {
        Matrix2::new(self.std_m * self.std_m, 0.0, 0.0, self.std_m * self.std_m)
    }

    fn predict(&self, z: &Vector2<f64>) -> Vector2<f64> {
        *z
    }

    fn jacobian(&self, _: &Vector2<f64>) -> Option<Matrix2<f64>> {
        Some(Matrix2::identity())
    }

    fn read(&self, observed: &Vector2<f64>) -> Result<Vector2<f64>, DropReason> {
        in_range(observed.norm(), self.min_range_m, self.max_range_m)?;
        Ok(*observed)
    }

    fn place(&self, read: &Vector2<f64>, stated: &Matrix2<f64>) -> Option<(Vector2<f64>, Matrix2<f64>)> {
        is_between(read.norm(), self.min_range_m, self.max_range_m).then_some((*read, *stated))
    }

    fn levelled_as(&self) -> Option<MeasurementKind> {
        Some(MeasurementKind::RelativePosition)
    }

    fn sees(&self, z: &Vector2<f64>) -> bool {
        is_between(z.norm(), self.min_range_m, self.max_range_m)
    }
}

/// Whether a distance is within the sensor's range.
///
/// # Errors
/// [`DropReason::OutOfRange`].
pub(super) fn in_range(distance: f64, min_m: f64, max_m: f64) -> Result<(), DropReason> {
    let is_outside = distance < min_m.max(TOO_NEAR_M) || distance > max_m;
    if is_outside { Err(DropReason::OutOfRange) } else { Ok(()) }
}

pub(super) fn is_between(distance: f64, min_m: f64, max_m: f64) -> bool {
    distance >= min_m && distance <= max_m
}
