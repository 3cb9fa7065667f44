//! SO(2), the rotations of the plane. The algebra is the angle, in radians.

use super::{HomogeneousSpace, LieGroup};
use nalgebra::UnitComplex;

/// A rotation of the plane.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct So2(pub UnitComplex<f64>);

impl LieGroup for So2 {
    type Algebra = f64;

    fn identity_like(&self) -> Self {
        Self(UnitComplex::identity())
    }
    fn compose(&self, other: &Self) -> Self {
        Self(self.0 * other.0)
    }
    fn inverse(&self) -> Self {
        Self(self.0.inverse())
    }
    fn exp(xi: &f64) -> Self {
        Self(UnitComplex::new(*xi))
    }
    fn log(&self) -> f64 {
        self.0.angle()
    }
    /// By 2 atan(ξ/2).
    fn cayley(xi: &f64) -> Self {
        Self::exp(&(2.0 * (0.5 * xi).atan()))
    }
    fn cayley_inv(&self) -> f64 {
        2.0 * (0.5 * self.log()).tan()
    }
    fn dexp(_: &f64, eta: &f64) -> f64 {
        *eta
    }
    fn dexp_inv(_: &f64, eta: &f64) -> f64 {
        *eta
    }
    fn dexp_dual(_: &f64, mu: &f64) -> f64 {
        *mu
    }
    fn dexp_inv_dual(_: &f64, mu: &f64) -> f64 {
        *mu
    }
    fn ad(_: &f64, _: &f64) -> f64 {
        0.0
    }
    fn coad(_: &f64, _: &f64) -> f64 {
        0.0
    }
    fn adjoint_apply(&self, xi: &f64) -> f64 {
        *xi
    }
    fn coadjoint_apply(&self, mu: &f64) -> f64 {
        *mu
    }
}

/// By multiplication from the left.
impl HomogeneousSpace for So2 {
    type Group = Self;

    fn moved_by(&self, g: &Self) -> Self {
        g.compose(self)
    }
    fn distance(&self, other: &Self) -> f64 {
        (self.0.into_inner() - other.0.into_inner()).norm()
    }
}
