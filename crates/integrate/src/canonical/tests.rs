//! Orders by slopes, symplecticity by difference quotients, momenta, and names that are one map.

use super::poisson::{SplitPoissonSystem, jacobi_defect, runge_kutta, strang};
use super::structure::{poisson_defect, restricted_symplectic_defect, symplectic_defect};
use super::systems::*;
use super::*;
use crate::Tableau;
use crate::tableau::*;

fn methods() -> Vec<(Box<dyn CanonicalMethod>, bool)> {
    let (lobatto, partner) = galerkin(4, LOBATTO_IIIA4.c).unwrap();
    let pair = |positions, momenta| PartitionedRungeKutta { positions, momenta };
    vec![
        (Box::new(SymplecticEuler::A), true),
        (Box::new(SymplecticEuler::B), true),
        (Box::new(StormerVerlet), true),
        (Box::new(PartitionedRungeKutta::of_one(IMPLICIT_MIDPOINT)), true),
        (Box::new(PartitionedRungeKutta::of_one(GAUSS4)), true),
        (Box::new(PartitionedRungeKutta::of_one(GAUSS6)), true),
        (Box::new(PartitionedRungeKutta { positions: lobatto, momenta: partner }), true),
        (Box::new(PartitionedRungeKutta::of_one(RK4)), false),
        (Box::new(PartitionedRungeKutta::of_one(LOBATTO_IIIA4)), false),
        (Box::new(PartitionedRungeKutta::of_one(RADAU_IIA5)), false),
        (Box::new(pair(EULER, IMPLICIT_EULER)), true),
    ]
}

fn run(method: &dyn CanonicalMethod, system: &dyn Hamiltonian, start: &PhasePoint, end: f64, steps: u32) -> PhasePoint {
    let h = end / f64::from(steps);
    (0..steps).fold(start.clone(), |at, k| method.step(system, &at, f64::from(k) * h, h).unwrap())
}

/// A planet that is not on a circle.
fn planet() -> PhasePoint {
    PhasePoint::new(&[1.0, 0.3], &[0.2, 1.1])
}

fn bodies() -> (ManyBodies, PhasePoint) {
    let q = [0.0, 0.1, -0.2, 1.0, 0.0, 0.3, -0.6, 1.2, 0.1];
    let p = [0.1, -0.2, 0.05, 0.0, 0.9, 0.1, -0.3, 0.1, -0.2];
    (ManyBodies { masses: vec![1.5, 1.0, 0.4] }, PhasePoint::new(&q, &p))
}

#[test]
fn orders_are_what_they_are_said_to_be_and_those_of_symmetric_methods_even() {
    let exact = run(&PartitionedRungeKutta::of_one(GAUSS6), &PolarKepler, &planet(), 1.0, 200);
    for (method, _) in methods() {
        let steps = if method.order() >= 4 { 16 } else { 64 };
        let error = |n| run(&*method, &PolarKepler, &planet(), 1.0, n).distance(&exact);
        let order = (error(steps) / error(2 * steps)).log2();
        assert!((order - method.order() as f64).abs() < 0.2, "{}: {order}", method.name());
        let (h, time) = (0.05, 0.0);
        let there = method.step(&PolarKepler, &planet(), time, h).unwrap();
        let back = method.step(&PolarKepler, &there, time, -h).unwrap();
        // Theorem 3.
        if back.distance(&planet()) < 1e-13 {
            assert_eq!(method.order() % 2, 0, "{}", method.name());
        }
    }
}

#[test]
fn symplectic_are_those_that_meet_the_condition() {
    for (method, is_symplectic) in methods() {
        let map =
            |x: &DVector<f64>| method.step(&PolarKepler, &PhasePoint::of_stacked(x), 0.0, 0.3).map(|end| end.stacked());
        let defect = symplectic_defect(map, &planet().stacked()).unwrap();
        assert_eq!(defect < 1e-7, is_symplectic, "{}: {defect:e}", method.name());
    }
}

