//! Measurements of the pose in a map in submaps.

use super::{World, of_submaps};
use crate::near::Near;
use crate::outside::{BaseMeasurement, Outside};
use crate::problem::{FULLY, Problem, Start};
use crate::{Submaps, Worker};
use lienav_lie::Se2;
use lienav_slam::{
    CalibrationEstimate, Config, ExternalMeasurement, Measurement, MeasurementKind, Slam, Stamp, Step, WorldFrame,
};
use nalgebra::{Matrix3, Vector2, Vector3};

/// What is said of a base by measurements at three poses is the same, whether they are told one by one, or as one way.
#[test]
fn measurements_one_by_one_are_one_way() {
    let start = Start::new(Se2::new(40.0, -25.0, 0.8), &Matrix3::from_diagonal(&Vector3::new(0.3, 0.2, 0.02)));
    let truth = start.pose() * Se2::exp(&Vector3::new(0.2, -0.3, 0.03));
    let mut near = Near::start(&start);
    let mut outside = Outside::none(near.base);
    for local in [Se2::new(1.0, 0.0, 0.1), Se2::new(4.0, 2.0, 0.4), Se2::new(3.0, -5.0, 1.4)] {
        let residual = (truth * local).p - (near.base * local).p;
        let position = ExternalMeasurement {
            dim: 2,
            residual: Vector3::new(residual.x, residual.y, 0.0),
            by_pose: Matrix3::from_diagonal(&Vector3::new(1.0, 1.0, 0.0)),
            noise: Matrix3::from_diagonal(&Vector3::new(0.02, 0.03, 0.0)),
            gate: f64::INFINITY,
        };
        let measured = BaseMeasurement::new(&position, &near.base, (&local, &(Matrix3::identity() * 1e-4)));
        near.tell(&measured, &mut outside).unwrap();
    }
    assert!((near.base.inverse() * truth).log().norm() < 0.03, "{:?} {truth:?}", near.base);
    let mut again = Near::start(&start);
    again.tell_again(&outside);
    let apart = (again.base.inverse() * near.base).log().norm();
    assert!(apart < 5e-3 && (&again.covariance - &near.covariance).amax() < 1e-3, "{apart}");

    // And the least squares say the same.
    let mut problem = Problem {
        start: start.clone(),
        submaps: Vec::new(),
        bases: vec![start.pose()],
        landmarks: Vec::new(),
        closed: 0,
        tolerance: FULLY,
    };
    assert_eq!(problem.begin_at_the_origin(), Some(true));
    problem.tell(&outside);
    assert_eq!((problem.submaps.len(), problem.closed, problem.bases.len()), (2, 2, 2));
    let solution = problem.solve().unwrap();
    let solved = Near::of_solution(&solution, Vec::new());
    let apart = (solved.base.inverse() * near.base).log().norm();
    assert!(apart < 5e-3 && (&solved.covariance - &near.covariance).amax() < 1e-3, "{apart}");
    // Nothing is said by nothing.
    problem.tell(&Outside::none(near.base));
    assert_eq!(problem.submaps.len(), 2);
}

/// What comes of a run: the steps, beside the truth, what was left out, and what is known of the calibration.
struct Driven {
    steps: Vec<(Step, Se2)>,
    left_out: u64,
    calibration: Vec<CalibrationEstimate>,
}

/// A robot that goes round and hears now and then where it is; its start is off by what it claims.
fn driven(seed: u64, local_features: usize) -> Driven {
    let mut world = World::new(seed, 0.05);
    let mut config = world.config(local_features);
    let off = Vector3::new(world.normal(0.5), world.normal(0.5), world.normal(0.05));
    let start = Se2::new(off.x, off.y, off.z);
    (config.initial.x_m, config.initial.y_m, config.initial.yaw_rad) = (start.p.x, start.p.y, start.theta);
    (config.initial.position_std_m, config.initial.yaw_std_rad) = (0.5, 0.05);
    config.absolute.position_std_m = 0.2;
    config.gate.probability = 0.999_999;
    drive(world, config, local_features, &Se2::identity())
}

