//! What a search is given with each scan: how the base has moved, and the landmarks seen from it.

use lienav_lie::Se2;
use nalgebra::{Matrix2, Matrix3, Vector2};

/// How the base moved from one scan to the next, seen from its frame at the first.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Displacement {
    /// The motion.
    pub motion: Se2,
    /// Covariance of the translation, m², and of the angle, rad².
    pub covariance: Matrix3<f64>,
}

impl Displacement {
    /// No motion, exactly.
    pub fn none() -> Self {
        Self { motion: Se2::identity(), covariance: Matrix3::zeros() }
    }
}

/// A measurement of a landmark, in the base frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sighting {
    /// Where it is from the base, m.
    pub position: Vector2<f64>,
    /// Covariance of that, m².
    pub covariance: Matrix2<f64>,
    /// Which landmark, where the front end knows.
    pub id: Option<u32>,
    /// What kind of thing; 0 if nobody knows.
    pub class: u32,
}
