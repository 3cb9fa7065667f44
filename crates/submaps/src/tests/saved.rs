//! A map in submaps that is saved and gone on with, taken from elsewhere, and moved.

use super::{POSTS, World, of_submaps};
use crate::{ResumeSubmapsError, SavedSubmaps, Submaps, WholeMap, Worker};
use lienav_lie::Se2;
use lienav_slam::{LandmarkMap, MapLandmark, SavedState, Slam, Step};
use nalgebra::{DMatrix, Matrix2, Matrix3, Vector2, Vector3};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

/// A robot with its filter.
struct Robot {
    world: World,
    slam: Slam,
    submaps: Submaps,
}

impl Robot {
    fn new(world: World, local_features: usize) -> Self {
        let slam = of_submaps(world.config(local_features));
        let submaps = Submaps::new(&slam, Worker::InPlace).unwrap().unwrap();
        Self { world, slam, submaps }
    }

    /// Steps until `time`, s, each with where the robot is.
    fn drive(&mut self, time: f64) -> Vec<(Step, Se2)> {
        let mut steps = Vec::new();
        while self.world.time < time {
            if let Some(step) = self.world.advance(&mut self.slam) {
                steps.push((self.submaps.join(&mut self.slam, step), self.world.truth));
            }
        }
        steps
    }

    fn saved(&self) -> (WholeMap, SavedState) {
        (self.submaps.snapshot(&self.slam).solve().unwrap(), self.slam.save())
    }

    /// The robot is switched off and on. In between it stands still: where it is at its first odometry is where it was
    /// at its last one.
    fn restarted(self, map: &SavedSubmaps, state: Option<SavedState>) -> Self {
        let mut next = Self::new(self.world, 8);
        next.world.truth = next.world.truth * Se2::exp(&(World::STEP * -1.0));
        if let Some(state) = state {
            next.slam.restore(state).unwrap();
        }
        next.submaps.resume(&mut next.slam, through_json(map)).unwrap();
        next.slam.restart_clock();
        next
    }
}

fn through_json(map: &SavedSubmaps) -> SavedSubmaps {
    serde_json::from_str(&serde_json::to_string(map).unwrap()).unwrap()
}

fn nees((step, truth): &(Step, Se2)) -> f64 {
    let (pose, covariance) = (step.estimate.pose, step.estimate.covariance);
    let d = pose.p - truth.p;
    let d = Vector3::new(d.x, d.y, (pose.theta - truth.theta).sin());
    covariance.try_inverse().map_or(f64::INFINITY, |inverse| d.dot(&(inverse * d)))
}

fn mean_nees(steps: &[(Step, Se2)]) -> f64 {
    steps.iter().map(nees).sum::<f64>() / steps.len() as f64
}

/// A quarter of the second round, and the rest of it: the robot that was switched off and on knows what the other one
/// does, of its pose and of the map.
#[test]
fn a_robot_goes_on_with_the_submaps_that_it_saved() {
    let (mut all, mut other) = (0.0, 0.0);
    for seed in 1..=6 {
        let mut robot = Robot::new(World::new(seed, 0.05), 8);
        robot.drive(75.0);
        let (map, state) = robot.saved();
        assert!(map.landmarks.len() == POSTS && map.submaps.len() == POSTS && !map.submaps.is_empty());
        let with_state = seed % 2 == 0;
        let mut next = robot.restarted(&map.submaps, with_state.then_some(state));
        assert_eq!(next.submaps.snapshot(&next.slam).solve().unwrap().landmarks.len(), POSTS);
        let steps = next.drive(128.0);

        let mut plain = Robot::new(World::new(seed, 0.05), 8);
        plain.drive(75.0);
        let through = plain.drive(128.0);
        // Of the steps in which nothing but the restart differs: the robot is as sure, after a moment.
        let (last, same) = (steps.last().unwrap(), through.last().unwrap());
        assert_eq!(last.0.landmarks, POSTS, "no post is a new one");
        let ratio = last.0.estimate.covariance.trace() / same.0.estimate.covariance.trace();
        assert!((0.98..1.1).contains(&ratio), "seed {seed}: {ratio}");
        // And as right: they differ by the one step that the robot stood still.
        let error = |(step, truth): &(Step, Se2)| truth.transform_back(&step.estimate.pose.p);
        let off = (error(last) - error(same)).norm();
        assert!(off < 0.5 * same.0.estimate.covariance.trace().sqrt(), "seed {seed}: {off}");
        all += mean_nees(&steps) / 6.0;
        other += mean_nees(&through) / 6.0;
    }
    assert!((1.7..4.7).contains(&all) && all < 1.2 * other + 0.3, "{all} {other}");
}

