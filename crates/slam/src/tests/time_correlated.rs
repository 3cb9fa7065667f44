//! Errors of measurements that last, as states.

use super::*;
use crate::step::StepBuffers;
use crate::step::step;
use crate::{Coordinates, Filter, SavedState};
use lienav_associate::associate::Evidence;
use lienav_associate::associate::Input;
use lienav_associate::association::memory::Memory;
use lienav_planar::model::Model;
use lienav_planar::motion::Increment;
use lienav_planar::state::time_correlated::SLOTS;
use lienav_planar::update::{Workspace, update};
use nalgebra::{DMatrix, DVector, Matrix3};

/// How long errors last, s.
const CORRELATION_S: f64 = 1.0;

fn stated(filter: &str) -> Config {
    let mut config = config(filter);
    config.sensor.correlation_s = CORRELATION_S;
    config
}

/// A state in which landmarks, pose and time-correlated errors are correlated, and measurements of three of its
/// landmarks.
fn read_twice(filter: &str) -> (State, Model, Vec<Match>) {
    let config = stated(filter);
    let model = Model::new(Filter::named(filter).unwrap(), &config, &[]);
    let spread = Matrix3::from_diagonal(&[0.04, 0.04, 0.01].into());
    let start = (Se2::new(1.0, -2.0, 0.4), &spread);
    let coordinates = model.filter.coordinates();
    let mut state = State::new(coordinates, start, &config.calibration, &model.sensors, 8);
    let places = [[3.0, 1.0], [2.0, -2.0], [-1.0, 4.0]];
    let (mut buffers, memory) = (StepBuffers::default(), Memory::default());
    let drive = Increment { motion: Se2::new(0.3, 0.1, 0.2), covariance: spread * 0.1, drift: None };
    for k in 0..3 {
        let see = |(id, p): (usize, &[f64; 2])| {
            let off = 0.03 * (id as f64 - 1.0 + 0.2 * f64::from(k));
            Measurement::new(Some(id as u32), [p[0] - 0.3 * f64::from(k) + off, p[1] - off])
        };
        let seen: Vec<_> = places.iter().enumerate().map(see).collect();
        let kind = MeasurementKind::RelativePosition;
        let evidence = Evidence::Observed { kind, measurements: &seen, memory: &memory };
        let input = Input { motion: &drive, stamp: stamp(k as usize), evidence };
        step(&mut state, &model, &input, None, None, &mut buffers);
    }
    state.fade_offsets(stamp(3), &model.sensors);
    let matches = [2, 0, 1].map(|i: usize| {
        let z = state.in_robot(i) + Vector2::new(0.02, -0.05);
        let checked = model.sensors.read(MeasurementKind::RelativePosition, &Measurement::new(None, z)).unwrap();
        linearized(&state, &model.sensors, &checked, i)
    });
    (state, model, matches.to_vec())
}

