use super::*;
use nalgebra::UnitQuaternion;

fn inertia() -> Inertia {
    Inertia::principal(Vector3::new(1.0, 2.0, 2.5)).unwrap()
}

fn body() -> Rotation {
    let attitude = UnitQuaternion::from_euler_angles(0.3, -0.4, 0.5);
    Rotation { attitude: attitude.into(), body_angular_momentum: Vector3::new(0.4, -1.1, 0.9) }
}

fn world_momentum(body: &Rotation) -> Vector3<f64> {
    body.attitude.value() * body.body_angular_momentum
}

const ITERATIONS: [Iteration; 3] = [Iteration::Linear, Iteration::Cross, Iteration::Newton];

#[test]
fn all_iterations_solve_the_same_equation() {
    for h in [1e-9, 1e-3, 0.1, 0.4, -0.4] {
        let ends = ITERATIONS.map(|iteration| {
            let mut body = body();
            QuaternionIntegrator { iteration, ..Default::default() }.drift(&inertia(), &mut body, 0.0, h).unwrap();
            body
        });
        for end in &ends[1..] {
            assert!((end.body_angular_momentum - ends[0].body_angular_momentum).norm() < 4e-15, "{h}");
            assert!(end.attitude.value().angle_to(&ends[0].attitude.value()) < 1e-14, "{h}");
        }
    }
}

#[test]
fn a_body_at_rest_stays_at_rest() {
    let mut rest = Rotation { body_angular_momentum: Vector3::zeros(), ..body() };
    for iteration in ITERATIONS {
        QuaternionIntegrator { iteration, ..Default::default() }.drift(&inertia(), &mut rest, 0.0, 0.1).unwrap();
    }
    assert_eq!(rest.body_angular_momentum, Vector3::zeros());
    assert!(rest.attitude.value().angle_to(&body().attitude.value()) < 1e-15);
}

#[test]
fn a_step_that_cannot_be_made_is_an_error_and_leaves_the_state() {
    for iteration in ITERATIONS {
        let method = QuaternionIntegrator { iteration, ..Default::default() };
        let mut turned = body();
        let error = method.drift(&inertia(), &mut turned, 3.0, 10.0).unwrap_err();
        assert!(matches!(error, IntegrationError::NotConverged { time: 3.0, step: 10.0, .. }), "{error}");
        let nan = [Vector3::repeat(f64::NAN), Vector3::zeros()];
        for torques in [nan, [nan[1], nan[0]]] {
            let error = method.step_forced(&inertia(), &mut turned, torques, 0.0, 0.1).unwrap_err();
            assert!(matches!(error, IntegrationError::NotFinite { .. }), "{error}");
        }
        assert_eq!(turned, body());
    }
}

#[test]
fn the_drift_is_its_own_inverse_with_time_reversed() {
    let mut turned = body();
    let method = QuaternionIntegrator::default();
    for h in [0.2, -0.2] {
        method.drift(&inertia(), &mut turned, 0.0, h).unwrap();
    }
    assert!((turned.body_angular_momentum - body().body_angular_momentum).norm() < 1e-15);
    assert!(turned.attitude.value().angle_to(&body().attitude.value()) < 1e-15);
}

#[test]
fn the_momentum_balance_of_a_forced_step_is_exact() {
    let mut moved = body();
    let method = QuaternionIntegrator::default();
    let h = 0.05;
    for k in 0..100 {
        let t = f64::from(k) * h;
        let torque = |t: f64| Vector3::new((3.0 * t).sin(), 0.5, -(2.0 * t).cos());
        let (before, torques) = (moved, [torque(t), torque(t + h)]);
        method.step_forced(&inertia(), &mut moved, torques, t, h).unwrap();
        let given = (before.attitude.value() * torques[0] + moved.attitude.value() * torques[1]) * (0.5 * h);
        assert!((world_momentum(&moved) - world_momentum(&before) - given).norm() < 4e-15);
    }
}

/// Energy of a forced body against the work of the torque, both by steps of h; and the error of the attitude.
fn forced_run(h: f64) -> Rotation {
    let mut moved = body();
    let torque = |t: f64| Vector3::new((3.0 * t).sin(), 0.5, -(2.0 * t).cos());
    for k in 0..(1.0 / h).round() as u32 {
        let t = f64::from(k) * h;
        let torques = [torque(t), torque(t + h)];
        QuaternionIntegrator::default().step_forced(&inertia(), &mut moved, torques, t, h).unwrap();
    }
    moved
}

#[test]
fn a_forced_step_is_of_order_two() {
    let reference = forced_run(1.0 / 8192.0);
    let error = |h: f64| {
        let end = forced_run(h);
        let attitude = end.attitude.value().angle_to(&reference.attitude.value());
        (attitude, (end.body_angular_momentum - reference.body_angular_momentum).norm())
    };
    let (coarse, fine) = (error(1.0 / 64.0), error(1.0 / 128.0));
    for ratio in [coarse.0 / fine.0, coarse.1 / fine.1] {
        assert!((ratio.log2() - 2.0).abs() < 0.05, "{ratio}");
    }
}

/// The discrete body of Moser and Veselov is integrable as the true one is: it keeps the energy itself.
#[test]
fn a_free_body_keeps_norm_momentum_and_energy() {
    let mut free = body();
    let (momentum, energy) = (world_momentum(&free), inertia().kinetic_energy(&free.body_angular_momentum));
    for _ in 0..100_000 {
        QuaternionIntegrator::default().drift(&inertia(), &mut free, 0.0, 0.05).unwrap();
        assert!(free.attitude.norm_error().abs() < 1e-14);
    }
    assert!((inertia().kinetic_energy(&free.body_angular_momentum) - energy).abs() < 1e-12);
    assert!((world_momentum(&free) - momentum).norm() < 1e-12);
}
