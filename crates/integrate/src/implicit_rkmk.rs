//! Implicit Runge-Kutta Munthe-Kaas methods.

use super::field::{AlgebraOf, LieGroupMethod, VectorField};
use super::rkmk::combination;
use super::{IntegrationError, Tableau};
use lienav_lie::{HomogeneousSpace, LieGroup, VectorSpace};

const ITERATIONS: usize = 100;

/// A change of the stages, relative to them, that rounding hides.
const ROUNDING: f64 = 1e-16;

/// Changes that no longer fall have to be below this.
const FLOOR: f64 = 1e-13;

/// A Runge-Kutta method of any tableau for σ̇ = dexp_σ⁻¹(f(exp(σ)·y₀)), its stages by fixed-point iteration
/// (Ortolan 2011, 7.1.2; there Gauss-Legendre of order 4, RKMKGL4). It has the tableau's order on any manifold with a
/// group action; what is symplectic or symmetric in a vector space need not be so here.
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
    /// The residual of a step that does not converge is the last change of its stages σ.
    fn step(&self, field: &F, y: &M, time: f64, h: f64) -> Result<M, IntegrationError> {
        let Tableau { a, b, c, .. } = &self.tableau;
        let first = field.generator(time, y).scaled(h);
        let mut slopes: [AlgebraOf<M>; S] = std::array::from_fn(|_| first.clone());
        let mut stages: [AlgebraOf<M>; S] = std::array::from_fn(|_| first.zero_like());
        let (mut last, mut tolerance) = (f64::INFINITY, 0.0);
        for _ in 0..ITERATIONS {
            let (mut change, mut size) = (0.0, 0.0);
            for i in 0..S {
                let sigma = combination(&a[i], &slopes, &first);
                let stage = y.moved_by(&M::Group::exp(&sigma));
                slopes[i] = M::Group::dexp_inv(&sigma, &field.generator(time + c[i] * h, &stage).scaled(h));
                change += sigma.plus_scaled(-1.0, &stages[i]).norm();
                size += slopes[i].norm();
                stages[i] = sigma;
            }
            tolerance = FLOOR * size;
            if !change.is_finite() {
                return Err(IntegrationError::NotFinite { time, step: h });
            }
            // To the end: an error of the stages that is left over would not oscillate like rounding does.
            if change <= ROUNDING * size || (change >= last && change <= tolerance) {
                return Ok(y.moved_by(&M::Group::exp(&combination(b, &slopes, &first))));
            }
            last = change;
        }
        Err(IntegrationError::NotConverged { time, step: h, residual: last, tolerance, iterations: ITERATIONS })
    }
}
