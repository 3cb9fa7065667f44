//! A robot that may be anywhere in a map that it knows: what it claims after scans that tell where, or do not.

use super::*;
use crate::{DropReason, Filter};
use lienav_associate::displaced::displace;
use lienav_lie::wrap_angle;
use lienav_planar::motion::Increment;
use lienav_planar::propagate::{Rows, propagate};
use lienav_planar::update::{Workspace, move_back};
use nalgebra::{Matrix3, Vector3};
use std::f64::consts::PI;

/// The standard deviations of (x, y, θ).
const STD: Vector3<f64> = Vector3::new(5.0, 5.0, PI);

/// Where `recording` has landmark `i`.
fn landmark(i: usize) -> Vector2<f64> {
    Se2::new(0.0, 3.0, i as f64 * std::f64::consts::FRAC_PI_4).transform(&Vector2::new(4.0, 0.0))
}

/// The robot has known landmarks of `known` for 60 scans. Then it is anywhere, by a draw from N(0, diag(STD²)), which
/// the filter knows of, and sees those that `seen` gives for each scan.
fn lost(filter: &str, seed: u64, known: &[u32], seen: impl Fn(usize) -> Vec<u32>) -> (Slam, Vec<(Step, Se2)>) {
    lost_by((config(filter), 1.0), (seed, STD, STD), known, seen)
}

/// The same with errors of the robot of the standard deviations `std` where the filter knows of `claimed`, and errors
/// of the measurements so many times as large.
fn lost_by(
    (mut config, factor): (Config, f64),
    (seed, std, claimed): (u64, Vector3<f64>, Vector3<f64>),
    known: &[u32],
    seen: impl Fn(usize) -> Vec<u32>,
) -> (Slam, Vec<(Step, Se2)>) {
    let mut instants = recording(90, seed);
    let landmarks: [_; 8] = std::array::from_fn(landmark);
    let mut rng = ChaCha8Rng::seed_from_u64(1000 + seed);
    let mut normal = || -> f64 { StandardNormal.sample(&mut rng) };
    let away = Se2::new(std.x * normal(), std.y * normal(), std.z * normal());
    let before = instants[59].truth;
    let keep = |instant: &mut Instant, ids: &[u32]| instant.seen.retain(|o| o.id.is_some_and(|id| ids.contains(&id)));
    for (k, instant) in instants.iter_mut().enumerate() {
        let old = instant.truth;
        if k >= 60 {
            instant.truth = before * away * before.inverse() * old;
        }
        for (o, p) in instant.seen.iter_mut().zip(&landmarks) {
            let noise = (o.value.xy() - old.transform_back(p)) * factor;
            o.value = (instant.truth.transform_back(p) + noise).into();
        }
        keep(instant, &if k < 60 { known.to_vec() } else { seen(k - 60) });
    }
    config.sensor.position_std_m *= factor;
    let mut slam = Slam::new(config).unwrap();
    instants[..60].iter().for_each(|instant| drop(feed(&mut slam, instant)));
    let covariance = Matrix3::from_diagonal(&claimed.component_mul(&claimed));
    slam.estimator.advance(&Increment { motion: Se2::identity(), covariance, drift: None });
    let steps = instants[60..].iter().flat_map(|i| feed(&mut slam, i).into_iter().map(|step| (step, i.truth)));
    let steps = steps.collect();
    (slam, steps)
}

fn nees(step: &Step, truth: &Se2) -> f64 {
    let pose = step.estimate.pose;
    let error = Vector3::new(pose.p.x - truth.p.x, pose.p.y - truth.p.y, wrap_angle(pose.theta - truth.theta));
    error.dot(&step.estimate.covariance.cholesky().unwrap().solve(&error))
}

const ALL: [u32; 8] = [0, 1, 2, 3, 4, 5, 6, 7];

/// The means over 30 runs of the NEES after each of the first scans; a consistent filter has 3 ± 0.45.
fn mean_nees(filter: &str, known: &[u32], seen: impl Fn(usize) -> Vec<u32>, scans: usize) -> Vec<f64> {
    let runs: Vec<_> = (1..=30).map(|seed| lost(filter, seed, known, &seen).1).collect();
    (0..scans).map(|k| runs.iter().map(|steps| nees(&steps[k].0, &steps[k].1)).sum::<f64>() / 30.0).collect()
}

#[test]
fn a_start_anywhere_in_a_known_map_is_worth_what_it_claims_after_one_scan() {
    for (filter, _) in Filter::TABLE.iter().filter(|(name, _)| !name.starts_with("thesis")) {
        let found = mean_nees(filter, &ALL, |_| ALL.to_vec(), 10);
        assert!(found.iter().all(|nees| *nees < 5.0), "{filter}: {found:?}");
    }
    let (_, steps) = lost("default", 1, &ALL, |_| ALL.to_vec());
    assert!(steps[0].0.estimate.covariance[(0, 0)].sqrt() < 0.2);
}

#[test]
fn two_landmarks_tell_where_the_robot_is() {
    let found = mean_nees("default", &ALL, |k| vec![k as u32 % 8, (k as u32 + 3) % 8], 10);
    assert!(found.iter().all(|nees| *nees < 5.0), "{found:?}");
}

