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

use crate::association::trial::Verdict;
use crate::config::{Config, MapMode};
use crate::estimator::ClosedLoop;
use crate::history::undo_loop::Closed;
use crate::inbox::QueuedScan;
use crate::output::{DropReason, Step};
use crate::slam::Slam;
use crate::without::Mechanism;

/// With more landmarks, the steps that are made again would take longer than a robot should wait.
const MOST_LANDMARKS: usize = 512;

/// As many messages of odometry and inertial samples are kept that were used.
const MOST_MESSAGES: usize = 4096;

/// As many scans are kept, those without measurements too. They come often from sensors that look rarely.
const MOST_SCANS: usize = 600;

/// So many measurements are kept at most.
const MAX_MEASUREMENTS: usize = 8192;

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
        self.history.undo_loop.is_open()
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

    /// Keeps what is needed to go back before this scan and come forward again; to be called before it is processed.
    pub(super) fn keep_for_undo_loop(&mut self, scan: &QueuedScan) {
        self.history.undo_loop.split.clear();
        let tries = self.tries_loops();
        let too_many = self.estimator.state.landmarks.len() > MOST_LANDMARKS || !tries;
        let past = self.intake.inbox.past_messages();
        if let Some(closed) = &mut self.history.undo_loop.closed {
            closed.measurements += scan.measurements.len();
            let is_full = closed.scans.len() >= MOST_SCANS || closed.measurements > MAX_MEASUREMENTS;
            if too_many || is_full || past > MOST_MESSAGES {
                self.believe_loop();
            } else {
                let copy = self.intake.inbox.copy(scan);
                closed.scans.push(copy);
            }
        }
        let is_free = self.history.undo_loop.closed.as_ref().is_none_or(|closed| closed.trial.is_likely());
        self.estimator.try_loops(!too_many && is_free);
    }

    /// Weighs what the last scan says of the loop on trial, or begins a trial of the loop that it has closed.
    fn follow_loop(&mut self, step: Option<&Step>) {
        if let Some(closed) = &mut self.history.undo_loop.closed {
            closed.merged.extend_from_slice(self.estimator.merged());
            if let Some(step) = step {
                self.estimator.judge(&mut closed.trial, (step.nis, step.dof));
            }
        }
        if let Some(ClosedLoop { before, pairs, trial }) = self.estimator.closed_loop()
            && let Some(time) = self.at.time
        {
            self.believe_loop();
            let mut point = self.point(time);
            *point.estimator = before;
            let merged = self.estimator.merged().to_vec();
            self.intake.inbox.keep_past(true);
            self.history.undo_loop.closed =
                Some(Closed { point, scans: Vec::new(), measurements: 0, pairs, merged, trial });
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
        if let Some(closed) = self.history.undo_loop.closed.take() {
            closed.scans.into_iter().for_each(|scan| self.intake.inbox.recycle(scan));
            self.keep_past_as_needed();
        }
    }

    fn take_loop_back(&mut self) -> Option<Result<Option<Step>, DropReason>> {
        let Closed { point, scans, pairs, merged, .. } = self.history.undo_loop.closed.take()?;
        // What was used before the loop does not wait again.
        self.intake.inbox.forget_past(point.time);
        let mut again = self.go_back_for_good(point);
        self.estimator.forbid(&pairs);
        self.end_refilter();
        self.end_odometry_faults();
        let mut last = None;
        for scan in scans {
            self.keep_for_undo_loop(&scan);
            let step = self.take_in(&scan);
            self.note_again(&mut again, &scan);
            self.name_kept(&scan, &step);
            self.follow_loop(step.as_ref().ok().and_then(Option::as_ref));
            last = Some(step);
            self.intake.inbox.recycle(scan);
        }
        self.end_again(again, merged);
        self.keep_past_as_needed();
        self.commit();
        self.look_ahead();
        last
    }
}
