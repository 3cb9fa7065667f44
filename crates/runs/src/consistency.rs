//! Whether a covariance tells the truth: squared errors in units of their own covariance, held against χ².

use lienav_slam::EXACT_VARIANCE;
use nalgebra::{Matrix3, Vector3};
use statrs::distribution::{ChiSquared, ContinuousCDF};

/// Probability of the band a report counts by.
pub const BAND_PROBABILITY: f64 = 0.95;

/// Degrees of freedom of the pose (x, y, θ): the mean NEES of a consistent filter.
pub const POSE_DOF: usize = 3;

/// The least part of a variance that must be left, given the other components, for a covariance to be taken for
/// regular. Rounding leaves some 10⁻¹⁶ where there should be none.
const LEAST_PIVOT: f64 = 1e-12;

/// Normalised estimation error squared, eᵀ Σ⁻¹ e, by Cholesky of the correlation matrix (Bar-Shalom, Li, Kirubarajan
/// 2001, eq. (5.4.2-1)). `None` where Σ is not positive definite, or singular but for rounding, or has a variance of no
/// more than [`EXACT_VARIANCE`]: a robot that starts at a known pose and cannot slip sideways has such a covariance
/// after its first step.
pub fn nees(error: &Vector3<f64>, covariance: &Matrix3<f64>) -> Option<f64> {
    if covariance.diagonal().iter().any(|variance| *variance <= EXACT_VARIANCE) {
        return None;
    }
    let scale = covariance.diagonal().map(|variance| 1.0 / variance.sqrt());
    let correlation = Matrix3::from_fn(|i, j| scale[i] * covariance[(i, j)] * scale[j]);
    let factor = correlation.cholesky()?;
    if factor.l_dirty().diagonal().iter().any(|pivot| pivot * pivot < LEAST_PIVOT) {
        return None;
    }
    let scaled = error.component_mul(&scale);
    let nees = scaled.dot(&factor.solve(&scaled));
    nees.is_finite().then_some(nees)
}

/// The interval that holds a χ² variable of `dof` degrees of freedom with `probability`, equally likely to be left on
/// either side. With 0 degrees of freedom it is (0, 0).
pub fn chi_squared_band(dof: usize, probability: f64) -> (f64, f64) {
    let Ok(distribution) = ChiSquared::new(dof as f64) else {
        return (0.0, 0.0);
    };
    let tail = 0.5 * (1.0 - probability.clamp(0.0, 1.0));
    (distribution.inverse_cdf(tail), distribution.inverse_cdf(1.0 - tail))
}

/// The part of `values` inside a band, ends included. `None` without values.
pub fn fraction_inside(values: impl IntoIterator<Item = f64>, (low, high): (f64, f64)) -> Option<f64> {
    let (mut inside, mut all) = (0_usize, 0_usize);
    for value in values {
        all += 1;
        inside += usize::from((low..=high).contains(&value));
    }
    (all > 0).then(|| inside as f64 / all as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use nalgebra::Cholesky;
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;
    use rand_distr::{Distribution, StandardNormal};

    #[test]
    fn the_band_is_that_of_the_tables() {
        let (low, high) = chi_squared_band(3, 0.95);
        assert!((low - 0.215_795_28).abs() < 1e-7 && (high - 9.348_403_60).abs() < 1e-7, "{low} {high}");
        let (low, high) = chi_squared_band(600, 0.95);
        assert!((low - 534.018_62).abs() < 1e-3 && (high - 669.769_20).abs() < 1e-3, "{low} {high}");
        assert_eq!(chi_squared_band(0, 0.95), (0.0, 0.0));
    }

    #[test]
    fn errors_drawn_from_the_covariance_have_mean_three_and_fill_the_band() {
        let covariance = Matrix3::new(0.04, 0.01, -0.002, 0.01, 0.09, 0.003, -0.002, 0.003, 0.0004);
        let root = Cholesky::new(covariance).unwrap().l();
        let mut random = ChaCha8Rng::seed_from_u64(7);
        let n = 4000;
        let values: Vec<f64> = (0..n)
            .map(|_| root * Vector3::from_fn(|_, _| StandardNormal.sample(&mut random)))
            .map(|error| nees(&error, &covariance).unwrap())
            .collect();
        let sum: f64 = values.iter().sum();
        let (low, high) = chi_squared_band(3 * n, 0.999);
        assert!((low..high).contains(&sum), "{low} {sum} {high}");
        let inside = fraction_inside(values, chi_squared_band(3, BAND_PROBABILITY)).unwrap();
        assert!((inside - 0.95).abs() < 4.0 * (0.95 * 0.05 / n as f64).sqrt(), "{inside}");
    }

    #[test]
    fn a_singular_covariance_has_no_nees() {
        assert_eq!(nees(&Vector3::zeros(), &Matrix3::zeros()), None);
        assert_eq!(nees(&Vector3::x(), &Matrix3::from_diagonal(&Vector3::new(1.0, 1.0, f64::NAN))), None);
        assert_eq!(nees(&Vector3::new(2.0, 0.0, 1.0), &Matrix3::identity()), Some(5.0));
        let (a, b) = (Vector3::new(0.1, 1.0, 3.0), Vector3::new(1.0, 0.3, -0.7));
        let flat = a * a.transpose() + b * b.transpose();
        assert_eq!(nees(&Vector3::z(), &flat), None);
    }

    #[test]
    fn a_covariance_of_tiny_and_huge_variances_is_not_taken_for_singular() {
        let covariance = Matrix3::from_diagonal(&Vector3::new(1e-10, 1e6, 1e-4));
        let error = Vector3::new(1e-5, 2e3, 3e-2);
        assert!((nees(&error, &covariance).unwrap() - (1.0 + 4.0 + 9.0)).abs() < 1e-9);
    }
}
