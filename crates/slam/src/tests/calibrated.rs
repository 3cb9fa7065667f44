//! What a run learns of the calibration of its sensors.

use super::calibration::{SIGMAS, all_on, sensors};
use super::*;
use crate::{CalibrationConfig, Coordinates, Filter, MotionConfig, Prior};
use lienav_ekf::covariance::Covariance;
use lienav_lie::rotation;
use lienav_planar::motion::increment;
use lienav_planar::propagate::{Rows, propagate};
use lienav_planar::state::State;
use nalgebra::{DMatrix, DVector, Matrix3};

/// A winding drive among twelve landmarks on two rings, range and bearing, seen by robot and sensor with the
/// calibration errors `c` (in the order of [`crate::CalibrationParameter::ALL`]): what odometry states, and what is
/// read.
fn drive(c: &[f64; 12], steps: usize, seed: u64) -> Vec<Instant> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut noise = |std: f64| {
        let x: f64 = StandardNormal.sample(&mut rng);
        std * x
    };
    let landmark = |i: usize| {
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
                    let z = mount.transform_back(&truth.transform_back(&landmark(i)));
                    let measurement =
                        [(z.norm() + c[9]) / (1.0 + c[11]) + noise(0.05), z.y.atan2(z.x) + c[10] + noise(0.01)];
                    Measurement::new(Some(i as u32), measurement)
                })
                .collect();
            Instant { odometry: Odometry { stamp: stamp(k), velocity, yaw_rate, covariance: None }, truth, seen }
        })
        .collect()
}

fn calibrating(filter: &str, calibration: CalibrationConfig) -> Config {
    let mut c = config(filter);
    c.motion.hold = crate::TwistHold::Before;
    c.sensor.kind = MeasurementKind::RangeBearing;
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
        slam.features(instant.odometry.stamp, MeasurementKind::RangeBearing, &instant.seen).unwrap();
        steps.extend(drain(&mut slam));
    }
    (slam, steps)
}

fn block(slam: &Slam) -> DMatrix<f64> {
    let n = slam.calibration().count();
    slam.state().covariance.to_matrix().view((3, 3), (n, n)).into_owned()
}

/// Errors drawn from the priors are found, to within what the filter claims. The mounting yaw and the direction of
/// driving are off: they cannot be told from a bias of the bearing.
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

/// The yaw of the mount and a bias of the bearing do the same to a measurement: their difference is learned, their sum
/// is not. And a robot that stands still learns nothing of its odometry.
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
