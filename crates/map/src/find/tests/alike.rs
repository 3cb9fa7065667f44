//! Maps in which one place looks like another.

use super::scene::{Robot, SENSING, Sensing, grid, is_right, map, random_map};
use crate::LandmarkMap;
use crate::find::{Finder, FinderConfig, Verdict};
use lienav_lie::Se2;
use nalgebra::Vector2;
use std::f64::consts::PI;

/// The verdicts of a drive, and the finder at its end.
fn drive(
    map: &LandmarkMap,
    world: &LandmarkMap,
    sensing: Sensing,
    scans: usize,
    seed: u64,
) -> (Vec<Verdict>, Finder, Se2) {
    let mut robot = Robot::new(world, sensing, seed);
    let mut finder = Finder::new(map, FinderConfig::default()).unwrap();
    let verdicts = (0..scans)
        .map(|_| {
            let (step, scan) = robot.step();
            finder.observe(&step, &scan)
        })
        .collect();
    (verdicts, finder, robot.pose)
}

fn is_found(verdict: &Verdict) -> bool {
    matches!(verdict, Verdict::Found(_))
}

/// Every landmark twice: where it is, and where `to` brings it.
fn twice(one: &LandmarkMap, to: impl Fn(&Vector2<f64>) -> Vector2<f64>) -> LandmarkMap {
    let places = one.landmarks.iter().map(|landmark| landmark.position);
    map(places.clone().chain(places.map(|place| to(&place))), 0.01)
}

#[test]
fn a_corridor_of_equal_posts_stays_ambiguous() {
    let corridor = grid(20, 2, 3.0, 0.0, 1);
    for seed in 1..4 {
        let (verdicts, finder, truth) = drive(&corridor, &corridor, SENSING, 150, seed);
        assert!(!verdicts.iter().any(is_found));
        assert_eq!(verdicts[149], Verdict::Ambiguous);
        let shares: Vec<f64> = finder.candidates().iter().map(|candidate| candidate.probability).collect();
        assert!(shares.len() >= 2 && shares[0] < 0.9, "{shares:?}");
        assert!(finder.candidates().iter().any(|candidate| is_right(&candidate.pose, &truth)));
    }
}

#[test]
fn a_map_that_is_its_own_half_turn_leaves_two_poses_of_one_half_each() {
    let half = random_map(25, 12.0, 5);
    let whole = twice(&half, |place| Vector2::new(30.0, 12.0) - place);
    for seed in 1..4 {
        let (verdicts, finder, truth) = drive(&whole, &whole, Sensing { range_m: 6.0, ..SENSING }, 100, seed);
        assert!(!verdicts.iter().any(is_found));
        let [one, other] = &finder.candidates()[..2] else { panic!("two candidates") };
        assert!((one.probability - 0.5).abs() < 0.1 && (other.probability - 0.5).abs() < 0.1);
        assert!(is_right(&one.pose, &truth) || is_right(&other.pose, &truth));
        let turned = Se2 { p: Vector2::new(30.0, 12.0), theta: PI } * one.pose;
        assert!(is_right(&turned, &other.pose));
    }
}

/// A mirror image is no rigid motion: a robot that sees left and right is not misled.
#[test]
fn a_map_that_is_its_own_mirror_image_is_no_riddle() {
    let whole = twice(&random_map(25, 12.0, 6), |place| Vector2::new(30.0 - place.x, place.y));
    for seed in 1..6 {
        let (verdicts, _, _) = drive(&whole, &whole, Sensing { range_m: 6.0, ..SENSING }, 60, seed);
        assert!(verdicts.iter().any(is_found), "{seed}");
    }
}

/// Two rooms alike, and one thing more at the end of one of them.
#[test]
fn driving_on_tells_places_apart() {
    let posts = |k: f64| [Vector2::new(3.0 * k, 0.0), Vector2::new(3.0 * k, 3.0)];
    let corridor: Vec<Vector2<f64>> = (0..12).flat_map(|k| posts(f64::from(k))).collect();
    let odd = map(corridor.into_iter().chain([Vector2::new(34.5, 1.2), Vector2::new(31.0, 4.2)]), 0.01);
    for seed in 1..6 {
        let mut robot = Robot::new(&odd, Sensing { range_m: 5.0, ..SENSING }, seed);
        (robot.pose, robot.lane) = (Se2::new(6.0, 1.5, 0.0), Some(1.5));
        let mut finder = Finder::new(&odd, FinderConfig::default()).unwrap();
        let (mut was_ambiguous, mut is_found) = (false, false);
        for _ in 0..270 {
            let (step, scan) = robot.step();
            match finder.observe(&step, &scan) {
                Verdict::Found(candidate) => {
                    assert!(is_right(&candidate.pose, &robot.pose), "{seed}: {candidate:?} {:?}", robot.pose);
                    is_found = true;
                    break;
                }
                Verdict::Ambiguous => was_ambiguous = true,
                _ => {}
            }
        }
        assert!(was_ambiguous && is_found, "{seed}");
    }
}

#[test]
fn a_robot_that_is_not_in_the_map_is_told_so() {
    let (hall, forest) = (grid(15, 15, 3.0, 0.3, 1), random_map(150, 40.0, 1));
    for seed in 1..6 {
        let elsewhere = [grid(15, 15, 3.0, 0.3, 50 + seed), random_map(150, 40.0, 50 + seed)];
        for (map, world) in [(&hall, &elsewhere[0]), (&forest, &elsewhere[1]), (&hall, &elsewhere[1])] {
            for range_m in [6.0, 10.0] {
                let (verdicts, _, _) = drive(map, world, Sensing { range_m, ..SENSING }, 60, seed);
                assert!(!verdicts.iter().any(is_found), "{seed}");
                assert_eq!(verdicts[59], Verdict::Nothing, "{seed} {range_m}");
            }
        }
    }
}
