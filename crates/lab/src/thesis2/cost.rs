//! Figures 2.5 and 2.8: the error at t = 1 against the time it takes to compute; and what a step costs in transforms.

use super::methods::{
    Candidate, DISCRETE_GRADIENT, DISEX, ENERGY_PRESERVING, EXPONENTIAL_MIDPOINT, MIDPOINT, NEWTON, all, distance,
    named,
};
use super::problems::{kdv_problem, nls_problem};
use crate::measure::{order_observed, time_step};
use crate::report::{Experiment, Extent, MethodResult};
use lienav_eval::plot::{Figure, Line};
use lienav_integrate::IntegrationError;
use lienav_integrate::exponential::{Iteration, SemilinearPoisson};
use nalgebra::Complex;
use rustfft::FftPlanner;
use std::hint::black_box;
use std::time::{Duration, Instant};

/// Figure 2.5, and the cost of a step on 401 nodes.
pub(super) fn nls(extent: Extent) -> Result<Experiment, IntegrationError> {
    let (nodes, most, newton, classical) = match extent {
        Extent::Full => (161, 2560, 160, vec![4000, 8000, 16_000, 32_000]),
        Extent::Quick => (41, 80, 20, vec![400, 800, 1600]),
    };
    let (problem, start) = nls_problem(nodes)?;
    let steps = |name: &str| match name {
        MIDPOINT | DISCRETE_GRADIENT => classical.clone(),
        NEWTON => doubled(10, newton),
        _ => doubled(10, most),
    };
    let mut experiment = Experiment {
        name: "nls-cost".into(),
        about: format!("Nonlinear Schrödinger equation, n = {nodes}, ψ(x, 0) = 1/(2 + cos x) (figure 2.5). {MEASURED}"),
        ..Experiment::default()
    };
    let title = "Figure 2.5: error against time of computation, NLS";
    fill(&mut experiment, ("figure-2.5", title), &problem, &start, &steps, (2 * most, budget(extent)))?;
    in_transforms(&mut experiment, extent)?;
    Ok(experiment)
}

/// Figure 2.8.
pub(super) fn kdv(extent: Extent) -> Result<Experiment, IntegrationError> {
    let (nodes, least, most, classical) = match extent {
        Extent::Full => (1001, 200, 6400, vec![40_000, 80_000]),
        Extent::Quick => (101, 100, 400, Vec::new()),
    };
    let (problem, start) = kdv_problem(nodes)?;
    let steps = |name: &str| match name {
        MIDPOINT | DISCRETE_GRADIENT => classical.clone(),
        // As in the text: a factorization in every step is out of proportion here.
        NEWTON => Vec::new(),
        _ => doubled(least, most),
    };
    let mut experiment = Experiment {
        name: "kdv-cost".into(),
        about: format!(
            "Korteweg–de Vries equation, ν = 5·10⁻⁴, n = {nodes}, u(x, 0) = sech²(5(x − π)) (figure 2.8). {MEASURED}"
        ),
        ..Experiment::default()
    };
    let title = "Figure 2.8: error against time of computation, KdV";
    fill(&mut experiment, ("figure-2.8", title), &problem, &start, &steps, (2 * most, budget(extent)))?;
    Ok(experiment)
}

/// How long runs are timed for, for each method and step size.
fn budget(extent: Extent) -> Duration {
    Duration::from_millis(if extent == Extent::Full { 500 } else { 1 })
}

const MEASURED: &str = "Error: the largest of a nodal value at t = 1 against DISEX with half the smallest step. Time: \
                        the shortest of up to twenty runs on one core; step sizes with which a method does not get \
                        there are left out.";

/// from, 2 from, 4 from, … up to `to`.
fn doubled(from: usize, to: usize) -> Vec<usize> {
    std::iter::successors(Some(from), |steps| Some(2 * steps)).take_while(|steps| *steps <= to).collect()
}

