//! SO(3), the rotations of space, as matrices.
//!
//! Algebra: rotation vectors, ξ ↔ ξ^ with ξ^ x = ξ × x; their length is an angle in radians.

use super::angle::{
    ANGLE_BY_COS_FROM, angle_by_cos, angle_by_sin, dexp_coefficients, dexp_inv_g2, exp_coefficients, theta_minus_sin,
};
use super::{HomogeneousSpace, LieGroup};
use nalgebra::{Matrix3, Rotation3, Vector3};
use serde::{Deserialize, Serialize};
use std::f64::consts::PI;
use std::ops::Mul;

/// cos²(θ/2) at 3 rad, up to where (R − Rᵀ)/2 = sin θ n^, rounded to an ulp of 1, gives the axis to 2 ulp.
const SKEW_PART_ABOVE: f64 = 0.005;

/// Below this square of 4 sin θ, 2.5·10⁻⁴ rad from the half turn, R − Rᵀ is not asked for more than a sign. Were all
/// matrices orthogonal to rounding, it could be 10⁻¹⁴.
const HALF_TURN_BELOW: f64 = 1e-6;

/// A rotation of space. As an attitude it takes vectors from the body frame to the world.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct So3(Matrix3<f64>);

impl Default for So3 {
    fn default() -> Self {
        Self::identity()
    }
}

impl So3 {
    /// The neutral element.
    #[inline]
    pub fn identity() -> Self {
        Self(Matrix3::identity())
    }

    /// Takes a matrix at its word: it must be orthogonal with determinant 1.
    #[inline]
    pub fn from_matrix_unchecked(matrix: Matrix3<f64>) -> Self {
        Self(matrix)
    }

    /// The matrix.
    #[inline]
    pub fn matrix(&self) -> &Matrix3<f64> {
        &self.0
    }

    /// As nalgebra's rotation.
    #[inline]
    pub fn rotation(&self) -> Rotation3<f64> {
        Rotation3::from_matrix_unchecked(self.0)
    }

    /// Rᵀx, from the world to the body.
    #[inline]
    pub fn rotate_back(&self, x: &Vector3<f64>) -> Vector3<f64> {
        self.0.tr_mul(x)
    }

    /// ‖RᵀR − I‖, Frobenius.
    pub fn orthogonality_error(&self) -> f64 {
        (self.0.tr_mul(&self.0) - Matrix3::identity()).norm()
    }
}

impl From<Rotation3<f64>> for So3 {
    #[inline]
    fn from(rotation: Rotation3<f64>) -> Self {
        Self(rotation.into_inner())
    }
}

impl Mul for So3 {
    type Output = Self;
    #[inline]
    fn mul(self, rhs: Self) -> Self {
        Self(self.0 * rhs.0)
    }
}

impl Mul<Vector3<f64>> for So3 {
    type Output = Vector3<f64>;
    #[inline]
    fn mul(self, rhs: Vector3<f64>) -> Vector3<f64> {
        self.0 * rhs
    }
}

/// ξ^, with ξ^ x = ξ × x (Celledoni et al. 2021, (5)).
#[inline]
pub fn hat(xi: &Vector3<f64>) -> Matrix3<f64> {
    Matrix3::new(0.0, -xi.z, xi.y, xi.z, 0.0, -xi.x, -xi.y, xi.x, 0.0)
}

/// The ξ with ξ^ = (M − Mᵀ)/2; of a skew matrix the one it is the hat of.
#[inline]
pub fn vee(m: &Matrix3<f64>) -> Vector3<f64> {
    twice_vee(m) * 0.5
}

#[inline]
fn twice_vee(m: &Matrix3<f64>) -> Vector3<f64> {
    Vector3::new(m.m32 - m.m23, m.m13 - m.m31, m.m21 - m.m12)
}

