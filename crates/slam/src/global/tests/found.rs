//! Random starts in simulated places: is the robot found, how soon, and is it ever found where it is not?

use super::scene::{Robot, SENSING, Sensing, grid, is_right, random_map};
use crate::global::{Finder, FinderConfig, Verdict};
use crate::LandmarkMap;
use std::f64::consts::PI;
use std::time::Instant;

/// What came of one start.
#[derive(Clone, Copy, Debug)]
struct Outcome {
    /// When it was found first, s, and whether that was right.
    found: Option<(f64, bool)>,
    last: Verdict,
    /// Of a cloud: on average, and the longest, s.
    mean_s: f64,
    worst_s: f64,
    in_view: f64,
    nees: f64,
}

/// Drives for `seconds`, or until the robot is found.
fn start(map: &LandmarkMap, world: &LandmarkMap, sensing: Sensing, seconds: f64, seed: u64) -> Outcome {
    let mut robot = Robot::new(world, sensing, seed);
    let mut finder = Finder::new(map, FinderConfig::default()).unwrap();
    let clouds = (seconds * sensing.rate_hz) as usize;
    let mut outcome =
        Outcome { found: None, last: Verdict::Searching, mean_s: 0.0, worst_s: 0.0, in_view: 0.0, nees: 0.0 };
    for k in 1..=clouds {
        let (step, cloud) = robot.step();
        let before = Instant::now();
        outcome.last = finder.observe(&step, &cloud);
        let taken = before.elapsed().as_secs_f64();
        outcome.mean_s += (taken - outcome.mean_s) / k as f64;
        outcome.worst_s = outcome.worst_s.max(taken);
        outcome.in_view += (cloud.len() as f64 - outcome.in_view) / k as f64;
        if std::env::var("LIENAV_TRACE").is_ok() {
            let right = finder.candidates().iter().position(|c| is_right(&c.pose, &robot.pose));
            println!(
                "{k} {:.1?} {:?} elsewhere {:.1e} left {:.1}, {} candidates, true one {right:?} {:?}, best {:?}, tracks {}, sweeps {}",
                robot.pose.p.as_slice(),
                std::mem::discriminant(&outcome.last), finder.elsewhere(), finder.log_left_out, finder.candidates().len(),
                right.map(|r| finder.candidates()[r].probability),
                finder.hypotheses.iter().take(4).map(|h| (h.log_present as f32, h.log_past as f32, h.matches.len())).collect::<Vec<_>>(),
                finder.constellation.confirmed().count(), finder.sweeps,
            );
        }
        if let Verdict::Found(candidate) = outcome.last {
            let right = is_right(&candidate.pose, &robot.pose);
            outcome.found = Some((k as f64 / sensing.rate_hz, right));
            let mut e = (candidate.pose.p - robot.pose.p).push(0.0);
            e.z = lienav_lie::wrap_angle(candidate.pose.theta - robot.pose.theta);
            outcome.nees = e.dot(&(candidate.covariance.try_inverse().unwrap() * e));
            break;
        }
    }
    outcome
}

fn runs(default: u64) -> u64 {
    std::env::var("LIENAV_RUNS").ok().and_then(|n| n.parse().ok()).unwrap_or(default)
}

/// Right, wrong and not found within 10 s, and a line of numbers.
fn count(name: &str, outcomes: &[Outcome]) -> (usize, usize) {
    let right = outcomes.iter().filter(|o| o.found.is_some_and(|(_, right)| right)).count();
    let wrong = outcomes.iter().filter(|o| o.found.is_some_and(|(_, right)| !right)).count();
    let mut times: Vec<f64> = outcomes.iter().filter_map(|o| o.found).map(|(t, _)| t).collect();
    times.sort_by(f64::total_cmp);
    let at = |q: f64| times.get(((times.len().max(1) - 1) as f64 * q).round() as usize).copied().unwrap_or(f64::NAN);
    let number = outcomes.len() as f64;
    let nothing = outcomes.iter().filter(|o| o.last == Verdict::Nothing).count();
    let ambiguous = outcomes.iter().filter(|o| o.last == Verdict::Ambiguous).count();
    println!(
        "{name}: {} starts, right {right}, wrong {wrong}, ambiguous {ambiguous}, nothing {nothing}; found after s \
         50 % {:.1}, 90 % {:.1}, 99 % {:.1}, all {:.1}; {:.1} in view; cloud mean {:.2} ms, worst {:.1} ms; NEES {:.2}",
        outcomes.len(), at(0.5), at(0.9), at(0.99), at(1.0),
        outcomes.iter().map(|o| o.in_view).sum::<f64>() / number,
        1e3 * outcomes.iter().map(|o| o.mean_s).sum::<f64>() / number,
        1e3 * outcomes.iter().map(|o| o.worst_s).fold(0.0, f64::max),
        outcomes.iter().filter(|o| o.found.is_some_and(|f| f.1)).map(|o| o.nees).sum::<f64>() / right.max(1) as f64,
    );
    (right, wrong)
}

