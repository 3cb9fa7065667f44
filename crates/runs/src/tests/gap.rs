//! What a filter claims after a stretch of which it knows nothing: all input lost while the robot drives on, or the
//! robot carried elsewhere without its odometry noticing. NEES of the pose, three degrees of freedom, from the first
//! scan afterwards on.

use crate::consistency::nees;
use crate::study::ChoicesConfig;
use lienav_base::stamp::Stamp;
use lienav_lie::{Se2, wrap_angle};
use lienav_sim::{PathKind, Scenario, Simulation};
use lienav_slam::{Config, Filter, GateConfig, MeasurementKind, Slam, Step, Without};
use nalgebra::Vector3;
use rayon::prelude::*;
use std::f64::consts::TAU;

/// What happens to the robot.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fault {
    /// Nothing is heard of odometry and features for so long, s.
    Gap(f64),
    /// It is carried to where it would have been so much later, s, and no message says so.
    Kidnapped(f64),
}

/// When the fault begins, s: after a first lap.
const BEGINS_S: f64 = 70.0;

/// After the first scan, s.
const AFTER_S: [f64; 4] = [0.0, 0.2, 0.5, 1.0];

/// Three laps of the general path, about 2 m/s, among landmarks of which the robot sees about eight.
pub(super) fn scene(seed: u64) -> Scenario {
    let mut scenario = Scenario { name: "general".into(), seed, forget_after_s: 0.0, ..Scenario::default() };
    scenario.trajectory.path = PathKind::General;
    let lap = |points: &[f64]| points.iter().copied().cycle().take(3 * points.len()).collect();
    scenario.trajectory.waypoints_x_m = lap(&scenario.trajectory.waypoints_x_m);
    scenario.trajectory.waypoints_y_m = lap(&scenario.trajectory.waypoints_y_m);
    scenario.world.density_per_m2 = 0.08;
    (scenario.world.margin_m, scenario.world.clearance_m) = (8.0, 0.5);
    scenario.odometry.velocity_x_std = 0.05;
    scenario.odometry.velocity_y_std = 0.02;
    scenario.odometry.yaw_rate_std = 0.02;
    scenario.sensor.kind = MeasurementKind::RangeBearing;
    scenario.sensor.bearing_std_rad = 0.02;
    scenario.sensor.field_of_view_rad = 0.5 * TAU;
    scenario.sensor.max_range_m = 8.0;
    scenario
}

/// The settings of a robot: the simulated noise, the gates of the default.
pub(super) fn config(simulation: &Simulation, filter: &str) -> Config {
    Config { gate: GateConfig::default(), ..simulation.filter_config(filter) }
}

/// A pose beside the truth: distance, m, and NEES.
#[derive(Clone, Copy, Debug)]
struct Judged {
    error_m: f64,
    std_m: f64,
    nees: f64,
}

fn judge(step: &Step, truth: &Se2) -> Judged {
    let (pose, covariance) = (step.estimate.pose, step.estimate.covariance);
    let shift = pose.p - truth.p;
    let error = Vector3::new(shift.x, shift.y, wrap_angle(pose.theta - truth.theta));
    let std_m = (covariance[(0, 0)] + covariance[(1, 1)]).sqrt();
    Judged { error_m: shift.norm(), std_m, nees: nees(&error, &covariance).unwrap_or(f64::INFINITY) }
}

/// The steps after the fault with the truth, each by the time since the first scan after it.
fn run(fault: Fault, filter: &str, seed: u64) -> Vec<(f64, Judged)> {
    run_in(&scene(seed), fault, filter, 4.0)
}

/// What tables are made without: the words of `choices.without` in `LIENAV_WITHOUT`.
fn left_out() -> Without {
    let without = std::env::var("LIENAV_WITHOUT").unwrap_or_default();
    ChoicesConfig { without, ..ChoicesConfig::default() }.without().unwrap()
}

