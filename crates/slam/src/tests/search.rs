//! The filter that does not know where it is: no estimates, and then the right one.

use super::hall::{self, Instant, Path, drive, landmarks, map, start};
use crate::{Config, MapMode, Measurement, MeasurementKind, RelocalizeError, ResumeError, Slam, StartMode, Step};
use nalgebra::Matrix3;

const SIDE: usize = 20;

fn unknown(filter: &str, mode: MapMode) -> Config {
    let mut config = hall::config(filter, mode);
    config.initial.mode = StartMode::Unknown;
    config
}

/// Feeds one instant; the step, if there is one.
fn feed(slam: &mut Slam, instant: &Instant, with_identities: bool) -> Option<Step> {
    let hide = |o: &Measurement| Measurement { id: o.id.filter(|_| with_identities), ..*o };
    let seen: Vec<Measurement> = instant.seen.iter().map(hide).collect();
    slam.odometry(&instant.odometry).unwrap();
    slam.features(instant.odometry.stamp, MeasurementKind::RangeBearing, &seen).unwrap();
    slam.poll()
}

fn distance(step: &Step, instant: &Instant) -> f64 {
    (step.estimate.pose.p - instant.truth.p).norm()
}

#[test]
fn there_are_no_estimates_until_the_robot_is_found_and_then_the_right_ones() {
    let truth = landmarks(SIDE, 1);
    let instants = drive(&truth, SIDE, Path::Winding, 150, 2);
    for filter in ["default", "ekf", "reduced"] {
        for (mode, with_identities) in
            [(MapMode::Localization, false), (MapMode::Localization, true), (MapMode::Extend, false)]
        {
            let mut slam = Slam::new(unknown(filter, mode)).unwrap();
            slam.set_map(map(&truth, 0.02, 3)).unwrap();
            assert!(slam.search().is_some());
            let mut found = None;
            for (k, instant) in instants.iter().enumerate() {
                let step = feed(&mut slam, instant, with_identities);
                assert_eq!(step.is_some(), slam.search().is_none());
                assert_eq!(slam.predicted().is_some(), step.is_some());
                if let Some(step) = step {
                    found.get_or_insert(k);
                    assert!(distance(&step, instant) < 0.5, "{filter} {mode:?}: {} m at {k}", distance(&step, instant));
                }
            }
            assert!(found.is_some_and(|k| k < 100), "{filter} {mode:?} {with_identities}: {found:?}");
        }
    }
}

#[test]
fn a_search_is_asked_for_ended_by_a_pose_and_begun_again_by_a_reset() {
    let truth = landmarks(SIDE, 1);
    let instants = drive(&truth, SIDE, Path::Winding, 60, 2);
    let mut slam = Slam::new(hall::config("default", MapMode::Localization)).unwrap();
    assert_eq!(slam.relocalize(), Err(RelocalizeError::NoMap));
    slam.set_map(map(&truth, 0.02, 3)).unwrap();
    assert!(slam.search().is_none() && feed(&mut slam, &instants[0], false).is_some());
    slam.relocalize().unwrap();
    assert!(feed(&mut slam, &instants[1], false).is_none() && slam.search().is_some());
    slam.set_pose(start(Path::Winding, SIDE), &(Matrix3::identity() * 0.01)).unwrap();
    assert!(feed(&mut slam, &instants[2], false).is_some());

    let mut slam = Slam::new(unknown("default", MapMode::Localization)).unwrap();
    slam.set_map(map(&truth, 0.02, 3)).unwrap();
    slam.set_pose(start(Path::Winding, SIDE), &(Matrix3::identity() * 0.01)).unwrap();
    assert!(slam.search().is_none());
    slam.reset();
    assert!(slam.search().is_some());

    let mut slam = Slam::new(hall::config("default", MapMode::Mapping)).unwrap();
    assert_eq!(slam.relocalize(), Err(RelocalizeError::Mapping));
    let mut slam = Slam::new(hall::config("thesis-ekf", MapMode::Localization)).unwrap();
    slam.set_map(map(&truth, 0.02, 3)).unwrap();
    assert_eq!(slam.relocalize(), Err(RelocalizeError::Euler("thesis-ekf".into())));
}

