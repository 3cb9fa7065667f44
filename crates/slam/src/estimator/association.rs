//! What an estimator learns of landmarks without identity, and what it knows of them.

use super::Estimator;
use crate::association::{Memory, Tally, merge};
use crate::step::Outcome;
use crate::{Association, MapMode};
use lienav_base::stamp::Stamp;

impl Estimator {
    /// Learns from the association of a cloud, drops candidates that are no landmarks, and merges landmarks that are one.
    pub(super) fn remember(&mut self, stamp: Stamp, outcome: &Outcome, is_empty: bool) {
        let Self { state, model, fixed_lag, room, memory, merging, lost, .. } = self;
        if model.association != Association::Joint || model.map.mode != MapMode::Mapping {
            return;
        }
        memory.tally.searched += u64::from(outcome.is_searched);
        for id in memory.learn(state, model, (&room.readings, room.doubtful(), is_empty), stamp) {
            fixed_lag.forget_feature(*id);
            if let Some(i) = state.find(*id) {
                state.swap_remove(i);
            }
        }
        if !is_empty && merge(state, (model, memory), merging, lost) > 0 {
            fixed_lag.clear();
        }
    }

    /// Whether a feature counts as a landmark, and is not a candidate.
    pub fn is_landmark(&self, id: u32) -> bool {
        self.memory.is_landmark(id) && !self.state.is_viewpoint(id)
    }

    /// What association remembers.
    pub fn memory(&self) -> &Memory {
        &self.memory
    }

    /// This feature without identity is a landmark.
    pub fn confirm(&mut self, id: u32) {
        self.memory.confirm(id);
    }

    /// The class of a landmark without identity; 0 where it is not known.
    pub fn class(&self, id: u32) -> u32 {
        self.memory.class(id)
    }

    /// How many features count as landmarks.
    pub fn landmarks(&self) -> usize {
        // What is remembered may be of features that have been dropped since.
        match self.memory.candidates() {
            0 if !self.state.has_points() => self.state.features.len(),
            _ => self.state.features.iter().filter(|feature| self.is_landmark(feature.id)).count(),
        }
    }

    /// Landmarks that the last cloud merged: the one that is gone, and the one that was kept.
    pub fn merged(&self) -> &[(u32, u32)] {
        &self.memory.merged
    }

    /// What association without identities did so far.
    pub fn tally(&self) -> Tally {
        self.memory.tally
    }
}
