//! A recording through the filter, just as the node feeds it: each input in its order of arrival, then every step that
//! is due.

mod nothing_used;
mod session;

use super::method::Method;
use super::motions::Motions;
use super::study::Study;
use super::timeline::Timeline;
use lienav_base::stamp::Stamp;
use lienav_io::recording::{Input, Recording};
use lienav_lie::Se2;
use lienav_parts::Status;
use lienav_slam::{
    CalibrationEstimate, Config, ConfigError, InitialConfig, Landmark, LandmarkMap, LandmarkMapError, LearnedNoise,
    MapLandmark, Role, StartMode, Step,
};
use nalgebra::{Matrix2, Matrix3, Vector3};
use serde::Serialize;
use std::collections::BTreeMap;

pub use session::Session;

/// What a filter made of a recording, or what was heard of one that runs elsewhere.
#[derive(Clone, Debug, Default)]
pub struct Run {
    /// Where the input came from.
    pub source: String,
    /// The name of the filter.
    pub filter: String,
    /// One for each cloud of features that was processed.
    pub estimates: Vec<Estimate>,
    /// Time of each step, µs: the odometry since the last step, and the step itself. Empty where it was not measured.
    pub step_us: Vec<f64>,
    /// What the readings of each cloud were taken for; empty where it was not asked for.
    pub matches: Vec<CloudMatches>,
    /// Landmarks that turned out to be one, in the order of the merges: the identity that is gone, and the one that was
    /// kept. Empty where matches are not kept.
    pub merged: Vec<(u32, u32)>,
    /// What the filter was told of the start; `None` where it is not known.
    pub start: Option<StartBelief>,
    /// The map at the end.
    pub landmarks: Vec<Landmark>,
    /// What was calibrated while running, as known at the end.
    pub calibration: Vec<CalibrationEstimate>,
    /// What was learned of the noise, as known at the end.
    pub noise: Option<LearnedNoise>,
    /// How often the gate was opened because it had starved the filter; 0 where it is not known.
    pub gate_openings: u64,
    /// What was left out, by reason: unreadable input, and what the filter refused.
    pub dropped: BTreeMap<String, u64>,
    /// What the source states that cannot be, and that nothing of it was used: first in the report.
    pub contradictions: Vec<String>,
    /// What the reader of the report should know.
    pub warnings: Vec<String>,
    /// What the filter did over time; `None` where it was not asked for.
    pub timeline: Option<Timeline>,
    /// Of a map in parts: what became of them, and the time that was spent beside the filter, s.
    pub parts: Option<(Status, f64)>,
    /// Motions with their covariance, at the stamps where they end; empty where they were not asked for.
    pub motions: Motions,
}

/// What a filter was told of the start. A start that is believed more than it is right is in every error and in the NEES
/// of the pose from then on.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct StartBelief {
    /// Whether a pose was given; otherwise the robot was searched for.
    pub is_given: bool,
    /// The standard deviation of each coordinate, m; 0 is exact.
    pub position_std_m: f64,
    /// That of the heading, rad.
    pub yaw_std_rad: f64,
}

impl StartBelief {
    /// As configured.
    pub fn of(initial: &InitialConfig) -> Self {
        let &InitialConfig { mode, position_std_m, yaw_std_rad, .. } = initial;
        Self { is_given: mode != StartMode::Unknown, position_std_m, yaw_std_rad }
    }
}

/// The pose after one cloud of features.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// When.
    pub stamp: Stamp,
    /// Pose of the base in the map frame.
    pub pose: Se2,
    /// Covariance of (x, y, θ) in the map frame, (m, m, rad).
    pub covariance: Matrix3<f64>,
    /// What the cloud did; `None` where it is not known.
    pub update: Option<Update>,
}

/// What the readings of a cloud were taken for.
#[derive(Clone, Debug, PartialEq)]
pub struct CloudMatches {
    /// When.
    pub stamp: Stamp,
    /// Those that were associated at all.
    pub readings: Vec<MatchedReading>,
}

/// What a reading was taken for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MatchedReading {
    /// What was read; zeros beyond the sensor's dimension.
    pub value: Vector3<f64>,
    /// The landmark, by the number that the filter gave it.
    pub landmark: u32,
    /// What the filter did with it.
    pub role: Role,
}

/// What a cloud of features did to the filter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Update {
    /// Normalised innovation squared of all accepted observations together.
    pub nis: f64,
    /// Its degrees of freedom.
    pub dof: usize,
    /// Observations used.
    pub accepted: usize,
    /// Observations of new features.
    pub added: usize,
    /// Observations left out.
    pub rejected: usize,
}

impl From<&Step> for Estimate {
    fn from(step: &Step) -> Self {
        let Step { estimate, nis, dof, accepted, added, rejected, .. } = *step;
        Self {
            stamp: estimate.stamp,
            pose: estimate.pose,
            covariance: estimate.covariance,
            update: Some(Update { nis, dof, accepted, added, rejected }),
        }
    }
}

