//! What the filter is fed with.

use lienav_base::stamp::Stamp;
use nalgebra::Vector3;
use serde::{Deserialize, Serialize};

/// One sample of an inertial sensor, in the body frame (REP 103: x forward, y left, z up; REP 145).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ImuSample {
    /// When it was sampled.
    pub stamp: Stamp,
    /// Angular velocity, rad/s.
    pub angular_velocity: Vector3<f64>,
    /// Specific force, m/s²: what an accelerometer measures, +g upwards at rest.
    pub specific_force: Vector3<f64>,
}

impl ImuSample {
    pub(super) fn is_finite(&self) -> bool {
        self.angular_velocity.iter().chain(self.specific_force.iter()).all(|x| x.is_finite())
    }
}

/// One sample of a magnetometer, in the body frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MagneticField {
    /// When it was sampled.
    pub stamp: Stamp,
    /// The field, in any unit; T in ROS.
    pub field: Vector3<f64>,
}