#[test]
fn euler_a_and_b_are_adjoint_and_verlet_is_their_composition_and_reversible() {
    let [a, b] = [SymplecticEuler::A, SymplecticEuler::B];
    let (system, start, h) = (PolarKepler, planet(), 0.1);
    let step = |method: &dyn CanonicalMethod, at: &PhasePoint, h: f64| method.step(&system, at, 0.0, h).unwrap();
    assert!(step(&a, &step(&b, &start, h), -h).distance(&start) < 1e-14);
    assert!(step(&a, &step(&a, &start, h), -h).distance(&start) > 1e-3);
    // (1.15): flipped momenta run back.
    let end = step(&StormerVerlet, &start, h);
    let flipped = |at: &PhasePoint| PhasePoint { q: at.q.clone(), p: -&at.p };
    assert!(flipped(&step(&StormerVerlet, &flipped(&end), h)).distance(&start) < 1e-14);
    // The two-step form (1.21) of a separable Hamiltonian.
    let points = (0..3).scan(PhasePoint::new(&[1.0], &[0.3]), |at, _| {
        let before = at.clone();
        *at = StormerVerlet.step(&Pendulum, at, 0.0, h).unwrap();
        Some(before)
    });
    let points = points.collect::<Vec<_>>();
    let second = points[2].q[0] - 2.0 * points[1].q[0] + points[0].q[0];
    assert!((second + h * h * points[1].q[0].sin()).abs() < 1e-15);
}

#[test]
fn momenta_of_symmetries_stay_and_their_bracket_is_a_momentum_too() {
    let (system, start) = bodies();
    let (linear, angular) = (system.linear_momentum(&start.p), system.angular_momentum(&start.q, &start.p));
    for (method, is_symplectic) in methods() {
        let end = run(&*method, &system, &start, 2.0, 40);
        assert!((system.linear_momentum(&end.p) - linear).norm() < 1e-13, "{}", method.name());
        // Quadratic first integrals pᵀBq need the condition of theorem 6.
        let change = (system.angular_momentum(&end.q, &end.p) - angular).norm();
        assert_eq!(change < 1e-12, is_symplectic, "{}: {change:e}", method.name());
    }
    // Poisson's theorem: {L₁, L₂} = L₃ by ∇F J ∇G.
    let gradient = |k: usize| {
        let f = |x: &DVector<f64>| {
            let at = PhasePoint::of_stacked(x);
            DVector::from_element(1, system.angular_momentum(&at.q, &at.p)[k])
        };
        newton::differences(&start.stacked(), &f)
    };
    let bracket = (gradient(0) * structure::canonical(9) * gradient(1).transpose())[(0, 0)];
    assert!((bracket - angular[2]).abs() < 1e-8, "{bracket} {angular}");
}

#[test]
fn discrete_lagrangians_give_methods_that_have_other_names() {
    let (start, h) = (PhasePoint::new(&[1.2], &[0.4]), 0.3);
    let by = |quadrature| VariationalTwoPoint(quadrature).step(&Pendulum, &start, 0.0, h).unwrap();
    let verlet = StormerVerlet.step(&Pendulum, &start, 0.0, h).unwrap();
    assert!(by(Quadrature::Trapezoidal).distance(&verlet) < 1e-14);
    let midpoint = PartitionedRungeKutta::of_one(IMPLICIT_MIDPOINT);
    assert!(by(Quadrature::Midpoint).distance(&midpoint.step(&Pendulum, &start, 0.0, h).unwrap()) < 1e-14);
    // Theorem 8: L_d of order 2 gives order 2, also where L is not separable.
    let exact = run(&PartitionedRungeKutta::of_one(GAUSS6), &PolarKepler, &planet(), 1.0, 200);
    for quadrature in [Quadrature::Midpoint, Quadrature::Trapezoidal] {
        let error = |n: u32| {
            let h = 1.0 / f64::from(n);
            let method = VariationalTwoPoint(quadrature);
            (0..n).fold(planet(), |at, _| method.step(&PolarKepler, &at, 0.0, h).unwrap()).distance(&exact)
        };
        assert!(((error(32) / error(64)).log2() - 2.0).abs() < 0.1, "{quadrature:?}");
    }
}

