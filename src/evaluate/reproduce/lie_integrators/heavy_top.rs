//! Section 3.4.4: the heavy top, and the free body it is without weight.

use super::runs::{Convergence, Methods, advance, all, convergence_figure, doublings, step_ns, time_figure};
use crate::dynamics::heavy_top::{Canonical, Extended, HeavyTop, LiePoisson};
use crate::evaluate::reproduce::measure::{drift, largest, order_observed, time_step};
use crate::evaluate::reproduce::{Experiment, Extent, Line, MethodResult};
use crate::integrate::cotangent::{CotangentHamiltonian, SymplecticLieGroup};
use crate::integrate::rkmk::RKMK54;
use crate::integrate::{IntegrationError, VectorField};
use crate::lie::se3::{join, split};
use crate::lie::{Coadjoint, HomogeneousSpace, So3, Translation};
use nalgebra::Vector3;
use std::time::Duration;

const TOP: &str = "Heavy top of section 3.4.4: 𝕀 = diag(0.234375, 0.46875, 0.234375), M = 15, ℓ = 2, 𝒳 = (0, 1, 0), \
                   Γ₀ = (0, 0, −9.81) with signs as printed, Q(0) = I, Π(0) = 𝕀(0, 150, −4.61538)";

fn steps_of(extent: Extent, full: u32, quick: u32) -> u32 {
    if extent == Extent::Full { full } else { quick }
}

/// Largest error and drift of a quantity that should stay, over many steps.
fn long_run<M: HomogeneousSpace, F: VectorField<M>>(
    methods: &Methods<M, F>,
    field: &F,
    start: &M,
    (h, steps): (f64, u32),
    energy: impl Fn(&M) -> f64,
    constraint: impl Fn(&M) -> f64,
) -> Result<Vec<Vec<(&'static str, f64)>>, IntegrationError> {
    let initial = energy(start);
    let one = |method: &Box<_>| {
        let (mut errors, mut constraint_error) = (Vec::new(), 0.0_f64);
        advance(&**method, field, start, h * f64::from(steps), steps, |t, y| {
            errors.push((t, energy(y) - initial));
            constraint_error = constraint_error.max(constraint(y));
        })?;
        Ok(vec![
            ("energy_error_max", largest(errors.iter().map(|point| point.1))),
            ("energy_drift_per_time", drift(&errors).map_or(f64::NAN, |fit| fit.slope)),
            ("constraint_error_max", constraint_error),
        ])
    };
    methods.iter().map(one).collect()
}

