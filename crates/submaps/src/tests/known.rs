//! A map in submaps as the known map of another robot.

use super::{POSTS, World, chain, of_submaps};
use crate::{SavedSubmaps, Submaps, Worker};
use lienav_lie::Se2;
use lienav_slam::{LandmarkMap, MapMode, NearCovariances, Slam};
use nalgebra::{Matrix2, Matrix3, Vector3};

#[test]
fn near_pairs_have_the_covariances_that_all_have() {
    let (problem, _) = chain();
    let solution = problem.solve().unwrap();
    let numbers: Vec<usize> = (0..problem.landmarks.len()).collect();
    let all = solution.covariance(5, &numbers);
    let mut pairs = 0;
    solution.for_each_near_pair(3, |one, other, covariance| {
        let expected: Matrix2<f64> = all.fixed_view::<2, 2>(3 + 2 * one, 3 + 2 * other).into_owned();
        assert!((covariance - expected).amax() < 1e-9 * all.amax(), "{one} {other}: {covariance} {expected}");
        pairs += 1;
    });
    assert!((problem.landmarks.len()..=3 * problem.landmarks.len()).contains(&pairs), "{pairs}");
}

/// The map of a robot that has gone round once, in submaps of eight posts.
pub(super) fn mapped(seed: u64) -> SavedSubmaps {
    let mut world = World::new(seed, 0.05);
    let mut slam = of_submaps(world.config(8));
    let mut submaps = Submaps::new(&slam, Worker::InPlace).unwrap().unwrap();
    while world.time < 75.0 {
        if let Some(step) = world.advance(&mut slam) {
            submaps.join(&mut slam, step);
        }
    }
    submaps.snapshot(&slam).solve().unwrap().submaps
}

/// The mean NEES of a robot that goes round in this map.
fn nees_in(map: LandmarkMap, seed: u64) -> f64 {
    let mut world = World::new(seed, 0.05);
    let mut config = world.config(8);
    (config.map.mode, config.map.active_features) = (MapMode::Localization, 12);
    let mut slam = Slam::new(config).unwrap();
    assert!(Submaps::new(&slam, Worker::InPlace).unwrap().is_none());
    slam.set_map(map).unwrap();
    let (mut sum, mut steps) = (0.0, 0);
    while world.time < 60.0 {
        let Some(step) = world.advance(&mut slam) else { continue };
        let (pose, covariance) = (step.estimate.pose, step.estimate.covariance);
        let d = pose.p - world.truth.p;
        let d = Vector3::new(d.x, d.y, (pose.theta - world.truth.theta).sin());
        // The start is known exactly; so is the pose for a moment.
        let nees = covariance.try_inverse().map_or(0.0, |inverse| d.dot(&(inverse * d)));
        (sum, steps) = (sum + nees, steps + 1);
    }
    assert!(slam.landmarks().count() <= 12);
    sum / f64::from(steps)
}

/// What landmarks have in common is known: a robot in the map of another one is as right as it says, and would not be
/// if errors of landmarks were taken to be independent.
#[test]
fn a_robot_is_as_right_as_it_says_in_the_map_of_another_one() {
    let (mut right, mut wrong) = (0.0, 0.0);
    for seed in 1..=12 {
        let map = mapped(seed).known_map().unwrap();
        assert_eq!(map.landmarks.len(), POSTS);
        right += nees_in(map.clone(), 100 + seed) / 12.0;
        wrong += nees_in(LandmarkMap { near: None, ..map }, 100 + seed) / 12.0;
    }
    assert!((1.8..4.5).contains(&right) && wrong > 1.5 * right, "{right} {wrong}");
}

/// A map whose near landmarks have something in common is gone on with as what it is.
#[test]
fn a_map_of_near_landmarks_becomes_submaps_that_say_the_same() {
    let map = mapped(3).known_map().unwrap();
    let pose = (Se2::identity(), &(Matrix3::identity() * 1e-4));
    let again = SavedSubmaps::of_map(&map, pose, 8).unwrap().known_map().unwrap();
    assert_eq!(map.landmarks.len(), again.landmarks.len());
    for (one, other) in map.landmarks.iter().zip(&again.landmarks) {
        assert!((one.id, one.position) == (other.id, other.position));
        let ratio = other.covariance.trace() / one.covariance.trace();
        assert!((0.9..1.1).contains(&ratio), "{}: {ratio}", one.id);
    }
    let (one, other) = (map.near.unwrap(), again.near.unwrap());
    let crossed = |near: &NearCovariances| near.of(3, 4).unwrap().trace();
    assert!((crossed(&other) / crossed(&one) - 1.0).abs() < 0.1, "{} {}", crossed(&one), crossed(&other));
}
