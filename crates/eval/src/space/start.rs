//! Where a run begins, and with what covariance.

use super::settings::Settings;
use super::truth::Truth;
use lienav_base::stamp::Stamp;
use lienav_inertial::covariance::NavMatrix;
use lienav_inertial::filter::Filter;
use lienav_inertial::imu::{Biases, Imu, ImuSample};
use lienav_inertial::rest::RestDetector;
use lienav_inertial::start::{Prior, RestSamples};
use lienav_inertial::state::State;
use lienav_inertial::state::nav::Nav;
use lienav_io::space::data::{GivenStart, InertialSample, SpaceRecording};
use nalgebra::{SVector, Vector3};

/// Room for so many landmarks before a state allocates.
const CAPACITY: usize = 70;
/// A start at rest takes so long, s.
const REST_S: f64 = 0.5;

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
    if let Some(given) = &recording.start {
        return Some(from_given(given, truth, settings, filter));
    }
    let first = recording.inertial.first()?.stamp;
    let rest = first_samples(&recording.inertial, first);
    let is_at_rest = is_at_rest(&recording.inertial, first);
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

fn imu(sample: &InertialSample) -> Imu {
    Imu::new(sample.rate, sample.force)
}

fn first_samples(samples: &[InertialSample], first: Stamp) -> RestSamples {
    let mut rest = RestSamples::default();
    samples.iter().take_while(|sample| sample.stamp.since(first) <= REST_S).for_each(|sample| rest.add(&imu(sample)));
    rest
}

/// Whether the sensor is at rest in the first samples.
fn is_at_rest(samples: &[InertialSample], first: Stamp) -> bool {
    /// A start needs this much longer than the detector's window, s.
    const WINDOW_S: f64 = 0.7;
    let mut rest = RestDetector::default();
    for sample in samples.iter().take_while(|sample| sample.stamp.since(first) < WINDOW_S) {
        rest.push(&ImuSample { stamp: sample.stamp, value: imu(sample) });
    }
    rest.is_at_rest()
}

/// The state after the samples at rest, at this pose but for its inclination.
fn from_rest(
    rest: &RestSamples,
    pose: Option<&lienav_lie::Se3>,
    settings: &Settings,
    filter: &Filter,
) -> Option<State> {
    let [turn, _, place, ..] = settings.start_sigma;
    let mut prior = Prior {
        position: pose.map_or_else(Vector3::zeros, |pose| pose.translation),
        position_sigma: place,
        heading: (0.0, turn),
        velocity_sigma: 0.02,
        rate_sigma: 0.003,
        accelerometer_bias_sigma: 0.1,
        gravity: (settings.gravity, 0.01),
    };
    let level = rest.start(REST_S, &prior, &settings.imu, CAPACITY, filter).ok()?;
    if let Some(pose) = pose {
        // The heading of the truth: that with the axis of the body that is most nearly level where it is.
        let axes = [Vector3::x(), Vector3::y(), Vector3::z()];
        let axis = axes.into_iter().min_by(|a, b| {
            let rise = |axis: &Vector3<f64>| (pose.rotation * *axis).z.abs();
            rise(a).total_cmp(&rise(b))
        })?;
        let (to, from) = (pose.rotation * axis, level.nav.rotation * axis);
        prior.heading.0 = to.y.atan2(to.x) - from.y.atan2(from.x);
    }
    rest.start(REST_S, &prior, &settings.imu, CAPACITY, filter).ok()
}

/// The first frame at which pose and velocity of the truth are known.
fn from_truth(recording: &SpaceRecording, truth: &Truth, settings: &Settings, filter: &Filter) -> Option<Start> {
    let first = recording.inertial.first()?.stamp;
    let known = |stamp: Stamp| Some((stamp, truth.at(stamp)?, truth.velocity_at(stamp)?));
    let stamps = recording.frames.iter().map(|frame| frame.stamp).filter(|stamp| *stamp >= first);
    let (stamp, pose, velocity) = stamps.into_iter().find_map(known)?;
    let nav = Nav { rotation: pose.rotation, velocity, position: pose.translation, biases: Biases::default() };
    let sigma = settings.start_sigma;
    let covariance = NavMatrix::from_diagonal(&SVector::from_fn(|i, _| f64::powi(sigma[i / 3], 2)));
    let mut state = State::new(nav, &covariance, CAPACITY, filter);
    state.gravity = settings.gravity;
    Some(Start { state, stamp, warning: None })
}

/// The start that a recording gives.
fn from_given(given: &GivenStart, truth: &Truth, settings: &Settings, filter: &Filter) -> Start {
    let (rotation, position) = (truth.level * given.pose.rotation, truth.level * given.pose.translation);
    let nav = Nav { rotation, velocity: truth.level * given.velocity, position, biases: Biases::default() };
    let covariance = NavMatrix::from_diagonal(&SVector::from_fn(|i, _| f64::powi(given.std[i / 3], 2)));
    let mut state = State::new(nav, &covariance, CAPACITY, filter);
    state.gravity = settings.gravity;
    Start { state, stamp: given.stamp, warning: None }
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
