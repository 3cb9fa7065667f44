//! Several hypotheses of where the robot is among known landmarks that look alike.

use super::hall::{self, Instant, Path, drive, feed, landmarks, map, nees, start};
use crate::{LandmarkMap, MapMode, Slam};
use nalgebra::Vector2;

const SIDE: usize = 12;

/// Landmarks in pairs, so near that a measurement does not tell which one it is of.
fn pairs() -> Vec<Vector2<f64>> {
    let one = landmarks(SIDE, 3);
    let other = one.iter().enumerate().map(|(k, p)| p + 0.25 * Vector2::new((k as f64).cos(), (k as f64).sin()));
    one.iter().copied().chain(other).collect()
}

/// One measurement of each scan, of one landmark of a pair.
fn one_at_a_time(instants: &mut [Instant]) {
    for (k, instant) in instants.iter_mut().enumerate() {
        let one = k / 5 % instant.seen.len();
        instant.seen = vec![instant.seen[one]];
    }
}

fn slam(truth: &[Vector2<f64>], filter: &str, seed: u64) -> Slam {
    let from = start(Path::Circle(6.0), SIDE);
    let config = hall::config_from(from, (0.1, 0.05), filter, MapMode::Localization, seed);
    let mut slam = Slam::new(config).unwrap();
    slam.set_map(map(truth, 0.01, seed)).unwrap();
    slam
}

/// RMSE, m, and mean NEES.
fn run(slam: &mut Slam, instants: &[Instant], with_identities: bool) -> (f64, f64) {
    let (mut square, mut sum) = (0.0, 0.0);
    for instant in instants {
        let estimate = feed(slam, instant, with_identities);
        square += (estimate.0.p - instant.truth.p).norm_squared();
        sum += nees(&estimate, &instant.truth);
    }
    let steps = instants.len() as f64;
    ((square / steps).sqrt(), sum / steps)
}

#[test]
fn a_robot_among_pairs_of_landmarks_is_where_it_is_with_their_identities() {
    let truth = pairs();
    for filter in ["default", "ekf", "thesis-ekf"] {
        let (mut named, mut nameless) = ((0.0, 0.0), (0.0, 0.0));
        let mut most = 0;
        for seed in 0..6 {
            let mut instants = drive(&truth, SIDE, Path::Circle(6.0), 300, 40 + seed);
            one_at_a_time(&mut instants);
            let (rmse, nees) = run(&mut slam(&truth, filter, seed), &instants, true);
            named = (named.0 + rmse / 6.0, named.1 + nees / 6.0);
            let mut unnamed = slam(&truth, filter, seed);
            for instant in &instants {
                let one = run(&mut unnamed, std::slice::from_ref(instant), false);
                nameless = (nameless.0 + one.0 * one.0 / 1800.0, nameless.1 + one.1 / 1800.0);
                most = most.max(unnamed.hypotheses());
            }
        }
        assert!(most > 1, "{filter}: nothing was ambiguous");
        let rmse = nameless.0.sqrt();
        assert!(rmse < 1.3 * named.0, "{filter}: {rmse} m, and {} m with identities", named.0);
        assert!((1.5..5.0).contains(&nameless.1), "{filter}: NEES {}, and {} with identities", nameless.1, named.1);
    }
}

#[test]
fn noise_is_learned_while_there_are_several_hypotheses() {
    let truth = pairs();
    let mut ambiguous = 0;
    for claimed in [0.4, 2.5] {
        let config = |claimed: f64| {
            let mut config = slam(&truth, "default", 5).config().clone();
            config.sensor.range_std_m *= claimed;
            config.sensor.bearing_std_rad *= claimed;
            config.learning.enabled = true;
            config
        };
        let mut robot = Slam::new(config(claimed)).unwrap();
        robot.set_map(map(&truth, 0.01, 5)).unwrap();
        let mut instants = drive(&truth, SIDE, Path::Circle(6.0), 120, 12);
        one_at_a_time(&mut instants);
        for instant in &instants {
            feed(&mut robot, instant, false);
            ambiguous += usize::from(robot.hypotheses() > 1);
        }
        let learned = robot.learned_noise().unwrap();
        let std = learned.sensors.iter().find(|of| of.sensor == 1).unwrap().std;
        assert!(std[..2].iter().all(|s| (0.7..1.4).contains(&(s * claimed))), "told {claimed}: {std:?}");
    }
    assert!(ambiguous > 100, "{ambiguous}");
}