#[test]
fn one_landmark_leaves_a_circle_and_is_held_back_until_another_is_seen() {
    let seen = |k: usize| if k < 10 { vec![2] } else { vec![2, 5] };
    for filter in ["default", "reduced", "ekf"] {
        let found = mean_nees(filter, &ALL, seen, 20);
        assert!(found.iter().all(|nees| *nees < 5.0), "{filter}: {found:?}");
        let (slam, steps) = lost(filter, 2, &ALL, seen);
        assert_eq!(slam.counts().get(DropReason::Undetermined), 10);
        let std = |k: usize| steps[k].0.estimate.covariance[(0, 0)].sqrt();
        assert!(std(9) > 3.0 && std(10) < 0.3, "{filter}: {} {}", std(9), std(10));
    }
}

/// What the robot has come to know while it was lost moves with it when it meets its old map.
#[test]
fn a_map_that_was_begun_while_lost_is_joined_to_the_old_one_where_it_belongs() {
    let seen = |k: usize| if k < 10 { vec![4, 5, 6, 7] } else { ALL.to_vec() };
    // Not the EKF: with a heading that may be any, it takes the landmarks that it sees anew for a compass.
    for filter in ["default", "invariant", "reduced", "fe-ekf"] {
        let found = mean_nees(filter, &ALL[..4], seen, 20);
        assert!(found.iter().all(|nees| *nees < 5.0), "{filter}: {found:?}");
        for seed in 1..=10 {
            let (slam, _) = lost(filter, seed, &ALL[..4], seen);
            for found in slam.landmarks() {
                let error = (found.position - landmark(found.id as usize)).norm();
                assert!(error < 0.6, "{filter}, {seed}: landmark {} is {error} m off", found.id);
            }
        }
    }
}

#[test]
fn an_ordinary_run_holds_nothing_back_and_relocates_nothing() {
    // Forward Euler steps spoil the map of `thesis-reduced` until it is lost.
    for (filter, _) in Filter::TABLE.iter().filter(|(name, _)| *name != "thesis-reduced") {
        let (slam, _) = run(filter, &recording(200, 31));
        assert_eq!((slam.counts().get(DropReason::Undetermined), slam.gate_openings()), (0, 0), "{filter}");
    }
}

/// Three landmarks tell the heading to 0.07 rad, with an error of 0.3 m. A robot that is 10 m off and knew its heading
/// to 0.05 rad keeps that, also where the update is linearized elsewhere.
#[test]
fn a_robot_that_is_found_elsewhere_keeps_what_odometry_says_of_its_heading() {
    let std = Vector3::new(10.0, 10.0, 0.05);
    for filter in ["default", "iterated", "invariant"] {
        let after_one =
            |seed| lost_by((config(filter), 6.0), (seed, std, std), &ALL, |_| vec![1, 2, 3]).1.swap_remove(0);
        let steps = (1..=60).map(after_one);
        let nees = steps.map(|(step, truth)| nees(&step, &truth)).sum::<f64>() / 60.0;
        assert!(nees < 3.9, "{filter}: {nees}");
    }
}

/// A robot that is where its covariance does not allow it to be is not moved there by one scan.
#[test]
fn a_robot_is_not_found_where_nothing_allows_it_to_be() {
    let (std, claimed) = (Vector3::new(20.0, 20.0, 2.0), Vector3::new(2.0, 2.0, 0.3));
    for seed in 1..=20 {
        let (_, steps) = lost_by((config("default"), 1.0), (seed, std, claimed), &ALL, |_| ALL.to_vec());
        let first = &steps[0].0.estimate;
        let is_found = nees(&steps[0].0, &steps[0].1) < 16.0;
        assert!(is_found || first.covariance[(0, 0)] + first.covariance[(1, 1)] > 1.0, "{seed}: {first:?}");
    }
}

/// The mean of the prior is where it was: a state that was moved and has learned nothing goes back to it.
#[test]
fn a_state_that_was_moved_goes_back_to_the_mean_of_its_prior() {
    let (slam, _) = run("default", &recording(60, 3));
    let mut state = slam.estimator.state.clone();
    state.landmarks.iter_mut().for_each(|landmark| landmark.is_mapped = true);
    let before = state.clone();
    let covariance = Matrix3::from_diagonal(&STD.component_mul(&STD));
    let filter = Filter::default();
    let mut rows = Rows::default();
    propagate(&mut state, &Increment { motion: Se2::identity(), covariance, drift: None }, &filter, &mut rows);
    for motion in [Se2::new(3.0, -2.0, 0.5), Se2::new(-7.0, 1.0, 2.5)] {
        let mut moved_by = Vec::new();
        displace(&mut state, &motion, &[0, 1, 2], [1e3; 2], &mut moved_by);
        assert!((state.pose.p - before.pose.p).norm() > 1.0);
        move_back(&mut state, &moved_by, &filter, &mut Workspace::default());
        assert!((state.pose.p - before.pose.p).norm() < 1e-9);
        assert!((state.pose.theta - before.pose.theta).abs() < 1e-9);
        for (landmark, old) in state.landmarks.iter().zip(&before.landmarks) {
            assert!((landmark.x - old.x).norm() < 1e-9);
        }
    }
}
