//! What has three rows each behind the navigation state: landmarks, and the two parts of a pose clone.

use crate::chart::Chart;
use lienav_lie::So3;
use nalgebra::Vector3;
use serde::{Deserialize, Serialize};

/// A landmark of the state, or a part of a pose clone.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Landmark {
    /// Its identity, as measurements name it; of a clone, that of the clone.
    pub id: u64,
    /// What it is.
    pub kind: Kind,
    /// The chart of its corrections: that of the filter where it is seen in directions alone, else in (x, y, z). In
    /// simulated runs with few tags, errors that all landmarks have in common, after seconds without any, are far from
    /// Gaussian in bearings and ranges (NEES of the pose 28 instead of 6).
    pub chart: Chart,
    /// p_i, m, in the world.
    pub position: Vector3<f64>,
    /// Where its chart is centred, m, in the world: the sensor at first sight, moved along with corrections.
    pub anchor: Vector3<f64>,
    /// The first estimate of p_i, where the filters of first estimates linearize.
    pub first: Vector3<f64>,
    /// Whether two measurements agree on it. What one measurement shows alone may be wrong.
    pub is_confirmed: bool,
    /// How often in a row its measurements failed the gate.
    pub rejected: u32,
}

/// What three rows are.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Kind {
    /// A landmark.
    Point,
    /// Where the body was at the time of a pose clone. Its error is that of a landmark there.
    ClonePlace,
    /// The rotation of the body then, R_c = Exp(ξ_R + a_c) R̂_c: its error a_c is relative to that of the body now.
    CloneRotation(So3),
}

impl Landmark {
    /// Whether it is a landmark.
    pub fn is_point(&self) -> bool {
        self.kind == Kind::Point
    }
}
