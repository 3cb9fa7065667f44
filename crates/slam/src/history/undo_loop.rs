//! A loop closure on trial, and where the filter was before it.

use crate::association::trial::Trial;
use crate::history::checkpoint::Point;
use crate::inbox::QueuedScan;
use lienav_base::stamp::Stamp;
/// A loop on trial.
pub struct Closed {
    /// Before it, after the scan that has closed it.
    pub point: Point,
    /// What has come since, in the order in which it was processed.
    pub scans: Vec<QueuedScan>,
    pub measurements: usize,
    /// The landmarks that it has merged, the recent and the old ones.
    pub pairs: Vec<(u32, u32)>,
    /// All that were merged since: the ones that are gone, and the ones that were kept.
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

impl UndoLoop {
    /// These merges were undone with the last step.
    pub fn set_split(&mut self, split: Vec<(u32, u32)>) {
        self.split = split;
    }

    /// The scan that has come last since the loop on trial.
    pub fn last_scan(&mut self) -> Option<&mut QueuedScan> {
        self.closed.as_mut()?.scans.last_mut()
    }

    /// Before the loop on trial.
    pub fn oldest(&self) -> Option<Stamp> {
        self.closed.as_ref().map(|closed| closed.point.time)
    }

    /// Whether a loop is on trial.
    pub fn is_open(&self) -> bool {
        self.closed.is_some()
    }
}
