//! A loop closure on trial, and where the filter was before it.

use crate::history::checkpoint::Checkpoint;
use lienav_associate::association::trial::Trial;
/// A loop on trial.
pub struct Closed {
    /// Before it, after the scan that has closed it.
    pub before: Checkpoint,
    /// The landmarks that it has merged, the recent and the old ones.
    pub pairs: Vec<(u32, u32)>,
    /// All that were merged with the scan that has closed it: the ones that are gone, and the ones that were kept.
    pub merged: Vec<(u32, u32)>,
    pub trial: Trial,
}

/// Loops that may be undone.
#[derive(Default)]
pub struct UndoLoop {
    pub closed: Option<Closed>,
    /// Merges that were undone with the last step.
    pub split: Vec<(u32, u32)>,
}
