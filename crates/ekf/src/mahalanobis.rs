//! The squared Mahalanobis distance of a residual of one to three numbers.

use nalgebra::{Matrix3, Vector3};

/// rᵀ S⁻¹ r of the first `dim` numbers. `None` where S is not positive definite.
pub fn mahalanobis_squared(r: &Vector3<f64>, s: &Matrix3<f64>, dim: usize) -> Option<f64> {
    let d = match dim {
        1 => {
            if s[(0, 0)].is_nan() || s[(0, 0)] <= 0.0 {
                return None;
            }
            r.x * r.x / s[(0, 0)]
        }
        2 => {
            let determinant = s[(0, 0)] * s[(1, 1)] - s[(0, 1)] * s[(1, 0)];
            if !(determinant > 0.0 && s[(0, 0)] > 0.0) {
                return None;
            }
            (s[(1, 1)] * r.x * r.x - (s[(0, 1)] + s[(1, 0)]) * r.x * r.y + s[(0, 0)] * r.y * r.y) / determinant
        }
        _ => r.dot(&s.cholesky()?.solve(r)),
    };
    d.is_finite().then_some(d)
}

/// tr R⁻¹ S of the first `dim` rows and columns; infinite where R is not positive definite.
pub fn relative_trace(s: &Matrix3<f64>, r: &Matrix3<f64>, dim: usize) -> f64 {
    let trace = match dim {
        1 => s[(0, 0)] / r[(0, 0)],
        2 => {
            let determinant = r[(0, 0)] * r[(1, 1)] - r[(0, 1)] * r[(1, 0)];
            let crossed = r[(1, 1)] * s[(0, 0)] - r[(0, 1)] * s[(1, 0)] - r[(1, 0)] * s[(0, 1)] + r[(0, 0)] * s[(1, 1)];
            crossed / determinant
        }
        _ => r.cholesky().map_or(f64::INFINITY, |factor| factor.solve(s).trace()),
    };
    if trace.is_finite() { trace } else { f64::INFINITY }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_relative_trace_is_the_solved_one() {
        let s = Matrix3::new(0.5, 0.1, 0.05, 0.1, 0.2, -0.03, 0.05, -0.03, 0.4);
        let r = Matrix3::new(0.3, 0.02, 0.01, 0.02, 0.4, -0.05, 0.01, -0.05, 0.2);
        assert!((relative_trace(&s, &r, 1) - s[(0, 0)] / r[(0, 0)]).abs() < 1e-14);
        let corner = |m: &Matrix3<f64>| m.fixed_view::<2, 2>(0, 0).into_owned();
        let expected = (corner(&r).try_inverse().unwrap() * corner(&s)).trace();
        assert!((relative_trace(&s, &r, 2) - expected).abs() < 1e-13);
        assert!((relative_trace(&s, &r, 3) - (r.try_inverse().unwrap() * s).trace()).abs() < 1e-12);
        assert_eq!(relative_trace(&s, &Matrix3::zeros(), 2), f64::INFINITY);
    }

    #[test]
    fn the_distance_is_the_solved_one() {
        let r = Vector3::new(0.3, -0.2, 0.7);
        let s = Matrix3::new(0.5, 0.1, 0.05, 0.1, 0.2, -0.03, 0.05, -0.03, 0.4);
        let one = mahalanobis_squared(&r, &s, 1).unwrap();
        assert!((one - r.x * r.x / s[(0, 0)]).abs() < 1e-14);
        let corner = s.fixed_view::<2, 2>(0, 0).into_owned();
        let expected = (r.xy().transpose() * corner.try_inverse().unwrap() * r.xy())[(0, 0)];
        assert!((mahalanobis_squared(&r, &s, 2).unwrap() - expected).abs() < 1e-14);
        let expected = (r.transpose() * s.try_inverse().unwrap() * r)[(0, 0)];
        assert!((mahalanobis_squared(&r, &s, 3).unwrap() - expected).abs() < 1e-13);
        let indefinite = Matrix3::new(1.0, 2.0, 0.0, 2.0, 1.0, 0.0, 0.0, 0.0, -1.0);
        assert!([2, 3].iter().all(|&dim| mahalanobis_squared(&r, &indefinite, dim).is_none()));
        assert_eq!(mahalanobis_squared(&Vector3::new(f64::NAN, 0.0, 0.0), &s, 2), None);
    }
}
