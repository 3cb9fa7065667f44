//! Implicit Runge-Kutta Munthe-Kaas methods.

use super::{IntegrationError, Tableau};
use crate::lie::{HomogeneousSpace, LieGroup, VectorSpace};

type Algebra<M> = <<M as HomogeneousSpace>::Group as LieGroup>::Algebra;

/// A Runge-Kutta method of any tableau in the algebra, u' = dexp⁻¹_u f(exp(u)·y₀), with exact dexp⁻¹ and the stages by
/// fixed-point iteration (Ortolan 2011, 7.1.2; there for Gauss-Legendre of order 4, RKMKGL4). It has the tableau's order
/// on any manifold with a group action; a symplectic tableau does not make it symplectic.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ImplicitRkmk<const S: usize> {
    /// The coefficients.
    pub tableau: Tableau<S>,
}

impl<const S: usize> ImplicitRkmk<S> {
    const ITERATIONS: usize = 100;
    /// Relative to the stages: a few units in the last place.
    const TOLERANCE: f64 = 1e-15;
    /// Where rounding lets increments stop to fall they have to be this small.
    const FLOOR: f64 = 1e-13;

    /// The point at t + h of ẏ = d/ds|₀ exp(s f(t, y))·y, from that at t.
    ///
    /// # Errors
    /// Stages that do not converge, with the last increment of the stages in the algebra as residual; numbers that are
    /// not finite.
    pub fn step<M: HomogeneousSpace>(
        &self,
        field: impl Fn(f64, &M) -> Algebra<M>,
        y: &M,
        time: f64,
        h: f64,
    ) -> Result<M, IntegrationError> {
        let Tableau { a, b, c, .. } = &self.tableau;
        let slope = field(time, y);
        let zero = slope.zero_like();
        let sum = |weights: &[f64; S], slopes: &[Algebra<M>; S]| {
            let mut sum = zero.clone();
            weights.iter().zip(slopes).for_each(|(weight, slope)| sum.add_scaled(h * weight, slope));
            sum
        };
        let mut slopes: [Algebra<M>; S] = std::array::from_fn(|_| slope.clone());
        let mut stages: [Algebra<M>; S] = std::array::from_fn(|_| zero.clone());
        let (mut last, mut tolerance) = (f64::INFINITY, 0.0);
        for _ in 0..Self::ITERATIONS {
            let (mut change, mut size) = (0.0, 0.0);
            for i in 0..S {
                let stage = sum(&a[i], &slopes);
                change += stage.plus_scaled(-1.0, &stages[i]).norm();
                let slope = field(time + c[i] * h, &y.moved_by(&M::Group::exp(&stage)));
                slopes[i] = M::Group::dexp_inv(&stage, &slope);
                size += stage.norm() + h.abs() * slopes[i].norm();
                stages[i] = stage;
            }
            tolerance = Self::TOLERANCE * size;
            if change <= tolerance || (change >= last && change <= Self::FLOOR * size) {
                let next = y.moved_by(&M::Group::exp(&sum(b, &slopes)));
                return if next.distance(y).is_finite() { Ok(next) } else { Err(Self::not_finite(time, h)) };
            }
            if !change.is_finite() {
                return Err(Self::not_finite(time, h));
            }
            last = change;
        }
        let iterations = Self::ITERATIONS;
        Err(IntegrationError::NotConverged { time, step: h, residual: last, tolerance, iterations })
    }

    fn not_finite(time: f64, step: f64) -> IntegrationError {
        IntegrationError::NotFinite { time, step }
    }
}
