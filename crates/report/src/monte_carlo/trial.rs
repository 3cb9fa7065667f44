//! One run of a scenario through several filters.

use super::error::ExperimentError;
use crate::associations::Associations;
use crate::errors::StepError;
use crate::method::Method;
use crate::run::Run;
use crate::simulated::{inputs, keep_identities, withheld};
use crate::study::Study;
use lienav_base::stamp::Stamp;
use lienav_io::identities::Identities;
use lienav_io::recording::Equipment;
use lienav_io::settings_file::with;
use lienav_sim::{Scenario, Simulation};
use lienav_slam::{Landmark, Sensor};
use nalgebra::{Matrix3, Vector2};
use std::collections::BTreeMap;

/// What one filter made of one run.
#[derive(Clone, Debug, Default)]
pub(super) struct Trial {
    /// One for each scan of features, in the order of their stamps.
    pub(super) samples: Vec<Sample>,
    /// Normalised innovations squared of all updates together, and their degrees of freedom.
    pub(super) nis_sum: f64,
    pub(super) dof_sum: usize,
    /// Each landmark of the final map.
    pub(super) landmarks: Vec<LandmarkSample>,
    /// Time of each step, µs.
    pub(super) step_us: Vec<f64>,
    /// What the filter refused, by reason.
    pub(super) dropped: BTreeMap<String, u64>,
    /// How right the associations were, where identities were withheld.
    pub(super) associations: Option<Associations>,
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
    /// The covariance that was claimed for (x, y, θ), (m, m, rad).
    pub(super) covariance: Matrix3<f64>,
}

/// The errors of one landmark.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct LandmarkSample {
    /// Squared distance to the true one in the map frame, m².
    pub(super) square_m2: f64,
    /// The same as seen from the robot: of the estimated landmark in the estimated robot frame to the true one in the
    /// true robot frame, m². It knows nothing of where the map as a whole lies.
    pub(super) relative_square_m2: f64,
    /// Its error squared, normalised by the claimed covariance; 2 is right. `None` where that is singular.
    pub(super) nees: Option<f64>,
}

impl From<&StepError> for Sample {
    fn from(step: &StepError) -> Self {
        Self {
            stamp: step.stamp,
            position_m: step.error.xy().norm(),
            yaw_rad: step.error.z.abs(),
            nees: step.nees,
            group_nees: step.group_nees(),
            covariance: step.covariance,
        }
    }
}

/// Simulates a run and feeds every filter with each frame as it comes.
pub(super) fn trials(
    scenario: &Scenario,
    filters: &[String],
    settings: &[(String, String)],
    added: &[(Sensor, f64)],
) -> Result<Vec<Trial>, ExperimentError> {
    let mut simulation = Simulation::new(scenario)?;
    for (sensor, rate_hz) in added {
        simulation.add_sensor(sensor.clone(), *rate_hz)?;
    }
    let sensors: Vec<Sensor> = added.iter().map(|(sensor, _)| sensor.clone()).collect();
    let truth = simulation.clone();
    let session = |filter: &String| {
        let given = Study::from(simulation.filter_config(filter));
        let study = settings.iter().try_fold(given, |study, (name, value)| with(&study, name, value))?;
        Ok::<_, ExperimentError>(Method::of_study(&study, &Equipment::from(sensors.as_slice()))?)
    };
    let mut sessions = filters.iter().map(session).collect::<Result<Vec<_>, _>>()?;
    let mut identities = withheld(&simulation);
    if identities.is_some() {
        sessions.iter_mut().for_each(Method::keep_matches);
    }
    for frame in simulation {
        keep_identities(&mut identities, &frame);
        for input in inputs(frame) {
            sessions.iter_mut().for_each(|session| session.feed(&input));
        }
    }
    let trial = |session: Method| Trial::new(session.finish(), &truth, identities.as_ref());
    Ok(sessions.into_iter().map(trial).collect())
}

impl Trial {
    pub(super) fn new(run: Run, truth: &Simulation, identities: Option<&Identities>) -> Self {
        // Without identities, the filter's numbers are not those of the world.
        let judged = identities.map(|identities| Associations::judge(&run, identities));
        let identity = |id: u32| match &judged {
            None => Some(id),
            Some(judged) => judged.as_ref().and_then(|judged| *judged.identity.get(&id)?),
        };
        let samples = run.estimates.iter().map(|e| Sample::from(&StepError::new(e, truth.truth(e.stamp))));
        let updates = || run.estimates.iter().filter_map(|estimate| estimate.update);
        let places: BTreeMap<u32, Vector2<f64>> = truth.landmarks().iter().copied().collect();
        let ends = run.estimates.last().map(|last| (last.pose, truth.truth(last.stamp)));
        let sample = |l: &Landmark| {
            let (place, (estimate, true_pose)) = (places.get(&identity(l.id)?)?, ends?);
            let error = l.position - place;
            let relative = estimate.transform_back(&l.position) - true_pose.transform_back(place);
            let nees = l.covariance.cholesky().map(|factor| error.dot(&factor.solve(&error)));
            Some(LandmarkSample {
                square_m2: error.norm_squared(),
                relative_square_m2: relative.norm_squared(),
                nees: nees.filter(|nees| nees.is_finite()),
            })
        };
        Self {
            samples: samples.collect(),
            nis_sum: updates().map(|update| update.nis).sum(),
            dof_sum: updates().map(|update| update.dof).sum(),
            landmarks: run.landmarks.iter().filter_map(sample).collect(),
            associations: judged.flatten().map(|judged| judged.associations),
            step_us: run.step_us,
            dropped: run.dropped,
        }
    }
}