/// I + a ξ^ + b ξ^².
#[inline]
fn polynomial_of_hat(xi: &Vector3<f64>, a: f64, b: f64) -> Matrix3<f64> {
    let (u, v) = (xi * a, xi * b);
    let (xx, yy, zz) = (v.x * xi.x, v.y * xi.y, v.z * xi.z);
    let (xy, xz, yz) = (v.x * xi.y, v.x * xi.z, v.y * xi.z);
    #[rustfmt::skip]
    let m = Matrix3::new(
        1.0 - (yy + zz), xy - u.z, xz + u.y,
        xy + u.z, 1.0 - (xx + zz), yz - u.x,
        xz - u.y, yz + u.x, 1.0 - (xx + yy),
    );
    m
}

/// η + a ξ×η + b ξ×(ξ×η).
#[inline]
pub(super) fn polynomial_of_ad(xi: &Vector3<f64>, a: f64, b: f64, eta: &Vector3<f64>) -> Vector3<f64> {
    let first = xi.cross(eta);
    eta + first * a + xi.cross(&first) * b
}

/// The logarithm closer to the half turn than R − Rᵀ can tell the axis: R + Rᵀ − 2 cos θ I = 2(1 − cos θ)nnᵀ, of which
/// the longest column gives n up to its sign, and v = 2 sin θ n gives the sign.
#[cold]
fn near_half_turn(m: &Matrix3<f64>, v: &Vector3<f64>, cos: f64) -> Vector3<f64> {
    let (j, _) = m.diagonal().argmax();
    let mut axis = m.column(j) + m.row(j).transpose();
    axis[j] -= 2.0 * cos;
    axis.normalize_mut();
    let sin = 0.5 * axis.dot(v);
    axis * (PI.copysign(sin) - sin * angle_by_sin(0.5 + 0.5 * cos))
}

/// The real and the imaginary part of the unit quaternion of a rotation matrix that has a non-negative greatest
/// component. This is computed first (Shepperd), so that nothing cancels at any angle.
pub(super) fn quaternion_parts(m: &Matrix3<f64>) -> (f64, Vector3<f64>) {
    let trace = m.trace();
    let (i, greatest) = m.diagonal().argmax();
    if trace >= greatest {
        let w = 0.5 * (1.0 + trace).sqrt();
        return (w, vee(m) / (2.0 * w));
    }
    let (j, k) = ((i + 1) % 3, (i + 2) % 3);
    let vi = 0.5 * (1.0 + m[(i, i)] - m[(j, j)] - m[(k, k)]).sqrt();
    let scale = 0.25 / vi;
    let mut v = Vector3::zeros();
    v[i] = vi;
    v[j] = (m[(j, i)] + m[(i, j)]) * scale;
    v[k] = (m[(k, i)] + m[(i, k)]) * scale;
    ((m[(k, j)] - m[(j, k)]) * scale, v)
}

pub(super) fn dexp(xi: &Vector3<f64>, eta: &Vector3<f64>) -> Vector3<f64> {
    let x = xi.norm_squared();
    polynomial_of_ad(xi, exp_coefficients(x).1, theta_minus_sin(x), eta)
}

pub(super) fn dexp_inv(xi: &Vector3<f64>, eta: &Vector3<f64>) -> Vector3<f64> {
    polynomial_of_ad(xi, -0.5, dexp_inv_g2(xi.norm_squared()), eta)
}

/// Of μ·(g₁ ξ×η + g₂ ξ×(ξ×η)), g₁ and g₂ being functions of |ξ|.
pub(super) fn dexp_gradient(xi: &Vector3<f64>, eta: &Vector3<f64>, mu: &Vector3<f64>) -> Vector3<f64> {
    let g = dexp_coefficients(xi.norm_squared());
    let first = xi.cross(eta);
    let along = g.dg1 * mu.dot(&first) + g.dg2 * mu.dot(&xi.cross(&first));
    eta.cross(mu) * g.g1 + (first.cross(mu) + eta.cross(&mu.cross(xi))) * g.g2 + xi * along
}

