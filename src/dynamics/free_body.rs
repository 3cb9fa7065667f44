//! A rigid body nothing pulls at.

use crate::integrate::{RigidBody, TorqueGradient};
use crate::lie::So3;
use nalgebra::{Matrix3, Vector3};

/// Euler's free body, by its principal moments of inertia. Its energy and its spatial angular momentum RJΩ are constant.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FreeBody {
    /// The principal moments of inertia.
    pub moments: Vector3<f64>,
}

impl RigidBody for FreeBody {
    fn moments(&self) -> Vector3<f64> {
        self.moments
    }
    fn potential(&self, _: &So3) -> f64 {
        0.0
    }
    fn torque(&self, _: &So3) -> Vector3<f64> {
        Vector3::zeros()
    }
}

impl TorqueGradient for FreeBody {
    fn torque_gradient(&self, _: &So3) -> Matrix3<f64> {
        Matrix3::zeros()
    }
}
