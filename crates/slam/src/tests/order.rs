//! Order of arrival, rates, gaps and jumps of time.

use super::*;
use crate::{Counts, DropReason, Imu, TimeJump, TwistHold};
use lienav_base::clock::CONFIRMATIONS;
use rand::RngExt;

enum Message {
    Odometry(Odometry),
    Scan(Stamp, Vec<Measurement>),
}

fn messages(instants: &[Instant]) -> Vec<(Stamp, Message)> {
    let mut all = Vec::new();
    for i in instants {
        all.push((i.odometry.stamp, Message::Odometry(i.odometry)));
        all.push((i.odometry.stamp, Message::Scan(i.odometry.stamp, i.seen.clone())));
    }
    all
}

fn play(slam: &mut Slam, all: Vec<(Stamp, Message)>) -> Vec<Step> {
    let mut steps = Vec::new();
    for (_, message) in all {
        match message {
            Message::Odometry(o) => slam.odometry(&o).unwrap(),
            Message::Scan(stamp, seen) => slam.features(stamp, MeasurementKind::RelativePosition, &seen).unwrap(),
        }
        steps.extend(drain(slam));
    }
    slam.finish();
    steps.extend(drain(slam));
    steps
}

#[test]
fn the_order_of_arrival_does_not_matter_within_the_window() {
    let instants = recording(60, 1);
    for filter in ["default", "inverse-range", "reduced", "ekf", "fe-ekf"] {
        for hold in [TwistHold::Before, TwistHold::After] {
            let mut c = config(filter);
            c.motion.hold = hold;
            c.timing.reorder_window_s = 1.0;
            let mut slam = Slam::new(c.clone()).unwrap();
            let expected = play(&mut slam, messages(&instants));
            assert_eq!(expected.len(), 60);
            for seed in 0..5 {
                let mut rng = ChaCha8Rng::seed_from_u64(seed);
                let mut late = messages(&instants);
                // Landmarks up to 0.6 s late, odometry up to 0.25 s early against them; scans keep their order.
                for (arrival, message) in late.iter_mut().skip(2) {
                    if let Message::Scan(stamp, _) = message {
                        *arrival = *stamp + 0.5 + rng.random_range(0.0..0.09);
                    }
                }
                late.sort_by_key(|(arrival, _)| *arrival);
                let mut slam = Slam::new(c.clone()).unwrap();
                assert_eq!(play(&mut slam, late), expected, "{filter} {hold:?}");
                assert_eq!(slam.counts(), &Counts::default());
            }
        }
    }
}

#[test]
fn landmarks_wait_for_odometry_of_their_instant() {
    let instants = recording(3, 2);
    let mut slam = Slam::new(config("reduced")).unwrap();
    feed(&mut slam, &instants[0]);
    slam.features(stamp(1), MeasurementKind::RelativePosition, &instants[1].seen).unwrap();
    assert_eq!(slam.poll(), None);
    slam.odometry(&instants[1].odometry).unwrap();
    assert_eq!(slam.poll().unwrap().estimate.stamp, stamp(1));
}

#[test]
fn odometry_that_stops_holds_landmarks_up_no_longer_than_the_window() {
    let instants = recording(3, 2);
    let mut slam = Slam::new(config("reduced")).unwrap();
    feed(&mut slam, &instants[0]);
    feed(&mut slam, &instants[1]);
    slam.features(stamp(2), MeasurementKind::RelativePosition, &instants[2].seen).unwrap();
    assert_eq!(slam.poll(), None);
    slam.now(stamp(2) + 0.25);
    let step = slam.poll().unwrap();
    // Carried on with the last twist.
    assert!((step.estimate.pose.p - instants[2].truth.p).norm() < 0.1);
}

