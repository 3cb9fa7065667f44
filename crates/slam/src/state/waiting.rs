//! Landmarks whose measurements do not tell yet where they are, with the anchor poses of these measurements.

use crate::checked::CheckedMeasurement;
use lienav_base::stamp::Stamp;
use serde::Deserialize;
use serde::Serialize;
/// Where the base was when landmarks without a place were read.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct AnchorPose {
    /// The landmark at its origin, by its identity.
    pub origin: u32,
    /// The landmark [`ARM_M`] ahead of it; `None` where no measurement depends on the heading.
    pub ahead: Option<u32>,
    pub stamp: Stamp,
}

/// A landmark that waits for its place.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Waiting {
    /// The landmark, as the front end calls it.
    pub id: u32,
    pub sightings: Vec<Sighting>,
    /// How many measurements there have to be before the place is looked for again.
    pub due: usize,
}

/// A measurement from an anchor pose.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Sighting {
    #[serde(rename = "viewpoint")]
    pub anchor_pose: AnchorPose,
    #[serde(rename = "reading")]
    pub measurement: CheckedMeasurement,
}
