//! What is calibrated while running: Jacobians, convergence with honest covariances, and what cannot be known.

use super::linearized;
use super::*;
use crate::calibration::Calibration;
use crate::covariance::Covariance;
use crate::inbox::Segment;
use crate::linearize::innovation_covariance;
use crate::motion::{Increment, increment};
use crate::propagate::{Rows, propagate};
use crate::sensor::Sensors;
use crate::state::{Feature, State};
use crate::update::{Workspace, update};
use crate::{CalibrationConfig, Coordinates, Discretization, Filter, MotionConfig, Prior, SensorConfig, StereoModel};
use lienav_lie::{rotation, skew};
use nalgebra::{DMatrix, DVector, Matrix2, Matrix2x3, Matrix3};
use rand::RngExt;

/// Standard deviations of the priors of these tests, in the order of [`crate::CalibrationParameter::ALL`].
const SIGMAS: [f64; 12] = [0.05, 0.05, 0.02, 0.05, 0.04, 0.03, 0.05, 0.05, 0.05, 0.1, 0.03, 0.02];

fn all_on() -> CalibrationConfig {
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
        let feature = Feature {
            wanted: Stamp::default(),
            id,
            x,
            first: x,
            anchor: Vector2::zeros(),
            is_vague: false,
            last_seen: Stamp::default(),
            observations: 1,
            is_mapped: false,
            is_viewpoint: false,
            misfits: 0,
            misfit_since: Stamp::MIN,
        };
        state.append(feature, &Matrix2x3::zeros(), &(Matrix2::identity() * 0.05));
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
    x.extend(state.features.iter().flat_map(|f| [f.x.x, f.x.y]));
    DVector::from_vec(x)
}

