//! What is measured of a method on a system.

use super::methods::{COUNT, Visitor, visit_all};
use crate::figures::{marked, of_errors};
use crate::measure::{drift, largest, order_observed, time_step};
use crate::report::{Experiment, Extent, MethodResult, Progress};
use lienav_eval::plot::Figure;
use lienav_integrate::quaternion::QuaternionIntegrator;
use lienav_integrate::{FloatingBody, FloatingBodyMethod, FloatingBodyState, IntegrationError};
use nalgebra::Vector3;
use std::hint::black_box;
use std::time::Duration;

/// A body, where it begins, and how it is run.
pub(super) struct System<B> {
    pub body: B,
    pub initial: FloatingBodyState,
    /// Step size of the long run.
    pub h: f64,
    /// Its length.
    pub steps: usize,
    /// A momentum that the true motion keeps.
    pub conserved: fn(&FloatingBodyState) -> Vector3<f64>,
}

/// What a method did on a system.
pub(super) struct Measured {
    pub name: &'static str,
    /// The long run.
    pub samples: Vec<Sample>,
    /// (h, error at [`SPAN`]).
    pub errors: Vec<(f64, f64)>,
    /// (run time in s, the same errors).
    pub costs: Vec<(f64, f64)>,
    pub iterations_mean: f64,
    pub step_ns: f64,
    /// Why the long run ended before its time, if it did; then [`Measured::result`] has no numbers of it.
    pub failed: Option<IntegrationError>,
}

/// The state after a step, and its errors.
pub(super) struct Sample {
    pub time: f64,
    pub state: FloatingBodyState,
    pub energy_error: f64,
    pub constraint_error: f64,
    pub momentum_error: Vector3<f64>,
}

/// When errors are taken against the reference.
const SPAN: f64 = 5.0;

/// The step sizes of the error plots: 2⁻² … 2⁻⁹, or 2⁻⁶ where it is to be quick.
fn step_sizes(extent: Extent) -> impl Iterator<Item = f64> {
    let finest = match extent {
        Extent::Full => 9,
        Extent::Quick => 6,
    };
    (2..=finest).map(|k| 0.5_f64.powi(k))
}

/// How long a step is timed, and a run to [`SPAN`].
fn budgets(extent: Extent) -> [Duration; 2] {
    match extent {
        Extent::Full => [100, 5],
        Extent::Quick => [2, 1],
    }
    .map(Duration::from_millis)
}

impl Measured {
    /// All methods on a system, in the order of [`visit_all`].
    pub fn of<B: FloatingBody>(
        system: &System<B>,
        extent: Extent,
        progress: Progress<'_>,
    ) -> Result<Vec<Self>, IntegrationError> {
        let reference = reference(&system.body, &system.initial)?;
        let mut runner = Runner { system, extent, reference, progress, done: Vec::new() };
        visit_all(&mut runner);
        Ok(runner.done)
    }

    /// Numbers of each into a report, and what could not be run to its end.
    pub fn report(measured: &[Self], experiment: &mut Experiment) {
        for of in measured {
            experiment.methods.push(of.result());
            experiment.note(of.name, "long run", of.failed);
        }
    }

    fn result(&self) -> MethodResult {
        let errors: Vec<_> = self.samples.iter().map(|sample| (sample.time, sample.energy_error)).collect();
        let drift = drift(&errors).filter(|_| self.failed.is_none());
        let of_whole = |x: f64| if self.failed.is_none() { x } else { f64::NAN };
        let values = vec![
            ("order_expected", 2.0),
            ("order_observed", order_observed(&self.errors)),
            ("energy_error_max", of_whole(largest(errors.iter().map(|error| error.1)))),
            ("energy_drift_per_time", drift.map_or(f64::NAN, |fit| fit.slope)),
            ("energy_drift_standard_error", drift.map_or(f64::NAN, |fit| fit.standard_error)),
            ("constraint_error_max", of_whole(largest(self.samples.iter().map(|sample| sample.constraint_error)))),
            ("momentum_error_max", of_whole(largest(self.samples.iter().map(|sample| sample.momentum_error.norm())))),
            ("iterations_mean", of_whole(self.iterations_mean)),
            ("step_ns", self.step_ns),
        ];
        MethodResult { name: self.name.to_owned(), values }
    }
}

/// Measures one method after the other.
struct Runner<'a, B> {
    system: &'a System<B>,
    extent: Extent,
    reference: FloatingBodyState,
    progress: Progress<'a>,
    done: Vec<Measured>,
}

