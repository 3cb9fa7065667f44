//! Symplectic methods on T*G: the form, orders, the extended formulation.

use super::*;
use crate::cotangent::SymplecticLieGroup;
use crate::rkmk::RKMK54;

fn symplectic(theta: f64, start: &(So3, Vector3<f64>), h: f64) -> (So3, Vector3<f64>) {
    SymplecticLieGroup { theta }.step(&top(), start, 0.0, h).unwrap().0
}

#[test]
fn velocities_and_forces_are_derivatives_of_the_energy() {
    let (g, mu) = ((start().0, Translation(Vector3::zeros())), (start().1.0, Vector3::new(0.4, -0.7, 1.1)));
    let energy = |delta: &Vector3<f64>, change: &Vector3<f64>, p: &Vector3<f64>| {
        let turned = (So3::exp(delta) * g.0, g.1);
        let extended = CotangentHamiltonian::<Extended>::energy(&top(), &turned, &(mu.0 + change, mu.1 + p));
        (CotangentHamiltonian::<So3>::energy(&top(), &turned.0, &(mu.0 + change)), extended)
    };
    let (velocity, extended_velocity) =
        (CotangentHamiltonian::<So3>::velocity(&top(), &g.0, &mu.0), top().velocity(&g, &mu));
    let (force, extended_force) = (CotangentHamiltonian::<So3>::force(&top(), &g.0, &mu.0), top().force(&g, &mu));
    for k in 0..3 {
        let e = Vector3::ith(k, 1e-5);
        let zero = Vector3::zeros();
        let slope = |at: &dyn Fn(f64) -> (f64, f64)| {
            let (ahead, behind) = (at(1.0), at(-1.0));
            ((ahead.0 - behind.0) / 2e-5, (ahead.1 - behind.1) / 2e-5)
        };
        let by_turn = slope(&|s| energy(&(e * s), &zero, &zero));
        assert!((by_turn.0 + force[k]).abs() < 1e-8 && (by_turn.1 + extended_force.0[k]).abs() < 1e-8);
        let by_momentum = slope(&|s| energy(&zero, &(e * s), &zero));
        assert!((by_momentum.0 - velocity[k]).abs() < 1e-8);
        assert!((by_momentum.1 - extended_velocity.0[k]).abs() < 1e-8);
        assert!((slope(&|s| energy(&zero, &zero, &(e * s))).1 - extended_velocity.1[k]).abs() < 1e-8);
    }
}

#[test]
fn the_cotangent_methods_preserve_the_symplectic_form() {
    let start = (start().0, start().1.0);
    // Tangents in coordinates (δ, dμ): exp(δ)g and μ + dμ; the form (13).
    let omega = |mu: &Vector3<f64>, a: &Vector6<f64>, b: &Vector6<f64>| {
        let ((x1, n1), (x2, n2)) = (split(a), split(b));
        n2.dot(&x1) - n1.dot(&x2) - mu.dot(&x1.cross(&x2))
    };
    for theta in [0.0, 0.3, 0.5, 1.0] {
        let end = symplectic(theta, &start, 0.2);
        let tangent = |direction: &Vector6<f64>| {
            let at = |s: f64| {
                let (delta, change) = split(&(direction * s));
                let (g, mu) = symplectic(theta, &(So3::exp(&delta) * start.0, start.1 + change), 0.2);
                join(&(g * end.0.inverse()).log(), &mu)
            };
            (at(1e-5) - at(-1e-5)) / 2e-5
        };
        for i in 0..6 {
            for j in 0..i {
                let (a, b) = (Vector6::ith(i, 1.0), Vector6::ith(j, 1.0));
                let (before, after) = (omega(&start.1, &a, &b), omega(&end.1, &tangent(&a), &tangent(&b)));
                assert!((before - after).abs() < 1e-7, "θ = {theta}: {before} {after}");
            }
        }
    }
}

#[test]
fn the_cotangent_methods_have_their_orders_and_the_extended_formulation_is_the_same_motion() {
    let begin = (start().0, start().1.0);
    let reference = run(&RKMK54, &start(), 1000);
    for (theta, order) in [(0.0, 1.0), (0.5, 2.0), (1.0, 1.0)] {
        let errors = [100, 200].map(|steps: u32| {
            let end = (0..steps).fold(begin, |y, _| symplectic(theta, &y, 1.0 / f64::from(steps)));
            end.0.distance(&reference.0).hypot((end.1 - reference.1.0).norm())
        });
        let slope = (errors[0] / errors[1]).log2();
        assert!((slope - order).abs() < 0.15, "θ = {theta}: {slope}");
    }
    let mut extended = ((begin.0, Translation(Vector3::zeros())), (begin.1, top().extended_momentum()));
    let mut plain = begin;
    for _ in 0..20 {
        extended = SymplecticLieGroup::MIDPOINT.step::<Extended>(&top(), &extended, 0.0, 0.05).unwrap().0;
        plain = symplectic(0.5, &plain, 0.05);
    }
    assert!((extended.1.0 - plain.1).norm() < 1e-12 && extended.0.0.distance(&plain.0) < 1e-12);
    assert_eq!(extended.1.1, top().extended_momentum());
}

#[test]
fn the_top_of_the_text_is_solved_at_its_step() {
    let top = HeavyTop::of_celledoni();
    let mut y = (So3::identity(), top.initial_momentum());
    let energy = |y: &(So3, Vector3<f64>)| CotangentHamiltonian::<So3>::energy(&top, &y.0, &y.1);
    let before = energy(&y);
    for _ in 0..100 {
        let (next, evaluations) = SymplecticLieGroup::MIDPOINT.step(&top, &y, 0.0, 0.01).unwrap();
        assert!(evaluations < 40, "{evaluations}");
        y = next;
    }
    assert!(((energy(&y) - before) / before).abs() < 0.01 && y.0.orthogonality_error() < 1e-13);
}
