//! A run from rest, by itself.

use super::{camera, config, error, play, run, slam, steps, truth_at};
use crate::{DropReason, Frame, Quality, Seen, Value};
use lienav_lie::{LieGroup, Se3, So3};
use nalgebra::{Matrix6, Vector3};

#[test]
fn a_body_that_starts_at_rest_knows_where_it_is() {
    for by_pixels in [false, true] {
        let run = run(12.0, 1, by_pixels);
        let mut slam = slam(config());
        assert_eq!(slam.quality(), Quality::Starting);
        let all = play(&mut slam, &run);
        assert!(all.len() > 200 && all[0].has_frame, "{}", all.len());
        let last = all.last().unwrap();
        let (off, deviations) = error(&run, &last.estimate);
        assert!(off < 0.15 && deviations < 4.0, "pixels {by_pixels}: {off} m, {deviations} sigma");
        assert_eq!(slam.quality(), Quality::Ok);
        assert!(last.estimate.covariance.diagonal().iter().all(|x| *x > 0.0 && *x < 0.05));
        // Between frames, the pose goes on.
        let ahead = slam.pose().unwrap();
        assert_eq!(ahead.stamp, run.samples.last().unwrap().stamp);
        assert!(error(&run, &ahead).0 < 0.15);
    }
}

#[test]
fn the_pose_ahead_is_that_of_the_next_step_before_its_measurements() {
    let run = run(6.0, 2, false);
    let mut slam = slam(config());
    let mut frames = run.frames.iter().peekable();
    let mut compared = 0;
    for (k, sample) in run.samples.iter().enumerate() {
        slam.push_imu(sample).unwrap();
        steps(&mut slam);
        let before = slam.pose();
        while let Some((_, frame)) = frames.next_if(|(at, _)| *at <= k) {
            // A frame without measurements only moves the state.
            let _ = slam.push_frame(&Frame { stamp: frame.stamp, seen: Vec::new() });
            let all = steps(&mut slam);
            if let (Some(step), Some(before)) = (all.last().filter(|s| !s.is_at_rest), before) {
                let apart = step.estimate.pose.translation - before.pose.translation;
                let change = (step.estimate.covariance - before.covariance).amax();
                assert!(apart.norm() < 1e-12, "{apart:?}");
                assert!(change < 1e-9 * before.covariance.amax(), "{change}");
                compared += 1;
            }
        }
    }
    assert!(compared > 50, "{compared}");
}

#[test]
fn a_pose_that_is_given_before_the_start_is_where_it_starts() {
    let run = run(4.0, 3, false);
    let mut slam = slam(config());
    let turn = So3::exp(&(Vector3::z() * 2.0));
    let place = Vector3::new(10.0, -5.0, 1.0);
    slam.set_pose(&Se3::new(turn, place), &(Matrix6::identity() * 1e-4)).unwrap();
    let all = play(&mut slam, &run);
    let last = all.last().unwrap().estimate;
    let expected = turn * truth_at(&run, last.stamp).translation + place;
    assert!((last.pose.translation - expected).norm() < 0.1, "{:?} {expected:?}", last.pose.translation);
}

#[test]
fn in_motion_it_starts_from_a_given_pose_or_after_a_while() {
    let run = run(16.0, 4, false);
    // It is in motion from 2 s on.
    let mut given = slam(config());
    let pose = run.truth[(4.0 * super::RATE_HZ) as usize];
    given.set_pose(&pose, &(Matrix6::identity() * 1e-3)).unwrap();
    let all = super::play_range(&mut given, &run, 4.0, 16.0);
    let (off, deviations) = error(&run, &all.last().unwrap().estimate);
    assert!(off < 0.4 && deviations < 4.0, "{off} m, {deviations} sigma");
    let mut alone = slam(config());
    let all = super::play_range(&mut alone, &run, 4.0, 16.0);
    assert!(!all.is_empty() && all[0].estimate.stamp.secs() > 108.5);
    let tilt = all.last().unwrap().estimate.pose.rotation * Vector3::z();
    let expected = truth_at(&run, all.last().unwrap().estimate.stamp).rotation * Vector3::z();
    assert!((tilt - expected).norm() < 0.1, "{tilt:?} {expected:?}");
}