fn many(name: &str, map: &LandmarkMap, sensing: Sensing, seconds: f64, starts: u64) -> (usize, usize) {
    let from: u64 = std::env::var("LIENAV_SEED").ok().and_then(|n| n.parse().ok()).unwrap_or(1);
    let outcomes: Vec<Outcome> = (from..from + starts).map(|seed| start(map, map, sensing, seconds, seed)).collect();
    for (seed, o) in (from..).zip(&outcomes).filter(|(_, o)| o.found.is_none_or(|f| !f.1)) {
        println!("  seed {seed}: {:?} {:?}", o.found, o.last);
    }
    count(name, &outcomes)
}

#[test]
#[ignore = "minutes"]
fn hall() {
    let map = grid(40, 25, 3.0, 0.3, 1);
    let starts = runs(100);
    many("hall, 10 m", &map, SENSING, 10.0, starts);
    many("hall, 8 m", &map, Sensing { range_m: 8.0, ..SENSING }, 10.0, starts);
    many("hall, 15 m, 5 Hz", &map, Sensing { range_m: 15.0, rate_hz: 5.0, ..SENSING }, 10.0, starts);
    many("hall, 5 m", &map, Sensing { range_m: 5.0, ..SENSING }, 10.0, starts);
    many("hall, 10 m, 90 deg", &map, Sensing { field_of_view_rad: 0.5 * PI, ..SENSING }, 10.0, starts);
}

#[test]
#[ignore = "minutes"]
fn regular() {
    let starts = runs(30);
    many("corridor", &grid(20, 2, 3.0, 0.0, 3), SENSING, 30.0, starts);
    many("exact grid", &grid(20, 20, 3.0, 0.0, 3), SENSING, 30.0, starts);
    many("exact grid 5 m", &grid(20, 20, 3.0, 0.0, 3), Sensing { range_m: 5.0, ..SENSING }, 30.0, starts);
}

#[test]
#[ignore = "minutes"]
fn others() {
    let starts = runs(100);
    many("hall of 100, jitter 1 m", &grid(10, 10, 3.0, 1.0, 2), SENSING, 10.0, starts);
    many("sparse hall, 6 m, jitter 1 m", &grid(10, 10, 6.0, 1.0, 2), SENSING, 10.0, starts);
    many("forest", &random_map(400, 60.0, 3), SENSING, 10.0, starts);
    many("forest 5 m 180", &random_map(400, 60.0, 3), Sensing { range_m: 5.0, field_of_view_rad: PI, ..SENSING }, 10.0, starts);
    let strangers = |name: &str, map: &LandmarkMap, worlds: &dyn Fn(u64) -> LandmarkMap, sensing| {
        let outcomes: Vec<Outcome> =
            (1..=starts).map(|seed| start(map, &worlds(seed), sensing, 10.0, seed)).collect();
        count(name, &outcomes)
    };
    strangers("another hall", &grid(40, 25, 3.0, 0.3, 1), &|seed| grid(40, 25, 3.0, 0.3, 100 + seed), SENSING);
    strangers("another hall 5 m", &grid(40, 25, 3.0, 0.3, 1), &|seed| grid(40, 25, 3.0, 0.3, 100 + seed), Sensing { range_m: 5.0, ..SENSING });
    strangers("another forest", &random_map(400, 60.0, 3), &|seed| random_map(400, 60.0, 100 + seed), SENSING);
    strangers("forest in hall", &grid(40, 25, 3.0, 0.3, 1), &|seed| random_map(400, 60.0, 100 + seed), SENSING);
}

#[test]
#[ignore = "scratch"]
fn scratch() {
    let map = random_map(60, 25.0, 247);
    start(&map, &map, Sensing { range_m: 8.0, ..SENSING }, 1.5, 247);
    println!("-----");
    use nalgebra::Vector2;
    let posts = |k: f64| [Vector2::new(3.0 * k, 0.0), Vector2::new(3.0 * k, 3.0)];
    let corridor: Vec<Vector2<f64>> = (0..12).flat_map(|k| posts(f64::from(k))).collect();
    let odd = super::scene::map(corridor.into_iter().chain([Vector2::new(34.5, 1.2), Vector2::new(31.0, 4.2)]), 0.01);
    start(&odd, &odd, Sensing { range_m: 5.0, ..SENSING }, 32.0, 1);
}
