//! Records what a step was linearized as.

use crate::associated::{Associated, Role, Subject};
use crate::augment::by_pose;
use crate::filter::Filter;
use crate::linearize::Match;
use crate::linearized::{LinearizedMeasurement, LinearizedStep};
use crate::state::State;

impl LinearizedStep {
    /// The measurements that the state was updated by.
    pub fn note_matches(&mut self, state: &State, matches: &[Match]) {
        self.measurements.extend(matches.iter().map(|m| LinearizedMeasurement {
            subject: state.identity(m.subject),
            dim: m.dim,
            by_pose: m.by_pose,
            by_landmark: m.by_landmark,
            noise: m.noise,
        }));
    }

    /// The landmarks that were begun by the measurements of this step.
    pub fn note_initialized(&mut self, state: &State, filter: &Filter, measurements: &[Associated]) {
        for measurement in measurements.iter().filter(|measurement| measurement.role == Role::First) {
            let Subject::Landmark(id) = measurement.subject else { continue };
            let Some(i) = state.find(id) else { continue };
            self.initialized.push((id, by_pose(state, &state.landmarks[i].x, filter.errors)));
        }
    }
}
