//! Orders, the Poisson structure and the energy over many steps, on a small system.

use super::methods::{Candidate, DISEX, all, distance, named};
use super::problems::nls_problem;
use crate::measure::{drift, largest, order_observed};
use crate::report::{Experiment, Extent, MethodResult};
use lienav_eval::plot::{Figure, Line};
use lienav_integrate::IntegrationError;
use lienav_integrate::exponential::{Iteration, SemilinearPoisson};
use nalgebra::{Complex, DMatrix};

/// Nodes of the small system.
const NODES: usize = 9;

/// The step size of the long runs.
const STEP: f64 = 0.01;

/// Orders are looked for among steps that are no larger: there the longest stage of DISEX, 2.02 h, takes the fastest
/// mode, of frequency 16, through less than a radian. With larger ones its errors fall faster than h⁵, by up to h^5.6.
const RESOLVED_STEP: f64 = 1.0 / 40.0;

/// The step that is put to the test of the Poisson structure; the fixed-point iterations without exponentials bear it,
/// too.
const TESTED_STEP: f64 = 0.05;

/// Every method on nine nodes: orders of convergence, |(∇φ)J(∇φ)ᵀ − J|, and the energy over 10⁴ steps.
pub(super) fn run(extent: Extent) -> Result<Experiment, IntegrationError> {
    let steps = if extent == Extent::Full { 10_000 } else { 2_000 };
    let (problem, start) = nls_problem(NODES)?;
    let mut exact = start.clone();
    for disex in named(&[DISEX]) {
        (disex.make)(&problem, 1.0 / 1280.0, Iteration::default()).run(1280, &mut exact)?;
    }
    let mut experiment = Experiment {
        name: "nls-small".into(),
        about: format!(
            "Nonlinear Schrödinger equation, n = {NODES}: orders from the error at t = 1 with steps from \
             {RESOLVED_STEP} down, the defect of the Poisson structure of \
             one step of {TESTED_STEP} by differences of order 4, and the relative energy error over {steps} steps of \
             {STEP}."
        ),
        ..Experiment::default()
    };
    let mut lines = Vec::new();
    for candidate in all() {
        let errors: Vec<_> = [10, 20, 40, 80, 160, 320, 640]
            .into_iter()
            .filter_map(|count: u32| {
                let mut state = start.clone();
                let step = 1.0 / f64::from(count);
                (candidate.make)(&problem, step, Iteration::default()).run(count as usize, &mut state).ok()?;
                Some((step, distance(&state, &exact)))
            })
            .collect();
        let resolved: Vec<_> = errors.iter().copied().filter(|(step, _)| *step <= RESOLVED_STEP).collect();
        let energy = energy_errors(&problem, &start, &candidate, steps)?;
        let drift = drift(&energy);
        let values = vec![
            ("order_expected", candidate.order),
            ("order_observed", order_observed(&resolved)),
            ("poisson_defect_max", poisson_defect(&problem, &start, &candidate)?),
            ("energy_error_max", largest(energy.iter().map(|point| point.1))),
            ("energy_drift_per_time", drift.map_or(f64::NAN, |fit| fit.slope)),
            ("energy_drift_standard_error", drift.map_or(f64::NAN, |fit| fit.standard_error)),
        ];
        experiment.methods.push(MethodResult { name: candidate.name.into(), values });
        lines.push(Line { name: candidate.name.into(), points: errors, marked: true, ..Line::default() });
    }
    experiment.figures.push(Figure {
        file: "order".into(),
        title: format!("Errors at t = 1, NLS on {NODES} nodes"),
        x_label: "step h".into(),
        y_label: "error".into(),
        x_log: true,
        y_log: true,
        lines,
        ..Figure::default()
    });
    Ok(experiment)
}

/// (t, relative error) at every step.
fn energy_errors<P: SemilinearPoisson>(
    problem: &P,
    start: &[f64],
    candidate: &Candidate<P>,
    steps: usize,
) -> Result<Vec<(f64, f64)>, IntegrationError> {
    let mut scratch = problem.scratch();
    let mut method = (candidate.make)(problem, STEP, Iteration::default());
    let mut state = start.to_vec();
    let at_start = problem.energy(&state, &mut scratch);
    let mut errors = Vec::with_capacity(steps);
    for k in 0..steps {
        method.step(k as f64 * STEP, &mut state)?;
        errors.push(((k + 1) as f64 * STEP, problem.energy(&state, &mut scratch) / at_start - 1.0));
    }
    Ok(errors)
}

/// The largest entry of $(\nablaφ)J(\nablaφ)^\top - J$ for one step φ from `start`.
fn poisson_defect<P: SemilinearPoisson>(
    problem: &P,
    start: &[f64],
    candidate: &Candidate<P>,
) -> Result<f64, IntegrationError> {
    let (dim, delta) = (start.len(), 1e-3);
    let mut method = (candidate.make)(problem, TESTED_STEP, Iteration::default());
    let mut jacobian = DMatrix::zeros(dim, dim);
    for i in 0..dim {
        let mut column = jacobian.column_mut(i);
        for (shift, weight) in [(-2.0, 1.0), (-1.0, -8.0), (1.0, 8.0), (2.0, -1.0)] {
            let mut state = start.to_vec();
            state[i] += shift * delta;
            method.step(0.0, &mut state)?;
            column.iter_mut().zip(&state).for_each(|(entry, x)| *entry += weight * x / (12.0 * delta));
        }
    }
    let one = problem.function_of_structure(&|_| Complex::new(1.0, 0.0));
    let mut structure = DMatrix::zeros(dim, dim);
    let mut scratch = problem.scratch();
    for (i, column) in structure.as_mut_slice().chunks_exact_mut(dim).enumerate() {
        let mut unit = vec![0.0; dim];
        unit[i] = 1.0;
        problem.apply(&one, &unit, column, &mut scratch);
    }
    Ok((&jacobian * &structure * jacobian.transpose() - structure).amax())
}
