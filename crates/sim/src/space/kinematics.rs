//! Pose and motion at an instant.

use lienav_lie::Se3;
use nalgebra::Vector3;

/// Pose and motion at an instant.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Kinematics {
    /// From the body (x ahead, y left, z up) to the world.
    pub pose: Se3,
    /// m/s, in the world.
    pub velocity: Vector3<f64>,
    /// m/s², in the world.
    pub acceleration: Vector3<f64>,
    /// rad/s, in the axes of the body.
    pub rate: Vector3<f64>,
}

impl Kinematics {
    /// Specific force, m/s², in the axes of the body: Rᵀ(v̇ − g).
    pub fn force(&self, gravity: f64) -> Vector3<f64> {
        self.pose.rotation.rotate_back(&(self.acceleration + Vector3::z() * gravity))
    }
}
