//! Landmarks keep their numbers where scans are taken in again.

use crate::history::checkpoint::Point;
use crate::inbox::QueuedScan;
use crate::slam::Slam;
use lienav_planar::names::Renamed;
use lienav_planar::output::Processed;

/// What becomes of the landmarks while scans are taken in again.
#[derive(Debug, Default)]
pub(super) struct Again {
    renamed: Renamed,
    pub merged: Vec<(u32, u32)>,
}

impl Slam {
    /// Goes back to where the filter was, to take the scans in again that have come since. Numbers that landmarks have
    /// had are not given to others.
    pub(super) fn go_back_for_good(&mut self, point: Point) -> Again {
        let next = self.estimator.state.next_identity();
        self.go_back(point);
        self.estimator.state.give_identities_after(next.wrapping_sub(1));
        Again::default()
    }

    /// Takes in what became of a scan that was taken in again.
    pub(super) fn note_again(&self, again: &mut Again, scan: &QueuedScan) {
        again.merged.extend_from_slice(self.estimator.merged());
        again.renamed.note(&scan.names, self.estimator.measurements());
    }

    /// All scans were taken in again, and the merges in `split` are none. Landmarks that have begun since and are gone
    /// count as merged with what they turned out to be.
    pub(super) fn end_again(&mut self, again: Again, split: Vec<(u32, u32)>) {
        let Again { mut renamed, mut merged } = again;
        let turned_out = renamed.turned_out(&merged, |id| self.estimator.state.find(id).is_some());
        merged.extend(turned_out);
        self.estimator.set_merged(merged);
        self.history.undo_loop.split = split;
    }

    /// What a scan was taken for is kept with it, for who takes it in again.
    pub(super) fn name(&self, scan: &mut QueuedScan, step: &Processed) {
        if matches!(step, Ok(Some(_))) && !self.estimator.memory().is_idle() {
            scan.names.take(self.estimator.measurements());
        }
    }
}
