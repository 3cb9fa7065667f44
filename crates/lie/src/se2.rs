//! SE(2), the rigid motions of the plane, and the few maps of SO(2) it needs.
//!
//! Conventions: an element is (p, θ) and acts by x ↦ R(θ)x + p; a tangent vector is (u, a) with u the linear and a the
//! angular part, in this order everywhere.

use super::angle::{exp_coefficients, theta_minus_sin};
use super::{HomogeneousSpace, LieGroup};
use nalgebra::{Matrix2, Matrix3, Vector2, Vector3};
use serde::{Deserialize, Serialize};
use std::f64::consts::{PI, TAU};
use std::ops::Mul;

/// A pose: position in metres, heading in radians, both in the parent frame (REP 103: x forward, y left, z up).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Se2 {
    /// Position in the parent frame, m.
    pub p: Vector2<f64>,
    /// Heading, rad. Not wrapped: a run of many turns keeps counting, so differences stay continuous.
    pub theta: f64,
}

impl Default for Se2 {
    fn default() -> Self {
        Self::identity()
    }
}

impl Se2 {
    /// From position (m) and heading (rad).
    pub fn new(x: f64, y: f64, theta: f64) -> Self {
        Self { p: Vector2::new(x, y), theta }
    }

    /// The neutral element.
    pub fn identity() -> Self {
        Self::new(0.0, 0.0, 0.0)
    }

    /// Exp(u, a) = (V(a)u, a).
    #[inline]
    pub fn exp(xi: &Vector3<f64>) -> Self {
        Self { p: v_matrix(xi.z) * xi.xy(), theta: xi.z }
    }

    /// The tangent vector (u, a), a in (−π, π], with Exp(u, a) = self.
    pub fn log(&self) -> Vector3<f64> {
        let a = wrap_angle(self.theta);
        let u = v_matrix_inverse(a) * self.p;
        Vector3::new(u.x, u.y, a)
    }

    /// J_l with Exp(ξ + δ) = Exp(J_l(ξ)δ + O(δ²)) Exp(ξ): [[V(a), (I − V(a))u/a], [0, 1]], ξ = (u, a).
    pub fn left_jacobian(xi: &Vector3<f64>) -> Matrix3<f64> {
        let (u, a) = (xi.xy(), xi.z);
        let (v, column) = (v_matrix(a), lever(&u, a));
        Matrix3::new(v[(0, 0)], v[(0, 1)], column.x, v[(1, 0)], v[(1, 1)], column.y, 0.0, 0.0, 1.0)
    }

    /// The inverse motion.
    #[inline]
    pub fn inverse(&self) -> Self {
        Self { p: -self.rotate_back(&self.p), theta: -self.theta }
    }

    /// R(θ).
    #[inline]
    pub fn rotation(&self) -> Matrix2<f64> {
        rotation(self.theta)
    }

    /// From the body frame to the parent frame: R(θ)x + p.
    #[inline]
    pub fn transform(&self, x: &Vector2<f64>) -> Vector2<f64> {
        self.p + self.rotation() * x
    }

    /// From the parent frame to the body frame: R(θ)ᵀ(x − p).
    #[inline]
    pub fn transform_back(&self, x: &Vector2<f64>) -> Vector2<f64> {
        self.rotate_back(&(x - self.p))
    }

    #[inline]
    fn rotate_back(&self, x: &Vector2<f64>) -> Vector2<f64> {
        let (s, c) = self.theta.sin_cos();
        Vector2::new(c * x.x + s * x.y, c * x.y - s * x.x)
    }

    /// Ad with Ad·ξ = (X Exp(ξ) X⁻¹)^∨: [[R, −Jp], [0, 1]].
    pub fn adjoint(&self) -> Matrix3<f64> {
        let (s, c) = self.theta.sin_cos();
        Matrix3::new(c, -s, self.p.y, s, c, -self.p.x, 0.0, 0.0, 1.0)
    }
}

