//! What is known of a landmark beside its place: in the closed submaps, and where the open submap was begun with it.

use lienav_base::stamp::Stamp;
use serde::{Deserialize, Serialize};

/// What is known of a landmark of the closed submaps, beside its place.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Seen {
    pub id: u32,
    /// Whether the identity came with its measurements.
    pub is_named: bool,
    pub last_seen: Stamp,
    #[serde(rename = "observations")]
    pub measurements: u32,
    /// Of a landmark without identity; 0 where it is not known.
    pub class: u32,
    /// How many submaps were closed before it was in one, in this process.
    #[serde(skip)]
    #[serde(rename = "first_part")]
    pub first_submap: usize,
}

/// A landmark that the open submap was begun with.
#[derive(Clone, Copy, Debug)]
pub(super) struct Inherited {
    /// Its identity in the filter.
    pub id: u32,
    /// Its number in the map.
    pub number: usize,
    /// Its measurements in the submaps before.
    pub measurements: u32,
}
