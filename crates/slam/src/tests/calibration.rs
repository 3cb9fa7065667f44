//! What is calibrated while running: Jacobians, convergence with honest covariances, and what cannot be known.

use super::linearized;
use super::*;
use crate::{CalibrationConfig, Coordinates, Discretization, Filter, MotionConfig, Prior, SensorConfig, StereoModel};
use lienav_lie::skew;
use lienav_planar::calibration::Calibration;
use lienav_planar::linearize::innovation_covariance;
use lienav_planar::motion::Segment;
use lienav_planar::motion::{Increment, increment};
use lienav_planar::propagate::{Rows, propagate};
use lienav_planar::sensor::Sensors;
use lienav_planar::state::{State, StateLandmark};
use lienav_planar::update::{Workspace, update};
use nalgebra::{DMatrix, DVector, Matrix2, Matrix2x3, Matrix3};
use rand::RngExt;

/// Standard deviations of the priors of these tests, in the order of [`crate::CalibrationParameter::ALL`].
pub const SIGMAS: [f64; 12] = [0.05, 0.05, 0.02, 0.05, 0.04, 0.03, 0.05, 0.05, 0.05, 0.1, 0.03, 0.02];

pub fn all_on() -> CalibrationConfig {
    let [
        scale_v,
        scale_w,
        bias_w,
        turn_slip,
        drive_yaw,
        motion_delay,
        sensor_x,
        sensor_y,
        sensor_yaw,
        range_bias,
        bearing_bias,
        range_scale,
    ] = SIGMAS.map(|sigma| Prior { value: 0.0, sigma, walk: 0.0 });
    CalibrationConfig {
        scale_v,
        scale_w,
        bias_w,
        turn_slip,
        drive_yaw,
        motion_delay,
        sensor_x,
        sensor_y,
        sensor_yaw,
        range_bias,
        bearing_bias,
        range_scale,
        ..CalibrationConfig::default()
    }
}

/// A state with correlations everywhere and calibration away from zero.
fn correlated(coordinates: Coordinates, seed: u64) -> State {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut draw = || rng.random_range(-1.0..1.0);
    let pose = Se2::new(1.0, -2.0, 0.7);
    let mut state = State::new(coordinates, (pose, &(Matrix3::identity() * 0.04)), &all_on(), &sensors(), 4);
    for id in 0..2 {
        let x = Vector2::new(3.0 + draw(), 4.0 * draw());
        let landmark = StateLandmark {
            wanted: Stamp::default(),
            id,
            x,
            first: x,
            anchor: Vector2::zeros(),
            is_vague: false,
            last_seen: Stamp::default(),
            measurements: 1,
            is_mapped: false,
            is_anchor_point: false,
            is_inherited: false,
            outliers: 0,
            outliers_since: Stamp::MIN,
        };
        state.append(landmark, &Matrix2x3::zeros(), &(Matrix2::identity() * 0.05));
    }
    let rows: Vec<[f64; 3]> = (0..state.covariance.dim()).map(|_| [0.1 * draw(), 0.1 * draw(), 0.1 * draw()]).collect();
    state.covariance.add_outer3(&rows);
    let delta: Vec<f64> = SIGMAS.iter().map(|s| s * draw()).collect();
    state.correct_calibration(&delta);
    state
}

fn mean(state: &State) -> DVector<f64> {
    let mut x = vec![state.pose.p.x, state.pose.p.y, state.pose.theta];
    x.extend(state.calibration.active().iter().map(|p| state.calibration.get(*p)));
    x.extend(state.landmarks.iter().flat_map(|f| [f.x.x, f.x.y]));
    DVector::from_vec(x)
}

fn displaced(state: &State, dx: &DVector<f64>) -> State {
    let mut moved = state.clone();
    moved.pose = Se2::new(state.pose.p.x + dx[0], state.pose.p.y + dx[1], state.pose.theta + dx[2]);
    moved.predicted = moved.pose;
    moved.correct_calibration(&dx.as_slice()[3..15]);
    for (i, landmark) in moved.landmarks.iter_mut().enumerate() {
        landmark.x += Vector2::new(dx[15 + 2 * i], dx[16 + 2 * i]);
    }
    moved
}

/// A motion that was taken with old values of calibration becomes the one with new values, to first order.
#[test]
fn a_motion_is_recalibrated_as_if_it_were_taken_again() {
    let odometry =
        Odometry { stamp: Stamp::default(), velocity: Vector2::new(0.8, 0.1), yaw_rate: 0.6, covariance: None };
    let config = MotionConfig::default();
    let at = |scale: f64| {
        let mut calibration = Calibration::new(&all_on());
        calibration.correct(&SIGMAS.map(|sigma| 0.3 * sigma * scale));
        calibration
    };
    let taken =
        |calibration: &Calibration| increment(&odometry, 0.1, 0.1, &config, Discretization::Exponential, calibration);
    let error = |scale: f64| {
        let (then, now) = (at(1.0), at(1.0 + scale));
        let (old, new) = (taken(&then).motion, taken(&now).motion);
        let ours = taken(&then).recalibrated(&then, &now).motion;
        assert!((old.p - new.p).norm() > 1e-4 * scale);
        (ours.p - new.p).norm() + (ours.theta - new.theta).abs()
    };
    assert!(error(1.0) < 1e-5 && error(0.1) < 0.02 * error(1.0), "{} {}", error(1.0), error(0.1));
    let plain = Increment { drift: None, ..taken(&at(1.0)) };
    assert_eq!(plain.recalibrated(&at(1.0), &at(2.0)), plain);
}

