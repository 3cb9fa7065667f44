//! Tables 2.3 and 2.4 and figure 2.1: the largest step with which a method still works, by number of nodes.

use super::methods::{Candidate, DISEX, EXPONENTIAL_MIDPOINT, NEWTON, all};
use super::printed::{COLUMNS, KDV, NLS, Row};
use super::problems::{kdv_problem, nls_problem};
use crate::measure::log_slope;
use crate::report::{Experiment, Extent, MethodResult, Progress, Table};
use crate::text::number;
use lienav_eval::plot::{Figure, Line};
use lienav_integrate::IntegrationError;
use lienav_integrate::exponential::{Iteration, SemilinearPoisson};
use rayon::prelude::*;
use std::sync::atomic::{AtomicUsize, Ordering};

/// What the search is made of, beside the system.
struct Search {
    /// Steps are looked for up to here, the largest of the table.
    top: f64,
    /// Length of a run in the system's time, and in steps; whichever is shorter.
    time: f64,
    steps: usize,
    /// Of quasi-Newton, which factorizes a matrix of the system's size in every step.
    newton_steps: usize,
}

/// The relative tolerance of the iterations; the text does not tell its own.
const ITERATION: Iteration = Iteration { tolerance: 1e-12, most: 100 };

/// A relative energy error beyond this is what the text calls dramatic.
const ENERGY_BOUND: f64 = 1e-2;

/// Iterations are averaged over this many steps, as in the text.
const AVERAGED_STEPS: usize = 1000;

/// Steps that are tried in every decade.
const MANTISSAS: [f64; 7] = [8.0, 6.0, 5.0, 4.0, 3.0, 2.0, 1.0];

/// The largest step, and the mean number of iterations with it.
#[derive(Clone, Copy)]
struct Found {
    step: f64,
    iterations: f64,
}

/// Table 2.3 and figure 2.1.
pub(super) fn nls(extent: Extent, progress: Progress<'_>) -> Experiment {
    let (rows, search) = match extent {
        Extent::Full => (NLS, Search { top: 0.1, time: 100.0, steps: 20_000, newton_steps: 20 }),
        Extent::Quick => (&NLS[..3], Search { top: 0.1, time: 5.0, steps: 100, newton_steps: 5 }),
    };
    let mut experiment = Experiment {
        name: "nls-largest-step".into(),
        about: about("Nonlinear Schrödinger equation, ψ(x, 0) = 1/(2 + cos x) (table 2.3 and figure 2.1)", &search),
        ..Experiment::default()
    };
    fill(&mut experiment, "2.3", rows, &search, nls_problem, progress);
    let guide = |order: i32, at_first: f64| {
        let first = rows[0].nodes as f64;
        let points = rows.iter().map(|row| (row.nodes as f64, at_first * (row.nodes as f64 / first).powi(order)));
        Line { name: format!("n^{order}"), points: points.collect(), is_guide: true, ..Line::default() }
    };
    let figure = figure(&experiment, rows, "figure-2.1", "Figure 2.1: largest step by number of nodes, NLS");
    experiment.figures.push(Figure { lines: [figure.lines, vec![guide(-1, 0.2), guide(-2, 0.06)]].concat(), ..figure });
    experiment
}

/// Table 2.4.
pub(super) fn kdv(extent: Extent, progress: Progress<'_>) -> Experiment {
    let (rows, search) = match extent {
        Extent::Full => (KDV, Search { top: 0.005, time: 100.0, steps: 20_000, newton_steps: 3 }),
        Extent::Quick => (&KDV[..1], Search { top: 0.005, time: 1.0, steps: 20, newton_steps: 0 }),
    };
    let mut experiment = Experiment {
        name: "kdv-largest-step".into(),
        about: about("Korteweg–de Vries equation, ν = 5·10⁻⁴, u(x, 0) = sech²(5(x − π)) (table 2.4)", &search),
        ..Experiment::default()
    };
    fill(&mut experiment, "2.4", rows, &search, kdv_problem, progress);
    let figure = figure(&experiment, rows, "largest-step-kdv", "Largest step by number of nodes, KdV (table 2.4)");
    experiment.figures.push(figure);
    experiment
}