fn extend(results: &mut [MethodResult], with: Vec<Vec<(&'static str, f64)>>) {
    for (result, values) in results.iter_mut().zip(with) {
        result.values.extend(values);
    }
}

/// Cost and long-time behaviour of RKMK and commutator-free methods where they are cheapest.
pub(super) fn free_body(extent: Extent) -> Result<Experiment, IntegrationError> {
    let body = HeavyTop::free(Vector3::new(1.0, 2.0, 3.0));
    let start = Coadjoint::<So3>(Vector3::new(1.0, 0.4, -0.8));
    let reference = advance(&RKMK54, &body, &start, 2.0, 4000, |_, _| ())?;
    let steps = doublings(10, 8);
    let test = Convergence { field: &body, start: &start, end: 2.0, reference: &reference, steps: &steps };
    let methods = all();
    let (mut results, lines) = test.of(&methods);
    let (h, steps) = (0.1, steps_of(extent, 100_000, 2_000));
    let energy = |y: &Coadjoint<So3>| body.energy_of(&y.0, &Vector3::zeros());
    let norm = start.0.norm();
    extend(&mut results, long_run(&methods, &body, &start, (h, steps), energy, |y| (y.0.norm() - norm).abs())?);
    let full: (So3, Translation<Vector3<f64>>) = (So3::identity(), Translation(start.0));
    for (result, method) in results.iter_mut().zip(all()) {
        result.values.push(("step_with_attitude_ns", step_ns(&*method, &body, &full, h)));
    }
    Ok(Experiment {
        name: "free-rigid-body".into(),
        about: format!(
            "Free rigid body of section 2.1 on so(3)* by the coadjoint action: moments (1, 2, 3), Π(0) = (1, 0.4, −0.8) (ours; \
             the text gives no numbers). Orders at t = 2; energy over {steps} steps of h = 0.1; the constraint is |Π|. \
             step_ns is for Π alone, step_with_attitude_ns for (Q, π) on SO(3) × R³."
        ),
        methods: results,
        figures: vec![convergence_figure("free-rigid-body", "Free rigid body: error at t = 2", lines)],
        ..Experiment::default()
    })
}

fn canonical_start(top: &HeavyTop) -> Canonical {
    (So3::identity(), Translation(top.initial_momentum()))
}

fn canonical_reference(top: &HeavyTop) -> Result<Canonical, IntegrationError> {
    advance(&RKMK54, top, &canonical_start(top), 1.0, 20_000, |_, _| ())
}

/// (21), (22) by RKMK and commutator-free methods.
pub(super) fn canonical(extent: Extent) -> Result<Experiment, IntegrationError> {
    let top = HeavyTop::of_celledoni();
    let (start, reference) = (canonical_start(&top), canonical_reference(&top)?);
    let steps = doublings(125, if extent == Extent::Full { 12 } else { 7 });
    let test = Convergence { field: &top, start: &start, end: 1.0, reference: &reference, steps: &steps };
    let methods = all();
    let (mut results, lines) = test.of(&methods);
    let long = (0.002, steps_of(extent, 30_000, 500));
    let energy = |y: &Canonical| CotangentHamiltonian::<So3>::energy(&top, &y.0, &y.1.0);
    extend(&mut results, long_run(&methods, &top, &start, long, energy, |y| y.0.orthogonality_error())?);
    Ok(Experiment {
        name: "heavy-top-canonical".into(),
        about: format!(
            "{TOP}. (Q, π) on SO(3) × R³, (21) and (22). Orders at t = 1; energy (H(0) = 5276.3) over {} steps of h = 0.002; the \
             constraint is orthogonality.",
            long.1
        ),
        methods: results,
        figures: vec![convergence_figure("heavy-top-canonical", "Heavy top on SO(3) × R³: error at t = 1", lines)],
        ..Experiment::default()
    })
}

/// (23), (24) by RKMK and commutator-free methods.
pub(super) fn lie_poisson(extent: Extent) -> Result<Experiment, IntegrationError> {
    let top = HeavyTop::of_celledoni();
    let reduce = |(attitude, momentum): &Canonical| -> LiePoisson {
        Coadjoint(join(&attitude.rotate_back(&momentum.0), &attitude.rotate_back(&top.gravity)))
    };
    let (start, reference) = (reduce(&canonical_start(&top)), reduce(&canonical_reference(&top)?));
    let steps = doublings(125, if extent == Extent::Full { 12 } else { 7 });
    let test = Convergence { field: &top, start: &start, end: 1.0, reference: &reference, steps: &steps };
    let methods = all();
    let (mut results, lines) = test.of(&methods);
    let long = (0.002, steps_of(extent, 30_000, 500));
    let (momentum, gamma) = split(&start.0);
    let energy = |y: &LiePoisson| {
        let (momentum, gamma) = split(&y.0);
        top.energy_of(&momentum, &gamma)
    };
    // Relative, for Π·Γ is several hundred.
    let casimirs = |y: &LiePoisson| {
        let (m, g) = split(&y.0);
        let size = momentum.norm() * gamma.norm();
        (g.norm() / gamma.norm() - 1.0).abs().max((m.dot(&g) - momentum.dot(&gamma)).abs() / size)
    };
    extend(&mut results, long_run(&methods, &top, &start, long, energy, casimirs)?);
    Ok(Experiment {
        name: "heavy-top-lie-poisson".into(),
        about: format!(
            "{TOP}. (Π, Γ) on se(3)* by the coadjoint action, (23) and (24). Orders at t = 1; energy over {} steps of h = \
             0.002; the constraints are the Casimirs |Γ| and Π·Γ, relative.",
            long.1
        ),
        methods: results,
        figures: vec![convergence_figure("heavy-top-lie-poisson", "Heavy top on se(3)*: error at t = 1", lines)],
        ..Experiment::default()
    })
}

type Cotangent = (So3, Vector3<f64>);

/// The state after a step of this size, and how many iterations it took.
type SymplecticStep = fn(&HeavyTop, &Cotangent, f64) -> Result<(Cotangent, usize), IntegrationError>;

/// A symplectic method on one of the two canonical formulations, seen as a map of (Q, π).
struct Symplectic {
    name: &'static str,
    order: usize,
    step: SymplecticStep,
}

const SYMPLECTIC: [Symplectic; 4] = [
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
    Symplectic {
        name: "SLGIKK θ = 1/2",
        order: 2,
        step: |top, (attitude, momentum), h| {
            // The position q acts on nothing, so a step may begin from any.
            let place = (*attitude, Translation(Vector3::zeros()));
            let momenta = (*momentum, top.extended_momentum());
            let (((attitude, _), (momentum, _)), evaluations) =
                SymplecticLieGroup::MIDPOINT.step::<Extended>(top, &(place, momenta), 0.0, h)?;
            Ok(((attitude, momentum), evaluations))
        },
    },
];

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
}

