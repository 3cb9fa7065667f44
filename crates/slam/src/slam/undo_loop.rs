//! Loop closures that turn out wrong are undone.
//!
//! A loop closure moves robot and map, by metres, and every later scan builds on it. So the filter keeps a checkpoint
//! before a loop closure, and the input since. Each scan adds its evidence for or against the loop ([`Trial`]). If the
//! loop is refuted, the filter rewinds and processes the same scans without it; if it is confirmed, or sixty scans with
//! measurements have not refuted it, the checkpoint is dropped.
//!
//! One loop is on trial at a time; those that are closed meanwhile are of what was decided then, and are undone
//! with it. The cost is bounded: a copy of the state for each loop, sixty scans, and as many steps that are made again
//! after one of them, where the map is not too large for that. It is not saved with the filter.

use crate::estimator::ClosedLoop;
use crate::history::MAX_LANDMARKS_OF_LOOPS;
use crate::history::checkpoint::Checkpoint;
use crate::history::undo_loop::Closed;
use crate::slam::Slam;
use lienav_associate::association::trial::Verdict;
use lienav_planar::config::{Config, MapMode};
use lienav_planar::output::{DropReason, Step};
use lienav_planar::without::Mechanism;

impl Slam {
    /// The landmarks that turned out to be one with the last step: the identity that is gone, and the one that was
    /// kept. Where the step has taken scans in again, also those that began in them before and not again, with what
    /// most of their measurements are of.
    pub fn merged_landmarks(&self) -> &[(u32, u32)] {
        self.estimator.merged()
    }

    /// The merges that the last step took back, because the loop that they closed, or built on, turned out wrong: the
    /// identity that was gone, and the one that was kept; likewise where the robot turns out to have slipped before,
    /// and where the last scans were taken in again with a noise that was learned.
    pub fn split_landmarks(&self) -> &[(u32, u32)] {
        &self.history.undo_loop.split
    }

    /// Whether a loop is on trial.
    #[cfg(test)]
    pub(crate) fn is_loop_on_trial(&self) -> bool {
        self.history.undo_loop.closed.is_some()
    }

    /// These pairs are not merged as a loop.
    #[cfg(test)]
    pub(crate) fn forbid_loop(&mut self, pairs: &[(u32, u32)]) {
        self.estimator.forbid(pairs);
    }

    /// Whether loops are closed on trial. Not where scans that come late are promised to give to the last bit what
    /// they would have given in time, and not in a part of a map, which others build on.
    fn tries_loops(&self) -> bool {
        let Config { map, timing, .. } = &self.config;
        !self.estimator.model.without.has(Mechanism::UndoLoop)
            && map.mode == MapMode::Mapping
            && map.local_features == 0
            && timing.rewind_s == 0.0
            && self.search.global.is_none()
    }

    /// Says whether the next scan may close a loop on trial.
    pub(super) fn prepare_loop(&mut self) {
        self.history.undo_loop.split.clear();
        let is_quick = self.estimator.state.landmarks.len() <= MAX_LANDMARKS_OF_LOOPS && self.tries_loops();
        if !is_quick {
            self.believe_loop();
        }
        let is_free = self.history.undo_loop.closed.as_ref().is_none_or(|closed| closed.trial.is_likely());
        self.estimator.try_loops(is_quick && is_free);
    }

    /// Weighs what the last scan says of the loop on trial, or begins a trial of the loop that it has closed.
    fn follow_loop(&mut self, step: Option<&Step>) {
        if let (Some(closed), Some(step)) = (&mut self.history.undo_loop.closed, step) {
            self.estimator.judge(&mut closed.trial, (step.nis, step.dof));
        }
        if let Some(ClosedLoop { before, pairs, trial }) = self.estimator.closed_loop()
            && let Some(time) = self.at.time
        {
            self.believe_loop();
            let mut point = self.point(time);
            *point.estimator = before;
            let merged = self.estimator.merged().to_vec();
            self.intake.inbox.keep_past(true);
            let before = Checkpoint { point, scan: self.history.log.next() };
            self.history.undo_loop.closed = Some(Closed { before, pairs, merged, trial });
        }
    }

    /// Takes the loop on trial back where the last scan has refuted it. Gives what became of that scan then.
    pub(super) fn judge_loop(&mut self, step: Option<&Step>) -> Option<Result<Option<Step>, DropReason>> {
        self.follow_loop(step);
        match self.history.undo_loop.closed.as_ref()?.trial.verdict() {
            Verdict::Open => None,
            Verdict::Believed => {
                self.believe_loop();
                None
            }
            Verdict::Refuted => self.take_loop_back(),
        }
    }

    /// The loop on trial stays.
    pub(super) fn believe_loop(&mut self) {
        if self.history.undo_loop.closed.take().is_some() {
            self.forget_unneeded();
        }
    }

    fn take_loop_back(&mut self) -> Option<Result<Option<Step>, DropReason>> {
        let Closed { before: Checkpoint { point, scan: from }, pairs, mut merged, .. } =
            self.history.undo_loop.closed.take()?;
        merged.extend(self.history.log.merged_since(from));
        // What was used before the loop does not wait again.
        self.intake.inbox.forget_past(point.time);
        let mut again = self.go_back_for_good(point);
        self.estimator.forbid(&pairs);
        let scans = self.history.log.take(from);
        self.end_refilter();
        self.end_odometry_faults();
        let mut last = None;
        for mut scan in scans {
            self.prepare_loop();
            let step = self.take_in(&scan);
            self.note_again(&mut again, &scan);
            self.name(&mut scan, &step);
            self.history.log.push(scan);
            self.history.log.note_merges(self.estimator.merged());
            self.follow_loop(step.as_ref().ok().and_then(Option::as_ref));
            last = Some(step);
        }
        self.end_again(again, merged);
        self.forget_unneeded();
        self.commit();
        self.look_ahead();
        last
    }
}