/// The same in any scene, for so long after the fault, s. The scene says whether landmarks have identities.
fn run_in(scene: &Scenario, fault: Fault, filter: &str, watched_s: f64) -> Vec<(f64, Judged)> {
    let simulation = Simulation::new(scene).unwrap();
    let mut slam = Slam::new(config(&simulation, filter)).unwrap();
    slam.leave_out(left_out());
    let truth = simulation.clone();
    let (Fault::Gap(lost_s) | Fault::Kidnapped(lost_s)) = fault;
    let shift_s = if matches!(fault, Fault::Kidnapped(_)) { lost_s } else { 0.0 };
    let mut judged = Vec::new();
    let mut first = None;
    for mut frame in simulation {
        let at = frame.stamp.secs();
        if (BEGINS_S..BEGINS_S + lost_s).contains(&at) {
            continue;
        }
        if at > BEGINS_S + lost_s + watched_s {
            break;
        }
        let is_after = at >= BEGINS_S + lost_s;
        let shift = if is_after { shift_s } else { 0.0 };
        frame.odometry.stamp = frame.odometry.stamp - shift;
        let _ = slam.odometry(&frame.odometry);
        if let Some(scan) = &frame.features {
            let _ = slam.features(scan.stamp - shift, scan.kind, &scan.measurements);
        }
        while let Some(step) = slam.poll() {
            if !is_after {
                continue;
            }
            let stamp = step.estimate.stamp;
            let begins: Stamp = *first.get_or_insert(stamp);
            judged.push((stamp.since(begins), judge(&step, &truth.truth(stamp + shift))));
        }
    }
    judged
}

/// The last step at each of [`AFTER_S`], of every seed.
fn runs(fault: Fault, filter: &str, seeds: u64) -> [Vec<Judged>; 4] {
    let all: Vec<_> = (1..=seeds).into_par_iter().map(|seed| run(fault, filter, seed)).collect();
    AFTER_S.map(|after| {
        let last = |steps: &Vec<(f64, Judged)>| steps.iter().rev().find(|(t, _)| *t <= after + 1e-6).map(|(_, j)| *j);
        all.iter().filter_map(last).collect()
    })
}

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = values.fold((0.0, 0), |(sum, count), x| (sum + x, count + 1));
    sum / f64::from(count)
}

fn quantile(values: impl Iterator<Item = f64>, q: f64) -> f64 {
    let mut sorted: Vec<f64> = values.collect();
    sorted.sort_by(f64::total_cmp);
    sorted.get(((sorted.len() - 1) as f64 * q).round() as usize).copied().unwrap_or(f64::NAN)
}

/// `LIENAV_FILTERS=default,ekf LIENAV_RUNS=20 cargo test -p lienav-runs gap -- --ignored --nocapture`
#[test]
#[ignore = "a table of ten minutes"]
fn table() {
    let filters = std::env::var("LIENAV_FILTERS").unwrap_or_else(|_| Filter::NAMES.join(","));
    let seeds = std::env::var("LIENAV_RUNS").ok().and_then(|n| n.parse().ok()).unwrap_or(20);
    let gaps = [1.0, 2.0, 5.0, 10.0, 30.0, 60.0].map(Fault::Gap);
    let carried = [2.0, 10.0, 30.0].map(Fault::Kidnapped);
    println!("{:>14} {:>16}   after s: NEES mean, median, 95 %; error m, claimed m (medians)", "filter", "fault");
    for filter in filters.split(',') {
        for fault in gaps.iter().chain(&carried) {
            let all = runs(*fault, filter, seeds);
            print!("{filter:>14} {:>16}", format!("{fault:?}"));
            for (after, judged) in AFTER_S.iter().zip(&all) {
                let nees = || judged.iter().map(|j| j.nees);
                print!(
                    " | {after}: {:.1} {:.1} {:.1}; {:.2} {:.2}",
                    mean(nees()),
                    quantile(nees(), 0.5),
                    quantile(nees(), 0.95),
                    quantile(judged.iter().map(|j| j.error_m), 0.5),
                    quantile(judged.iter().map(|j| j.std_m), 0.5),
                );
            }
            println!();
        }
    }
}

/// A consistent filter has a mean of 3, and the mean of 24 runs a standard deviation of 0.5.
fn assert_honest(fault: Fault, filter: &str, from_s: f64) {
    let all = runs(fault, filter, 24);
    for (after, judged) in AFTER_S.iter().zip(&all).filter(|(after, _)| **after >= from_s) {
        let found = mean(judged.iter().map(|j| j.nees));
        assert!(judged.len() == 24 && found <= 5.0, "{filter}, {fault:?}, {after} s after the first cloud: {found}");
    }
}