impl<B: FloatingBody> Visitor for Runner<'_, B> {
    fn visit<M: FloatingBodyMethod>(&mut self, method: &M) {
        let LongRun { samples, iterations_mean, failed } = self.long_run(method);
        let [step_budget, run_budget] = budgets(self.extent);
        let (mut errors, mut costs) = (Vec::new(), Vec::new());
        for h in step_sizes(self.extent) {
            let run = || run(method, black_box(&self.system.body), &self.system.initial, h);
            let Ok(end) = run() else {
                errors.push((h, f64::NAN));
                continue;
            };
            let error = distance(&end, &self.reference);
            // That it can be run was just seen.
            let time = time_step(run_budget, || {
                let _ = black_box(run());
            });
            errors.push((h, error));
            costs.push((time.least_ns * 1e-9, error));
        }
        let step_ns = self.step_ns(method, step_budget).unwrap_or(f64::NAN);
        self.done.push(Measured { name: method.name(), samples, errors, costs, iterations_mean, step_ns, failed });
        (self.progress)(self.done.len() as f64 / COUNT as f64);
    }
}

/// What came of a long run up to its end, or to where a step could not be made.
struct LongRun {
    samples: Vec<Sample>,
    iterations_mean: f64,
    failed: Option<IntegrationError>,
}

impl<B: FloatingBody> Runner<'_, B> {
    fn long_run<M: FloatingBodyMethod>(&self, method: &M) -> LongRun {
        let System { body, initial, h, steps, conserved } = self.system;
        let steps = match self.extent {
            Extent::Full => *steps,
            Extent::Quick => steps / 20,
        };
        let (energy, momentum) = (body.energy(initial), conserved(initial));
        let mut samples = Vec::with_capacity(steps);
        let mut iterations = 0;
        let mut state = match method.start(body, initial, *h) {
            Ok(state) => state,
            Err(error) => return LongRun { samples, iterations_mean: f64::NAN, failed: Some(error) },
        };
        let mut failed = None;
        for k in 0..steps {
            match method.step(body, &mut state, k as f64 * h, *h) {
                Ok(of_step) => iterations += of_step,
                Err(error) => {
                    failed = Some(error);
                    break;
                }
            }
            let seen = method.observe(body, &state, *h);
            samples.push(Sample {
                time: (k + 1) as f64 * h,
                state: seen,
                energy_error: body.energy(&seen) - energy,
                constraint_error: method.constraint_error(&state),
                momentum_error: conserved(&seen) - momentum,
            });
        }
        LongRun { iterations_mean: iterations as f64 / samples.len() as f64, samples, failed }
    }

    fn step_ns<M: FloatingBodyMethod>(&self, method: &M, budget: Duration) -> Result<f64, IntegrationError> {
        let System { body, initial, h, .. } = self.system;
        let mut state = method.start(body, initial, *h)?;
        let mut failed = None;
        let time = time_step(budget, || {
            if let Err(error) = black_box(method.step(black_box(body), &mut state, 0.0, *h)) {
                failed = Some(error);
            }
        });
        failed.map_or(Ok(time.least_ns), Err)
    }
}

/// The state at [`SPAN`] with steps of h.
fn run<M: FloatingBodyMethod, B: FloatingBody>(
    method: &M,
    body: &B,
    initial: &FloatingBodyState,
    h: f64,
) -> Result<FloatingBodyState, IntegrationError> {
    let mut state = method.start(body, initial, h)?;
    for k in 0..(SPAN / h).round() as usize {
        method.step(body, &mut state, k as f64 * h, h)?;
    }
    Ok(method.observe(body, &state, h))
}

/// The state at [`SPAN`] by a method of order four: of a symmetric method of order two, three steps of γh, (1 − 2γ)h,
/// γh with 2γ³ + (1 − 2γ)³ = 0 (Yoshida 1990) leave no error of third order.
fn reference<B: FloatingBody>(body: &B, initial: &FloatingBodyState) -> Result<FloatingBodyState, IntegrationError> {
    let gamma = 1.0 / (2.0 - 2.0_f64.cbrt());
    let h = 0.5_f64.powi(10);
    let method = QuaternionIntegrator::default();
    let mut state = method.start(body, initial, h)?;
    for k in 0..(SPAN / h).round() as usize {
        for part in [gamma, 1.0 - 2.0 * gamma, gamma] {
            method.step(body, &mut state, k as f64 * h, part * h)?;
        }
    }
    Ok(method.observe(body, &state, h))
}

/// Root of the sum of squares of the differences of position, attitude (angle), momentum and angular momentum.
fn distance(a: &FloatingBodyState, b: &FloatingBodyState) -> f64 {
    let parts = [
        (a.position - b.position).norm(),
        a.attitude.angle_to(&b.attitude),
        (a.momentum - b.momentum).norm(),
        (a.body_angular_momentum - b.body_angular_momentum).norm(),
    ];
    parts.iter().map(|part| part * part).sum::<f64>().sqrt()
}

/// Errors against step sizes; all methods are of order 2.
pub(super) fn order_figure(file: &str, system: &str, measured: &[Measured]) -> Figure {
    let lines = measured.iter().map(|m| (2, marked(m.name, m.errors.clone()))).collect();
    of_errors(file, &format!("Error at t = {SPAN}, {system}"), ("h", "error of the state"), lines)
}
