//! A position from outside that waits until it is known where the world lies.

use lienav_slam::{CheckedMeasurement, PoseEstimate, ReadExternal};

/// A position that was read in the open submap, before it is known where the world lies.
#[derive(Clone, Copy, Debug)]
pub(super) struct Position {
    pub read: ReadExternal,
    pub measurement: CheckedMeasurement,
    /// The robot as seen from the base, with the covariance of (x, y, θ).
    pub local: PoseEstimate,
    /// Submaps that were closed before the open one.
    pub closed: usize,
}
