//! Cameras that are not quite where they are stated to be.

use super::hall::{self, error, inputs, play, slam, tag_config};
use crate::tags::{Camera, TagConfig, TagSlam3d};
use crate::{Config, Step};
use lienav_lie::{LieGroup, Se3, So3};
use nalgebra::{Matrix6, Vector3, Vector6};

/// By how much cameras are off by axis: rotation, rad, and place, m.
const OFF: (f64, f64) = (0.02, 0.03);

fn estimating() -> TagConfig {
    let mut config = tag_config();
    (config.tags.camera_turn_std_rad, config.tags.camera_place_std_m) = OFF;
    config
}

/// The cameras of the hall as somebody has stated them.
fn stated(seed: u64) -> [Camera; 2] {
    let mut normal = hall::normal(7_000 + seed);
    hall::cameras().map(|camera| {
        let mut vector = |sigma: f64| Vector3::new(normal(), normal(), normal()) * sigma;
        let (turn, shift) = (So3::exp(&vector(OFF.0)), vector(OFF.1));
        let Se3 { rotation, translation } = camera.on_body;
        Camera { on_body: Se3::new(turn * rotation, translation + shift), ..camera }
    })
}

/// A run of so many seconds in a map that is known to a tenth of a millimetre, or with none.
fn run(seed: u64, own: TagConfig, is_known: bool, seconds: f64) -> (TagSlam3d, Vec<Step>) {
    let mut slam = slam(Config::default(), own, is_known.then_some(1e-4));
    stated(seed).iter().enumerate().for_each(|(k, camera)| slam.set_camera(k, *camera).unwrap());
    let steps = play(&mut slam, &inputs(seconds, seed, true));
    (slam, steps)
}

/// NEES of a mount, six numbers.
fn nees_of_mount(slam: &TagSlam3d, camera: usize) -> f64 {
    let (pose, covariance) = slam.mount(camera).unwrap();
    let truth = hall::cameras()[camera].on_body;
    let turn = (truth.rotation * pose.rotation.inverse()).log();
    let shift = truth.translation - pose.translation;
    let off = Vector6::new(turn.x, turn.y, turn.z, shift.x, shift.y, shift.z);
    off.dot(&covariance.cholesky().unwrap().solve(&off))
}

#[test]
fn places_of_cameras_are_found_and_their_errors_are_in_the_covariance() {
    const RUNS: u64 = 6;
    for is_known in [true, false] {
        let (mut off, mut nees, mut of_mounts, mut left) = (0.0, 0.0, 0.0, Matrix6::zeros());
        let mut ignored = 0.0;
        for seed in 0..RUNS {
            let (slam, steps) = run(seed, estimating(), is_known, 20.0);
            let last = &steps[steps.len() - 100..];
            off += last.iter().map(|step| error(&step.estimate).0).sum::<f64>() / (100 * RUNS) as f64;
            nees += last.iter().map(|step| error(&step.estimate).1).sum::<f64>() / (100 * RUNS) as f64;
            of_mounts += (nees_of_mount(&slam, 0) + nees_of_mount(&slam, 1)) / (2 * RUNS) as f64;
            left += slam.mount(1).unwrap().1 / RUNS as f64;
            let (_, steps) = run(seed, tag_config(), is_known, 10.0);
            let last = &steps[steps.len() - 100..];
            ignored += last.iter().map(|step| error(&step.estimate).1).sum::<f64>() / (100 * RUNS) as f64;
        }
        let sigma: Vec<f64> = left.diagonal().iter().map(|variance| variance.sqrt()).collect();
        println!(
            "map known {is_known}: {off:.4} m, NEES {nees:.1} ({ignored:.0} without), of mounts {of_mounts:.1}; {sigma:.4?}"
        );
        assert!((2.0..8.0).contains(&nees) && (2.0..8.0).contains(&of_mounts), "{nees} {of_mounts}");
        assert!(ignored > 100.0 * nees, "{ignored}");
    }
}

#[test]
fn a_camera_that_is_stated_late_or_elsewhere_is_taken_in() {
    let mut slam = TagSlam3d::new(Config::default(), estimating()).unwrap();
    slam.set_camera(0, hall::cameras()[0]).unwrap();
    let run = inputs(6.0, 1, true);
    let half = run.len() / 2;
    assert!(!play(&mut slam, &run[..half]).is_empty() && slam.mount(0).is_some() && slam.mount(1).is_none());
    slam.set_camera(1, hall::cameras()[1]).unwrap();
    assert!(slam.mount(1).is_some());
    let (before, tags) = (slam.mount(1).unwrap().1.trace(), slam.tags().len());
    play(&mut slam, &run[half..]);
    assert!(slam.mount(1).unwrap().1.trace() < before && slam.tags().len() > tags);
    // The same again changes nothing; another place begins again.
    slam.set_camera(1, hall::cameras()[1]).unwrap();
    assert!(slam.pose().is_some());
    let mut other = hall::cameras()[1];
    other.on_body.translation.x += 0.5;
    slam.set_camera(1, other).unwrap();
    assert!(slam.pose().is_none());
}

#[test]
fn a_robot_that_is_put_elsewhere_keeps_what_it_knows_of_its_cameras() {
    let (mut slam, steps) = run(3, estimating(), true, 10.0);
    let before = slam.mount(0).unwrap();
    let at = steps.last().unwrap().estimate.pose;
    slam.set_pose(&at, &(Matrix6::identity() * 0.01)).unwrap();
    let (pose, covariance) = slam.mount(0).unwrap();
    assert!((pose.translation - before.0.translation).norm() < 1e-12);
    assert!((covariance - before.1).amax() < 1e-12);
}