#[test]
fn after_a_gap_the_default_claims_what_it_is_worth_with_the_first_scan() {
    [1.0, 6.0, 30.0].into_iter().for_each(|lost_s| assert_honest(Fault::Gap(lost_s), "default", 0.0));
}

#[test]
fn after_a_gap_the_ekf_does_too() {
    assert_honest(Fault::Gap(10.0), "ekf", 0.2);
}

/// It takes three scans with three known landmarks or more to believe it; after 30 s there are fewer at first.
#[test]
fn a_robot_that_was_carried_elsewhere_is_found_within_a_second() {
    assert_honest(Fault::Kidnapped(2.0), "default", 0.5);
    assert_honest(Fault::Kidnapped(30.0), "default", 1.0);
}

/// What became of runs without identities: how many were wrong and sure, and how many were right again in time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Nameless {
    runs: usize,
    wrong_and_sure: usize,
    right_again: usize,
}

/// A pose is wrong and sure beyond this NEES, 1e-6 of a consistent filter's.
const SURE_NEES: f64 = 30.0;
/// In this part of the steps after a fault, as of a filter that does not notice.
const SURE_PART: f64 = 0.2;
/// Right again is a pose within this distance of the truth, m, after so long, s.
const RIGHT: (f64, f64) = (0.5, 10.0);

/// Runs a fault among landmarks without identities, so many a square metre.
fn nameless(fault: Fault, density_per_m2: f64, seeds: std::ops::Range<u64>) -> Nameless {
    let of_seed = |seed| {
        let mut scene = scene(seed);
        scene.world.density_per_m2 = density_per_m2;
        scene.sensor.identified = false;
        let steps = run_in(&scene, fault, "default", 15.0);
        let sure = steps.iter().filter(|(_, judged)| judged.nees > SURE_NEES).count();
        let mut late = steps.iter().filter(|(t, _)| *t >= RIGHT.1);
        let is_right = late.all(|(_, judged)| judged.error_m < RIGHT.0 && judged.nees < SURE_NEES);
        Nameless {
            runs: 1,
            wrong_and_sure: usize::from(sure as f64 > SURE_PART * steps.len() as f64),
            right_again: usize::from(is_right && !steps.is_empty()),
        }
    };
    seeds.into_par_iter().map(of_seed).reduce(Nameless::default, |a, b| Nameless {
        runs: a.runs + b.runs,
        wrong_and_sure: a.wrong_and_sure + b.wrong_and_sure,
        right_again: a.right_again + b.right_again,
    })
}

/// `LIENAV_WITHOUT=after_gap LIENAV_RUNS=50 cargo test --release -p lienav-runs --lib nameless_table -- --ignored --nocapture`
#[test]
#[ignore = "a table of an hour"]
fn nameless_table() {
    let seeds = std::env::var("LIENAV_RUNS").ok().and_then(|n| n.parse().ok()).unwrap_or(10);
    let first = std::env::var("LIENAV_SEED").ok().and_then(|n| n.parse().ok()).unwrap_or(101);
    let gaps = [1.0, 2.0, 3.0, 6.0, 15.0, 30.0, 60.0].map(Fault::Gap);
    let carried = [2.0, 10.0, 30.0].map(Fault::Kidnapped);
    println!("| fault | landmarks/m² | wrong and sure | right again within {} s |\n|---|---|---|---|", RIGHT.1);
    for fault in carried.iter().chain(&gaps) {
        for density in [0.05, 0.15, 0.5] {
            let Nameless { runs, wrong_and_sure, right_again } = nameless(*fault, density, first..first + seeds);
            println!("| {fault:?} | {density} | {wrong_and_sure} of {runs} | {right_again} of {runs} |");
        }
    }
}

#[test]
fn after_a_gap_without_identities_the_default_is_never_wrong_and_sure() {
    for lost_s in [3.0, 8.0] {
        let found = nameless(Fault::Gap(lost_s), 0.15, 1..5);
        assert_eq!((found.wrong_and_sure, found.right_again), (0, 4), "a gap of {lost_s} s: {found:?}");
    }
}

#[test]
fn a_robot_that_was_carried_away_without_identities_is_found() {
    let found = nameless(Fault::Kidnapped(10.0), 0.15, 1..5);
    assert_eq!((found.wrong_and_sure, found.right_again), (0, 4), "{found:?}");
}