/// From the errors of the state to those of (p, θ, c, x_1 … x_N).
fn to_additive(state: &State) -> DMatrix<f64> {
    let mut m = DMatrix::identity(state.covariance.dim(), state.covariance.dim());
    if state.coordinates == Coordinates::Invariant {
        let mut turn = |row: usize, x: &Vector2<f64>| {
            let t = skew(x);
            (m[(row, 2)], m[(row + 1, 2)]) = (t.x, t.y);
            (m[(row, 0)], m[(row + 1, 1)]) = (1.0, 1.0);
        };
        turn(0, &state.pose.p);
        for (i, landmark) in state.landmarks.iter().enumerate() {
            turn(state.covariance.row_of(i), &landmark.x);
        }
    }
    m
}

fn additive_covariance(state: &State) -> DMatrix<f64> {
    let m = to_additive(state);
    &m * state.covariance.to_matrix() * m.transpose()
}

fn numeric(n: usize, f: impl Fn(&DVector<f64>) -> DVector<f64>) -> DMatrix<f64> {
    let columns: Vec<DVector<f64>> = (0..n)
        .map(|k| {
            let mut dx = DVector::zeros(n);
            dx[k] = 1e-6;
            (f(&dx) - f(&-dx)) / 2e-6
        })
        .collect();
    DMatrix::from_columns(&columns)
}

#[test]
fn propagation_against_finite_differences_of_the_mean() {
    let odometry = Odometry {
        stamp: stamp(0),
        velocity: Vector2::new(0.8, 0.1),
        yaw_rate: -0.5,
        covariance: Some(Matrix3::zeros()),
    };
    for (name, filter) in Filter::TABLE {
        let state = correlated(filter.coordinates(), 4);
        let moved = |dx: &DVector<f64>| {
            let mut state = displaced(&state, dx);
            let config = MotionConfig::default();
            let part = |duration: f64, change| Segment {
                odometry,
                duration,
                interval: 0.5,
                fastest: Vector2::zeros(),
                change,
            };
            let step = |part: Segment| part.increment(&config, filter.discretization(), &state.calibration);
            let before = nalgebra::Vector3::new(1.0, 0.0, 0.2);
            let (one, other) = (step(part(0.3, Some([before, odometry.twist()]))), step(part(0.2, None)));
            propagate(&mut state, &one, &filter, &mut Rows::default());
            propagate(&mut state, &other, &filter, &mut Rows::default());
            state
        };
        let n = state.covariance.dim();
        let phi = numeric(n, |dx| mean(&moved(dx)));
        let expected = &phi * additive_covariance(&state) * phi.transpose();
        let found = additive_covariance(&moved(&DVector::zeros(n)));
        assert!((found - expected).amax() < 1e-7, "{name}");
    }
}

/// Compounded first and applied at once, or applied one after the other: to first order the same; and the prediction
/// of the pose alone agrees with the state.
#[test]
fn what_is_predicted_is_what_the_state_becomes() {
    for name in ["ekf", "reduced", "default"] {
        let filter = Filter::named(name).unwrap();
        let state = correlated(filter.coordinates(), 6);
        let step = |v: f64, w: f64| {
            let odometry = Odometry { stamp: stamp(0), velocity: Vector2::new(v, 0.0), yaw_rate: w, covariance: None };
            increment(&odometry, 0.1, 0.1, &MotionConfig::default(), filter.discretization(), &state.calibration)
        };
        let both = step(1.0, 0.4).then(&step(0.5, -0.2));
        let (pose, covariance) = state.carried(&both);
        let mut moved = state.clone();
        propagate(&mut moved, &both, &filter, &mut Rows::default());
        assert!((pose.p - moved.pose.p).norm() < 1e-14);
        assert!((covariance - moved.pose_covariance()).amax() < 1e-14, "{name}");
    }
}

#[test]
fn a_turn_slows_the_robot_down_and_never_turns_it_back() {
    let config =
        CalibrationConfig { turn_slip: Prior { value: 0.1, ..Prior::default() }, ..CalibrationConfig::default() };
    let calibration = Calibration::new(&config);
    let forward = |v: f64, w: f64| calibration.twist(&nalgebra::Vector3::new(v, 0.0, w)).x;
    assert!((forward(0.5, -2.0) - 0.3).abs() < 1e-15);
    assert!((forward(-0.5, 2.0) + 0.3).abs() < 1e-15);
    assert_eq!((forward(0.1, 2.0), forward(0.0, 2.0)), (0.0, 0.0));
    assert!(calibration.active().is_empty());
}

