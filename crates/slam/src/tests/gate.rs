//! What the gate leaves out, for how long it may, and how much it believes of what passes.

use super::*;
use crate::DropReason;

/// The robot is lifted after 60 steps and set down somewhere else; odometry says nothing of it.
fn lifted(seed: u64, turn: f64) -> Vec<Instant> {
    let mut instants = recording(160, seed);
    let away = Se2::new(0.6, -1.2, turn);
    let landmarks: Vec<Vector2<f64>> = (0..8)
        .map(|i| Se2::new(0.0, 3.0, i as f64 * std::f64::consts::FRAC_PI_4).transform(&Vector2::new(4.0, 0.0)))
        .collect();
    // Moved by one motion of the world: from then on it drives on as its odometry says.
    let before = instants[60].truth;
    let carried = before * away * before.inverse();
    for instant in &mut instants[60..] {
        let noise: Vec<Vector2<f64>> =
            landmarks.iter().zip(&instant.seen).map(|(p, o)| o.value.xy() - instant.truth.transform_back(p)).collect();
        instant.truth = carried * instant.truth;
        for ((p, o), e) in landmarks.iter().zip(&mut instant.seen).zip(noise) {
            o.value = (instant.truth.transform_back(p) + e).into();
        }
    }
    instants
}

/// The robot sees `in_view` landmarks at a time from when it was lifted on.
fn error_at_the_end(filter: &str, turn: f64, limit_s: f64, in_view: usize) -> (Slam, f64) {
    let mut instants = lifted(3, turn);
    instants[60..].iter_mut().for_each(|instant| instant.seen.truncate(in_view));
    let mut c = config(filter);
    c.gate.starvation_limit_s = limit_s;
    let mut slam = Slam::new(c).unwrap();
    let steps: Vec<Step> = instants.iter().flat_map(|instant| feed(&mut slam, instant)).collect();
    let error = (steps.last().unwrap().estimate.pose.p - instants.last().unwrap().truth.p).norm();
    (slam, error)
}

#[test]
fn a_robot_that_was_lifted_is_found_again_as_soon_as_three_scans_agree_and_never_without_a_limit() {
    let filters = ["default", "invariant", "reduced", "ekf", "fe-ekf"];
    for (filter, turn) in filters.into_iter().flat_map(|filter| [(filter, 0.5), (filter, -2.8)]) {
        let (slam, error) = error_at_the_end(filter, turn, 2.0, 8);
        assert_eq!(slam.gate_openings(), 1, "{filter}");
        // Two scans of eight were left out meanwhile, and hardly anything else.
        let gated = slam.counts().get(DropReason::Gated);
        assert!((12..=24).contains(&gated), "{filter}: {gated}");
        assert!(error < 0.25, "{filter}: {error}");
        let (slam, error) = error_at_the_end(filter, turn, 0.0, 8);
        assert_eq!(slam.gate_openings(), 0);
        assert!(error > 1.0, "{filter} is expected to stay lost: {error}");
    }
}

/// Two landmarks may have been moved: they agree on almost any place.
#[test]
fn a_robot_that_was_lifted_and_sees_two_landmarks_is_found_again_after_the_limit() {
    for turn in [0.5, -2.8] {
        let (slam, error) = error_at_the_end("default", turn, 2.0, 2);
        assert_eq!(slam.gate_openings(), 1);
        // 21 scans of two were left out meanwhile.
        let gated = slam.counts().get(DropReason::Gated);
        assert!((36..=46).contains(&gated), "{gated}");
        assert!(error < 0.4, "{error}");
    }
}

#[test]
fn one_landmark_that_was_moved_starves_nobody() {
    let mut instants = recording(120, 4);
    for instant in &mut instants[20..] {
        instant.seen[3].value = (instant.seen[3].value.xy() + Vector2::new(2.0, 1.0)).into();
    }
    let mut c = config("default");
    c.gate.starvation_limit_s = 1.0;
    let mut slam = Slam::new(c).unwrap();
    instants.iter().for_each(|instant| drop(feed(&mut slam, instant)));
    assert_eq!(slam.gate_openings(), 0);
    // The other seven pass but for one in a thousand. The one goes with the robot, and is reinitialized again and
    // again.
    assert!((50..=108).contains(&slam.counts().get(DropReason::Gated)));
    assert!((4..=12).contains(&slam.reinitialized_landmarks()), "{}", slam.reinitialized_landmarks());
}

#[test]
fn a_landmark_that_was_moved_once_is_begun_anew_and_a_lifted_robot_loses_none() {
    let mut instants = recording(120, 4);
    for instant in &mut instants[60..] {
        let shift = instant.truth.rotation().transpose() * Vector2::new(2.0, 1.0);
        instant.seen[3].value = (instant.seen[3].value.xy() + shift).into();
    }
    let (slam, steps) = run("default", &instants);
    let place = Se2::new(0.0, 3.0, 3.0 * std::f64::consts::FRAC_PI_4).transform(&Vector2::new(4.0, 0.0));
    let landmark = slam.landmarks().find(|landmark| landmark.id == 3).unwrap();
    assert!((landmark.position - place - Vector2::new(2.0, 1.0)).norm() < 0.15, "{landmark:?}");
    assert!((10..=14).contains(&slam.counts().get(DropReason::Gated)), "{}", slam.counts().get(DropReason::Gated));
    assert!((steps.last().unwrap().estimate.pose.p - instants[119].truth.p).norm() < 0.15);
    assert_eq!(slam.reinitialized_landmarks(), 1);
    // Nothing fits where the robot is not: all landmarks stay.
    let mut c = config("default");
    c.gate.starvation_limit_s = 0.0;
    let mut slam = Slam::new(c).unwrap();
    lifted(3, 0.5).iter().for_each(|instant| drop(feed(&mut slam, instant)));
    assert!(slam.landmarks().all(|landmark| landmark.measurements > 40) && slam.reinitialized_landmarks() == 0);
}

