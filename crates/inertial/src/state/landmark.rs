//! A landmark of the state.

use nalgebra::Vector3;

/// A landmark of the state.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Landmark {
    /// Its identity, as measurements name it.
    pub id: u64,
    /// p_i, m, in the world.
    pub position: Vector3<f64>,
    /// Where its chart is centred, m, in the world: the sensor at first sight, moved along with corrections.
    pub anchor: Vector3<f64>,
    /// The first estimate of p_i, where the filters of first estimates linearize.
    pub first: Vector3<f64>,
}
