//! Bounds on the squared Mahalanobis distance, from probabilities and the degrees of freedom of a measurement.

use crate::config::GateConfig;
use crate::measurement::value::MAX_DIM;
use nalgebra::{Matrix3, Vector3};

/// Bounds on the squared Mahalanobis distance, from probabilities.
#[derive(Clone, Copy, Debug)]
pub struct Gate {
    known: [f64; MAX_DIM],
    new: [f64; MAX_DIM],
    associated: [[f64; MAX_DIM]; 2],
    displaced: [f64; 2],
    together: f64,
    robust_scale: f64,
}

/// The largest probability of [`Gate::associated`].
const FURTHEST: f64 = 0.999_999_99;
/// The probability of [`Gate::displaced`].
const DISPLACED: f64 = 0.999;

impl Gate {
    /// As configured.
    pub fn new(config: &GateConfig) -> Self {
        let bounds = |probability: f64| [1, 2, 3].map(|dof| chi2_bound(dof, probability));
        let known = bounds(config.probability);
        let new = bounds(config.new_feature_probability);
        let new = [0, 1, 2].map(|k| new[k].max(known[k]));
        let furthest = bounds(FURTHEST);
        let associated = [known, new].map(|bounds| [0, 1, 2].map(|k| bounds[k].min(furthest[k])));
        Self {
            known,
            new,
            associated,
            displaced: [2, 3].map(|dof| chi2_bound(dof, DISPLACED)),
            together: config.probability.max(DISPLACED),
            robust_scale: config.robust_scale,
        }
    }

    /// The largest squared distance at which a reading of `dim` numbers passes the gate of a feature.
    pub fn known(&self, dim: usize) -> f64 {
        self.known[dim - 1]
    }

    /// The squared distance from all features beyond which a reading of `dim` numbers begins a new feature.
    pub fn new_feature(&self, dim: usize) -> f64 {
        self.new[dim - 1]
    }

    /// [`Gate::known`] and [`Gate::new_feature`] for readings without identity: one that may be of any landmark, at
    /// whatever distance, is of none.
    pub fn associated(&self, dim: usize) -> [f64; 2] {
        self.associated.map(|bounds| bounds[dim - 1])
    }

    /// The squared distances, of two and three numbers, beyond which a feature or the robot cannot be where it would
    /// have to be displaced to.
    pub fn displaced(&self) -> [f64; 2] {
        self.displaced
    }

    /// The largest squared distance at which readings of `numbers` numbers pass together.
    pub fn together(&self, numbers: usize) -> f64 {
        chi2_bound(numbers, self.together)
    }

    /// The factor for the covariance of a reading that passed, from its squared Mahalanobis distance: the inverse of
    /// Cauchy's weight.
    pub fn inflation(&self, distance: f64) -> f64 {
        if self.robust_scale > 0.0 { 1.0 + distance / (self.robust_scale * self.robust_scale) } else { 1.0 }
    }
}

/// The quantile of χ² with `dof` degrees of freedom at this probability; infinite for 1.
fn chi2_bound(dof: usize, probability: f64) -> f64 {
    if probability >= 1.0 {
        return f64::INFINITY;
    }
    if dof == 2 {
        return -2.0 * (-probability).ln_1p();
    }
    let beyond = 1.0 - probability;
    let (mut low, mut high) = (0.0, 1.0);
    while survival(dof, high) > beyond {
        (low, high) = (high, 2.0 * high);
    }
    // Halved until nothing lies between.
    loop {
        let middle = 0.5 * (low + high);
        if middle <= low || middle >= high {
            return high;
        }
        if survival(dof, middle) > beyond { low = middle } else { high = middle }
    }
}

/// The probability that χ² with one or three degrees of freedom exceeds x: erfc √(x/2), and √(2x/π) e^{−x/2} more for
/// three.
fn survival(dof: usize, x: f64) -> f64 {
    let tail = libm::erfc((0.5 * x).sqrt());
    if dof == 1 { tail } else { tail + (x * std::f64::consts::FRAC_2_PI).sqrt() * (-0.5 * x).exp() }
}

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
    use statrs::distribution::{ChiSquared, ContinuousCDF};

    #[test]
    fn the_bound_is_the_quantile() {
        for dof in [1, 2, 3] {
            let chi2 = ChiSquared::new(dof as f64).unwrap();
            for p in [0.5, 0.95, 0.99, 0.999, 0.999_999] {
                assert!((chi2.cdf(chi2_bound(dof, p)) - p).abs() < 1e-9, "{dof} {p}");
            }
            assert_eq!(chi2_bound(dof, 1.0), f64::INFINITY);
        }
    }

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
