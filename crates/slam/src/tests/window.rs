//! Scans that are linearized again: when, and that nothing is used twice or undone.

use super::*;
use crate::{Correction, Errors, Filter, Landmark, TimeJump};
use nalgebra::Matrix3;

const BEARING_STD: f64 = 0.02;
const BASELINE: f64 = 0.5;

/// Cameras half a metre apart, as in the thesis, that see to 5 m and 60° off the axis.
fn stereo(filter: &str) -> Config {
    let mut config = config(filter);
    config.sensor.kind = MeasurementKind::StereoBearings;
    (config.sensor.bearing_std_rad, config.sensor.baseline_m, config.sensor.max_range_m) = (BEARING_STD, BASELINE, 5.0);
    config
}

/// A robot that drives a wide left bend, with landmarks on both sides all along.
fn bend(steps: usize, seed: u64) -> Vec<Instant> {
    lifted_on_the_bend(steps, seed, steps, Se2::identity())
}

/// The same, but before instant `lifted` it is set down `away` from where it was, and odometry says nothing of it.
fn lifted_on_the_bend(steps: usize, seed: u64, lifted: usize, away: Se2) -> Vec<Instant> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut noise = |std: f64| {
        let x: f64 = StandardNormal.sample(&mut rng);
        std * x
    };
    let step = Se2::exp(&nalgebra::Vector3::new(0.1, 0.0, 0.01));
    let way: Vec<Se2> = std::iter::successors(Some(Se2::identity()), |pose| Some(*pose * step)).take(steps).collect();
    let beside = |(i, pose): (usize, &Se2)| pose.transform(&Vector2::new(4.0, if i % 2 == 0 { 1.5 } else { -2.5 }));
    let landmarks: Vec<Vector2<f64>> = way.iter().step_by(6).enumerate().map(beside).collect();
    way.iter()
        .enumerate()
        .map(|(k, pose)| {
            let truth = if k < lifted { *pose } else { way[lifted] * away * way[lifted].inverse() * *pose };
            let velocity = Vector2::new(1.0 + noise(VELOCITY_STD), noise(VELOCITY_STD));
            let yaw_rate = 0.1 + noise(YAW_RATE_STD);
            let mut seen = Vec::new();
            for (id, p) in landmarks.iter().enumerate() {
                let z = truth.transform_back(p);
                if z.x > 0.5 * z.norm() && z.norm() < 5.0 {
                    let bearing = |y: f64| (z.y - y).atan2(z.x);
                    let (left, right) = (bearing(0.5 * BASELINE), bearing(-0.5 * BASELINE));
                    let value = [left + noise(BEARING_STD), right + noise(BEARING_STD)];
                    seen.push(Measurement::new(Some(id as u32), value));
                }
            }
            Instant { odometry: Odometry { stamp: stamp(k), velocity, yaw_rate, covariance: None }, truth, seen }
        })
        .collect()
}

fn feed_stereo(slam: &mut Slam, instant: &Instant) -> Vec<Step> {
    slam.odometry(&instant.odometry).unwrap();
    slam.features(instant.odometry.stamp, MeasurementKind::StereoBearings, &instant.seen).unwrap();
    drain(slam)
}

fn run_stereo(config: Config, instants: &[Instant]) -> (Slam, Vec<Step>) {
    let mut slam = Slam::new(config).unwrap();
    let steps = instants.iter().flat_map(|instant| feed_stereo(&mut slam, instant)).collect();
    (slam, steps)
}

#[test]
fn ranges_that_are_known_from_the_first_measurement_open_no_window() {
    let instants = recording(60, 11);
    let bits = |filter: &str| {
        let mut config = config(filter);
        config.sensor.position_std_m = 0.01;
        let mut slam = Slam::new(config).unwrap();
        let steps: Vec<Step> = instants.iter().flat_map(|instant| feed(&mut slam, instant)).collect();
        steps
            .iter()
            .flat_map(|s| [s.estimate.pose.p.x, s.estimate.pose.theta, s.nis])
            .map(f64::to_bits)
            .collect::<Vec<_>>()
    };
    assert_eq!(bits("default"), bits("iterated"));
}

/// Taken in again, the scans tell about as much as they told the first time: covariances are those of the same
/// information linearized elsewhere, not of twice as much.
#[test]
fn nothing_is_used_twice() {
    let instants = bend(100, 12);
    let (once, before) = run_stereo(stereo("anchored"), &instants);
    let (again, after) = run_stereo(stereo("default"), &instants);
    let size = |m: &Matrix3<f64>| m.determinant().powf(1.0 / 6.0);
    let ratio = size(&after.last().unwrap().estimate.covariance) / size(&before.last().unwrap().estimate.covariance);
    assert!((0.9..1.1).contains(&ratio), "{ratio}");
    let (once, again): (Vec<Landmark>, Vec<Landmark>) = (once.landmarks().collect(), again.landmarks().collect());
    assert_eq!(once.len(), again.len());
    for (a, b) in once.iter().zip(&again) {
        assert_eq!((a.id, a.measurements, a.last_seen), (b.id, b.measurements, b.last_seen));
        let ratio = (b.covariance.determinant() / a.covariance.determinant()).powf(0.25);
        assert!((0.5..2.0).contains(&ratio), "{}: {ratio}", a.id);
    }
    assert_ne!(before.last().unwrap().estimate.pose, after.last().unwrap().estimate.pose);
}

