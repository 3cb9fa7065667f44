//! Figure 4.1: the energy over long times.

use super::contestants::{Contestant, Drift, Family, contestants};
use super::stepper::Stepper;
use crate::figures::{line, over_time};
use crate::measure::{self, Fit, largest};
use crate::report::{Experiment, Extent, MethodResult, Progress, Table};
use crate::text::number;
use lienav_eval::plot::{Figure, Line};
use lienav_integrate::dynamics::StabilityBody;
use lienav_integrate::{BodyState, IntegrationError, RigidBody};

/// What the test found.
#[derive(Clone, Debug)]
pub struct StabilityTest {
    /// (t, error of the energy) after each step that could be made.
    pub energy_error: Vec<(f64, f64)>,
    /// ‖RᵀR − I‖ at the end, Frobenius.
    pub orthogonality_error: f64,
    /// Why it ended before its time, if it did.
    pub failed: Option<IntegrationError>,
}

/// Runs a method on [`StabilityBody`] from [`StabilityBody::initial_state`] for a time `span`; the text takes h =
/// 0.125 and 0.25 and a span of 10 000. The method is not conjugate to a symplectic one if [`StabilityTest::drifts`].
/// A step that cannot be made ends the run, and what was found up to there remains.
pub fn stability_test(stepper: Stepper, h: f64, span: f64) -> StabilityTest {
    stability_test_from(&StabilityBody::initial_state(), stepper, h, span)
}

/// The same from another state, at which the stepper stands.
pub(super) fn stability_test_from(start: &BodyState, mut stepper: Stepper, h: f64, span: f64) -> StabilityTest {
    let body = StabilityBody::default();
    let energy = body.energy(start);
    let steps = (span / h).round() as usize;
    let (mut state, mut failed) = (*start, None);
    let mut energy_error = Vec::with_capacity(steps);
    for k in 0..steps {
        match stepper(k as f64 * h) {
            Ok(next) => state = next,
            Err(error) => {
                failed = Some(error);
                break;
            }
        }
        energy_error.push(((k + 1) as f64 * h, body.energy(&state) - energy));
    }
    StabilityTest { energy_error, orthogonality_error: state.attitude.orthogonality_error(), failed }
}

impl StabilityTest {
    /// The regression of the energy on time: its slope is the drift per unit of time. `None` of a run that ended
    /// before its time, which tells nothing of long ones.
    pub fn drift(&self) -> Option<Fit> {
        measure::drift(&self.energy_error).filter(|_| self.failed.is_none())
    }

    /// Whether the drift stands out from what oscillation leaves of it: by [`SIGNIFICANCE`] standard errors.
    pub fn drifts(&self) -> bool {
        self.drift().is_some_and(|fit| fit.slope.abs() > SIGNIFICANCE * fit.standard_error)
    }

    /// What could not even be begun.
    pub(super) fn not_begun(error: IntegrationError) -> Self {
        Self { energy_error: Vec::new(), orthogonality_error: f64::NAN, failed: Some(error) }
    }
}

/// How many standard errors a drift has to be to count as one.
pub const SIGNIFICANCE: f64 = 5.0;

/// The step sizes: the two of the text, and half of them, where the methods that lose much energy still obey their
/// law.
const STEPS: [f64; 3] = [0.0625, 0.125, 0.25];
/// Which one of them results are reported of.
const MAIN: usize = 1;

const TABLE: &str = "Figure 4.1: the drift and its growth with h. Where it goes with h² it is 4 times as large at twice \
                     the step; TLN at h = 0.25 has lost what it can lose before T = 10 000 and is below.";

pub(super) fn experiment(extent: Extent, progress: Progress<'_>) -> Experiment {
    of(&contestants(), extent, progress)
}

fn of(all: &[Contestant<StabilityBody>], extent: Extent, progress: Progress<'_>) -> Experiment {
    let span = match extent {
        Extent::Full => 10_000.0,
        Extent::Quick => 2_000.0,
    };
    let mut experiment = Experiment {
        name: "long-time".to_owned(),
        about: format!(
            "Ortolan 2011, section 4.2: J = diag(2, 2, 4), R₀ = exp(0, 0.7227, 0), ω₀ = (0, 0, 0.625), α = 0.3, \
             R_m = exp((2.5, 0, 2.5)/√2); h = 0.125, also 0.25 and 0.0625, to T = {span}. Drifts are regressions of the \
              energy on time; they count where they are {SIGNIFICANCE} standard errors or more. Errors beyond \
             {DRAWN_UP_TO} are not drawn."
        ),
        ..Experiment::default()
    };
    let (mut rows, mut lines) = (Vec::new(), Vec::new());
    for (index, contestant) in all.iter().enumerate() {
        let tests = STEPS.map(|h| {
            let stepper = (contestant.start)(&StabilityBody::default(), &StabilityBody::initial_state(), h);
            stepper.map_or_else(StabilityTest::not_begun, |stepper| stability_test(stepper, h, span))
        });
        for (h, test) in STEPS.iter().zip(&tests) {
            experiment.note(contestant.name, &format!("h = {h}"), test.failed);
        }
        let found = Found::new(&tests);
        experiment.methods.push(found.result(contestant, &tests[MAIN]));
        rows.push(found.row(contestant));
        lines.push((contestant.family(), tests.map(|test| drawn(contestant.name, &test))));
        progress((index + 1) as f64 / all.len() as f64);
    }
    let columns =
        ["method", "text", "ours", "h = 0.0625", "0.125", "± standard error", "0.25", "0.125 : 0.0625", "0.25 : 0.125"];
    experiment.tables.push(Table { title: TABLE.to_owned(), columns: columns.map(str::to_owned).into(), rows });
    let of_family = |family: Family| (0..STEPS.len()).map(move |index| (family, index));
    experiment.figures =
        Family::ALL.into_iter().flat_map(of_family).map(|(family, index)| figure(family, index, &lines)).collect();
    experiment
}

