use super::*;
use crate::dynamics::{DipoleOnAStick, FreeBody, FreeBodyN};
use crate::tableau::{GAUSS4, GAUSS6, IMPLICIT_MIDPOINT, KUTTA3};
use crate::vrkmk::{Spatial, symplectic_defect};
use lienav_lie::{LieGroup, SoN, vee};
use nalgebra::{DMatrix, SMatrix};

type Turn = Matrix3<f64>;

fn dipole() -> (DipoleOnAStick, PolarState<Turn>) {
    let dipole = DipoleOnAStick::default();
    let (attitude, omega) = (DipoleOnAStick::initial_attitude(), DipoleOnAStick::initial_angular_velocity());
    (dipole, PolarState::of_body(&dipole, &attitude, &omega))
}

/// Shen 2019, section 4.5.
fn free_body() -> (FreeBody, PolarState<Turn>) {
    let momentum = hat(&Vector3::new(0.5, -0.5, 0.5));
    (FreeBody { moments: Vector3::new(1.0, 2.0, 3.0) }, PolarState { attitude: Turn::identity(), momentum })
}

fn run<M: Square, const S: usize>(
    tableau: &Tableau<S>,
    system: &impl PolarHamiltonian<M>,
    start: &PolarState<M>,
    h: f64,
    steps: usize,
) -> PolarState<M> {
    let mut method = PolarVariational::new(tableau, &start.attitude).unwrap();
    let mut state = start.clone();
    for step in 0..steps {
        method.step(system, &mut state, step as f64 * h, h).unwrap();
    }
    state
}

fn distance<M: Square>(a: &PolarState<M>, b: &PolarState<M>) -> f64 {
    a.attitude.plus_scaled(-1.0, &b.attitude).norm() + a.momentum.plus_scaled(-1.0, &b.momentum).norm()
}

/// log₂ of the errors at h and h/2 over `time`, against the method of order 6.
fn order<M: Square, const S: usize>(
    tableau: &Tableau<S>,
    system: &impl PolarHamiltonian<M>,
    start: &PolarState<M>,
    time: f64,
    steps: usize,
) -> f64 {
    let reference = run(&GAUSS6, system, start, time / 512.0, 512);
    let error = |steps: usize| distance(&run(tableau, system, start, time / steps as f64, steps), &reference);
    (error(steps) / error(2 * steps)).log2()
}

fn all_orders<M: Square>(system: &impl PolarHamiltonian<M>, start: &PolarState<M>, time: f64) {
    let orders = [
        (2.0, order(&IMPLICIT_MIDPOINT, system, start, time, 32)),
        (3.0, order(&KUTTA3, system, start, time, 256)),
        (4.0, order(&GAUSS4, system, start, time, 16)),
        (6.0, order(&GAUSS6, system, start, time, 8)),
    ];
    assert!(orders.iter().all(|(expected, observed)| (expected - observed).abs() < 0.15), "{orders:?}");
}

#[test]
fn orders_are_those_of_the_tableaux() {
    let (dipole, start) = dipole();
    all_orders(&dipole, &start, 0.5);
    let (body, start) = free_body();
    all_orders(&body, &start, 3.0);
}

fn body_in<const N: usize>() -> (FreeBodyN, PolarState<SMatrix<f64, N, N>>) {
    let entry = |i: usize, j: usize| ((3 * i + 5 * j + i * j) as f64).sin();
    let momentum =
        SMatrix::<f64, N, N>::from_fn(|i, j| if i > j { entry(i, j) } else { -entry(j, i) * f64::from(i != j) });
    let distribution = (1..=N).map(|i| i as f64).collect();
    (FreeBodyN { distribution }, PolarState { attitude: SMatrix::identity(), momentum })
}

#[test]
fn orders_in_four_and_five_dimensions() {
    let (body, start) = body_in::<4>();
    all_orders(&body, &start, 3.0);
    let (body, start) = body_in::<5>();
    all_orders(&body, &start, 3.0);
}

