//! Landmarks on the walls of a hall about the motion.

use super::scenario::{MotionKind, SpaceScenario};
use crate::random::{Purpose, generator};
use nalgebra::Vector3;
use rand::RngExt;
use std::collections::BTreeMap;

/// Half sizes of the hall, m: x, y, and from the floor to the ceiling, with z about the middle of the motion.
fn hall(kind: MotionKind) -> Vector3<f64> {
    match kind {
        MotionKind::Car => Vector3::new(22.0, 18.0, 4.0),
        MotionKind::Helix => Vector3::new(4.0, 4.0, 4.0),
        _ => Vector3::new(4.0, 4.0, 1.5),
    }
}

/// Walls have reliefs of this part of their distance.
const RELIEF: f64 = 0.12;

/// Landmarks by identity, m.
pub fn landmarks(scenario: &SpaceScenario, seed: u64) -> BTreeMap<u64, Vector3<f64>> {
    let (half, mut rng) = (hall(scenario.motion), generator(seed, Purpose::SpaceWorld));
    let place = |id: u64| {
        let mut between = |most: f64| rng.random_range(-most..=most);
        let (height, relief) = (between(half.z), between(RELIEF));
        let (x, y) = (between(half.x), between(half.y));
        let place = match id % 4 {
            0 => Vector3::new(half.x * (1.0 + relief), y, height),
            1 => Vector3::new(-half.x * (1.0 + relief), y, height),
            2 => Vector3::new(x, half.y * (1.0 + relief), height),
            _ => Vector3::new(x, -half.y * (1.0 + relief), height),
        };
        (id, place)
    };
    (0..scenario.landmarks).map(place).collect()
}