/// Figures 2 and 3, and energy over 10⁵ steps.
pub(super) fn symplectic(extent: Extent) -> Result<Experiment, IntegrationError> {
    let top = HeavyTop::of_celledoni();
    let reference = canonical_reference(&top)?;
    let energy = |y: &Cotangent| CotangentHamiltonian::<So3>::energy(&top, &y.0, &y.1);
    let before = energy(&(So3::identity(), top.initial_momentum()));
    let (h, figure_steps) = (0.01, steps_of(extent, 6_000, 1_000));
    let steps = steps_of(extent, 100_000, 1_000);
    let mut experiment = Experiment {
        name: "heavy-top-symplectic".into(),
        about: format!(
            "{TOP}. Symplectic Lie group integrators (15)-(17) on (21)-(22) (SLGI) and on (29)-(32) (SLGIKK). Orders at t = 1; \
             energy over {steps} steps of h = 0.01, where the body turns 1.5 rad in a step (figure 3: 6000). The text: \
             θ = 1/2 attains order 2."
        ),
        ..Experiment::default()
    };
    let (mut orders, mut axis, mut plane, mut energies, mut weight) = (vec![], vec![], vec![], vec![], vec![]);
    for method in &SYMPLECTIC {
        let counts = doublings(250, if extent == Extent::Full { 10 } else { 6 });
        let errors = counts.iter().map(|&steps| {
            let end = method.run(&top, 1.0 / f64::from(steps), steps, |_, _, _| ())?;
            let distance = end.0.distance(&reference.0).hypot((end.1 - reference.1.0).norm());
            Ok((1.0 / f64::from(steps), distance))
        });
        let errors = errors.collect::<Result<Vec<_>, IntegrationError>>()?;
        let (mut errors_of_energy, mut orthogonality, mut vertical, mut evaluations) = (vec![], 0.0_f64, 0.0_f64, 0);
        let mut trace: Vec<(f64, Vector3<f64>)> = Vec::new();
        let momentum = top.initial_momentum().z;
        method.run(&top, h, steps, |t, y, used| {
            errors_of_energy.push((t, energy(y) - before));
            orthogonality = orthogonality.max(y.0.orthogonality_error());
            vertical = vertical.max((y.1.z - momentum).abs());
            evaluations += used;
            if t <= h * f64::from(figure_steps) {
                trace.push((t, y.0.rotate_back(&top.gravity) * 30.0));
            }
        })?;
        let mut y = (So3::identity(), top.initial_momentum());
        let time = time_step(Duration::from_millis(20), || {
            if let Ok((next, _)) = (method.step)(&top, std::hint::black_box(&y), h) {
                y = next;
            }
        });
        experiment.methods.push(MethodResult {
            name: method.name.into(),
            values: vec![
                ("order_observed", order_observed(&errors)),
                ("order_expected", method.order as f64),
                ("energy_error_max", largest(errors_of_energy.iter().map(|point| point.1))),
                ("energy_drift_per_time", drift(&errors_of_energy).map_or(f64::NAN, |fit| fit.slope)),
                ("energy_drift_standard_error", drift(&errors_of_energy).map_or(f64::NAN, |fit| fit.standard_error)),
                ("constraint_error_max", orthogonality),
                ("momentum_error_max", vertical),
                ("evaluations_mean", f64::from(u32::try_from(evaluations).unwrap_or(u32::MAX)) / f64::from(steps)),
                ("step_ns", time.least_ns),
            ],
        });
        let mut points: [Vec<(f64, f64)>; 3] = Default::default();
        let fine = 1_000;
        method.run(&top, 1.0 / f64::from(fine), fine, |t, y, _| {
            let direction = y.0 * Vector3::y();
            (0..3).for_each(|k| points[k].push((t, direction[k])));
        })?;
        for (points, component) in points.into_iter().zip(["x", "y", "z"]) {
            axis.push(Line { name: format!("{}, {component}", method.name), points, ..Line::default() });
        }
        errors_of_energy.truncate(figure_steps as usize);
        let name = method.name.to_owned();
        let weight_points = trace.iter().map(|(_, v)| (v.x, v.z)).collect();
        plane.push(Line { name: name.clone(), points: weight_points, ..Line::default() });
        weight.push(Line {
            name: name.clone(),
            points: trace.iter().take(100).map(|(_, v)| (v.x, v.z)).collect(),
            ..Line::default()
        });
        energies.push(Line { name: name.clone(), points: errors_of_energy, ..Line::default() });
        orders.push(Line { name, points: errors, marked: true, ..Line::default() });
    }
    let in_plane = |file: &str, title: &str, lines: Vec<Line>| {
        let mut figure = time_figure(file, title, "third component", false, lines);
        figure.x_label = "first component".into();
        figure
    };
    experiment.figures = vec![
        in_plane("figure-2-left", "MℓQ⁻¹Γ₀ over [0, 1], h = 0.01, seen along the second axis (figure 2, left)", weight),
        time_figure("figure-2-center", "Components of Q𝒳, h = 0.001 (figure 2, centre)", "Q𝒳", false, axis),
        convergence_figure("figure-2-right", "Symplectic methods: error at t = 1 (figure 2, right)", orders),
        time_figure("figure-3-top", "Energy error, h = 0.01 (figure 3, top)", "H − H(0)", false, energies),
        in_plane("figure-3-bottom", "MℓQ⁻¹Γ₀, h = 0.01, seen along the second axis (figure 3, bottom)", plane),
    ];
    Ok(experiment)
}