/// The robot sees one landmark at a time, as a camera with a narrow field of view does.
fn sees_alone(instant: &Instant, id: usize) -> Instant {
    Instant { seen: vec![instant.seen[id]], ..instant.clone() }
}

/// The measurements of an instant as they are where an unseen motion `away` has put the robot.
fn carried(instant: &Instant, away: &Se2) -> Instant {
    let mut carried = instant.clone();
    carried.seen.iter_mut().for_each(|seen| seen.value = away.transform_back(&seen.value.xy()).into());
    carried
}

/// Measurements of a lost robot are no evidence against a landmark, not even those of two track losses together,
/// between which others fitted.
#[test]
fn a_robot_that_is_lost_twice_keeps_its_landmarks() {
    let away = Se2::new(0.6, -1.2, 0.5);
    let instants: Vec<Instant> = recording(120, 4)
        .iter()
        .enumerate()
        .map(|(k, instant)| match k {
            60..75 => sees_alone(&carried(instant, &away), 3),
            75..100 => sees_alone(instant, [0, 1, 2, 4, 5][k % 5]),
            100..105 => sees_alone(&carried(instant, &away), 4),
            105..107 => sees_alone(&carried(instant, &away), 3),
            _ => instant.clone(),
        })
        .collect();
    let (slam, _) = run("default", &instants);
    assert!(slam.counts().get(DropReason::Gated) >= 22, "{:?}", slam.counts());
    assert_eq!((slam.reinitialized_landmarks(), slam.gate_openings()), (0, 0));
}

/// Other landmarks that fit in between say that the landmark was moved, and not the robot.
#[test]
fn a_landmark_that_was_moved_is_begun_anew_where_each_is_seen_alone() {
    let mut instants: Vec<Instant> = recording(240, 4);
    for (k, instant) in instants.iter_mut().enumerate().skip(60) {
        let shift = instant.truth.rotation().transpose() * Vector2::new(2.0, 1.0);
        instant.seen[3].value = (instant.seen[3].value.xy() + shift).into();
        *instant = sees_alone(instant, [1, 3, 5, 7][k % 4]);
    }
    let (slam, steps) = run("default", &instants);
    assert_eq!((slam.reinitialized_landmarks(), slam.gate_openings()), (1, 0));
    assert!((steps.last().unwrap().estimate.pose.p - instants[239].truth.p).norm() < 0.15);
}

/// Of measurements that lie far out, Cauchy's weight leaves little.
#[test]
fn with_a_robust_weight_a_measurement_far_out_counts_little() {
    let pull = |robust_scale: f64| {
        let mut instants = recording(30, 5);
        let clean = run("default", &instants).1.last().unwrap().estimate.pose.p;
        instants[29].seen[0].value = (instants[29].seen[0].value.xy() + Vector2::new(3.0, 3.0)).into();
        let mut c = config("default");
        (c.gate.probability, c.gate.robust_scale) = (1.0, robust_scale);
        let mut slam = Slam::new(c).unwrap();
        let steps: Vec<Step> = instants.iter().flat_map(|instant| feed(&mut slam, instant)).collect();
        (steps.last().unwrap().estimate.pose.p - clean).norm()
    };
    assert!(pull(1.0) < 0.12 * pull(0.0), "{} {}", pull(1.0), pull(0.0));
}

/// Odometry that is ahead of the motion by a dead time, put right, is odometry that is not.
#[test]
fn a_dead_time_is_made_good() {
    let instants = recording(80, 6);
    let (_, expected) = run("default", &instants);
    let mut c = config("default");
    c.motion.delay_s = 0.3;
    let mut slam = Slam::new(c).unwrap();
    let mut inputs: Vec<(Stamp, Option<Odometry>, Option<&Instant>)> = Vec::new();
    for instant in &instants {
        let early = Stamp::from_nanos(instant.odometry.stamp.nanos() - 300_000_000);
        inputs.push((early, Some(Odometry { stamp: early, ..instant.odometry }), None));
        inputs.push((instant.odometry.stamp, None, Some(instant)));
    }
    inputs.sort_by_key(|(stamp, ..)| *stamp);
    let mut steps = Vec::new();
    for (_, odometry, instant) in inputs {
        if let Some(odometry) = odometry {
            slam.odometry(&odometry).unwrap();
        }
        if let Some(instant) = instant {
            slam.features(instant.odometry.stamp, MeasurementKind::RelativePosition, &instant.seen).unwrap();
        }
        steps.extend(drain(&mut slam));
    }
    assert_eq!(steps.len(), expected.len());
    for (a, b) in steps.iter().zip(&expected) {
        assert!((a.estimate.pose.p - b.estimate.pose.p).norm() < 1e-9);
        assert!((a.estimate.covariance - b.estimate.covariance).amax() < 1e-9);
    }
}