/// Shen, Tran and Leok 2022, (31): the action of a polynomial through nodes, stationary in its inner values, by plain
/// differences of the quadrature itself.
fn by_interpolation<const S: usize>(
    tableau: &Tableau<S>,
    degree: usize,
    system: &dyn Lagrangian,
    at: &PhasePoint,
    h: f64,
) -> PhasePoint {
    let n = at.q.len();
    let node = |k: usize| k as f64 / degree as f64;
    let basis = |k: usize, x: f64| -> f64 {
        (0..=degree).filter(|m| *m != k).map(|m| (x - node(m)) / (node(k) - node(m))).product()
    };
    let slope = |k: usize, x: f64| -> f64 {
        let others = || (0..=degree).filter(move |m| *m != k);
        let product = |left_out: usize| -> f64 {
            others().filter(|m| *m != left_out).map(|m| (x - node(m)) / (node(k) - node(m))).product()
        };
        others().map(|m| product(m) / (node(k) - node(m))).sum()
    };
    // Values at the nodes 0 … degree; F and its gradient in them.
    let gradient = |values: &DVector<f64>| {
        let mut gradient = DVector::zeros(values.len());
        for i in 0..S {
            let sum = |weight: &dyn Fn(usize) -> f64| {
                (0..=degree).fold(DVector::zeros(n), |q, k| q + values.rows(k * n, n) * weight(k))
            };
            let (q, v) = (sum(&|k| basis(k, tableau.c[i])), sum(&|k| slope(k, tableau.c[i])) / h);
            let (force, momentum) = (system.by_position(&q, &v), system.by_velocity(&q, &v));
            for k in 0..=degree {
                let part = &force * basis(k, tableau.c[i]) + &momentum * (slope(k, tableau.c[i]) / h);
                let mut rows = gradient.rows_mut(k * n, n);
                rows += part * (h * tableau.b[i]);
            }
        }
        gradient
    };
    let velocity = system.velocity(&at.q, &at.p);
    let inner: Vec<_> = (1..=degree).map(|k| &at.q + &velocity * (h * node(k))).collect();
    let all = |x: &DVector<f64>| stack(&[&at.q, x]);
    let x = newton::solve(stack(&inner.iter().collect::<Vec<_>>()), (0.0, h), |x| {
        let gradient = gradient(&all(x));
        stack(&[&(&at.p + gradient.rows(0, n)), &gradient.rows(n, (degree - 1) * n).into_owned()])
    })
    .unwrap();
    let p = gradient(&all(&x)).rows(degree * n, n).into_owned();
    PhasePoint { q: x.rows((degree - 1) * n, n).into_owned(), p }
}

#[test]
fn galerkin_by_values_by_velocities_and_as_a_partitioned_runge_kutta_method_are_one_map() {
    fn check<const S: usize>(order: usize, nodes: [f64; S]) {
        let (tableau, partner) = galerkin(order, nodes).unwrap();
        let (at, h) = (planet(), 0.2);
        let method = PartitionedRungeKutta { positions: tableau, momenta: partner };
        let by_stages = method.step(&PolarKepler, &at, 0.0, h).unwrap();
        let by_velocities = ConstrainedGalerkin { tableau }.step(&PolarKepler, &at, 0.0, h).unwrap();
        assert!(by_stages.distance(&by_velocities) < 1e-13, "{}", by_stages.distance(&by_velocities));
        let by_values = by_interpolation(&tableau, S, &PolarKepler, &at, h);
        assert!(by_stages.distance(&by_values) < 1e-12, "{}", by_stages.distance(&by_values));
        // Polynomials of another degree than the number of nodes make another method.
        if S > 2 {
            let other = by_interpolation(&tableau, S - 1, &PolarKepler, &at, h);
            assert!(by_stages.distance(&other) > 1e-7, "{}", by_stages.distance(&other));
        }
    }
    check(2, [0.5]);
    check(4, GAUSS4.c);
    check(6, GAUSS6.c);
    check(4, LOBATTO_IIIA4.c);
    check(2, [0.1, 0.7]);
    for (i, row) in galerkin(4, LOBATTO_IIIA4.c).unwrap().0.a.iter().enumerate() {
        assert!(row.iter().zip(LOBATTO_IIIA4.a[i]).all(|(ours, known)| (ours - known).abs() < 1e-14));
    }
    assert_eq!(galerkin(2, [0.5, 0.5]), None);
}

/// A double pendulum of two rods with the momenta of these angular velocities.
fn hanging(angles: [f64; 2], rates: [f64; 2]) -> PhasePoint {
    let mut at = PhasePoint::new(&[0.0; 4], &[0.0; 4]);
    for i in 0..2 {
        for rod in 0..=i {
            let ((sine, cosine), rate) = (angles[rod].sin_cos(), rates[rod]);
            at.q[2 * i] += sine;
            at.q[2 * i + 1] -= cosine;
            at.p[2 * i] += rate * cosine;
            at.p[2 * i + 1] += rate * sine;
        }
    }
    at
}