#[test]
fn an_update_with_time_correlated_errors_is_that_of_a_plain_kalman_filter() {
    for name in ["ekf", "reduced", "invariant"] {
        let (mut state, model, matches) = read_twice(name);
        let p = state.covariance.to_matrix();
        let n = p.nrows();
        let (mut h, mut r, mut y) = (DMatrix::zeros(6, n), DMatrix::zeros(6, 6), DVector::zeros(6));
        for (k, m) in matches.iter().enumerate() {
            let Subject::Landmark(i) = m.subject else { panic!("no landmark") };
            let row = m.time_correlated.expect("its lasting error is in the state");
            h.fixed_view_mut::<2, 3>(2 * k, 0).copy_from(&m.by_pose.fixed_view::<2, 3>(0, 0));
            h.fixed_view_mut::<2, 2>(2 * k, row).copy_from(&m.by_time_correlated.fixed_view::<2, 2>(0, 0));
            h.fixed_view_mut::<2, 2>(2 * k, state.covariance.row_of(i))
                .copy_from(&m.by_landmark.fixed_view::<2, 2>(0, 0));
            r.fixed_view_mut::<2, 2>(2 * k, 2 * k).copy_from(&m.noise.fixed_view::<2, 2>(0, 0));
            y.fixed_rows_mut::<2>(2 * k).copy_from(&m.residual.fixed_rows::<2>(0));
        }
        let s = &h * &p * h.transpose() + &r;
        for (a, one) in matches.iter().enumerate() {
            let own = lienav_planar::linearize::innovation_covariance(&state, one);
            assert!((own.fixed_view::<2, 2>(0, 0) - s.fixed_view::<2, 2>(2 * a, 2 * a)).amax() < 1e-12, "{name}");
            for (b, other) in matches.iter().enumerate().filter(|(b, _)| *b != a) {
                let shared = lienav_planar::linearize::shared_covariance(&state, one, other);
                let difference = shared.fixed_view::<2, 2>(0, 0) - s.fixed_view::<2, 2>(2 * a, 2 * b);
                assert!(difference.amax() < 1e-12, "{name}: {difference}");
            }
        }
        let gain = &p * h.transpose() * s.try_inverse().unwrap();
        let rest = DMatrix::identity(n, n) - &gain * &h;
        let expected = &rest * &p * rest.transpose() + &gain * &r * gain.transpose();
        let change = &gain * y;
        let rows = state.offsets.range();
        let values = |state: &State| rows.clone().step_by(2).map(|row| state.offsets.value(row)).collect::<Vec<_>>();
        let known = values(&state);
        update(&mut state, &matches, &model.filter, (&[], &[]), &mut Workspace::default()).unwrap();
        let difference = (state.covariance.to_matrix() - expected).amax();
        assert!(difference < 1e-12, "{name}: {difference}");
        for (k, (now, then)) in values(&state).iter().zip(known).enumerate() {
            let moved = change.fixed_rows::<2>(rows.start + 2 * k);
            assert!((now - then - moved).norm() < 1e-12, "{name}: lasting error {k}");
        }
    }
}

/// What remains is known as well as one measurement less what is independent, however often a landmark is read from one
/// place.
#[test]
fn measurement_a_landmark_again_and_again_does_not_make_its_place_surer_than_its_time_correlated_error() {
    for coordinates in [Coordinates::World, Coordinates::Robot, Coordinates::Invariant] {
        let name = ["ekf", "reduced", "default"][coordinates as usize];
        let mut config = stated(name);
        config.sensor.correlation_s = 1000.0;
        (config.motion.velocity_x_std, config.motion.velocity_y_std, config.motion.yaw_rate_std) = (0.0, 0.0, 0.0);
        let mut slam = Slam::new(config).unwrap();
        let mut instants = recording(100, 3);
        for instant in &mut instants {
            (instant.odometry.velocity, instant.odometry.yaw_rate) = (Vector2::zeros(), 0.0);
            instant.seen = vec![Measurement::new(Some(1), [3.0, 1.0])];
            feed(&mut slam, instant);
        }
        let state = slam.state();
        let known = state.relative_covariance(0).trace() / (2.0 * POSITION_STD * POSITION_STD);
        // 90 % last, of which 100 measurements in 10 s of 1,000 s tell next to nothing.
        assert!((known - 0.901).abs() < 0.005, "{name}: {known}");
    }
}

/// The same measurements with errors that last.
fn time_correlated(mut instants: Vec<Instant>, seed: u64) -> Vec<Instant> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let rho = (-DT / CORRELATION_S).exp();
    let mut errors = [None::<Vector2<f64>>; 8];
    for instant in &mut instants {
        for (i, (error, seen)) in errors.iter_mut().zip(&mut instant.seen).enumerate() {
            let mut draw = || -> Vector2<f64> {
                Vector2::new(StandardNormal.sample(&mut rng), StandardNormal.sample(&mut rng)) * POSITION_STD
            };
            let fresh = draw();
            let now = error.map_or(fresh, |before| before * rho + fresh * (1.0 - rho * rho).sqrt());
            *error = Some(now);
            let turn = i as f64 * std::f64::consts::FRAC_PI_4;
            let p = Se2::new(0.0, 3.0, turn).transform(&Vector2::new(4.0, 0.0));
            let whole = now * 0.9_f64.sqrt() + draw() * 0.1_f64.sqrt();
            seen.value = (instant.truth.transform_back(&p) + whole).into();
        }
    }
    instants
}