/// A robot at rest that saves and goes on, again and again, learns nothing by it.
#[test]
fn what_is_saved_again_and_again_stays_what_it_is() {
    let mut robot = Robot::new(World::new(3, 0.05), 8);
    robot.drive(70.0);
    let (first, _) = robot.saved();
    for _ in 0..5 {
        let (map, state) = robot.saved();
        robot = robot.restarted(&map.submaps, Some(state));
    }
    let (last, _) = robot.saved();
    for (one, other) in first.landmarks.iter().zip(&last.landmarks) {
        assert_eq!((one.id, one.class), (other.id, other.class));
        let std = one.covariance.trace().sqrt();
        assert!((one.position - other.position).norm() < 1e-3 * std, "{one:?} {other:?}");
        assert!((one.covariance - other.covariance).amax() < 1e-3 * std * std, "{one:?} {other:?}");
    }
}

/// Posts without identities are known again by place and class, and numbers of the map are given to nothing else.
#[test]
fn landmarks_without_identity_go_on_too() {
    let mut world = World::new(2, 0.03);
    (world.is_named, world.class) = (|k| k % 3 == 0, |_| 4);
    let mut robot = Robot::new(world, 8);
    robot.drive(70.0);
    let (map, state) = robot.saved();
    assert!(map.landmarks.iter().any(|landmark| landmark.class == 4), "{:?}", map.landmarks[0]);
    let count = map.landmarks.len();
    for state in [Some(state), None] {
        let mut world = World::new(2, 0.03);
        (world.is_named, world.class) = (|k| k % 3 == 0, |_| 4);
        let mut next = Robot::new(world, 8);
        next.drive(70.0);
        let mut next = next.restarted(&map.submaps, state);
        next.drive(140.0);
        next.submaps.finish(&mut next.slam);
        let landmarks = next.submaps.landmarks();
        assert!((POSTS..=count + 1).contains(&landmarks.len()), "{} after {count}", landmarks.len());
    }
}

/// A survey is a map like any other: posts known to 2 cm, and a robot that knows where it stands to 20 cm.
#[test]
fn a_survey_is_gone_on_with_in_submaps() {
    let mut sum = 0.0;
    for (seed, is_joint) in [(1, false), (2, true), (3, false), (4, true)] {
        let mut robot = Robot::new(World::new(seed, 0.1), 6);
        let (survey, shift, pose_covariance) = (0.02, 0.05, Matrix3::from_diagonal(&Vector3::new(0.04, 0.04, 0.01)));
        // With a joint covariance, all posts are off together by what nobody has measured.
        let together = if is_joint { Vector2::from_fn(|_, _| robot.world.normal(shift)) } else { Vector2::zeros() };
        let common = if is_joint { shift * shift } else { 0.0 };
        let landmarks: Vec<MapLandmark> = (0..POSTS)
            .map(|k| {
                let off = Vector2::from_fn(|_, _| robot.world.normal(survey));
                let covariance = Matrix2::identity() * (survey * survey + common);
                MapLandmark { id: k as u32, class: 0, position: World::post(k) + off + together, covariance }
            })
            .collect();
        let joint = is_joint.then(|| {
            DMatrix::from_fn(2 * POSTS, 2 * POSTS, |i, j| {
                if i % 2 == j % 2 { common + if i == j { survey * survey } else { 0.0 } } else { 0.0 }
            })
        });
        let map = LandmarkMap { landmarks, joint, near: None };
        let start = Se2::new(robot.world.normal(0.2), robot.world.normal(0.2), robot.world.normal(0.1));
        robot.submaps.set_pose(&mut robot.slam, start, &pose_covariance).unwrap();
        robot.submaps.take_map(&mut robot.slam, &map).unwrap();
        let steps = robot.drive(60.0);
        sum += mean_nees(&steps) / 4.0;
        assert_eq!(steps.last().unwrap().0.landmarks, POSTS);
        // It is as well known as the map is.
        let std = steps.last().unwrap().0.estimate.covariance.fixed_view::<2, 2>(0, 0).trace().sqrt();
        let least = if is_joint { shift } else { 0.0 };
        assert!(std > least && std < 2.0 * shift, "{std}");
    }
    assert!((1.0..6.0).contains(&sum), "{sum}");
}

