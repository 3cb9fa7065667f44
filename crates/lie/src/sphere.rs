//! The unit sphere S² with its action of SO(3), and its tangent bundle TS² with the action of SE(3).

use super::se3::split;
use super::{HomogeneousSpace, Se3, So3};
use nalgebra::{Unit, Vector3, Vector6};

/// A direction in space.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct S2(pub Unit<Vector3<f64>>);

impl S2 {
    /// From a vector that is not zero, scaled to length one.
    pub fn new(direction: Vector3<f64>) -> Self {
        Self(Unit::new_normalize(direction))
    }

    /// d/dt|₀ exp(tξ)·q = ξ × q.
    pub fn velocity(&self, xi: &Vector3<f64>) -> Vector3<f64> {
        xi.cross(&self.0)
    }
}

/// R·q = Rq.
impl HomogeneousSpace for S2 {
    type Group = So3;

    fn moved_by(&self, g: &So3) -> Self {
        Self(Unit::new_unchecked(*g * self.0.into_inner()))
    }
    fn distance(&self, other: &Self) -> f64 {
        (self.0.as_ref() - other.0.as_ref()).norm()
    }
}

/// A direction that turns: q on the sphere and the ω ⊥ q with q̇ = ω × q, which stands for the tangent vector q̇.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ts2 {
    /// The direction, |q| = 1.
    pub q: Vector3<f64>,
    /// Its angular velocity, q·ω = 0.
    pub omega: Vector3<f64>,
}

impl Ts2 {
    /// The velocity of the direction, ω × q.
    pub fn velocity(&self) -> Vector3<f64> {
        self.omega.cross(&self.q)
    }

    /// d/dt|₀ exp(t(u, v))·(q, ω) = (u×q, u×ω + v×q).
    pub fn generator(&self, xi: &Vector6<f64>) -> (Vector3<f64>, Vector3<f64>) {
        let (u, v) = split(xi);
        (u.cross(&self.q), u.cross(&self.omega) + v.cross(&self.q))
    }

    /// | |q|² − 1 | + |q·ω|: how far (q, ω) is from the bundle.
    pub fn constraint_error(&self) -> f64 {
        (self.q.norm_squared() - 1.0).abs() + self.q.dot(&self.omega).abs()
    }
}

/// (A, a)·(q, ω) = (Aq, Aω + a×Aq), the restriction of Ad to the orbit (Celledoni et al. 2021, section 5.1). |q| and
/// q·ω are kept to rounding.
impl HomogeneousSpace for Ts2 {
    type Group = Se3;

    fn moved_by(&self, g: &Se3) -> Self {
        let q = g.rotation * self.q;
        Self { q, omega: g.rotation * self.omega + g.translation.cross(&q) }
    }
    fn distance(&self, other: &Self) -> f64 {
        (self.q - other.q).norm().hypot((self.omega - other.omega).norm())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LieGroup;
    use proptest::prelude::*;

    fn vector() -> impl Strategy<Value = Vector3<f64>> {
        (-2.0..2.0f64, -2.0..2.0f64, -2.0..2.0f64).prop_map(|(x, y, z)| Vector3::new(x, y, z))
    }

    fn twist() -> impl Strategy<Value = Vector6<f64>> {
        (vector(), vector()).prop_map(|(a, b)| crate::se3::join(&a, &b))
    }

    proptest! {
        #[test]
        fn products_act_one_after_the_other(a in twist(), b in twist(), q in vector(), w in vector()) {
            prop_assume!(q.norm() > 1e-3);
            let (g, h) = (Se3::exp(&a), Se3::exp(&b));
            let q = S2::new(q);
            let (r, s) = (g.rotation, h.rotation);
            prop_assert!(q.moved_by(&s).moved_by(&r).distance(&q.moved_by(&(r * s))) < 1e-14);
            let y = Ts2 { q: *q.0, omega: w - *q.0 * q.0.dot(&w) };
            let (one_by_one, at_once) = (y.moved_by(&h).moved_by(&g), y.moved_by(&(g * h)));
            prop_assert!(one_by_one.distance(&at_once) < 1e-13);
            prop_assert!(at_once.constraint_error() < 1e-13);
        }

        #[test]
        fn the_generators_against_differences(xi in twist(), q in vector(), w in vector()) {
            prop_assume!(q.norm() > 1e-1);
            let q = S2::new(q);
            let y = Ts2 { q: *q.0, omega: w - *q.0 * q.0.dot(&w) };
            let h = 1e-6;
            let (ahead, behind) = (Se3::exp(&(xi * h)), Se3::exp(&(xi * -h)));
            let (a, b) = (y.moved_by(&ahead), y.moved_by(&behind));
            let (dq, dw) = y.generator(&xi);
            prop_assert!(((a.q - b.q) / (2.0 * h) - dq).norm() < 1e-8);
            prop_assert!(((a.omega - b.omega) / (2.0 * h) - dw).norm() < 1e-8);
            let (a, b) = (q.moved_by(&ahead.rotation), q.moved_by(&behind.rotation));
            prop_assert!(((*a.0 - *b.0) / (2.0 * h) - q.velocity(&split(&xi).0)).norm() < 1e-8);
        }
    }
}
