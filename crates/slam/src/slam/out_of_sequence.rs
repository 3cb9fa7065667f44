//! Scans that come when the filter has gone on, out of sequence. It goes back to a point before them, and comes forward
//! again with all that was used since: rollback and replay, exact, at the cost of the steps that are made again.

use crate::history::checkpoint::Checkpoint;
use crate::inbox::QueuedScan;
use crate::slam::Slam;
use lienav_base::stamp::Stamp;
use lienav_planar::input::{Measurement, MeasurementKind};
use lienav_planar::output::DropReason;

impl Slam {
    /// How many scans came too late for their place, and were taken in by going back (`timing.rewind_s`). They make no
    /// [`Step`](crate::Step) of their own: later steps and [`Slam::predicted`] have them.
    pub fn late_scans(&self) -> u64 {
        self.history.late.count
    }

    /// How many points and how many scans are kept.
    #[cfg(test)]
    pub(crate) fn rollback_sizes(&self) -> (usize, usize) {
        (self.history.late.checkpoints.len(), self.history.log.count(0))
    }

    /// How many messages are kept that were used.
    #[cfg(test)]
    pub(crate) fn past_messages(&self) -> usize {
        self.intake.inbox.past_messages()
    }

    /// There is no way back if scans of this sensor were used since the first point. Those of the configuration are
    /// one.
    pub(super) fn stay_if_used(&mut self, kind: MeasurementKind) {
        let is_added = |kind| matches!(kind, MeasurementKind::Added(_));
        let is_same = |used: MeasurementKind| used == kind || !(is_added(used) || is_added(kind));
        if self.history.log.since(0).any(|scan| is_same(scan.kind)) {
            self.stay();
        }
    }

    /// Keeps a checkpoint where the last one is long ago, before the state moves from `time`.
    pub(super) fn keep_for_late_scans(&mut self, time: Stamp) {
        /// So many points are kept in the time of `timing.rewind_s`, and two more. With more of them, fewer steps are
        /// made again, and the state is copied more often.
        const POINTS: f64 = 4.0;
        let window_s = self.config.timing.rewind_s;
        if window_s <= 0.0 {
            return;
        }
        if self.search.global.is_some() {
            // The filter never goes back into a search, however long it takes.
            self.intake.inbox.forget_past(time);
            return;
        }
        let newest = self.history.late.checkpoints.back();
        if newest.is_none_or(|newest| time.since(newest.point.time) >= window_s / POINTS) {
            let (point, scan) = (self.point(time), self.history.log.next());
            self.history.late.checkpoints.push_back(Checkpoint { point, scan });
            self.forget_checkpoints(time - window_s);
        }
    }

    /// Forgets the checkpoints that no scan of `stamp` or later needs.
    fn forget_checkpoints(&mut self, stamp: Stamp) {
        let checkpoints = &mut self.history.late.checkpoints;
        while checkpoints.get(1).is_some_and(|second| second.point.is_before(stamp)) {
            checkpoints.pop_front();
        }
        self.forget_unneeded();
    }

    /// Takes in a scan from before the instant that the state holds for.
    pub(super) fn take_late(
        &mut self,
        stamp: Stamp,
        kind: MeasurementKind,
        measurements: &[Measurement],
    ) -> Result<(), DropReason> {
        let window_s = self.config.timing.rewind_s;
        let is_within = self.at.time.is_some_and(|time| time.since(stamp) <= window_s);
        if self.history.log.since(0).any(|scan| scan.place() == (stamp, kind.index())) {
            return Err(DropReason::DuplicateStamp);
        }
        let checkpoints = &mut self.history.late.checkpoints;
        let place = checkpoints.iter().rposition(|kept| kept.point.is_before(stamp));
        let Some(place) = place.filter(|_| is_within) else {
            return Err(if self.at.last_step.is_none() { DropReason::NotStarted } else { DropReason::TooLate });
        };
        let checkpoint = checkpoints.drain(place..).next();
        if let Some(checkpoint) = checkpoint {
            self.replay(checkpoint, QueuedScan::new(stamp, kind, measurements));
        }
        Ok(())
    }

    /// Goes back to a checkpoint, and comes forward again with `late` in its place.
    fn replay(&mut self, Checkpoint { point, scan: from }: Checkpoint, late: QueuedScan) {
        let place = late.place();
        let mut scans = self.history.log.take(from);
        scans.insert(scans.partition_point(|scan| scan.place() < place), late);

        self.go_back(point);
        for mut scan in scans {
            self.keep(&scan);
            let counted = (self.tally.counts, self.tally.reinitialized);
            let outcome = self.process(&mut scan);
            if scan.place() != place {
                // What is left out of it was counted when it was processed first.
                (self.tally.counts, self.tally.reinitialized) = counted;
            } else if let Err(reason) = outcome {
                self.tally.counts.add(reason);
            }
            self.intake.inbox.recycle(scan);
        }
        self.history.late.count += 1;
        self.note_validity();
        let _step = self.reinitialize_if_invalid(Ok(None));
        self.commit();
        self.look_ahead();
    }
}
