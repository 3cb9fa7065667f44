//! Posts without identity, which each part gives identities of its own.

use super::{POSTS, World, of_parts};
use crate::{Parts, Worker};
use lienav_slam::{Landmark, Step};
use nalgebra::Vector3;
use std::collections::HashMap;

/// Two times round in the ring: steps, landmarks, NEES of the poses, and by how much the worst pose is off, m.
fn run(seed: u64, local_features: usize) -> (Vec<Step>, Vec<Landmark>, f64, f64) {
    let mut world = World::new(seed, 0.05);
    world.are_named = false;
    let mut slam = of_parts(world.config(local_features));
    let mut parts = Parts::new(&slam, Worker::InPlace).unwrap();
    let (mut steps, mut nees, mut worst) = (Vec::new(), 0.0, 0.0_f64);
    let mut merged: HashMap<u32, u32> = HashMap::new();
    while world.time < 130.0 {
        let Some(step) = world.advance(&mut slam) else { continue };
        let step = match &mut parts {
            Some(parts) => {
                let step = parts.join(&mut slam, step);
                for (gone, kept) in parts.merged_landmarks() {
                    assert_eq!(merged.insert(*gone, *kept), None, "an identity is recognised once");
                }
                step
            }
            None => step,
        };
        let d = step.estimate.pose.p - world.truth.p;
        worst = worst.max(d.norm());
        let d = Vector3::new(d.x, d.y, (step.estimate.pose.theta - world.truth.theta).sin());
        nees += step.estimate.covariance.try_inverse().map_or(0.0, |inverse| d.dot(&(inverse * d)));
        steps.push(step);
    }
    let landmarks = match &mut parts {
        Some(parts) => {
            parts.finish(&mut slam);
            assert!(parts.status().parts > 7 && parts.status().moved == 0, "{:?}", parts.status());
            parts.landmarks()
        }
        None => slam.landmarks().collect(),
    };
    (steps.clone(), landmarks, nees / steps.len() as f64, worst)
}

#[test]
fn posts_without_names_are_the_same_in_all_parts() {
    let (mut in_parts, mut in_one) = (0.0, 0.0);
    for seed in 1..=8 {
        let ((_, one, nees_one, worst_one), (_, landmarks, nees, worst)) = (run(seed, 0), run(seed, 10));
        assert_eq!((landmarks.len(), one.len()), (POSTS, POSTS), "seed {seed}");
        for k in 0..POSTS {
            let off = |landmark: &&Landmark| (landmark.position - World::post(k)).norm();
            let nearest = landmarks.iter().min_by(|a, b| off(a).total_cmp(&off(b))).unwrap();
            assert!(off(&nearest) < 0.5, "seed {seed}, post {k}: {}", off(&nearest));
        }
        assert!(worst < 1.2 * worst_one + 0.05, "seed {seed}: {worst} {worst_one}");
        (in_parts, in_one) = (in_parts + nees / 8.0, in_one + nees_one / 8.0);
    }
    assert!((1.9..4.4).contains(&in_parts) && (1.9..4.4).contains(&in_one), "{in_parts} {in_one}");
}

#[test]
fn the_same_input_gives_the_same_bits() {
    let (one, other) = (run(3, 10), run(3, 10));
    assert_eq!((one.0, one.1), (other.0, other.1));
}