fn about(system: &str, search: &Search) -> String {
    format!(
        "{system}. Largest step with which, and with all smaller ones of the same decade, iterations converge \
         (tolerance {:e}, 100 at most) and the relative energy error stays below {ENERGY_BOUND} until t = {} or for {} \
         steps (quasi-Newton: {}); tried are 1, 2, 3, 4, 5, 6, 8 of every decade up to {}. Iterations: mean over the \
         first {AVERAGED_STEPS} steps.",
        ITERATION.tolerance, search.time, search.steps, search.newton_steps, search.top
    )
}

/// The problem on a grid of n points, and its initial data.
type OnGrid<P> = fn(usize) -> Result<(P, Vec<f64>), IntegrationError>;

/// What a table shows: its name, the key of the results, and the text's number.
type Quantity = (&'static str, fn(&Row) -> &'static str, fn((f64, f64)) -> f64);

/// Searches for all methods and rows, and fills results and tables.
fn fill<P: SemilinearPoisson + Sync>(
    experiment: &mut Experiment,
    table: &str,
    rows: &[Row],
    search: &Search,
    problem: OnGrid<P>,
    progress: Progress<'_>,
) {
    let candidates = all::<P>();
    let candidates: Vec<_> =
        candidates.into_iter().filter(|candidate| candidate.name != NEWTON || search.newton_steps > 0).collect();
    // The dearest first, so that no core is left idle in the end.
    let mut jobs: Vec<(usize, usize)> =
        (0..rows.len()).rev().flat_map(|row| (0..candidates.len()).map(move |method| (method, row))).collect();
    let done = AtomicUsize::new(0);
    let count = jobs.len() as f64;
    let mut found: Vec<_> = jobs
        .par_drain(..)
        .with_max_len(1)
        .map(|(method, row)| {
            let found = problem(rows[row].nodes)
                .ok()
                .and_then(|(problem, start)| largest_step(&problem, &start, &candidates[method], search));
            progress((done.fetch_add(1, Ordering::Relaxed) + 1) as f64 / count);
            (method, row, found)
        })
        .collect();
    found.sort_by_key(|(method, row, _)| (*method, *row));
    for (candidate, found) in candidates.iter().zip(found.chunks(rows.len())) {
        let steps: Vec<_> =
            found.iter().filter_map(|(_, row, found)| Some((rows[*row].nodes as f64, (*found)?.step))).collect();
        let mut values = vec![("step_scaling_slope", scaling(&steps, search.top))];
        for (_, row, found) in found {
            let keys = rows[*row].keys;
            values.push((keys.0, found.map_or(f64::NAN, |found| found.step)));
            values.push((keys.1, found.map_or(f64::NAN, |found| found.iterations)));
        }
        experiment.methods.push(MethodResult { name: candidate.name.into(), values });
    }
    let quantities: [Quantity; 2] =
        [("largest step", |row| row.keys.0, |cell| cell.0), ("mean iterations", |row| row.keys.1, |cell| cell.1)];
    for (quantity, key, printed) in quantities {
        experiment.tables.push(beside_the_text(&experiment.methods, rows, table, quantity, key, printed));
    }
}

/// The exponent of n, over the grids that bind the step at all; 0 where none does.
fn scaling(steps: &[(f64, f64)], top: f64) -> f64 {
    let bound: Vec<_> = steps.iter().copied().filter(|(_, step)| *step < 0.999 * top).collect();
    if bound.is_empty() && !steps.is_empty() {
        return 0.0;
    }
    log_slope(&bound).map_or(f64::NAN, |fit| fit.slope)
}

