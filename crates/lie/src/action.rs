//! Group actions on manifolds: what a Lie group method needs to know about the space of its solution.

use super::{LieGroup, VectorSpace};

/// A manifold on which a Lie group acts from the left, transitively where the whole manifold is to be reached.
///
/// A method moves a point y by y ↦ exp(σ)·y with σ in the algebra, and a vector field is a map f from points to the
/// algebra with ẏ = d/dt|₀ exp(t f(y))·y (Celledoni et al. 2021, (3)). Groups act on themselves by multiplication from
/// the left: there f is the *spatial* velocity ġg⁻¹.
pub trait HomogeneousSpace: Clone {
    /// What acts.
    type Group: LieGroup;

    /// g·self, with (gh)·y = g·(h·y).
    fn moved_by(&self, g: &Self::Group) -> Self;
    /// Distance to another point in the vector space around the manifold, as errors are measured.
    fn distance(&self, other: &Self) -> f64;
}

/// A product of any number of equal spaces, each moved by its own factor.
impl<M: HomogeneousSpace> HomogeneousSpace for Vec<M> {
    type Group = Vec<M::Group>;

    fn moved_by(&self, g: &Self::Group) -> Self {
        self.iter().zip(g).map(|(y, g)| y.moved_by(g)).collect()
    }
    fn distance(&self, other: &Self) -> f64 {
        self.iter().zip(other).map(|(a, b)| a.distance(b).powi(2)).sum::<f64>().sqrt()
    }
}

/// The same with the number known to the compiler.
impl<M: HomogeneousSpace, const N: usize> HomogeneousSpace for [M; N] {
    type Group = [M::Group; N];

    fn moved_by(&self, g: &Self::Group) -> Self {
        std::array::from_fn(|i| self[i].moved_by(&g[i]))
    }
    fn distance(&self, other: &Self) -> f64 {
        self.iter().zip(other).map(|(a, b)| a.distance(b).powi(2)).sum::<f64>().sqrt()
    }
}

/// A product of two spaces.
impl<A: HomogeneousSpace, B: HomogeneousSpace> HomogeneousSpace for (A, B) {
    type Group = (A::Group, B::Group);

    fn moved_by(&self, (g, h): &Self::Group) -> Self {
        (self.0.moved_by(g), self.1.moved_by(h))
    }
    fn distance(&self, other: &Self) -> f64 {
        self.0.distance(&other.0).hypot(self.1.distance(&other.1))
    }
}

/// A point of the dual of an algebra, moved along its coadjoint orbit: `g·μ = Ad*_{g⁻¹}μ`, so that the flow of f obeys
/// `μ̇ = −ad*_{f(μ)}μ` (Celledoni et al. 2021, example 1). Whatever is constant on the orbits is kept to rounding.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Coadjoint<G: LieGroup>(pub G::Algebra);

impl<G: LieGroup> HomogeneousSpace for Coadjoint<G> {
    type Group = G;

    fn moved_by(&self, g: &G) -> Self {
        Self(g.inverse().coadjoint_apply(&self.0))
    }
    fn distance(&self, other: &Self) -> f64 {
        self.0.plus_scaled(-1.0, &other.0).norm()
    }
}
