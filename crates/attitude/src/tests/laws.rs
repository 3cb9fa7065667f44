//! What has to hold by construction.

use super::super::belief::{ACCEL, Belief, Error, GYRO, InitialStd, LEVER, NU, RHO, SCALE, SIZE, XI};
use super::super::preintegration::Preintegration;
use super::super::state::State;
use super::super::transition::{Noise, Transition};
use super::*;
use lienav_integrate::attitude::{Method, Rates};
use lienav_lie::{LieGroup, Quat};
use nalgebra::{Matrix3, SMatrix};
use proptest::prelude::*;

const LEAK_S: f64 = 0.7;
const STD: InitialStd = InitialStd {
    tilt: 0.1,
    yaw: 0.2,
    gyro_bias: 0.01,
    gyro_scale: 0.003,
    speed: 0.3,
    reach: 0.2,
    accelerometer_bias: 0.05,
    lever: 0.1,
};

fn state() -> State {
    let mut state = State::new(UnitQuaternion::from_euler_angles(0.4, -0.7, 1.1));
    state.velocity = Vector3::new(0.3, -0.2, 0.5);
    state.position = Vector3::new(-0.2, 0.4, 0.1);
    state.gyro_bias = Vector3::new(0.01, -0.02, 0.03);
    state.accelerometer_bias = Vector3::new(-0.1, 0.05, 0.2);
    state.scales = Matrix3::new(0.01, -0.02, 0.005, 0.015, -0.01, 0.02, -0.005, 0.01, 0.02);
    state
}

/// Moves R, v and p as the filter does, over `count` steps of a tumbling motion.
fn travel(mut state: State, count: u32) -> (State, Preintegration) {
    const STEP: f64 = 0.001;
    let mut preintegration = Preintegration::default();
    for k in 0..count {
        let t = f64::from(k) * STEP;
        let turning = Vector3::new(2.0 * t.cos(), 1.5, -(3.0 * t).sin());
        let rate = state.rate(&turning);
        let before = *state.orientation.to_rotation_matrix().matrix();
        state.orientation *= Method::Magnus4.rotation(STEP, &Rates { start: rate, middle: rate, end: rate });
        let mean: Matrix3<f64> = (before + state.orientation.to_rotation_matrix().matrix()) * 0.5;
        let force = Vector3::new(1.0, 2.0 * t, 9.0) - state.accelerometer_bias;
        let acceleration = mean * force - Vector3::z() * G;
        let moved = (state.velocity + acceleration * (0.5 * STEP)) * STEP;
        state.position = (state.position + moved) * (LEAK_S / (LEAK_S + STEP));
        state.velocity += acceleration * STEP;
        preintegration.add(STEP, &mean, &turning, &acceleration);
    }
    (state, preintegration)
}

/// The error with truth = retract(estimate, error).
fn error(truth: &State, estimate: &State) -> Error {
    let xi = Quat::from(truth.orientation * estimate.orientation.inverse()).shortest().log();
    let nu = truth.velocity - Quat::exp(&xi).unit_quaternion() * estimate.velocity;
    let mut error = Error::zeros();
    error.fixed_rows_mut::<3>(XI).copy_from(&xi);
    error.fixed_rows_mut::<3>(GYRO).copy_from(&(truth.gyro_bias - estimate.gyro_bias));
    error.fixed_rows_mut::<3>(NU).copy_from(&nu);
    let rho = truth.position - Quat::exp(&xi).unit_quaternion() * estimate.position;
    error.fixed_rows_mut::<3>(RHO).copy_from(&rho);
    error.fixed_rows_mut::<3>(LEVER).copy_from(&(truth.lever - estimate.lever));
    error.fixed_rows_mut::<3>(ACCEL).copy_from(&(truth.accelerometer_bias - estimate.accelerometer_bias));
    for k in 0..3 {
        let column = truth.scales.column(k) - estimate.scales.column(k);
        error.fixed_rows_mut::<3>(SCALE + 3 * k).copy_from(&column);
    }
    error
}