/// A pose from outside moves the whole map with the robot, and says where both lie. It is not the truth by 0.4 m here,
/// and says so.
#[test]
fn a_pose_from_outside_moves_the_map_with_it() {
    let mut robot = Robot::new(World::new(5, 0.05), 8);
    robot.drive(80.0);
    let before = robot.saved().0.landmarks;
    let here = robot.drive(80.15).last().unwrap().0.estimate.pose;
    let elsewhere = Se2::new(20.0, -5.0, 2.0);
    let covariance = Matrix3::from_diagonal(&Vector3::new(0.09, 0.16, 0.01));
    robot.submaps.set_pose(&mut robot.slam, elsewhere, &covariance).unwrap();
    let moved = elsewhere * here.inverse();
    let carried = |pose: Se2| Se2 { p: moved.transform(&pose.p), theta: pose.theta + moved.theta };

    let predicted = robot.submaps.predicted(&robot.slam).unwrap();
    assert!((predicted.pose.p - elsewhere.p).norm() < 1e-9 && (predicted.covariance - covariance).amax() < 1e-6);
    for (one, other) in before.iter().zip(&robot.saved().0.landmarks) {
        let expected = moved.transform(&one.position);
        assert!((other.position - expected).norm() < 0.2 * one.covariance.trace().sqrt(), "{one:?} {other:?}");
        let arm = other.position - elsewhere.p;
        let by_pose = 0.25 + 0.01 * arm.norm_squared();
        let total = other.covariance.trace();
        assert!(total > 0.9 * by_pose && total < by_pose + 4.0 * one.covariance.trace() + 0.01, "{total} {by_pose}");
    }

    let steps = robot.drive(125.0);
    let last = steps.last().unwrap();
    let expected = carried(last.1);
    assert!((last.0.estimate.pose.p - expected.p).norm() < 0.4, "{:?} {expected:?}", last.0.estimate.pose);
    assert_eq!(last.0.landmarks, POSTS);
    // Driving tells nothing of where the map lies.
    let first = robot.submaps.landmarks()[0].covariance.trace();
    assert!(first > 0.2, "{first}");
    let status = robot.submaps.status();
    assert!(status.failed == 0 && status.moved == 0, "{status:?}");
    // What it is told again, it believes anew.
    robot.submaps.set_pose(&mut robot.slam, robot.world.truth, &(Matrix3::identity() * 1e-4)).unwrap();
    let steps = robot.drive(200.0);
    assert!(steps.iter().all(|(step, truth)| (step.estimate.pose.p - truth.p).norm() < 0.3));
    assert!(mean_nees(&steps) < 6.0, "{}", mean_nees(&steps));
}

/// Somebody who gives poses all the time makes the problem no larger.
#[test]
fn a_flood_of_poses_leaves_one_way() {
    let mut robot = Robot::new(World::new(4, 0.05), 8);
    robot.drive(30.0);
    let covariance = Matrix3::identity() * 1e-4;
    let submaps = |robot: &Robot| robot.saved().0.submaps.submaps();
    robot.submaps.set_pose(&mut robot.slam, robot.world.truth, &covariance).unwrap();
    let before = submaps(&robot);
    for _ in 0..200 {
        robot.submaps.set_pose(&mut robot.slam, robot.world.truth, &covariance).unwrap();
    }
    assert_eq!(submaps(&robot), before);
    let steps = robot.drive(100.0);
    assert!(mean_nees(&steps) < 6.0 && steps.last().unwrap().0.landmarks == POSTS, "{}", mean_nees(&steps));
    assert_eq!(robot.submaps.status().failed, 0);
}