/// Mean NEES of the pose and RMSE, m, over runs.
fn judged(config: &Config, runs: u64) -> (f64, f64) {
    let (mut nees, mut square, mut count) = (0.0, 0.0, 0.0);
    for seed in 0..runs {
        let instants = time_correlated(recording(200, 100 + seed), 200 + seed);
        let mut slam = Slam::new(config.clone()).unwrap();
        for instant in &instants {
            for step in feed(&mut slam, instant) {
                let (pose, covariance) = (step.estimate.pose, step.estimate.covariance);
                if instant.odometry.stamp > stamp(20) {
                    nees += super::hall::nees(&(pose, covariance), &instant.truth);
                    square += (pose.p - instant.truth.p).norm_squared();
                    count += 1.0;
                }
            }
        }
    }
    (nees / count, (square / count).sqrt())
}

#[test]
fn a_filter_that_is_told_how_long_errors_last_is_consistent_and_better() {
    let (nees, rmse) = judged(&stated("default"), 12);
    let (nees_untold, rmse_untold) = judged(&config("default"), 12);
    assert!((2.2..3.9).contains(&nees), "NEES {nees}, and {nees_untold} of one that is not told");
    assert!(nees_untold > 2.0 * nees, "{nees_untold}, {nees}");
    assert!(rmse < rmse_untold, "{rmse} m, {rmse_untold} m");
}

#[test]
fn more_landmarks_than_places_are_read_with_inflated_noise() {
    let count = SLOTS as u32 + 5;
    let mut slam = Slam::new(stated("default")).unwrap();
    for mut instant in recording(30, 4) {
        (instant.odometry.velocity, instant.odometry.yaw_rate) = (Vector2::zeros(), 0.0);
        let see = |id: u32| {
            let turn = f64::from(id) * 0.25;
            Measurement::new(Some(id), [4.0 * turn.cos(), 4.0 * turn.sin()])
        };
        instant.seen = (0..count).map(see).collect();
        feed(&mut slam, &instant);
    }
    let state = slam.state();
    let (mut held, mut others) = (0, 0);
    for (i, landmark) in state.landmarks.iter().enumerate() {
        let known = state.relative_covariance(i).trace() / (2.0 * POSITION_STD * POSITION_STD);
        assert!((0.05..0.99).contains(&known), "{}: {known}", landmark.id);
        match state.offsets.find(landmark.id, 0) {
            Some(_) => held += 1,
            None => others += 1,
        }
    }
    assert_eq!((held, others), (SLOTS, 5));
}

#[test]
fn a_run_with_time_correlated_errors_goes_on_where_it_was_saved() {
    let instants = time_correlated(recording(120, 5), 6);
    let mut whole = Slam::new(stated("default")).unwrap();
    instants[..70].iter().for_each(|instant| drop(feed(&mut whole, instant)));
    let text = serde_json::to_string(&whole.save()).unwrap();
    let saved: SavedState = serde_json::from_str(&text).unwrap();
    let mut resumed = Slam::resume(stated("default"), saved).unwrap();
    for instant in &instants[70..] {
        assert_eq!(feed(&mut resumed, instant), feed(&mut whole, instant));
    }
}

#[test]
fn a_clock_that_is_set_back_does_not_keep_the_places() {
    let instants = recording(40, 7);
    let mut slam = Slam::new(stated("default")).unwrap();
    instants[20..].iter().for_each(|instant| drop(feed(&mut slam, instant)));
    let state = &mut slam.estimator.state;
    assert!((0..8).all(|id| state.offsets.find(id, 0).is_some()));
    slam.estimator.restart_clock(stamp(0));
    let state = &slam.estimator.state;
    assert!((0..8).all(|id| state.offsets.find(id, 0).is_none()));
    for row in state.offsets.range() {
        let others = (0..state.covariance.dim()).filter(|other| *other != row);
        assert!(others.map(|other| state.covariance.get(row, other)).all(|shared| shared == 0.0));
        assert_eq!(state.covariance.get(row, row), 1.0);
    }
}
