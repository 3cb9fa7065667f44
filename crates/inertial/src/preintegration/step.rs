//! What a step of preintegration starts from.

use nalgebra::{Matrix3, Vector3};

/// The increment at the start and in the middle of a step, as seen from the start of the interval.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    /// h, s.
    pub duration_s: f64,
    /// ΔR at the start of the step.
    pub rotation: Matrix3<f64>,
    /// Δv at the start of the step, m/s.
    pub velocity: Vector3<f64>,
    /// Δp + h Δv, m: where the step would end without force.
    pub coasting: Vector3<f64>,
    /// Δv at the middle of the step, m/s.
    pub middle_velocity: Vector3<f64>,
    /// Δp at the middle of the step, m.
    pub middle_position: Vector3<f64>,
}
