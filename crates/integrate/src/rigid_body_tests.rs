//! What the methods for rigid bodies claim: orders, symmetry, invariants, symplecticity.

use super::*;
use crate::dynamics::{FreeBody, StabilityBody};
use lienav_lie::{LieGroup, So3};
use nalgebra::{Matrix3, SMatrix, Vector3, Vector6};

type Method<B> = (&'static str, Box<dyn BodyMethod<B>>);

fn methods<B: TorqueGradient + 'static>() -> Vec<Method<B>> {
    let exponential = RotationMap::Exponential;
    vec![
        ("ELN", Box::new(ExplicitLieNewmark::default())),
        ("ELN exp", Box::new(ExplicitLieNewmark { map: exponential })),
        ("TLN", Box::new(TrapezoidalLieNewmark::default())),
        ("TLN exp", Box::new(TrapezoidalLieNewmark { map: exponential })),
        ("PRK", Box::new(PartitionedRkmk::default())),
        ("PRK exp", Box::new(PartitionedRkmk { map: exponential })),
        ("LIEMID[EA]", Box::new(LieMidpoint)),
        ("energy-momentum", Box::new(EnergyMomentum::default())),
        ("energy-momentum exp", Box::new(EnergyMomentum { map: exponential })),
        ("MCG", Box::new(ModifiedCrouchGrossman)),
        ("NEW3", Box::new(KoziaraBicanic)),
        ("VLV", Box::new(VariationalLieVerlet)),
    ]
}

fn run<B: RigidBody>(method: &dyn BodyMethod<B>, body: &B, start: BodyState, h: f64, steps: usize) -> BodyState {
    (0..steps).fold(start, |state, k| method.step(body, &state, k as f64 * h, h).unwrap())
}

/// The classical method of order 4 on the nine entries of R and the three of Ω: shares nothing with what is tested.
fn reference<B: RigidBody>(body: &B, start: BodyState, time: f64) -> BodyState {
    let steps = 4000;
    let h = time / f64::from(steps);
    let field = |r: &Matrix3<f64>, w: &Vector3<f64>| {
        let torque = body.torque(&So3::from_matrix_unchecked(*r));
        (r * w.cross_matrix(), (body.momentum(w).cross(w) + torque).component_div(&body.moments()))
    };
    let (mut r, mut w) = (*start.attitude.matrix(), start.angular_velocity);
    for _ in 0..steps {
        let (a, x) = field(&r, &w);
        let (b, y) = field(&(r + a * (h / 2.0)), &(w + x * (h / 2.0)));
        let (c, z) = field(&(r + b * (h / 2.0)), &(w + y * (h / 2.0)));
        let (d, u) = field(&(r + c * h), &(w + z * h));
        r += (a + 2.0 * b + 2.0 * c + d) * (h / 6.0);
        w += (x + 2.0 * y + 2.0 * z + u) * (h / 6.0);
    }
    BodyState { attitude: So3::from_matrix_unchecked(r), angular_velocity: w }
}

fn distance(a: &BodyState, b: &BodyState) -> f64 {
    (a.attitude.matrix() - b.attitude.matrix()).norm() + (a.angular_velocity - b.angular_velocity).norm()
}

fn free() -> (FreeBody, BodyState) {
    let start =
        BodyState { attitude: So3::exp(&Vector3::new(0.3, -0.2, 0.5)), angular_velocity: Vector3::new(0.4, 0.9, -0.6) };
    (FreeBody { moments: Vector3::new(1.0, 2.0, 2.5) }, start)
}

fn orders_are_two<B: TorqueGradient + 'static>(body: &B, start: BodyState) {
    let truth = reference(body, start, 2.0);
    for (name, method) in methods::<B>() {
        let error = |steps: usize| distance(&run(&*method, body, start, 2.0 / steps as f64, steps), &truth);
        let order = (error(32) / error(128)).log2() / 2.0;
        assert!((order - 2.0).abs() < 0.1, "{name}: {order}");
    }
}

#[test]
fn all_are_of_order_two() {
    orders_are_two(&StabilityBody::default(), StabilityBody::initial_state());
    let (body, start) = free();
    orders_are_two(&body, start);
}

#[test]
fn all_are_symmetric() {
    let (body, start) = (StabilityBody::default(), StabilityBody::initial_state());
    for (name, method) in methods() {
        let there = run(&*method, &body, start, 0.25, 8);
        let back = run(&*method, &body, there, -0.25, 8);
        assert!(distance(&back, &start) < 1e-13, "{name}: {}", distance(&back, &start));
    }
}

#[test]
fn the_spatial_momentum_of_a_free_body_is_kept_where_it_is_claimed() {
    let (body, start) = free();
    let momentum = |state: &BodyState| state.attitude * body.momentum(&state.angular_velocity);
    for (name, method) in methods() {
        let change = (momentum(&run(&*method, &body, start, 0.2, 500)) - momentum(&start)).norm();
        let keeps = !["ELN", "ELN exp", "TLN", "TLN exp", "PRK exp"].contains(&name);
        assert_eq!(change < 1e-12, keeps, "{name}: {change}");
    }
}

