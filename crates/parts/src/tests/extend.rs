//! A map in parts that another robot goes on with, from elsewhere.

use super::known::mapped;
use super::{POSTS, World, of_parts};
use crate::{Parts, Worker};
use lienav_lie::Se2;
use lienav_slam::MapMode;
use nalgebra::{Matrix3, Vector2, Vector3};

/// How many posts the robots have seen that made the map first.
const KNOWN: usize = POSTS;

/// The robot is put at a pose in the map, a third of the way round, and drives on: the map stays where it is, and the
/// robot is as right as it says.
#[test]
fn a_robot_that_is_put_elsewhere_extends_the_map_where_it_lies() {
    let mut mean = 0.0;
    for seed in 1..=8 {
        let saved = mapped(seed);
        let before = saved.known_map().unwrap();
        let mut world = World::new(seed + 50, 0.05);
        let mut config = world.config(8);
        config.map.mode = MapMode::Extend;
        let mut slam = of_parts(config);
        let mut parts = Parts::new(&slam, Worker::InPlace).unwrap().unwrap();
        (0..210).for_each(|_| world.truth = world.truth * Se2::exp(&World::STEP));
        parts.resume(&mut slam, saved).unwrap();
        // The pose that is given is off by what it claims.
        let off = Vector3::new(world.normal(0.2), world.normal(0.2), world.normal(0.03));
        let given = Se2::new(world.truth.p.x + off.x, world.truth.p.y + off.y, world.truth.theta + off.z);
        let covariance = Matrix3::from_diagonal(&Vector3::new(0.04, 0.04, 0.0009));
        parts.set_pose(&mut slam, given, &covariance).unwrap();
        assert_eq!(parts.pose(&slam).unwrap().0, given);
        let (mut sum, mut steps) = (0.0, 0);
        while world.time < 60.0 {
            let Some(step) = world.advance(&mut slam) else { continue };
            let step = parts.join(&mut slam, step);
            let (pose, covariance) = (step.estimate.pose, step.estimate.covariance);
            let d = Vector3::new(
                pose.p.x - world.truth.p.x,
                pose.p.y - world.truth.p.y,
                (pose.theta - world.truth.theta).sin(),
            );
            (sum, steps) = (sum + d.dot(&(covariance.try_inverse().unwrap() * d)), steps + 1);
        }
        mean += sum / f64::from(steps) / 8.0;
        parts.finish(&mut slam);
        assert_eq!((parts.status().failure, parts.landmarks().len()), (None, KNOWN), "no post is a new one");
        for landmark in parts.landmarks() {
            let known = before.landmarks.iter().find(|known| known.id == landmark.id).unwrap();
            let moved: Vector2<f64> = landmark.position - known.position;
            let square = moved.dot(&(known.covariance.try_inverse().unwrap() * moved));
            assert!(square < 25.0, "seed {seed}: {landmark:?} was at {:?}", known.position);
            assert!(landmark.covariance.trace() < 1.01 * known.covariance.trace());
        }
    }
    assert!((1.8..4.5).contains(&mean), "{mean}");
}