/// The robot goes on as if nobody had said it.
#[test]
fn a_pose_from_outside_that_is_none_changes_nothing() {
    let mut robot = Robot::new(World::new(5, 0.05), 8);
    let mut other = Robot::new(World::new(5, 0.05), 8);
    robot.drive(40.0);
    other.drive(40.0);
    let here = Se2::identity();
    let absurd = [
        (Se2::new(f64::NAN, 0.0, 0.0), Matrix3::identity()),
        (Se2::new(1e9, 0.0, 0.0), Matrix3::identity()),
        (here, Matrix3::from_diagonal(&Vector3::new(1.0, -1.0, 1.0))),
        (here, Matrix3::identity() * f64::INFINITY),
        (here, Matrix3::identity() * 1e12),
    ];
    let dropped = robot.slam.counts().total();
    for (pose, covariance) in &absurd {
        assert!(robot.submaps.set_pose(&mut robot.slam, *pose, covariance).is_err(), "{pose:?} {covariance}");
    }
    assert_eq!(robot.slam.counts().total(), dropped + absurd.len() as u64);
    assert_eq!(robot.drive(60.0), other.drive(60.0));
    // What is hardly known at all, and what is known exactly.
    for std in [1.0, 9e4_f64, 0.0] {
        let covariance = Matrix3::from_diagonal(&Vector3::new(std * std, std * std, std.min(3.0).powi(2)));
        robot.submaps.set_pose(&mut robot.slam, robot.world.truth, &covariance).unwrap();
        let last = *robot.drive(robot.world.time + 10.0).last().unwrap();
        assert!((last.0.estimate.pose.p - last.1.p).norm() < 0.5, "{std} {last:?}");
    }
}

/// A map that was made without submaps is the first one of the next run.
#[test]
fn one_map_becomes_the_first_submap() {
    let mut world = World::new(6, 0.05);
    let mut dense = Slam::new(world.config(0)).unwrap();
    while world.time < 70.0 {
        world.advance(&mut dense);
    }
    let (state, before) = (dense.save(), dense.predicted().unwrap());
    let mut robot = Robot::new(world, 8);
    robot.slam.restore(state).unwrap();
    assert!(robot.submaps.adopt(&mut robot.slam));
    robot.slam.restart_clock();
    let after = robot.submaps.predicted(&robot.slam);
    assert!(after.is_none_or(|after| (after.pose.p - before.pose.p).norm() < 1e-6), "{after:?} {before:?}");
    let steps = robot.drive(128.0);
    assert_eq!(steps.last().unwrap().0.landmarks, POSTS);
    assert!((0.5..6.0).contains(&mean_nees(&steps)), "{}", mean_nees(&steps));
    // A state of the last submap of a map is no whole map.
    let refused = Slam::new(robot.world.config(0)).unwrap().restore(robot.slam.save()).unwrap_err();
    assert!(refused.to_string().contains("map.local_features"), "{refused}");
}

/// A submap that has more of the map than is allowed, and other damage.
#[test]
fn what_does_not_belong_together_is_refused_and_changes_nothing() {
    let mut robot = Robot::new(World::new(7, 0.05), 8);
    robot.drive(40.0);
    let map = robot.saved().0.submaps;
    let text = serde_json::to_value(&map).unwrap();
    let mut next = Robot::new(World::new(8, 0.05), 8);
    let steps_before = next.drive(30.0).len();
    let before = next.submaps.status().clone();
    let mut refused = |change: &dyn Fn(&mut serde_json::Value)| {
        let mut damaged = text.clone();
        change(&mut damaged);
        let Ok(saved) = serde_json::from_value::<SavedSubmaps>(damaged) else { return "no parts".to_owned() };
        next.submaps.resume(&mut next.slam, saved).err().map_or_else(String::new, |error| error.to_string())
    };
    assert!(refused(&|map| map["bases"] = serde_json::json!([])).contains("a pose is not finite"));
    assert!(refused(&|map| map["closed"] = 0.into()).contains("more parts than were closed"));
    assert!(refused(&|map| map["parts"][1]["ends"] = 99.into()).contains("not of the map's poses"));
    assert!(refused(&|map| map["parts"][1]["landmarks"][0] = 9999.into()).contains("not of the map's poses"));
    assert!(
        refused(&|map| map["landmarks"][1]["seen"]["id"] = map["landmarks"][0]["seen"]["id"].clone())
            .contains("one identity")
    );
    assert!(refused(&|map| drop(map["parts"].as_array_mut().unwrap().pop())).contains("at the end of the last part"));
    assert_eq!(*next.submaps.status(), before);
    assert!(next.drive(60.0).len() > steps_before / 2);
    let mut config = World::new(8, 0.05).config(8);
    config.map.max_features = 3;
    let mut slam = of_submaps(config);
    let mut submaps = Submaps::new(&slam, Worker::InPlace).unwrap().unwrap();
    let refused = submaps.resume(&mut slam, map.clone()).unwrap_err();
    assert_eq!(refused, ResumeSubmapsError::TooManyLandmarks { landmarks: map.len(), most: 3 });
}