fn displaced(state: &State, dx: &DVector<f64>) -> State {
    let mut moved = state.clone();
    moved.pose = Se2::new(state.pose.p.x + dx[0], state.pose.p.y + dx[1], state.pose.theta + dx[2]);
    moved.predicted = moved.pose;
    moved.correct_calibration(&dx.as_slice()[3..15]);
    for (i, feature) in moved.features.iter_mut().enumerate() {
        feature.x += Vector2::new(dx[15 + 2 * i], dx[16 + 2 * i]);
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
        for (i, feature) in state.features.iter().enumerate() {
            turn(state.covariance.row_of(i), &feature.x);
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

fn sensors() -> Sensors {
    let config = SensorConfig { x_m: 0.3, y_m: -0.1, yaw_rad: 0.2, ..SensorConfig::default() };
    Sensors::new(&config, StereoModel::Bearings, &[])
}

#[test]
fn measurement_jacobians_against_finite_differences() {
    let readings = [
        (FeatureKind::RangeBearing, Vector2::new(3.0, 0.2)),
        (FeatureKind::RelativePosition, Vector2::new(3.0, 0.2)),
        (FeatureKind::StereoBearings, Vector2::new(0.15, 0.3)),
    ];
    for coordinates in [Coordinates::World, Coordinates::Robot] {
        let state = correlated(coordinates, 3);
        for (kind, value) in readings {
            let sensors = sensors();
            let observation = Observation::new(None, value);
            let reading = sensors.read(kind, &observation).unwrap();
            let linearized = |state: &State| linearized(state, &sensors, &reading, 1);
            let residual =
                |dx: &DVector<f64>| DVector::from_column_slice(linearized(&displaced(&state, dx)).residual.as_slice());
            let h = -numeric(state.covariance.dim(), residual);
            let m = linearized(&state);
            // The sensor's six parameters are the last of the twelve.
            let by_sensor = m.by_calibration.whole().fixed_columns::<6>(0).into_owned();
            assert!((h.fixed_view::<3, 6>(0, 9) - by_sensor).amax() < 1e-7, "{coordinates:?} {kind:?}");
            assert!((h.fixed_view::<3, 2>(0, 17) - m.by_feature).amax() < 1e-7);
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
            let observation = Observation::new(None, [3.0, 0.2 * i as f64]);
            let reading = sensors.read(FeatureKind::RangeBearing, &observation).unwrap();
            let m = linearized(&state, &sensors, &reading, i);
            assert_eq!(m.dim, 2);
            h.fixed_view_mut::<2, 3>(2 * i, 0).copy_from(&m.by_pose.fixed_rows::<2>(0));
            h.fixed_view_mut::<2, 6>(2 * i, 9).copy_from(&m.by_calibration.whole().fixed_view::<2, 6>(0, 0));
            h.fixed_view_mut::<2, 2>(2 * i, state.covariance.row_of(i)).copy_from(&m.by_feature.fixed_rows::<2>(0));
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
        update(&mut state, &matches, &filter, &[], &mut Workspace::default()).unwrap();
        assert!((mean(&state) - (mu + &gain * y)).amax() < 1e-10);
        assert!((state.covariance.to_matrix() - (&p - &gain * h * &p)).amax() < 1e-10);
    }
}

/// A new feature is where the reading puts it, given the calibration: so its error goes with the errors of
/// calibration.
#[test]
fn a_new_feature_is_correlated_with_the_calibration_it_was_placed_by() {
    for name in ["log-range", "reduced", "ekf"] {
        let (filter, sensors) = (Filter::named(name).unwrap(), sensors());
        let state = correlated(filter.coordinates(), 5);
        let observation = Observation {
            covariance: Some((Matrix2::identity() * 1e-12).into()),
            ..Observation::new(None, [3.0, 0.2])
        };
        let added = |dx: &DVector<f64>| {
            let mut state = displaced(&state, dx);
            let reading = sensors.read(FeatureKind::RangeBearing, &observation).unwrap();
            assert!(crate::augment::augment(&mut state, &sensors, &reading, 9, stamp(0), &filter));
            state
        };
        let n = state.covariance.dim();
        let phi = numeric(n, |dx| mean(&added(dx)));
        let expected = &phi * additive_covariance(&state) * phi.transpose();
        let found = additive_covariance(&added(&DVector::zeros(n)));
        assert!((found - expected).amax() < 1e-7, "{name}");
    }
}

/// A winding drive among twelve features on two rings, range and bearing, seen by robot and sensor with the
/// calibration errors `c` (in the order of [`crate::CalibrationParameter::ALL`]): what odometry states, and what is read.
fn drive(c: &[f64; 12], steps: usize, seed: u64) -> Vec<Instant> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut noise = |std: f64| {
        let x: f64 = StandardNormal.sample(&mut rng);
        std * x
    };
    let feature = |i: usize| {
        let angle = i as f64 * std::f64::consts::TAU / 12.0;
        Se2::new(0.0, 3.0, angle).transform(&Vector2::new(if i.is_multiple_of(2) { 5.0 } else { 7.0 }, 0.0))
    };
    let mount = Se2::new(c[6], c[7], c[8]);
    let mut truth = Se2::identity();
    (0..steps)
        .map(|k| {
            // Slow enough in the straights and fast enough in the bends that scale, bias and slip differ.
            let t = k as f64 * DT;
            let (v, w) = (0.9 + 0.4 * (0.31 * t).sin(), 0.2 + 0.6 * (0.53 * t).sin());
            if k > 0 {
                let (v, w) = (v + noise(VELOCITY_STD), w + noise(YAW_RATE_STD));
                let driven = rotation(c[4]) * Vector2::new(v, noise(VELOCITY_STD));
                truth = truth * Se2::exp(&nalgebra::Vector3::new(driven.x * DT, driven.y * DT, w * DT));
            }
            let yaw_rate = (w - c[2]) / (1.0 + c[1]);
            let velocity = Vector2::new((v + c[3] * yaw_rate.abs()) / (1.0 + c[0]), 0.0);
            let seen = (0..12)
                .map(|i| {
                    let z = mount.transform_back(&truth.transform_back(&feature(i)));
                    let reading =
                        [(z.norm() + c[9]) / (1.0 + c[11]) + noise(0.05), z.y.atan2(z.x) + c[10] + noise(0.01)];
                    Observation::new(Some(i as u32), reading)
                })
                .collect();
            Instant { odometry: Odometry { stamp: stamp(k), velocity, yaw_rate, covariance: None }, truth, seen }
        })
        .collect()
}

fn calibrating(filter: &str, calibration: CalibrationConfig) -> Config {
    let mut c = config(filter);
    c.motion.hold = crate::TwistHold::Before;
    c.sensor.kind = FeatureKind::RangeBearing;
    (c.sensor.range_std_m, c.sensor.bearing_std_rad) = (0.05, 0.01);
    c.gate.probability = 1.0;
    c.calibration = calibration;
    c
}

fn calibrate(config: Config, instants: &[Instant]) -> (Slam, Vec<Step>) {
    let mut slam = Slam::new(config).unwrap();
    let mut steps = Vec::new();
    for instant in instants {
        slam.odometry(&instant.odometry).unwrap();
        slam.features(instant.odometry.stamp, FeatureKind::RangeBearing, &instant.seen).unwrap();
        steps.extend(drain(&mut slam));
    }
    (slam, steps)
}

fn block(slam: &Slam) -> DMatrix<f64> {
    let n = slam.calibration().count();
    slam.state().covariance.to_matrix().view((3, 3), (n, n)).into_owned()
}

/// Errors drawn from the priors are found, to within what the filter claims. The mounting yaw and the direction of driving
/// are off: they cannot be told from a bias of the bearing.
#[test]
fn errors_of_calibration_are_found_and_their_covariance_is_honest() {
    for filter in ["default", "invariant"] {
        let mut priors = all_on();
        // Ranges and velocities that are both too long by a part are those of a larger world.
        (priors.sensor_yaw.sigma, priors.range_scale.sigma, priors.drive_yaw.sigma) = (0.0, 0.0, 0.0);
        priors.motion_delay.sigma = 0.0;
        let runs = 20;
        let (mut nees, mut pose_nees) = (0.0, 0.0);
        for seed in 0..runs {
            let mut rng = ChaCha8Rng::seed_from_u64(900 + seed);
            let mut c = SIGMAS.map(|sigma| {
                let x: f64 = StandardNormal.sample(&mut rng);
                sigma * x
            });
            (c[4], c[5], c[8], c[11]) = (0.0, 0.0, 0.0, 0.0);
            let instants = drive(&c, 200, seed);
            let (slam, steps) = calibrate(calibrating(filter, priors.clone()), &instants);
            let errors: Vec<f64> = slam.calibration().map(|e| e.value - c[e.parameter as usize]).collect();
            for (e, error) in slam.calibration().zip(&errors) {
                assert!(error.abs() < 5.0 * e.std, "{filter} {}: {error} ± {}", e.parameter.word(), e.std);
                assert!(e.std < 0.6 * SIGMAS[e.parameter as usize], "{} is not learned: {}", e.parameter.word(), e.std);
            }
            let errors = DVector::from_vec(errors);
            nees += errors.dot(&block(&slam).cholesky().unwrap().solve(&errors));
            let (last, truth) = (steps.last().unwrap().estimate, instants.last().unwrap().truth);
            let e = nalgebra::Vector3::new(
                last.pose.p.x - truth.p.x,
                last.pose.p.y - truth.p.y,
                last.pose.theta - truth.theta,
            );
            pose_nees += e.dot(&last.covariance.cholesky().unwrap().solve(&e));
        }
        // 99.9 % bands of χ²(160)/20 and χ²(60)/20.
        let (nees, pose_nees) = (nees / runs as f64, pose_nees / runs as f64);
        assert!((5.3..11.3).contains(&nees), "{filter}: {nees}");
        assert!((1.5..5.2).contains(&pose_nees), "{filter}: pose {pose_nees}");
    }
}

/// A robot whose wheels drive it askew finds by how much.
#[test]
fn the_direction_of_driving_is_found() {
    let on = Prior { sigma: 0.1, ..Prior::default() };
    let priors = CalibrationConfig { drive_yaw: on, scale_w: on, ..CalibrationConfig::default() };
    for (seed, filter) in (30..).zip(["default", "ekf", "reduced"]) {
        let c = [0.0, 0.03, 0.0, 0.0, -0.08, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0];
        let (slam, _) = calibrate(calibrating(filter, priors.clone()), &drive(&c, 300, seed));
        for e in slam.calibration() {
            assert!((e.value - c[e.parameter as usize]).abs() < 4.0 * e.std, "{filter} {e:?}");
            assert!(e.std < 0.012, "{filter} {e:?}");
        }
    }
}

/// The yaw of the mount and a bias of the bearing do the same to a reading: their difference is learned, their sum is
/// not. And a robot that stands still learns nothing of its odometry.
#[test]
fn what_cannot_be_known_stays_as_it_was() {
    let on = |sigma: f64| Prior { sigma, ..Prior::default() };
    let both = CalibrationConfig { sensor_yaw: on(0.03), bearing_bias: on(0.03), ..CalibrationConfig::default() };
    let (slam, _) = calibrate(calibrating("default", both), &drive(&[0.0; 12], 150, 1));
    let p = block(&slam);
    let (sum, difference) = (p[(0, 0)] + p[(1, 1)] + 2.0 * p[(0, 1)], p[(0, 0)] + p[(1, 1)] - 2.0 * p[(0, 1)]);
    assert!((sum / (2.0 * 0.03_f64.powi(2)) - 1.0).abs() < 1e-9, "{sum}");
    assert!(difference < 0.1 * 2.0 * 0.03_f64.powi(2), "{difference}");

    let odometry_only =
        CalibrationConfig { scale_v: on(0.05), scale_w: on(0.05), turn_slip: on(0.1), ..CalibrationConfig::default() };
    let mut instants = drive(&[0.0; 12], 1, 2);
    let still = instants.remove(0);
    let instants: Vec<Instant> = (0..50)
        .map(|k| {
            let odometry = Odometry { stamp: stamp(k), velocity: Vector2::zeros(), yaw_rate: 0.0, covariance: None };
            Instant { odometry, ..still.clone() }
        })
        .collect();
    let (slam, _) = calibrate(calibrating("default", odometry_only), &instants);
    for (e, sigma) in slam.calibration().zip([0.05, 0.05, 0.1]) {
        assert_eq!((e.value, e.std), (0.0, sigma), "{}", e.parameter.word());
    }
}

/// Where the map frame lies is nobody's business, calibrated or not.
#[test]
fn estimates_move_with_the_world() {
    let c = [0.05, -0.04, 0.01, 0.05, 0.03, 0.0, 0.05, -0.03, 0.0, 0.06, 0.02, 0.01];
    let instants = drive(&c, 60, 8);
    let world = Se2::new(7.0, -3.0, 2.1);
    for filter in ["default", "invariant", "iterated", "reduced", "fe-ekf", "thesis-reduced"] {
        let (here, steps_here) = calibrate(calibrating(filter, all_on()), &instants);
        let mut moved = calibrating(filter, all_on());
        (moved.initial.x_m, moved.initial.y_m, moved.initial.yaw_rad) = (world.p.x, world.p.y, world.theta);
        let (there, steps_there) = calibrate(moved, &instants);
        let mut turn = Matrix3::identity();
        turn.fixed_view_mut::<2, 2>(0, 0).copy_from(&world.rotation());
        for (a, b) in steps_here.iter().zip(&steps_there) {
            let expected = world * a.estimate.pose;
            assert!((expected.p - b.estimate.pose.p).norm() < 1e-9, "{filter}");
            let turned = turn * a.estimate.covariance * turn.transpose();
            assert!((turned - b.estimate.covariance).amax() < 1e-9, "{filter}");
        }
        assert!((block(&here) - block(&there)).amax() < 1e-9, "{filter}");
    }
}

/// A parameter that wanders loses what it had learned, by its walk; one with a prior of zero width may wander too.
#[test]
fn a_walk_keeps_the_filter_from_being_sure() {
    let walking = |sigma: f64, walk: f64| CalibrationConfig {
        scale_v: Prior { value: 0.0, sigma, walk },
        ..CalibrationConfig::default()
    };
    let instants = drive(&[0.0; 12], 150, 3);
    let std =
        |c: CalibrationConfig| calibrate(calibrating("default", c), &instants).0.calibration().next().unwrap().std;
    assert!(std(walking(0.05, 0.02)) > 1.5 * std(walking(0.05, 0.0)));
    let mut still =
        State::new(Coordinates::Robot, (Se2::identity(), &Matrix3::zeros()), &walking(0.0, 0.02), &sensors(), 2);
    let odometry = Odometry { stamp: stamp(0), velocity: Vector2::zeros(), yaw_rate: 0.0, covariance: None };
    let config = MotionConfig { max_step_s: 10.0, ..MotionConfig::default() };
    let filter = Filter::named("reduced").unwrap();
    let four_seconds = increment(&odometry, 4.0, 4.0, &config, filter.discretization(), &still.calibration);
    propagate(&mut still, &four_seconds, &filter, &mut Rows::default());
    let row = Covariance::calibration_row(0);
    assert!((still.covariance.get(row, row) - (0.02_f64 * 2.0).powi(2)).abs() < 1e-15);
}

#[test]
fn a_reset_forgets_what_was_learned_and_a_new_pose_does_not() {
    let c = [0.04, -0.04, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0];
    let on = Prior { sigma: 0.05, ..Prior::default() };
    let scales = CalibrationConfig { scale_v: on, scale_w: on, ..CalibrationConfig::default() };
    let (mut slam, _) = calibrate(calibrating("default", scales), &drive(&c, 100, 4));
    let learned: Vec<_> = slam.calibration().collect();
    slam.set_pose(Se2::new(5.0, 5.0, 1.0), &(Matrix3::identity() * 0.1)).unwrap();
    assert_eq!(slam.calibration().collect::<Vec<_>>(), learned);
    slam.reset();
    assert!(slam.calibration().all(|e| e.value == 0.0 && e.std == 0.05));
}
