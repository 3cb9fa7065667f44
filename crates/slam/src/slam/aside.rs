//! What the filter would make of the last clouds, if something had been otherwise.

use super::Slam;
use crate::association::Account;
use crate::inbox::Cloud;
use crate::{DropReason, Step};
use lienav_base::stamp::Stamp;

/// What became of a cloud.
pub(super) type Processed = Result<Option<Step>, DropReason>;

impl Slam {
    /// Does something with the filter, and has it as it was.
    pub(super) fn aside(&mut self, time: Stamp, work: impl FnOnce(&mut Self)) {
        let now = self.point(time);
        let (merged, readings) = (self.estimator.merged().to_vec(), self.estimator.readings().to_vec());
        let (trace, outside) = (self.trace.take(), std::mem::take(&mut self.outside));
        work(self);
        self.go_back(now);
        self.estimator.note_readings(readings.into_iter());
        self.estimator.set_merged(merged);
        (self.trace, self.outside) = (trace, outside);
        self.commit();
        self.look_ahead();
    }

    /// Takes a cloud in for an account, with loops on trial if so.
    pub(super) fn take_in_for(&mut self, cloud: &Cloud, account: &mut Account, tries_loops: bool) -> Processed {
        let mut copy = self.inbox.copy(cloud);
        // What is left out of it was counted when it was processed first.
        let counted = (self.counts, self.begun_anew);
        self.estimator.try_loops(tries_loops);
        let step = self.process(&mut copy);
        self.estimator.try_loops(false);
        (self.counts, self.begun_anew) = counted;
        self.inbox.recycle(copy);
        self.note_account(&step, account);
        step
    }

    /// Takes what became of the last cloud into an account.
    pub(super) fn note_account(&self, step: &Processed, account: &mut Account) {
        if let Ok(Some(step)) = step
            && step.accepted + step.added + step.rejected > 0
            && !self.estimator.has_read_the_pose()
        {
            let mut glances = Vec::new();
            self.estimator.glance(&mut glances);
            account.note(&glances, (step.nis, step.dof));
        }
    }
}