/// Whatever is written into the file: it is refused, or the robot drives on.
#[test]
fn damaged_submaps_make_no_panic() {
    let mut robot = Robot::new(World::new(9, 0.05), 6);
    robot.drive(20.0);
    let text = serde_json::to_string(&robot.saved().0.submaps).unwrap();
    let digits: Vec<usize> = (0..text.len()).filter(|i| text.as_bytes()[*i].is_ascii_digit()).collect();
    let mut random = ChaCha8Rng::seed_from_u64(1);
    for _ in 0..300 {
        let mut bytes = text.clone().into_bytes();
        for _ in 0..random.random_range(1..5) {
            bytes[digits[random.random_range(0..digits.len())]] = b'0' + random.random_range(0..10_u8);
        }
        if let Ok(saved) = serde_json::from_slice::<SavedSubmaps>(&bytes) {
            let mut robot = Robot::new(World::new(9, 0.05), 6);
            if robot.submaps.resume(&mut robot.slam, saved).is_ok() {
                robot.drive(1.5);
            }
        }
    }
}

/// One map goes on in submaps, as right and as sure as one that has room for all.
#[test]
fn one_map_goes_on_in_submaps() {
    for is_named in [|_: usize| true, |_: usize| false] {
        let drive = |most: usize| {
            let mut world = World { is_named, ..World::new(6, 0.05) };
            let config = world.config(0);
            let (mut slam, mut submaps, mut steps) = (Slam::new(config).unwrap(), None, Vec::new());
            while world.time < 128.0 {
                let Some(step) = world.advance(&mut slam) else { continue };
                let step = match &mut submaps {
                    None => step,
                    Some(submaps) => Submaps::join(submaps, &mut slam, step),
                };
                if submaps.is_none() && step.landmarks >= most {
                    submaps = Submaps::of_one(&mut slam, Worker::InPlace);
                }
                steps.push((step, world.truth));
            }
            // Settings that change later are those of the whole map.
            let mut config = slam.config().clone();
            (config.map.local_features, config.map.max_features) = (0, 500);
            slam.reconfigure(config).unwrap();
            let landmarks = submaps.as_ref().map_or(0, |submaps| submaps.count(&slam));
            (steps, submaps, landmarks)
        };
        let (whole, none, _) = drive(500);
        assert!(none.is_none());
        let (steps, submaps, landmarks) = drive(14);
        assert!(submaps.is_some_and(|submaps| submaps.status().submaps > 0));
        assert_eq!(landmarks, POSTS);
        let later = &steps[steps.len() / 2..];
        assert!((0.5..6.0).contains(&mean_nees(later)), "{}", mean_nees(later));
        let error = |steps: &[(Step, Se2)]| {
            let squares = steps.iter().map(|(step, truth)| (step.estimate.pose.p - truth.p).norm_squared());
            (squares.sum::<f64>() / steps.len() as f64).sqrt()
        };
        assert!(error(&steps) < 1.1 * error(&whole), "{} {}", error(&steps), error(&whole));
    }
}

/// A map that went on in submaps is taken up by a filter that was set to make one map, as it was.
#[test]
fn a_map_that_went_on_in_submaps_is_taken_up_without_a_setting() {
    let mut world = World::new(6, 0.05);
    let config = world.config(0);
    let mut slam = Slam::new(config.clone()).unwrap();
    while world.time < 50.0 {
        world.advance(&mut slam);
    }
    let mut robot = Robot { submaps: Submaps::of_one(&mut slam, Worker::InPlace).unwrap(), slam, world };
    robot.drive(70.0);
    let (map, state) = robot.saved();
    let before = robot.submaps.predicted(&robot.slam).unwrap();
    let mut slam = Slam::new(config).unwrap();
    let mut submaps = Submaps::in_place_of_one(&mut slam, Worker::InPlace).unwrap();
    slam.restore(state).unwrap();
    submaps.resume(&mut slam, through_json(&map.submaps)).unwrap();
    slam.restart_clock();
    let mut next = Robot { world: robot.world, slam, submaps };
    next.world.truth = next.world.truth * Se2::exp(&(World::STEP * -1.0));
    let steps = next.drive(128.0);
    let first = steps[0].0.estimate;
    assert!((first.pose.p - before.pose.p).norm() < 0.2, "{first:?} {before:?}");
    assert!((0.5..6.0).contains(&mean_nees(&steps)), "{}", mean_nees(&steps));
    assert_eq!(next.submaps.count(&next.slam), POSTS);
}