#[test]
fn a_pose_that_is_given_later_moves_the_map_with_the_body() {
    let run = run(10.0, 5, false);
    let mut slam = slam(config());
    let mut frames = run.frames.iter().peekable();
    let turn = So3::exp(&(Vector3::z() * -1.0));
    let mut seen = Vec::new();
    for (k, sample) in run.samples.iter().enumerate() {
        while let Some((_, frame)) = frames.next_if(|(at, _)| *at <= k) {
            slam.push_frame(frame).unwrap();
        }
        slam.push_imu(sample).unwrap();
        seen.extend(steps(&mut slam));
        if k == 1000 {
            let before = slam.landmarks();
            let at = slam.state().unwrap().nav;
            let pose = Se3::new(turn * at.rotation, Vector3::new(50.0, 0.0, 0.0));
            slam.set_pose(&pose, &(Matrix6::identity() * 1e-2)).unwrap();
            for (one, other) in before.iter().zip(slam.landmarks()) {
                let moved = turn * (one.position - at.position) + pose.translation;
                assert!((moved - other.position).norm() < 1e-9);
                assert!(other.covariance.trace() > 0.02, "{}", other.covariance);
            }
        }
    }
    let last = seen.last().unwrap();
    assert!(last.estimate.covariance[(0, 0)] > 0.5e-2 && last.gated < 3);
    let origin = truth_at(&run, run.samples[1000].stamp);
    let moved = turn * (truth_at(&run, last.estimate.stamp).translation - origin.translation);
    let apart = last.estimate.pose.translation - Vector3::new(50.0, 0.0, 0.0) - moved;
    assert!(apart.norm() < 0.15, "{apart:?}");
}

#[test]
fn measurements_that_cannot_be_are_dropped_under_their_reason() {
    let run = run(3.0, 6, false);
    let mut slam = slam(config());
    play(&mut slam, &run);
    let stamp = run.samples.last().unwrap().stamp + 0.001;
    let one = |id, value| Seen { id, sensor: 0, value };
    let bad = nalgebra::Matrix3::from_diagonal(&Vector3::new(1.0, -1.0, 1.0));
    let seen = vec![
        one(1, Value::Position(Vector3::repeat(f64::NAN), None)),
        one(2, Value::Position(Vector3::repeat(1e7), None)),
        one(3, Value::Position(Vector3::repeat(1.0), Some(bad))),
        one(4, Value::Range(3.0, None)),
        one(4, Value::Range(3.0, None)),
        Seen { id: 5, sensor: 9, value: Value::Range(3.0, None) },
    ];
    slam.push_frame(&Frame { stamp, seen }).unwrap();
    let value = run.samples.last().unwrap().value;
    slam.push_imu(&crate::ImuSample { stamp: stamp + 0.004, value }).unwrap();
    assert_eq!(steps(&mut slam).len(), 1);
    for reason in [
        DropReason::NotFinite,
        DropReason::Absurd,
        DropReason::BadCovariance,
        DropReason::DuplicateFeature,
        DropReason::UnknownSensor,
    ] {
        assert_eq!(slam.counts().get(reason), 1, "{reason}");
    }
    let mut value = value;
    value.rate.x = f64::INFINITY;
    let refused = slam.push_imu(&crate::ImuSample { stamp: stamp + 0.01, value });
    assert_eq!(refused, Err(DropReason::NotFinite));
    value.rate.x = 1e4;
    assert_eq!(slam.push_imu(&crate::ImuSample { stamp: stamp + 0.01, value }), Err(DropReason::Absurd));
    assert_eq!(slam.set_pose(&Se3::identity(), &-Matrix6::identity()), Err(DropReason::BadCovariance));
    assert_eq!(camera().translation.x, 0.1);
}
