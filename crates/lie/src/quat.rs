//! The unit quaternions S³, the double cover of SO(3).
//!
//! Algebra: rotation vectors as of [`So3`], so exp(ξ) = (cos θ/2, sin θ/2 · ξ/θ), θ = |ξ|, and everything but
//! exp, log and the group itself is that of SO(3).

use super::angle::{ANGLE_BY_COS_FROM, angle_by_cos, angle_by_sin, half_angle};
use super::so3::{maps_of_rotation_vectors, quaternion_parts};
use super::{HomogeneousSpace, LieGroup, So3};
use nalgebra::{Quaternion, UnitQuaternion, Vector3};
use std::f64::consts::{FRAC_1_SQRT_2, PI, TAU};
use std::ops::Mul;

/// A unit quaternion; q and −q are two elements that rotate alike.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quat(UnitQuaternion<f64>);

impl Default for Quat {
    fn default() -> Self {
        Self::identity()
    }
}

impl Quat {
    /// The neutral element.
    #[inline]
    pub fn identity() -> Self {
        Self(UnitQuaternion::identity())
    }

    /// From real and imaginary part, not checked: w² + |v|² must be 1.
    #[inline]
    pub fn from_parts_unchecked(w: f64, v: Vector3<f64>) -> Self {
        Self(UnitQuaternion::new_unchecked(Quaternion::from_parts(w, v)))
    }

    /// The real part, cos θ/2.
    #[inline]
    pub fn w(&self) -> f64 {
        self.0.as_ref().w
    }

    /// The imaginary part, sin θ/2 times the axis.
    #[inline]
    pub fn v(&self) -> Vector3<f64> {
        self.0.as_ref().imag()
    }

    /// As nalgebra's.
    #[inline]
    pub fn unit_quaternion(&self) -> UnitQuaternion<f64> {
        self.0
    }

    /// Of q and −q the one whose logarithm is not longer than π.
    #[inline]
    pub fn shortest(&self) -> Self {
        if self.w() < 0.0 { Self(UnitQuaternion::new_unchecked(-self.0.into_inner())) } else { *self }
    }

    /// As a rotation matrix.
    pub fn to_so3(&self) -> So3 {
        So3::from_matrix_unchecked(self.0.to_rotation_matrix().into_inner())
    }

    /// exp(u + w) exp(u − w), of which no factor is made: both lengths and the product of both vectors come of |u|²,
    /// |w|² and u·w.
    // Inlined always: it is called in the innermost loop of integrators.
    #[inline(always)]
    pub fn exp_of_sum_and_difference(u: &Vector3<f64>, w: &Vector3<f64>) -> Self {
        let (uu, ww, twice_uw) = (u.norm_squared(), w.norm_squared(), 2.0 * u.dot(w));
        let (sin1, cos1) = half_angle(uu + ww + twice_uw);
        let (sin2, cos2) = half_angle(uu + ww - twice_uw);
        let (first, second, both) = (sin1 * cos2, sin2 * cos1, sin1 * sin2);
        let v = u * (first + second) + w * (first - second) + w.cross(u) * (both + both);
        Self::from_parts_unchecked(cos1 * cos2 - both * (uu - ww), v)
    }

    /// Scaled to norm one again, after the rounding errors of many products.
    pub fn renormalized(&self) -> Self {
        Self(UnitQuaternion::new_normalize(self.0.into_inner()))
    }
}

impl From<UnitQuaternion<f64>> for Quat {
    #[inline]
    fn from(q: UnitQuaternion<f64>) -> Self {
        Self(q)
    }
}

/// The one with non-negative greatest component.
impl From<So3> for Quat {
    fn from(rotation: So3) -> Self {
        let (w, v) = quaternion_parts(rotation.matrix());
        Self::from_parts_unchecked(w, v)
    }
}

impl Mul for Quat {
    type Output = Self;
    #[inline]
    fn mul(self, rhs: Self) -> Self {
        Self(self.0 * rhs.0)
    }
}

impl Mul<Vector3<f64>> for Quat {
    type Output = Vector3<f64>;
    #[inline]
    fn mul(self, rhs: Vector3<f64>) -> Vector3<f64> {
        self.0 * rhs
    }
}

impl LieGroup for Quat {
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
        Self(self.0.inverse())
    }
    #[inline]
    fn exp(xi: &Vector3<f64>) -> Self {
        let (sin, cos) = half_angle(xi.norm_squared());
        Self::from_parts_unchecked(cos, xi * sin)
    }
    /// The logarithm of the double cover, of length up to 2π, with exp(log q) = q. Take [`Self::shortest`] first for
    /// the rotation vector. The logarithm of −1 is a full turn about x.
    #[inline]
    fn log(&self) -> Vector3<f64> {
        let (v, cos) = (self.v(), self.w());
        if cos > ANGLE_BY_COS_FROM {
            let [numerator, denominator] = angle_by_cos(cos, cos * cos);
            return v * ((numerator + numerator) / denominator);
        }
        let sin = v.norm_squared().sqrt();
        if cos > -FRAC_1_SQRT_2 {
            return v * ((PI - 2.0 * cos * angle_by_sin(0.5 - 0.5 * sin)) / sin);
        }
        if sin == 0.0 {
            return Vector3::x() * TAU;
        }
        v * (TAU / sin - 2.0 * angle_by_sin(0.5 + 0.5 * cos))
    }
    /// (2, ξ)/√(4 + |ξ|²).
    #[inline]
    fn cayley(xi: &Vector3<f64>) -> Self {
        let w = 2.0 / (4.0 + xi.norm_squared()).sqrt();
        Self::from_parts_unchecked(w, xi * (0.5 * w))
    }
    /// 2v/w; of the rotation, so of q and −q alike.
    fn cayley_inv(&self) -> Vector3<f64> {
        self.v() * (2.0 / self.w())
    }
    maps_of_rotation_vectors!();
    #[inline]
    fn adjoint_apply(&self, xi: &Vector3<f64>) -> Vector3<f64> {
        self.0 * xi
    }
    #[inline]
    fn coadjoint_apply(&self, mu: &Vector3<f64>) -> Vector3<f64> {
        self.0.inverse() * mu
    }
}

/// By multiplication from the left.
impl HomogeneousSpace for Quat {
    type Group = Self;

    #[inline]
    fn moved_by(&self, g: &Self) -> Self {
        g.compose(self)
    }
    fn distance(&self, other: &Self) -> f64 {
        (self.0.as_ref() - other.0.as_ref()).norm()
    }
}
