//! Figures 2.2–2.4, 2.6 and 2.7: errors of energy and trajectory over time.

use super::methods::{Candidate, DISEX, ENERGY_PRESERVING, EXPONENTIAL_MIDPOINT, distance, named};
use super::problems::{kdv_problem, nls_problem};
use crate::measure::{self, drift};
use crate::report::{Experiment, Extent, MethodResult};
use lienav_eval::plot::{Figure, Line};
use lienav_integrate::IntegrationError;
use lienav_integrate::exponential::{Iteration, SemilinearPoisson};
use rayon::prelude::*;

/// A run of the figures.
struct Run {
    method: &'static str,
    /// The number of the figure in the text.
    figure: &'static str,
    step: f64,
    /// How far it goes.
    time: f64,
}

/// Figures 2.2, 2.3 and 2.4.
pub(super) fn nls(extent: Extent) -> Result<Experiment, IntegrationError> {
    let (nodes, time, reference) = match extent {
        Extent::Full => (161, 100.0, 1e-3),
        Extent::Quick => (41, 2.0, 5e-3),
    };
    let (problem, start) = nls_problem(nodes)?;
    let runs = [
        Run { method: EXPONENTIAL_MIDPOINT, figure: "2.2", step: 0.01, time },
        Run { method: ENERGY_PRESERVING, figure: "2.3", step: 0.1, time },
        Run { method: DISEX, figure: "2.4", step: 0.01, time },
    ];
    let about = format!("Nonlinear Schrödinger equation, n = {nodes}, ψ(x, 0) = 1/(2 + cos x), to t = {time}");
    let mut experiment = compare("nls-long-time", &about, &problem, &start, &runs, (time, reference))?;
    if extent == Extent::Full {
        let (problem, start) = nls_problem(401)?;
        on_the_finest_grid(&mut experiment, "energy_error_max_n401", &problem, &start, &runs);
    }
    Ok(experiment)
}

/// Figures 2.6 and 2.7.
pub(super) fn kdv(extent: Extent) -> Result<Experiment, IntegrationError> {
    let (time, compared, reference) = match extent {
        Extent::Full => (100.0, 10.0, 1.25e-4),
        Extent::Quick => (0.2, 0.1, 5e-4),
    };
    let (problem, start) = kdv_problem(401)?;
    let runs = [
        Run { method: EXPONENTIAL_MIDPOINT, figure: "2.6", step: 5e-4, time },
        Run { method: ENERGY_PRESERVING, figure: "2.7", step: 0.005, time },
    ];
    let about = format!(
        "Korteweg–de Vries equation, ν = 5·10⁻⁴, n = 401, u(x, 0) = sech²(5(x − π)), to t = {time}; trajectories \
         compared to t = {compared}"
    );
    let mut experiment = compare("kdv-long-time", &about, &problem, &start, &runs, (compared, reference))?;
    if extent == Extent::Full {
        let (problem, start) = kdv_problem(1401)?;
        on_the_finest_grid(&mut experiment, "energy_error_max_n1401", &problem, &start, &runs);
    }
    Ok(experiment)
}

/// Adds how well the energy is kept, by the method that promises to, on the finest grid of the tables.
fn on_the_finest_grid<P: SemilinearPoisson>(
    experiment: &mut Experiment,
    key: &'static str,
    problem: &P,
    start: &[f64],
    runs: &[Run],
) {
    for run in runs.iter().filter(|run| run.method == ENERGY_PRESERVING) {
        for candidate in named(&[run.method]) {
            let outcome = outcome(problem, start, &candidate, run, f64::INFINITY, &[]);
            let error = if outcome.failed.is_some() { f64::NAN } else { largest(&outcome.energy) };
            for result in experiment.methods.iter_mut().filter(|result| result.name == run.method) {
                result.values.push((key, error));
            }
        }
    }
}

/// The largest error of a course.
fn largest(points: &[(f64, f64)]) -> f64 {
    measure::largest(points.iter().map(|point| point.1))
}

/// How many instants a trajectory is compared at.
const INSTANTS: usize = 200;

/// What came out of a run.
struct Outcome {
    /// (t, relative energy error) at every step.
    energy: Vec<(f64, f64)>,
    /// (t, largest error of a nodal value).
    trajectory: Vec<(f64, f64)>,
    iterations_mean: f64,
    /// Where it ended before its time.
    failed: Option<IntegrationError>,
}

