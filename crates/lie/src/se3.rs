//! SE(3), the rigid motions of space.
//!
//! Algebra: (A, a), the angular part first, as in Celledoni et al. 2021, section 2.3; ((A, a)^ is the 4 × 4 matrix
//! [[A^, a], [0, 0]]). The dual is (Π, Γ) in the same order.

use super::angle::{AdFunction, dexp_coefficients, dexp_inv_coefficients};
use super::so3::polynomial_of_ad;
use super::{HomogeneousSpace, LieGroup, So3};
use nalgebra::{Vector3, Vector6};
use serde::{Deserialize, Serialize};
use std::ops::Mul;

/// x ↦ R x + t.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Se3 {
    /// R.
    pub rotation: So3,
    /// t.
    pub translation: Vector3<f64>,
}

impl Se3 {
    /// From its two parts.
    pub fn new(rotation: So3, translation: Vector3<f64>) -> Self {
        Self { rotation, translation }
    }

    /// The neutral element.
    pub fn identity() -> Self {
        Self::default()
    }

    /// R x + t.
    pub fn transform(&self, x: &Vector3<f64>) -> Vector3<f64> {
        self.rotation * *x + self.translation
    }
}

impl Mul for Se3 {
    type Output = Self;
    fn mul(self, rhs: Self) -> Self {
        self.compose(&rhs)
    }
}

/// The angular and the linear part of (A, a).
#[inline]
pub fn split(xi: &Vector6<f64>) -> (Vector3<f64>, Vector3<f64>) {
    (xi.fixed_rows::<3>(0).into_owned(), xi.fixed_rows::<3>(3).into_owned())
}

/// (A, a) of its parts.
#[inline]
pub fn join(angular: &Vector3<f64>, linear: &Vector3<f64>) -> Vector6<f64> {
    Vector6::new(angular.x, angular.y, angular.z, linear.x, linear.y, linear.z)
}

/// φ(ad_(A,a))(B, b), φ(0) = 1, by the formula of Celledoni et al. 2021, section 2.3.
fn apply(g: &AdFunction, xi: &Vector6<f64>, eta: &Vector6<f64>) -> Vector6<f64> {
    let ((big_a, a), (big_b, b)) = (split(xi), split(eta));
    let angular = polynomial_of_ad(&big_a, g.g1, g.g2, &big_b);
    join(&angular, &(polynomial_of_ad(&big_a, g.g1, g.g2, &b) + coupling(g, &big_a, &a, &big_b)))
}

/// Its transpose, on duals. In blocks [[L, 0], [K, L]] of the map, L and K turn into theirs where g₁ and g̃₁ change
/// sign, for A^ is skew.
fn apply_dual(g: &AdFunction, xi: &Vector6<f64>, mu: &Vector6<f64>) -> Vector6<f64> {
    let ((big_a, a), (m, n)) = (split(xi), split(mu));
    let g = AdFunction { g1: -g.g1, dg1: -g.dg1, ..*g };
    let angular = polynomial_of_ad(&big_a, g.g1, g.g2, &m) + coupling(&g, &big_a, &a, &n);
    join(&angular, &polynomial_of_ad(&big_a, g.g1, g.g2, &n))
}

/// K B = g₁ a×B + g₂ (a×(A×B) + A×(a×B)) + ρ (g̃₁ A×B + g̃₂ A×(A×B)), ρ = A·a.
fn coupling(g: &AdFunction, big_a: &Vector3<f64>, a: &Vector3<f64>, b: &Vector3<f64>) -> Vector3<f64> {
    let rho = big_a.dot(a);
    let (ab, big_ab) = (a.cross(b), big_a.cross(b));
    ab * g.g1 + (a.cross(&big_ab) + big_a.cross(&ab)) * g.g2 + (big_ab * g.dg1 + big_a.cross(&big_ab) * g.dg2) * rho
}

fn angle_squared(xi: &Vector6<f64>) -> f64 {
    xi.fixed_rows::<3>(0).norm_squared()
}

