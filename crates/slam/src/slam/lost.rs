//! What is known of the way since the last scan that was used, and the search for the robot in its own map.

use crate::estimator::Suspicion;
use lienav_associate::global_localization::GlobalLocalization;
use lienav_base::stamp::Stamp;
use lienav_planar::motion::Increment;
/// What is known of the way since the last scan that was used.
#[derive(Default)]
pub struct Recovery {
    /// The motion since a landmark was last used.
    pub blind: Option<Increment>,
    /// Whether odometry was missing since then.
    pub has_gap: bool,
    pub search: Option<Search>,
    /// Scans that do not fit the place where the robot is taken to be.
    pub suspicion: Option<Suspicion>,
    /// The same of every scan, also where the sensor measures too few landmarks at a time to search by: the pose is
    /// stated to be as uncertain as that makes it, and the state stays as it is.
    pub uncertain_place: Option<Suspicion>,
    /// How often a search was begun.
    pub searches: u64,
}

/// A search for the robot in its own map.
pub struct Search {
    pub finder: Box<GlobalLocalization>,
    pub began: Stamp,
    /// Whether the filter maps on meanwhile.
    pub is_mapping: bool,
    /// How many measurements of this scan have an identity, of the search or of a front end.
    pub named: usize,
    /// How many of it were held back.
    pub held_back: usize,
}

impl Recovery {
    /// Takes note of a motion, for a part of which there was no odometry if `has_gap`.
    pub fn note_gap(&mut self, has_gap: bool) {
        self.has_gap |= has_gap;
    }
}
