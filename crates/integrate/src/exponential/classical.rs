//! The rivals without exponentials: implicit midpoint rule and discrete gradient method.

use super::fixed_point::Iteration;
use super::problem::{SemilinearPoisson, generator, resolvent};
use super::{Method, Workspace};
use crate::IntegrationError;

/// How the equations of an implicit step without exponentials are solved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Splitting {
    /// Fixed-point iteration on all of the right side, as in the text. It needs $h\|A\|/2 < 1$.
    None,
    /// Fixed-point iteration on the nonlinear part, the linear one solved for:
    /// $Q ← (I - \tfrac h2A)^{-1}(q + \tfrac h2f(Q))$. Quasi-Newton with the Jacobian of the linear part; not in the
    /// text, and what the exponential methods should be held against where $(I - \tfrac h2A)^{-1}$ costs no more than
    /// $e^{Ah}$.
    Linear,
}

/// Which mean of the gradient a step takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rule {
    Midpoint,
    DiscreteGradient,
}

/// The implicit midpoint rule, $q_{k+1} = q_k + hJ\nabla H((q_k + q_{k+1})/2)$, and the discrete gradient method
/// $q_{k+1} = q_k + hJ\overline\nabla H(q_k, q_{k+1})$ with
/// $\overline\nabla H = D(q_k + q_{k+1})/2 + \overline\nabla V$ (Shen 2019, eqs. (2.25) and (2.26)), both of order 2,
/// solved by fixed-point iteration.
pub struct Classical<'a, P: SemilinearPoisson> {
    problem: &'a P,
    step: f64,
    iteration: Iteration,
    rule: Rule,
    splitting: Splitting,
    /// A, or (I − hA/2)⁻¹ where the linear part is split off.
    linear: P::Operator,
    /// The mean of q_k and q_{k+1}, which is what is iterated.
    mean: Vec<f64>,
    end: Vec<f64>,
    forces: Vec<f64>,
    work: Workspace<P>,
}

impl<'a, P: SemilinearPoisson> Classical<'a, P> {
    /// The implicit midpoint rule.
    pub fn midpoint(problem: &'a P, step: f64, splitting: Splitting, iteration: Iteration) -> Self {
        Self::new(problem, step, Rule::Midpoint, splitting, iteration)
    }

    /// The discrete gradient method.
    pub fn discrete_gradient(problem: &'a P, step: f64, splitting: Splitting, iteration: Iteration) -> Self {
        Self::new(problem, step, Rule::DiscreteGradient, splitting, iteration)
    }

    fn new(problem: &'a P, step: f64, rule: Rule, splitting: Splitting, iteration: Iteration) -> Self {
        let linear = match splitting {
            Splitting::None => problem.function(&generator),
            Splitting::Linear => problem.function(&resolvent(0.5 * step)),
        };
        let state = || vec![0.0; problem.dim()];
        let (mean, end, forces, work) = (state(), state(), state(), Workspace::new(problem));
        Self { problem, step, iteration, rule, splitting, linear, mean, end, forces, work }
    }
}

impl<P: SemilinearPoisson> Method for Classical<'_, P> {
    fn step_size(&self) -> f64 {
        self.step
    }

    fn step(&mut self, time: f64, q: &mut [f64]) -> Result<usize, IntegrationError> {
        let Self { problem, step, iteration, rule, splitting, linear, mean, end, forces, work } = self;
        let Workspace { next, gradient, scratch } = work;
        let half = 0.5 * *step;
        mean.copy_from_slice(q);
        let iterations = iteration.solve((time, *step), mean, next, |mean, out| {
            match rule {
                Rule::Midpoint => problem.gradient(mean, gradient),
                Rule::DiscreteGradient => {
                    end.iter_mut().zip(mean).zip(&*q).for_each(|((end, mean), q)| *end = 2.0 * mean - q);
                    problem.discrete_gradient(q, end, gradient);
                }
            }
            problem.apply_structure(gradient, forces, scratch);
            match splitting {
                Splitting::None => {
                    problem.apply(linear, mean, out, scratch);
                    for ((out, force), q) in out.iter_mut().zip(&*forces).zip(&*q) {
                        *out = q + half * (*out + force);
                    }
                }
                Splitting::Linear => {
                    forces.iter_mut().zip(&*q).for_each(|(force, q)| *force = q + half * *force);
                    problem.apply(linear, forces, out, scratch);
                }
            }
        })?;
        q.iter_mut().zip(&*mean).for_each(|(q, mean)| *q = 2.0 * mean - *q);
        Ok(iterations)
    }
}
