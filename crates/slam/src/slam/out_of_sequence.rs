//! Scans that come when the filter has gone on, out of sequence. It goes back to a point before them, and comes forward
//! again with all that was used since: rollback and replay, exact, at the cost of the steps that are made again.

use crate::history::rollback::{Numbered, Rollback};
use crate::inbox::QueuedScan;
use crate::input::{Measurement, MeasurementKind};
use crate::output::DropReason;
use crate::slam::Slam;
use lienav_base::stamp::Stamp;

/// So many points are kept in the time of `timing.rewind_s`, and two more. With more of them, fewer steps are made
/// again, and the state is copied more often.
const POINTS: f64 = 4.0;

impl Slam {
    /// How many scans came too late for their place, and were taken in by going back (`timing.rewind_s`). They make no
    /// [`Step`](crate::Step) of their own: later steps and [`Slam::predicted`] have them.
    pub fn late_scans(&self) -> u64 {
        self.history.rollback.late
    }

    /// How many points and how many scans are kept.
    #[cfg(test)]
    pub(crate) fn rollback_sizes(&self) -> (usize, usize) {
        (self.history.rollback.points.len(), self.history.rollback.scans.len())
    }

    /// How many messages are kept that were used.
    #[cfg(test)]
    pub(crate) fn past_messages(&self) -> usize {
        self.intake.inbox.past_messages()
    }

    /// There is no way back from here: what changed is more than steps change.
    pub(super) fn stay(&mut self) {
        self.end_refilter();
        self.end_odometry_faults();
        self.believe_loop();
        self.estimator.leap();
        let Rollback { points, scans, forgotten, .. } = &mut self.history.rollback;
        points.clear();
        *forgotten += scans.len() as u64;
        scans.drain(..).for_each(|scan| self.intake.inbox.recycle(scan));
        if let Some(time) = self.at.time {
            self.intake.inbox.forget_past(time);
        }
    }

    /// There is no way back if scans of this sensor were used since the first point. Those of the configuration are
    /// one.
    pub(super) fn stay_if_used(&mut self, kind: MeasurementKind) {
        let is_added = |kind| matches!(kind, MeasurementKind::Added(_));
        let is_same = |used: MeasurementKind| used == kind || !(is_added(used) || is_added(kind));
        if self.history.rollback.scans.iter().any(|scan| is_same(scan.kind)) {
            self.stay();
        }
    }

    /// Keeps what is needed to take in a scan before this one later; to be called before it is processed.
    pub(super) fn keep_for_rollback(&mut self, scan: &QueuedScan) {
        if self.at.time.is_some_and(|time| time <= scan.stamp) && self.keep_point() {
            let copy = self.intake.inbox.copy(scan);
            self.history.rollback.scans.push_back(copy);
        }
    }

    /// Keeps a point to go back to where the last one is long ago; to be called before the state moves. Says whether
    /// anybody goes back.
    pub(super) fn keep_point(&mut self) -> bool {
        let window_s = self.config.timing.rewind_s;
        let Some(time) = self.at.time.filter(|_| window_s > 0.0) else { return false };
        if self.search.global.is_some() {
            // Nobody goes back into a search, however long it takes.
            self.intake.inbox.forget_past(time);
            return false;
        }
        let newest = self.history.rollback.points.back();
        if newest.is_none_or(|newest| time.since(newest.point.time) >= window_s / POINTS) {
            let scans = self.history.rollback.forgotten + self.history.rollback.scans.len() as u64;
            let point = self.point(time);
            self.history.rollback.points.push_back(Numbered { point, scans });
            self.forget_points(time - window_s);
        }
        true
    }

    /// Forgets the points that no scan of `stamp` or later needs, and what came before the first that stays.
    fn forget_points(&mut self, stamp: Stamp) {
        let Rollback { points, scans, forgotten, .. } = &mut self.history.rollback;
        while points.get(1).is_some_and(|second| second.point.is_before(stamp)) {
            points.pop_front();
        }
        let Some(first) = points.front() else { return };
        while *forgotten < first.scans
            && let Some(scan) = scans.pop_front()
        {
            self.intake.inbox.recycle(scan);
            *forgotten += 1;
        }
        self.intake.inbox.forget_past(first.point.time);
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
        if self.history.rollback.scans.iter().any(|scan| scan.place() == (stamp, kind.index())) {
            return Err(DropReason::DuplicateStamp);
        }
        let place = self.history.rollback.points.iter().rposition(|numbered| numbered.point.is_before(stamp));
        let Some(place) = place.filter(|_| is_within) else {
            return Err(if self.at.last_step.is_none() { DropReason::NotStarted } else { DropReason::TooLate });
        };
        let point = self.history.rollback.points.drain(place..).next();
        if let Some(point) = point {
            self.replay(point, QueuedScan::new(stamp, kind, measurements));
        }
        Ok(())
    }

    /// Goes back to `point`, and comes forward again with `late` in its place.
    fn replay(&mut self, Numbered { point, scans: processed }: Numbered, late: QueuedScan) {
        let place = late.place();
        let mut scans = self.history.rollback.scans.split_off((processed - self.history.rollback.forgotten) as usize);
        scans.insert(scans.partition_point(|scan| scan.place() < place), late);

        self.go_back(point);
        for mut scan in scans {
            self.keep_for_rollback(&scan);
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
        self.history.rollback.late += 1;
        self.note_validity();
        let _step = self.reinitialize_if_invalid(Ok(None));
        self.commit();
        self.look_ahead();
    }
}
