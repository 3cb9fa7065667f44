//! Laws of linear parts: what is refused, and that matrices, oscillators and transforms agree.

use super::*;
use crate::dynamics::kdv::Kdv;
use crate::dynamics::nls::Nls;
use crate::exponential::{EnergyPreservingExponential, Iteration, Method};
use nalgebra::{DMatrix, DVector};
use proptest::prelude::*;

fn canonical(m: usize) -> DMatrix<f64> {
    DMatrix::from_fn(2 * m, 2 * m, |i, j| {
        if j == i + m {
            1.0
        } else if i == j + m {
            -1.0
        } else {
            0.0
        }
    })
}

#[test]
fn every_law_that_fails_is_named() {
    let (j, d) = (canonical(2), DMatrix::from_diagonal(&DVector::from_vec(vec![1.0, 3.0, 1.0, 3.0])));
    assert!(Dense::new(j.clone(), d.clone()).is_ok());
    let refused = |j: &DMatrix<f64>, d: &DMatrix<f64>| Dense::new(j.clone(), d.clone()).unwrap_err();
    let mut spoiled = j.clone();
    spoiled[(0, 2)] = 1.5;
    assert_eq!(refused(&spoiled, &d), PoissonError::NotSkew { defect: 0.5 / 1.5 });
    let mut spoiled = d.clone();
    spoiled[(0, 1)] = 0.3;
    assert_eq!(refused(&j, &spoiled), PoissonError::NotSymmetric { defect: 0.3 / 3.0 });
    // Stiffness and inertia in coordinates of displacement and momentum.
    let spoiled = DMatrix::from_diagonal(&DVector::from_vec(vec![4.0, 9.0, 1.0, 1.0]));
    assert!(matches!(refused(&j, &spoiled), PoissonError::NotCommuting { defect } if defect > 0.5));
    assert!(matches!(refused(&j, &DMatrix::identity(3, 3)), PoissonError::Shape { .. }));
    assert_eq!(refused(&j, &DMatrix::repeat(4, 4, f64::NAN)), PoissonError::NotFinite);
    assert!(matches!(Oscillators::new(vec![]), Err(PoissonError::Shape { .. })));
    assert_eq!(Oscillators::new(vec![1.0, f64::INFINITY]), Err(PoissonError::NotFinite));
    let (one, i) = (Complex::new(1.0, 0.0), Complex::new(0.0, 1.0));
    assert!(matches!(ComplexFourier::new(5, |_| one, |_| one), Err(PoissonError::NotSkew { .. })));
    assert!(matches!(ComplexFourier::new(5, |_| i, |_| i), Err(PoissonError::NotSymmetric { .. })));
    assert!(matches!(ComplexFourier::new(0, |_| i, |_| one), Err(PoissonError::Shape { .. })));
    assert!(matches!(RealFourier::new(5, |_| i, |_| one), Err(PoissonError::NotReal { wave_number: 0 })));
    assert!(matches!(
        RealFourier::new(5, |k| i * k as f64, |k| one / k as f64),
        Err(PoissonError::NotFinite | PoissonError::NotReal { .. })
    ));
    for error in [PoissonError::NotSkew { defect: 0.5 }, PoissonError::NotCommuting { defect: 0.5 }] {
        assert!(!error.to_string().contains('\n') && error.to_string().contains(';'), "{error}");
    }
}

/// The matrix of an operator, column by column.
fn matrix<L: LinearPart>(linear: &L, apply: impl Fn(&[f64], &mut [f64], &mut L::Scratch)) -> DMatrix<f64> {
    let (n, mut scratch) = (linear.dim(), linear.scratch());
    let mut matrix = DMatrix::zeros(n, n);
    for i in 0..n {
        let mut unit = vec![0.0; n];
        unit[i] = 1.0;
        apply(&unit, matrix.column_mut(i).as_mut_slice(), &mut scratch);
    }
    matrix
}

const fn one(_: f64) -> Complex<f64> {
    Complex::new(1.0, 0.0)
}