#[test]
fn constrained_methods_stay_on_the_cotangent_bundle_and_keep_its_form() {
    fn check<const S: usize>(method: ConstrainedPartitioned<S>) {
        let start = hanging([0.7, -0.4], [0.3, 0.8]);
        let (system, constraint) = (&RodChain, &RodChain);
        let advance = |end: f64, steps: u32| {
            let h = end / f64::from(steps);
            (0..steps).fold(start.clone(), |at, _| method.step(system, constraint, &at, 0.0, h).unwrap())
        };
        let end = advance(4.0, 80);
        assert!(constraint.value(&end.q).amax() < 1e-14);
        assert!((constraint.jacobian(&end.q) * &end.p).amax() < 1e-14);
        // Parameters s: angles and rates of the rods.
        let at = |s: &DVector<f64>| hanging([0.7 + s[0], -0.4 + s[1]], [0.3 + s[2], 0.8 + s[3]]).stacked();
        let map = |x: &DVector<f64>| {
            let end = method.step(system, constraint, &PhasePoint::of_stacked(x), 0.0, 0.2)?;
            Ok(end.stacked())
        };
        let defect = restricted_symplectic_defect(map, at, 4).unwrap();
        assert!(defect < 1e-7, "{S}: {defect:e}");
        let exact = {
            let fine = ConstrainedPartitioned::LOBATTO4;
            (0..400).fold(start.clone(), |at, _| fine.step(system, constraint, &at, 0.0, 1.0 / 400.0).unwrap())
        };
        let order = (advance(1.0, 10).distance(&exact) / advance(1.0, 20).distance(&exact)).log2();
        assert!((order - method.order() as f64).abs() < 0.25, "{S}: {order}");
        let energy = |at: &PhasePoint| system.energy(&at.q, &at.p);
        let change = |steps: u32| (energy(&advance(0.2 * f64::from(steps), steps)) - energy(&start)).abs();
        assert!(change(400) < 0.05, "{S}: {}", change(400));
        // Symmetric.
        let there = method.step(system, constraint, &start, 0.0, 0.2).unwrap();
        assert!(method.step(system, constraint, &there, 0.0, -0.2).unwrap().distance(&start) < 1e-12);
    }
    check(ConstrainedPartitioned::RATTLE);
    check(ConstrainedPartitioned::LOBATTO4);
    assert_eq!(ConstrainedPartitioned::new(LOBATTO_IIIA4).map(|m| m.order()), Some(4));
    assert_eq!(ConstrainedPartitioned::new(GAUSS4), None);
    // The index of the text: āᵢ₁ = b̄₁, not b̄ᵢ.
    assert!(LOBATTO_IIIB4.a.iter().all(|row| (row[0] - LOBATTO_IIIB4.b[0]).abs() < 1e-16 && row[2] == 0.0));
}

#[test]
fn shake_has_the_positions_of_rattle() {
    let start = hanging([0.7, -0.4], [0.3, 0.8]);
    let h = 0.05;
    let rattle = |at: &PhasePoint| ConstrainedPartitioned::RATTLE.step(&RodChain, &RodChain, at, 0.0, h).unwrap();
    let mut point = rattle(&start);
    let (mut before, mut now) = (start.q, point.q.clone());
    for _ in 0..50 {
        point = rattle(&point);
        let next = Shake.step(&RodChain, &RodChain, (&before, &now), 0.0, h).unwrap();
        (before, now) = (now, next);
        assert!((&now - &point.q).norm() < 1e-11);
    }
}

#[test]
fn noncanonical_structures_are_kept_by_flows_of_parts_and_by_nothing_else_here() {
    fn check(name: &str, system: &dyn SplitPoissonSystem, x: DVector<f64>) {
        assert!(jacobi_defect(system, &x) < 1e-8, "{name}: {:e}", jacobi_defect(system, &x));
        let h = 0.05;
        let split = poisson_defect(|x| strang(system, x, 0.0, h), &x, |x| system.structure(x)).unwrap();
        assert!(split < 1e-7, "{name}: {split:e}");
        let midpoint = |x: &DVector<f64>| runge_kutta(&IMPLICIT_MIDPOINT, system, x, 0.0, h);
        let defect = poisson_defect(midpoint, &x, |x| system.structure(x)).unwrap();
        assert!(defect > 1e-6, "{name}: {defect:e}");
        let advance = |n: u32, splitting: bool| {
            let h = 0.4 / f64::from(n);
            let step = |x: DVector<f64>, _| {
                if splitting { strang(system, &x, 0.0, h) } else { runge_kutta(&GAUSS6, system, &x, 0.0, h) }
            };
            (0..n).try_fold(x.clone(), step).unwrap()
        };
        let exact = advance(200, false);
        let error = |n| (advance(n, true) - &exact).norm();
        let order = (error(20) / error(40)).log2();
        assert!((order - 2.0).abs() < 0.1, "{name}: {order}");
        assert!((system.energy(&exact) - system.energy(&x)).abs() < 1e-12, "{name}");
    }
    check("Lotka–Volterra", &LotkaVolterra, DVector::from_vec(vec![2.0, 1.5]));
    check("generalized oscillator", &GeneralizedOscillator, DVector::from_vec(vec![0.3, 0.5]));
    let ring = DVector::from_iterator(10, (0..10).map(|k| 0.5 * (1.3 * f64::from(k)).sin()));
    check("Ablowitz–Ladik", &AblowitzLadik, ring.clone());
    let end = (0..100).try_fold(ring.clone(), |x, _| runge_kutta(&GAUSS6, &AblowitzLadik, &x, 0.0, 0.02)).unwrap();
    assert!((AblowitzLadik.norm(&end) - AblowitzLadik.norm(&ring)).abs() < 1e-10);
}

