//! A map in submaps that another robot goes on with, from elsewhere.

use super::known::mapped;
use super::{POSTS, World, of_submaps};
use crate::{SavedSubmaps, Submaps, Worker};
use lienav_lie::Se2;
use lienav_slam::{MapMode, PoseEstimate, RelocalizeError, Slam, StartMode};
use nalgebra::{Matrix3, Vector2, Vector3};

/// How many posts the robots have seen that made the map first.
const KNOWN: usize = POSTS;

/// A robot that has driven a third of the way round, and goes on in this map.
fn another(seed: u64, start: StartMode) -> (World, Slam, Submaps) {
    let mut world = World::new(seed + 50, 0.05);
    let mut config = world.config(8);
    (config.map.mode, config.initial.mode) = (MapMode::Extend, start);
    (config.initial.position_std_m, config.initial.yaw_std_rad) = (0.05, 0.02);
    let mut slam = of_submaps(config);
    let mut submaps = Submaps::new(&slam, Worker::InPlace).unwrap().unwrap();
    (0..210).for_each(|_| world.truth = world.truth * Se2::exp(&World::STEP));
    submaps.resume(&mut slam, mapped(seed)).unwrap();
    (world, slam, submaps)
}

/// Drives on until `to_s`; the sum of the NEES, and of how many steps.
fn drive(world: &mut World, slam: &mut Slam, submaps: &mut Submaps, to_s: f64) -> (f64, u32) {
    let (mut sum, mut steps) = (0.0, 0);
    while world.time < to_s {
        let Some(step) = world.advance(slam) else { continue };
        let PoseEstimate { pose, covariance, .. } = submaps.join(slam, step).estimate;
        let d = pose.p - world.truth.p;
        let d = Vector3::new(d.x, d.y, (pose.theta - world.truth.theta).sin());
        (sum, steps) = (sum + d.dot(&(covariance.try_inverse().unwrap() * d)), steps + 1);
    }
    (sum, steps)
}

/// No post is a new one, and each is where it was and known no worse.
fn check_map(submaps: &Submaps, seed: u64) {
    assert_eq!((submaps.status().failure, submaps.landmarks().len()), (None, KNOWN), "no post is a new one");
    let before = mapped(seed).known_map().unwrap();
    for landmark in submaps.landmarks() {
        let known = before.landmarks.iter().find(|known| known.id == landmark.id).unwrap();
        let moved: Vector2<f64> = landmark.position - known.position;
        let square = moved.dot(&(known.covariance.try_inverse().unwrap() * moved));
        assert!(square < 25.0, "seed {seed}: {landmark:?} was at {:?}", known.position);
        assert!(landmark.covariance.trace() < 1.01 * known.covariance.trace());
    }
}

/// The robot is put at a pose in the map, a third of the way round, and drives on: the map stays where it is, and the
/// robot is as right as it says.
#[test]
fn a_robot_that_is_put_elsewhere_extends_the_map_where_it_lies() {
    let mut mean = 0.0;
    for seed in 1..=8 {
        let (mut world, mut slam, mut submaps) = another(seed, StartMode::Given);
        // The pose that is given is off by what it claims.
        let off = Vector3::new(world.normal(0.2), world.normal(0.2), world.normal(0.03));
        let given = Se2::new(world.truth.p.x + off.x, world.truth.p.y + off.y, world.truth.theta + off.z);
        let covariance = Matrix3::from_diagonal(&Vector3::new(0.04, 0.04, 0.0009));
        submaps.set_pose(&mut slam, given, &covariance).unwrap();
        assert_eq!(submaps.pose(&slam).unwrap().0, given);
        let (sum, steps) = drive(&mut world, &mut slam, &mut submaps, 60.0);
        mean += sum / f64::from(steps) / 8.0;
        submaps.finish(&mut slam);
        check_map(&submaps, seed);
    }
    assert!((1.8..4.5).contains(&mean), "{mean}");
}

/// The robot may be anywhere in the map: there is no pose until it is found, and then it is as right as it says. Lost
/// on the way, it is searched for again.
#[test]
fn a_robot_that_may_be_anywhere_is_searched_for_and_extends_the_map() {
    let mut mean = 0.0;
    for seed in 1..=8 {
        let (mut world, mut slam, mut submaps) = another(seed, StartMode::Unknown);
        submaps.relocalize(&mut slam).unwrap();
        assert!(slam.search().is_some() && submaps.predicted(&slam).is_none());
        let (sum, steps) = drive(&mut world, &mut slam, &mut submaps, 30.0);
        assert!(slam.search().is_none() && steps > 150, "{steps}");
        mean += sum / f64::from(steps) / 16.0;
        let closed = submaps.status().submaps;
        submaps.relocalize(&mut slam).unwrap();
        assert!(submaps.status().submaps == closed + 1 && slam.search().is_some());
        let (sum, steps) = drive(&mut world, &mut slam, &mut submaps, 60.0);
        assert!(slam.search().is_none() && steps > 150, "{steps}");
        mean += sum / f64::from(steps) / 16.0;
        submaps.finish(&mut slam);
        check_map(&submaps, seed);
    }
    assert!((1.8..4.5).contains(&mean), "{mean}");
}