/// Runs all methods to t = 1 with so many steps; orders, and errors over times as a figure.
fn fill<P: SemilinearPoisson>(
    experiment: &mut Experiment,
    (file, title): (&str, &str),
    problem: &P,
    start: &[f64],
    steps: &dyn Fn(&str) -> Vec<usize>,
    (reference, budget): (usize, Duration),
) -> Result<(), IntegrationError> {
    let mut exact = start.to_vec();
    for disex in named(&[DISEX]) {
        (disex.make)(problem, 1.0 / reference as f64, Iteration::default()).run(reference, &mut exact)?;
    }
    let mut lines = Vec::new();
    for candidate in all::<P>() {
        let (mut by_step, mut by_time) = (Vec::new(), Vec::new());
        for count in steps(candidate.name) {
            if let Some((state, seconds)) = timed(problem, start, &candidate, count, budget) {
                let error = distance(&state, &exact);
                by_step.push((1.0 / count as f64, error));
                by_time.push((seconds, error));
            }
        }
        let Some(&(least_step, least_error)) = by_step.last() else { continue };
        let values = vec![
            ("order_expected", candidate.order),
            ("order_observed", order_observed(&by_step)),
            ("step_max", by_step[0].0),
            ("step_min", least_step),
            ("error_at_step_min", least_error),
            ("seconds_at_step_max", by_time[0].0),
        ];
        experiment.methods.push(MethodResult { name: candidate.name.into(), values });
        lines.push(Line { name: candidate.name.into(), points: by_time, marked: true, ..Line::default() });
    }
    experiment.figures.push(Figure {
        file: file.into(),
        title: title.into(),
        x_label: "time of computation [s]".into(),
        y_label: "error at t = 1".into(),
        x_log: true,
        y_log: true,
        lines,
        ..Figure::default()
    });
    Ok(())
}

/// At most so many runs are timed.
const RUNS: usize = 20;

/// The state at t = 1 and the time that took, s; `None` where the method does not get there. No further run begins
/// once all have taken as long as `budget`.
fn timed<P: SemilinearPoisson>(
    problem: &P,
    start: &[f64],
    candidate: &Candidate<P>,
    steps: usize,
    budget: Duration,
) -> Option<(Vec<f64>, f64)> {
    let mut shortest = f64::INFINITY;
    let mut state = Vec::new();
    let all_runs = Instant::now();
    for _ in 0..RUNS {
        state = start.to_vec();
        let clock = Instant::now();
        (candidate.make)(problem, 1.0 / steps as f64, Iteration::default()).run(steps, &mut state).ok()?;
        shortest = shortest.min(clock.elapsed().as_secs_f64());
        if all_runs.elapsed() >= budget {
            break;
        }
    }
    Some((state, shortest))
}

/// What a step of the exponential methods takes on 401 nodes, in pairs of complex transforms of that length.
fn in_transforms(experiment: &mut Experiment, extent: Extent) -> Result<(), IntegrationError> {
    let nodes = 401;
    let budget = budget(extent);
    let (problem, start) = nls_problem(nodes)?;
    let mut planner = FftPlanner::new();
    let (forward, backward) = (planner.plan_fft_forward(nodes), planner.plan_fft_inverse(nodes));
    let mut field = vec![Complex::new(1e-3, 0.0); nodes];
    let mut scratch =
        vec![Complex::new(0.0, 0.0); forward.get_inplace_scratch_len().max(backward.get_inplace_scratch_len())];
    let pair = time_step(budget, || {
        forward.process_with_scratch(&mut field, &mut scratch);
        backward.process_with_scratch(&mut field, &mut scratch);
        field.iter_mut().for_each(|x| *x /= nodes as f64);
        black_box(&mut field);
    });
    for candidate in named(&[EXPONENTIAL_MIDPOINT, ENERGY_PRESERVING, DISEX]) {
        let mut method = (candidate.make)(&problem, 0.01, Iteration::default());
        let mut state = start.clone();
        let (mut iterations, mut steps, mut failed) = (0, 0, None);
        let step = time_step(budget, || match method.step(0.0, &mut state) {
            Ok(of_step) => (iterations, steps) = (iterations + of_step, steps + 1),
            Err(error) => failed = Some(error),
        });
        if let Some(error) = failed {
            return Err(error);
        }
        let iterations = iterations as f64 / f64::from(steps);
        let values = vec![
            ("step_ns_n401", step.least_ns),
            ("transform_pair_ns_n401", pair.least_ns),
            ("iterations_mean_n401", iterations),
            ("transform_pairs_per_iteration_n401", step.least_ns / pair.least_ns / iterations),
        ];
        if let Some(method) = experiment.methods.iter_mut().find(|method| method.name == candidate.name) {
            method.values.extend(values);
        }
    }
    Ok(())
}
