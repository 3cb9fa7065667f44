//! Errors and consistency of the filters on simulated motions with an inertial sensor and one camera.
//!
//! `cargo run --release -p lienav-inertial --example consistency [RUNS] [FILTER,…] [GRADE,…]`; grades of the inertial
//! sensor are phone, drone and tactical.
//!
//! NEES is the normalized estimation error squared: 6 is right for the pose, 3 for position and for orientation.

mod simulator;

use lienav_inertial::filter::Filter;
use lienav_inertial::imu::ImuNoise;
use lienav_inertial::measurement::Measurement;
use lienav_inertial::preintegration::integrator::Integrator;
use lienav_inertial::preintegration::samples::Interpolation;
use lienav_inertial::state::State;
use lienav_inertial::step::Step;
use lienav_lie::LieGroup;
use nalgebra::{Vector3, Vector6};
use simulator::{Run, Scenario, pixels, simulate};
use std::time::Instant;

/// Sums over frames.
#[derive(Clone, Copy, Debug, Default)]
struct Scores {
    frames: f64,
    position: f64,
    orientation: f64,
    nees: [f64; 3],
    seconds: f64,
    gated: usize,
    used: usize,
}

fn run(scenario: &Scenario, run: &Run, filter: Filter) -> Scores {
    let mut step = Step::new(filter);
    let mut state = State::new(run.start, &scenario.start_covariance(), 80, &filter);
    state.gravity = scenario.gravity;
    let mut integrator = Integrator::new(state.nav.biases, scenario.noise, Interpolation::Linear);
    let mut scores = Scores::default();
    let mut frames = run.frames.iter().peekable();
    for sample in &run.samples {
        integrator.push(*sample).unwrap();
        while let Some(frame) = frames.next_if(|frame| frame.stamp <= sample.stamp) {
            let measurements = pixels(scenario, frame);
            let measurements: Vec<&dyn Measurement> = measurements.iter().map(|one| one as &dyn Measurement).collect();
            let start = Instant::now();
            let increment = integrator.take(frame.stamp).unwrap();
            step.predict(&mut state, &increment);
            let corrected = step.correct(&mut state, &measurements).unwrap();
            integrator.set_biases(state.nav.biases);
            scores.seconds += start.elapsed().as_secs_f64();
            scores.gated += corrected.gated;
            scores.used += corrected.used;
            score(&mut scores, &state, frame, &filter);
        }
    }
    scores
}

fn score(scores: &mut Scores, state: &State, frame: &simulator::Frame, filter: &Filter) {
    let position = frame.truth.position - state.nav.position;
    let turn = (frame.truth.rotation * state.nav.rotation.inverse()).log();
    let error = Vector6::new(position.x, position.y, position.z, turn.x, turn.y, turn.z);
    let covariance = state.pose_covariance(filter);
    let part = |error: &Vector3<f64>, row: usize| {
        let own = covariance.fixed_view::<3, 3>(row, row).into_owned();
        own.cholesky().map_or(f64::NAN, |factor| error.dot(&factor.solve(error)))
    };
    scores.frames += 1.0;
    scores.position += position.norm_squared();
    scores.orientation += turn.norm_squared();
    scores.nees[0] += covariance.cholesky().map_or(f64::NAN, |factor| error.dot(&factor.solve(&error)));
    scores.nees[1] += part(&position, 0);
    scores.nees[2] += part(&turn, 3);
}

fn imu_grade(name: &str) -> ImuNoise {
    let [gyro, accelerometer, gyro_walk, accelerometer_walk] = match name {
        "phone" => [5e-3, 5e-2, 2e-4, 2e-3],
        "tactical" => [5e-5, 5e-4, 1e-6, 1e-5],
        _ => [1e-3, 1e-2, 5e-5, 5e-4],
    };
    ImuNoise { gyro, accelerometer, gyro_walk, accelerometer_walk }
}

fn main() {
    let argument = |k: usize, default: &str| std::env::args().nth(k).unwrap_or_else(|| default.to_owned());
    let runs: u64 = argument(1, "20").parse().expect("a number of runs");
    let (filters, grades) = (argument(2, "default,group,reduced,ekf,fe-ekf,oc-ekf"), argument(3, "drone"));
    println!(
        "| motion | sensor | filter | position [m] | orientation [°] | NEES pose | position | orientation | gated [%] | µs a frame |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|");
    let cases = ["circle", "hand", "drone", "line"]
        .into_iter()
        .flat_map(|motion| grades.split(',').map(move |grade| (motion, grade)));
    for (motion, grade) in cases {
        let mut scenario = Scenario::new(motion);
        scenario.noise = imu_grade(grade);
        let all: Vec<Run> = (0..runs).map(|seed| simulate(&scenario, 100 + seed)).collect();
        let in_view: usize = all[0].frames.iter().map(|frame| frame.seen.len()).sum();
        for (name, filter) in Filter::ALL.into_iter().filter(|(name, _)| filters.split(',').any(|one| one == *name)) {
            let mut sum = Scores::default();
            for one in &all {
                let scores = run(&scenario, one, filter);
                sum.frames += scores.frames;
                sum.position += scores.position;
                sum.orientation += scores.orientation;
                sum.nees.iter_mut().zip(scores.nees).for_each(|(a, b)| *a += b);
                sum.seconds += scores.seconds;
                sum.gated += scores.gated;
                sum.used += scores.used;
            }
            let n = sum.frames;
            println!(
                "| {motion} ({:.0} in view) | {grade} | {name} | {:.4} | {:.3} | {:.2} | {:.2} | {:.2} | {:.3} | {:.0} |",
                in_view as f64 / all[0].frames.len() as f64,
                (sum.position / n).sqrt(),
                (sum.orientation / n).sqrt().to_degrees(),
                sum.nees[0] / n,
                sum.nees[1] / n,
                sum.nees[2] / n,
                100.0 * sum.gated as f64 / (sum.gated + sum.used) as f64,
                sum.seconds / n * 1e6
            );
        }
    }
}
