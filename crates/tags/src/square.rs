//! The poses of a square by its four corners: there are two.
//!
//! With the centre of the tag at q in normalized image coordinates and J the derivative of the image by the tag's
//! (x, y) there, both of the homography, J = (1/t_z) [I, −q] R₃₂, where R₃₂ are the first two columns of the tag's
//! rotation. Turned by R_v so that the ray to the centre is the axis, [I, −q] R_v = [C, 0], so that the upper two rows
//! of R_vᵀR₃₂ are t_z A with A = C⁻¹J, and the last is m with mᵀm = I − t_z² AᵀA. That has rank one: t_z is one over the
//! greatest singular value of A, and m has two signs, which are the two poses.

use crate::sight::{Fit, Sight};
use lienav_lie::{LieGroup, Se3, So3};
use nalgebra::{Matrix2, Matrix3, Vector2, Vector3};

/// The poses that fit the corners of a tag, the better one first; one alone where both are the same.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Solutions {
    /// The one that fits better.
    pub best: Fit,
    /// The other.
    pub other: Option<Fit>,
}

impl Solutions {
    /// By how much the other fits worse, as a difference of χ²; infinite without another one.
    pub fn margin(&self) -> f64 {
        self.other.map_or(f64::INFINITY, |other| other.cost - self.best.cost)
    }

    /// Covariance of the tag's place relative to the body, m², with the difference of both poses in it.
    pub fn place_covariance(&self) -> Option<Matrix3<f64>> {
        let own = self.best.information.try_inverse()?.fixed_view::<3, 3>(0, 0).into_owned();
        let apart = self.other.map_or_else(Vector3::zeros, |other| other.pose.translation - self.best.pose.translation);
        let covariance = 0.5 * (own + own.transpose()) + apart * apart.transpose();
        covariance.cholesky().is_some().then_some(covariance)
    }
}

/// Both poses of a tag, or of the board that it is on, relative to the body; `None` where no pose fits.
pub fn solve(sight: &Sight) -> Option<Solutions> {
    /// Poses nearer to each other than this are one, rad.
    const SAME: f64 = 1e-3;
    let mut points = [Vector2::zeros(); 4];
    for (point, corner) in points.iter_mut().zip(&sight.corners) {
        *point = sight.lens.normalized(corner)?;
    }
    let starts = poses(&points, 0.5 * sight.size_m)?;
    let [one, two] = starts.map(|pose| sight.fit(&(sight.on_body * pose * sight.on_tag.inverse())));
    let (one, two) = match (one, two) {
        (Some(one), Some(two)) => (one, Some(two)),
        (Some(one), None) | (None, Some(one)) => (one, None),
        (None, None) => return None,
    };
    let Some(two) = two else { return Some(Solutions { best: one, other: None }) };
    let (best, other) = if one.cost <= two.cost { (one, two) } else { (two, one) };
    let apart = (best.pose.rotation * other.pose.rotation.inverse()).log().norm();
    Some(Solutions { best, other: (apart > SAME).then_some(other) })
}

/// Both poses of a square of this half edge in the axes of the camera, by its corners in normalized image coordinates.
pub fn poses(points: &[Vector2<f64>; 4], half_m: f64) -> Option<[Se3; 2]> {
    let h = homography(points)?;
    // At the middle of the unit square, from (x, y) in edges to metres.
    let centre = h * Vector3::new(0.5, 0.5, 1.0);
    let q = centre.xy() / centre.z;
    let edge = 2.0 * half_m;
    let column = |k: usize| (h.column(k).xy() - q * h[(2, k)]) / (centre.z * edge);
    let j = Matrix2::from_columns(&[column(0), column(1)]);

    let axis = Vector3::new(q.x, q.y, 1.0);
    let turn = shortest(&axis.normalize());
    let c = turn.fixed_view::<2, 2>(0, 0) - q * turn.fixed_view::<1, 2>(2, 0);
    let a = c.try_inverse()? * j;
    let gram = a.tr_mul(&a);
    let (mean, half) = (0.5 * gram.trace(), 0.5 * (gram[(0, 0)] - gram[(1, 1)]));
    let greatest = mean + half.hypot(gram[(0, 1)]);
    if greatest.is_nan() || greatest <= 0.0 {
        return None;
    }
    let t_z = 1.0 / greatest.sqrt();
    let rest = Matrix2::identity() - gram / greatest;
    let mut m = Vector2::new(rest[(0, 0)].max(0.0).sqrt(), rest[(1, 1)].max(0.0).sqrt());
    if rest[(0, 1)] < 0.0 {
        m.y = -m.y;
    }
    let upper = a * t_z;
    let pose = |sign: f64| {
        let first = Vector3::new(upper[(0, 0)], upper[(1, 0)], sign * m.x).normalize();
        let second = Vector3::new(upper[(0, 1)], upper[(1, 1)], sign * m.y);
        let second = (second - first * first.dot(&second)).normalize();
        let rotation = turn * Matrix3::from_columns(&[first, second, first.cross(&second)]);
        Se3::new(So3::from_matrix_unchecked(rotation), axis * t_z)
    };
    let both = [pose(1.0), pose(-1.0)];
    both.iter().all(|pose| pose.rotation.matrix().iter().all(|x| x.is_finite())).then_some(both)
}

/// The shortest rotation that takes the axis of a camera to a direction before it.
fn shortest(to: &Vector3<f64>) -> Matrix3<f64> {
    let around = Vector3::z().cross(to);
    let sin = around.norm();
    if sin < 1e-12 {
        return Matrix3::identity();
    }
    *So3::exp(&(around * (sin.atan2(to.z) / sin))).matrix()
}

/// The homography from the unit square (0, 0), (1, 0), (1, 1), (0, 1) to four points.
fn homography(p: &[Vector2<f64>; 4]) -> Option<Matrix3<f64>> {
    let (one, two) = (p[1] - p[2], p[3] - p[2]);
    let sum = p[0] - p[1] + p[2] - p[3];
    let determinant = one.perp(&two);
    if determinant.is_nan() || determinant == 0.0 {
        return None;
    }
    let (g, h) = (sum.perp(&two) / determinant, one.perp(&sum) / determinant);
    let (u, v) = (p[1] - p[0] + p[1] * g, p[3] - p[0] + p[3] * h);
    Some(Matrix3::new(u.x, v.x, p[0].x, u.y, v.y, p[0].y, g, h, 1.0))
}