#[test]
fn the_scan_that_finds_the_robot_corrects_it_no_second_time() {
    let truth = landmarks(SIDE, 1);
    let mut slam = Slam::new(unknown("default", MapMode::Localization)).unwrap();
    slam.set_map(map(&truth, 0.02, 3)).unwrap();
    let found = drive(&truth, SIDE, Path::Winding, 100, 2).iter().find_map(|instant| feed(&mut slam, instant, false));
    let found = found.unwrap();
    assert_eq!((found.accepted, found.dof, found.landmarks), (0, 0, 0));
}

#[test]
fn what_changes_while_the_robot_is_searched_for_does_not_end_the_search() {
    let truth = landmarks(SIDE, 1);
    let instants = drive(&truth, SIDE, Path::Winding, 100, 2);
    let mut slam = Slam::new(hall::config("default", MapMode::Localization)).unwrap();
    slam.set_map(map(&truth, 0.02, 3)).unwrap();
    slam.relocalize().unwrap();
    // Another map says no more of where the robot is.
    slam.set_map(map(&truth, 0.03, 4)).unwrap();
    assert!(slam.search().is_some());
    instants[..3].iter().for_each(|instant| assert!(feed(&mut slam, instant, false).is_none()));
    // A gap of which nobody knows the length ends the evidence, not the search.
    slam.set_enabled(false);
    slam.set_enabled(true);
    assert!(slam.search().is_some_and(|search| search.candidates().is_empty()));
    let found = instants[3..].iter().find_map(|instant| Some((feed(&mut slam, instant, false)?, instant)));
    assert!(found.is_some_and(|(step, instant)| distance(&step, instant) < 0.5));
    // A map that is being made has its frame from the robot: there is nothing to search for.
    slam.relocalize().unwrap();
    slam.set_mode(MapMode::Mapping);
    assert!(slam.search().is_none());
}

#[test]
fn a_robot_that_is_carried_away_among_landmarks_without_identity_is_found_again() {
    let truth = landmarks(SIDE, 1);
    let mut config = hall::config("default", MapMode::Localization);
    config.gate.starvation_limit_s = 1.0;
    let at = start(Path::Winding, SIDE);
    (config.initial.x_m, config.initial.y_m, config.initial.yaw_rad) = (at.p.x, at.p.y, at.theta);
    config.initial.mode = StartMode::Unknown;
    let mut slam = Slam::new(config).unwrap();
    slam.set_map(map(&truth, 0.02, 3)).unwrap();
    slam.set_pose(at, &(Matrix3::identity() * 1e-4)).unwrap();
    let (before, after) = (drive(&truth, SIDE, Path::Winding, 50, 2), drive(&truth, SIDE, Path::Circle(6.0), 400, 4));
    before.iter().for_each(|instant| assert!(distance(&feed(&mut slam, instant, false).unwrap(), instant) < 0.3));
    let mut last = f64::INFINITY;
    for instant in &after {
        let mut instant = instant.clone();
        instant.odometry.stamp = instant.odometry.stamp + 5.0;
        if let Some(step) = feed(&mut slam, &instant, false) {
            last = distance(&step, &instant);
        }
    }
    assert!(slam.search().is_none() && last < 0.3, "{last} m");
}

#[test]
fn a_state_goes_on_while_mapping_only() {
    let truth = landmarks(SIDE, 1);
    let mut slam = Slam::new(hall::config("default", MapMode::Localization)).unwrap();
    slam.set_map(map(&truth, 0.02, 3)).unwrap();
    let saved = slam.save();
    let error = Slam::resume(hall::config("default", MapMode::Localization), saved).err().unwrap();
    assert!(matches!(error, ResumeError::KnownMap { .. }));
    assert!(error.to_string().contains("'localization'"), "{error}");
    // Of the landmarks, none is lost, also where they are not in the filter at this time.
    assert_eq!(slam.map().landmarks.len(), SIDE * SIDE);
}