/// The three-dimensional body of λ is the one of J₁ = λ₂ + λ₃ …, and what is known at run time is what is known
/// before.
#[test]
fn all_kinds_of_matrices_give_one_motion() {
    let (body, start) = body_in::<3>();
    let same = FreeBody { moments: Vector3::new(5.0, 4.0, 3.0) };
    let ends = (run(&GAUSS4, &body, &start, 0.1, 20), run(&GAUSS4, &same, &start, 0.1, 20));
    assert!(distance(&ends.0, &ends.1) < 1e-14);
    let (body, start) = body_in::<4>();
    let dynamic = |a: &SMatrix<f64, 4, 4>| DMatrix::from_column_slice(4, 4, a.as_slice());
    let end = run(&GAUSS4, &body, &start, 0.1, 20);
    let start = PolarState { attitude: dynamic(&start.attitude), momentum: dynamic(&start.momentum) };
    let same = run(&GAUSS4, &body, &start, 0.1, 20);
    assert!((same.attitude - dynamic(&end.attitude)).norm() + (same.momentum - dynamic(&end.momentum)).norm() < 1e-13);
}

/// Orthogonality to rounding for any number of steps, RpRᵀ to rounding where nothing turns the body, energy in a band.
#[test]
fn what_is_preserved() {
    let (dipole, start) = dipole();
    let end = run(&GAUSS6, &dipole, &start, 1.0 / 26.0, 2000);
    assert!(So3::from_matrix_unchecked(end.attitude).orthogonality_error() < 1e-14);
    let energy = |state: &PolarState<Turn>| PolarHamiltonian::energy(&dipole, &state.attitude, &state.momentum);
    assert!((energy(&end) - energy(&start)).abs() < 1e-9, "{:e}", energy(&end) - energy(&start));
    let (body, start) = body_in::<5>();
    let end = run(&GAUSS4, &body, &start, 0.2, 200);
    let turned = SoN::from_matrix_unchecked(end.attitude).adjoint_apply(&end.momentum);
    assert!((turned - start.momentum).norm() < 1e-12);
    let energy = |state: &PolarState<_>| body.energy(&state.attitude, &state.momentum);
    assert!((energy(&end) / energy(&start) - 1.0).abs() < 1e-4);
}

#[test]
fn the_three_forms_are_one_method() {
    let (dipole, start) = dipole();
    let mut method = PolarVariational::new(&GAUSS4, &start.attitude).unwrap();
    let (mut hamiltonian, mut lagrangian) = (start, start);
    for step in 0..20 {
        method.step(&dipole, &mut hamiltonian, 0.05 * f64::from(step), 0.05).unwrap();
        method.step_lagrangian(&dipole, &mut lagrangian, 0.05 * f64::from(step), 0.05).unwrap();
    }
    assert!(distance(&hamiltonian, &lagrangian) < 1e-14);
    let (body, start) = free_body();
    let (mut full, mut momentum, mut attitude) = (start, start.momentum, Turn::identity());
    for step in 0..20 {
        method.step(&body, &mut full, 0.2 * f64::from(step), 0.2).unwrap();
        method.step_reduced(&body, &mut momentum, 0.2 * f64::from(step), 0.2).unwrap();
        attitude *= method.increment();
    }
    assert!(distance(&full, &PolarState { attitude, momentum }) < 1e-14);
}

/// The map of (R, spatial momentum) keeps the symplectic form, also with a tableau that is not symmetric.
#[test]
fn symplectic() {
    let (dipole, _) = dipole();
    let at = Spatial(dipole).state(&So3::exp(&Vector3::new(0.3, 0.8, -0.5)), &Vector3::new(0.7, -0.2, 1.1));
    fn step<const S: usize>(
        tableau: &Tableau<S>,
        dipole: &DipoleOnAStick,
        (g, p): &(So3, Vector3<f64>),
    ) -> (So3, Vector3<f64>) {
        let start = PolarState { attitude: *g.matrix(), momentum: hat(&g.rotate_back(p)) };
        let end = run(tableau, dipole, &start, 0.04, 1);
        let turn = So3::from_matrix_unchecked(end.attitude);
        (turn, turn * vee(&end.momentum))
    }
    assert!(symplectic_defect(|state| step(&KUTTA3, &dipole, state), &at) < 1e-8);
    assert!(symplectic_defect(|state| step(&GAUSS4, &dipole, state), &at) < 1e-8);
}

/// (4.26) as printed: the sums over i of b_i/b_k (πᵢ∘φ⁻¹∘ψₖ)* and (πᵢ∘φ⁻¹∘φ̃)* by (4.21), one by one.
#[test]
fn the_equations_of_the_text_hold() {
    let (dipole, start) = dipole();
    literal_residual(&GAUSS4, &dipole, &start, 0.1);
    literal_residual(&KUTTA3, &dipole, &start, 0.05);
    literal_residual(&GAUSS6, &dipole, &start, 0.1);
}

