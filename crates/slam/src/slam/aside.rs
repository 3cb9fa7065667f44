//! What the filter would make of the last clouds, if something had been otherwise.

use crate::association::account::Account;
use crate::history::checkpoint::Point;
use crate::inbox::QueuedScan;
use crate::output::Processed;
use crate::slam::Slam;

impl Slam {
    /// Does something that leaves the filter where it is, and has what it tells of the last cloud as it was.
    pub(super) fn aside(&mut self, work: impl FnOnce(&mut Self)) {
        let mut measurements = std::mem::take(&mut self.doubt.measurements);
        self.estimator.exchange_measurements(&mut measurements);
        let (trace, outside) = (self.trace.take(), std::mem::take(&mut self.outside));
        work(self);
        self.estimator.exchange_measurements(&mut measurements);
        self.doubt.measurements = measurements;
        (self.trace, self.outside) = (trace, outside);
        self.commit();
        self.look_ahead();
    }

    /// Does something with the filter as it is at `point`, which is then where that has brought it.
    pub(super) fn on(&mut self, point: &mut Point, work: impl FnOnce(&mut Self)) {
        let now = self.time.unwrap_or(point.time);
        self.exchange(now, point);
        work(self);
        let then = self.time.unwrap_or(now);
        self.exchange(then, point);
    }

    /// Takes a cloud in for an account, with loops on trial if so.
    pub(super) fn take_in_for(&mut self, scan: &QueuedScan, account: &mut Account, tries_loops: bool) -> Processed {
        self.estimator.try_loops(tries_loops);
        let step = self.take_in(scan);
        self.estimator.try_loops(false);
        self.note_account(&step, account);
        step
    }

    /// Takes a cloud in again. Landmarks that it begins have the numbers that they had.
    pub(super) fn take_in(&mut self, scan: &QueuedScan) -> Processed {
        let mut copy = self.inbox.copy(scan);
        // What is left out of it was counted when it was processed first.
        let counted = (self.counts, self.begun_anew);
        let step = self.process(&mut copy);
        (self.counts, self.begun_anew) = counted;
        self.inbox.recycle(copy);
        step
    }

    /// Takes what became of the last cloud into an account.
    pub(super) fn note_account(&mut self, step: &Processed, account: &mut Account) {
        if let Ok(Some(step)) = step
            && step.accepted + step.added + step.rejected > 0
            && !self.estimator.has_read_the_pose()
        {
            self.estimator.glance(&mut self.doubt.glances);
            account.note(&self.doubt.glances, (step.nis, step.dof));
        }
    }
}
