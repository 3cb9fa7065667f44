//! The place of a landmark in the frame of a sensor: stereo, depth cameras, lidar, tags as points.

use super::RangePrior;
use super::point::{Mount, OfPoint, Seen, Target, measurement_of_point};
use nalgebra::{Matrix3, Vector3};

/// z = x + n, x the place of the landmark in the frame of the sensor, m.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LandmarkPosition {
    /// What is measured.
    pub target: Target,
    /// Where the sensor is on the body.
    pub mount: Mount,
    /// z, m.
    pub position: Vector3<f64>,
    /// Covariance, m², in the axes of the sensor.
    pub covariance: Matrix3<f64>,
}

impl OfPoint<3> for LandmarkPosition {
    fn target(&self) -> Target {
        self.target
    }
    fn mount(&self) -> Mount {
        self.mount
    }
    fn see(&self, x: &Vector3<f64>) -> Option<Seen<3>> {
        Some(Seen { residual: self.position - x, derivative: Matrix3::identity(), noise: self.covariance })
    }
    fn locate(&self, _: &RangePrior) -> Option<(Vector3<f64>, Matrix3<f64>)> {
        Some((self.position, self.covariance))
    }
}

measurement_of_point!(LandmarkPosition);
