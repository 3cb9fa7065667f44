//! It starts again: after an interruption where it was, as uncertain as that allows for, or anew on request.

use crate::align;
use crate::config::MapMode;
use crate::interrupted::{Interrupted, UNKNOWN_S};
use crate::output::Step;
use crate::running::Running;
use crate::slam3d::Slam3d;
use crate::world::{Map3d, relative_sigma};
use lienav_base::stamp::Stamp;
use lienav_lie::Se3;
use nalgebra::Matrix6;

/// A landmark that is less certain than this as seen from the body, m, does not correct it: it is as near as that.
const TOO_WIDE_M: f64 = 2.0;
/// In so many frames is the pose found before it counts.
const FRAMES: u32 = 4;
/// How well a pose is known that was found, by axis: rotation, rad; velocity, m/s; position, m; biases, rad/s and m/s².
/// Wider than what landmarks of its own leave, so that those of the map decide.
const FOUND: [f64; 5] = [0.15, 1.0, 1.0, 0.02, 0.2];

impl Slam3d {
    /// A sample has come after a silence: if that was longer than this, s, what the body has done meanwhile is unknown.
    pub(super) fn end_silence(&mut self, stamp: Stamp, longest_s: f64) {
        let silent_s = self.inbox.newest.map_or(0.0, |newest| stamp.since(newest));
        if silent_s > longest_s && (self.running.is_some() || self.interrupted.is_some()) {
            self.time_jumps += 1;
            self.interrupt(silent_s);
            self.clear_input();
        }
    }

    /// The clock was set back, which does not say how long it took.
    pub(super) fn end_unknown_silence(&mut self) {
        self.time_jumps += 1;
        self.interrupt(UNKNOWN_S);
        self.clear_input();
    }

    /// Ends the run; the next one begins where this one was, but for what a body does in so long, s. Where the state is
    /// invalid, nothing is known of the pose.
    pub(super) fn interrupt(&mut self, silent_s: f64) {
        let Some(running) = &self.running else { return };
        let map = match self.interrupted.take() {
            Some(interrupted) => interrupted.map,
            None => self.map_of(running),
        };
        let last = running.ahead().or_else(|| running.estimator.estimate(running.at()));
        let map = if map.check().is_ok() { map } else { self.map.clone().unwrap_or_default() };
        self.interrupted = Some(match last {
            Some(last) => Interrupted::since(&last, silent_s, map),
            None => Interrupted::anywhere(self.start_pose(), map),
        });
        self.running = None;
    }

    /// The landmarks that come back.
    fn map_of(&self, running: &Running) -> Map3d {
        match self.config.map.mode {
            MapMode::Localization => self.map.clone().unwrap_or_default(),
            MapMode::Mapping if self.config.map.tracks_end => Map3d::default(),
            MapMode::Mapping => Map3d::of(&running.estimator.state, &self.filter),
        }
    }

    /// Before a frame: where all landmarks have become so uncertain as the body has them that what is seen would be
    /// linearized elsewhere, it goes on with landmarks of its own, until these show where it is. A start that was
    /// uncertain is no reason: body and map share that.
    pub(super) fn leave_map(&mut self) {
        let Some(running) = self.running.as_ref().filter(|_| self.interrupted.is_none()) else { return };
        let Some(last) = running.estimator.estimate(running.at()) else { return };
        if last.covariance.fixed_view::<3, 3>(0, 0).trace() < TOO_WIDE_M * TOO_WIDE_M {
            return;
        }
        let state = &running.estimator.state;
        let is_near = |i: usize| state.landmarks[i].is_point() && relative_sigma(state, i, &self.filter) < TOO_WIDE_M;
        if (0..state.landmarks.len()).any(is_near) {
            return;
        }
        let map = self.map_of(running);
        if map.landmarks.len() < align::LEAST || map.check().is_err() {
            return;
        }
        self.interrupted = Some(Interrupted::since(&last, 0.0, map));
        if let Some(running) = &mut self.running {
            running.leave_map();
        }
    }

    /// Takes the pose in the map of before, if this step has shown it, or a pose that was measured by another source.
    ///
    /// What landmarks of its own show of the pose is too rough for one update from it, however often that is linearized
    /// again. The next frames correct it, and each begins with a wide prior there, until the last of them counts.
    pub(super) fn find_again(&mut self, step: &mut Step, given: Option<(Se3, Matrix6<f64>)>) {
        let (Some(running), Some(interrupted)) = (&mut self.running, &mut self.interrupted) else { return };
        let ended = if given.is_none() && step.has_frame { interrupted.ends_after(step) } else { None };
        if let Some(seconds) = ended {
            interrupted.go_on(seconds);
            self.running = None;
            return self.inbox.samples.clear();
        }
        let (map, is_known) = (&interrupted.map, self.config.map.mode == MapMode::Localization);
        if let Some((pose, covariance)) = given {
            running.put_into(Some(map), &pose, &covariance, is_known);
            interrupted.found = FRAMES;
        } else if step.has_frame {
            let (state, nav) = (&running.estimator.state, &running.estimator.state.nav);
            let found = match interrupted.found {
                0 => align::find(state, &self.filter, map),
                _ if step.accepted < align::LEAST => None,
                _ => Some(Se3::new(nav.rotation, nav.position)),
            };
            interrupted.found = if found.is_some() { interrupted.found + 1 } else { 0 };
            let Some(pose) = found else { return };
            running.begin_again(map, &pose, &FOUND, is_known);
        } else {
            return;
        }
        running.restart_ahead(&self.inbox);
        step.estimate = running.estimator.estimate(step.estimate.stamp).unwrap_or(step.estimate);
        if interrupted.found >= FRAMES {
            self.interrupted = None;
        }
    }

    /// Forgets everything but settings, sensors, the known map and counts; the next samples start anew.
    pub fn reset(&mut self) {
        self.guard.clear();
        (self.running, self.interrupted) = (None, None);
        self.clear_input();
    }

    fn clear_input(&mut self) {
        self.inbox.clear();
        (self.given, self.waits_since) = (None, None);
    }
}