/// The maps of the algebra alone, which rotation matrices and unit quaternions have in common.
macro_rules! maps_of_rotation_vectors {
    () => {
        fn dexp(xi: &Vector3<f64>, eta: &Vector3<f64>) -> Vector3<f64> {
            crate::so3::dexp(xi, eta)
        }
        fn dexp_inv(xi: &Vector3<f64>, eta: &Vector3<f64>) -> Vector3<f64> {
            crate::so3::dexp_inv(xi, eta)
        }
        fn dexp_dual(xi: &Vector3<f64>, mu: &Vector3<f64>) -> Vector3<f64> {
            crate::so3::dexp(&-xi, mu)
        }
        fn dexp_inv_dual(xi: &Vector3<f64>, mu: &Vector3<f64>) -> Vector3<f64> {
            crate::so3::dexp_inv(&-xi, mu)
        }
        fn dexp_gradient(xi: &Vector3<f64>, eta: &Vector3<f64>, mu: &Vector3<f64>) -> Vector3<f64> {
            crate::so3::dexp_gradient(xi, eta, mu)
        }
        /// ξ × η.
        fn ad(xi: &Vector3<f64>, eta: &Vector3<f64>) -> Vector3<f64> {
            xi.cross(eta)
        }
        /// μ × ξ.
        fn coad(xi: &Vector3<f64>, mu: &Vector3<f64>) -> Vector3<f64> {
            mu.cross(xi)
        }
    };
}
pub(super) use maps_of_rotation_vectors;

/// All in closed form. dexp = I + (1 − cos θ)/θ² ξ^ + (θ − sin θ)/θ³ ξ^², θ = |ξ|;
/// dexp⁻¹ = I − ξ^/2 + (1 − (θ/2) cot(θ/2))/θ² ξ^², singular at θ = 2π (Celledoni et al. 2021, section 2.2).
impl LieGroup for So3 {
    type Algebra = Vector3<f64>;

    #[inline]
    fn identity_like(&self) -> Self {
        Self::identity()
    }
    #[inline]
    fn compose(&self, other: &Self) -> Self {
        Self(self.0 * other.0)
    }
    #[inline]
    fn inverse(&self) -> Self {
        Self(self.0.transpose())
    }
    /// Rodrigues: I + sin θ/θ ξ^ + (1 − cos θ)/θ² ξ^².
    #[inline]
    fn exp(xi: &Vector3<f64>) -> Self {
        let (a, b) = exp_coefficients(xi.norm_squared());
        Self(polynomial_of_hat(xi, a, b))
    }
    /// ξ = θ/sin θ · (R − Rᵀ)^∨/2, with θ/sin θ from w = cos(θ/2) up to 135°, and from w² beyond. From about 3 rad on
    /// rounding begins to turn R − Rᵀ away from the axis n; R − cos θ I, whose symmetric part is (1 − cos θ)nnᵀ and
    /// whose skew part takes it to nothing, turns it back.
    #[inline]
    fn log(&self) -> Vector3<f64> {
        let m = &self.0;
        let (v, square) = (twice_vee(m), 0.25 + 0.25 * (m.m11 + m.m22 + m.m33));
        if square > ANGLE_BY_COS_FROM * ANGLE_BY_COS_FROM {
            let w = square.sqrt();
            let [numerator, denominator] = angle_by_cos(w, square);
            return v * (numerator / ((w + w) * denominator));
        }
        let from_half_turn = 0.5 * angle_by_sin(square);
        if square > SKEW_PART_ABOVE {
            return v * (PI / v.norm_squared().sqrt() - from_half_turn);
        }
        let cos = 2.0 * square - 1.0;
        let along = m * v - v * cos;
        let longer = along.norm_squared();
        if longer < HALF_TURN_BELOW {
            return near_half_turn(m, &v, cos);
        }
        along * (PI / longer.sqrt() - from_half_turn / (1.0 - cos))
    }
    /// I + 4/(4 + |ξ|²) (ξ^ + ξ^²/2).
    #[inline]
    fn cayley(xi: &Vector3<f64>) -> Self {
        let a = 4.0 / (4.0 + xi.norm_squared());
        Self(polynomial_of_hat(xi, a, 0.5 * a))
    }
    /// 2v/w of the quaternion.
    fn cayley_inv(&self) -> Vector3<f64> {
        let (w, v) = quaternion_parts(&self.0);
        v * (2.0 / w)
    }
    maps_of_rotation_vectors!();
    /// Rξ.
    #[inline]
    fn adjoint_apply(&self, xi: &Vector3<f64>) -> Vector3<f64> {
        self.0 * xi
    }
    /// Rᵀμ.
    #[inline]
    fn coadjoint_apply(&self, mu: &Vector3<f64>) -> Vector3<f64> {
        self.rotate_back(mu)
    }
}