/// J, A and D as matrices; D from the energy, which is its quadratic form.
fn matrices<L: LinearPart>(linear: &L) -> [DMatrix<f64>; 3] {
    let generator = linear.function(&|omega| Complex::new(0.0, omega));
    let mut scratch = linear.scratch();
    let mut energy = |q: DVector<f64>| linear.energy(q.as_slice(), &mut scratch);
    let n = linear.dim();
    let unit = |i: usize| DVector::from_fn(n, |row, _| f64::from(u8::from(row == i)));
    let d = DMatrix::from_fn(n, n, |i, k| energy(unit(i) + unit(k)) - energy(unit(i)) - energy(unit(k)));
    [
        matrix(linear, |x, out, scratch| linear.apply_structure(x, out, scratch)),
        matrix(linear, |x, out, scratch| linear.apply(&generator, x, out, scratch)),
        d,
    ]
}

/// J skew, D symmetric, A = JD, and every function of A what the one of matrices is.
fn put_to_the_laws<L: LinearPart>(linear: &L) {
    let [j, a, d] = matrices(linear);
    let scale = a.amax();
    assert!((&j + j.transpose()).amax() < 1e-12 * j.amax());
    assert!((&d - d.transpose()).amax() < 1e-11 * d.amax());
    assert!((&j * &d - &a).amax() < 1e-11 * scale && (&d * &j - &a).amax() < 1e-11 * scale);
    let dense = Dense::new((&j - j.transpose()) * 0.5, (&d + d.transpose()) * 0.5).unwrap();
    let t = 0.7 / scale;
    let functions: [fn(f64, f64) -> Complex<f64>; 3] = [
        |omega, t| Complex::from_polar(1.0, omega * t),
        |omega, t| Complex::new(1.0, -omega * t).inv(),
        |omega, t| Complex::new((omega * t).cos(), (omega * t).powi(3)),
    ];
    for f in functions {
        let f = |omega: f64| f(omega, t);
        for (ours, of_matrices) in [
            (linear.function(&f), dense.function(&f)),
            (linear.function_of_structure(&f), dense.function_of_structure(&f)),
        ] {
            let tolerance = 1e-10 * of_matrices.amax().max(1.0);
            // Each column is computed the other way than the one before.
            let varied = matrix(linear, |x, out, scratch| {
                linear.vary_rounding(scratch);
                linear.apply(&ours, x, out, scratch);
            });
            let ours = matrix(linear, |x, out, scratch| linear.apply(&ours, x, out, scratch));
            assert!((&ours - &of_matrices).amax() < tolerance, "{ours} {of_matrices}");
            assert!((&ours - &varied).amax() < 1e-2 * tolerance, "{ours} {varied}");
        }
    }
    let exponential = dense.function(&|omega| Complex::from_polar(1.0, omega * t));
    assert!((exponential - (a * t).exp()).amax() < 1e-12);
    let structure = linear.function_of_structure(&one);
    assert!((matrix(linear, |x, out, scratch| linear.apply(&structure, x, out, scratch)) - j).amax() < 1e-12);
}

#[test]
fn transforms_and_oscillators_agree_with_matrices_for_odd_and_even_numbers_of_nodes() {
    for nodes in [3, 6, 11] {
        put_to_the_laws(&Nls::new(nodes).unwrap().linear);
        put_to_the_laws(&Kdv::new(nodes, 5e-4).unwrap().linear);
    }
    // J that is no factor: the transport of a complex field.
    put_to_the_laws(
        &ComplexFourier::new(7, |k| Complex::new(0.0, k as f64), |k| Complex::new(2.0 - k as f64, 0.0)).unwrap(),
    );
    put_to_the_laws(&Oscillators::new(vec![0.0, 1.0, 30.0]).unwrap());
}

#[test]
fn differentiation_matrices_are_those_of_the_text() {
    let (n, nodes) = (4_i32, 9_usize);
    let h = std::f64::consts::TAU / nodes as f64;
    let [d1_negative, _, d2_scaled] = matrices(&Kdv::new(nodes, 1.0).unwrap().linear);
    for k in 0..nodes {
        for j in 0..nodes {
            let (angle, sign) = ((k as f64 - j as f64) * h / 2.0, if (k + j) % 2 == 0 { 1.0 } else { -1.0 });
            let (d1, d2) = if k == j {
                (0.0, -f64::from(n * (n + 1)) / 3.0)
            } else {
                (sign / (2.0 * angle.sin()), -sign * angle.cos() / (2.0 * angle.sin().powi(2)))
            };
            assert!((d1_negative[(k, j)] + d1).abs() < 1e-12 && (d2_scaled[(k, j)] - d2).abs() < 1e-12, "{k} {j}");
        }
    }
}

