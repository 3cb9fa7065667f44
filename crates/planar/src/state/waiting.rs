//! Landmarks whose measurements do not tell yet where they are, with the anchor poses of these measurements.

use crate::checked::CheckedMeasurement;
use crate::sensor::Sensors;
use lienav_base::stamp::Stamp;
use serde::Deserialize;
use serde::Serialize;
/// Where the base was when landmarks without a place were read.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct AnchorPose {
    /// The landmark at its origin, by its identity.
    pub origin: u32,
    /// The landmark `ARM_M` ahead of it; `None` where no measurement depends on the heading.
    pub ahead: Option<u32>,
    /// When the base was there.
    pub stamp: Stamp,
}

/// A landmark that waits for its place.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Waiting {
    /// The landmark, as the front end calls it.
    pub id: u32,
    /// Its measurements, in the order of their stamps.
    pub sightings: Vec<Sighting>,
    /// How many measurements there have to be before the place is looked for again.
    pub due: usize,
}

impl Waiting {
    /// Whether its measurements are of sensors that there are.
    pub fn is_sound(&self, sensors: &Sensors) -> bool {
        self.sightings.iter().all(|sighting| sensors.has(&sighting.measurement))
    }
}

/// A measurement from an anchor pose.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Sighting {
    /// Where the base was.
    #[serde(rename = "viewpoint")]
    pub anchor_pose: AnchorPose,
    /// The measurement.
    #[serde(rename = "reading")]
    pub measurement: CheckedMeasurement,
}
