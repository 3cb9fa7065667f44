//! Section 3.4.4: symplectic integrators on the heavy top, figures 2 and 3.

use super::heavy_top::{TOP, canonical_reference, steps_of};
use super::runs::{convergence_figure, doublings, time_figure};
use crate::axonometric::{self, seen};
use crate::measure::{drift, largest, order_observed, time_step};
use crate::{Experiment, Extent, Line, MethodResult};
use lienav_integrate::IntegrationError;
use lienav_integrate::cotangent::{CotangentHamiltonian, SymplecticLieGroup};
use lienav_integrate::dynamics::heavy_top::{Extended, HeavyTop};
use lienav_lie::{HomogeneousSpace, So3, Translation};
use nalgebra::Vector3;
use std::time::Duration;

/// (Q, π).
type Cotangent = (So3, Vector3<f64>);

/// A symplectic method on one of the two canonical formulations, seen as a map of (Q, π).
struct Symplectic {
    name: &'static str,
    order: usize,
    step: Step,
}

/// The state after a step of this size, and how often the right side was evaluated.
type Step = fn(&HeavyTop, &Cotangent, f64) -> Result<(Cotangent, usize), IntegrationError>;

const METHODS: [Symplectic; 4] = [
    Symplectic {
        name: "SLGI θ = 0",
        order: 1,
        step: |top, y, h| SymplecticLieGroup { theta: 0.0 }.step::<So3>(top, y, 0.0, h),
    },
    Symplectic {
        name: "SLGI θ = 1/2",
        order: 2,
        step: |top, y, h| SymplecticLieGroup::MIDPOINT.step::<So3>(top, y, 0.0, h),
    },
    Symplectic {
        name: "SLGI θ = 1",
        order: 1,
        step: |top, y, h| SymplecticLieGroup { theta: 1.0 }.step::<So3>(top, y, 0.0, h),
    },
    Symplectic { name: "SLGIKK θ = 1/2", order: 2, step: extended_step },
];

/// On (29)–(32). The position q acts on nothing, so a step may begin from any.
fn extended_step(
    top: &HeavyTop,
    (attitude, momentum): &Cotangent,
    h: f64,
) -> Result<(Cotangent, usize), IntegrationError> {
    let start = ((*attitude, Translation(Vector3::zeros())), (*momentum, top.extended_momentum()));
    let (((attitude, _), (momentum, _)), evaluations) =
        SymplecticLieGroup::MIDPOINT.step::<Extended>(top, &start, 0.0, h)?;
    Ok(((attitude, momentum), evaluations))
}

/// The step of figure 3: in it the body turns by 1.5 rad.
const STEP: f64 = 0.01;

/// How many steps the curves of figure 2 have, over [0, 1].
const FINE_STEPS: u32 = 1_000;

/// Orders, figures 2 and 3, and energy over 10⁵ steps.
pub(super) fn symplectic(extent: Extent) -> Result<Experiment, IntegrationError> {
    let top = HeavyTop::of_celledoni();
    let (steps, drawn) = (steps_of(extent, 100_000, 1_000), steps_of(extent, 6_000, 1_000));
    let reference = canonical_reference(&top)?;
    let reference = (reference.0, reference.1.0);
    let mut experiment = Experiment {
        name: "heavy-top-symplectic".into(),
        about: format!(
            "{TOP}. Symplectic Lie group integrators (15)-(17) on (21)-(22) (SLGI) and on (29)-(32) (SLGIKK). Orders at \
             t = 1; energy over {steps} steps of h = {STEP}, where the body turns 1.5 rad in a step (figure 3: 6000). \
             The text: θ = 1/2 attains order 2."
        ),
        ..Experiment::default()
    };
    let (mut lines, mut convergence): ([Vec<Line>; 4], Vec<_>) = Default::default();
    for method in &METHODS {
        let line = |points| Line { name: method.name.into(), points, ..Line::default() };
        let errors = method.errors(&top, &reference, &doublings(250, steps_of(extent, 10, 6)));
        let mut run = LongRun::of(method, &top, steps);
        experiment.note(method.name, "long run", run.failed);
        let mut values = vec![("order_observed", order_observed(&errors)), ("order_expected", method.order as f64)];
        values.extend(run.values());
        values.push(("step_ns", method.step_ns(&top)));
        experiment.methods.push(MethodResult { name: method.name.into(), values });

        let (mut weight, mut axis): (Vec<_>, [Vec<_>; 3]) = Default::default();
        let fine = method.run(&top, 1.0 / f64::from(FINE_STEPS), FINE_STEPS, |t, y, _| {
            weight.push(seen(&weight_in_body(&top, y)));
            let direction = y.0 * Vector3::y();
            axis.iter_mut().enumerate().for_each(|(k, points)| points.push((t, direction[k])));
        });
        experiment.found(method.name, "figure 2", fine);
        lines[0].push(line(weight));
        for (points, component) in axis.into_iter().zip(["x", "y", "z"]) {
            lines[1].push(Line { name: format!("{}, {component}", method.name), points, ..Line::default() });
        }
        convergence.push((method.order, Line { marked: true, ..line(errors) }));
        run.energy_errors.truncate(drawn as usize);
        run.weight.truncate(drawn as usize);
        lines[2].push(line(run.energy_errors.iter().map(|(t, error)| (*t, error.abs())).collect()));
        let dots = run.weight.iter().map(seen).collect();
        lines[3].push(Line { is_scattered: true, ..line(dots) });
    }
    let [left, center, top_lines, bottom] = lines;
    let size = top.gravity.norm() * top.first_moment.norm();
    experiment.figures = vec![
        axonometric::figure(
            "figure-2-left",
            "MℓQ⁻¹Γ₀ over [0, 1], h = 0.001, in the body (figure 2, left)",
            1.2 * size,
            left,
        ),
        time_figure("figure-2-center", "Components of Q𝒳, h = 0.001 (figure 2, centre)", "Q𝒳", false, center),
        convergence_figure("figure-2-right", "Symplectic methods: error at t = 1 (figure 2, right)", convergence),
        time_figure("figure-3-top", "Energy error, h = 0.01 (figure 3, top)", "|H − H(0)|", true, top_lines),
        axonometric::figure("figure-3-bottom", "MℓQ⁻¹Γ₀, h = 0.01, in the body (figure 3, bottom)", 1.2 * size, bottom),
    ];
    Ok(experiment)
}