/// Composition: first `rhs`, then `self`, as motions of points.
impl Mul for Se2 {
    type Output = Self;
    // Angles add where motions compose.
    #[allow(clippy::suspicious_arithmetic_impl)]
    #[inline]
    fn mul(self, rhs: Self) -> Self {
        Self { p: self.transform(&rhs.p), theta: self.theta + rhs.theta }
    }
}

/// R(θ) = [[cos θ, −sin θ], [sin θ, cos θ]].
#[inline]
pub fn rotation(theta: f64) -> Matrix2<f64> {
    let (s, c) = theta.sin_cos();
    Matrix2::new(c, -s, s, c)
}

/// Jx, J = [[0, −1], [1, 0]]: x turned left by a right angle.
#[inline]
pub fn skew(x: &Vector2<f64>) -> Vector2<f64> {
    Vector2::new(-x.y, x.x)
}

/// V(a) = [[sin a, −(1 − cos a)], [1 − cos a, sin a]]/a, V(0) = I.
#[inline]
pub fn v_matrix(a: f64) -> Matrix2<f64> {
    let (s, c) = exp_coefficients(a * a);
    Matrix2::new(s, -a * c, a * c, s)
}

/// V(a)⁻¹ = [[c, a/2], [−a/2, c]] with c = (a/2) cot(a/2); singular at a full turn.
fn v_matrix_inverse(a: f64) -> Matrix2<f64> {
    let half = 0.5 * a;
    let c = if half == 0.0 { 1.0 } else { half / half.tan() };
    Matrix2::new(c, half, -half, c)
}

/// (I − V(a))u/a = [[p, q], [−q, p]]u with p = (a − sin a)/a², q = (1 − cos a)/a².
fn lever(u: &Vector2<f64>, a: f64) -> Vector2<f64> {
    let (p, q) = (a * theta_minus_sin(a * a), exp_coefficients(a * a).1);
    Vector2::new(p * u.x + q * u.y, p * u.y - q * u.x)
}

fn join(u: Vector2<f64>, a: f64) -> Vector3<f64> {
    Vector3::new(u.x, u.y, a)
}

impl LieGroup for Se2 {
    type Algebra = Vector3<f64>;

    fn identity_like(&self) -> Self {
        Self::identity()
    }
    fn compose(&self, other: &Self) -> Self {
        *self * *other
    }
    fn inverse(&self) -> Self {
        self.inverse()
    }
    fn exp(xi: &Vector3<f64>) -> Self {
        Self::exp(xi)
    }
    fn log(&self) -> Vector3<f64> {
        self.log()
    }
    /// θ = 2 atan(a/2), p = (I − aJ/2)⁻¹u = (I + R(θ))u/2.
    fn cayley(xi: &Vector3<f64>) -> Self {
        let theta = 2.0 * (0.5 * xi.z).atan();
        Self { p: (xi.xy() + rotation(theta) * xi.xy()) * 0.5, theta }
    }
    fn cayley_inv(&self) -> Vector3<f64> {
        let half = (0.5 * self.theta).tan();
        join(self.p - skew(&self.p) * half, 2.0 * half)
    }
    fn dexp(xi: &Vector3<f64>, eta: &Vector3<f64>) -> Vector3<f64> {
        Self::left_jacobian(xi) * eta
    }
    /// (V(a)⁻¹(w − b(I − V(a))u/a), b) of η = (w, b).
    fn dexp_inv(xi: &Vector3<f64>, eta: &Vector3<f64>) -> Vector3<f64> {
        join(v_matrix_inverse(xi.z) * (eta.xy() - lever(&xi.xy(), xi.z) * eta.z), eta.z)
    }
    fn dexp_dual(xi: &Vector3<f64>, mu: &Vector3<f64>) -> Vector3<f64> {
        Self::left_jacobian(xi).tr_mul(mu)
    }
    fn dexp_inv_dual(xi: &Vector3<f64>, mu: &Vector3<f64>) -> Vector3<f64> {
        let m = v_matrix_inverse(-xi.z) * mu.xy();
        join(m, mu.z - lever(&xi.xy(), xi.z).dot(&m))
    }
    /// (aJw − bJu, 0) of ξ = (u, a), η = (w, b).
    fn ad(xi: &Vector3<f64>, eta: &Vector3<f64>) -> Vector3<f64> {
        join(skew(&eta.xy()) * xi.z - skew(&xi.xy()) * eta.z, 0.0)
    }
    /// (−aJm, −m·Ju) of μ = (m, n).
    fn coad(xi: &Vector3<f64>, mu: &Vector3<f64>) -> Vector3<f64> {
        join(skew(&mu.xy()) * -xi.z, -mu.xy().dot(&skew(&xi.xy())))
    }
    fn adjoint_apply(&self, xi: &Vector3<f64>) -> Vector3<f64> {
        self.adjoint() * xi
    }
    fn coadjoint_apply(&self, mu: &Vector3<f64>) -> Vector3<f64> {
        self.adjoint().tr_mul(mu)
    }
}

