//! Runge–Kutta methods, explicit and implicit, on linear matrix equations Q̇ = S(t) Q, as those of inertial navigation
//! (Luo and Sun 2020).
//!
//! The stages of an implicit method are the solution of a linear system, so they are found by elimination: a step has
//! no tolerance, and what a method preserves it preserves to rounding. With a skew S and a tableau that answers
//! [`Tableau::is_symplectic`], QᵀQ and dQ ∧ S dQ are preserved (theorems 3.1 and 3.2); the implicit midpoint rule then
//! is the Cayley map, (33).

use super::{IntegrationError, Tableau};
use nalgebra::SMatrix;

/// P − I of the map Q(t₀ + h) = P Q(t₀) by which a method takes one step of Q̇ = S(t) Q; `coefficients` are S(t₀ +
/// cᵢh). For many steps with a constant S it can be kept. It is the difference to the identity because that is small
/// where h is: applied by [`apply`], rounding in it counts the less.
///
/// # Errors
/// [`IntegrationError::NotFinite`], with `time` and `step` to name it, where numbers are not finite or where the stage
/// equations of an implicit method are singular.
pub fn increment<const S: usize, const N: usize>(
    tableau: &Tableau<S>,
    coefficients: &[SMatrix<f64, N, N>; S],
    time: f64,
    step: f64,
) -> Result<SMatrix<f64, N, N>, IntegrationError> {
    let slopes = slopes(tableau, coefficients, step).ok_or(IntegrationError::NotFinite { time, step })?;
    let weighted = slopes.iter().zip(tableau.b).map(|(slope, b)| slope * (step * b));
    let increment: SMatrix<f64, N, N> = weighted.sum();
    if increment.iter().all(|x| x.is_finite()) {
        Ok(increment)
    } else {
        Err(IntegrationError::NotFinite { time, step })
    }
}

/// Q + (P − I)Q, of as many columns as Q has.
pub fn apply<const N: usize, const M: usize>(
    increment: &SMatrix<f64, N, N>,
    q: &SMatrix<f64, N, M>,
) -> SMatrix<f64, N, M> {
    q + increment * q
}

/// One step from t to t + h of Q̇ = S(t) Q.
///
/// # Errors
/// As of [`increment`].
pub fn step<const S: usize, const N: usize, const M: usize>(
    tableau: &Tableau<S>,
    coefficient: impl Fn(f64) -> SMatrix<f64, N, N>,
    time: f64,
    step: f64,
    q: &SMatrix<f64, N, M>,
) -> Result<SMatrix<f64, N, M>, IntegrationError> {
    let coefficients = tableau.c.map(|c| coefficient(time + c * step));
    Ok(apply(&increment(tableau, &coefficients, time, step)?, q))
}

/// The slopes Kᵢ = Sᵢ Yᵢ for Q = I, Kᵢ − h Sᵢ Σⱼ aᵢⱼ Kⱼ = Sᵢ. None of a singular system.
fn slopes<const S: usize, const N: usize>(
    tableau: &Tableau<S>,
    coefficients: &[SMatrix<f64, N, N>; S],
    h: f64,
) -> Option<[SMatrix<f64, N, N>; S]> {
    let mut right = *coefficients;
    if tableau.is_explicit() {
        for i in 0..S {
            let earlier: SMatrix<f64, N, N> = (0..i).map(|j| right[j] * tableau.a[i][j]).sum();
            right[i] += coefficients[i] * earlier * h;
        }
        return Some(right);
    }
    let mut left = [[SMatrix::zeros(); S]; S];
    for i in 0..S {
        for (block, a) in left[i].iter_mut().zip(&tableau.a[i]) {
            *block = coefficients[i] * (-h * a);
        }
        left[i][i] += SMatrix::identity();
    }
    solve(&mut left, &mut right).then_some(right)
}