fn beside_the_text(
    methods: &[MethodResult],
    rows: &[Row],
    table: &str,
    quantity: &str,
    key: fn(&Row) -> &'static str,
    printed: fn((f64, f64)) -> f64,
) -> Table {
    let mut columns = vec!["n".to_owned()];
    for method in methods {
        columns.push(method.name.clone());
        if COLUMNS.contains(&method.name.as_str()) {
            columns.push("(text)".to_owned());
        }
    }
    let cells = |row: &Row| {
        let mut cells = vec![row.nodes.to_string()];
        for method in methods {
            let value = method.values.iter().find(|(k, _)| *k == key(row)).map_or(f64::NAN, |(_, value)| *value);
            cells.push(number(value));
            if let Some(column) = COLUMNS.iter().position(|name| *name == method.name) {
                cells.push(format!("({})", number(printed(row.cells[column]))));
            }
        }
        cells
    };
    Table { title: format!("Table {table}: {quantity}"), columns, rows: rows.iter().map(cells).collect() }
}

fn figure(experiment: &Experiment, rows: &[Row], file: &str, title: &str) -> Figure {
    let line = |method: &MethodResult| {
        let step = |row: &Row| method.values.iter().find(|(key, _)| *key == row.keys.0).map(|(_, step)| *step);
        let points = rows.iter().filter_map(|row| Some((row.nodes as f64, step(row)?))).collect();
        Line { name: method.name.clone(), points, marked: true, ..Line::default() }
    };
    Figure {
        file: file.into(),
        title: title.into(),
        x_label: "number of nodes n".into(),
        y_label: "largest step h".into(),
        x_log: true,
        y_log: true,
        lines: experiment.methods.iter().map(line).collect(),
        ..Figure::default()
    }
}

/// Goes down until iterations converge, then looks whether this and the smaller steps are stable as well. Exponential
/// methods that are symplectic are unstable at isolated step sizes, where $2k^2h$ comes near a multiple of 2π: one
/// that has such a gap below it is no step to rely on.
fn largest_step<P: SemilinearPoisson>(
    problem: &P,
    start: &[f64],
    candidate: &Candidate<P>,
    search: &Search,
) -> Option<Found> {
    let ladder: Vec<f64> =
        (0..8).flat_map(|decade| MANTISSAS.map(|mantissa| mantissa * 10_f64.powi(-2 - decade))).collect();
    let ladder: Vec<f64> = std::iter::once(0.1).chain(ladder).filter(|step| *step <= search.top * 1.001).collect();
    let steps = if candidate.name == NEWTON { search.newton_steps } else { search.steps };
    let works = |step: f64, steps: usize| works(problem, start, candidate, step, search.time, steps);
    let first = ladder.iter().position(|step| works(*step, steps.min(20)).is_some())?;
    let decade = if [EXPONENTIAL_MIDPOINT, DISEX].contains(&candidate.name) { MANTISSAS.len() } else { 1 };
    // From small steps to large ones, up to the first that fails.
    let mut last = ladder.len().min(first + decade);
    loop {
        let stable = ladder[first..last].iter().rev().map_while(|step| Some((step, works(*step, steps)?))).last();
        if let Some((step, iterations)) = stable {
            return Some(Found { step: *step, iterations });
        }
        if last == ladder.len() {
            return None;
        }
        last = ladder.len().min(last + decade);
    }
}

/// Runs with a step; the mean number of iterations where that works.
fn works<P: SemilinearPoisson>(
    problem: &P,
    start: &[f64],
    candidate: &Candidate<P>,
    step: f64,
    time: f64,
    steps: usize,
) -> Option<f64> {
    let mut scratch = problem.scratch();
    let mut method = (candidate.make)(problem, step, ITERATION);
    let mut state = start.to_vec();
    let energy = problem.energy(&state, &mut scratch);
    let steps = ((time / step).ceil() as usize).clamp(1, steps);
    let mut iterations = 0;
    for k in 0..steps {
        let of_step = method.step(k as f64 * step, &mut state).ok()?;
        if k < AVERAGED_STEPS {
            iterations += of_step;
        }
        if k % 10 == 9 || k + 1 == steps {
            let error = (problem.energy(&state, &mut scratch) / energy - 1.0).abs();
            // Also what is not a number ends here.
            (error <= ENERGY_BOUND).then_some(())?;
        }
    }
    Some(iterations as f64 / steps.min(AVERAGED_STEPS) as f64)
}