#[test]
fn errors_travel_as_the_covariance_does() {
    let noiseless = (
        GyroscopeConfig { noise_density: 0.0, scale_std: 0.0, bias_walk: 0.0, ..Default::default() },
        AccelerometerConfig { noise_density: 0.0, relative_noise_density: 0.0, bias_walk: 0.0, ..Default::default() },
    );
    let motion = MotionConfig { leak_s: LEAK_S, lever_std: 0.0, ..Default::default() };
    let (there, preintegration) = travel(state(), 100);
    let mut jacobian = SMatrix::<f64, SIZE, SIZE>::zeros();
    for k in 0..SIZE {
        let moved = |h: f64| {
            let mut truth = state();
            let mut delta = Error::zeros();
            delta[k] = h;
            truth.retract(&delta);
            error(&travel(truth, 100).0, &there)
        };
        jacobian.set_column(k, &((moved(1e-5) - moved(-1e-5)) / 2e-5));
    }
    let mut carried = there;
    let mut belief = Belief { mean: Error::from_fn(|i, _| 1e-3 * (i as f64 - 9.0)), ..Belief::new(&STD) };
    let before = belief;
    let free_fall = Vector3::new(0.0, 0.0, -G);
    let transition = Transition::new(&mut carried, &preintegration, &free_fall, &noiseless.0, &noiseless.1, &motion);
    transition.apply(&mut belief, &Noise { rate: 0.0, acceleration: 0.0 });
    let mean = jacobian * before.mean;
    // v̂ is that of the end of the interval.
    assert!((belief.mean - mean).amax() < 0.1 * mean.amax(), "{:.6}", belief.mean - mean);
    let expected = jacobian * before.covariance * jacobian.transpose();
    // B and v̂ are those of the end of the interval and of sums: good to the square of its length.
    let difference = (belief.covariance - expected).abs();
    assert!(difference.max() < 5e-4 * expected.abs().max(), "{difference:.6}");
}

#[test]
fn retraction_and_error_undo_each_other() {
    let delta = Error::from_fn(|i, _| 0.01 * (i as f64 - 5.0));
    let mut moved = state();
    moved.retract(&delta);
    assert!((error(&moved, &state()) - delta).norm() < 1e-12);
}

#[test]
fn a_turn_of_the_world_turns_the_estimate_and_nothing_else() {
    let run = |yaw: f64| {
        let mut config = config();
        config.initial.yaw_rad = yaw;
        let mut attitude = Attitude::new(config).unwrap();
        let (hand, mut sensor) = (Hand { pace: 1.0, reach: 0.2 }, Sensor::ordinary(1));
        stamps(100, 6).for_each(|stamp| attitude.imu(&sensor.spoil(&hand.sample(stamp))).unwrap());
        attitude.estimate().unwrap()
    };
    let (a, b) = (run(0.0), run(2.0));
    let turn = UnitQuaternion::from_scaled_axis(Vector3::z() * 2.0);
    assert!((turn * a.orientation).angle_to(&b.orientation) < 1e-9);
    assert!((a.gyro_bias - b.gyro_bias).norm() < 1e-10);
    let r = turn.to_rotation_matrix();
    assert!((r * a.orientation_covariance * r.inverse() - b.orientation_covariance).amax() < 1e-9);
}

proptest! {
    #[test]
    fn the_covariance_stays_symmetric_and_positive(seed in 0..1000_u64, pace in 0.1..6.0f64, reach in 0.0..1.0f64) {
        let (hand, mut sensor) = (Hand { pace, reach }, Sensor::ordinary(seed));
        let mut attitude = Attitude::new(config()).unwrap();
        stamps(100, 8).for_each(|stamp| attitude.imu(&sensor.spoil(&hand.sample(stamp))).unwrap());
        let p = attitude.state().covariance;
        prop_assert!((p - p.transpose()).amax() <= 1e-12 * p.amax());
        prop_assert!(p.symmetric_eigenvalues().min() > -1e-12 * p.amax());
    }
}
