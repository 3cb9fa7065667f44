//! The fixed lag: the last scans, kept so that they can be linearized again.
//!
//! The range of a new landmark is often uncertain, and the effect of a motion on its bearing is linearized with that
//! range. Some scans later, the range is known. The filter then restores the state before these scans and processes
//! them again, each linearized where the newest estimate places its landmarks: Gauss–Newton over a short window of the
//! posterior. The result is what the filter would have estimated with better ranges from the beginning; no measurement
//! is used twice.

use crate::step::{StepBuffers, step};
use lienav_associate::associate::{Evidence, Input};
use lienav_base::stamp::Stamp;
use lienav_lie::Se2;
use lienav_planar::associated::{Associated, Role, Subject};
use lienav_planar::calibration::Calibration;
use lienav_planar::model::Model;
use lienav_planar::motion::Increment;
use lienav_planar::sensor::Sensors;
use lienav_planar::state::{Damage, State};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// A past scan, with the motion before it.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Past {
    /// The state before the motion to this scan; only the first scan of a block has it.
    before: Option<State>,
    /// The calibration that the motion was computed with.
    calibration: Calibration,
    /// The motion, as odometry measured it.
    motion: Increment,
    /// The same motion, as estimated after the scan.
    moved: Se2,
    stamp: Stamp,
    #[serde(rename = "readings")]
    measurements: Vec<Associated>,
    /// Whether one of its landmarks is linearized again at later estimates.
    is_vague: bool,
}

/// The last scans, in two blocks. They are kept only while landmarks with a vague range are in view. When a block is
/// full, all scans are linearized again, and then the older block is dropped. Therefore only the states before the
/// blocks are kept, three at most, and not one for each scan.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct FixedLag {
    /// Scans in a block; 0 keeps none.
    block: usize,
    past: VecDeque<Past>,
    /// Unused entries, which keep their allocations.
    #[serde(skip)]
    spare: Vec<Past>,
    /// Unused states, which keep their allocations.
    #[serde(skip)]
    spare_states: Vec<State>,
    /// Whether the last scan had a landmark with a vague range.
    is_wanted: bool,
    #[serde(skip)]
    #[serde(rename = "room")]
    workspace: StepBuffers,
}

/// A copy of the scans; its buffers are its own.
impl Clone for FixedLag {
    fn clone(&self) -> Self {
        Self { block: self.block, past: self.past.clone(), is_wanted: self.is_wanted, ..Self::default() }
    }
}

impl FixedLag {
    /// A lag of `length` scans, rounded up to an even number; 0 keeps none.
    pub fn new(length: usize) -> Self {
        Self { block: length.div_ceil(2), ..Self::default() }
    }

    /// Completes scans that were saved, with what `complete` does to a state.
    ///
    /// # Errors
    /// What is wrong with them.
    pub fn complete(
        &mut self,
        length: usize,
        sensors: &Sensors,
        complete: impl Fn(&mut State) -> Result<(), Damage>,
    ) -> Result<(), Damage> {
        if self.block != length.div_ceil(2) || self.past.front().is_some_and(|first| first.before.is_none()) {
            return Err(Damage("the clouds of the fixed lag have no beginning"));
        }
        let mut measurements = self.past.iter().flat_map(|past| &past.measurements);
        if !measurements.all(|associated| sensors.has(&associated.measurement)) {
            return Err(Damage("a reading is of a sensor that there is not"));
        }
        self.states().try_for_each(complete)
    }

    /// The states that it begins at.
    pub fn states(&mut self) -> impl Iterator<Item = &mut State> {
        self.past.iter_mut().filter_map(|past| past.before.as_mut())
    }

    /// Forgets all scans. Call it when something else than a step has changed the state.
    pub fn clear(&mut self) {
        self.forget(self.past.len());
        self.is_wanted = false;
    }

    /// Becomes what another one is. Memory that scans need is kept only where there are none, as is usual.
    pub fn copy_from(&mut self, other: &Self) {
        let Self { block, past, spare: _, spare_states: _, is_wanted, workspace: _ } = other;
        (self.block, self.is_wanted) = (*block, *is_wanted);
        self.forget(self.past.len());
        self.past.extend(past.iter().cloned());
    }

