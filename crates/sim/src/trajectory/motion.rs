//! What a trajectory says of one instant.

use lienav_lie::Se2;
use nalgebra::{Vector2, Vector3};

/// The motion of the robot at one instant.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Motion {
    /// Pose of the base in the map frame; the heading counts turns.
    pub pose: Se2,
    /// Velocity (v_x, v_y) in m/s and yaw rate in rad/s, in the base frame: the solution of Shen 2019, eq. (5.3).
    pub twist: Vector3<f64>,
    /// Acceleration of the base against the map, in the base frame: R(θ)ᵀ p̈, m/s².
    pub acceleration: Vector2<f64>,
}