#[test]
fn where_every_measurement_is_clear_identities_change_nothing() {
    let truth = landmarks(SIDE, 3);
    let instants = drive(&truth, SIDE, Path::Circle(6.0), 100, 7);
    let (mut named, mut nameless) = (slam(&truth, "default", 5), slam(&truth, "default", 5));
    let mut alike = 0;
    for instant in &instants {
        let one = feed(&mut named, instant, true);
        let other = feed(&mut nameless, instant, false);
        let apart = (one.0.p - other.0.p).norm();
        // A measurement far out may be of none.
        assert!(apart < 0.01, "{apart} m");
        alike += usize::from(one == other);
        assert_eq!(nameless.hypotheses(), 1);
    }
    assert!(alike > 0);
}

#[test]
fn the_order_of_measurements_does_not_matter() {
    let truth = pairs();
    let instants = drive(&truth, SIDE, Path::Circle(6.0), 60, 8);
    let (mut one, mut other) = (slam(&truth, "default", 5), slam(&truth, "default", 5));
    for mut instant in instants {
        instant.seen.truncate(6);
        let there = feed(&mut one, &instant, false);
        instant.seen.reverse();
        let back = feed(&mut other, &instant, false);
        assert!((there.0.p - back.0.p).norm() < 1e-9 && (there.1 - back.1).amax() < 1e-9);
    }
}

#[test]
fn clutter_and_scans_of_one_place_end_in_bounded_hypotheses() {
    let truth = pairs();
    let mut slam = slam(&truth, "default", 5);
    for mut instant in drive(&truth, SIDE, Path::Circle(6.0), 20, 9) {
        let Some(first) = instant.seen.first().copied() else { continue };
        instant.seen = vec![first; 200];
        feed(&mut slam, &instant, false);
        assert!(slam.hypotheses() <= 16);
    }
    // Another map is another robot's.
    slam.set_map(LandmarkMap { landmarks: map(&truth, 0.01, 1).landmarks, joint: None, near: None }).unwrap();
    assert_eq!(slam.hypotheses(), 1);
}

#[test]
fn a_robot_that_is_carried_away_while_hypotheses_are_open_is_found_by_identities() {
    let truth = pairs();
    let mut slam = slam(&truth, "default", 5);
    let mut instants = drive(&truth, SIDE, Path::Circle(6.0), 300, 10);
    let (mut open, mut fed) = (0, 0);
    one_at_a_time(&mut instants[..50]);
    for instant in &instants[..50] {
        feed(&mut slam, instant, false);
        (open, fed) = (slam.hypotheses(), fed + 1);
        if open > 1 {
            break;
        }
    }
    assert!(open > 1, "nothing was ambiguous");
    // The same clock goes on; the robot is a quarter of the circle farther.
    let (mut last, mut truth_there) = (None, instants[50].truth);
    for (k, instant) in instants[150..].iter().enumerate() {
        let mut instant = instant.clone();
        instant.odometry.stamp = lienav_base::stamp::Stamp::from_nanos(100_000_000 * (fed + k as i64));
        last = Some(feed(&mut slam, &instant, true));
        truth_there = instant.truth;
    }
    let (pose, _) = last.unwrap();
    assert!((pose.p - truth_there.p).norm() < 0.3, "{} m", (pose.p - truth_there.p).norm());
    assert_eq!(slam.hypotheses(), 1);
}
