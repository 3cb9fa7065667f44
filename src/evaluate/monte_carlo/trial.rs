//! One run of a scenario through several filters.

use super::experiment::ExperimentError;
use crate::evaluate::errors::StepError;
use crate::evaluate::run::{Run, Session};
use crate::evaluate::simulated::inputs;
use crate::filter::Landmark;
use crate::simulate::{Scenario, Simulation};
use crate::stamp::Stamp;
use nalgebra::Vector2;
use std::collections::BTreeMap;

/// What one filter made of one run.
#[derive(Clone, Debug, Default)]
pub(super) struct Trial {
    /// One for each cloud of features, in the order of their stamps.
    pub(super) samples: Vec<Sample>,
    /// Normalised innovations squared of all updates together, and their degrees of freedom.
    pub(super) nis_sum: f64,
    pub(super) dof_sum: usize,
    /// Squared distance of each landmark of the final map to the true one, m².
    pub(super) landmark_squares: Vec<f64>,
    /// Time of each step, µs.
    pub(super) step_us: Vec<f64>,
    /// What the filter refused, by reason.
    pub(super) dropped: BTreeMap<String, u64>,
}

/// The errors of one estimate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Sample {
    pub(super) stamp: Stamp,
    /// ‖δp‖, m.
    pub(super) position_m: f64,
    /// |δθ|, rad.
    pub(super) yaw_rad: f64,
    /// NEES in (x, y, θ); `None` where the covariance is singular.
    pub(super) nees: Option<f64>,
    /// NEES in the group's coordinates.
    pub(super) group_nees: Option<f64>,
}

impl From<&StepError> for Sample {
    fn from(step: &StepError) -> Self {
        Self {
            stamp: step.stamp,
            position_m: step.error.xy().norm(),
            yaw_rad: step.error.z.abs(),
            nees: step.nees,
            group_nees: step.group_nees(),
        }
    }
}

/// Simulates a run and feeds every filter with each frame as it comes.
pub(super) fn trials(scenario: &Scenario, filters: &[String]) -> Result<Vec<Trial>, ExperimentError> {
    let simulation = Simulation::new(scenario)?;
    let truth = simulation.clone();
    let session = |filter: &String| Session::new(&simulation.filter_config(filter));
    let mut sessions = filters.iter().map(session).collect::<Result<Vec<_>, _>>()?;
    for input in simulation.flat_map(inputs) {
        sessions.iter_mut().for_each(|session| session.feed(&input));
    }
    Ok(sessions.into_iter().map(|session| Trial::new(session.finish(), &truth)).collect())
}

impl Trial {
    pub(super) fn new(run: Run, truth: &Simulation) -> Self {
        let samples = run.estimates.iter().map(|e| Sample::from(&StepError::new(e, truth.truth(e.stamp))));
        let updates = || run.estimates.iter().filter_map(|estimate| estimate.update);
        let places: BTreeMap<u32, Vector2<f64>> = truth.landmarks().iter().copied().collect();
        let square = |l: &Landmark| Some((l.position - places.get(&l.id)?).norm_squared());
        Self {
            samples: samples.collect(),
            nis_sum: updates().map(|update| update.nis).sum(),
            dof_sum: updates().map(|update| update.dof).sum(),
            // Without identities, the filter's numbers are not those of the world.
            landmark_squares: match truth.scenario().sensor.identified {
                true => run.landmarks.iter().filter_map(square).collect(),
                false => Vec::new(),
            },
            step_us: run.step_us,
            dropped: run.dropped,
        }
    }
}
