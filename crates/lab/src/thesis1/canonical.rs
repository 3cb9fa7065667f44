//! Sections 1.1.2, 1.2.2, 1.3 and 1.4: methods without constraints.

use crate::figures::{marked, of_errors, over_time, plane, thin};
use crate::measure::{drift, largest, order_observed};
use crate::{Experiment, Extent, Line, MethodResult};
use lienav_integrate::IntegrationError;
use lienav_integrate::canonical::structure::symplectic_defect;
use lienav_integrate::canonical::systems::{ManyBodies, Oscillator, PolarKepler};
use lienav_integrate::canonical::{
    CanonicalMethod, Hamiltonian, PartitionedRungeKutta, PhasePoint, StormerVerlet, SymplecticEuler,
};
use lienav_integrate::tableau::{EULER, GAUSS4, GAUSS6, IMPLICIT_MIDPOINT, LOBATTO_IIIA4, LOBATTO_IIIB4, RK4};
use nalgebra::DVector;

/// All of the chapter, and two of no structure.
fn methods() -> Vec<Box<dyn CanonicalMethod>> {
    vec![
        Box::new(SymplecticEuler::A),
        Box::new(SymplecticEuler::B),
        Box::new(StormerVerlet),
        Box::new(PartitionedRungeKutta::of_one(IMPLICIT_MIDPOINT)),
        Box::new(PartitionedRungeKutta { positions: LOBATTO_IIIA4, momenta: LOBATTO_IIIB4 }),
        Box::new(PartitionedRungeKutta::of_one(GAUSS4)),
        Box::new(PartitionedRungeKutta::of_one(GAUSS6)),
        Box::new(PartitionedRungeKutta::of_one(EULER)),
        Box::new(PartitionedRungeKutta::of_one(RK4)),
    ]
}

/// From 0 to `end` in `steps` steps.
fn run(
    method: &dyn CanonicalMethod,
    system: &dyn Hamiltonian,
    start: &PhasePoint,
    (end, steps): (f64, u32),
    mut observe: impl FnMut(f64, &PhasePoint),
) -> Result<PhasePoint, IntegrationError> {
    let h = end / f64::from(steps);
    let mut at = start.clone();
    for k in 0..steps {
        at = method.step(system, &at, f64::from(k) * h, h)?;
        observe(f64::from(k + 1) * h, &at);
    }
    Ok(at)
}

fn defect(method: &dyn CanonicalMethod, system: &dyn Hamiltonian, at: &PhasePoint, h: f64) -> f64 {
    let map = |x: &DVector<f64>| Ok(method.step(system, &PhasePoint::of_stacked(x), 0.0, h)?.stacked());
    symplectic_defect(map, &at.stacked()).unwrap_or(f64::NAN)
}

/// Energy error and its drift, or no numbers of a run that could not be brought to its end.
fn energy_values(errors: &[(f64, f64)], is_whole: bool) -> Vec<(&'static str, f64)> {
    let trend = drift(errors).filter(|_| is_whole);
    vec![
        ("energy_error_max", if is_whole { largest(errors.iter().map(|e| e.1)) } else { f64::NAN }),
        ("energy_drift_per_time", trend.map_or(f64::NAN, |fit| fit.slope)),
        ("energy_drift_standard_error", trend.map_or(f64::NAN, |fit| fit.standard_error)),
    ]
}

fn steps_of(extent: Extent, full: u32, quick: u32) -> u32 {
    if extent == Extent::Full { full } else { quick }
}

/// H = ½p² + ½q²: energy over a long time, and the paths of the first periods.
pub(super) fn oscillator(extent: Extent) -> Result<Experiment, IntegrationError> {
    let (h, steps) = (0.1, steps_of(extent, 100_000, 2_000));
    let start = PhasePoint::new(&[1.0], &[0.0]);
    let energy = |at: &PhasePoint| Oscillator.energy(&at.q, &at.p);
    let mut experiment = Experiment {
        name: "oscillator".into(),
        about: format!(
            "Shen 2019, section 1.2: H = ½p² + ½q², (q, p) = (1, 0), {steps} steps of h = {h}. symplectic_defect is the \
             largest entry of φ'J(φ')ᵀ − J by differences, which leave about 1e-9."
        ),
        ..Experiment::default()
    };
    let (mut energies, mut paths) = (Vec::new(), Vec::new());
    for method in methods() {
        let (mut errors, mut path) = (Vec::new(), vec![(1.0, 0.0)]);
        let end = run(&*method, &Oscillator, &start, (h * f64::from(steps), steps), |t, at| {
            errors.push((t, energy(at) - energy(&start)));
            if t <= 30.0 {
                path.push((at.q[0], at.p[0]));
            }
        });
        let name = method.name();
        let is_whole = experiment.found(&name, "long run", end).is_some();
        let mut values = vec![("symplectic_defect", defect(&*method, &Oscillator, &start, 0.5))];
        values.extend(energy_values(&errors, is_whole));
        experiment.methods.push(MethodResult { name: name.clone(), values });
        // Euler's energy grows beyond what a figure can hold.
        let shown = thin(&errors).into_iter().map(|e| (e.0, e.1.abs())).filter(|e| e.1 < 1e6).collect();
        energies.push(Line { name: name.clone(), points: shown, ..Line::default() });
        paths.push(Line { name, points: path, ..Line::default() });
    }
    let title = "Oscillator: error of the energy, h = 0.1";
    experiment.figures = vec![
        over_time("figure-oscillator-energy", title, ("t", "|H − H(0)|"), true, energies),
        plane("figure-oscillator-paths", "Oscillator: paths up to t = 30, h = 0.1", ("q", "p"), paths),
    ];
    Ok(experiment)
}

