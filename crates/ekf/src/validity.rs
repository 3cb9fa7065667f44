//! Whether a covariance is valid: finite, and positive semidefinite within rounding.

use nalgebra::SMatrix;

/// What is known better than this is known exactly, m² and rad²: to a micrometre and a microradian. It is the variance
/// that is published where there is none, as of a start that is known.
pub const EXACT_VARIANCE: f64 = 1e-12;

/// The part of a variance that rounding may have taken away: of one that stayed as it is, and of one of 10⁴ m² that
/// measurements have made one of 1 cm².
const ROUNDING: [f64; 2] = [1e-13, 1e-6];

/// A covariance as it may be published: `c` itself where it is positive definite, and with larger variances, by what
/// rounding may have taken away, where only that is. `None` where it is invalid: not finite or not positive
/// semidefinite.
///
/// The result is positive definite: no variance in it is zero, negative or NaN.
///
/// ```
/// use lienav_ekf::validity::valid_covariance;
/// use nalgebra::{Matrix2, Matrix3};
///
/// let good = Matrix2::new(0.04, 0.01, 0.01, 0.09);
/// assert_eq!(valid_covariance(&good), Some(good));
/// let start = valid_covariance(&Matrix3::zeros()).unwrap();
/// assert!(start.diagonal().iter().all(|variance| *variance > 0.0));
/// assert_eq!(valid_covariance(&Matrix2::new(0.04, 0.07, 0.07, 0.09)), None);
/// ```
pub fn valid_covariance<const D: usize>(c: &SMatrix<f64, D, D>) -> Option<SMatrix<f64, D, D>> {
    if is_positive_definite(c) {
        return Some(*c);
    }
    let widened = ROUNDING.map(|part| {
        let mut wider = *c;
        for k in 0..D {
            wider[(k, k)] = (c[(k, k)] + part * c[(k, k)].abs()).max(EXACT_VARIANCE);
        }
        // A variance that is negative beyond rounding is invalid.
        (0..D).all(|k| c[(k, k)] >= -EXACT_VARIANCE).then_some(wider)
    });
    widened.into_iter().flatten().find(is_positive_definite)
}

/// Whether a symmetric matrix is finite, with positive pivots only.
fn is_positive_definite<const D: usize>(c: &SMatrix<f64, D, D>) -> bool {
    let mut rest = *c;
    for j in 0..D {
        if !(rest[(j, j)] > 0.0 && rest[(j, j)] < f64::INFINITY) {
            return false;
        }
        for i in j + 1..D {
            for k in j + 1..=i {
                let known = rest[(i, j)] * rest[(k, j)] / rest[(j, j)];
                rest[(i, k)] -= known;
            }
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use nalgebra::{Matrix2, Matrix3, SymmetricEigen};
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig {
            rng_seed: proptest::test_runner::RngSeed::Fixed(12),
            ..ProptestConfig::with_cases(1000)
        })]

        #[test]
        fn it_is_valid_where_no_eigenvalue_is_negative(n in prop::array::uniform9(-1.0..1.0f64), less in -1.0..1.0f64) {
            let root = Matrix3::from_row_slice(&n);
            let c = root * root.transpose() + Matrix3::identity() * less;
            let least = SymmetricEigen::new(c).eigenvalues.min();
            match valid_covariance(&c) {
                Some(valid) if least > 1e-9 => prop_assert_eq!(valid, c),
                Some(valid) => prop_assert!(least > -1e-5 && SymmetricEigen::new(valid).eigenvalues.min() > 0.0),
                None => prop_assert!(least < 0.0),
            }
        }
    }

    #[test]
    fn what_is_no_covariance_is_invalid() {
        for x in [f64::NAN, f64::INFINITY, -1e-3] {
            for k in 0..3 {
                let mut c = Matrix3::identity();
                c[(k, k)] = x;
                assert_eq!(valid_covariance(&c), None, "{x} at {k}");
            }
        }
        for x in [f64::NAN, f64::INFINITY, 1.1] {
            assert_eq!(valid_covariance(&Matrix2::new(1.0, x, x, 1.0)), None, "{x}");
        }
    }

    #[test]
    fn what_rounding_has_taken_away_is_given_back() {
        for c in [Matrix2::new(1e-4, 1e-4, 1e-4, 1e-4 - 1e-14), Matrix2::new(-1e-18, 0.0, 0.0, 1.0), Matrix2::zeros()] {
            let valid = valid_covariance(&c).unwrap();
            assert!((valid - c).amax() < 2e-6 && valid.m11 > 0.0 && valid.m22 > 0.0, "{c}");
        }
    }
}