/// By multiplication from the left; the distance does not see whole turns.
impl HomogeneousSpace for Se2 {
    type Group = Self;

    fn moved_by(&self, g: &Self) -> Self {
        *g * *self
    }
    fn distance(&self, other: &Self) -> f64 {
        (self.rotation() - other.rotation()).norm().hypot((self.p - other.p).norm())
    }
}

/// The same angle in (−π, π]. Not-a-number stays so.
#[inline]
pub fn wrap_angle(a: f64) -> f64 {
    if a > -PI && a <= PI {
        return a;
    }
    let r = a.rem_euclid(TAU);
    if r > PI { r - TAU } else { r }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn pose() -> impl Strategy<Value = Se2> {
        (-50.0..50.0f64, -50.0..50.0f64, -3.1..3.1f64).prop_map(|(x, y, t)| Se2::new(x, y, t))
    }

    fn close(a: Se2, b: Se2) -> bool {
        (a.p - b.p).norm() < 1e-11 && wrap_angle(a.theta - b.theta).abs() < 1e-13
    }

    proptest! {
        #[test]
        fn composition_is_associative(a in pose(), b in pose(), c in pose()) {
            prop_assert!(close((a * b) * c, a * (b * c)));
        }

        #[test]
        fn the_inverse_undoes(a in pose()) {
            prop_assert!(close(a * a.inverse(), Se2::identity()));
        }

        #[test]
        fn exp_undoes_log(a in pose()) {
            prop_assert!(close(Se2::exp(&a.log()), a));
        }

        #[test]
        fn the_adjoint_moves_exponents_across(a in pose(), u in -1.0..1.0f64, v in -1.0..1.0f64, w in -1.0..1.0f64) {
            let xi = Vector3::new(u, v, w);
            prop_assert!(close(a * Se2::exp(&xi), Se2::exp(&(a.adjoint() * xi)) * a));
        }

        #[test]
        fn the_left_jacobian_against_finite_differences(u in -3.0..3.0f64, v in -3.0..3.0f64, a in -3.0..3.0f64, small in -2e-4..2e-4f64) {
            for a in [a, small] {
                let xi = Vector3::new(u, v, a);
                let back = Se2::exp(&xi).inverse();
                let jacobian = Se2::left_jacobian(&xi);
                for k in 0..3 {
                    let at = |h: f64| {
                        let mut moved = xi;
                        moved[k] += h;
                        (Se2::exp(&moved) * back).log()
                    };
                    let numeric = (at(1e-6) - at(-1e-6)) / 2e-6;
                    prop_assert!((numeric - jacobian.column(k)).norm() < 1e-8, "{a} {k} {numeric} {jacobian}");
                }
            }
        }

        #[test]
        fn v_is_smooth_through_zero(a in -2e-4..2e-4f64) {
            let series = Matrix2::new(1.0 - a * a / 6.0, -0.5 * a, 0.5 * a, 1.0 - a * a / 6.0);
            prop_assert!((v_matrix(a) - series).norm() < 1e-11);
        }

        #[test]
        fn wrapping_keeps_the_direction(a in -100.0..100.0f64) {
            let w = wrap_angle(a);
            prop_assert!(w > -PI && w <= PI && ((w - a) / TAU - ((w - a) / TAU).round()).abs() < 1e-12);
        }
    }
}
