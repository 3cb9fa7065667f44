//! What an estimator learns of landmarks without identity, and what it knows of them.

use crate::estimator::Estimator;
use crate::estimator::point::EstimatorPoint;
use crate::step::Outcome;
use lienav_associate::association::evidence_tally::{EvidenceTally, LandmarkEvidence, landmark_evidence};
use lienav_associate::association::loop_closure::{Before, merge};
use lienav_associate::association::memory::Memory;
use lienav_associate::association::tally::Tally;
use lienav_associate::association::trial::Trial;
use lienav_base::stamp::Stamp;
use lienav_planar::associated::Subject;
use lienav_planar::names::Names;

/// A loop on trial.
pub struct ClosedLoop {
    /// Where the estimator was before it.
    pub before: EstimatorPoint,
    /// The recent and the old landmarks that it has merged.
    pub pairs: Vec<(u32, u32)>,
    /// The test of it.
    pub trial: Trial,
}

impl Estimator {
    /// Learns from the association of a scan, drops candidates that are no landmarks, and merges landmarks that are
    /// one.
    pub(super) fn remember(&mut self, stamp: Stamp, outcome: &Outcome, is_empty: bool) {
        let Self { state, model, fixed_lag, workspace, memory, merging, lost, .. } = self;
        if !model.is_joint() {
            return;
        }
        memory.tally.searched += u64::from(outcome.is_searched);
        memory.rates.innovate(outcome.nis, outcome.dof);
        for id in memory.learn(state, model, (&workspace.measurements, workspace.ambiguous(), is_empty), stamp) {
            fixed_lag.forget_landmark(*id);
            if let Some(i) = state.find(*id) {
                state.swap_remove(i);
            }
        }
        if !is_empty && merge(state, (model, memory), merging, lost) > 0 {
            fixed_lag.clear();
        }
    }

    /// Whether what was before a loop is to be kept, for who takes it back.
    pub fn try_loops(&mut self, tries: bool) {
        self.merging.tries = tries;
        self.merging.tried = None;
    }

    /// The loop that the last scan has closed, if somebody asked for it.
    pub fn closed_loop(&mut self) -> Option<ClosedLoop> {
        let Before { state, memory, pairs, trial } = *self.merging.tried.take()?;
        let after = (std::mem::replace(&mut self.state, state), std::mem::replace(&mut self.memory, memory));
        let before = self.point();
        (self.state, self.memory) = after;
        Some(ClosedLoop { before, pairs, trial })
    }

    /// The measurements of the next scan were taken for these.
    pub fn expect(&mut self, names: &Names) {
        self.workspace.names.copy_from(names);
    }

    /// Takes in what the last scan says of a loop: its normalized squared innovation with the degrees of freedom.
    pub fn judge(&self, trial: &mut Trial, nis: (f64, usize)) {
        if self.workspace.measurements.iter().any(|measurement| measurement.measurement.id().is_none()) {
            trial.note((&self.state, &self.memory), &self.model, self.workspace.ambiguous(), nis);
        }
    }

    /// An account from the next scan on.
    pub fn evidence_tally(&self) -> EvidenceTally {
        EvidenceTally::new(&self.state, &self.memory, &self.model)
    }

    /// Begins an account from the next scan on, in the memory of another one.
    pub fn begin(&self, evidence_tally: &mut EvidenceTally) {
        evidence_tally.begin(&self.state, &self.memory, &self.model);
    }

    /// The robot is elsewhere than its motion says.
    pub fn leap(&mut self) {
        self.memory.cuts.leap();
    }

    /// Whether the last scan was of the pose: it says nothing of landmarks.
    pub fn has_read_the_pose(&self) -> bool {
        let measurements = &self.workspace.measurements;
        !measurements.is_empty() && measurements.iter().all(|measurement| matches!(measurement.subject, Subject::Pose))
    }

    /// What the last scan makes of all landmarks.
    pub fn landmark_evidence(&self, scan_evidence: &mut Vec<LandmarkEvidence>) {
        landmark_evidence((&self.state, &self.memory), &self.model, self.workspace.ambiguous(), scan_evidence);
    }

    /// A slip was found.
    pub fn note_slip(&mut self) {
        self.memory.tally.slips += 1;
    }

    /// Pairs of recent and old landmarks that a wrong loop has merged are not merged so again.
    pub fn forbid(&mut self, pairs: &[(u32, u32)]) {
        self.memory.forbid(pairs);
    }

    /// The last merges were these.
    pub fn set_merged(&mut self, merged: Vec<(u32, u32)>) {
        self.memory.merged = merged;
    }

    /// Whether a landmark counts as a landmark, and is not a candidate.
    pub fn is_landmark(&self, id: u32) -> bool {
        self.memory.is_landmark(id) && !self.state.is_anchor_point(id)
    }

    /// What association remembers.
    pub fn memory(&self) -> &Memory {
        &self.memory
    }

    /// This landmark without identity is a landmark.
    pub fn confirm(&mut self, id: u32) {
        self.memory.confirm(id);
    }

    /// The class of a landmark without identity; 0 where it is not known.
    pub fn class(&self, id: u32) -> u32 {
        self.memory.class(id)
    }

    /// How many landmarks count as landmarks.
    pub fn landmarks(&self) -> usize {
        // What is remembered may be of landmarks that have been dropped since.
        match self.memory.candidates() {
            0 if !self.state.has_points() => self.state.landmarks.len(),
            _ => self.state.landmarks.iter().filter(|landmark| self.is_landmark(landmark.id)).count(),
        }
    }

    /// Landmarks that the last scan merged: the one that is gone, and the one that was kept.
    pub fn merged(&self) -> &[(u32, u32)] {
        &self.memory.merged
    }

    /// What association without identities did so far.
    pub fn tally(&self) -> Tally {
        self.memory.tally
    }
}
