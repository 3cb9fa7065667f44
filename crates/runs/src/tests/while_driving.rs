//! How good an estimate while driving is on MR.CLAM with config/robot.yaml, beside what could be known: the tables of
//! docs/honesty.md.

use super::known_map::mrclam_with;
use crate::errors::Errors;
use crate::mean::mean;
use crate::run::{Estimate, Run, run};
use lienav_io::recording::Recording;
use lienav_io::truth::{MAX_TRUTH_GAP_S, Truth};
use lienav_slam::Config;
use rayon::prelude::*;

const RUNS: [(u32, u32); 4] = [(6, 1), (6, 2), (6, 3), (4, 3)];

/// What is changed in the file.
type Change = (&'static str, fn(&mut Config));

const AS_STATED: Change = ("as the file states it", |_| ());

const RANGES: Change = ("sensor.range_std_ratio 0.12", |config| config.sensor.range_std_ratio = 0.12);

/// What odometry differs from the truth by over 1 s, once scales and slip are fitted: little on the straight, much
/// where the robot turns. No sensor measures it while driving.
const ODOMETRY: Change = ("odometry with the noise that it has", |config| {
    (config.motion.velocity_x_std, config.motion.velocity_y_std) = (0.007, 0.002);
    (config.motion.yaw_rate_std, config.motion.yaw_rate_ratio_std) = (0.01, 0.08);
    config.learning.enabled = false;
});

fn with_filter(config: &Config, filter: &str) -> Config {
    Config { filter: filter.into(), ..config.clone() }
}

fn errors(run: &Run, recording: &Recording) -> Errors {
    Errors::new(run, &Truth::new(&recording.truth, &recording.true_landmarks, MAX_TRUTH_GAP_S))
}

/// Of a run, its estimates at `instants` times, evenly in its scans; of `batch`, the last estimate of what came before
/// each of them.
fn at_instants(recording: &Recording, config: &Config, filtered: &Run, instants: usize) -> [Run; 2] {
    let count = filtered.estimates.len();
    let pairs = (1..=instants).into_par_iter().filter_map(|k| {
        let ours = filtered.estimates[k * count / instants - 1];
        let mut before = recording.clone();
        before.inputs.retain(|input| input.stamp() <= ours.stamp);
        let batch = run(&before, &with_filter(config, "batch"), |_| ()).unwrap();
        let last = *batch.estimates.iter().rfind(|estimate| estimate.stamp == ours.stamp)?;
        Some((ours, last))
    });
    let (ours, theirs): (Vec<Estimate>, Vec<Estimate>) = pairs.collect::<Vec<_>>().into_iter().unzip();
    [ours, theirs].map(|estimates| Run { estimates, ..filtered.clone() })
}

/// `cargo test --release -p lienav-runs tests::while_driving -- --ignored --nocapture`
#[test]
#[ignore = "a table of a minute"]
fn table_beside_the_batch_estimate_of_what_came_before() {
    for (name, change) in [AS_STATED, RANGES, ODOMETRY] {
        println!("{name}: default, batch of what came before, aligned, at 24 instants");
        for (dataset, robot) in RUNS {
            let Some((recording, mut config)) = mrclam_with(dataset, robot, "robot.yaml") else { return };
            change(&mut config);
            let filtered = run(&recording, &with_filter(&config, "default"), |_| ()).unwrap();
            let both = at_instants(&recording, &config, &filtered, 24);
            let [ours, theirs] = both.map(|run| errors(&run, &recording).aligned_position_rmse().unwrap());
            println!("D{dataset} R{robot} {ours:.3} m {theirs:.3} m");
        }
    }
}

/// Pieces of ten minutes, one every five, each with a start of its own.
#[test]
#[ignore = "a table of a minute"]
fn table_of_pieces() {
    const PIECE_S: f64 = 600.0;
    const EVERY_S: f64 = 300.0;
    let mut pieces = Vec::new();
    for (dataset, robot) in RUNS {
        let Some((recording, config)) = mrclam_with(dataset, robot, "robot.yaml") else { return };
        let truth = Truth::new(&recording.truth, &recording.true_landmarks, MAX_TRUTH_GAP_S);
        let stamps = || recording.inputs.iter().map(|input| input.stamp());
        let (first, last) = (stamps().min().unwrap(), stamps().max().unwrap());
        let count = ((last.since(first) - PIECE_S) / EVERY_S).round() as usize + 1;
        for k in 0..count {
            let begins = EVERY_S * k as f64;
            let mut piece = recording.clone();
            piece.inputs.retain(|input| (begins..=begins + PIECE_S).contains(&input.stamp().since(first)));
            // It begins where the truth is known.
            let Some(at) = piece.inputs.iter().position(|input| truth.at(input.stamp()).is_some()) else { continue };
            piece.inputs.drain(..at);
            let start = truth.at(piece.inputs[0].stamp()).unwrap();
            let mut config = config.clone();
            (config.initial.x_m, config.initial.y_m, config.initial.yaw_rad) = (start.p.x, start.p.y, start.theta);
            pieces.push((piece, config));
        }
    }
    let filters = ["default", "ekf", "reduced", "batch"];
    for ((name, change), filter) in
        [AS_STATED, ODOMETRY].into_iter().flat_map(|how| filters.map(|filter| (how, filter)))
    {
        let judged: Vec<(f64, f64)> = pieces
            .par_iter()
            .map(|(piece, config)| {
                let mut config = config.clone();
                change(&mut config);
                let errors = errors(&run(piece, &with_filter(&config, filter), |_| ()).unwrap(), piece);
                (errors.aligned_position_rmse().unwrap(), mean(errors.nees()).unwrap())
            })
            .collect();
        let [aligned, nees] = [0, 1].map(|i| mean(judged.iter().map(|pair| [pair.0, pair.1][i])).unwrap());
        println!("{name}, {filter:8} {} pieces: {aligned:.3} m aligned, NEES {nees:.1}", judged.len());
    }
}
