//! The dead time between odometry and measurements is learned where the robot changes its speed, and nowhere else.

use super::*;
use crate::steady::SteadyTwist;
use crate::{CalibrationConfig, CalibrationParameter, Prior, TwistHold};
use nalgebra::Vector3;
use proptest::prelude::*;

/// Odometry every 20 ms, scans every 100 ms.
const STEP_S: f64 = 0.02;
const SIGMA: f64 = 0.1;

/// The twist of a robot that changes its speed every few seconds, or of one that never does.
fn twist(k: i64, changes: bool) -> (f64, f64) {
    if !changes {
        return (0.6, 0.1);
    }
    // Within 0.4 s.
    let (leg, share) = (k / 150, ((k % 150) as f64 / 20.0).min(1.0));
    let (v, w) = (|leg: i64| [0.0, 0.7, 0.2, 0.9][(leg % 4) as usize], |leg: i64| [0.0, 0.4, -0.5][(leg % 3) as usize]);
    let from = (leg - 1).max(0);
    (v(from) + share * (v(leg) - v(from)), w(from) + share * (w(leg) - w(from)))
}

/// Drives among twelve landmarks with scans that are stamped `late` messages too late, of which the filter is told
/// `claimed`; returns what was learned of the delay, its standard deviation, and the squared Mahalanobis distance of
/// the last pose from where the robot was when the measurements were taken, as far as nobody told.
fn learned(
    (late, claimed): (i64, i64),
    changes: bool,
    odometry_noise: f64,
    hold: TwistHold,
    seed: u64,
) -> (f64, f64, f64) {
    let mut config = config("default");
    config.motion.hold = hold;
    config.motion.noise = crate::NoiseUnit::PerSample;
    (config.motion.velocity_x_std, config.motion.velocity_y_std) = (odometry_noise.max(0.01), 1e-3);
    config.motion.yaw_rate_std = odometry_noise.max(0.01);
    config.sensor.kind = MeasurementKind::RangeBearing;
    (config.sensor.range_std_m, config.sensor.bearing_std_rad) = (0.02, 0.005);
    config.sensor.delay_s = claimed as f64 * STEP_S;
    let motion_delay = Prior { sigma: SIGMA, ..Prior::default() };
    config.calibration = CalibrationConfig { motion_delay, ..CalibrationConfig::default() };
    let mut slam = Slam::new(config).unwrap();
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut noise = |std: f64| {
        let x: f64 = StandardNormal.sample(&mut rng);
        std * x
    };
    let landmark = |i: u32| Se2::new(4.0, 2.0, 0.53 * f64::from(i)).transform(&Vector2::new(6.0, 0.0));
    let stamp = |k: i64| Stamp::from_secs(STEP_S * k as f64);
    // Where the robot is at the stamp of each message.
    let mut truth = vec![Se2::identity()];
    for k in 1..3000 {
        let (v, w) = twist(if hold == TwistHold::After { k - 1 } else { k }, changes);
        truth.push(truth[k as usize - 1] * Se2::exp(&Vector3::new(v * STEP_S, 0.0, w * STEP_S)));
    }
    let mut last = None;
    for k in 0..3000_i64 {
        let (v, w) = twist(k, changes);
        let velocity = Vector2::new(v + noise(odometry_noise), 0.0);
        let odometry = Odometry { stamp: stamp(k), velocity, yaw_rate: w + noise(odometry_noise), covariance: None };
        slam.odometry(&odometry).unwrap();
        // What was taken before the first odometry is of no use.
        if k % 5 == 0 && k >= claimed {
            let at = truth[(k - late).max(0) as usize];
            let seen: Vec<_> = (0..12)
                .map(|i| {
                    let z = at.transform_back(&landmark(i));
                    Measurement::new(Some(i), [z.norm() + noise(0.02), z.y.atan2(z.x) + noise(0.005)])
                })
                .collect();
            slam.features(stamp(k), MeasurementKind::RangeBearing, &seen).unwrap();
            last = drain(&mut slam).last().copied().or(last);
        }
    }
    let estimate = slam.calibration().find(|e| e.parameter == CalibrationParameter::MotionDelay).unwrap();
    let step = last.unwrap();
    let at = truth[(step.estimate.stamp.secs() / STEP_S).round() as usize - (late - claimed) as usize];
    let off = step.estimate.pose;
    let e = Vector3::new(off.p.x - at.p.x, off.p.y - at.p.y, off.theta - at.theta);
    (estimate.value, estimate.std, e.dot(&(step.estimate.covariance.try_inverse().unwrap() * e)))
}

