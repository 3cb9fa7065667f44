//! Figure 4.1: the energy over long times.

use super::contestants::{Contestant, Drift, Stepper, contestants};
use crate::dynamics::StabilityBody;
use crate::evaluate::reproduce::measure::{self, Fit, largest};
use crate::evaluate::reproduce::report::{Experiment, Extent, Figure, Line, MethodResult, Progress, Table};
use crate::evaluate::reproduce::text::number;
use crate::integrate::{IntegrationError, RigidBody};

/// What the test found.
#[derive(Clone, Debug)]
pub struct StabilityTest {
    /// (t, error of the energy) after each step.
    pub energy_error: Vec<(f64, f64)>,
    /// ‖RᵀR − I‖ at the end.
    pub orthogonality_error: f64,
}

/// Runs a method on [`StabilityBody`] from [`StabilityBody::initial_state`] for a time `span`; the text takes h = 0.125 and
/// 0.25 and a span of 10 000. The method is not conjugate to a symplectic one if [`StabilityTest::drifts`].
///
/// # Errors
/// Those of the method.
pub fn stability_test(mut stepper: Stepper, h: f64, span: f64) -> Result<StabilityTest, IntegrationError> {
    let (body, start) = (StabilityBody::default(), StabilityBody::initial_state());
    let energy = body.energy(&start);
    let steps = (span / h).round() as usize;
    let mut state = start;
    let mut energy_error = Vec::with_capacity(steps);
    for k in 0..steps {
        state = stepper(k as f64 * h)?;
        energy_error.push(((k + 1) as f64 * h, body.energy(&state) - energy));
    }
    Ok(StabilityTest { energy_error, orthogonality_error: state.attitude.orthogonality_error() })
}

impl StabilityTest {
    /// The regression of the energy on time: its slope is the drift per unit of time.
    pub fn drift(&self) -> Option<Fit> {
        measure::drift(&self.energy_error)
    }

    /// Whether the drift stands out from what oscillation leaves of it: by [`SIGNIFICANCE`] standard errors.
    pub fn drifts(&self) -> bool {
        self.drift().is_some_and(|fit| fit.slope.abs() > SIGNIFICANCE * fit.standard_error)
    }
}

/// How many standard errors a drift has to be to count as one.
pub const SIGNIFICANCE: f64 = 5.0;

/// The step sizes of the text.
const STEPS: [f64; 2] = [0.125, 0.25];

pub(super) fn experiment(extent: Extent, progress: Progress<'_>) -> Result<Experiment, IntegrationError> {
    let span = match extent {
        Extent::Full => 10_000.0,
        Extent::Quick => 1_000.0,
    };
    let mut experiment = Experiment {
        name: "long-time".to_owned(),
        about: format!(
            "Ortolan 2011, section 4.2: J = diag(2, 2, 4), R₀ = exp(0, 0.7227, 0), ω₀ = (0, 0, 0.625), α = 0.3, \
             R_m = exp(2.5, 0, 2.5)/√2; h = 0.125 and 0.25 to T = {span}. Drifts are regressions of the energy on time."
        ),
        ..Experiment::default()
    };
    let (mut rows, mut lines) = (Vec::new(), [Vec::new(), Vec::new()]);
    let all = contestants::<StabilityBody>();
    for (index, contestant) in all.iter().enumerate() {
        let [fine, coarse] = STEPS.map(|h| {
            let stepper = (contestant.start)(&StabilityBody::default(), &StabilityBody::initial_state(), h)?;
            stability_test(stepper, h, span)
        });
        let tests = [fine?, coarse?];
        experiment.methods.push(result(contestant, &tests));
        rows.push(row(contestant, &tests));
        for (lines, test) in lines.iter_mut().zip(&tests) {
            lines.push(line(contestant.name, test));
        }
        progress((index + 1) as f64 / all.len() as f64);
    }
    let columns =
        ["method", "drift, text", "drift, ours", "per time, h = 0.125", "± standard error", "h = 0.25", "ratio"];
    experiment.tables.push(Table {
        title: "Figure 4.1: the sign of the drift, and its growth with h² (ratio 4) where there is one".to_owned(),
        columns: columns.map(str::to_owned).into(),
        rows,
    });
    experiment.figures = STEPS.iter().zip(lines).map(|(h, lines)| figure(*h, lines)).collect();
    Ok(experiment)
}

fn slopes(tests: &[StabilityTest; 2]) -> [f64; 2] {
    [0, 1].map(|i| tests[i].drift().map_or(f64::NAN, |fit| fit.slope))
}

fn result(contestant: &Contestant<StabilityBody>, tests: &[StabilityTest; 2]) -> MethodResult {
    let [fine, coarse] = slopes(tests);
    let mut values = vec![
        ("energy_drift_per_time", fine),
        ("energy_drift_standard_error", tests[0].drift().map_or(f64::NAN, |fit| fit.standard_error)),
        ("energy_drift_per_time_double_step", coarse),
        ("energy_error_max", largest(tests[0].energy_error.iter().map(|p| p.1))),
        ("constraint_error_max", tests[0].orthogonality_error),
        ("drifts", f64::from(u8::from(tests[0].drifts()))),
    ];
    if tests[0].drifts() {
        values.insert(3, ("drift_order_observed", (coarse / fine).log2()));
    }
    MethodResult { name: contestant.name.to_owned(), values }
}

fn row(contestant: &Contestant<StabilityBody>, tests: &[StabilityTest; 2]) -> Vec<String> {
    let [fine, coarse] = slopes(tests);
    let printed = match contestant.drift {
        Drift::None => "none",
        Drift::Falls => "−",
        Drift::Rises => "+",
        Drift::Unsaid => "",
    };
    let ours = match tests[0].drifts() {
        false => "none",
        true if fine < 0.0 => "−",
        true => "+",
    };
    let ratio = if tests[0].drifts() { number(coarse / fine) } else { String::new() };
    let error = tests[0].drift().map_or(f64::NAN, |fit| fit.standard_error);
    let cells = [contestant.name.to_owned(), printed.to_owned(), ours.to_owned()];
    cells.into_iter().chain([fine, error, coarse].map(number)).chain([ratio]).collect()
}

/// How many points of a run are drawn.
const DRAWN: usize = 2_000;

fn line(name: &str, test: &StabilityTest) -> Line {
    let every = test.energy_error.len().div_ceil(DRAWN);
    Line {
        name: name.to_owned(),
        points: test.energy_error.iter().copied().step_by(every).collect(),
        ..Line::default()
    }
}

fn figure(h: f64, lines: Vec<Line>) -> Figure {
    Figure {
        file: format!("figure-4.1-h-{h}"),
        title: format!("Error of the energy, h = {h}"),
        x_label: "t".to_owned(),
        y_label: "E(t) − E(0)".to_owned(),
        lines,
        ..Figure::default()
    }
}