fn put_potential_to_the_laws(potential: &impl Potential, q0: &[f64], q1: &[f64]) {
    let n = q0.len();
    let (mut gradient, mut moved, mut mean) = (vec![0.0; n], vec![0.0; n], vec![0.0; n]);
    potential.gradient(q0, &mut gradient);
    let step = 1e-6;
    for i in 0..n {
        let at = |delta: f64| {
            let mut q = q0.to_vec();
            q[i] += delta;
            q
        };
        let slope = (potential.value(&at(step)) - potential.value(&at(-step))) / (2.0 * step);
        assert!((slope - gradient[i]).abs() < 1e-7 * (1.0 + slope.abs()), "{slope} {}", gradient[i]);
        let mut unit = vec![0.0; n];
        unit[i] = 1.0;
        let mut column = vec![0.0; n];
        potential.hessian_apply(q0, &unit, &mut column);
        potential.gradient(&at(step), &mut moved);
        potential.gradient(&at(-step), &mut mean);
        for k in 0..n {
            let slope = (moved[k] - mean[k]) / (2.0 * step);
            assert!((slope - column[k]).abs() < 1e-7 * (1.0 + slope.abs()), "{slope} {}", column[k]);
        }
    }
    // (2.11), symmetry, and the gradient where both points are one.
    potential.discrete_gradient(q0, q1, &mut mean);
    let along: f64 = mean.iter().zip(q1.iter().zip(q0)).map(|(g, (b, a))| g * (b - a)).sum();
    let difference = potential.value(q1) - potential.value(q0);
    assert!((along - difference).abs() < 1e-12 * (1.0 + difference.abs()), "{along} {difference}");
    potential.discrete_gradient(q1, q0, &mut moved);
    assert!(mean.iter().zip(&moved).all(|(a, b)| (a - b).abs() <= 1e-14 * (1.0 + a.abs())));
    potential.discrete_gradient(q0, q0, &mut moved);
    assert!(gradient.iter().zip(&moved).all(|(a, b)| (a - b).abs() < 1e-13 * (1.0 + a.abs())));
}

/// A system that keeps the laws: any skew J, and D a polynomial in J², with these scales.
fn lawful(entries: &[f64], polynomial: [f64; 3], (j_scale, d_scale): (f64, f64)) -> (DMatrix<f64>, DMatrix<f64>) {
    const N: usize = 5;
    let mut index = 0;
    let mut j = DMatrix::zeros(N, N);
    for row in 0..N {
        for column in 0..row {
            (j[(row, column)], j[(column, row)]) = (entries[index], -entries[index]);
            index += 1;
        }
    }
    let square = &j * &j;
    let d = DMatrix::identity(N, N) * polynomial[0] + &square * polynomial[1] + &square * &square * polynomial[2];
    let d = (&d + d.transpose()) * 0.5;
    (j * j_scale, d * d_scale)
}