/// The same in a map that lies in the world at `in_world`.
fn drive(mut world: World, config: Config, local_features: usize, in_world: &Se2) -> Driven {
    let (mut slam, mut submaps) = match local_features {
        0 => (Slam::new(config).unwrap(), None),
        _ => {
            let slam = of_submaps(config);
            let submaps = Submaps::new(&slam, Worker::InPlace).unwrap();
            (slam, submaps)
        }
    };
    let mut steps = Vec::new();
    let mut k = 0;
    while world.time < 120.0 {
        k += 1;
        // With the next scan, or half way to it.
        let share = if k % 20 == 0 { 1.0 } else { 0.5 };
        let before = world.truth;
        if k % 10 == 0 {
            let truth = before * Se2::exp(&(World::STEP * share));
            // Once it is far from where the robot is.
            let far = if k == 600 { 50.0 } else { 0.0 };
            let read = in_world.transform(&truth.p) + Vector2::new(world.normal(0.2) + far, world.normal(0.2));
            let stamp = Stamp::from_secs(world.time - 0.1 * (1.0 - share));
            slam.features(stamp, MeasurementKind::WorldPosition, &[Measurement::new(None, [read.x, read.y])]).unwrap();
        }
        let mut next = world.advance(&mut slam);
        while let Some(step) = next {
            let step = submaps.as_mut().map_or(step, |submaps| submaps.join(&mut slam, step));
            let is_between = step.estimate.stamp < Stamp::from_secs(world.time - 0.1);
            let truth = if is_between { before * Se2::exp(&(World::STEP * 0.5)) } else { world.truth };
            steps.push((step, truth));
            next = slam.poll();
        }
    }
    if let Some(submaps) = &mut submaps {
        submaps.finish(&mut slam);
        assert_eq!(submaps.status().failure, None);
    }
    let calibration = match &submaps {
        Some(submaps) => submaps.calibration(&slam),
        None => slam.calibration().collect(),
    };
    Driven { steps, left_out: slam.counts().total(), calibration }
}

fn nees((step, truth): &(Step, Se2)) -> f64 {
    let (pose, covariance) = (step.estimate.pose, step.estimate.covariance);
    let d = Vector3::new(pose.p.x - truth.p.x, pose.p.y - truth.p.y, (pose.theta - truth.theta).sin());
    covariance.try_inverse().map_or(f64::INFINITY, |inverse| d.dot(&(inverse * d)))
}

/// Submaps say what one map does: poses apart by less than this Mahalanobis distance, squared, and their variances by
/// this ratio.
fn check_same(one: &[(Step, Se2)], submaps: &[(Step, Se2)], square: f64, ratio: std::ops::Range<f64>, seed: u64) {
    for ((a, _), (b, _)) in one.iter().zip(submaps) {
        let (a, b) = (a.estimate, b.estimate);
        assert_eq!(a.stamp, b.stamp);
        let apart = (a.pose.inverse() * b.pose).log();
        let distance = apart.dot(&(a.covariance.try_inverse().unwrap() * apart));
        assert!(distance < square, "seed {seed}, {}: {apart} {distance}", a.stamp);
        let of_variances = b.covariance.trace() / a.covariance.trace();
        assert!(ratio.contains(&of_variances), "seed {seed}, {}: {of_variances}", a.stamp);
    }
}

/// In submaps, a robot knows from outside what it knows with one map.
#[test]
fn a_robot_in_submaps_hears_where_it_is() {
    let (mut mean, mut count) = (0.0, 0);
    for seed in 1..=8 {
        let Driven { steps: one, left_out, .. } = driven(seed, 0);
        let Driven { steps: submaps, left_out: of_submaps, .. } = driven(seed, 8);
        assert_eq!((one.len(), left_out, of_submaps), (submaps.len(), 1, 1));
        check_same(&one[100..], &submaps[100..], 1.0, 0.8..1.25, seed);
        mean += submaps.iter().map(nees).sum::<f64>();
        count += submaps.len();
    }
    mean /= f64::from(u32::try_from(count).unwrap());
    assert!((1.8..4.5).contains(&mean), "{mean}");
}

/// What a measurement depends on: the base and the frame of the world, by finite differences.
#[test]
fn how_the_base_is_seen_from_the_world_by_finite_differences() {
    let (base, world) = (Se2::new(12.0, -7.0, 0.8), Se2::new(-30.0, 14.0, -2.1));
    let seen =
        |beta: Vector3<f64>, omega: Vector3<f64>| (world * Se2::exp(&omega)).inverse() * (base * Se2::exp(&beta));
    let at = seen(Vector3::zeros(), Vector3::zeros());
    let back = at.inverse().adjoint();
    for k in 0..3 {
        let mut step = Vector3::zeros();
        step[k] = 1e-6;
        let by_base = (at.inverse() * seen(step, Vector3::zeros())).log() / 1e-6;
        let by_world = (at.inverse() * seen(Vector3::zeros(), step)).log() / 1e-6;
        assert!((by_base - step / 1e-6).norm() < 1e-4 && (by_world + back.column(k)).norm() < 1e-4, "{k}");
    }
}