/// MℓQ⁻¹Γ₀, a vector of constant length.
fn weight_in_body(top: &HeavyTop, (attitude, _): &Cotangent) -> Vector3<f64> {
    attitude.rotate_back(&top.gravity) * top.first_moment.norm()
}

impl Symplectic {
    fn run(
        &self,
        top: &HeavyTop,
        h: f64,
        steps: u32,
        mut observe: impl FnMut(f64, &Cotangent, usize),
    ) -> Result<Cotangent, IntegrationError> {
        let mut y = (So3::identity(), top.initial_momentum());
        for k in 1..=steps {
            let (next, evaluations) = (self.step)(top, &y, h)?;
            y = next;
            observe(f64::from(k) * h, &y, evaluations);
        }
        Ok(y)
    }

    /// Step sizes and errors at t = 1; a step that is too large to converge gives an error that is no number.
    fn errors(&self, top: &HeavyTop, reference: &Cotangent, counts: &[u32]) -> Vec<(f64, f64)> {
        let error = |&steps: &u32| {
            let h = 1.0 / f64::from(steps);
            let end = self.run(top, h, steps, |_, _, _| ());
            (h, end.map_or(f64::NAN, |end| end.0.distance(&reference.0).hypot((end.1 - reference.1).norm())))
        };
        counts.iter().map(error).collect()
    }

    fn step_ns(&self, top: &HeavyTop) -> f64 {
        let mut y = (So3::identity(), top.initial_momentum());
        let step = || {
            if let Ok((next, _)) = (self.step)(top, std::hint::black_box(&y), STEP) {
                y = next;
            }
        };
        time_step(Duration::from_millis(20), step).least_ns
    }
}

/// What stays and what does not over many steps.
#[derive(Default)]
struct LongRun {
    energy_errors: Vec<(f64, f64)>,
    weight: Vec<Vector3<f64>>,
    orthogonality: f64,
    vertical_momentum: f64,
    evaluations: usize,
    /// Why it ended before its time, if it did; then there are no numbers of it.
    failed: Option<IntegrationError>,
}

impl LongRun {
    fn of(method: &Symplectic, top: &HeavyTop, steps: u32) -> Self {
        let energy = |y: &Cotangent| CotangentHamiltonian::<So3>::energy(top, &y.0, &y.1);
        let momentum = top.initial_momentum();
        let before = energy(&(So3::identity(), momentum));
        let mut run = Self::default();
        let end = method.run(top, STEP, steps, |t, y, evaluations| {
            run.energy_errors.push((t, energy(y) - before));
            run.weight.push(weight_in_body(top, y));
            run.orthogonality = run.orthogonality.max(y.0.orthogonality_error());
            run.vertical_momentum = run.vertical_momentum.max((y.1.z - momentum.z).abs());
            run.evaluations += evaluations;
        });
        Self { failed: end.err(), ..run }
    }

    fn values(&self) -> [(&'static str, f64); 6] {
        let drift = drift(&self.energy_errors);
        let values = [
            ("energy_error_max", largest(self.energy_errors.iter().map(|point| point.1))),
            ("energy_drift_per_time", drift.map_or(f64::NAN, |fit| fit.slope)),
            ("energy_drift_standard_error", drift.map_or(f64::NAN, |fit| fit.standard_error)),
            ("constraint_error_max", self.orthogonality),
            ("momentum_error_max", self.vertical_momentum),
            ("evaluations_mean", self.evaluations as f64 / self.energy_errors.len() as f64),
        ];
        values.map(|(key, x)| (key, if self.failed.is_none() { x } else { f64::NAN }))
    }
}
