//! Where a run begins, and with what covariance.

use super::settings::Settings;
use super::truth::Truth;
use lienav_base::stamp::Stamp;
use lienav_inertial::covariance::NavMatrix;
use lienav_inertial::filter::Filter;
use lienav_inertial::imu::{Biases, ImuSample};
use lienav_inertial::start::{Prior, RestSamples};
use lienav_inertial::state::State;
use lienav_inertial::state::nav::Nav;
use lienav_io::space::data::{GivenStart, SpaceRecording};
use lienav_lie::Se3;
use lienav_space::start::{
    AT_REST, CAPACITY, Known, REST_S, WINDOW_S, at_rest, at_rest_prior, first_samples, given, is_at_rest, sample,
};
use nalgebra::SVector;

/// The state at the start, its stamp, and a sentence about it.
pub struct Start {
    /// The state.
    pub state: State,
    /// When.
    pub stamp: Stamp,
    /// What the reader should know of it, if anything.
    pub warning: Option<String>,
}

/// Begins at rest where the sensor is at rest and the recording is of that kind, with heading and position of the truth;
/// else with the first true pose and velocity; without a truth, at the origin.
pub fn start(recording: &SpaceRecording, truth: &Truth, settings: &Settings, filter: &Filter) -> Option<Start> {
    if let Some(stated) = &recording.start {
        return Some(from_given(stated, truth, settings, filter));
    }
    let first = recording.inertial.first()?.stamp;
    let window = recording.inertial.iter().take_while(|sample| sample.stamp.since(first) <= WINDOW_S);
    let window: Vec<ImuSample> = window.map(|one| sample(one.stamp, one.rate, one.force)).collect();
    let (rest, is_at_rest) = (first_samples(&window, first), is_at_rest(&window, first));
    let at = first + REST_S;
    if is_at_rest && (truth.is_empty() || settings.starts_at_rest) {
        let pose = recording.truth.first().and_then(|_| truth.at(at).or_else(|| truth.at(truth.first()?)));
        if let Some(state) = from_rest(&rest, pose.as_ref(), settings, filter) {
            let warning = pose.is_none().then(|| "without truth, the run starts at the origin".to_owned());
            return Some(Start { state, stamp: at, warning });
        }
    }
    match from_truth(recording, truth, settings, filter) {
        Some(start) => Some(start),
        None => {
            let warning =
                Some("no truth at the start: it is at the origin, with what the first force shows".to_owned());
            from_force(&rest, settings, filter).map(|state| Start { state, stamp: at, warning })
        }
    }
}

/// The state after the samples at rest, at this pose but for its inclination.
fn from_rest(
    rest: &RestSamples,
    pose: Option<&lienav_lie::Se3>,
    settings: &Settings,
    filter: &Filter,
) -> Option<State> {
    let [heading_sigma, _, position_sigma, ..] = settings.start_sigma;
    let known = Known { pose: pose.copied().unwrap_or_default(), position_sigma, heading_sigma };
    match pose {
        Some(_) => at_rest(rest, &known, AT_REST, settings.gravity, &settings.imu, filter),
        None => {
            let prior = at_rest_prior(&known, AT_REST, settings.gravity);
            rest.start(REST_S, &prior, &settings.imu, CAPACITY, filter).ok()
        }
    }
}

/// The first frame at which pose and velocity of the truth are known.
fn from_truth(recording: &SpaceRecording, truth: &Truth, settings: &Settings, filter: &Filter) -> Option<Start> {
    let first = recording.inertial.first()?.stamp;
    let known = |stamp: Stamp| Some((stamp, truth.at(stamp)?, truth.velocity_at(stamp)?));
    let stamps = recording.frames.iter().map(|frame| frame.stamp).filter(|stamp| *stamp >= first);
    let (stamp, pose, velocity) = stamps.into_iter().find_map(known)?;
    let state = given(&pose, &velocity, &settings.start_sigma, settings.gravity, filter);
    Some(Start { state, stamp, warning: None })
}

/// The start that a recording gives.
fn from_given(stated: &GivenStart, truth: &Truth, settings: &Settings, filter: &Filter) -> Start {
    let pose = Se3::new(truth.level * stated.pose.rotation, truth.level * stated.pose.translation);
    let state = given(&pose, &(truth.level * stated.velocity), &stated.std, settings.gravity, filter);
    Start { state, stamp: stated.stamp, warning: None }
}

/// Up is where the mean force points, but for what accelerations of 2 m/s² make of it; the velocity is unknown.
fn from_force(rest: &RestSamples, settings: &Settings, filter: &Filter) -> Option<State> {
    let prior = Prior { gravity: (settings.gravity, 2.0), ..Prior::default() };
    let level = rest.start(REST_S, &prior, &settings.imu, CAPACITY, filter).ok()?;
    let nav = Nav { biases: Biases::default(), ..level.nav };
    let sigma = [0.2, 1.0, 0.0, 0.1, 0.2];
    let mut covariance = NavMatrix::from_diagonal(&SVector::from_fn(|i, _| f64::powi(sigma[i / 3], 2)));
    // The heading is a convention.
    covariance[(2, 2)] = 0.0;
    let mut state = State::new(nav, &covariance, CAPACITY, filter);
    state.gravity = settings.gravity;
    Some(state)
}
