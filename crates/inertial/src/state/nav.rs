//! Rotation, velocity, position and biases, and how an increment moves them.

use crate::imu::Biases;
use crate::preintegration::galilei::Increment;
use lienav_lie::So3;
use nalgebra::Vector3;
use serde::{Deserialize, Serialize};

/// The navigation state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Nav {
    /// R, from the body to the world.
    pub rotation: So3,
    /// v, m/s, in the world.
    pub velocity: Vector3<f64>,
    /// p, m, in the world.
    pub position: Vector3<f64>,
    /// Of the inertial sensor.
    pub biases: Biases,
}

/// Where a body would be after `t` seconds without force: the change of velocity and of position.
pub fn free_fall(velocity: &Vector3<f64>, gravity: f64, t: f64) -> (Vector3<f64>, Vector3<f64>) {
    let g = Vector3::new(0.0, 0.0, -gravity);
    (g * t, velocity * t + g * (0.5 * t * t))
}

impl Nav {
    /// R⁺ = R ΔR, v⁺ = v + g T + R Δv, p⁺ = p + v T + ½ g T² + R Δp.
    #[must_use]
    pub fn moved(&self, increment: &Increment, gravity: f64) -> Self {
        let (dv, dp) = free_fall(&self.velocity, gravity, increment.duration_s);
        let rotation = So3::from_matrix_unchecked(self.rotation.matrix() * increment.rotation);
        Self {
            rotation: orthogonal(&rotation),
            velocity: self.velocity + dv + self.rotation * increment.velocity,
            position: self.position + dp + self.rotation * increment.position,
            biases: self.biases,
        }
    }

    /// The place of a point of the world, seen from the body, m.
    pub fn seen(&self, point: &Vector3<f64>) -> Vector3<f64> {
        self.rotation.rotate_back(&(point - self.position))
    }
}

/// One step of Newton's iteration for the nearest rotation, R(3I − RᵀR)/2: keeps products of thousands of rotations
/// orthogonal to rounding.
pub fn orthogonal(rotation: &So3) -> So3 {
    let r = rotation.matrix();
    So3::from_matrix_unchecked(r * 1.5 - r * r.tr_mul(r) * 0.5)
}