/// The drifts at [`STEPS`]; no number where the run ended before its time.
struct Found {
    slopes: [f64; 3],
    standard_error: f64,
    drifts: bool,
    /// Whether the run at the main one went to its end.
    is_whole: bool,
}

impl Found {
    fn new(tests: &[StabilityTest; 3]) -> Self {
        let main = &tests[MAIN];
        Self {
            slopes: std::array::from_fn(|index| tests[index].drift().map_or(f64::NAN, |fit| fit.slope)),
            standard_error: main.drift().map_or(f64::NAN, |fit| fit.standard_error),
            drifts: main.drifts(),
            is_whole: main.failed.is_none(),
        }
    }

    fn result(&self, contestant: &Contestant<StabilityBody>, main: &StabilityTest) -> MethodResult {
        let [half, slope, double] = self.slopes;
        let of_whole = |x: f64| if self.is_whole { x } else { f64::NAN };
        let mut values = vec![
            ("energy_drift_per_time", slope),
            ("energy_drift_standard_error", self.standard_error),
            ("energy_drift_per_time_half_step", half),
            ("energy_drift_per_time_double_step", double),
            ("energy_error_max", of_whole(largest(main.energy_error.iter().map(|p| p.1)))),
            ("constraint_error_max", of_whole(main.orthogonality_error)),
            ("drifts", of_whole(f64::from(u8::from(self.drifts)))),
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
            false if !self.is_whole => "not run to the end",
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
/// And up to which error: that of a method that runs away would hide the others. The energy itself is of this size.
const DRAWN_UP_TO: f64 = 1.0;

fn drawn(name: &str, test: &StabilityTest) -> Line {
    let every = test.energy_error.len().div_ceil(DRAWN).max(1);
    let end = test.energy_error.last().map_or(0.0, |last| last.0);
    let name = if test.failed.is_some() { format!("{name} (ends at {end})") } else { name.to_owned() };
    let points = test.energy_error.iter().copied().step_by(every);
    line(&name, points.filter(|point| point.1.abs() <= DRAWN_UP_TO).collect())
}

/// The methods of a family at one of [`STEPS`].
fn figure(family: Family, index: usize, lines: &[(Family, [Line; 3])]) -> Figure {
    let h = STEPS[index];
    let lines = lines.iter().filter(|(of, _)| *of == family).filter_map(|(_, lines)| lines.get(index).cloned());
    let file = format!("figure-4.1-h-{h}{}", family.suffix());
    over_time(&file, &format!("Figure 4.1: error of the energy, h = {h}"), ("t", "E(t) − E(0)"), false, lines.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Goes on for a tenth of the time, and then does not converge; with the largest step it does not even begin.
    fn failing() -> Contestant<StabilityBody> {
        fn error(time: f64, step: f64) -> IntegrationError {
            IntegrationError::NotConverged { time, step, residual: 1e-3, tolerance: 1e-14, iterations: 50 }
        }
        fn start(body: &StabilityBody, state: &BodyState, h: f64) -> Result<Stepper, IntegrationError> {
            if h == STEPS[2] {
                return Err(error(0.0, h));
            }
            let mut stepper = (contestants()[0].start)(body, state, h)?;
            Ok(Box::new(move |time| if time < 200.0 { stepper(time) } else { Err(error(time, h)) }))
        }
        Contestant { name: "failing", order: 2, is_symplectic: false, printed: Some(Drift::None), start }
    }

    #[test]
    fn what_does_not_converge_is_a_result_and_the_others_go_on() {
        let mut all = vec![failing()];
        all.extend(contestants().into_iter().take(1));
        let experiment = of(&all, Extent::Quick, &|_| ());
        let ended: Vec<_> = experiment.failures.iter().map(|failure| (&*failure.during, failure.error)).collect();
        assert!(matches!(
            ended[..],
            [
                ("h = 0.0625", IntegrationError::NotConverged { time: 200.0, residual: 1e-3, .. }),
                ("h = 0.125", IntegrationError::NotConverged { time: 200.0, .. }),
                ("h = 0.25", IntegrationError::NotConverged { time: 0.0, .. }),
            ]
        ));
        let [failed, other] = &experiment.methods[..] else { panic!("two methods") };
        assert!(failed.values.iter().all(|value| value.1.is_nan()), "{failed:?}");
        assert!(other.values.iter().all(|value| value.1.is_finite()), "{other:?}");
        assert_eq!(experiment.tables[0].rows[0][2], "not run to the end");
        let main = experiment.figures.iter().find(|figure| figure.file == "figure-4.1-h-0.125").unwrap();
        let names: Vec<_> = main.lines.iter().map(|line| &*line.name).collect();
        assert_eq!(names, ["failing (ends at 200)", "ELN"]);
        assert_eq!(main.lines[0].points.last().map(|last| last.0), Some(200.0));
    }
}
