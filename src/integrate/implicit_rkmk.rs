//! Implicit Runge-Kutta Munthe-Kaas methods.

use super::field::{AlgebraOf, LieGroupMethod, VectorField};
use super::fixed_point::solve;
use super::rkmk::combination;
use super::{IntegrationError, Tableau};
use crate::lie::{HomogeneousSpace, LieGroup, VectorSpace};

/// A Runge-Kutta method of any tableau for σ̇ = dexp_σ⁻¹(f(exp(σ)·y₀)), its stages by fixed-point iteration
/// (Ortolan 2011, 7.1.2; there Gauss-Legendre of order 4, RKMKGL4). It has the tableau's order on any manifold with a group
/// action; what is symplectic or symmetric in a vector space need not be so here.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ImplicitRkmk<const S: usize> {
    /// The coefficients.
    pub tableau: Tableau<S>,
}

impl<const S: usize, M: HomogeneousSpace, F: VectorField<M>> LieGroupMethod<M, F> for ImplicitRkmk<S> {
    fn name(&self) -> String {
        format!("RKMK {}", self.tableau.name)
    }
    fn order(&self) -> usize {
        self.tableau.order
    }
    /// The residual of a step that does not converge is that of the slopes of σ, h times.
    fn step(&self, field: &F, y: &M, time: f64, h: f64) -> Result<M, IntegrationError> {
        let Tableau { a, b, c, .. } = &self.tableau;
        let first = field.generator(time, y).scaled(h);
        let guess: [AlgebraOf<M>; S] = std::array::from_fn(|_| first.clone());
        let (slopes, _) = solve(guess, time, h, |slopes| {
            std::array::from_fn(|i| {
                let sigma = combination(&a[i], slopes, &first);
                let stage = y.moved_by(&M::Group::exp(&sigma));
                M::Group::dexp_inv(&sigma, &field.generator(time + c[i] * h, &stage).scaled(h))
            })
        })?;
        Ok(y.moved_by(&M::Group::exp(&combination(b, &slopes, &first))))
    }
}