/// Whatever is counted is counted when a scan comes, not when it is linearized again.
#[test]
fn what_is_reported_of_a_scan_is_of_its_first_time() {
    let instants = bend(60, 13);
    let (once, before) = run_stereo(stereo("anchored"), &instants);
    let (again, after) = run_stereo(stereo("default"), &instants);
    assert_eq!(once.counts(), again.counts());
    let reported = |s: &Step| (s.estimate.stamp, s.accepted, s.added, s.rejected, s.landmarks);
    assert!(before.iter().map(reported).eq(after.iter().map(reported)));
}

#[test]
fn windows_of_every_length_stay_near_the_truth() {
    let instants = bend(80, 14);
    let truth = instants.last().unwrap().truth;
    for window in [0, 1, 2, 3, 7, 20, 100] {
        let mut filter = Filter::default();
        if let Errors::Invariant(Correction::Charts { fixed_lag, .. }) = &mut filter.errors {
            *fixed_lag = window;
        }
        let mut slam = Slam::with_filter(filter, stereo("default")).unwrap();
        let steps: Vec<Step> = instants.iter().flat_map(|instant| feed_stereo(&mut slam, instant)).collect();
        let last = steps.last().unwrap().estimate;
        assert!(
            (last.pose.p - truth.p).norm() < 0.6 && (last.pose.theta - truth.theta).abs() < 0.1,
            "{window}: {last:?}"
        );
    }
}

#[test]
fn a_pose_from_outside_is_not_taken_back() {
    let instants = bend(60, 15);
    let (mut slam, _) = run_stereo(stereo("default"), &instants[..33]);
    let truth = instants[32].truth;
    let elsewhere = Se2::new(100.0, -50.0, 2.0);
    slam.set_pose(elsewhere, &(Matrix3::identity() * 1e-4)).unwrap();
    let steps: Vec<Step> = instants[33..].iter().flat_map(|instant| feed_stereo(&mut slam, instant)).collect();
    for (step, instant) in steps.iter().zip(&instants[33..]) {
        let expected = elsewhere * truth.inverse() * instant.truth;
        assert!((step.estimate.pose.p - expected.p).norm() < 0.5, "{:?} {expected:?}", step.estimate.pose);
    }
}

#[test]
fn an_empty_map_stays_empty_of_what_was_before() {
    let instants = bend(60, 16);
    let (mut slam, _) = run_stereo(stereo("default"), &instants[..35]);
    slam.reset();
    assert_eq!(slam.landmarks().count(), 0);
    let _ = instants[35..].iter().flat_map(|instant| feed_stereo(&mut slam, instant)).count();
    let seen: std::collections::HashSet<u32> =
        instants[35..].iter().flat_map(|instant| instant.seen.iter().filter_map(|o| o.id)).collect();
    assert!(slam.landmarks().count() > 0 && slam.landmarks().all(|l| seen.contains(&l.id)));
}

/// What was seen before the gate was opened is not taken in again as if the robot had driven to where it is.
#[test]
fn a_robot_that_was_lifted_is_not_carried_back() {
    let away = Se2::new(-0.6, 1.0, -0.3);
    for seed in 17..21 {
        let instants = lifted_on_the_bend(70, seed, 35, away);
        let mut config = stereo("default");
        config.gate.starvation_limit_s = 0.4;
        let (slam, steps) = run_stereo(config, &instants);
        assert_eq!(slam.gate_openings(), 1, "{seed}");
        for (step, instant) in steps.iter().zip(&instants).skip(50) {
            let (here, there) = (step.estimate.pose, instant.truth);
            assert!(
                (here.p - there.p).norm() < 0.6 && (here.theta - there.theta).abs() < 0.15,
                "{seed}: {here:?} {there:?}"
            );
        }
    }
}

/// A clock that is set back while the robot drives on: scans with stamps of the time before are not taken in again.
#[test]
fn time_that_is_set_back_takes_no_scan_of_before_in_again() {
    let mut instants = bend(60, 22);
    for (k, instant) in instants[37..].iter_mut().enumerate() {
        instant.odometry.stamp = stamp(k);
    }
    let mut config = stereo("default");
    config.timing.on_jump_back = TimeJump::Rewind;
    let mut slam = Slam::new(config).unwrap();
    let mut steps = Vec::new();
    for instant in &instants {
        // The first of the new time are held back until it is confirmed, and their scans dropped.
        let _ = slam.odometry(&instant.odometry);
        let _ = slam.features(instant.odometry.stamp, MeasurementKind::StereoBearings, &instant.seen);
        steps.extend(drain(&mut slam));
    }
    assert_eq!(slam.time_jumps(), 1);
    let last = steps.last().unwrap().estimate;
    assert!(slam.landmarks().all(|landmark| landmark.last_seen <= last.stamp));
    assert!((last.pose.p - instants.last().unwrap().truth.p).norm() < 0.6, "{:?}", last.pose);
}

/// A part of a map closes where nothing waits (`Slam::local`): after each block of ten scans, if a range is vague.
#[test]
fn scans_wait_for_ten_of_them_where_a_range_is_vague() {
    let mut slam = Slam::new(stereo("default")).unwrap();
    let mut waits = Vec::new();
    for instant in bend(60, 4) {
        feed_stereo(&mut slam, &instant);
        waits.push(slam.estimator.is_unsettled());
    }
    let settled: Vec<usize> = (20..60).filter(|k| !waits[*k]).collect();
    assert!(settled.len() >= 4 && settled.windows(2).all(|pair| pair[1] - pair[0] <= 10), "{settled:?}");
    assert!(waits.iter().filter(|waits| **waits).count() > 40, "{waits:?}");

    let (mut slam, _) = run("default", &[]);
    for instant in recording(60, 4) {
        feed(&mut slam, &instant);
        assert!(!slam.estimator.is_unsettled());
    }
}