#[test]
fn the_energy_of_a_free_body_is_kept_where_it_is_claimed() {
    let (body, start) = free();
    for (name, method) in methods() {
        let change = (body.energy(&run(&*method, &body, start, 0.2, 500)) - body.energy(&start)).abs();
        // PRK turns JΩ by the velocity of half a step, whose energy it then keeps.
        let keeps = name.starts_with("energy-momentum") || name.starts_with("PRK");
        assert_eq!(change < 1e-12, keeps, "{name}: {change:e}");
    }
}

/// Whether the derivative of a step, by differences in the left trivialization of T*SO(3), keeps the canonical
/// two-form.
#[test]
fn only_the_variational_method_is_symplectic() {
    let (body, start) = (StabilityBody::default(), StabilityBody::initial_state());
    let form = |momentum: &Vector3<f64>| {
        // ω((δ₁, ν₁), (δ₂, ν₂)) = δ₁·ν₂ − δ₂·ν₁ + Π·(δ₁ × δ₂) in the left trivialization of T*SO(3).
        let mut form = SMatrix::<f64, 6, 6>::zeros();
        form.fixed_view_mut::<3, 3>(0, 0).copy_from(&-momentum.cross_matrix());
        form.fixed_view_mut::<3, 3>(0, 3).copy_from(&Matrix3::identity());
        form.fixed_view_mut::<3, 3>(3, 0).copy_from(&-Matrix3::identity());
        form
    };
    for (name, method) in methods() {
        let h = 0.25;
        let image = run(&*method, &body, start, h, 1);
        let moved = |x: &Vector6<f64>| {
            let state = BodyState {
                attitude: start.attitude * So3::exp(&x.fixed_rows::<3>(0).into()),
                angular_velocity: start.angular_velocity + x.fixed_rows::<3>(3).component_div(&body.moments),
            };
            let state = run(&*method, &body, state, h, 1);
            let turn = image.attitude.inverse().compose(&state.attitude).log();
            let momentum = body.momentum(&state.angular_velocity);
            Vector6::new(turn.x, turn.y, turn.z, momentum.x, momentum.y, momentum.z)
        };
        let column = |i: usize| {
            let mut x = Vector6::zeros();
            x[i] = 1e-5;
            (moved(&x) - moved(&-x)) / 2e-5
        };
        let jacobian = SMatrix::<f64, 6, 6>::from_columns(&[0, 1, 2, 3, 4, 5].map(column));
        let before = form(&body.momentum(&start.angular_velocity));
        let after = jacobian.transpose() * form(&body.momentum(&image.angular_velocity)) * jacobian;
        let error = (after - before).norm();
        assert_eq!(error < 1e-8, name == "VLV", "{name}: {error:e}");
    }
}

/// χ NEW3 = MCG χ with χ = K(h/2) E(h/2): both drift alike.
#[test]
fn new3_is_conjugate_to_mcg() {
    let (body, start, h) = (StabilityBody::default(), StabilityBody::initial_state(), 0.25);
    let chi = |state: &BodyState| {
        let turn = So3::exp(&(0.5 * h * state.angular_velocity));
        let attitude = state.attitude * turn;
        let momentum = turn.rotate_back(&body.momentum(&state.angular_velocity)) + 0.5 * h * body.torque(&attitude);
        BodyState { attitude, angular_velocity: momentum.component_div(&body.moments) }
    };
    let new3 = chi(&run(&KoziaraBicanic, &body, start, h, 100));
    let mcg = run(&ModifiedCrouchGrossman, &body, chi(&start), h, 100);
    assert!(distance(&new3, &mcg) < 1e-11, "{}", distance(&new3, &mcg));
}

#[test]
fn the_torque_and_its_gradient_against_differences() {
    let body = StabilityBody::default();
    let r = So3::exp(&Vector3::new(0.4, -0.5, 0.7));
    let (torque, gradient) = (body.torque(&r), body.torque_gradient(&r));
    for i in 0..3 {
        let mut e = Vector3::zeros();
        e[i] = 1e-5;
        let (a, b) = (r * So3::exp(&e), r * So3::exp(&-e));
        assert!(((body.potential(&b) - body.potential(&a)) / 2e-5 - torque[i]).abs() < 1e-9);
        assert!(((body.torque(&a) - body.torque(&b)) / 2e-5 - gradient.column(i)).norm() < 1e-8);
    }
}

#[test]
fn a_step_that_is_too_long_is_an_error_and_not_a_number() {
    let (body, start) = free();
    for (name, method) in methods() {
        let fast = BodyState { angular_velocity: start.angular_velocity * 1e200, ..start };
        assert!(method.step(&body, &fast, 0.0, 1e200).is_err(), "{name}");
    }
}