/// Runs the filter or batch estimate that `config` names over a recording. `observer` is told after each input how
/// many are done.
///
/// # Errors
/// A configuration that cannot be used.
pub fn run(recording: &Recording, config: &Config, observer: impl FnMut(usize)) -> Result<Run, ConfigError> {
    run_study(recording, &Study::from(config.clone()), observer)
}

/// The same with the choices of a study.
///
/// # Errors
/// A configuration that cannot be used, or choices without effect on the filter.
pub fn run_study(recording: &Recording, study: &Study, observer: impl FnMut(usize)) -> Result<Run, ConfigError> {
    Ok(feed_all(Method::of_study(study, &[])?, recording, always(observer)))
}

/// The same in a known map; `map.mode` says how it is used.
///
/// # Errors
/// A configuration that cannot be used, choices without effect on the filter, or landmarks that are no map.
pub fn run_in_map(
    recording: &Recording,
    study: &Study,
    map: &LandmarkMap,
    observer: impl FnMut(usize),
) -> Result<Run, RunError> {
    run_while(recording, study, Some(map), always(observer))
}

/// The same, with or without a map, for as long as `goes_on` is true, which is told after each input how many are done.
///
/// # Errors
/// As [`run_in_map`].
pub fn run_while(
    recording: &Recording,
    study: &Study,
    map: Option<&LandmarkMap>,
    goes_on: impl FnMut(usize) -> bool,
) -> Result<Run, RunError> {
    let mut method = Method::of_study(study, &[])?;
    map.map_or(Ok(()), |map| method.set_map(map))?;
    Ok(feed_all(method, recording, goes_on))
}

/// The same, with or without a known map, and with a [`Timeline`] for a page.
///
/// # Errors
/// As [`run_in_map`].
pub fn run_watched(
    recording: &Recording,
    study: &Study,
    map: Option<&LandmarkMap>,
    observer: impl FnMut(usize),
) -> Result<Run, RunError> {
    let mut method = Method::of_study(study, &[])?;
    map.map_or(Ok(()), |map| method.set_map(map))?;
    method.keep_timeline();
    Ok(feed_all(method, recording, always(observer)))
}

/// An observer that never ends a run.
fn always(mut observer: impl FnMut(usize)) -> impl FnMut(usize) -> bool {
    move |done| {
        observer(done);
        true
    }
}

fn feed_all(mut method: Method, recording: &Recording, mut goes_on: impl FnMut(usize) -> bool) -> Run {
    if recording.identities.is_some() {
        method.keep_matches();
    }
    for (index, input) in recording.inputs.iter().enumerate() {
        method.feed(input);
        if !goes_on(index + 1) {
            break;
        }
    }
    let mut run = method.finish();
    run.name_source(recording);
    run
}

/// Why there is no run.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum RunError {
    /// A configuration that cannot be used.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// A map that cannot be used.
    #[error("the map cannot be used: {0}")]
    Map(#[from] LandmarkMapError),
    /// A map that cannot be gone on with in parts.
    #[error("the map cannot be used: {0}")]
    Parts(#[from] lienav_parts::ResumePartsError),
}

/// The true landmarks of a recording as a map with errors of this standard deviation, m, in either coordinate. It is not
/// wrong by that much: the truth is.
pub fn true_map(recording: &Recording, std_m: f64) -> LandmarkMap {
    let covariance = Matrix2::identity() * (std_m * std_m);
    let landmark = |&(id, position): &(u32, _)| MapLandmark { id, class: 0, position, covariance };
    LandmarkMap { landmarks: recording.true_landmarks.iter().map(landmark).collect(), joint: None, near: None }
}

/// Runs several filters side by side over input that comes one by one, and is not kept. Of its source, the runs know
/// nothing yet: [`Run::name_source`]. They have a [`Timeline`].
///
/// # Errors
/// A configuration that cannot be used, or choices without effect on the filter.
pub fn run_stream(inputs: impl Iterator<Item = Input>, studies: &[Study]) -> Result<Vec<Run>, ConfigError> {
    let mut sessions =
        studies.iter().map(|study| Method::of_study(study, &[])).collect::<Result<Vec<_>, ConfigError>>()?;
    sessions.iter_mut().for_each(Method::keep_timeline);
    for input in inputs {
        sessions.iter_mut().for_each(|session| session.feed(&input));
    }
    Ok(sessions.into_iter().map(Method::finish).collect())
}

impl Run {
    /// Takes over what a recording says of itself: its name, what was left out of it, its warnings.
    pub fn name_source(&mut self, recording: &Recording) {
        self.source.clone_from(&recording.name);
        for (reason, count) in &recording.dropped {
            *self.dropped.entry(reason.clone()).or_default() += count;
        }
        self.contradictions.splice(0..0, recording.contradictions.iter().cloned());
        self.warnings.splice(0..0, recording.warnings.iter().cloned());
    }
}

#[cfg(test)]
#[path = "run_tests.rs"]
mod tests;