/// All in closed form; dexp⁻¹ and log are singular where the angle is 2π.
impl LieGroup for Se3 {
    type Algebra = Vector6<f64>;

    fn identity_like(&self) -> Self {
        Self::identity()
    }
    fn compose(&self, other: &Self) -> Self {
        Self::new(self.rotation * other.rotation, self.transform(&other.translation))
    }
    fn inverse(&self) -> Self {
        Self::new(self.rotation.inverse(), -self.rotation.rotate_back(&self.translation))
    }
    /// (exp A, dexp_A a).
    fn exp(xi: &Vector6<f64>) -> Self {
        let (angular, linear) = split(xi);
        Self::new(So3::exp(&angular), So3::dexp(&angular, &linear))
    }
    /// A = log R, a = dexp_A⁻¹ t.
    fn log(&self) -> Vector6<f64> {
        let angular = self.rotation.log();
        join(&angular, &So3::dexp_inv(&angular, &self.translation))
    }
    /// (cay A, (I − A^/2)⁻¹a), where (I − A^/2)⁻¹ = (I + cay A)/2.
    fn cayley(xi: &Vector6<f64>) -> Self {
        let (angular, linear) = split(xi);
        let rotation = So3::cayley(&angular);
        Self::new(rotation, (linear + rotation * linear) * 0.5)
    }
    fn cayley_inv(&self) -> Vector6<f64> {
        let angular = self.rotation.cayley_inv();
        join(&angular, &(self.translation - angular.cross(&self.translation) * 0.5))
    }
    fn dexp(xi: &Vector6<f64>, eta: &Vector6<f64>) -> Vector6<f64> {
        apply(&dexp_coefficients(angle_squared(xi)), xi, eta)
    }
    fn dexp_inv(xi: &Vector6<f64>, eta: &Vector6<f64>) -> Vector6<f64> {
        apply(&dexp_inv_coefficients(angle_squared(xi)), xi, eta)
    }
    fn dexp_dual(xi: &Vector6<f64>, mu: &Vector6<f64>) -> Vector6<f64> {
        apply_dual(&dexp_coefficients(angle_squared(xi)), xi, mu)
    }
    fn dexp_inv_dual(xi: &Vector6<f64>, mu: &Vector6<f64>) -> Vector6<f64> {
        apply_dual(&dexp_inv_coefficients(angle_squared(xi)), xi, mu)
    }
    /// (A×B, A×b + a×B).
    fn ad(xi: &Vector6<f64>, eta: &Vector6<f64>) -> Vector6<f64> {
        let ((big_a, a), (big_b, b)) = (split(xi), split(eta));
        join(&big_a.cross(&big_b), &(big_a.cross(&b) + a.cross(&big_b)))
    }
    /// (Π×A + Γ×a, Γ×A).
    fn coad(xi: &Vector6<f64>, mu: &Vector6<f64>) -> Vector6<f64> {
        let ((big_a, a), (m, n)) = (split(xi), split(mu));
        join(&(m.cross(&big_a) + n.cross(&a)), &n.cross(&big_a))
    }
    /// (RB, Rb + t×RB).
    fn adjoint_apply(&self, xi: &Vector6<f64>) -> Vector6<f64> {
        let (angular, linear) = split(xi);
        let turned = self.rotation * angular;
        join(&turned, &(self.rotation * linear + self.translation.cross(&turned)))
    }
    /// (Rᵀ(Π − t×Γ), RᵀΓ).
    fn coadjoint_apply(&self, mu: &Vector6<f64>) -> Vector6<f64> {
        let (m, n) = split(mu);
        join(&self.rotation.rotate_back(&(m - self.translation.cross(&n))), &self.rotation.rotate_back(&n))
    }
}

/// By multiplication from the left.
impl HomogeneousSpace for Se3 {
    type Group = Self;

    fn moved_by(&self, g: &Self) -> Self {
        g.compose(self)
    }
    fn distance(&self, other: &Self) -> f64 {
        self.rotation.distance(&other.rotation).hypot((self.translation - other.translation).norm())
    }
}
