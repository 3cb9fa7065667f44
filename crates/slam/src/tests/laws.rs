//! Laws the filters must obey whatever the data.

use super::*;
use crate::{Coordinates, Discretization, Filter, NoiseAt, SensorConfig, StereoModel};
use lienav_lie::skew;
use lienav_planar::associated::Subject;
use lienav_planar::calibration::Calibration;
use lienav_planar::linearize::Match;
use lienav_planar::measurement::value::padded;
use lienav_planar::motion::Increment;
use lienav_planar::propagate::{Rows, propagate};
use lienav_planar::sensor::Sensors;
use lienav_planar::state::{State, StateLandmark};
use lienav_planar::update::{Workspace, update};
use nalgebra::{DMatrix, DVector, Matrix2, Matrix2x3, Matrix3, Vector3};
use rand::RngExt;

fn uncalibrated() -> Calibration {
    Calibration::new(&config("default").calibration)
}

fn sensors(config: &SensorConfig) -> Sensors {
    Sensors::new(config, StereoModel::Triangulated(NoiseAt::Predicted), &[])
}

/// A state with correlations everywhere.
pub(super) fn correlated(coordinates: Coordinates, landmarks: usize, seed: u64) -> State {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut draw = || rng.random_range(-1.0..1.0);
    let root = Matrix3::from_fn(|_, _| 0.3 * draw());
    let mut state = State::new(
        coordinates,
        (Se2::new(1.0, -2.0, 0.7), &(root * root.transpose())),
        &config("default").calibration,
        &sensors(&SensorConfig::default()),
        8,
    );
    for id in 0..landmarks as u32 {
        let x = Vector2::new(3.0 + draw(), 4.0 * draw());
        let from_pose = Matrix2x3::from_fn(|_, _| draw());
        let own = Matrix2::from_fn(|_, _| 0.4 * draw());
        let first = x + Vector2::new(0.1 * draw(), 0.1 * draw());
        let landmark = StateLandmark {
            wanted: Stamp::default(),
            id,
            x,
            first,
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
        state.append(landmark, &from_pose, &(own * own.transpose() + Matrix2::identity() * 0.01));
    }
    state
}

fn mean(state: &State) -> DVector<f64> {
    let mut x = vec![state.pose.p.x, state.pose.p.y, state.pose.theta];
    x.extend(state.landmarks.iter().flat_map(|f| [f.x.x, f.x.y]));
    DVector::from_vec(x)
}

/// The covariance of (p, θ, x_1 … x_N) − its estimate, whatever the error coordinates of the state.
fn additive_covariance(state: &State) -> DMatrix<f64> {
    let p = state.covariance.to_matrix();
    if state.coordinates != Coordinates::Invariant {
        return p;
    }
    let mut m = DMatrix::identity(p.nrows(), p.nrows());
    let mut turn = |row: usize, x: &Vector2<f64>| {
        let t = skew(x);
        (m[(row, 2)], m[(row + 1, 2)]) = (t.x, t.y);
        if row > 0 {
            (m[(row, 0)], m[(row + 1, 1)]) = (1.0, 1.0);
        }
    };
    turn(0, &state.pose.p);
    for (i, landmark) in state.landmarks.iter().enumerate() {
        turn(state.covariance.row_of(i), &landmark.x);
    }
    &m * p * m.transpose()
}

/// Shen 2019, eq. (5.24), as printed: precision matrix and information vector of the joint distribution after the
/// observable part x_O alone has been updated by z = C x_O + δ.
fn information_update(
    mu: &DVector<f64>,
    sigma: &DMatrix<f64>,
    c: &DMatrix<f64>,
    z: &DVector<f64>,
    q: &DMatrix<f64>,
) -> (DVector<f64>, DMatrix<f64>) {
    let n = mu.len();
    let (s_nn, s_no) = (sigma.view((0, 0), (3, 3)), sigma.view((0, 3), (3, n - 3)));
    let s_oo = sigma.view((3, 3), (n - 3, n - 3)).into_owned();
    let (mu_n, mu_o) = (mu.rows(0, 3), mu.rows(3, n - 3));
    let omega_oo = s_oo.try_inverse().unwrap();
    let q_inverse = q.clone().try_inverse().unwrap();
    let omega_oo_new = &omega_oo + c.transpose() * &q_inverse * c;
    let xi_o_new = &omega_oo * mu_o + c.transpose() * &q_inverse * z;
    let a = s_no * &omega_oo;
    let b = mu_n - &a * mu_o;
    let omega_n_given_o = (s_nn - &a * s_no.transpose()).try_inverse().unwrap();
    let mut omega = DMatrix::zeros(n, n);
    omega.view_mut((0, 0), (3, 3)).copy_from(&omega_n_given_o);
    omega.view_mut((0, 3), (3, n - 3)).copy_from(&(-&omega_n_given_o * &a));
    omega.view_mut((3, 0), (n - 3, 3)).copy_from(&(-a.transpose() * &omega_n_given_o));
    omega.view_mut((3, 3), (n - 3, n - 3)).copy_from(&(omega_oo_new + a.transpose() * &omega_n_given_o * &a));
    let mut xi = DVector::zeros(n);
    xi.rows_mut(0, 3).copy_from(&(&omega_n_given_o * &b));
    xi.rows_mut(3, n - 3).copy_from(&(xi_o_new - a.transpose() * &omega_n_given_o * &b));
    let covariance = omega.try_inverse().unwrap();
    (&covariance * xi, covariance)
}

#[test]
fn the_reduced_update_is_equation_5_24() {
    let mut state = correlated(Coordinates::Robot, 4, 1);
    let sensors = sensors(&SensorConfig::default());
    let (mu, sigma) = (mean(&state), state.covariance.to_matrix());
    let seen = [2, 0];
    let (mut c, mut z, mut q) = (DMatrix::zeros(4, 8), DVector::zeros(4), DMatrix::zeros(4, 4));
    let mut matches = Vec::new();
    for (k, &i) in seen.iter().enumerate() {
        let value = state.landmarks[i].x + Vector2::new(0.2, -0.1 * k as f64);
        let noise = Matrix2::new(0.04, 0.01, 0.01, 0.02 + 0.01 * k as f64);
        c.fixed_view_mut::<2, 2>(2 * k, 2 * i).fill_with_identity();
        z.fixed_rows_mut::<2>(2 * k).copy_from(&value);
        q.fixed_view_mut::<2, 2>(2 * k, 2 * k).copy_from(&noise);
        let raw = Measurement::new(None, value);
        let checked = sensors.read(MeasurementKind::RelativePosition, &raw).unwrap();
        matches.push(Match {
            dim: 2,
            residual: padded(&(value - state.landmarks[i].x)),
            by_landmark: padded(&Matrix2::identity()),
            noise: padded(&noise),
            ..Match::new(Subject::Landmark(i), &checked)
        });
    }
    let (expected_mean, expected_covariance) = information_update(&mu, &sigma, &c, &z, &q);
    let filter = Filter::named("reduced").unwrap();
    update(&mut state, &matches, &filter, (&[], &[]), &mut Workspace::default()).unwrap();
    assert!((mean(&state) - expected_mean).amax() < 1e-10);
    assert!((state.covariance.to_matrix() - expected_covariance).amax() < 1e-10);
}

#[test]
fn the_update_is_the_textbook_kalman_update_in_world_coordinates() {
    let mut state = correlated(Coordinates::World, 3, 2);
    let sensors = sensors(&SensorConfig::default());
    let mut matches = Vec::new();
    for i in [2, 0] {
        let raw = Measurement::new(None, [3.0, 0.2 * i as f64]);
        let checked = sensors.read(MeasurementKind::RangeBearing, &raw).unwrap();
        matches.push(linearized(&state, &sensors, &checked, i));
    }
    let (mu, p) = (mean(&state), state.covariance.to_matrix());
    let (mut h, mut r, mut y) = (DMatrix::zeros(4, 9), DMatrix::zeros(4, 4), DVector::zeros(4));
    for (k, (m, i)) in matches.iter().zip([2, 0]).enumerate() {
        assert_eq!((m.subject, m.dim), (Subject::Landmark(i), 2));
        h.fixed_view_mut::<2, 3>(2 * k, 0).copy_from(&m.by_pose.fixed_rows::<2>(0));
        h.fixed_view_mut::<2, 2>(2 * k, state.covariance.row_of(i)).copy_from(&m.by_landmark.fixed_rows::<2>(0));
        r.fixed_view_mut::<2, 2>(2 * k, 2 * k).copy_from(&m.noise.fixed_view::<2, 2>(0, 0));
        y.fixed_rows_mut::<2>(2 * k).copy_from(&m.residual.fixed_rows::<2>(0));
    }
    let s = &h * &p * h.transpose() + r;
    let gain = &p * h.transpose() * s.clone().try_inverse().unwrap();
    let filter = Filter::named("ekf").unwrap();
    let nis = update(&mut state, &matches, &filter, (&[], &[]), &mut Workspace::default()).unwrap().nis;
    let expected_nis = (y.transpose() * s.try_inverse().unwrap() * &y)[(0, 0)];
    assert!((nis - expected_nis).abs() < 1e-9 * expected_nis);
    assert!((mean(&state) - (mu + &gain * y)).amax() < 1e-10);
    assert!((state.covariance.to_matrix() - (&p - &gain * h * &p)).amax() < 1e-10);
}

#[test]
fn measurement_jacobians_against_finite_differences() {
    let sensors = sensors(&SensorConfig { x_m: 0.3, yaw_rad: 0.2, ..SensorConfig::default() });
    let raw = Measurement::new(None, [3.0, 0.2]);
    let checked = sensors.read(MeasurementKind::RangeBearing, &raw).unwrap();
    for coordinates in [Coordinates::World, Coordinates::Robot] {
        let mut state = correlated(coordinates, 2, 3);
        state.mounts = sensors.mounts(&state.calibration);
        let linearized = |state: &State| linearized(state, &sensors, &checked, 1);
        let at = |k: usize, h: f64| {
            let mut moved = state.clone();
            match k {
                0 => moved.pose.p.x += h,
                1 => moved.pose.p.y += h,
                2 => moved.pose.theta += h,
                k => moved.landmarks[1].x[k - 3] += h,
            }
            linearized(&moved).residual
        };
        let m = linearized(&state);
        for k in 0..5 {
            let numeric = (at(k, -1e-6) - at(k, 1e-6)) / 2e-6;
            let column = if k < 3 { m.by_pose.column(k) } else { m.by_landmark.column(k - 3) };
            assert!((numeric - column).norm() < 1e-7, "{coordinates:?} {k}");
        }
    }
}

#[test]
fn propagation_against_finite_differences_of_the_mean() {
    for (name, filter) in Filter::TABLE {
        // At a first estimate that is the current one, first-estimate Jacobians are the ordinary ones.
        let state = correlated(filter.coordinates(), 2, 4);
        let twist =
            Increment::from_twist(&Vector2::new(0.4, 0.1), 0.5, 0.5, &Matrix3::zeros(), filter.discretization());
        let moved = |dx: &DVector<f64>| {
            let mut state = state.clone();
            state.pose = Se2::new(state.pose.p.x + dx[0], state.pose.p.y + dx[1], state.pose.theta + dx[2]);
            state.predicted = state.pose;
            for (i, landmark) in state.landmarks.iter_mut().enumerate() {
                landmark.x += Vector2::new(dx[3 + 2 * i], dx[4 + 2 * i]);
            }
            propagate(&mut state, &twist, &filter, &mut Rows::default());
            state
        };
        let n = 7;
        let columns: Vec<DVector<f64>> = (0..n)
            .map(|k| {
                let mut dx = DVector::zeros(n);
                dx[k] = 1e-6;
                (mean(&moved(&dx)) - mean(&moved(&-dx))) / 2e-6
            })
            .collect();
        let phi = DMatrix::from_columns(&columns);
        let expected = &phi * additive_covariance(&state) * phi.transpose();
        assert!((additive_covariance(&moved(&DVector::zeros(n))) - expected).amax() < 1e-7, "{name}");
    }
}

/// What a motion did to landmarks that turn out to be elsewhere is what propagation would have done to them there.
#[test]
fn a_motion_linearized_anew_is_that_of_landmarks_where_they_are() {
    let filter = Filter::default();
    let noise = Matrix3::from_diagonal(&Vector3::new(0.01, 0.02, 0.03));
    let twist = Increment::from_twist(&Vector2::new(0.4, 0.1), 0.5, 0.5, &noise, filter.discretization());
    let mut state = correlated(filter.coordinates(), 3, 4);
    let mut elsewhere = state.clone();
    let shifts = [Vector2::new(0.5, -0.2), Vector2::zeros(), Vector2::new(-0.3, 0.7)];
    for (landmark, shift) in elsewhere.landmarks.iter_mut().zip(shifts) {
        landmark.x += shift;
    }
    let stretch = Matrix2::new(1.2, 0.1, -0.3, 0.9);
    let (mut rows, mut expected) = (Rows::default(), Rows::default());
    propagate(&mut state, &twist, &filter, &mut rows);
    propagate(&mut elsewhere, &twist, &filter, &mut expected);
    rows.begin();
    for i in [0, 2] {
        let row = state.covariance.row_of(i);
        rows.relinearize(row, &(elsewhere.landmarks[i].x - state.pose.p), &Matrix2::identity());
    }
    rows.apply(&mut state.covariance);
    let difference = state.covariance.to_matrix() - elsewhere.covariance.to_matrix();
    assert!(difference.amax() < 1e-14);
    // In terms of an error that moves the landmark by `stretch`, the same motion is the inverse of that.
    let row = state.covariance.row_of(1);
    rows.begin();
    rows.relinearize(row, &(state.landmarks[1].x - state.pose.p), &stretch);
    for k in 0..3 {
        let [there, here] = [&rows, &expected].map(|r| Vector2::new(r.noise[row][k], r.noise[row + 1][k]));
        assert!((stretch * there - here).norm() < 1e-14);
    }
}

/// The counterexample of Julier and Uhlmann (2001): a robot that stands still and sees the same landmarks again and
/// again learns nothing about its own pose.
#[test]
fn a_static_robot_learns_nothing_about_its_pose() {
    let pose_covariance = |filter: &str| {
        let mut c = config(filter);
        c.initial.position_std_m = 0.5;
        c.initial.yaw_std_rad = 0.2;
        c.gate.probability = 1.0;
        c.sensor.position_std_m = 0.3;
        let mut slam = Slam::new(c).unwrap();
        let mut instants = recording(1, 5);
        let mut rng = ChaCha8Rng::seed_from_u64(6);
        let still = Odometry {
            velocity: Vector2::zeros(),
            yaw_rate: 0.0,
            covariance: Some(Matrix3::zeros()),
            ..instants[0].odometry
        };
        let seen = instants.remove(0).seen;
        let mut last = None;
        for k in 0..=1000 {
            slam.odometry(&Odometry { stamp: stamp(k), ..still }).unwrap();
            let noisy: Vec<Measurement> = seen
                .iter()
                .map(|o| {
                    let (x, y): (f64, f64) = (StandardNormal.sample(&mut rng), StandardNormal.sample(&mut rng));
                    Measurement { value: (o.value.xy() + 0.3 * Vector2::new(x, y)).into(), ..*o }
                })
                .collect();
            slam.features(stamp(k), MeasurementKind::RelativePosition, &noisy).unwrap();
            last = drain(&mut slam).pop();
        }
        last.unwrap().estimate
    };
    let start = Matrix3::from_diagonal(&Vector3::new(0.25, 0.25, 0.04));
    for filter in ["invariant", "cartesian", "log-range", "inverse-range", "reduced", "thesis-reduced"] {
        let estimate = pose_covariance(filter);
        assert!((estimate.covariance - start).amax() < 1e-15, "{filter}: {}", estimate.covariance);
        assert!(estimate.pose.p.norm() < 1e-15 && estimate.pose.theta.abs() < 1e-15, "{filter}");
    }
    let ekf = pose_covariance("ekf").covariance;
    assert!(ekf[(2, 2)] < 0.9 * 0.04, "the EKF is expected to shrink: {}", ekf[(2, 2)]);
}

/// Along the unobservable directions N of Shen 2019, eq. (5.7), no update may add information: Nᵀ P⁻¹ N stays, without
/// process noise. First-estimate Jacobians keep this (chain property, eq. (5.1)); the EKF does not.
#[test]
fn first_estimates_keep_the_unobservable_directions_unobservable() {
    let information = |filter: &str| {
        let coordinates = Filter::named(filter).unwrap().coordinates();
        let mut c = config(filter);
        c.initial.position_std_m = 0.5;
        c.initial.yaw_std_rad = 0.2;
        c.sensor.position_std_m = 0.3;
        let mut slam = Slam::new(c).unwrap();
        let mut instants = recording(40, 7);
        for instant in &mut instants {
            instant.odometry.covariance = Some(Matrix3::zeros());
        }
        let gauge = |slam: &Slam| {
            let state = slam.state();
            let mut n = DMatrix::zeros(state.covariance.dim(), 3);
            let mut put = |row: usize, p: &Vector2<f64>| {
                let turn = skew(p);
                n[(row, 0)] = 1.0;
                n[(row + 1, 1)] = 1.0;
                (n[(row, 2)], n[(row + 1, 2)]) = (turn.x, turn.y);
            };
            put(0, &state.predicted.p);
            // The points where the measurements of the last scan were linearized.
            for (i, landmark) in state.landmarks.iter().enumerate() {
                put(state.covariance.row_of(i), &landmark.first);
            }
            n[(2, 2)] = 1.0;
            let inverse = state.covariance.to_matrix().try_inverse().unwrap();
            let m = n.transpose() * inverse * n;
            // Of turning about any point: what a shift of the points takes part in is left out.
            let shift = m.view((0, 0), (2, 2)).try_inverse().unwrap();
            m[(2, 2)] - (m.view((2, 0), (1, 2)) * shift * m.view((0, 2), (2, 1)))[(0, 0)]
        };
        feed(&mut slam, &instants[0]);
        let first = gauge(&slam);
        instants[1..].iter().for_each(|i| {
            feed(&mut slam, i);
        });
        assert_eq!(coordinates, Coordinates::World);
        gauge(&slam) / first
    };
    for filter in ["fe-ekf", "oc-ekf"] {
        let kept = information(filter);
        assert!((kept - 1.0).abs() < 1e-6, "{filter}: {kept}");
    }
    assert!(information("ekf") > 1.05, "the EKF is expected to invent information");
}

/// The shift of the linearization points is the one with the least sum of squared distances to the estimates.
#[test]
fn constrained_points_are_as_near_to_the_estimates_as_one_shift_brings_them() {
    let (slam, _) = run("oc-ekf", &recording(60, 11));
    let before = slam.state();
    let mut after = before.clone();
    let motion = Increment { motion: Se2::new(0.1, 0.0, 0.03), ..Increment::none() };
    propagate(&mut after, &motion, slam.filter(), &mut Rows::default());
    let shift = after.landmarks[0].first - before.landmarks[0].first;
    let distance = |shift: Vector2<f64>| {
        let of_landmarks = before.landmarks.iter().map(|f| (f.first + shift - f.x).norm_squared()).sum::<f64>();
        (before.predicted.p + shift - before.pose.p).norm_squared() + of_landmarks
    };
    for other in [Vector2::zeros(), shift + Vector2::new(1e-3, 0.0), shift - Vector2::new(0.0, 1e-3)] {
        assert!(distance(shift) < distance(other), "{shift} against {other}");
    }
    assert!(after.landmarks.iter().zip(&before.landmarks).all(|(a, b)| (a.first - b.first - shift).norm() < 1e-15));
}

/// Where the map frame lies is nobody's business: turned and moved, estimates move with it and covariances turn.
#[test]
fn estimates_move_with_the_world() {
    let instants = recording(80, 8);
    let world = Se2::new(7.0, -3.0, 2.1);
    for &filter in Filter::NAMES {
        let (_, here) = run(filter, &instants);
        let mut c = config(filter);
        (c.initial.x_m, c.initial.y_m, c.initial.yaw_rad) = (world.p.x, world.p.y, world.theta);
        let mut slam = Slam::new(c).unwrap();
        let there: Vec<Step> = instants.iter().flat_map(|i| feed(&mut slam, i)).collect();
        let mut turn = Matrix3::identity();
        turn.fixed_view_mut::<2, 2>(0, 0).copy_from(&world.rotation());
        for (a, b) in here.iter().zip(&there) {
            let moved = world * a.estimate.pose;
            assert!((moved.p - b.estimate.pose.p).norm() < 1e-9, "{filter}");
            assert!((moved.theta - b.estimate.pose.theta).abs() < 1e-9, "{filter}");
            let turned = turn * a.estimate.covariance * turn.transpose();
            assert!((turned - b.estimate.covariance).amax() < 1e-9, "{filter}");
            assert!((a.nis - b.nis).abs() < 1e-6, "{filter}");
        }
    }
}

/// Consistency on an easy problem: the mean NEES of 60 runs of 100 steps lies where χ² puts it. Steps of one run
/// depend on each other, so the band is that of the runs.
#[test]
fn on_an_easy_run_the_covariance_is_honest() {
    for filter in ["invariant", "cartesian", "log-range", "inverse-range", "reduced", "ekf", "fe-ekf", "oc-ekf"] {
        let runs = 60;
        let mut total = 0.0;
        for seed in 0..runs {
            let instants = recording(100, 100 + seed);
            let (_, steps) = run(filter, &instants);
            let (last, truth) = (steps.last().unwrap().estimate, instants.last().unwrap().truth);
            let e = Vector3::new(last.pose.p.x - truth.p.x, last.pose.p.y - truth.p.y, last.pose.theta - truth.theta);
            total += e.dot(&last.covariance.cholesky().unwrap().solve(&e));
        }
        let nees = total / runs as f64;
        // χ²(180)/60: 99.9 % band.
        assert!((2.1..4.1).contains(&nees), "{filter}: {nees}");
    }
}

#[test]
fn euler_and_exponential_agree_for_short_steps() {
    let config = crate::MotionConfig { max_step_s: 10.0, ..Default::default() };
    let message =
        Odometry { stamp: Stamp::default(), velocity: Vector2::new(1.0, 0.0), yaw_rate: 0.5, covariance: None };
    let whole = |how: Discretization, pieces: usize| {
        let dt = 1.0 / pieces as f64;
        let piece = lienav_planar::motion::increment(&message, dt, dt, &config, how, &uncalibrated());
        (0..pieces).fold(Increment::none(), |sum, _| sum.then(&piece)).motion
    };
    let exact = whole(Discretization::Exponential, 1);
    let (coarse, fine) = (whole(Discretization::Euler, 10), whole(Discretization::Euler, 20));
    let ratio = (coarse.p - exact.p).norm() / (fine.p - exact.p).norm();
    assert!((ratio - 2.0).abs() < 0.1, "first order: {ratio}");
}
