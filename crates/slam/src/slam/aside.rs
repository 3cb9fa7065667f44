//! What the filter would make of the last scans, if something had been otherwise.

use crate::history::checkpoint::Point;
use crate::inbox::QueuedScan;
use crate::slam::Slam;
use lienav_associate::association::evidence_tally::EvidenceTally;
use lienav_planar::output::Processed;

impl Slam {
    /// Does something that leaves the filter where it is, and has what it tells of the last scan as it was.
    pub(super) fn aside(&mut self, work: impl FnOnce(&mut Self)) {
        let mut measurements = std::mem::take(&mut self.history.odometry_faults.measurements);
        self.estimator.exchange_measurements(&mut measurements);
        let (trace, outside) = (self.trace.take(), std::mem::take(&mut self.of_submaps.outside));
        work(self);
        self.estimator.exchange_measurements(&mut measurements);
        self.history.odometry_faults.measurements = measurements;
        (self.trace, self.of_submaps.outside) = (trace, outside);
        self.commit();
        self.look_ahead();
    }

    /// Does something with the filter as it is at `point`, which is then where that has brought it.
    pub(super) fn on(&mut self, point: &mut Point, work: impl FnOnce(&mut Self)) {
        let now = self.at.time.unwrap_or(point.time);
        self.exchange(now, point);
        work(self);
        let then = self.at.time.unwrap_or(now);
        self.exchange(then, point);
    }

    /// Takes a scan in for an account, with loops on trial if so.
    pub(super) fn take_in_for(
        &mut self,
        scan: &QueuedScan,
        evidence_tally: &mut EvidenceTally,
        tries_loops: bool,
    ) -> Processed {
        self.estimator.try_loops(tries_loops);
        let step = self.take_in(scan);
        self.estimator.try_loops(false);
        self.note_in_tally(&step, evidence_tally);
        step
    }

    /// Takes a scan in again. Landmarks that it begins have the numbers that they had.
    pub(super) fn take_in(&mut self, scan: &QueuedScan) -> Processed {
        let mut copy = self.intake.inbox.copy(scan);
        // What is left out of it was counted when it was processed first.
        let counted = (self.tally.counts, self.tally.reinitialized);
        let step = self.process(&mut copy);
        (self.tally.counts, self.tally.reinitialized) = counted;
        self.intake.inbox.recycle(copy);
        step
    }

    /// Takes what became of the last scan into an account.
    pub(super) fn note_in_tally(&mut self, step: &Processed, evidence_tally: &mut EvidenceTally) {
        if let Ok(Some(step)) = step
            && step.accepted + step.added + step.rejected > 0
            && !self.estimator.has_read_the_pose()
        {
            self.estimator.landmark_evidence(&mut self.history.odometry_faults.scan_evidence);
            evidence_tally.note(&self.history.odometry_faults.scan_evidence, (step.nis, step.dof));
        }
    }
}
