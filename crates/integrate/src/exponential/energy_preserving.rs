//! The exponential method that keeps the energy.

use super::fixed_point::Iteration;
use super::problem::{SemilinearPoisson, exponential_increment, integral};
use super::{Method, Workspace};
use crate::IntegrationError;

/// The energy-preserving exponential integrator (Shen 2019, eq. (2.14)),
///
/// $$q_{k+1} = e^{Ah}q_k + \int_0^h e^{A\tau}d\tau\;J\,\overline\nabla V(q_k, q_{k+1}),$$
///
/// of order 2 and symmetric. It preserves $H$ (theorem 14) as well as the equation is solved. The iteration contracts
/// by $\|\int_0^h e^{A\tau}d\tau\,J\,\partial\overline\nabla V\|$, and the stiffer a mode the smaller its integral:
/// also where $J$ grows with the wave number, as in the equation of Korteweg and de Vries, the step does not depend on
/// the grid.
pub struct EnergyPreservingExponential<'a, P: SemilinearPoisson> {
    problem: &'a P,
    step: f64,
    iteration: Iteration,
    /// e^{Ah} − I.
    increment: P::Operator,
    /// ∫₀ʰe^{Aτ}dτ J.
    forcing: P::Operator,
    /// e^{Ah}q_k.
    start: Vec<f64>,
    end: Vec<f64>,
    work: Workspace<P>,
}

impl<'a, P: SemilinearPoisson> EnergyPreservingExponential<'a, P> {
    /// With steps of this size.
    pub fn new(problem: &'a P, step: f64, iteration: Iteration) -> Self {
        Self {
            problem,
            step,
            iteration,
            increment: problem.function(&exponential_increment(step)),
            forcing: problem.function_of_structure(&integral(step)),
            start: vec![0.0; problem.dim()],
            end: vec![0.0; problem.dim()],
            work: Workspace::new(problem),
        }
    }
}

impl<P: SemilinearPoisson> Method for EnergyPreservingExponential<'_, P> {
    fn step_size(&self) -> f64 {
        self.step
    }

    fn step(&mut self, time: f64, q: &mut [f64]) -> Result<usize, IntegrationError> {
        let Self { problem, step, iteration, increment, forcing, start, end, work } = self;
        let Workspace { next, gradient, scratch } = work;
        problem.vary_rounding(scratch);
        problem.apply(increment, q, start, scratch);
        start.iter_mut().zip(&*q).for_each(|(a, q)| *a += q);
        end.copy_from_slice(start);
        let iterations = iteration.solve((time, *step), end, next, |end, out| {
            problem.discrete_gradient(q, end, gradient);
            problem.apply(forcing, gradient, out, scratch);
            out.iter_mut().zip(&*start).for_each(|(f, a)| *f += a);
        })?;
        q.copy_from_slice(end);
        Ok(iterations)
    }
}