fn literal_residual<const S: usize>(tableau: &Tableau<S>, system: &DipoleOnAStick, start: &PolarState<Turn>, h: f64) {
    let mut method = PolarVariational::new(tableau, &start.attitude).unwrap();
    let mut end = *start;
    method.step(system, &mut end, 0.0, h).unwrap();
    let Tableau { a, b, .. } = tableau;
    let asym = |m: Turn| m - m.transpose();
    let (g0, g1, lambda) = (start.attitude, end.attitude, method.lambda);
    let stages: [(Turn, Turn, Turn); S] = std::array::from_fn(|i| {
        let Stage { u, mu, omega, .. } = &method.stages[i];
        (*u, *mu, *omega)
    });
    let place = |weights: &[f64; S]| (0..S).fold(g0, |sum, j| sum + stages[j].0 * stages[j].2 * (h * weights[j]));
    let mut polars: [_; S] = std::array::from_fn(|i| Polar::new(&place(&a[i])).unwrap());
    for (polar, (u, ..)) in polars.iter().zip(&stages) {
        assert!((polar.u() - u).norm() < 1e-14);
    }
    let mut dual = |l: usize, s: &Turn| {
        let mut w = Turn::zeros();
        polars[l].adjoint(s, &mut w);
        w
    };
    // The S_l of (4.21a) for a right side S at place i.
    let mut inverse = |i: usize, right: Turn| {
        let mut s = [Turn::zeros(); S];
        for _ in 0..60 {
            let w: [Turn; S] = std::array::from_fn(|l| dual(l, &s[l]));
            s = std::array::from_fn(|j| {
                let (u, _, omega) = stages[j];
                let sum: Turn = (0..S).map(|l| w[l] * a[l][j]).sum();
                asym(u.transpose() * sum * omega.transpose() * h) + if i == j { right } else { Turn::zeros() }
            });
        }
        std::array::from_fn::<Turn, S, _>(|l| dual(l, &s[l]))
    };
    let rights = stages.map(|(u, mu, omega)| {
        let mut torque = Turn::zeros();
        PolarHamiltonian::torque(system, &u, &mu, &mut torque);
        -torque - asym(u.transpose() * g1 * lambda * omega.transpose())
    });
    let duals: [[Turn; S]; S] = std::array::from_fn(|i| inverse(i, rights[i]));
    for k in 0..S {
        let u = stages[k].0;
        let sum: Turn = (0..S)
            .map(|i| {
                let inner: Turn = (0..S).map(|l| duals[i][l] * a[l][k]).sum();
                asym(u.transpose() * inner) * (h * b[i] / b[k])
            })
            .sum();
        let mu = -asym(u.transpose() * g1 * lambda) + sum;
        assert!((mu - stages[k].1).norm() < 1e-14, "(4.26), first: {:e}", (mu - stages[k].1).norm());
    }
    let sum: Turn = (0..S).map(|i| asym(g0.transpose() * duals[i].iter().sum::<Turn>()) * (h * b[i])).sum();
    let fourth = asym(g0.transpose() * g1 * lambda) + start.momentum - sum;
    assert!(fourth.norm() < 1e-14, "(4.26), fourth: {:e}", fourth.norm());
    let fifth = asym(g1.transpose() * place(b) * lambda.transpose()) - end.momentum;
    assert!(fifth.norm() < 1e-14, "(4.26), fifth: {:e}", fifth.norm());
}

#[test]
fn steps_that_fail_say_so_and_leave_the_state() {
    let (dipole, start) = dipole();
    let mut method = PolarVariational::new(&GAUSS4, &start.attitude).unwrap();
    let mut state = start;
    let error = method.step(&dipole, &mut state, 1.0, 50.0).unwrap_err();
    assert!(matches!(error, IntegrationError::NotConverged { time: 1.0, .. } | IntegrationError::NotFinite { .. }));
    assert_eq!(state, start);
    let heun = &crate::tableau::HEUN3;
    assert!(PolarVariational::new(heun, &start.attitude).is_none(), "a weight of Heun's vanishes");
}

#[test]
fn a_body_at_rest_stays() {
    let (body, mut state) = free_body();
    state.momentum = Turn::zeros();
    assert_eq!(run(&GAUSS4, &body, &state, 0.1, 3), state);
}