/// By multiplication from the left.
impl HomogeneousSpace for So3 {
    type Group = Self;

    #[inline]
    fn moved_by(&self, g: &Self) -> Self {
        g.compose(self)
    }
    fn distance(&self, other: &Self) -> f64 {
        (self.0 - other.0).norm()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Quat;
    use proptest::prelude::*;

    /// Angles from nothing to half a turn, close to both ends too.
    fn angle() -> impl Strategy<Value = f64> {
        prop_oneof![
            (-18.0..0.0f64).prop_map(|k| 10f64.powf(k)),
            0.0..PI,
            (-16.0..-1.0f64).prop_map(|k| PI - 10f64.powf(k)),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(500))]
        /// Relative to the vector where it is small, so that nothing is lost at zero.
        #[test]
        fn exp_and_log_are_good_to_a_few_ulp_at_all_angles(theta in angle(), axis in prop::array::uniform3(-1.0..1.0f64)) {
            prop_assume!(Vector3::from(axis).norm() > 1e-3);
            let xi = Vector3::from(axis).normalize() * theta;
            let (turn, quaternion) = (So3::exp(&xi), Quat::exp(&xi));
            prop_assert!(turn.orthogonality_error() < 4e-15, "{:e}", turn.orthogonality_error());
            prop_assert!((turn.matrix() - quaternion.to_so3().matrix()).norm() < 6e-15); // nine entries of some ulp
            for log in [turn.log(), quaternion.log(), Quat::from(turn).shortest().log()] {
                // What a matrix near I + ξ^ or a half turn can hold: entries to an ulp of 1.
                let error = (log - xi).norm().min(if PI - theta < 1e-14 { (log + xi).norm() } else { f64::MAX });
                prop_assert!(error < 1e-15 * theta.max(1e-16) * 4.0, "{theta} {error:e}");
            }
        }
    }

    /// Where it does not cancel: the length of R − Rᵀ and an arccosine.
    #[test]
    fn the_logarithm_is_that_of_the_plain_formula() {
        for k in 0..2000 {
            let t = f64::from(k);
            let direction = Vector3::new((1.3 * t).sin(), (0.7 * t).cos(), (2.1 * t).sin()).normalize();
            let turn = So3::exp(&(direction * (0.1 + 0.0015 * t)));
            let angle = (0.5 * (turn.matrix().trace() - 1.0)).acos();
            let plain = vee(turn.matrix()).normalize() * angle;
            let error = (turn.log() - plain).norm();
            assert!(error < 1e-15 * (1.0 + angle) / angle.sin(), "{error:e} at {angle}");
        }
    }

    #[test]
    fn the_inverse_cayley_map_is_that_of_the_quaternion_to_the_bit() {
        for k in 0..2000 {
            let t = f64::from(k);
            let direction = Vector3::new((1.3 * t).sin(), (0.7 * t).cos(), (2.1 * t).sin()).normalize();
            let turn = So3::exp(&(direction * (0.0015 * t)));
            assert_eq!(turn.cayley_inv(), Quat::from(turn).cayley_inv());
        }
    }

    #[test]
    fn half_turns_have_a_logarithm() {
        for axis in [Vector3::x(), Vector3::y(), -Vector3::z(), Vector3::new(1.0, -2.0, 2.0) / 3.0] {
            let turn = So3::from_matrix_unchecked(axis * axis.transpose() * 2.0 - Matrix3::identity());
            assert!((turn.log().norm() - PI).abs() < 1e-15 && turn.log().cross(&axis).norm() < 1e-15);
        }
    }
}
