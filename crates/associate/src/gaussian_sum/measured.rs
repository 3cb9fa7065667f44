//! A measurement as the components of the sum take it.

use lienav_lie::{Se2, wrap_angle};
use nalgebra::{Matrix2, Vector2, Vector3};

/// A measurement in the base frame.
#[derive(Clone, Copy, Debug)]
pub struct Measured {
    /// Where its landmark is from the base, m.
    pub place: Vector2<f64>,
    /// Covariance of that, m².
    pub covariance: Matrix2<f64>,
    /// Which landmark, where the front end knows.
    pub id: Option<u32>,
    /// What kind of landmark; 0 if that is not known.
    pub class: u32,
}

/// By how much a pose differs from another, (x, y, θ) in the map frame.
pub fn difference(pose: &Se2, from: &Se2) -> Vector3<f64> {
    Vector3::new(pose.p.x - from.p.x, pose.p.y - from.p.y, wrap_angle(pose.theta - from.theta))
}
