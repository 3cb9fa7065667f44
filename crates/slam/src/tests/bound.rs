//! Scans of more measurements than the filter is to process.

use super::*;
use crate::DropReason;

fn seen(id: Option<u32>, x: f64, y: f64) -> Measurement {
    Measurement::new(id, [x, y])
}

/// A filter that has four landmarks, 3 m to 6 m ahead.
fn with_map(max_points: usize) -> Slam {
    let mut config = config("default");
    config.sensor.max_points = max_points;
    let mut slam = Slam::new(config).unwrap();
    let landmarks: Vec<Measurement> = (0..4).map(|i| seen(Some(i), 3.0 + f64::from(i), 0.0)).collect();
    let steps = see(&mut slam, 0, &landmarks);
    assert_eq!(steps[0].added, 4);
    slam
}

fn see(slam: &mut Slam, k: usize, seen: &[Measurement]) -> Vec<Step> {
    let still = Odometry { stamp: stamp(k), velocity: Vector2::zeros(), yaw_rate: 0.0, covariance: None };
    slam.odometry(&still).unwrap();
    slam.features(stamp(k), MeasurementKind::RelativePosition, seen).unwrap();
    drain(slam)
}

#[test]
fn known_landmarks_stay_first_then_the_nearest_and_the_rest_are_counted() {
    let mut slam = with_map(6);
    // Nearer than the map's, farther than them, at the same distance as one another, without sense, and with its id.
    let strangers = [(9, -9.0), (10, -2.0), (11, -8.0), (12, f64::NAN), (13, -8.0)].map(|(i, y)| seen(Some(i), 0.0, y));
    let known = (0..4).map(|i| seen(Some(i), 3.0 + f64::from(i), 0.0));
    let scan: Vec<Measurement> = strangers.into_iter().chain(known).collect();
    let step = see(&mut slam, 1, &scan)[0];
    assert_eq!((step.accepted, step.added, step.rejected), (4, 2, 3));
    assert_eq!(slam.counts().get(DropReason::TooManyPoints), 3);
    let mut ids: Vec<u32> = slam.landmarks().map(|landmark| landmark.id).collect();
    ids.sort_unstable();
    assert_eq!(ids, [0, 1, 2, 3, 10, 11], "10 is the nearest; 11 and 13 are equally far, and 11 came first");
}

#[test]
fn a_bound_that_nothing_exceeds_changes_no_bit() {
    let run = |max_points| {
        let mut config = config("default");
        config.sensor.max_points = max_points;
        let mut slam = Slam::new(config).unwrap();
        recording(60, 3).iter().flat_map(|instant| feed(&mut slam, instant)).collect::<Vec<_>>()
    };
    assert_eq!(run(8), run(10_000));
    assert_ne!(run(7), run(8));
}

#[test]
fn points_without_identity_cost_no_more_than_the_bound() {
    let mut slam = with_map(50);
    let flood = |n: u32| -> Vec<Measurement> {
        (0..n).map(|i| seen(None, f64::from(i % 97) + 10.0, f64::from(i % 89) - 44.0)).collect()
    };
    let step = see(&mut slam, 1, &flood(2000))[0];
    assert_eq!(slam.counts().get(DropReason::TooManyPoints), 1950);
    assert_eq!(step.accepted + step.added + step.rejected, 2000, "each is in one of the counts");
    assert!(step.added <= 50);
    // A whole lidar scan is no scan of landmarks.
    let (scan, kind) = (flood(10_001), MeasurementKind::RelativePosition);
    assert_eq!(slam.features(stamp(2), kind, &scan), Err(DropReason::TooManyPoints));
}

#[test]
fn the_disparity_of_a_stereo_pair_says_what_is_near() {
    let mut config = config("default");
    (config.sensor.kind, config.sensor.max_points) = (MeasurementKind::StereoBearings, 1);
    let mut slam = Slam::new(config).unwrap();
    let pair = |id, x: f64| {
        let half = (0.25 / x).atan();
        Measurement::new(Some(id), [-half, half])
    };
    let still = Odometry { stamp: stamp(0), velocity: Vector2::zeros(), yaw_rate: 0.0, covariance: None };
    slam.odometry(&still).unwrap();
    slam.features(stamp(0), MeasurementKind::StereoBearings, &[pair(1, 5.0), pair(2, 2.0), pair(3, 3.0)]).unwrap();
    drain(&mut slam);
    assert_eq!(slam.landmarks().map(|landmark| landmark.id).collect::<Vec<_>>(), [2]);
}