    /// Forgets the measurements of a landmark that turned out to be none.
    pub fn forget_landmark(&mut self, id: u32) {
        for past in &mut self.past {
            past.measurements.retain(|measurement| measurement.subject != Subject::Landmark(id));
            if let Some(before) = &mut past.before
                && let Some(i) = before.find(id)
            {
                before.swap_remove(i);
            }
        }
    }

    /// Forgets the oldest scans.
    fn forget(&mut self, count: usize) {
        for mut past in self.past.drain(..count) {
            self.spare_states.extend(past.before.take());
            self.spare.push(past);
        }
    }

    /// Keeps the motion to a new scan, and at the start of a block the state before it. Keeps nothing if no landmark
    /// with a vague range is in view.
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
            measurements: Vec::new(),
            is_vague: false,
        });
        past.calibration.clone_from(&state.calibration);
        past.measurements.clear();
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

    /// Keeps the measurements of the scan that [`FixedLag::begin`] was called for; `state` is the state after its step.
    pub fn end(&mut self, state: &State, measurements: &[Associated], moved: &Se2) {
        self.is_wanted = self.block > 0 && measurements.iter().any(|measurement| is_vague(state, measurement));
        let Some(past) = self.past.back_mut() else { return };
        past.measurements.extend(measurements.iter().filter(|measurement| measurement.role != Role::Gated));
        (past.moved, past.is_vague) = (*moved, self.is_wanted);
        if !self.past.iter().any(|past| past.is_vague) {
            self.clear();
        }
    }

    /// The stamp of the oldest scan that is kept.
    pub fn oldest(&self) -> Option<Stamp> {
        self.past.front().map(|past| past.stamp)
    }

    /// Whether the scans are to be linearized again, because a block has just become full.
    pub fn is_due(&self) -> bool {
        !self.past.is_empty() && self.past.len().is_multiple_of(self.block)
    }

    /// Whether scans have come since they were last linearized again, and will be.
    pub fn is_waiting(&self) -> bool {
        !self.past.is_empty() && !self.is_due()
    }

    /// Restores the state before the scans and processes them again with the same associations, each linearized where
    /// `state`, the newest estimate, places its landmarks; then drops the older block.
    pub fn relinearize(&mut self, state: &mut State, model: &Model) {
        self.place_linearization_points(state);
        for (k, past) in self.past.iter_mut().enumerate() {
            match &mut past.before {
                Some(oldest) if k == 0 => state.copy_from(oldest),
                Some(before) => before.copy_from(state),
                None => {}
            }
            past.motion = past.motion.recalibrated(&past.calibration, &state.calibration);
            past.calibration.clone_from(&state.calibration);
            let evidence = Evidence::Associated(&past.measurements);
            let input = Input { motion: &past.motion, stamp: past.stamp, evidence };
            past.moved = step(state, model, &input, None, None, &mut self.workspace).moved;
        }
        if self.past.len() > self.block {
            self.forget(self.block);
        }
    }

    /// Sets the linearization point of each measurement: its landmark in the robot frame of that time, as `state`
    /// places it.
    fn place_linearization_points(&mut self, state: &State) {
        let mut to_then = Se2::identity();
        for past in self.past.iter_mut().rev() {
            for measurement in &mut past.measurements {
                let Subject::Landmark(id) = measurement.subject else { continue };
                match state.find(id) {
                    Some(i) if state.landmarks[i].is_relinearized() => {
                        measurement.linearization_point = Some(to_then.transform(&state.in_robot(i)));
                    }
                    Some(_) => measurement.linearization_point = None,
                    None => {} // dropped since: its last point is the best one known
                }
            }
            to_then = past.moved * to_then;
        }
    }
}

fn is_vague(state: &State, measurement: &Associated) -> bool {
    let Subject::Landmark(id) = measurement.subject else { return false };
    state.find(id).is_some_and(|i| state.landmarks[i].is_relinearized())
}
