//! Sections 1.2.3 and 1.3: RATTLE, its relative of order 4, and SHAKE.

use crate::figures::{marked, of_errors, over_time, thin};
use crate::measure::{drift, largest, order_observed};
use crate::{Experiment, Extent, Line, MethodResult};
use lienav_integrate::IntegrationError;
use lienav_integrate::canonical::structure::restricted_symplectic_defect;
use lienav_integrate::canonical::systems::RodChain;
use lienav_integrate::canonical::{ConstrainedPartitioned, Constraint, Hamiltonian, PhasePoint, Shake};
use nalgebra::DVector;

/// A step of one of the methods.
type Step = fn(&PhasePoint, f64) -> Result<PhasePoint, IntegrationError>;

const METHODS: [(&str, usize, Step); 2] = [
    ("RATTLE", 2, |at, h| ConstrainedPartitioned::RATTLE.step(&RodChain, &RodChain, at, 0.0, h)),
    ("Lobatto IIIA 4 with Lobatto IIIB 4", 4, |at, h| {
        ConstrainedPartitioned::LOBATTO4.step(&RodChain, &RodChain, at, 0.0, h)
    }),
];

/// Two masses on rods, with these angles from the vertical and their rates.
fn hanging(angles: [f64; 2], rates: [f64; 2]) -> PhasePoint {
    let mut at = PhasePoint::new(&[0.0; 4], &[0.0; 4]);
    for (i, rod) in [(0, 0), (1, 0), (1, 1)] {
        let ((sine, cosine), rate) = (f64::sin_cos(angles[rod]), rates[rod]);
        at.q[2 * i] += sine;
        at.q[2 * i + 1] -= cosine;
        at.p[2 * i] += rate * cosine;
        at.p[2 * i + 1] += rate * sine;
    }
    at
}

fn run(step: Step, start: &PhasePoint, (end, steps): (f64, u32)) -> Result<PhasePoint, IntegrationError> {
    let h = end / f64::from(steps);
    (0..steps).try_fold(start.clone(), |at, _| step(&at, h))
}

/// A double pendulum in the plane, in Cartesian coordinates.
pub(super) fn rods(extent: Extent) -> Result<Experiment, IntegrationError> {
    let start = hanging([0.7, -0.4], [0.3, 0.8]);
    let (h, steps) = (0.05, if extent == Extent::Full { 20_000 } else { 400 });
    let mut experiment = Experiment {
        name: "rods".into(),
        about: format!(
            "Shen 2019, (1.27) for any Hamiltonian and (1.31): two masses 1 on rods of length 1, g = 1, in Cartesian \
             coordinates with the constraints ½(|qᵢ − qᵢ₋₁|² − 1) = 0. Orders at t = 1; energy and constraints over \
             {steps} steps of h = {h}; symplectic_defect is that of the form on T*Q by differences. SHAKE has the \
             positions of RATTLE: shake_difference_max is their greatest distance over 200 steps."
        ),
        ..Experiment::default()
    };
    let exact = run(METHODS[1].2, &start, (1.0, 800))?;
    let energy = |at: &PhasePoint| RodChain.energy(&at.q, &at.p);
    let (mut lines, mut energies) = (Vec::new(), Vec::new());
    for (name, order, step) in METHODS {
        let error = |k: u32| {
            let steps = 5 << k;
            let end = run(step, &start, (1.0, steps));
            (1.0 / f64::from(steps), end.map_or(f64::NAN, |end| end.distance(&exact)))
        };
        let points: Vec<_> = (0..6).map(error).collect();
        let (mut at, mut errors, mut constraint, mut failed) = (start.clone(), Vec::new(), 0.0_f64, None);
        for k in 1..=steps {
            match step(&at, h) {
                Ok(next) => at = next,
                Err(error) => {
                    failed = Some(error);
                    break;
                }
            }
            errors.push((f64::from(k) * h, energy(&at) - energy(&start)));
            let velocity = (RodChain.jacobian(&at.q) * &at.p).amax();
            constraint = constraint.max(RodChain.value(&at.q).amax()).max(velocity);
        }
        experiment.note(name, "long run", failed);
        let trend = drift(&errors).filter(|_| failed.is_none());
        let place = |s: &DVector<f64>| hanging([0.7 + s[0], -0.4 + s[1]], [0.3 + s[2], 0.8 + s[3]]).stacked();
        let map = |x: &DVector<f64>| Ok(step(&PhasePoint::of_stacked(x), 0.2)?.stacked());
        let values = vec![
            ("order_expected", order as f64),
            ("order_observed", order_observed(&points)),
            ("symplectic_defect", restricted_symplectic_defect(map, place, 4).unwrap_or(f64::NAN)),
            ("energy_error_max", if failed.is_none() { largest(errors.iter().map(|e| e.1)) } else { f64::NAN }),
            ("energy_drift_per_time", trend.map_or(f64::NAN, |fit| fit.slope)),
            ("energy_drift_standard_error", trend.map_or(f64::NAN, |fit| fit.standard_error)),
            ("constraint_error_max", constraint),
        ];
        experiment.methods.push(MethodResult { name: name.into(), values });
        lines.push((order, marked(name, points)));
        let absolute = thin(&errors).into_iter().map(|e| (e.0, e.1.abs())).collect();
        energies.push(Line { name: name.into(), points: absolute, ..Line::default() });
    }
    if let (Some(method), difference) = (experiment.methods.first_mut(), shake_difference(&start, 0.05)?) {
        method.values.push(("shake_difference_max", difference));
    }
    experiment.figures = vec![
        of_errors("figure-rods-errors", "Rods: error at t = 1", ("h", "error of (q, p)"), lines),
        over_time("figure-rods-energy", "Rods: error of the energy", ("t", "|H − H(0)|"), true, energies),
    ];
    Ok(experiment)
}

fn shake_difference(start: &PhasePoint, h: f64) -> Result<f64, IntegrationError> {
    let mut point = METHODS[0].2(start, h)?;
    let (mut before, mut now, mut difference) = (start.q.clone(), point.q.clone(), 0.0_f64);
    for k in 0..200 {
        point = METHODS[0].2(&point, h)?;
        let next = Shake.step(&RodChain, &RodChain, (&before, &now), f64::from(k) * h, h)?;
        (before, now) = (now, next);
        difference = difference.max((&now - &point.q).norm());
    }
    Ok(difference)
}