/// Gaussian elimination with partial pivoting in a matrix of blocks; the solution takes the place of the right side.
/// False where a pivot vanishes or is not a number.
fn solve<const S: usize, const N: usize>(
    left: &mut [[SMatrix<f64, N, N>; S]; S],
    right: &mut [SMatrix<f64, N, N>; S],
) -> bool {
    let size = S * N;
    let at = |left: &[[SMatrix<f64, N, N>; S]; S], i: usize, j: usize| left[i / N][j / N][(i % N, j % N)];
    for k in 0..size {
        let pivot_row = (k..size).max_by(|&i, &j| at(left, i, k).abs().total_cmp(&at(left, j, k).abs())).unwrap_or(k);
        let pivot = at(left, pivot_row, k);
        if !pivot.is_finite() || pivot == 0.0 {
            return false;
        }
        if pivot_row != k {
            swap_rows(left, right, k, pivot_row);
        }
        for i in k + 1..size {
            let factor = at(left, i, k) / pivot;
            if factor != 0.0 {
                for j in k + 1..size {
                    left[i / N][j / N][(i % N, j % N)] -= factor * at(left, k, j);
                }
                let row = right[k / N].row(k % N) * factor;
                let mut target = right[i / N].row_mut(i % N);
                target -= row;
            }
        }
    }
    for k in (0..size).rev() {
        let mut row = right[k / N].row(k % N).into_owned();
        for j in k + 1..size {
            row -= right[j / N].row(j % N) * at(left, k, j);
        }
        right[k / N].set_row(k % N, &(row / at(left, k, k)));
    }
    true
}

// Two rows of one array, by the same index.
#[allow(clippy::needless_range_loop)]
fn swap_rows<const S: usize, const N: usize>(
    left: &mut [[SMatrix<f64, N, N>; S]; S],
    right: &mut [SMatrix<f64, N, N>; S],
    i: usize,
    j: usize,
) {
    for block in 0..S {
        for column in 0..N {
            let upper = left[i / N][block][(i % N, column)];
            let lower = left[j / N][block][(j % N, column)];
            left[i / N][block][(i % N, column)] = lower;
            left[j / N][block][(j % N, column)] = upper;
        }
    }
    let upper = right[i / N].row(i % N).into_owned();
    let lower = right[j / N].row(j % N).into_owned();
    right[i / N].set_row(i % N, &lower);
    right[j / N].set_row(j % N, &upper);
}

#[cfg(test)]
mod tests {
    use super::super::tableau::{EXPLICIT_MIDPOINT, GAUSS4, GAUSS6, IMPLICIT_MIDPOINT, LOBATTO_IIIA4, RADAU_IIA5, RK4};
    use super::*;
    use nalgebra::{Matrix2, Matrix3, Matrix4};

    fn skew() -> Matrix3<f64> {
        Matrix3::new(0.0, 2.0, -0.1, -2.0, 0.0, 0.0, 0.1, 0.0, 0.0)
    }

    fn constant<const S: usize>(tableau: &Tableau<S>, h: f64) -> Matrix3<f64> {
        increment(tableau, &[skew(); S], 0.0, h).unwrap()
    }

    #[test]
    fn the_midpoint_rule_is_the_cayley_map_and_the_explicit_one_its_polynomial() {
        let (h, s) = (0.1, skew());
        let cayley =
            (Matrix3::identity() - s * (0.5 * h)).try_inverse().unwrap() * (Matrix3::identity() + s * (0.5 * h));
        let found = constant(&IMPLICIT_MIDPOINT, h) + Matrix3::identity();
        assert!((found - cayley).norm() < 1e-15, "{found} {cayley}");
        let polynomial = s * h + s * s * (0.5 * h * h);
        assert!((constant(&EXPLICIT_MIDPOINT, h) - polynomial).norm() < 1e-16);
    }

    /// Steps of length h with S(t) to t = 1 against very small ones of Gauss 6.
    fn error<const S: usize>(tableau: &Tableau<S>, steps: u32, reference: &Matrix3<f64>) -> f64 {
        (run(tableau, steps) - reference).norm()
    }

