//! Section 5.3 with variable steps: figures 8 to 11, and every pair on two pendulums.

use super::pendulums::{classical, second_angular_accelerations, unit_chain};
use super::runs::{advance, time_figure};
use crate::measure::log_slope;
use crate::{Experiment, Extent, Figure, Line, MethodResult, Table, number};
use lienav_eval::plot::Look;
use lienav_integrate::adaptive::{StepControl, integrate};
use lienav_integrate::commutator_free::{CF32A, CF32B, CF43};
use lienav_integrate::dynamics::pendulum_chain::PendulumChain;
use lienav_integrate::rkmk::{RKMK32, RKMK43, RKMK54};
use lienav_integrate::{EmbeddedMethod, IntegrationError, LieGroupMethod, VectorField};
use lienav_lie::{HomogeneousSpace, Ts2};
use std::time::Instant;

const END: f64 = 3.0;
const TOLERANCE: f64 = 1e-6;
const STRICT: f64 = 1e-12;

/// What the step is at first; nothing depends on it after the first two or three.
const FIRST_STEP: f64 = 0.01;

/// Every pair at several tolerances; figures 9 and 11.
pub(super) fn two_pendulums(extent: Extent) -> Result<Experiment, IntegrationError> {
    let mut experiment = Experiment {
        name: "variable-step-two-pendulums".into(),
        about: "Two pendulums over [0, 3] with step control (33): θ = 0.85, steps changing by factors of 0.2 to 5, \
                first step 0.01 (ours). Errors at t = 3 in R¹² against the pair 5(4) in R¹² with tolerance 1e-12 (ODE45 \
                in the text). Columns are for tolerance 1e-6: error, accepted and rejected steps, wall time; \
                error_constant is that of the same method with as many constant steps; tolerance_exponent is the slope \
                of ln error against ln tolerance."
            .into(),
        ..Experiment::default()
    };
    let Some((chain, start)) = unit_chain::<2>() else { return Ok(experiment) };
    let reference = classical(&chain, &start, END, STRICT, |_, _, _| ())?;
    let reference: [Ts2; 2] = std::array::from_fn(|i| reference[i]);
    let pairs: [&dyn EmbeddedMethod<[Ts2; 2], PendulumChain>; 6] = [&RKMK54, &RKMK43, &RKMK32, &CF43, &CF32A, &CF32B];
    let tolerances: &[f64] =
        if extent == Extent::Full { &[1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9] } else { &[1e-5, 1e-6, 1e-7] };
    let mut work = Vec::new();
    for pair in pairs {
        let (mut points, mut by_tolerance) = (Vec::new(), Vec::new());
        let mut values = Vec::new();
        for &tolerance in tolerances {
            let control = StepControl::new(tolerance);
            let clock = Instant::now();
            let run = integrate(pair, &chain, &start, (0.0, END), FIRST_STEP, &control, |_, _, _| ());
            let during = format!("tolerance {tolerance:e}");
            let Some((end, counts)) = experiment.found(&pair.name(), &during, run) else { continue };
            let milliseconds = clock.elapsed().as_secs_f64() * 1e3;
            let error = end.distance(&reference);
            let tries = (counts.accepted + counts.rejected) as f64;
            points.push((tries, error));
            by_tolerance.push((tolerance, error));
            if tolerance == TOLERANCE {
                let steps = u32::try_from(counts.accepted).unwrap_or(u32::MAX);
                let constant = advance(&ConstantStep(pair), &chain, &start, END, steps, |_, _| ());
                values = vec![
                    ("error_variable", error),
                    ("error_constant", constant.map_or(f64::NAN, |end| end.distance(&reference))),
                    ("steps_accepted", counts.accepted as f64),
                    ("steps_rejected", counts.rejected as f64),
                    ("run_ms", milliseconds),
                ];
            }
        }
        let slope = log_slope(&by_tolerance);
        values.push(("tolerance_exponent", slope.map_or(f64::NAN, |fit| fit.slope)));
        experiment.methods.push(MethodResult { name: pair.name(), values });
        work.push(Line { name: pair.name(), points, marked: true, ..Line::default() });
    }
    experiment.figures = figures_of_two(&chain, &start)?;
    experiment.figures.push(Figure {
        file: "work-precision".into(),
        title: "Two pendulums: error at t = 3 over steps tried, tolerances 1e-4 to 1e-9".into(),
        x_label: "steps tried".into(),
        y_label: "error".into(),
        x_log: true,
        y_log: true,
        lines: work,
        ..Figure::default()
    });
    Ok(experiment)
}

/// A pair taken for its main method.
struct ConstantStep<'a, M, F>(&'a dyn EmbeddedMethod<M, F>);

