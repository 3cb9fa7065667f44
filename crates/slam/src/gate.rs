//! Gates: probabilities turned into bounds on the squared Mahalanobis distance.

use nalgebra::{Matrix2, Vector2};

/// The bound that χ² with two degrees of freedom stays under with this probability: −2 ln(1 − P). Infinite for 1.
pub fn chi2_bound_2(probability: f64) -> f64 {
    if probability >= 1.0 { f64::INFINITY } else { -2.0 * (-probability).ln_1p() }
}

/// rᵀ S⁻¹ r. `None` where S is not positive definite.
pub fn mahalanobis_squared(r: &Vector2<f64>, s: &Matrix2<f64>) -> Option<f64> {
    let determinant = s[(0, 0)] * s[(1, 1)] - s[(0, 1)] * s[(1, 0)];
    if !(determinant > 0.0 && s[(0, 0)] > 0.0) {
        return None;
    }
    let d = (s[(1, 1)] * r.x * r.x - (s[(0, 1)] + s[(1, 0)]) * r.x * r.y + s[(0, 0)] * r.y * r.y) / determinant;
    d.is_finite().then_some(d)
}

#[cfg(test)]
mod tests {
    use super::*;
    use statrs::distribution::{ChiSquared, ContinuousCDF};

    #[test]
    fn the_bound_is_the_quantile() {
        let chi2 = ChiSquared::new(2.0).unwrap();
        for p in [0.5, 0.95, 0.99, 0.999, 0.999_999] {
            assert!((chi2.cdf(chi2_bound_2(p)) - p).abs() < 1e-12);
        }
        assert_eq!(chi2_bound_2(1.0), f64::INFINITY);
    }

    #[test]
    fn the_distance_is_the_solved_one() {
        let (r, s) = (Vector2::new(0.3, -0.2), Matrix2::new(0.5, 0.1, 0.1, 0.2));
        let expected = (r.transpose() * s.try_inverse().unwrap() * r)[(0, 0)];
        assert!((mahalanobis_squared(&r, &s).unwrap() - expected).abs() < 1e-14);
        assert_eq!(mahalanobis_squared(&r, &Matrix2::new(1.0, 2.0, 2.0, 1.0)), None);
        assert_eq!(mahalanobis_squared(&Vector2::new(f64::NAN, 0.0), &s), None);
    }
}
