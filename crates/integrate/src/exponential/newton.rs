//! The implicit midpoint rule with the Jacobian.

use super::fixed_point::Iteration;
use super::problem::{SemilinearPoisson, generator};
use super::{Method, Workspace};
use crate::IntegrationError;
use nalgebra::{DMatrix, DVector, Dyn, LU};

/// The implicit midpoint rule by quasi-Newton iteration (Shen 2019, section 2.5.1): the Jacobian at the beginning of
/// the step is factorized once for each step and used until convergence. One LU factorization of dim × dim for each
/// step is its price, and it allocates.
pub struct NewtonMidpoint<'a, P: SemilinearPoisson> {
    problem: &'a P,
    step: f64,
    iteration: Iteration,
    /// A as a matrix, and as an operator.
    matrix: DMatrix<f64>,
    linear: P::Operator,
    mean: Vec<f64>,
    residual: DVector<f64>,
    work: Workspace<P>,
}

impl<'a, P: SemilinearPoisson> NewtonMidpoint<'a, P> {
    /// With steps of this size. The iteration's tolerance is that of Newton's increments.
    pub fn new(problem: &'a P, step: f64, iteration: Iteration) -> Self {
        let mut work = Workspace::new(problem);
        let linear = problem.function(&generator);
        let matrix = columns(problem.dim(), |unit, out| problem.apply(&linear, unit, out, &mut work.scratch));
        let (mean, residual) = (vec![0.0; problem.dim()], DVector::zeros(problem.dim()));
        Self { problem, step, iteration, matrix, linear, mean, residual, work }
    }

    /// I − h/2 (A + J∇²V(q)), factorized.
    fn jacobian(&mut self, q: &[f64]) -> LU<f64, Dyn, Dyn> {
        let Self { problem, step, matrix, work, .. } = self;
        let Workspace { gradient, scratch, .. } = work;
        let mut jacobian = columns(problem.dim(), |unit, out| {
            problem.hessian_apply(q, unit, gradient);
            problem.apply_structure(gradient, out, scratch);
        });
        jacobian += &*matrix;
        jacobian *= -0.5 * *step;
        (0..q.len()).for_each(|i| jacobian[(i, i)] += 1.0);
        jacobian.lu()
    }
}

/// The matrix of a linear map.
fn columns(dim: usize, mut map: impl FnMut(&[f64], &mut [f64])) -> DMatrix<f64> {
    let mut matrix = DMatrix::zeros(dim, dim);
    let mut unit = vec![0.0; dim];
    for (i, column) in matrix.as_mut_slice().chunks_exact_mut(dim.max(1)).enumerate() {
        unit[i] = 1.0;
        map(&unit, column);
        unit[i] = 0.0;
    }
    matrix
}

impl<P: SemilinearPoisson> Method for NewtonMidpoint<'_, P> {
    fn step_size(&self) -> f64 {
        self.step
    }

    fn step(&mut self, time: f64, q: &mut [f64]) -> Result<usize, IntegrationError> {
        let factorized = self.jacobian(q);
        let Self { problem, step, iteration, linear, mean, residual, work, .. } = self;
        let Workspace { next, gradient, scratch } = work;
        let (half, step) = (0.5 * *step, *step);
        mean.copy_from_slice(q);
        let mut is_singular = false;
        let iterations = iteration.solve((time, step), mean, next, |mean, out| {
            problem.gradient(mean, gradient);
            problem.apply_structure(gradient, residual.as_mut_slice(), scratch);
            problem.apply(linear, mean, out, scratch);
            for (((r, out), mean), q) in residual.iter_mut().zip(&*out).zip(mean).zip(&*q) {
                *r = q + half * (*r + out) - mean;
            }
            is_singular |= !factorized.solve_mut(residual);
            out.iter_mut().zip(mean).zip(&*residual).for_each(|((out, mean), r)| *out = mean + r);
        })?;
        if is_singular {
            return Err(IntegrationError::NotFinite { time, step });
        }
        q.iter_mut().zip(&*mean).for_each(|(q, mean)| *q = 2.0 * mean - *q);
        Ok(iterations)
    }
}