#[test]
fn many_odometry_messages_between_two_scans_are_one_motion() {
    // 200 Hz against 20 Hz: the same twist in ten pieces must give what one message gives.
    let instants = recording(40, 3);
    let mut fine = Slam::new(config("reduced")).unwrap();
    let (_, coarse) = run("reduced", &instants);
    let mut steps = feed(&mut fine, &instants[0]);
    for pair in instants.windows(2) {
        let (from, to) = (pair[0].odometry.stamp, &pair[1]);
        for piece in 1..=10 {
            // A tenth of the duration at the same density has ten times the variance.
            let std = nalgebra::Vector3::new(VELOCITY_STD, VELOCITY_STD, YAW_RATE_STD) * 10f64.sqrt();
            let covariance = Some(nalgebra::Matrix3::from_diagonal(&std.component_mul(&std)));
            let stamp = from + 0.01 * piece as f64;
            fine.odometry(&Odometry { stamp, covariance, ..to.odometry }).unwrap();
        }
        fine.features(to.odometry.stamp, MeasurementKind::RelativePosition, &to.seen).unwrap();
        steps.extend(drain(&mut fine));
    }
    for (a, b) in coarse.iter().zip(&steps) {
        assert_eq!(a.estimate.stamp, b.estimate.stamp);
        assert!((a.estimate.pose.p - b.estimate.pose.p).norm() < 2e-4, "{:?}", a.estimate.pose);
        assert!((a.estimate.covariance - b.estimate.covariance).amax() < 1e-4);
    }
}

#[test]
fn a_scan_between_two_odometry_messages_is_met_halfway() {
    let mut slam = Slam::new(config("reduced")).unwrap();
    let twist = |k| Odometry { stamp: stamp(k), velocity: Vector2::new(1.0, 0.0), yaw_rate: 0.0, covariance: None };
    slam.odometry(&twist(0)).unwrap();
    slam.features(stamp(0) + 0.03, MeasurementKind::RelativePosition, &[]).unwrap();
    slam.odometry(&twist(1)).unwrap();
    let step = slam.poll().unwrap();
    assert!((step.estimate.pose.p.x - 0.03).abs() < 1e-15);
    assert!((slam.predicted().unwrap().pose.p.x - 0.1).abs() < 1e-15);
    assert_eq!(slam.predicted().unwrap().stamp, stamp(1));
}

#[test]
fn hold_says_which_interval_a_twist_stands_for() {
    let drive = |hold| {
        let mut c = config("reduced");
        c.motion.hold = hold;
        let mut slam = Slam::new(c).unwrap();
        for (k, v) in [1.0, 2.0, 4.0].into_iter().enumerate() {
            let odometry =
                Odometry { stamp: stamp(k), velocity: Vector2::new(v, 0.0), yaw_rate: 0.0, covariance: None };
            slam.odometry(&odometry).unwrap();
        }
        slam.predicted().unwrap().pose.p.x
    };
    assert!((drive(TwistHold::Before) - 0.6).abs() < 1e-12);
    assert!((drive(TwistHold::After) - 0.3).abs() < 1e-12);
}

#[test]
fn a_gyroscope_replaces_the_yaw_rate_of_the_odometry() {
    let mut slam = Slam::new(config("reduced")).unwrap();
    for k in 0..5 {
        let odometry = Odometry { stamp: stamp(k), velocity: Vector2::zeros(), yaw_rate: 9.0, covariance: None };
        for j in 1..=4 {
            let _ = slam.imu(&Imu { stamp: stamp(k) + 0.025 * j as f64 - 0.1, yaw_rate: 0.5, tilt: None });
        }
        slam.odometry(&odometry).unwrap();
    }
    assert!((slam.predicted().unwrap().pose.theta - 0.2).abs() < 1e-12);
}

#[test]
fn late_and_repeated_stamps_are_refused() {
    let instants = recording(20, 4);
    let mut c = config("reduced");
    c.timing.reorder_window_s = 0.5;
    let mut slam = Slam::new(c).unwrap();
    instants.iter().for_each(|i| {
        feed(&mut slam, i);
    });
    let seen = &instants[0].seen;
    let before = slam.predicted();
    assert_eq!(slam.odometry(&instants[19].odometry), Err(DropReason::DuplicateStamp));
    assert_eq!(slam.odometry(&instants[10].odometry), Err(DropReason::TooLate));
    assert_eq!(slam.features(stamp(19), MeasurementKind::RelativePosition, seen), Err(DropReason::DuplicateStamp));
    assert_eq!(slam.features(stamp(12), MeasurementKind::RelativePosition, seen), Err(DropReason::TooLate));
    assert_eq!(
        slam.features(stamp(19) + 60.0, MeasurementKind::RelativePosition, seen),
        Err(DropReason::FromTheFuture)
    );
    assert_eq!(slam.poll(), None);
    assert_eq!(slam.predicted(), before);
    let counts = slam.counts();
    assert_eq!(
        [DropReason::DuplicateStamp, DropReason::TooLate, DropReason::FromTheFuture].map(|r| counts.get(r)),
        [2, 2, 1]
    );
}

