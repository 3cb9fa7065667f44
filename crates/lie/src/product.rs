//! Products of groups, and vector spaces as groups: what the phase space of a system of several bodies is moved by.

use super::{HomogeneousSpace, LieGroup, VectorSpace};

/// A vector space as the group of its translations.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Translation<V: VectorSpace>(pub V);

impl<V: VectorSpace> LieGroup for Translation<V> {
    type Algebra = V;

    fn identity_like(&self) -> Self {
        Self(self.0.zero_like())
    }
    fn compose(&self, other: &Self) -> Self {
        Self(self.0.plus_scaled(1.0, &other.0))
    }
    fn inverse(&self) -> Self {
        Self(self.0.scaled(-1.0))
    }
    fn exp(xi: &V) -> Self {
        Self(xi.clone())
    }
    fn log(&self) -> V {
        self.0.clone()
    }
    fn cayley(xi: &V) -> Self {
        Self(xi.clone())
    }
    fn cayley_inv(&self) -> V {
        self.0.clone()
    }
    fn dexp(_: &V, eta: &V) -> V {
        eta.clone()
    }
    fn dexp_inv(_: &V, eta: &V) -> V {
        eta.clone()
    }
    fn dexp_dual(_: &V, mu: &V) -> V {
        mu.clone()
    }
    fn dexp_inv_dual(_: &V, mu: &V) -> V {
        mu.clone()
    }
    fn ad(xi: &V, _: &V) -> V {
        xi.zero_like()
    }
    fn coad(xi: &V, _: &V) -> V {
        xi.zero_like()
    }
    fn adjoint_apply(&self, xi: &V) -> V {
        xi.clone()
    }
    fn coadjoint_apply(&self, mu: &V) -> V {
        mu.clone()
    }
}

impl<V: VectorSpace> HomogeneousSpace for Translation<V> {
    type Group = Self;

    fn moved_by(&self, g: &Self) -> Self {
        g.compose(self)
    }
    fn distance(&self, other: &Self) -> f64 {
        self.0.plus_scaled(-1.0, &other.0).norm()
    }
}

/// Writes the methods of a product: each factor by itself. `$each` makes a product out of a map of one index (or of
/// the two members) and what it is applied to.
macro_rules! factor_by_factor {
    ($each:ident) => {
        fn identity_like(&self) -> Self {
            $each!(LieGroup::identity_like, self)
        }
        fn compose(&self, other: &Self) -> Self {
            $each!(LieGroup::compose, self, other)
        }
        fn inverse(&self) -> Self {
            $each!(LieGroup::inverse, self)
        }
        fn exp(xi: &Self::Algebra) -> Self {
            $each!(LieGroup::exp, xi)
        }
        fn log(&self) -> Self::Algebra {
            $each!(LieGroup::log, self)
        }
        fn cayley(xi: &Self::Algebra) -> Self {
            $each!(LieGroup::cayley, xi)
        }
        fn cayley_inv(&self) -> Self::Algebra {
            $each!(LieGroup::cayley_inv, self)
        }
        fn dexp(xi: &Self::Algebra, eta: &Self::Algebra) -> Self::Algebra {
            $each!(of dexp, xi, eta)
        }
        fn dexp_inv(xi: &Self::Algebra, eta: &Self::Algebra) -> Self::Algebra {
            $each!(of dexp_inv, xi, eta)
        }
        fn dexp_dual(xi: &Self::Algebra, mu: &Self::Algebra) -> Self::Algebra {
            $each!(of dexp_dual, xi, mu)
        }
        fn dexp_inv_dual(xi: &Self::Algebra, mu: &Self::Algebra) -> Self::Algebra {
            $each!(of dexp_inv_dual, xi, mu)
        }
        fn ad(xi: &Self::Algebra, eta: &Self::Algebra) -> Self::Algebra {
            $each!(of ad, xi, eta)
        }
        fn coad(xi: &Self::Algebra, mu: &Self::Algebra) -> Self::Algebra {
            $each!(of coad, xi, mu)
        }
        fn adjoint_apply(&self, xi: &Self::Algebra) -> Self::Algebra {
            $each!(LieGroup::adjoint_apply, self, xi)
        }
        fn coadjoint_apply(&self, mu: &Self::Algebra) -> Self::Algebra {
            $each!(LieGroup::coadjoint_apply, self, mu)
        }
    };
}

macro_rules! of_vec {
    (of $f:ident, $a:expr, $b:expr) => {
        $a.iter().zip($b).map(|(a, b)| G::$f(a, b)).collect()
    };
    ($f:expr, $a:expr) => {
        $a.iter().map($f).collect()
    };
    ($f:expr, $a:expr, $b:expr) => {
        $a.iter().zip($b).map(|(a, b)| $f(a, b)).collect()
    };
}

macro_rules! of_array {
    (of $f:ident, $a:expr, $b:expr) => {
        std::array::from_fn(|i| G::$f(&$a[i], &$b[i]))
    };
    ($f:expr, $a:expr) => {
        std::array::from_fn(|i| $f(&$a[i]))
    };
    ($f:expr, $a:expr, $b:expr) => {
        std::array::from_fn(|i| $f(&$a[i], &$b[i]))
    };
}

macro_rules! of_pair {
    (of $f:ident, $a:expr, $b:expr) => {
        (A::$f(&$a.0, &$b.0), B::$f(&$a.1, &$b.1))
    };
    ($f:expr, $a:expr) => {
        ($f(&$a.0), $f(&$a.1))
    };
    ($f:expr, $a:expr, $b:expr) => {
        ($f(&$a.0, &$b.0), $f(&$a.1, &$b.1))
    };
}

/// Any number of copies, as of the bodies of a chain.
impl<G: LieGroup> LieGroup for Vec<G> {
    type Algebra = Vec<G::Algebra>;
    factor_by_factor!(of_vec);
}

/// The same with the number known to the compiler.
impl<G: LieGroup, const N: usize> LieGroup for [G; N] {
    type Algebra = [G::Algebra; N];
    factor_by_factor!(of_array);
}

/// The product of two groups.
impl<A: LieGroup, B: LieGroup> LieGroup for (A, B) {
    type Algebra = (A::Algebra, B::Algebra);
    factor_by_factor!(of_pair);
}