/// Where nobody has told where the map lies in the world, submaps find it as one map does.
#[test]
fn submaps_find_where_the_map_lies_in_the_world() {
    let in_world = Se2::new(140.0, -85.0, 2.2);
    let (mut mean, mut count, mut of_world) = (0.0, 0, 0.0);
    for seed in 1..=8 {
        let run = |local_features| {
            let world = World::new(seed, 0.05);
            let mut config = world.config(local_features);
            config.calibration.world.frame = WorldFrame::Estimated;
            config.absolute.position_std_m = 0.2;
            config.gate.probability = 0.999_999;
            drive(world, config, local_features, &in_world)
        };
        let (one, submaps) = (run(0), run(8));
        assert_eq!(one.steps.len(), submaps.steps.len());
        check_same(&one.steps[300..], &submaps.steps[300..], 2.0, 0.7..1.3, seed);
        assert_eq!((one.calibration.len(), submaps.calibration.len()), (3, 3));
        let truth = [in_world.p.x, in_world.p.y, in_world.theta];
        for ((a, b), truth) in one.calibration.iter().zip(&submaps.calibration).zip(truth) {
            assert_eq!(a.parameter, b.parameter);
            assert!((a.value - b.value).abs() < a.std && (0.7..1.3).contains(&(b.std / a.std)), "{a:?} {b:?}");
            of_world += ((b.value - truth) / b.std).powi(2) / 24.0;
        }
        mean += submaps.steps.iter().map(nees).filter(|nees| nees.is_finite()).sum::<f64>();
        count += submaps.steps.len();
    }
    mean /= f64::from(u32::try_from(count).unwrap());
    assert!((1.6..4.5).contains(&mean) && (0.3..2.5).contains(&of_world), "{mean} {of_world}");
}

/// A map that lies in the world is saved and gone on with, and a pose that is given makes it are reinitialized to find
/// where.
#[test]
fn where_the_world_lies_is_saved_and_forgotten_with_a_pose_that_is_given() {
    let in_world = Se2::new(140.0, -85.0, 2.2);
    for is_given in [false, true] {
        let mut world = World::new(3, 0.05);
        let mut config = world.config(8);
        config.calibration.world.frame = WorldFrame::Estimated;
        (config.absolute.position_std_m, config.absolute.yaw_std_rad) = (0.2, 0.02);
        let mut slam = of_submaps(config);
        let mut submaps = Submaps::new(&slam, Worker::InPlace).unwrap().unwrap();
        let in_world_as = |submaps: &Submaps, slam: &Slam| {
            let estimates = submaps.calibration(slam);
            assert_eq!(estimates.len(), 3);
            let of = |k: usize| (estimates[k].value, estimates[k].std);
            (Se2::new(of(0).0, of(1).0, of(2).0), [of(0).1, of(1).1, of(2).1])
        };
        let check = |submaps: &Submaps, slam: &Slam, moved: &Se2| {
            let (found, std) = in_world_as(submaps, slam);
            let truth = in_world * moved.inverse();
            let off = [found.p.x - truth.p.x, found.p.y - truth.p.y, (found.theta - truth.theta).sin()];
            assert!(off.iter().zip(std).all(|(off, std)| off.abs() < 4.0 * std && std < 1.0), "{off:?} {std:?}");
        };
        let (mut k, mut moved) = (0, Se2::identity());
        assert_eq!(submaps.calibration(&slam), [], "nothing is known of it");
        while world.time < 100.0 {
            k += 1;
            let stamp = Stamp::from_secs(world.time);
            let truth = in_world * world.truth * Se2::exp(&World::STEP);
            if k == 3 {
                // One pose tells where the world lies.
                let pose = Measurement::new(None, [truth.p.x, truth.p.y, truth.theta + 0.01]);
                slam.features(stamp, MeasurementKind::WorldPose, &[pose]).unwrap();
            } else if k % 10 == 0 {
                let read = [truth.p.x + world.normal(0.2), truth.p.y + world.normal(0.2)];
                slam.features(stamp, MeasurementKind::WorldPosition, &[Measurement::new(None, read)]).unwrap();
            }
            let mut next = world.advance(&mut slam);
            while let Some(step) = next {
                submaps.join(&mut slam, step);
                next = slam.poll();
            }
            if k == 5 {
                assert!(in_world_as(&submaps, &slam).1[2] > 0.01, "a pose has told it");
            }
            if k == 600 {
                check(&submaps, &slam, &moved);
                if is_given {
                    // The map moves with the robot.
                    let given = Se2::new(-4.0, 9.0, -0.7);
                    submaps.set_pose(&mut slam, given, &(Matrix3::identity() * 1e-4)).unwrap();
                    moved = given * world.truth.inverse();
                    assert_eq!(submaps.calibration(&slam), [], "nothing is known of it");
                } else {
                    let before = in_world_as(&submaps, &slam);
                    let saved = submaps.snapshot(&slam).solve().unwrap().submaps;
                    submaps.resume(&mut slam, saved).unwrap();
                    let after = in_world_as(&submaps, &slam);
                    let mut config = slam.config().clone();
                    config.calibration.world.frame = WorldFrame::Map;
                    let mut other = of_submaps(config);
                    let mut in_map = Submaps::new(&other, Worker::InPlace).unwrap().unwrap();
                    in_map.resume(&mut other, submaps.snapshot(&slam).solve().unwrap().submaps).unwrap();
                    assert!(in_map.calibration(&other).is_empty(), "the map is the world there");
                    let apart = (before.0.inverse() * after.0).log().norm();
                    assert!(apart < 0.5 && (0.5..2.0).contains(&(after.1[2] / before.1[2])), "{before:?} {after:?}");
                }
            }
        }
        check(&submaps, &slam, &moved);
        submaps.finish(&mut slam);
        assert_eq!(submaps.status().failure, None);
        check(&submaps, &slam, &moved);
    }
}
