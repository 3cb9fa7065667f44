//! What the methods promise: orders, the Poisson structure, the energy, and steps that do not depend on the grid.

use super::*;
use crate::dynamics::elastic_arm::ElasticArm;
use crate::dynamics::kdv::Kdv;
use crate::dynamics::nls::Nls;
use crate::dynamics::semilinear::{Dense, Potential, Semilinear};
use nalgebra::{Complex, DMatrix};

fn nls(nodes: usize) -> (Nls, Vec<f64>) {
    let nls = Nls::new(nodes).unwrap();
    let q = nls.sample(|x| Complex::new(0.5 + 0.2 * x.cos(), 0.1 * x.sin()));
    (nls, q)
}

fn kdv(nodes: usize, dispersion: f64) -> (Kdv, Vec<f64>) {
    let kdv = Kdv::new(nodes, dispersion).unwrap();
    let q = kdv.sample(|x| 0.3 + 0.5 * x.cos());
    (kdv, q)
}

/// V = ¼Σq⁴ on a small system with a J that is neither canonical nor invertible.
struct Quartic;

impl Potential for Quartic {
    fn value(&self, q: &[f64]) -> f64 {
        0.25 * q.iter().map(|x| x.powi(4)).sum::<f64>()
    }
    fn gradient(&self, q: &[f64], out: &mut [f64]) {
        out.iter_mut().zip(q).for_each(|(out, x)| *out = x.powi(3));
    }
    fn hessian_apply(&self, q: &[f64], v: &[f64], out: &mut [f64]) {
        out.iter_mut().zip(q.iter().zip(v)).for_each(|(out, (x, v))| *out = 3.0 * x * x * v);
    }
    fn discrete_gradient(&self, a: &[f64], b: &[f64], out: &mut [f64]) {
        out.iter_mut().zip(a.iter().zip(b)).for_each(|(out, (a, b))| *out = 0.25 * (a + b) * (a * a + b * b));
    }
}

fn dense() -> (Semilinear<Dense, Quartic>, Vec<f64>) {
    let upper = DMatrix::from_fn(5, 5, |i, j| if j > i { ((3 * i + 2 * j) % 5) as f64 - 1.7 } else { 0.0 });
    let j = &upper - upper.transpose();
    // A polynomial in J² is symmetric and commutes with J.
    let d = DMatrix::identity(5, 5) - 0.8 * &j * &j;
    (Semilinear { linear: Dense::new(j, d).unwrap(), potential: Quartic }, vec![0.5, -0.2, 0.4, 0.1, -0.3])
}

type Make<P> = for<'a> fn(&'a P, f64) -> Box<dyn Method + 'a>;

fn exact() -> Iteration {
    Iteration::default()
}

