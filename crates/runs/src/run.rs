//! A recording through the filter, just as the node feeds it: each input in its order of arrival, then every step that
//! is due.

mod nothing_used;
mod result;
mod session;

use super::method::Method;
use super::study::Study;
use lienav_io::recording::{Equipment, Input, Recording};
use lienav_slam::{Config, ConfigError, LandmarkMap, MapLandmark};
use nalgebra::Matrix2;

pub use result::{Estimate, MatchedMeasurement, Motions, Run, RunError, ScanMatches, StartBelief, Update};
pub use session::Session;

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
    Ok(feed_all(Method::of_study(study, &recording.equipment)?, recording, always(observer)))
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
    let mut method = Method::of_study(study, &recording.equipment)?;
    map.map_or(Ok(()), |map| method.set_map(map))?;
    Ok(feed_all(method, recording, goes_on))
}

/// The same, with or without a known map, and with a [`Timeline`](super::timeline::Timeline) for a page.
///
/// # Errors
/// As [`run_in_map`].
pub fn run_watched(
    recording: &Recording,
    study: &Study,
    map: Option<&LandmarkMap>,
    observer: impl FnMut(usize),
) -> Result<Run, RunError> {
    let mut method = Method::of_study(study, &recording.equipment)?;
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

/// The true landmarks of a recording as a map with errors of this standard deviation, m, in either coordinate. It is
/// not wrong by that much: the truth is.
pub fn true_map(recording: &Recording, std_m: f64) -> LandmarkMap {
    let covariance = Matrix2::identity() * (std_m * std_m);
    let landmark = |&(id, position): &(u32, _)| MapLandmark { id, class: 0, position, covariance };
    LandmarkMap { landmarks: recording.true_landmarks.iter().map(landmark).collect(), joint: None, near: None }
}

/// Runs several filters side by side over input that comes one by one, and is not kept. `equipment` is what the input
/// needs. Of its source, the runs know
/// nothing yet: [`Run::name_source`]. They have a [`Timeline`](super::timeline::Timeline).
///
/// # Errors
/// A configuration that cannot be used, or choices without effect on the filter.
pub fn run_stream(
    inputs: impl Iterator<Item = Input>,
    equipment: &Equipment,
    studies: &[Study],
) -> Result<Vec<Run>, ConfigError> {
    let mut sessions =
        studies.iter().map(|study| Method::of_study(study, equipment)).collect::<Result<Vec<_>, ConfigError>>()?;
    sessions.iter_mut().for_each(Method::keep_timeline);
    for input in inputs {
        sessions.iter_mut().for_each(|session| session.feed(&input));
    }
    Ok(sessions.into_iter().map(Method::finish).collect())
}

#[cfg(test)]
#[path = "run_tests.rs"]
mod tests;
