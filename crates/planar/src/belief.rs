//! What is known of a landmark of a known map: whether it is still where the map has it.

use lienav_base::stamp::Stamp;
use nalgebra::Vector2;
use serde::Serialize;
/// What has become of a landmark of the known map.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LandmarkStatus {
    /// Nothing speaks against its place in the map.
    #[default]
    Ok,
    /// It is elsewhere: its measurements are left out, or in `extend`, it is mapped anew.
    Moved,
    /// It is not there. If it is named again, it is believed again.
    Gone,
}

/// What is known of one landmark.
#[derive(Clone, Copy, Debug, Default)]
pub struct Belief {
    /// What has become of it.
    pub status: LandmarkStatus,
    /// Measurements outside its gate in a row.
    pub strikes: u32,
    /// The stamp of the first of these measurements.
    pub struck_since: Stamp,
    /// The logarithm of the probability that it was there and not read in all looks since it was last read.
    pub absence: f64,
    /// From where the last look was, m.
    pub looked_from: Option<Vector2<f64>>,
    /// The direction of the first look, as seen from the landmark; a unit vector in the map.
    pub first_side: Option<Vector2<f64>>,
    /// Whether it was looked at from another side, too.
    pub is_from_two_sides: bool,
}

/// So many measurements in a row outside the gate, over [`STRUCK_FOR_S`] or longer: the landmark was moved.
pub const STRIKES: u32 = 10;

/// The shortest time that [`STRIKES`] have to last, s.
pub const STRUCK_FOR_S: f64 = 1.0;
