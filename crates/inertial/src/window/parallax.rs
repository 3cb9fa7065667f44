//! How well the range of a track is known: by its pixels, and by how well its clones are known to each other.
//!
//! The range comes from the baseline between two views. Of a body that stands, estimates are apart by their own errors:
//! such a baseline gives ranges that pixels alone take for certain, and a filter that believes them learns of tilt and
//! velocity what no sensor has shown. So with b the component of the longest baseline across the ray, the range is known no
//! better than b is,
//!
//! ```math
//! \frac{σ_b}{|b|} = \frac{\sqrt{b^T P_b b}}{|b|^2},\qquad
//! \frac{σ_ρ^2}{ρ^2} = \frac{σ_{pixels}^2}{ρ^2} + \frac{σ_b^2}{|b|^2}
//! ```
//!
//! with P_b the covariance of what the newest clone sees of the other: e_c − e_n + r^ a_n, as of a landmark.

use crate::sight::Sight;
use lienav_lie::hat;
use nalgebra::{Matrix3, SMatrix, Vector3};

/// Standard deviation of the longest baseline across the ray, relative to it; `None` where there is no baseline. The
/// clones are at these places of the window, the joint covariance of whose errors is `prior`, row by row, in these axes.
pub fn baseline_sigma(sights: &[Sight], places: &[usize], prior: &[f64], axes: &Matrix3<f64>) -> Option<f64> {
    let (centre, ray) = sights.last()?.ray();
    let across = |sight: &Sight| {
        let baseline = sight.ray().0 - centre;
        baseline - ray * ray.dot(&baseline)
    };
    let longest = sights.iter().map(across).enumerate().max_by(|a, b| a.1.norm().total_cmp(&b.1.norm()));
    let ((other, baseline), newest) = (longest?, sights.len() - 1);
    let length = baseline.norm();
    if length.is_nan() || length <= 0.0 {
        return None;
    }
    let between = axes.transpose() * (sights[other].position - sights[newest].position);
    let along = axes.transpose() * (baseline / length);
    let square = variance_along(&along, &between, [places[other], places[newest]], prior);
    Some(square.sqrt() / length)
}

/// The variance of e_c − e_n + r^ a_n along a direction.
fn variance_along(along: &Vector3<f64>, between: &Vector3<f64>, [other, newest]: [usize; 2], prior: &[f64]) -> f64 {
    let n = prior.len().isqrt();
    let mut h = SMatrix::<f64, 1, 9>::zeros();
    h.fixed_columns_mut::<3>(0).copy_from(&along.transpose());
    h.fixed_columns_mut::<3>(3).copy_from(&-along.transpose());
    h.fixed_columns_mut::<3>(6).copy_from(&(along.transpose() * hat(between)));
    let row = |k: usize| if k < 3 { 6 * other + k } else { 6 * newest + k - 3 };
    let covariance = SMatrix::<f64, 9, 9>::from_fn(|i, j| prior[row(i) * n + row(j)]);
    (h * covariance * h.transpose())[(0, 0)].max(0.0)
}
