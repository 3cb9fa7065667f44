//! What is known of where the map lies in the world, before that is enough.

use lienav_base::stamp::Stamp;
use nalgebra::Matrix2;
use nalgebra::Vector2;
use serde::Deserialize;
use serde::Serialize;
/// The map before it is tied to the world.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Untied {
    /// The first position from outside, if there was one.
    pub first: Option<First>,
}

/// The first position from outside.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct First {
    /// The position of the antenna in the world, m.
    pub position: Vector2<f64>,
    /// Its covariance, m².
    pub covariance: Matrix2<f64>,
    /// The antenna in the map, m.
    pub antenna: Vector2<f64>,
    /// Its covariance, m².
    pub antenna_covariance: Matrix2<f64>,
    /// When it was measured.
    pub stamp: Stamp,
}