fn compare<P: SemilinearPoisson + Sync>(
    name: &str,
    about: &str,
    problem: &P,
    start: &[f64],
    runs: &[Run],
    (compared, reference_step): (f64, f64),
) -> Result<Experiment, IntegrationError> {
    let interval = compared / INSTANTS as f64;
    let references = reference(problem, start, interval, reference_step)?;
    let mut experiment = Experiment {
        name: name.into(),
        about: format!(
            "{about}. Trajectory errors are the largest of a nodal value against DISEX with h = {reference_step} (which \
             has converged to far below what is compared)."
        ),
        ..Experiment::default()
    };
    let outcomes: Vec<_> = runs
        .par_iter()
        .map(|run| {
            named(&[run.method]).first().map(|method| outcome(problem, start, method, run, interval, &references))
        })
        .collect();
    for (run, outcome) in runs.iter().zip(outcomes) {
        let Some(outcome) = outcome else { continue };
        if let (Some(failed), true) = (outcome.failed, outcome.energy.is_empty()) {
            return Err(failed);
        }
        experiment.methods.push(result(run, &outcome));
        experiment.figures.extend(figures(run, outcome));
    }
    Ok(experiment)
}

/// The state every `interval`.
fn reference<P: SemilinearPoisson>(
    problem: &P,
    start: &[f64],
    interval: f64,
    step: f64,
) -> Result<Vec<Vec<f64>>, IntegrationError> {
    let steps = (interval / step).ceil().max(1.0);
    let mut state = start.to_vec();
    let mut states = Vec::with_capacity(INSTANTS);
    for method in named(&[DISEX]) {
        let mut method = (method.make)(problem, interval / steps, Iteration::default());
        for _ in 0..INSTANTS {
            method.run(steps as usize, &mut state)?;
            states.push(state.clone());
        }
    }
    Ok(states)
}

fn outcome<P: SemilinearPoisson>(
    problem: &P,
    start: &[f64],
    method: &Candidate<P>,
    run: &Run,
    interval: f64,
    references: &[Vec<f64>],
) -> Outcome {
    let mut scratch = problem.scratch();
    let mut method = (method.make)(problem, run.step, Iteration::default());
    let mut state = start.to_vec();
    let at_start = problem.energy(&state, &mut scratch);
    let mut outcome = Outcome { energy: Vec::new(), trajectory: Vec::new(), iterations_mean: f64::NAN, failed: None };
    let mut iterations = 0;
    for k in 1..=(run.time / run.step).round() as usize {
        match method.step((k - 1) as f64 * run.step, &mut state) {
            Ok(of_step) => iterations += of_step,
            Err(error) => {
                outcome.failed = Some(error);
                break;
            }
        }
        let time = k as f64 * run.step;
        outcome.energy.push((time, problem.energy(&state, &mut scratch) / at_start - 1.0));
        outcome.iterations_mean = iterations as f64 / k as f64;
        // Steps and instants meet at some of either.
        let instant = (time / interval).round();
        if instant >= 1.0
            && (instant * interval - time).abs() < 1e-9 * time
            && let Some(reference) = references.get(instant as usize - 1)
        {
            outcome.trajectory.push((time, distance(&state, reference)));
        }
    }
    outcome
}

fn result(run: &Run, outcome: &Outcome) -> MethodResult {
    let drift = drift(&outcome.energy);
    let values = vec![
        ("step", run.step),
        ("time", outcome.energy.last().map_or(0.0, |last| last.0)),
        ("energy_error_max", largest(&outcome.energy)),
        ("energy_drift_per_time", drift.map_or(f64::NAN, |fit| fit.slope)),
        ("energy_drift_standard_error", drift.map_or(f64::NAN, |fit| fit.standard_error)),
        ("trajectory_error_max", largest(&outcome.trajectory)),
        ("iterations_mean", outcome.iterations_mean),
    ];
    MethodResult { name: run.method.into(), values }
}

fn figures(run: &Run, outcome: Outcome) -> [Figure; 2] {
    let Run { method, figure, step, .. } = run;
    let draw = |part: &str, what: &str, points: Vec<(f64, f64)>| Figure {
        file: format!("figure-{figure}{part}"),
        title: format!("Figure {figure} ({part}): {what} of the method: {method}, h = {step}"),
        x_label: "t".into(),
        y_label: what.into(),
        lines: vec![Line { name: (*method).into(), points, ..Line::default() }],
        ..Figure::default()
    };
    [draw("a", "relative energy error", outcome.energy), draw("b", "trajectory error", outcome.trajectory)]
}