pub fn sensors() -> Sensors {
    let config = SensorConfig { x_m: 0.3, y_m: -0.1, yaw_rad: 0.2, ..SensorConfig::default() };
    Sensors::new(&config, StereoModel::Bearings, &[])
}

#[test]
fn measurement_jacobians_against_finite_differences() {
    let checked_measurements = [
        (MeasurementKind::RangeBearing, Vector2::new(3.0, 0.2)),
        (MeasurementKind::RelativePosition, Vector2::new(3.0, 0.2)),
        (MeasurementKind::StereoBearings, Vector2::new(0.15, 0.3)),
    ];
    for coordinates in [Coordinates::World, Coordinates::Robot] {
        let state = correlated(coordinates, 3);
        for (kind, value) in checked_measurements {
            let sensors = sensors();
            let measurement = Measurement::new(None, value);
            let checked = sensors.read(kind, &measurement).unwrap();
            let linearized = |state: &State| linearized(state, &sensors, &checked, 1);
            let residual =
                |dx: &DVector<f64>| DVector::from_column_slice(linearized(&displaced(&state, dx)).residual.as_slice());
            let h = -numeric(state.covariance.dim(), residual);
            let m = linearized(&state);
            // The sensor's six parameters are the last of the twelve.
            let by_sensor = m.by_calibration.whole().fixed_columns::<6>(0).into_owned();
            assert!((h.fixed_view::<3, 6>(0, 9) - by_sensor).amax() < 1e-7, "{coordinates:?} {kind:?}");
            assert!((h.fixed_view::<3, 2>(0, 17) - m.by_landmark).amax() < 1e-7);
        }
    }
}

#[test]
fn the_update_is_the_textbook_kalman_update() {
    for name in ["ekf", "reduced"] {
        let filter = Filter::named(name).unwrap();
        let mut state = correlated(filter.coordinates(), 2);
        let sensors = sensors();
        let (mu, p) = (mean(&state), state.covariance.to_matrix());
        let n = mu.len();
        let (mut h, mut r, mut y) = (DMatrix::zeros(4, n), DMatrix::zeros(4, 4), DVector::zeros(4));
        let mut matches = Vec::new();
        for i in 0..2 {
            let measurement = Measurement::new(None, [3.0, 0.2 * i as f64]);
            let checked = sensors.read(MeasurementKind::RangeBearing, &measurement).unwrap();
            let m = linearized(&state, &sensors, &checked, i);
            assert_eq!(m.dim, 2);
            h.fixed_view_mut::<2, 3>(2 * i, 0).copy_from(&m.by_pose.fixed_rows::<2>(0));
            h.fixed_view_mut::<2, 6>(2 * i, 9).copy_from(&m.by_calibration.whole().fixed_view::<2, 6>(0, 0));
            h.fixed_view_mut::<2, 2>(2 * i, state.covariance.row_of(i)).copy_from(&m.by_landmark.fixed_rows::<2>(0));
            r.fixed_view_mut::<2, 2>(2 * i, 2 * i).copy_from(&m.noise.fixed_view::<2, 2>(0, 0));
            y.fixed_rows_mut::<2>(2 * i).copy_from(&m.residual.fixed_rows::<2>(0));
            let one = h.rows(2 * i, 2).into_owned();
            let s = &one * &p * one.transpose() + m.noise.fixed_view::<2, 2>(0, 0);
            let found = innovation_covariance(&state, &m);
            assert!((s - found.fixed_view::<2, 2>(0, 0)).amax() < 1e-12);
            matches.push(m);
        }
        let s = &h * &p * h.transpose() + r;
        let gain = &p * h.transpose() * s.try_inverse().unwrap();
        update(&mut state, &matches, &filter, (&[], &[]), &mut Workspace::default()).unwrap();
        assert!((mean(&state) - (mu + &gain * y)).amax() < 1e-10);
        assert!((state.covariance.to_matrix() - (&p - &gain * h * &p)).amax() < 1e-10);
    }
}

/// A new landmark is where the measurement puts it, given the calibration: so its error goes with the errors of
/// calibration.
#[test]
fn a_new_landmark_is_correlated_with_the_calibration_it_was_placed_by() {
    for name in ["log-range", "reduced", "ekf"] {
        let (filter, sensors) = (Filter::named(name).unwrap(), sensors());
        let state = correlated(filter.coordinates(), 5);
        let measurement = Measurement {
            covariance: Some((Matrix2::identity() * 1e-12).into()),
            ..Measurement::new(None, [3.0, 0.2])
        };
        let added = |dx: &DVector<f64>| {
            let mut state = displaced(&state, dx);
            let checked = sensors.read(MeasurementKind::RangeBearing, &measurement).unwrap();
            assert!(lienav_planar::augment::augment(&mut state, &sensors, &checked, 9, stamp(0), &filter));
            state
        };
        let n = state.covariance.dim();
        let phi = numeric(n, |dx| mean(&added(dx)));
        let expected = &phi * additive_covariance(&state) * phi.transpose();
        let found = additive_covariance(&added(&DVector::zeros(n)));
        assert!((found - expected).amax() < 1e-7, "{name}");
    }
}