    fn run<const S: usize>(tableau: &Tableau<S>, steps: u32) -> Matrix3<f64> {
        let h = 1.0 / f64::from(steps);
        (0..steps).fold(Matrix3::identity(), |q, k| step(tableau, turning, f64::from(k) * h, h, &q).unwrap())
    }

    fn turning(t: f64) -> Matrix3<f64> {
        let (x, y, z) = ((3.0 * t).sin(), 1.0 + t * t, (2.0 * t).cos());
        Matrix3::new(0.0, -z, y, z, 0.0, -x, -y, x, 0.0)
    }

    #[test]
    fn orders_with_a_coefficient_that_changes() {
        let reference = run(&GAUSS6, 200);
        let slope = |coarse: f64, fine: f64| (coarse / fine).log2();
        let check = |name: &str, order: f64, slope: f64| {
            assert!((slope - order).abs() < 0.15, "{name}: {slope}, not {order}");
        };
        macro_rules! check_order {
            ($tableau:expr, $steps:expr) => {
                let errors = [$steps, 2 * $steps].map(|steps| error(&$tableau, steps, &reference));
                check($tableau.name, $tableau.order as f64, slope(errors[0], errors[1]));
            };
        }
        check_order!(IMPLICIT_MIDPOINT, 40);
        check_order!(EXPLICIT_MIDPOINT, 40);
        check_order!(RK4, 40);
        check_order!(GAUSS4, 20);
        check_order!(GAUSS6, 8);
        check_order!(RADAU_IIA5, 16);
        check_order!(LOBATTO_IIIA4, 20);
    }

    #[test]
    fn what_is_symplectic_keeps_a_rotation_a_rotation_for_any_step_and_the_others_do_not() {
        let off = |q: &Matrix3<f64>| (q.tr_mul(q) - Matrix3::identity()).norm();
        for h in [0.01, 0.3, 5.0] {
            assert!(off(&(constant(&IMPLICIT_MIDPOINT, h) + Matrix3::identity())) < 1e-14);
            assert!(off(&(constant(&GAUSS4, h) + Matrix3::identity())) < 1e-14);
            assert!(off(&(constant(&GAUSS6, h) + Matrix3::identity())) < 1e-14);
        }
        assert!(off(&run(&GAUSS4, 10)) < 1e-14 && off(&run(&RADAU_IIA5, 3)) > 1e-8 && off(&run(&RK4, 10)) > 1e-8);
    }

    #[test]
    fn elimination_changes_rows_where_it_must() {
        // I − hS/2 has a zero in its corner for this S and h = 2.
        let s = Matrix2::new(1.0, 3.0, -2.0, 0.5);
        let found = increment(&IMPLICIT_MIDPOINT, &[s], 0.0, 2.0).unwrap();
        let expected = (Matrix2::identity() - s).try_inverse().unwrap() * s * 2.0;
        assert!((found - expected).norm() < 1e-14);
        let random = Matrix4::from_fn(|i, j| ((3 * i + 7 * j) as f64).sin());
        let found = increment(&GAUSS4, &[random; 2], 0.0, 1.0).unwrap();
        // The stability function of Gauss 4, (1 + z/2 + z²/12)/(1 − z/2 + z²/12).
        let (odd, even) = (random / 2.0, Matrix4::identity() + random * random / 12.0);
        let expected = (even - odd).try_inverse().unwrap() * (even + odd) - Matrix4::identity();
        assert!((found - expected).norm() < 1e-12, "{found}{expected}");
    }

    #[test]
    fn a_step_that_cannot_be_made_is_an_error() {
        let singular = Matrix2::identity() * 2.0;
        let error = IntegrationError::NotFinite { time: 3.0, step: 1.0 };
        assert_eq!(increment(&IMPLICIT_MIDPOINT, &[singular], 3.0, 1.0), Err(error));
        assert_eq!(increment(&RK4, &[singular * f64::NAN; 4], 3.0, 1.0), Err(error));
        assert_eq!(increment(&GAUSS4, &[singular * f64::INFINITY; 2], 3.0, 1.0), Err(error));
    }
}