/// A Hamiltonian that is not separable: orders, symplecticity, energy, and the momentum of its symmetry.
pub(super) fn planet(extent: Extent) -> Result<Experiment, IntegrationError> {
    let start = PhasePoint::new(&[1.0, 0.3], &[0.2, 1.1]);
    let exact = run(&PartitionedRungeKutta::of_one(GAUSS6), &PolarKepler, &start, (1.0, 400), |_, _| ())?;
    let steps = steps_of(extent, 40_000, 1_000);
    let h = 0.02;
    let mut experiment = Experiment {
        name: "planet".into(),
        about: format!(
            "Shen 2019, sections 1.2.2 and 1.3, general forms: a planet in polar coordinates, H = ½(p_r² + p_φ²/r²) − 1/r, \
             not separable, from (r, φ, p_r, p_φ) = (1, 0.3, 0.2, 1.1). Orders at t = 1 against Gauss 6 with 400 steps; \
             energy and p_φ over {steps} steps of h = {h}."
        ),
        ..Experiment::default()
    };
    let energy = |at: &PhasePoint| PolarKepler.energy(&at.q, &at.p);
    let mut lines = Vec::new();
    for method in methods() {
        let error = |k: u32| {
            let steps = 8 << k;
            let end = run(&*method, &PolarKepler, &start, (1.0, steps), |_, _| ());
            (1.0 / f64::from(steps), end.map_or(f64::NAN, |end| end.distance(&exact)))
        };
        let points: Vec<_> = (0..steps_of(extent, 8, 6)).map(error).collect();
        let (mut errors, mut momentum) = (Vec::new(), 0.0_f64);
        let end = run(&*method, &PolarKepler, &start, (h * f64::from(steps), steps), |t, at| {
            errors.push((t, energy(at) - energy(&start)));
            momentum = momentum.max((at.p[1] - start.p[1]).abs());
        });
        let is_whole = experiment.found(&method.name(), "long run", end).is_some();
        let mut values = vec![
            ("order_expected", method.order() as f64),
            ("order_observed", order_observed(&points)),
            ("symplectic_defect", defect(&*method, &PolarKepler, &start, 0.3)),
        ];
        values.extend(energy_values(&errors, is_whole));
        values.push(("momentum_error_max", momentum));
        experiment.methods.push(MethodResult { name: method.name(), values });
        lines.push((method.order(), marked(&method.name(), points)));
    }
    let title = "A planet in polar coordinates: error at t = 1";
    experiment.figures = vec![of_errors("figure-planet-errors", title, ("h", "error of (q, p)"), lines)];
    Ok(experiment)
}

/// (1.5): linear and angular momentum.
pub(super) fn three_bodies(extent: Extent) -> Result<Experiment, IntegrationError> {
    let bodies = ManyBodies { masses: vec![1.5, 1.0, 0.4] };
    let q = [0.0, 0.1, -0.2, 1.0, 0.0, 0.3, -2.6, 1.2, 0.1];
    let p = [0.1, -0.8, 0.05, 0.0, 0.9, 0.1, -0.1, -0.2, -0.2];
    let start = PhasePoint::new(&q, &p);
    let (h, steps) = (0.01, steps_of(extent, 20_000, 500));
    let mut experiment = Experiment {
        name: "three-bodies".into(),
        about: format!(
            "Shen 2019, (1.5): three bodies in −m₁m₂/r, masses 1.5, 1, 0.4; {steps} steps of h = {h}. Linear momentum is \
             kept by all, angular momentum, pᵀBq, by those that meet the condition of theorem 6 (Noether's theorem)."
        ),
        ..Experiment::default()
    };
    let energy = |at: &PhasePoint| bodies.energy(&at.q, &at.p);
    let (linear, angular) = (bodies.linear_momentum(&start.p), bodies.angular_momentum(&start.q, &start.p));
    let (mut energies, mut momenta) = (Vec::new(), Vec::new());
    for method in methods() {
        let (mut errors, mut turns, mut linear_error) = (Vec::new(), Vec::new(), 0.0_f64);
        let end = run(&*method, &bodies, &start, (h * f64::from(steps), steps), |t, at| {
            errors.push((t, energy(at) - energy(&start)));
            turns.push((t, (bodies.angular_momentum(&at.q, &at.p) - angular).norm()));
            linear_error = linear_error.max((bodies.linear_momentum(&at.p) - linear).norm());
        });
        let is_whole = experiment.found(&method.name(), "long run", end).is_some();
        let mut values = energy_values(&errors, is_whole);
        values.push(("linear_momentum_error_max", linear_error));
        values.push(("angular_momentum_error_max", largest(turns.iter().map(|e| e.1))));
        experiment.methods.push(MethodResult { name: method.name(), values });
        let absolute = thin(&errors).into_iter().map(|e| (e.0, e.1.abs())).collect();
        energies.push(Line { name: method.name(), points: absolute, ..Line::default() });
        momenta.push(Line { name: method.name(), points: thin(&turns), ..Line::default() });
    }
    let axes = |label| ("t", label);
    experiment.figures = vec![
        over_time("figure-bodies-energy", "Three bodies: error of the energy", axes("|H − H(0)|"), true, energies),
        over_time("figure-bodies-momentum", "Three bodies: angular momentum", axes("|L − L(0)|"), true, momenta),
    ];
    Ok(experiment)
}
