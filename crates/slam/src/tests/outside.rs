//! The robot in the world: what positions from outside break and mend.

use super::single::{World, single};
use super::*;
use crate::{Noise, PoseEstimate};
use nalgebra::Matrix2;

/// A run with a receiver, silent from 100 to 400 steps; gives the pose before and after each scan.
fn with_outage(seed: u64, mut each: impl FnMut(usize, &PoseEstimate, &PoseEstimate)) {
    let mut config = single("default");
    (config.calibration.world.error_std_m, config.calibration.world.error_time_s) = (0.5, 20.0);
    (config.initial.position_std_m, config.initial.yaw_std_rad) = (1.0, 0.1);
    let mut slam = Slam::new(config).unwrap();
    let mut world = World::new(seed, 0.05);
    world.truth = Se2::new(world.noise(1.0), world.noise(1.0), world.noise(0.1));
    let mut error = Vector2::new(world.noise(0.5), world.noise(0.5));
    for k in 0..500 {
        let stamp = world.drive(&mut slam, 1.0, 0.1);
        drain(&mut slam);
        let fresh = 0.5 * (1.0 - (-2.0 * DT / 20.0_f64).exp()).sqrt();
        error = error * (-DT / 20.0_f64).exp() + Vector2::new(world.noise(fresh), world.noise(fresh));
        if k % 10 == 0 && !(100..400).contains(&k) {
            let before = slam.predicted().unwrap();
            let value = world.truth.p + error + Vector2::new(world.noise(0.1), world.noise(0.1));
            let covariance = Some(Noise::from(Matrix2::identity() * 0.01));
            let fix = Measurement { covariance, ..Measurement::new(None, value) };
            slam.features(stamp, MeasurementKind::WorldPosition, &[fix]).unwrap();
            drain(&mut slam);
            each(k, &before, &slam.predicted().unwrap());
        }
    }
}

/// The correction at the first fix after an outage of 30 s is as large as the covariance before it says, and no run
/// jumps beyond three standard deviations.
#[test]
fn nothing_jumps_when_the_receiver_is_back() {
    let (mut sum, runs) = (0.0, 30);
    for seed in 0..runs {
        with_outage(seed, |k, before, after| {
            if k != 400 {
                return;
            }
            let jump = after.pose.p - before.pose.p;
            let expected: Matrix2<f64> = (before.covariance - after.covariance).fixed_view::<2, 2>(0, 0).into_owned();
            let std = before.covariance.fixed_view::<2, 2>(0, 0).trace().sqrt();
            assert!(jump.norm() < 3.0 * std, "seed {seed}: {jump} with a standard deviation of {std} m");
            sum += jump.dot(&(expected.try_inverse().unwrap() * jump)) / runs as f64;
        });
    }
    // χ² of 60 degrees of freedom by 30: 2 ± 0.37.
    assert!((0.9..3.2).contains(&sum), "{sum}");
}

/// Without the world, a robot that starts elsewhere estimates the same, moved; with it, it is pulled back to where it
/// is, and the covariance of its place is no longer that of the start.
#[test]
fn positions_in_the_world_break_the_symmetry() {
    let run = |start: Se2, with_world: bool| {
        let mut config = single("default");
        (config.initial.x_m, config.initial.y_m, config.initial.yaw_rad) = (start.p.x, start.p.y, start.theta);
        (config.initial.position_std_m, config.initial.yaw_std_rad) = (3.0, 0.3);
        let mut slam = Slam::new(config).unwrap();
        let mut world = World::new(6, 0.02);
        for _ in 0..200 {
            let stamp = world.drive(&mut slam, 1.0, 0.3);
            let value = world.range(&Vector2::new(5.0, 6.0), 0.1);
            slam.features(stamp, MeasurementKind::Range, &[Measurement::new(Some(1), value)]).unwrap();
            if with_world {
                let value = world.truth.p + Vector2::new(world.noise(0.1), world.noise(0.1));
                let covariance = Some(Noise::from(Matrix2::identity() * 0.01));
                let fix = Measurement { covariance, ..Measurement::new(None, value) };
                slam.features(stamp, MeasurementKind::WorldPosition, &[fix]).unwrap();
            }
            drain(&mut slam);
        }
        slam.predicted().unwrap()
    };
    let start = Se2::new(2.0, -1.0, 0.2);
    let (here, there) = (run(Se2::identity(), false), run(start, false));
    // As near as the search for the place of the beacon goes: its starts do not turn with the world.
    assert!(
        ((start * here.pose).p - there.pose.p).norm() < 1e-3,
        "without the world, the estimate moves with the start"
    );
    let (here, there) = (run(Se2::identity(), true), run(start, true));
    assert!((here.pose.p - there.pose.p).norm() < 0.05, "with it, it does not: {:?} {:?}", here.pose, there.pose);
    assert!(there.covariance.m11 + there.covariance.m22 < 0.1, "{}", there.covariance);
}
