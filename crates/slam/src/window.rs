//! The last clouds, kept so that they can be linearized again.
//!
//! A feature's range is vague when it is new, and what a motion did to its bearing was linearized with that range. Some clouds later
//! the range is known, and the state may go back to before these clouds and take them in again, each linearized where the
//! feature was as is known now: Gauss–Newton over a short window of the posterior. What the filter then has is what it would have
//! had if it had known the ranges better from the beginning; nothing is used twice.

use super::calibration::Calibration;
use super::motion::Increment;
use super::sensor::Reading;
use super::state::State;
use super::trace::Role;
use lienav_base::stamp::Stamp;
use lienav_lie::Se2;
use nalgebra::Vector2;
use std::collections::VecDeque;

/// An observation, and what it was taken for.
#[derive(Clone, Copy, Debug)]
pub struct Seen {
    /// The feature's identity.
    pub feature: u32,
    /// What was read.
    pub reading: Reading,
    /// What the filter did with it.
    pub role: Role,
    /// By what the covariance of the reading was multiplied.
    pub noise_scale: f64,
    /// Where the feature was seen from the robot, m, as is known now.
    pub aim: Option<Vector2<f64>>,
}

/// A cloud, and what was before it.
#[derive(Debug)]
pub struct Past {
    /// The state before the motion to this cloud; of the first cloud of each block.
    pub before: Option<State>,
    /// What calibration was when that motion was taken.
    pub calibration: Calibration,
    /// The motion, as odometry has it.
    pub motion: Increment,
    /// The same as the filter has it after the cloud.
    pub moved: Se2,
    /// When.
    pub stamp: Stamp,
    /// What was seen.
    pub seen: Vec<Seen>,
    /// Whether a feature among it had a vague range when it was new.
    is_vague: bool,
}

/// The last clouds, in two blocks, and only while features are in view whose range was vague. When a block is full, all clouds are
/// due; then the older block goes. So it is the states before blocks that are kept, three at most, and not one for each cloud.
#[derive(Debug, Default)]
pub struct Window {
    /// Clouds in a block; 0 keeps none.
    block: usize,
    past: VecDeque<Past>,
    /// Allocated before, and free.
    spare: Vec<Past>,
    /// The same of states.
    spare_states: Vec<State>,
    /// Whether the last cloud had a feature with a vague range.
    is_wanted: bool,
}

impl Window {
    /// Of `length` clouds, rounded up to an even number; 0 keeps none.
    pub fn new(length: usize) -> Self {
        Self { block: length.div_ceil(2), ..Self::default() }
    }

    /// Forgets the clouds: the state was changed otherwise.
    pub fn clear(&mut self) {
        self.forget(self.past.len());
        self.is_wanted = false;
    }

    /// Forgets the oldest clouds.
    fn forget(&mut self, count: usize) {
        for mut past in self.past.drain(..count) {
            self.spare_states.extend(past.before.take());
            self.spare.push(past);
        }
    }

    /// A cloud comes: keeps the state before it, if the window is open.
    pub fn begin(&mut self, state: &State, motion: &Increment, stamp: Stamp) {
        let is_open = self.is_wanted || !self.past.is_empty();
        if self.block == 0 || !is_open {
            return;
        }
        let mut past = self.spare.pop().unwrap_or_else(|| Past {
            before: None,
            calibration: state.calibration.clone(),
            motion: *motion,
            moved: motion.motion,
            stamp,
            seen: Vec::new(),
            is_vague: false,
        });
        past.calibration.clone_from(&state.calibration);
        past.seen.clear();
        (past.motion, past.moved, past.stamp, past.is_vague) = (*motion, motion.motion, stamp, false);
        if self.past.len().is_multiple_of(self.block) {
            past.before = Some(match self.spare_states.pop() {
                Some(mut kept) => {
                    kept.copy_from(state);
                    kept
                }
                None => state.clone(),
            });
        }
        self.past.push_back(past);
    }

    /// What [`Window::begin`] announced has been taken in: `state` is the state after it.
    pub fn end(&mut self, state: &State, seen: &[Seen], moved: &Se2) {
        self.is_wanted = self.block > 0 && seen.iter().any(|seen| is_vague(state, seen));
        let Some(past) = self.past.back_mut() else { return };
        past.seen.extend(seen.iter().filter(|seen| seen.role != Role::Gated));
        (past.moved, past.is_vague) = (*moved, self.is_wanted);
        if !self.past.iter().any(|past| past.is_vague) {
            self.clear();
        }
    }

    /// Whether the clouds are to be linearized again: a block has just become full.
    pub fn is_due(&self) -> bool {
        !self.past.is_empty() && self.past.len().is_multiple_of(self.block)
    }

    /// The clouds, oldest first, each aimed at where its features are in `state`, the newest. They have to be given back to
    /// [`Window::put_back`].
    pub fn aim(&mut self, state: &State) -> VecDeque<Past> {
        let mut past = std::mem::take(&mut self.past);
        let mut to_then = Se2::identity();
        for past in past.iter_mut().rev() {
            for seen in &mut past.seen {
                match state.find(seen.feature) {
                    Some(i) if state.features[i].is_aimed_at() => {
                        seen.aim = Some(to_then.transform(&state.in_robot(i)));
                    }
                    Some(_) => seen.aim = None,
                    None => {} // dropped since: the aim it had is the best there is
                }
            }
            to_then = past.moved * to_then;
        }
        past
    }

    /// The clouds, with what has changed; the older block, where there are two, has been linearized for the last time.
    pub fn put_back(&mut self, past: VecDeque<Past>) {
        self.past = past;
        if self.past.len() > self.block {
            self.forget(self.block);
        }
    }
}

fn is_vague(state: &State, seen: &Seen) -> bool {
    state.find(seen.feature).is_some_and(|i| state.features[i].is_aimed_at())
}