impl<M: HomogeneousSpace, F: VectorField<M>> LieGroupMethod<M, F> for ConstantStep<'_, M, F> {
    fn name(&self) -> String {
        self.0.name()
    }
    fn order(&self) -> usize {
        self.0.order()
    }
    fn step(&self, field: &F, y: &M, time: f64, h: f64) -> Result<M, IntegrationError> {
        self.0.step(field, y, time, h)
    }
}

/// A component's name, and where it is.
type Component = (&'static str, fn(&Ts2) -> f64);

/// The six components of a pendulum's state.
const COMPONENTS: [Component; 6] = [
    ("q x", |rod| rod.q.x),
    ("q y", |rod| rod.q.y),
    ("q z", |rod| rod.q.z),
    ("ω x", |rod| rod.omega.x),
    ("ω y", |rod| rod.omega.y),
    ("ω z", |rod| rod.omega.z),
];

/// Figures 9 and 11: RKMK 5(4) with variable and RKMK 5 with constant steps, and the reference.
fn figures_of_two(chain: &PendulumChain, start: &[Ts2; 2]) -> Result<Vec<Figure>, IntegrationError> {
    type Trace = Vec<(f64, Vec<Ts2>)>;
    let (mut variable, mut constant, mut reference): (Trace, Trace, Trace) = Default::default();
    let (mut steps, mut ode_steps) = (Vec::new(), Vec::new());
    let control = StepControl::new(TOLERANCE);
    let (_, counts) = integrate(&RKMK54, chain, start, (0.0, END), FIRST_STEP, &control, |t, h, y| {
        steps.push((t, h));
        variable.push((t, y.to_vec()));
    })?;
    let count = u32::try_from(counts.accepted).unwrap_or(u32::MAX);
    advance(&RKMK54, chain, start, END, count, |t, y| constant.push((t, y.to_vec())))?;
    classical(chain, start, END, TOLERANCE, |t, h, _| ode_steps.push((t, h)))?;
    classical(chain, start, END, STRICT, |t, _, y| reference.push((t, y.to_vec())))?;
    let line = |name: &str, trace: &Trace, marked: bool, value: &dyn Fn(&[Ts2]) -> f64| Line {
        name: name.into(),
        points: trace.iter().map(|(t, y)| (*t, value(y))).collect(),
        marked,
        ..Line::default()
    };
    let mut figures = Vec::new();
    let runs = [("variable", &variable), ("constant", &constant), ("strict", &reference)];
    for (index, file) in ["figure-9a", "figure-9b"].into_iter().enumerate() {
        let mut lines = Vec::new();
        // A colour for each of the six components, a stroke for each of the three solutions.
        for (color, (name, component)) in COMPONENTS.iter().enumerate() {
            for (stroke, (run, trace)) in runs.iter().enumerate() {
                let line = line(&format!("{name}, {run}"), trace, false, &|y| component(&y[index]));
                lines.push(Line { look: Some(Look { color, stroke }), ..line });
            }
        }
        let title = format!("Components of pendulum {} (figure 9)", index + 1);
        figures.push(time_figure(file, &title, "q, ω", false, lines));
    }
    let constant_steps = constant.iter().map(|(t, _)| (*t, END / f64::from(count))).collect();
    figures.push(step_figure("figure-11a", "Two pendulums: steps (figure 11 a)", steps, ode_steps, constant_steps));
    let late = |trace: &Trace| trace.iter().filter(|(t, _)| *t >= 2.1).cloned().collect::<Trace>();
    let mut zoom = Vec::new();
    for (name, trace) in [("variable", late(&variable)), ("constant", late(&constant)), ("strict", late(&reference))] {
        for index in 0..2 {
            zoom.push(line(&format!("ω{} y, {name}", index + 1), &trace, name != "strict", &|y| y[index].omega.y));
        }
    }
    figures.push(time_figure("figure-11b", "Second components of ω, t ≥ 2.1 (figure 11 b)", "ω y", false, zoom));
    let accelerations = (0..2)
        .map(|index| {
            line(&format!("ω̇{} y", index + 1), &reference, false, &|y| second_angular_accelerations(chain, y)[index])
        })
        .collect();
    figures.push(time_figure("figure-11c", "Second components of ω̇ (figure 11 c)", "ω̇ y", false, accelerations));
    Ok(figures)
}

fn step_figure(
    file: &str,
    title: &str,
    variable: Vec<(f64, f64)>,
    ode: Vec<(f64, f64)>,
    constant: Vec<(f64, f64)>,
) -> Figure {
    let line = |name: &str, points| Line { name: name.into(), points, ..Line::default() };
    let lines = vec![line("RKMK 5(4)", variable), line("ODE45", ode), line("RKMK 5, constant", constant)];
    time_figure(file, title, "h", true, lines)
}

const OF_UNIT_LENGTH: &str = "RKMK 5(4), L = 1";
const OF_SHARES: &str = "RKMK 5(4), L = 5/N";

/// Figures 8 and 10: chains of 2 to 20 links.
pub(super) fn chains(extent: Extent) -> Result<Experiment, IntegrationError> {
    let counts: &[usize] = if extent == Extent::Full { &[2, 4, 6, 8, 10, 12, 14, 16, 18, 20] } else { &[2, 5] };
    let mut experiment = Experiment {
        name: "pendulum-chains".into(),
        about: "Chains of N pendulums, masses 1, over [0, 3] from q = (√2/2, 0, √2/2), ω = (0, 1, 0), with lengths 1 \
                (figure 8) and 5/N (figure 10): RKMK 5(4), tolerance 1e-6, against RKMK 5 with as many constant steps. \
                Errors at t = 3 in R⁶ᴺ against the pair 5(4) in R⁶ᴺ with tolerance 1e-12; values are for the longest \
                chain."
            .into(),
        ..Experiment::default()
    };
    for (figure, length) in [("8", None), ("10", Some(5.0))] {
        let (mut variable_line, mut constant_line) = (Vec::new(), Vec::new());
        let mut table = Table {
            title: format!(
                "Accuracy at t = 3, lengths {} (figure {figure}, left)",
                if length.is_none() { "1" } else { "5/N" }
            ),
            columns: ["N", "steps", "rejected", "variable", "constant", "|1 − q·q| + |q·ω|"].map(Into::into).into(),
            rows: Vec::new(),
        };
        for &count in counts {
            let rod = length.map_or(1.0, |total: f64| total / count as f64);
            // These lengths are positive.
            let Ok(chain) = PendulumChain::of_equal_links(count, rod) else { continue };
            let start = chain.start_of_celledoni();
            let (mut steps, mut ode_steps) = (Vec::new(), Vec::new());
            let (name, during) = (if length.is_none() { OF_UNIT_LENGTH } else { OF_SHARES }, format!("N = {count}"));
            let reference = classical(&chain, &start, END, STRICT, |_, _, _| ());
            let Some(reference) = experiment.found("ODE45", &format!("{during}, tolerance {STRICT:e}"), reference)
            else {
                continue;
            };
            let control = StepControl::new(TOLERANCE);
            let run = integrate(&RKMK54, &chain, &start, (0.0, END), FIRST_STEP, &control, |t, h, _| {
                steps.push((t, h));
            });
            let Some((end, tried)) = experiment.found(name, &during, run) else { continue };
            let number_of_steps = u32::try_from(tried.accepted).unwrap_or(u32::MAX);
            // Too few steps may end in numbers that are not finite.
            let constant = advance(&RKMK54, &chain, &start, END, number_of_steps, |_, _| ())
                .map_or(f64::NAN, |end| end.distance(&reference));
            let variable = end.distance(&reference);
            let constraint = end.iter().map(Ts2::constraint_error).fold(0.0, f64::max);
            variable_line.push((count as f64, variable));
            constant_line.push((count as f64, constant));
            table.rows.push(
                [count as f64, tried.accepted as f64, tried.rejected as f64, variable, constant, constraint]
                    .map(number)
                    .into(),
            );
            if Some(&count) == counts.last() {
                let ode = classical(&chain, &start, END, TOLERANCE, |t, h, _| ode_steps.push((t, h)));
                experiment.found("ODE45", &format!("{during}, tolerance {TOLERANCE:e}"), ode);
                let constant_steps = steps.iter().map(|at| (at.0, END / f64::from(number_of_steps))).collect();
                let title = format!("Steps for {count} pendulums (figure {figure}, right)");
                experiment.figures.push(step_figure(
                    &format!("figure-{figure}-right"),
                    &title,
                    steps,
                    ode_steps,
                    constant_steps,
                ));
                let values = vec![
                    ("error_variable", variable),
                    ("error_constant", constant),
                    ("steps_accepted", tried.accepted as f64),
                    ("steps_rejected", tried.rejected as f64),
                    ("constraint_error_max", constraint),
                ];
                experiment.methods.push(MethodResult { name: name.into(), values });
            }
        }
        let line = |name: &str, points| Line { name: name.into(), points, marked: true, ..Line::default() };
        experiment.figures.push(Figure {
            file: format!("figure-{figure}-left"),
            title: table.title.clone(),
            x_label: "N".into(),
            y_label: "error at t = 3".into(),
            x_log: false,
            y_log: true,
            lines: vec![line("RKMK 5(4), variable", variable_line), line("RKMK 5, constant", constant_line)],
            ..Figure::default()
        });
        experiment.tables.push(table);
    }
    Ok(experiment)
}