fn all<P: SemilinearPoisson>() -> [(&'static str, f64, Make<P>); 7] {
    [
        ("exponential midpoint", 2.0, |p, h| Box::new(SymplecticExponential::midpoint(p, h, exact()))),
        ("disex", 5.0, |p, h| Box::new(SymplecticExponential::disex(p, h, exact()))),
        ("energy-preserving", 2.0, |p, h| Box::new(EnergyPreservingExponential::new(p, h, exact()))),
        ("midpoint", 2.0, |p, h| Box::new(Classical::midpoint(p, h, Splitting::None, exact()))),
        ("midpoint, linear part solved", 2.0, |p, h| Box::new(Classical::midpoint(p, h, Splitting::Linear, exact()))),
        ("midpoint by Newton", 2.0, |p, h| Box::new(NewtonMidpoint::new(p, h, exact()))),
        ("discrete gradient", 2.0, |p, h| Box::new(Classical::discrete_gradient(p, h, Splitting::None, exact()))),
    ]
}

fn distance(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
}

/// Slopes of the error at time 1/2 between steps 1/32 and 1/64.
fn put_orders_to_the_test<P: SemilinearPoisson>(problem: &P, start: &[f64]) {
    let at = |make: Make<P>, steps: usize| {
        let mut q = start.to_vec();
        make(problem, 0.5 / steps as f64).run(steps, &mut q).unwrap();
        q
    };
    let methods = all();
    let reference = at(methods[1].2, 256);
    for (name, order, make) in methods {
        let error = |steps| distance(&at(make, steps), &reference);
        let slope = (error(16) / error(32)).log2();
        assert!((slope - order).abs() < 0.2, "{name}: {slope}");
    }
}

#[test]
fn orders_are_two_and_five() {
    let (problem, start) = nls(9);
    put_orders_to_the_test(&problem, &start);
    let (problem, start) = kdv(11, 0.05);
    put_orders_to_the_test(&problem, &start);
}

#[test]
fn the_exponential_midpoint_rule_is_that_of_the_text() {
    let (problem, q) = nls(15);
    let h = 0.05;
    let mut next = q.clone();
    SymplecticExponential::midpoint(&problem, h, exact()).step(0.0, &mut next).unwrap();
    let mut scratch = problem.scratch();
    let mut exponential = |t: f64, x: &[f64]| {
        let mut out = vec![0.0; x.len()];
        problem.apply(&problem.function(&|omega| Complex::from_polar(1.0, omega * t)), x, &mut out, &mut scratch);
        out
    };
    let (ahead, back) = (exponential(0.5 * h, &q), exponential(-0.5 * h, &next));
    let mean: Vec<f64> = ahead.iter().zip(&back).map(|(a, b)| 0.5 * (a + b)).collect();
    let (mut gradient, mut force) = (vec![0.0; q.len()], vec![0.0; q.len()]);
    problem.gradient(&mean, &mut gradient);
    problem.apply_structure(&gradient, &mut force, &mut problem.scratch());
    let (linear, forced) = (exponential(h, &q), exponential(0.5 * h, &force));
    let expected: Vec<f64> = linear.iter().zip(&forced).map(|(a, b)| a + h * b).collect();
    assert!(distance(&next, &expected) < 1e-14);
}

#[test]
fn disex_is_the_composition_of_midpoint_rules() {
    let (problem, mut q) = kdv(13, 0.05);
    let mut composed = q.clone();
    SymplecticExponential::disex(&problem, 0.02, exact()).step(0.0, &mut composed).unwrap();
    for weight in DISEX_WEIGHTS {
        SymplecticExponential::midpoint(&problem, 0.02 * weight, exact()).step(0.0, &mut q).unwrap();
    }
    assert!(distance(&q, &composed) < 1e-14);
    assert!((DISEX_WEIGHTS.iter().sum::<f64>() - 1.0).abs() < 1e-14);
}

#[test]
fn the_midpoint_rule_undoes_itself_and_a_composition_is_undone_by_its_reverse() {
    let (problem, start) = nls(9);
    let mut q = start.clone();
    SymplecticExponential::disex(&problem, 0.1, exact()).run(20, &mut q).unwrap();
    SymplecticExponential::midpoint(&problem, 0.1, exact()).run(3, &mut q).unwrap();
    SymplecticExponential::midpoint(&problem, -0.1, exact()).run(3, &mut q).unwrap();
    // The composition with its weights in reverse is the inverse, backwards in time.
    let reversed: Vec<f64> = DISEX_WEIGHTS.into_iter().rev().collect();
    SymplecticExponential::composition(&problem, -0.1, exact(), &reversed).run(20, &mut q).unwrap();
    assert!(distance(&q, &start) < 1e-12);
}

/// |(∇φ)J(∇φ)ᵀ − J|, the Jacobian by differences of order 4.
fn poisson_defect<P: SemilinearPoisson>(problem: &P, method: &mut dyn Method, q: &[f64]) -> f64 {
    let (n, delta) = (q.len(), 1e-3);
    let mut after = |i: usize, shift: f64| {
        let mut moved = q.to_vec();
        moved[i] += shift * delta;
        method.step(0.0, &mut moved).unwrap();
        moved
    };
    let mut jacobian = DMatrix::zeros(n, n);
    for i in 0..n {
        let [a, b, c, d] = [-2.0, -1.0, 1.0, 2.0].map(|shift| after(i, shift));
        for row in 0..n {
            jacobian[(row, i)] = (a[row] - d[row] + 8.0 * (c[row] - b[row])) / (12.0 * delta);
        }
    }
    let structure = problem.function_of_structure(&|_| Complex::new(1.0, 0.0));
    let mut j = DMatrix::zeros(n, n);
    let mut scratch = problem.scratch();
    for i in 0..n {
        let mut unit = vec![0.0; n];
        unit[i] = 1.0;
        problem.apply(&structure, &unit, j.column_mut(i).as_mut_slice(), &mut scratch);
    }
    (&jacobian * &j * jacobian.transpose() - j).amax()
}

fn put_poisson_structure_to_the_test<P: SemilinearPoisson>(problem: &P, q: &[f64], h: f64) {
    for (name, _, make) in all().into_iter().filter(|(name, ..)| !name.contains("energy") && !name.contains("gradient"))
    {
        let defect = poisson_defect(problem, make(problem, h).as_mut(), q);
        assert!(defect < 1e-9, "{name}: {defect:e}");
    }
    // The method that keeps the energy cannot also keep the structure; that this is seen shows that the measure sees.
    let defect = poisson_defect(problem, &mut EnergyPreservingExponential::new(problem, h, exact()), q);
    assert!(defect > 1e-8, "{defect:e}");
}

#[test]
fn the_symplectic_methods_keep_the_poisson_structure() {
    let (problem, q) = dense();
    put_poisson_structure_to_the_test(&problem, &q, 0.02);
    let (problem, q) = nls(3);
    put_poisson_structure_to_the_test(&problem, &q, 0.1);
}

/// Relative errors of the energy at every step.
fn energy_errors<P: SemilinearPoisson>(problem: &P, method: &mut dyn Method, q: &mut [f64], steps: usize) -> Vec<f64> {
    let mut scratch = problem.scratch();
    let start = problem.energy(q, &mut scratch);
    let mut error = |k: usize| {
        method.step(k as f64, q).unwrap();
        problem.energy(q, &mut scratch) / start - 1.0
    };
    (0..steps).map(&mut error).collect()
}

fn greatest(errors: &[f64]) -> f64 {
    errors.iter().fold(0.0, |greatest, error| error.abs().max(greatest))
}

#[test]
fn the_energy_is_kept_to_rounding_on_any_grid() {
    for nodes in [11, 64, 161] {
        let (problem, mut q) = nls(nodes);
        let mut method = EnergyPreservingExponential::new(&problem, 0.1, exact());
        let errors = energy_errors(&problem, &mut method, &mut q, 200);
        assert!(greatest(&errors) < 1e-13, "{nodes}: {:e}", greatest(&errors));
    }
    let (problem, mut q) = kdv(401, 5e-4);
    let errors = energy_errors(&problem, &mut EnergyPreservingExponential::new(&problem, 0.005, exact()), &mut q, 100);
    assert!(greatest(&errors) < 1e-12, "{:e}", greatest(&errors));
    let (problem, mut q) = dense();
    let errors = energy_errors(&problem, &mut EnergyPreservingExponential::new(&problem, 0.05, exact()), &mut q, 2000);
    assert!(greatest(&errors) < 1e-12, "{:e}", greatest(&errors));
}

#[test]
fn symplectic_methods_have_a_bounded_energy_error_without_drift_and_keep_the_mass() {
    let methods: [(Make<Nls>, f64); 2] = [(all()[0].2, 0.05), (all()[1].2, 0.05)];
    for (make, h) in methods {
        let (problem, mut q) = nls(9);
        let mass = problem.mass(&q);
        let errors = energy_errors(&problem, make(&problem, h).as_mut(), &mut q, 10_000);
        let (early, late) = (greatest(&errors[..2000]), greatest(&errors[8000..]));
        assert!(late < 1.2 * early + 1e-13 && early < 1e-2, "{early:e} {late:e}");
        assert!((problem.mass(&q) / mass - 1.0).abs() < 1e-11);
    }
}

#[test]
fn the_step_is_bound_by_the_grid_without_exponentials_and_free_with_them() {
    for nodes in [11, 101, 401] {
        let (problem, q) = nls(nodes);
        for exponential in [0, 2] {
            assert!(all()[exponential].2(&problem, 0.1).run(3, &mut q.clone()).is_ok(), "{nodes}");
        }
    }
    let (problem, q) = kdv(1401, 5e-4);
    assert!(all()[2].2(&problem, 0.005).run(3, &mut q.clone()).is_ok());
    let (problem, q) = nls(101);
    for classical in [3, 6] {
        let mut untouched = q.clone();
        let error = all()[classical].2(&problem, 0.01).step(7.0, &mut untouched).unwrap_err();
        assert!(matches!(
            error,
            IntegrationError::NotConverged { time: 7.0, step: 0.01, .. }
                | IntegrationError::NotFinite { time: 7.0, step: 0.01 }
        ));
        assert_eq!(untouched, q, "a step that fails leaves the state as it was");
    }
}

#[test]
fn the_elastic_arm_is_stepped_far_beyond_its_fastest_mode() {
    let arm = ElasticArm::new(&Default::default()).unwrap();
    let fastest = arm.system.linear.frequencies().iter().copied().fold(0.0, f64::max);
    let at = |make: Make<_>, h: f64| {
        let mut q = arm.bent(0.05);
        make(&arm.system, h).run((0.2 / h).round() as usize, &mut q).unwrap();
        arm.tip(&q)
    };
    let methods = all();
    let reference = at(methods[1].2, 1e-4);
    for exponential in [0, 2] {
        let h = 1e-3;
        assert!(h * fastest > 50.0);
        let error = at(methods[exponential].2, h) - reference;
        assert!(error.abs() < 1e-3, "{error}");
    }
    let explicit_limit = 2.0 / fastest;
    assert!(all()[3].2(&arm.system, 10.0 * explicit_limit).step(0.0, &mut arm.bent(0.05)).is_err());
}