#[test]
fn energies_of_symplectic_methods_oscillate_and_that_of_euler_grows() {
    let start = PhasePoint::new(&[1.0], &[0.0]);
    let largest = |method: &dyn CanonicalMethod| {
        let mut at = start.clone();
        let energy = |at: &PhasePoint| Oscillator.energy(&at.q, &at.p) - 0.5;
        (0..20_000).fold(0.0_f64, |largest, k| {
            at = method.step(&Oscillator, &at, 0.1 * f64::from(k), 0.1).unwrap();
            largest.max(energy(&at).abs())
        })
    };
    // ½(p² ± hpq + q²) stays: ½·h/2/(1 − h/2) is the most that H can differ.
    assert!((largest(&SymplecticEuler::A) - 0.025 / 0.95).abs() < 2e-3, "{}", largest(&SymplecticEuler::A));
    assert!(largest(&StormerVerlet) < 1.3e-3 && largest(&PartitionedRungeKutta::of_one(GAUSS4)) < 1e-10);
    assert!(largest(&PartitionedRungeKutta::of_one(EULER)) > 1e80);
}

/// Ortolan 2011, proposition 1.2.15: the trapezoidal rule is not symplectic, but χ ∘ midpoint ∘ χ⁻¹ with half a step of
/// Euler's method as χ, and its energy stays in bounds.
#[test]
fn what_is_conjugate_to_a_symplectic_method_keeps_the_energy_in_bounds() {
    let trapezoidal = PartitionedRungeKutta::of_one(LOBATTO_IIIA2);
    let midpoint = PartitionedRungeKutta::of_one(IMPLICIT_MIDPOINT);
    let euler = PartitionedRungeKutta::of_one(EULER);
    let (start, h) = (PhasePoint::new(&[1.2], &[0.4]), 0.3);
    let step = |method: &dyn CanonicalMethod, at: &PhasePoint, h: f64| method.step(&Pendulum, at, 0.0, h).unwrap();
    let map = |x: &DVector<f64>| Ok(step(&trapezoidal, &PhasePoint::of_stacked(x), h).stacked());
    assert!(symplectic_defect(map, &start.stacked()).unwrap() > 1e-4);
    // Half explicit Euler, then the midpoint rule over h/2 + h/2: T(h) = E(h/2)⁻¹ … as maps, χT = Mχ.
    let chi = |at: &PhasePoint| step(&euler, at, 0.5 * h);
    let (left, right) = (chi(&step(&trapezoidal, &start, h)), step(&midpoint, &chi(&start), h));
    assert!(left.distance(&right) < 1e-14, "{}", left.distance(&right));
    let energy = |at: &PhasePoint| Pendulum.energy(&at.q, &at.p);
    let mut at = start.clone();
    let largest = (0..20_000).fold(0.0_f64, |largest, _| {
        at = step(&trapezoidal, &at, h);
        largest.max((energy(&at) - energy(&start)).abs())
    });
    assert!(largest < 0.02, "{largest}");
}

#[test]
fn what_cannot_be_solved_is_an_error() {
    let at = PhasePoint::new(&[0.0, 0.0], &[0.0, 0.0]);
    // At the pivot the constraint has no gradient.
    assert!(ConstrainedPartitioned::RATTLE.step(&RodChain, &RodChain, &at, 0.0, 0.1).is_err());
    let far = PhasePoint::new(&[f64::NAN, 0.0], &[0.0, 0.0]);
    assert!(StormerVerlet.step(&PolarKepler, &far, 0.0, 0.1).is_err());
}
