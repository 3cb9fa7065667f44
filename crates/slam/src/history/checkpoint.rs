//! Where the pipeline was before a scan, to go back to.

use crate::estimator::EstimatorPoint;
use crate::inbox::InboxPoint;
use crate::steady::SteadyTwist;
use crate::trace::TracePoint;
use lienav_base::stamp::Stamp;
use lienav_planar::sensor::SensorSet;
use nalgebra::Vector3;
/// The filter before a scan.
#[derive(Clone)]
pub struct Point {
    /// The instant that the state holds for.
    pub time: Stamp,
    pub last_step: Option<Stamp>,
    pub last_sensors: SensorSet,
    pub unmatched_since: Option<Stamp>,
    pub twist: Vector3<f64>,
    pub steady: SteadyTwist,
    pub estimator: Box<EstimatorPoint>,
    pub inbox: InboxPoint,
    pub trace: Option<TracePoint>,
}

impl Point {
    /// Whether a scan of this stamp comes after it, and after the step before it.
    pub fn is_before(&self, stamp: Stamp) -> bool {
        self.time <= stamp && self.last_step.is_none_or(|last| last < stamp)
    }
}

/// The filter before a scan, and which scan of the [log](super::log) that is.
pub struct Checkpoint {
    pub point: Point,
    /// How many scans were processed before it.
    pub scan: u64,
}