#[test]
fn late_scans_and_late_drives_are_found() {
    for hold in [TwistHold::Before, TwistHold::After] {
        for late in [0, 3, 5] {
            let expected = late as f64 * STEP_S;
            let (value, std, distance) = learned((late, 0), true, 0.01, hold, late as u64);
            assert!((value - expected).abs() < 4.0 * std, "{hold:?} {late}: {value} ± {std}");
            assert!(std < 0.001, "{hold:?} {late}: {value} ± {std}");
            assert!(distance < 25.0, "{hold:?} {late}: {distance}");
        }
    }
}

/// What is told of it is not learned once more, and the pose is that of its stamp.
#[test]
fn of_late_scans_what_is_not_told_is_found() {
    for claimed in [5, 3] {
        let (value, std, distance) = learned((5, claimed), true, 0.01, TwistHold::After, 9);
        let expected = (5 - claimed) as f64 * STEP_S;
        assert!((value - expected).abs() < 4.0 * std && std < 0.001, "{claimed}: {value} ± {std}");
        assert!(distance < 25.0, "{claimed}: {distance}");
    }
}

/// With noise of a tenth of a metre per second in each message, half the time between two messages would fit best.
#[test]
fn noise_of_odometry_is_no_change() {
    let (value, std, _) = learned((0, 0), false, 0.1, TwistHold::Before, 1);
    assert_eq!((value, std), (0.0, SIGMA));
    let (value, std, _) = learned((5, 0), true, 0.05, TwistHold::Before, 2);
    assert!((value - 0.1).abs() < 4.0 * std + 0.01 && std < 0.03, "{value} ± {std}");
}

fn message(k: i32, v: f64) -> Odometry {
    let stamp = Stamp::from_secs(STEP_S * f64::from(k));
    Odometry { stamp, velocity: Vector2::new(v, 0.0), yaw_rate: 0.0, covariance: None }
}

proptest! {
    #![proptest_config(ProptestConfig {
        rng_seed: proptest::test_runner::RngSeed::Fixed(5),
        ..ProptestConfig::with_cases(64)
    })]
    /// Changes follow each other without a gap, and end where the twist is.
    #[test]
    fn changes_are_a_chain(velocities in prop::collection::vec(-1.0..1.0f64, 30..200), noise in 0.0..0.01f64) {
        let mut steady = SteadyTwist::default();
        let mut at = None;
        for (k, v) in (0..).zip(&velocities) {
            let v = velocities[k as usize / 40 * 40] + noise * v;
            let change = steady.follow(&message(k, v));
            if let Some([before, now]) = change {
                prop_assert!(at.is_none_or(|at| at == before) && before != now);
                at = Some(now);
            }
            // A part of the same message changes nothing.
            prop_assert_eq!(steady.follow(&message(k, 7.0)), None);
        }
        let last = velocities.len() - 1;
        let is_there = |at: Vector3<f64>| (at.x - velocities[last / 40 * 40]).abs() < 0.05;
        prop_assert!(last % 40 < 20 || at.is_none_or(is_there), "{at:?}");
    }
}

/// The steps of a drive whose scans are stamped `late_s` too late, and of a filter that is told `claimed_s`.
fn steps_of_late_scans(late_s: f64, claimed_s: f64) -> Vec<Step> {
    let mut config = config("default");
    config.sensor.delay_s = claimed_s;
    let mut slam = Slam::new(config).unwrap();
    let mut steps = Vec::new();
    for instant in recording(100, 7) {
        slam.odometry(&instant.odometry).unwrap();
        slam.features(instant.odometry.stamp + late_s, MeasurementKind::RelativePosition, &instant.seen).unwrap();
        steps.extend(drain(&mut slam));
    }
    steps
}

/// To the last bit, estimates and their stamps; scans arrive after the odometry of later instants all the same.
#[test]
fn scans_that_are_told_to_be_late_are_of_when_they_were_taken() {
    let in_time = steps_of_late_scans(0.0, 0.0);
    assert!(in_time.len() > 90);
    assert_eq!(steps_of_late_scans(0.2, 0.2), in_time);
    let first = |steps: &[Step]| steps[0].estimate.stamp.nanos();
    assert_eq!(first(&steps_of_late_scans(0.2, 0.0)) - first(&in_time), 200_000_000);
}