#[test]
fn stamps_from_the_future_are_a_fault_and_a_run_of_them_is_a_gap() {
    let instants = recording(3, 5);
    let mut slam = Slam::new(config("reduced")).unwrap();
    feed(&mut slam, &instants[0]);
    let later = |s: f64| Odometry { stamp: stamp(0) + s, ..instants[0].odometry };
    assert_eq!(slam.odometry(&later(100.0)), Err(DropReason::FromTheFuture));
    assert_eq!(slam.odometry(&later(0.1)), Ok(()));
    for k in 1..CONFIRMATIONS {
        assert_eq!(slam.odometry(&later(40.0 + 0.1 * k as f64)), Err(DropReason::FromTheFuture));
    }
    assert_eq!(slam.odometry(&later(40.0 + 0.1 * CONFIRMATIONS as f64)), Ok(()));
    let estimate = slam.predicted().unwrap();
    assert!(estimate.covariance[(0, 0)] > 100.0, "after a gap of 40 s nobody knows: {}", estimate.covariance);
}

#[test]
fn time_set_back_resets_or_rewinds() {
    let instants = recording(60, 6);
    for (jump, kept) in [(TimeJump::Reset, false), (TimeJump::Rewind, true)] {
        let mut c = config("reduced");
        c.timing.on_jump_back = jump;
        let mut slam = Slam::new(c).unwrap();
        instants.iter().for_each(|i| {
            feed(&mut slam, i);
        });
        let before = slam.predicted().unwrap().pose;
        let back: Vec<_> = instants[..CONFIRMATIONS].iter().map(|i| slam.odometry(&i.odometry)).collect();
        assert!(back[..CONFIRMATIONS - 1].iter().all(|outcome| *outcome == Err(DropReason::UnconfirmedJump)));
        assert_eq!(back[CONFIRMATIONS - 1], Ok(()));
        assert_eq!(slam.time_jumps(), 1);
        assert_eq!(slam.landmarks().count() > 0, kept);
        let after = slam.predicted().unwrap();
        assert_eq!(after.stamp, stamp(CONFIRMATIONS - 1));
        let driven = instants[CONFIRMATIONS - 1].truth;
        let expected = if kept { before * driven } else { driven };
        assert!((after.pose.p - expected.p).norm() < 0.1, "{:?}", after.pose);
        assert!(!feed(&mut slam, &instants[CONFIRMATIONS]).is_empty());
    }
}

#[test]
fn landmarks_before_any_odometry_are_counted() {
    let instants = recording(2, 7);
    let mut slam = Slam::new(config("reduced")).unwrap();
    slam.features(stamp(0), MeasurementKind::RelativePosition, &instants[0].seen).unwrap();
    assert_eq!(slam.poll(), None);
    slam.odometry(&instants[1].odometry).unwrap();
    assert_eq!(slam.poll(), None);
    assert_eq!(slam.counts().get(DropReason::NotStarted), 1);
}

#[test]
fn nothing_waits_without_bound() {
    let mut slam = Slam::new(config("reduced")).unwrap();
    let still = |k| Odometry { stamp: stamp(k), velocity: Vector2::zeros(), yaw_rate: 0.0, covariance: None };
    slam.odometry(&still(0)).unwrap();
    let mut refused = 0;
    for k in 1..40 {
        let ahead = stamp(0) + 0.001 * k as f64;
        refused +=
            usize::from(slam.features(ahead, MeasurementKind::RelativePosition, &[]) == Err(DropReason::BufferFull));
    }
    assert_eq!(refused, 39 - 32);
    assert!(slam.poll().is_some(), "a full buffer releases its oldest cloud");
}

#[test]
fn switched_off_it_counts_and_keeps_what_it_has() {
    let instants = recording(30, 8);
    let mut slam = Slam::new(config("ekf")).unwrap();
    instants[..10].iter().for_each(|i| {
        feed(&mut slam, i);
    });
    let pose = slam.predicted().unwrap().pose;
    slam.set_enabled(false);
    assert_eq!(slam.odometry(&instants[10].odometry), Err(DropReason::Disabled));
    slam.set_enabled(true);
    slam.odometry(&instants[20].odometry).unwrap();
    assert_eq!(slam.predicted().unwrap().pose, pose);
    assert_eq!(slam.landmarks().count(), 8);
}
