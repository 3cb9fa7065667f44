//! Section 3.4.4: the heavy top, and the free body it is without weight.

use super::runs::{Convergence, Methods, advance, all, convergence_figure, doublings, step_ns};
use crate::measure::{drift, largest};
use crate::{Experiment, Extent};
use lienav_integrate::cotangent::CotangentHamiltonian;
use lienav_integrate::dynamics::heavy_top::{Canonical, HeavyTop, LiePoisson};
use lienav_integrate::rkmk::RKMK54;
use lienav_integrate::{IntegrationError, VectorField};
use lienav_lie::se3::{join, split};
use lienav_lie::{Coadjoint, HomogeneousSpace, So3, Translation};
use nalgebra::Vector3;

pub(super) const TOP: &str = "Heavy top of section 3.4.4: 𝕀 = diag(0.234375, 0.46875, 0.234375), M = 15, ℓ = 2, 𝒳 = (0, \
                   1, 0), Γ₀ = (0, 0, −9.81) with signs as printed, Q(0) = I, Π(0) = 𝕀(0, 150, −4.61538)";

pub(super) fn steps_of(extent: Extent, full: u32, quick: u32) -> u32 {
    if extent == Extent::Full { full } else { quick }
}

/// Adds the largest error and the drift of quantities that should stay, over many steps, of each method.
fn long_run<M: HomogeneousSpace, F: VectorField<M>>(
    experiment: &mut Experiment,
    methods: &Methods<M, F>,
    field: &F,
    start: &M,
    (h, steps): (f64, u32),
    energy: impl Fn(&M) -> f64,
    constraint: impl Fn(&M) -> f64,
) {
    let initial = energy(start);
    for (index, method) in methods.iter().enumerate() {
        let (mut errors, mut constraint_error) = (Vec::new(), 0.0_f64);
        let end = advance(&**method, field, start, h * f64::from(steps), steps, |t, y| {
            errors.push((t, energy(y) - initial));
            constraint_error = constraint_error.max(constraint(y));
        });
        let trend = drift(&errors);
        let mut values = [
            ("energy_error_max", largest(errors.iter().map(|point| point.1))),
            ("energy_drift_per_time", trend.map_or(f64::NAN, |fit| fit.slope)),
            ("energy_drift_standard_error", trend.map_or(f64::NAN, |fit| fit.standard_error)),
            ("constraint_error_max", constraint_error),
        ];
        if experiment.found(&method.name(), "long run", end).is_none() {
            values.iter_mut().for_each(|value| value.1 = f64::NAN);
        }
        experiment.methods[index].values.extend(values);
    }
}

/// Cost and long-time behaviour of RKMK and commutator-free methods where they are cheapest.
pub(super) fn free_body(extent: Extent) -> Result<Experiment, IntegrationError> {
    let body = HeavyTop::free(Vector3::new(1.0, 2.0, 2.5));
    let start = Coadjoint::<So3>(Vector3::new(0.4, -1.1, 0.9));
    let reference = advance(&RKMK54, &body, &start, 4.0, 4000, |_, _| ())?;
    let steps = doublings(4, if extent == Extent::Full { 12 } else { 10 });
    let test = Convergence { field: &body, start: &start, end: 4.0, reference: &reference, steps: &steps };
    let methods = all();
    let (results, lines) = test.of(&methods);
    let mut experiment = Experiment { name: "free-rigid-body".into(), methods: results, ..Experiment::default() };
    let (h, steps) = (0.1, steps_of(extent, 100_000, 2_000));
    let energy = |y: &Coadjoint<So3>| body.energy_of(&y.0, &Vector3::zeros());
    let norm = start.0.norm();
    long_run(&mut experiment, &methods, &body, &start, (h, steps), energy, |y| (y.0.norm() - norm).abs());
    let full: (So3, Translation<Vector3<f64>>) = (So3::identity(), Translation(start.0));
    for (result, method) in experiment.methods.iter_mut().zip(all()) {
        result.values.push(("step_with_attitude_ns", step_ns(&*method, &body, &full, h)));
    }
    experiment.about = format!(
        "Free rigid body of section 2.1 on so(3)* by the coadjoint action: moments (1, 2, 2.5), Π(0) = (0.4, −1.1, 0.9) \
             (ours; the text gives no numbers). Orders at t = 4; energy over {steps} steps of h = 0.1; the constraint \
             is |Π|. step_ns is for Π alone, step_with_attitude_ns for (Q, π) on SO(3) × R³."
    );
    experiment.figures = vec![convergence_figure("free-rigid-body", "Free rigid body: error at t = 4", lines)];
    Ok(experiment)
}

fn canonical_start(top: &HeavyTop) -> Canonical {
    (So3::identity(), Translation(top.initial_momentum()))
}

pub(super) fn canonical_reference(top: &HeavyTop) -> Result<Canonical, IntegrationError> {
    advance(&RKMK54, top, &canonical_start(top), 1.0, 20_000, |_, _| ())
}

/// (21), (22) by RKMK and commutator-free methods.
pub(super) fn canonical(extent: Extent) -> Result<Experiment, IntegrationError> {
    let top = HeavyTop::of_celledoni();
    let (start, reference) = (canonical_start(&top), canonical_reference(&top)?);
    let steps = doublings(125, if extent == Extent::Full { 12 } else { 7 });
    let test = Convergence { field: &top, start: &start, end: 1.0, reference: &reference, steps: &steps };
    let methods = all();
    let (results, lines) = test.of(&methods);
    let mut experiment = Experiment { name: "heavy-top-canonical".into(), methods: results, ..Experiment::default() };
    let long = (0.002, steps_of(extent, 30_000, 500));
    let energy = |y: &Canonical| CotangentHamiltonian::<So3>::energy(&top, &y.0, &y.1.0);
    long_run(&mut experiment, &methods, &top, &start, long, energy, |y| y.0.orthogonality_error());
    experiment.about = format!(
        "{TOP}. (Q, π) on SO(3) × R³, (21) and (22). Orders at t = 1; energy (H(0) = 5276.3) over {} steps of h = \
             0.002; the constraint is orthogonality.",
        long.1
    );
    experiment.figures =
        vec![convergence_figure("heavy-top-canonical", "Heavy top on SO(3) × R³: error at t = 1", lines)];
    Ok(experiment)
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
    let (results, lines) = test.of(&methods);
    let mut experiment = Experiment { name: "heavy-top-lie-poisson".into(), methods: results, ..Experiment::default() };
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
    long_run(&mut experiment, &methods, &top, &start, long, energy, casimirs);
    experiment.about = format!(
        "{TOP}. (Π, Γ) on se(3)* by the coadjoint action, (23) and (24). Orders at t = 1; energy over {} steps of h = \
             0.002; the constraints are the Casimirs |Γ| and Π·Γ, relative.",
        long.1
    );
    experiment.figures =
        vec![convergence_figure("heavy-top-lie-poisson", "Heavy top on se(3)*: error at t = 1", lines)];
    Ok(experiment)
}