/// What a search says of a pose, it has from landmarks of the map: however often the robot is searched for, that does
/// not make the map more certain.
#[test]
fn searches_do_not_make_the_map_more_certain() {
    for seed in 1..=4 {
        let (mut world, mut slam, mut submaps) = another(seed, StartMode::Unknown);
        for k in 1..=12 {
            submaps.relocalize(&mut slam).unwrap();
            drive(&mut world, &mut slam, &mut submaps, 5.0 * f64::from(k));
            assert!(slam.search().is_none(), "found, seed {seed}, {k}");
        }
        submaps.finish(&mut slam);
        check_map(&submaps, seed);
        let variance = |saved: &SavedSubmaps| {
            let landmarks = saved.known_map().unwrap().landmarks;
            landmarks.iter().map(|landmark| landmark.covariance.trace()).sum::<f64>()
        };
        let ratio = variance(&submaps.snapshot(&slam).solve().unwrap().submaps) / variance(&mapped(seed));
        assert!((0.7..1.0).contains(&ratio), "seed {seed}: {ratio}");
    }
}

/// The filter begins again: while a map is extended, that stays, and the robot is at its initial pose or searched for.
#[test]
fn a_reset_keeps_the_map_that_is_extended() {
    let (mut world, mut slam, mut submaps) = another(1, StartMode::Unknown);
    submaps.relocalize(&mut slam).unwrap();
    drive(&mut world, &mut slam, &mut submaps, 30.0);
    slam.reset();
    submaps.start_again(&mut slam);
    assert!(slam.search().is_some() && submaps.landmarks().len() == KNOWN);
    let (sum, steps) = drive(&mut world, &mut slam, &mut submaps, 60.0);
    assert!(slam.search().is_none() && sum / f64::from(steps) < 20.0 && steps > 150, "{sum} {steps}");
    submaps.finish(&mut slam);
    check_map(&submaps, 1);

    let (mut world, mut slam, mut submaps) = another(1, StartMode::Given);
    submaps.set_pose(&mut slam, world.truth, &(Matrix3::identity() * 0.01)).unwrap();
    drive(&mut world, &mut slam, &mut submaps, 30.0);
    // It is carried to the initial pose.
    let initial = slam.config().initial.clone();
    world.truth = initial.pose() * Se2::new(0.03, -0.02, 0.01);
    slam.reset();
    submaps.start_again(&mut slam);
    assert!(slam.search().is_none());
    let (sum, steps) = drive(&mut world, &mut slam, &mut submaps, 60.0);
    assert!(sum / f64::from(steps) < 20.0 && steps > 250, "{sum} {steps}");
    submaps.finish(&mut slam);
    check_map(&submaps, 1);

    // A map that is made is forgotten.
    let mut config = slam.config().clone();
    config.map.mode = MapMode::Mapping;
    let (mut slam, saved) = (of_submaps(config), submaps.snapshot(&slam).solve().unwrap().submaps);
    submaps = Submaps::new(&slam, Worker::InPlace).unwrap().unwrap();
    submaps.resume(&mut slam, saved).unwrap();
    slam.reset();
    submaps.start_again(&mut slam);
    assert!(submaps.landmarks().is_empty());
}

/// Another map is loaded while the robot is searched for: it is searched for there.
#[test]
fn a_search_goes_on_in_a_map_that_is_loaded() {
    let (mut world, mut slam, mut submaps) = another(1, StartMode::Unknown);
    submaps.relocalize(&mut slam).unwrap();
    submaps.resume(&mut slam, mapped(2)).unwrap();
    assert!(slam.search().is_some());
    let (sum, steps) = drive(&mut world, &mut slam, &mut submaps, 30.0);
    assert!(slam.search().is_none() && sum / f64::from(steps) < 20.0 && steps > 150, "{sum} {steps}");
    submaps.finish(&mut slam);
    check_map(&submaps, 2);
}

#[test]
fn a_search_in_submaps_needs_a_map_and_is_ended_by_a_pose_and_by_a_reset() {
    let world = World::new(1, 0.05);
    let mut config = world.config(8);
    let mut slam = of_submaps(config.clone());
    let mut submaps = Submaps::new(&slam, Worker::InPlace).unwrap().unwrap();
    assert_eq!(submaps.relocalize(&mut slam), Err(RelocalizeError::Mapping));
    (config.map.mode, config.initial.mode) = (MapMode::Extend, StartMode::Unknown);
    slam = of_submaps(config);
    submaps = Submaps::new(&slam, Worker::InPlace).unwrap().unwrap();
    assert_eq!(submaps.relocalize(&mut slam), Err(RelocalizeError::NoMap));
    assert!(slam.search().is_none());

    let (mut world, mut slam, mut submaps) = another(1, StartMode::Unknown);
    submaps.relocalize(&mut slam).unwrap();
    // Other settings of a sensor begin it again, in the same map.
    let mut config = slam.config().clone();
    config.sensor.range_std_m *= 1.1;
    slam.reconfigure(config).unwrap();
    assert!(slam.search().is_some());
    submaps.set_pose(&mut slam, world.truth, &(Matrix3::identity() * 0.01)).unwrap();
    assert!(slam.search().is_none());
    let (_, steps) = drive(&mut world, &mut slam, &mut submaps, 5.0);
    assert!(steps > 40);
    submaps.relocalize(&mut slam).unwrap();
    slam.reset();
    submaps.forget(&slam);
    assert!(slam.search().is_none() && submaps.landmarks().is_empty());
}
