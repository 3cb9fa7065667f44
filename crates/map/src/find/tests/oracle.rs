//! The naive search: every pose of a fine grid, fitted and weighed.

use super::scene::{Robot, SENSING, Sensing, grid};
use crate::find::hypothesis::Past;
use crate::find::{Finder, FinderConfig, is_same};
use lienav_lie::Se2;
use nalgebra::{Matrix3, Vector3};
use std::f64::consts::TAU;

/// What a search over all poses finds, best first: poses and log weights.
fn search_all(finder: &Finder, side_m: f64) -> Vec<(Se2, f64)> {
    let evidence = finder.evidence();
    let (step_m, step_rad) = (0.5, 0.12);
    let about = Matrix3::from_diagonal(&Vector3::new(0.06, 0.06, 0.004));
    let cells = (side_m / step_m) as i32;
    let mut found: Vec<(Se2, f64)> = Vec::new();
    for x in -2..cells + 2 {
        for y in -2..cells + 2 {
            for turn in 0..(TAU / step_rad) as i32 {
                let pose = Se2::new(f64::from(x) * step_m, f64::from(y) * step_m, f64::from(turn) * step_rad);
                let Some(judgement) = evidence.judge(&pose, &about, &Past::default()) else { continue };
                let again = evidence.judge(&judgement.fit.pose, &judgement.fit.relative, &Past::default());
                let Some(judgement) = again else { continue };
                let (pose, weight) = (judgement.fit.pose, judgement.log_weight);
                match found.iter_mut().find(|(other, _)| is_same(other, &pose, 0.1, 0.05)) {
                    Some((_, other)) => *other = other.max(weight),
                    None if weight > -12.0 => found.push((pose, weight)),
                    None => {}
                }
            }
        }
    }
    found.sort_by(|one, other| other.1.total_cmp(&one.1));
    found
}

#[test]
fn nothing_of_weight_is_overlooked() {
    let mut ambiguous = 0;
    for seed in 1..9 {
        let map = grid(4, 4, 2.5, 0.12, seed);
        let sensing = Sensing { range_m: 3.0, range_std_m: 0.2, bearing_std_rad: 0.06, clutter: 0.05, ..SENSING };
        let mut robot = Robot::new(&map, sensing, seed);
        let mut finder = Finder::new(&map, FinderConfig::default()).unwrap();
        for _ in 0..14 {
            let (step, scan) = robot.step();
            finder.observe(&step, &scan);
        }
        let expected = search_all(&finder, 10.0);
        let Some(&(_, best)) = expected.first() else { continue };
        ambiguous += usize::from(expected.len() > 1 && expected[1].1 > best - 5.0);
        for (pose, weight) in expected.iter().filter(|(_, weight)| *weight > best.max(0.0) - 5.0) {
            let is_there = finder
                .hypotheses
                .iter()
                .any(|one| is_same(&one.fit.pose, pose, 0.1, 0.05) && one.log_present > weight - 0.5);
            assert!(is_there, "{seed}: {pose:?} of {weight:.1}, best {best:.1}");
        }
    }
    assert!(ambiguous >= 2, "{ambiguous} of 8 starts have a second pose");
}
