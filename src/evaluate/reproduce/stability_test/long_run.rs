//! Figure 4.1: the energy over long times.

use super::contestants::{Contestant, Drift, Family, Stepper, contestants};
use crate::dynamics::StabilityBody;
use crate::evaluate::reproduce::figures::{line, over_time};
use crate::evaluate::reproduce::measure::{self, Fit, largest};
use crate::evaluate::reproduce::report::{Experiment, Extent, Figure, Line, MethodResult, Progress, Table};
use crate::evaluate::reproduce::text::number;
use crate::integrate::{IntegrationError, RigidBody};

/// What the test found.
#[derive(Clone, Debug)]
pub struct StabilityTest {
    /// (t, error of the energy) after each step.
    pub energy_error: Vec<(f64, f64)>,
    /// ‖RᵀR − I‖ at the end, Frobenius.
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

/// The step sizes: the two of the text, and half of them, where the methods that lose much energy still obey their law.
const STEPS: [f64; 3] = [0.0625, 0.125, 0.25];
/// Which one of them results are reported of.
const MAIN: usize = 1;

const TABLE: &str = "Figure 4.1: the drift and its growth with h. Where it goes with h² it is 4 times as large at twice the \
                     step; TLN at h = 0.25 has lost what it can lose before T = 10 000 and is below.";

pub(super) fn experiment(extent: Extent, progress: Progress<'_>) -> Result<Experiment, IntegrationError> {
    let span = match extent {
        Extent::Full => 10_000.0,
        Extent::Quick => 2_000.0,
    };
    let mut experiment = Experiment {
        name: "long-time".to_owned(),
        about: format!(
            "Ortolan 2011, section 4.2: J = diag(2, 2, 4), R₀ = exp(0, 0.7227, 0), ω₀ = (0, 0, 0.625), α = 0.3, \
             R_m = exp((2.5, 0, 2.5)/√2); h = 0.125, also 0.25 and 0.0625, to T = {span}. Drifts are regressions of the \
             energy on time; they count where they are {SIGNIFICANCE} standard errors or more."
        ),
        ..Experiment::default()
    };
    let (mut rows, mut lines) = (Vec::new(), Vec::new());
    let all = contestants::<StabilityBody>();
    for (index, contestant) in all.iter().enumerate() {
        let mut tests = Vec::with_capacity(STEPS.len());
        for h in STEPS {
            let stepper = (contestant.start)(&StabilityBody::default(), &StabilityBody::initial_state(), h)?;
            tests.push(stability_test(stepper, h, span)?);
        }
        let found = Found::new(&tests);
        experiment.methods.push(found.result(contestant, &tests[MAIN]));
        rows.push(found.row(contestant));
        lines.push((contestant.family(), tests.iter().map(|test| drawn(contestant.name, test)).collect()));
        progress((index + 1) as f64 / all.len() as f64);
    }
    let columns =
        ["method", "text", "ours", "h = 0.0625", "0.125", "± standard error", "0.25", "0.125 : 0.0625", "0.25 : 0.125"];
    experiment.tables.push(Table { title: TABLE.to_owned(), columns: columns.map(str::to_owned).into(), rows });
    let of_family = |family: Family| (0..STEPS.len()).map(move |index| (family, index));
    experiment.figures =
        Family::ALL.into_iter().flat_map(of_family).map(|(family, index)| figure(family, index, &lines)).collect();
    Ok(experiment)
}

/// The drifts at [`STEPS`].
struct Found {
    slopes: [f64; 3],
    standard_error: f64,
    drifts: bool,
}

impl Found {
    fn new(tests: &[StabilityTest]) -> Self {
        let fit = |index: usize| tests.get(index).and_then(StabilityTest::drift);
        Self {
            slopes: [0, 1, 2].map(|index| fit(index).map_or(f64::NAN, |fit| fit.slope)),
            standard_error: fit(MAIN).map_or(f64::NAN, |fit| fit.standard_error),
            drifts: tests.get(MAIN).is_some_and(StabilityTest::drifts),
        }
    }

    fn result(&self, contestant: &Contestant<StabilityBody>, main: &StabilityTest) -> MethodResult {
        let [half, slope, double] = self.slopes;
        let mut values = vec![
            ("energy_drift_per_time", slope),
            ("energy_drift_standard_error", self.standard_error),
            ("energy_drift_per_time_half_step", half),
            ("energy_drift_per_time_double_step", double),
            ("energy_error_max", largest(main.energy_error.iter().map(|p| p.1))),
            ("constraint_error_max", main.orthogonality_error),
            ("drifts", f64::from(u8::from(self.drifts))),
        ];
        if self.drifts {
            values.push(("drift_order_observed", (slope / half).log2()));
        }
        MethodResult { name: contestant.name.to_owned(), values }
    }

    fn row(&self, contestant: &Contestant<StabilityBody>) -> Vec<String> {
        let [half, slope, double] = self.slopes;
        let printed = match (contestant.printed, contestant.is_symplectic) {
            (Some(Drift::None), _) => "none",
            (Some(Drift::Falls), _) => "−",
            (Some(Drift::Rises), _) => "+",
            (None, true) => "(symplectic)",
            (None, false) => "",
        };
        let ours = match self.drifts {
            false => "none",
            true if slope < 0.0 => "−",
            true => "+",
        };
        let ratio = |of: f64| if self.drifts { number(of) } else { String::new() };
        let names = [contestant.name, printed, ours].map(str::to_owned);
        let drifts = [half, slope, self.standard_error, double].map(number);
        names.into_iter().chain(drifts).chain([ratio(slope / half), ratio(double / slope)]).collect()
    }
}

/// How many points of a run are drawn.
const DRAWN: usize = 2_000;

fn drawn(name: &str, test: &StabilityTest) -> Line {
    let every = test.energy_error.len().div_ceil(DRAWN);
    line(name, test.energy_error.iter().copied().step_by(every).collect())
}

/// The methods of a family at one of [`STEPS`].
fn figure(family: Family, index: usize, lines: &[(Family, Vec<Line>)]) -> Figure {
    let h = STEPS[index];
    let lines = lines.iter().filter(|(of, _)| *of == family).filter_map(|(_, lines)| lines.get(index).cloned());
    let file = format!("figure-4.1-h-{h}{}", family.suffix());
    over_time(&file, &format!("Figure 4.1: error of the energy, h = {h}"), ("t", "E(t) − E(0)"), false, lines.collect())
}
