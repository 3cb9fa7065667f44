//! Where a run begins: at rest, or in motion with wide errors.

use crate::input::{Imu, ImuSample};
use crate::world::heading_between;
use lienav_base::stamp::Stamp;
use lienav_inertial::covariance::NavMatrix;
use lienav_inertial::filter::Filter;
use lienav_inertial::imu::{Biases, ImuNoise};
use lienav_inertial::rest::RestDetector;
use lienav_inertial::start::{Prior, RestSamples};
use lienav_inertial::state::State;
use lienav_inertial::state::nav::Nav;
use lienav_lie::{LieGroup, Se3, So3};
use nalgebra::{Matrix6, SVector, Vector3};

/// Room for so many landmarks before a state allocates.
pub const CAPACITY: usize = 70;
/// A start at rest takes so long, s.
pub const REST_S: f64 = 0.5;
/// Rest is looked for in so long, s: longer than the window of the detector.
pub const WINDOW_S: f64 = 0.7;

/// Whether the sensor is at rest in the [`WINDOW_S`] after the first of these samples.
pub fn is_at_rest<'a>(samples: impl IntoIterator<Item = &'a ImuSample>, first: Stamp) -> bool {
    let mut rest = RestDetector::default();
    for sample in samples.into_iter().take_while(|sample| sample.stamp.since(first) < WINDOW_S) {
        rest.push(sample);
    }
    rest.is_at_rest()
}

/// The samples of the first [`REST_S`].
pub fn first_samples<'a>(samples: impl IntoIterator<Item = &'a ImuSample>, first: Stamp) -> RestSamples {
    let mut rest = RestSamples::default();
    let all = samples.into_iter().take_while(|sample| sample.stamp.since(first) <= REST_S);
    all.for_each(|sample: &ImuSample| rest.add(&sample.value));
    rest
}

/// What is known of the place of a start.
#[derive(Clone, Copy, Debug)]
pub struct Known {
    /// The body, m; of the rotation, the heading counts.
    pub pose: Se3,
    /// Standard deviation of each coordinate of the position, m.
    pub position_sigma: f64,
    /// Standard deviation of the heading, rad.
    pub heading_sigma: f64,
}

/// What a body at rest may still do, m/s by axis, where its inertial sensor is all that speaks.
pub const AT_REST: f64 = 0.02;
/// The same where landmarks are seen, which will show it better: half a second of them does not show a slow motion.
pub const AT_REST_AS_SEEN: f64 = 0.1;

/// What a body at rest is known to: the usual prior, with a standard deviation of the velocity, m/s.
pub fn at_rest_prior(known: &Known, velocity_sigma: f64, gravity: f64) -> Prior {
    Prior {
        position: known.pose.translation,
        position_sigma: known.position_sigma,
        heading: (0.0, known.heading_sigma),
        velocity_sigma,
        rate_sigma: 0.003,
        accelerometer_bias_sigma: 0.1,
        gravity: (gravity, 0.01),
    }
}

/// The state after samples at rest, at this pose but for its inclination; `None` where the force is not gravity.
pub fn at_rest(
    rest: &RestSamples,
    known: &Known,
    velocity_sigma: f64,
    gravity: f64,
    noise: &ImuNoise,
    filter: &Filter,
) -> Option<State> {
    let mut prior = at_rest_prior(known, velocity_sigma, gravity);
    let level = rest.start(REST_S, &prior, noise, CAPACITY, filter).ok()?;
    prior.heading.0 = heading_between(&level.nav.rotation, &known.pose.rotation);
    rest.start(REST_S, &prior, noise, CAPACITY, filter).ok()
}

/// Standard deviations of a start in motion by axis: rotation but for the heading, rad; velocity, m/s; biases, rad/s and
/// m/s².
pub const IN_MOTION: [f64; 4] = [0.2, 1.0, 0.1, 0.2];

/// Up is where the mean force points, but for what accelerations of 2 m/s² make of it; the velocity is unknown,
/// with this standard deviation by axis, m/s.
pub fn in_motion(
    rest: &RestSamples,
    known: &Known,
    velocity: f64,
    gravity: f64,
    noise: &ImuNoise,
    filter: &Filter,
) -> Option<State> {
    let prior = Prior { gravity: (gravity, 2.0), ..Prior::default() };
    let level = rest.start(REST_S, &prior, noise, CAPACITY, filter).ok()?;
    let heading = heading_between(&level.nav.rotation, &known.pose.rotation);
    let rotation = So3::exp(&(Vector3::z() * heading)) * level.nav.rotation;
    let [turn, _, gyro, force] = IN_MOTION;
    let mut variances = Matrix6::identity() * (known.position_sigma * known.position_sigma);
    variances.fixed_view_mut::<3, 3>(3, 3).fill_diagonal(turn * turn);
    variances[(5, 5)] = known.heading_sigma * known.heading_sigma;
    let pose = Se3::new(rotation, known.pose.translation);
    Some(from_pose(&pose, &variances, (velocity, gyro, force), gravity, filter))
}

/// A state at a pose with the covariance of position and rotation about the axes of the map, at an unknown velocity and
/// with unknown biases.
pub fn from_pose(
    pose: &Se3,
    covariance: &Matrix6<f64>,
    (velocity, gyro, force): (f64, f64, f64),
    gravity: f64,
    filter: &Filter,
) -> State {
    let nav = Nav {
        rotation: pose.rotation,
        velocity: Vector3::zeros(),
        position: pose.translation,
        biases: Biases::default(),
    };
    let sigma = [0.0, velocity, 0.0, gyro, force];
    let mut all = NavMatrix::from_diagonal(&SVector::from_fn(|i, _| f64::powi(sigma[i / 3], 2)));
    const ROWS: [usize; 6] = [6, 7, 8, 0, 1, 2];
    for i in 0..6 {
        for j in 0..6 {
            all[(ROWS[i], ROWS[j])] = covariance[(i, j)];
        }
    }
    let mut state = State::new(nav, &all, CAPACITY, filter);
    state.gravity = gravity;
    state
}

/// A state at a pose and velocity with these standard deviations by axis: rotation, rad; velocity, m/s; position, m;
/// biases, rad/s and m/s², which are zero in the mean.
pub fn given(pose: &Se3, velocity: &Vector3<f64>, sigma: &[f64; 5], gravity: f64, filter: &Filter) -> State {
    let nav =
        Nav { rotation: pose.rotation, velocity: *velocity, position: pose.translation, biases: Biases::default() };
    let covariance = NavMatrix::from_diagonal(&SVector::from_fn(|i, _| f64::powi(sigma[i / 3], 2)));
    let mut state = State::new(nav, &covariance, CAPACITY, filter);
    state.gravity = gravity;
    state
}

/// A sample in place of two numbers.
pub fn sample(stamp: Stamp, rate: Vector3<f64>, force: Vector3<f64>) -> ImuSample {
    ImuSample { stamp, value: Imu::new(rate, force) }
}
