use super::*;
use crate::dynamics::{DipoleArray, DoubleSphericalPendulum, SphericalPendulum};
use crate::tableau::{GAUSS4, GAUSS6};
use crate::{ImplicitRkmk, LieGroupMethod};
use lienav_lie::HomogeneousSpace;
use nalgebra::{Matrix2, SMatrix, SVector};

fn single() -> SphericalPendulum {
    SphericalPendulum::new(2.0, 2.0, 9.81)
}

fn double() -> DoubleSphericalPendulum {
    DoubleSphericalPendulum::new([2.0, 1.0], [1.0, 1.0], 9.81)
}

fn run<const N: usize, S: SphereSystem<N>>(
    method: &impl SphereMethod<N, S>,
    system: &S,
    start: [Ts2; N],
    h: f64,
    steps: u32,
) -> [Ts2; N] {
    (0..steps).fold(start, |state, k| method.step(system, &state, f64::from(k) * h, h).unwrap())
}

fn lifted_run<const N: usize, const K: usize>(
    method: &ImplicitRkmk<K>,
    system: &impl SphereSystem<N>,
    start: [Ts2; N],
    h: f64,
    steps: u32,
) -> [Ts2; N] {
    let step = |y: Lifted<N>, k: u32| method.step(&SphereField(system), &y, f64::from(k) * h, h).unwrap();
    lowered(&(0..steps).fold(lifted(&start), step))
}

fn check_orders<const N: usize, S: SphereSystem<N>>(name: &str, system: &S, start: [Ts2; N]) {
    let truth = lifted_run(&ImplicitRkmk { tableau: GAUSS6 }, system, start, 1.0 / 256.0, 256);
    let order = |run: &dyn Fn(u32) -> [Ts2; N], steps: u32| {
        (run(steps).distance(&truth) / run(2 * steps).distance(&truth)).log2()
    };
    let orders = [
        (2.0, order(&|steps| run(&SphereLieNewmark, system, start, 1.0 / f64::from(steps), steps), 200)),
        (2.0, order(&|steps| run(&SphereRattle, system, start, 1.0 / f64::from(steps), steps), 200)),
        (4.0, order(&|n| lifted_run(&ImplicitRkmk { tableau: GAUSS4 }, system, start, 1.0 / f64::from(n), n), 50)),
    ];
    for (expected, found) in orders {
        assert!((found - expected).abs() < 0.15, "{name}: {expected} {found}");
    }
}

#[test]
fn orders_on_pendulums() {
    check_orders("single", &single(), SphericalPendulum::initial_state());
    check_orders("double", &double(), DoubleSphericalPendulum::initial_state());
}

#[test]
fn orders_on_dipoles() {
    check_orders("dipoles", &DipoleArray::square(), DipoleArray::initial_state());
}

/// Against the equations as they are printed: (6.5) with ω̇ⱼ, in 3n unknowns.
#[test]
fn accelerations_solve_the_equations_of_motion() {
    let (system, state) = (double(), DoubleSphericalPendulum::initial_state());
    let state = run(&SphereRattle, &system, state, 0.01, 30);
    let (m, l, g) = (Matrix2::new(3.0, 1.0, 1.0, 1.0), [1.0, 1.0], 9.81);
    let mut matrix = SMatrix::<f64, 6, 6>::zeros();
    let mut right = SVector::<f64, 6>::zeros();
    for (i, j) in [(0, 1), (1, 0)] {
        let (q, other) = (state[i].q, state[j].q);
        let block = SMatrix::<f64, 3, 3>::identity() * m[(i, i)];
        matrix.fixed_view_mut::<3, 3>(3 * i, 3 * i).copy_from(&block);
        let block = -q.cross_matrix() * other.cross_matrix() * m[(i, j)];
        matrix.fixed_view_mut::<3, 3>(3 * i, 3 * j).copy_from(&block);
        let row = q.cross(&other) * (m[(i, j)] * state[j].omega.norm_squared())
            + q.cross(&nalgebra::Vector3::z()) * (m[(i, i)] / l[i] * g);
        right.fixed_rows_mut::<3>(3 * i).copy_from(&row);
    }
    let expected = matrix.lu().solve(&right).unwrap();
    let found = system.angular_acceleration(&state);
    for (i, found) in found.iter().enumerate() {
        assert!((found - expected.fixed_rows::<3>(3 * i)).norm() < 1e-12);
    }
}

fn check_gradient<const N: usize>(system: &impl SphereSystem<N>, state: &[Ts2; N]) {
    let q = state.map(|s| s.q);
    let gradient = system.gradient(&q);
    for i in 0..N {
        for axis in 0..3 {
            let at = |d: f64| {
                let mut q = q;
                q[i][axis] += d;
                system.potential(&q)
            };
            let scale = gradient.iter().map(|g| g.norm()).fold(0.0, f64::max);
            assert!(((at(1e-4) - at(-1e-4)) / 2e-4 - gradient[i][axis]).abs() < 1e-8 * scale);
        }
    }
}

#[test]
fn gradients_against_differences() {
    check_gradient(&single(), &SphericalPendulum::initial_state());
    check_gradient(&double(), &DoubleSphericalPendulum::initial_state());
    check_gradient(&DipoleArray::square(), &DipoleArray::initial_state());
}

fn largest_error<const N: usize>(state: &[Ts2; N]) -> f64 {
    state.iter().map(|s| s.constraint_error()).fold(0.0, f64::max)
}

#[test]
fn both_keep_the_bundle_and_rattle_the_momentum() {
    let (system, start) = (double(), DoubleSphericalPendulum::initial_state());
    let (newmark, rattle) =
        (run(&SphereLieNewmark, &system, start, 0.01, 2000), run(&SphereRattle, &system, start, 0.01, 2000));
    assert!(largest_error(&newmark) < 1e-12 && largest_error(&rattle) < 1e-13);
    let momentum = |state: &[Ts2; 2]| system.angular_momentum(state).z;
    assert!((momentum(&rattle) - momentum(&start)).abs() < 1e-11);
    assert!((momentum(&newmark) - momentum(&start)).abs() > 1e-4);
}

#[test]
fn the_action_of_se3_keeps_what_that_of_rotations_and_translations_loses() {
    let (system, start) = (double(), DoubleSphericalPendulum::initial_state());
    let method = ImplicitRkmk { tableau: GAUSS4 };
    let kept = (0..100).fold(start, |y, k| method.step(&SphereField(&system), &y, 0.02 * f64::from(k), 0.02).unwrap());
    let lost = lifted_run(&method, &system, start, 0.02, 100);
    assert!(largest_error(&kept) < 1e-13 && largest_error(&lost) > 1e-9);
    assert!(kept.distance(&lost) < 1e-4);
}

#[test]
fn a_step_that_leaves_the_spheres_is_an_error() {
    let fast = [Ts2 { q: nalgebra::Vector3::x(), omega: nalgebra::Vector3::z() * 10.0 }];
    assert!(matches!(SphereRattle.step(&single(), &fast, 0.0, 1.0), Err(IntegrationError::NotConverged { .. })));
    let fast = DoubleSphericalPendulum::initial_state().map(|s| Ts2 { omega: s.omega * 1e200, ..s });
    assert!(SphereLieNewmark.step(&double(), &fast, 0.0, 1.0).is_err());
    assert!(SphereRattle.step(&double(), &fast, 0.0, 1.0).is_err());
}