/// Magnitudes of matrices, from tiny to huge.
fn scale() -> impl Strategy<Value = f64> {
    (-140..140_i32).prop_map(|power| 10_f64.powi(power))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, rng_seed: proptest::test_runner::RngSeed::Fixed(7), ..ProptestConfig::default() })]

    #[test]
    fn lawful_matrices_are_taken_and_the_law_that_is_broken_is_named_at_any_scale(
        entries in proptest::collection::vec(0.1..1.0_f64, 10),
        polynomial in [-1.0..1.0_f64, 0.1..1.0_f64, 0.0..0.2_f64],
        scales in (scale(), scale()),
        spoiled in (0..5_usize, 0..5_usize),
        // Well above rounding, and relative to the largest entry.
        by in 1e-6..1.0_f64,
    ) {
        let (j, d) = lawful(&entries, polynomial, scales);
        prop_assert!(Dense::new(j.clone(), d.clone()).is_ok());
        let mut not_skew = j.clone();
        not_skew[spoiled] += by * j.amax();
        let refusal = Dense::new(not_skew, d.clone()).err();
        prop_assert!(matches!(refusal, Some(PoissonError::NotSkew { defect }) if defect > 1e-7), "{refusal:?}");
        let mut not_symmetric = d.clone();
        not_symmetric[(spoiled.0, (spoiled.0 + 1 + spoiled.1 % 4) % 5)] += by * d.amax();
        let refusal = Dense::new(j.clone(), not_symmetric).err();
        prop_assert!(matches!(refusal, Some(PoissonError::NotSymmetric { defect }) if defect > 1e-7), "{refusal:?}");
        // All of J's rows have entries, so none commutes with a change of one entry of the diagonal.
        let mut not_commuting = d.clone();
        not_commuting[(spoiled.0, spoiled.0)] += by * d.amax();
        let refusal = Dense::new(j, not_commuting).err();
        prop_assert!(matches!(refusal, Some(PoissonError::NotCommuting { defect }) if defect > 1e-8), "{refusal:?}");
    }

    #[test]
    fn any_numbers_are_taken_or_refused_and_what_is_taken_is_orthogonal(
        j in proptest::collection::vec(proptest::num::f64::ANY, 9),
        d in proptest::collection::vec(proptest::num::f64::ANY, 9),
        diagonal in proptest::num::f64::ANY,
    ) {
        let matrix = |entries: &[f64]| DMatrix::from_column_slice(3, 3, entries);
        let (j, d) = (matrix(&j), matrix(&d));
        // As they come, and made skew and symmetric so that the later checks are reached.
        let skew = DMatrix::from_fn(3, 3, |a, b| if a > b { j[(a, b)] } else if a < b { -j[(b, a)] } else { 0.0 });
        let symmetric = DMatrix::from_fn(3, 3, |a, b| d[(a.max(b), a.min(b))]);
        for (j, d) in [
            (j.clone(), d.clone()),
            (skew.clone(), symmetric),
            (skew, DMatrix::from_diagonal_element(3, 3, diagonal)),
        ] {
            let size = (&j * &d).amax();
            let Ok(dense) = Dense::new(j, d) else { continue };
            let t = if size > 0.0 { 1e3 / size } else { 1.0 };
            let exponential = dense.function(&|omega| Complex::from_polar(1.0, omega * t.min(f64::MAX)));
            prop_assert!((&exponential * exponential.transpose() - DMatrix::identity(3, 3)).amax() < 1e-12);
        }
        let made = [diagonal, j[0], d[0]];
        let multiplier = |k: i64| Complex::new(made[1], k as f64 * diagonal);
        for result in [
            ComplexFourier::new(5, multiplier, |k| Complex::new(made[2] * k as f64, 0.0)).map(drop),
            RealFourier::new(4, multiplier, |k| Complex::new(made[2] * (k * k) as f64, 0.0)).map(drop),
            Oscillators::new(made.to_vec()).map(drop),
        ] {
            prop_assert!(result.is_ok() || result.is_err_and(|error| !error.to_string().contains('\n')));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, rng_seed: proptest::test_runner::RngSeed::Fixed(5), ..ProptestConfig::default() })]

    #[test]
    fn potentials_have_the_derivatives_and_discrete_gradients_they_say(
        q in proptest::collection::vec(-1.5..1.5_f64, 16),
    ) {
        let (q0, q1) = q.split_at(8);
        put_potential_to_the_laws(&crate::dynamics::nls::Quartic, q0, q1);
        put_potential_to_the_laws(&crate::dynamics::kdv::Cubic, q0, q1);
        let arm = crate::dynamics::elastic_arm::ElasticArm::new(&crate::dynamics::elastic_arm::Parameters {
            elements: 2,
            ..Default::default()
        }).unwrap();
        put_potential_to_the_laws(&arm.system.potential, q0, q1);
    }
}

/// Of 1401 nodes, an operator that always erred to the same side would take 6·10⁻¹⁴ of the energy in these steps.
#[test]
fn rounding_takes_no_steady_part_of_the_energy() {
    let problem = Kdv::new(1401, 5e-4).unwrap();
    let mut state = problem.sample(|x| (5.0 * (x - std::f64::consts::PI)).cosh().powi(-2));
    let mut scratch = problem.scratch();
    let before = problem.energy(&state, &mut scratch);
    EnergyPreservingExponential::new(&problem, 0.005, Iteration::default()).run(1000, &mut state).unwrap();
    let change = (problem.energy(&state, &mut scratch) - before) / before;
    assert!(change.abs() < 2e-14, "{change:e}");
}
