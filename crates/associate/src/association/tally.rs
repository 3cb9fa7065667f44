//! What association without identities did.

use serde::{Deserialize, Serialize};

/// What association without identities did so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally {
    /// Scans with measurements without identity.
    #[serde(rename = "clouds")]
    pub scans: u64,
    /// Candidates that became landmarks.
    pub confirmed: u64,
    /// Candidates that did not.
    pub dropped: u64,
    /// Pairs of landmarks that turned out to be one.
    pub merged: u64,
    /// Joint merges that closed a loop: of landmarks that were out of view for long.
    pub loops: u64,
    /// Scans that had to be searched, because measurements were not clear one by one.
    pub searched: u64,
    /// Loops that turned out wrong, and were undone.
    #[serde(default)]
    pub taken_back: u64,
    /// Motions that were not what odometry says, as landmarks have told: wheels that slipped.
    #[serde(default)]
    pub slips: u64,
}
