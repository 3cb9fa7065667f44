//! Exponential methods that keep the Poisson structure: the midpoint rule and its compositions.

use super::fixed_point::Iteration;
use super::problem::{SemilinearPoisson, exponential_increment};
use super::{Method, Workspace};
use crate::IntegrationError;

/// The weights of the six-stage diagonally implicit symplectic method of order 5 (Shen 2019, section 2.5.1, after
/// Kalogiratou and Monovasilis 2015): step i of the composition has size b_i h.
pub const DISEX_WEIGHTS: [f64; 6] = [
    0.508_004_819_400_027_4,
    1.360_107_162_294_827,
    2.019_293_359_181_722,
    0.568_565_892_645_825,
    -1.459_852_049_586_439,
    -1.996_119_183_935_963,
];

/// The exponential midpoint rule (Shen 2019, eq. (2.7)),
///
/// $$q_{k+1} = e^{Ah}q_k + h\,e^{Ah/2}f\Bigl(\frac{e^{Ah/2}q_k + e^{-Ah/2}q_{k+1}}{2}\Bigr),\qquad f = J\nabla V,$$
///
/// and its compositions with step sizes $b_1h, …, b_sh$: the diagonally implicit symplectic exponential methods
/// (2.10), by theorem 13. They preserve the Poisson structure (theorem 12) and quadratic invariants that linear and
/// nonlinear part share.
///
/// What is iterated is not $q_{k+1}$ but the stage, (S.1): $Q = a + \tfrac{h}{2}f(Q)$ with $a = e^{Ah/2}q_k$, whence
/// $q_{k+1} = e^{Ah/2}(2Q - a)$. The contraction is the same, as $e^{Ah/2}$ is orthogonal, but the exponentials stand
/// outside of the iteration: it costs one evaluation of $f$, and where $J$ acts point by point no Fourier transform at
/// all. Between the steps of a composition, two exponentials are one.
pub struct SymplecticExponential<'a, P: SemilinearPoisson> {
    problem: &'a P,
    step: f64,
    iteration: Iteration,
    weights: Vec<f64>,
    /// e^{…} − I: one before the first stage, one after every stage.
    increments: Vec<P::Operator>,
    /// e^{…}q before a stage.
    start: Vec<f64>,
    stage: Vec<f64>,
    work: Workspace<P>,
}

impl<'a, P: SemilinearPoisson> SymplecticExponential<'a, P> {
    /// The exponential midpoint rule, of order 2.
    pub fn midpoint(problem: &'a P, step: f64, iteration: Iteration) -> Self {
        Self::composition(problem, step, iteration, &[1.0])
    }

    /// DISEX with [`DISEX_WEIGHTS`]: six stages, order 5.
    pub fn disex(problem: &'a P, step: f64, iteration: Iteration) -> Self {
        Self::composition(problem, step, iteration, &DISEX_WEIGHTS)
    }

    /// Exponential midpoint rules with steps of `weights` times `step`, one after the other. The weights should add up
    /// to 1.
    pub fn composition(problem: &'a P, step: f64, iteration: Iteration, weights: &[f64]) -> Self {
        let halves = |i: usize| weights.get(i).map_or(0.0, |weight| 0.5 * weight * step);
        let before = |i: usize| if i == 0 { 0.0 } else { halves(i - 1) };
        let increments =
            (0..=weights.len()).map(|i| problem.function(&exponential_increment(before(i) + halves(i)))).collect();
        let state = || vec![0.0; problem.dim()];
        let weights = weights.to_vec();
        Self {
            problem,
            step,
            iteration,
            weights,
            increments,
            start: state(),
            stage: state(),
            work: Workspace::new(problem),
        }
    }
}

impl<P: SemilinearPoisson> Method for SymplecticExponential<'_, P> {
    fn step_size(&self) -> f64 {
        self.step
    }

    /// The iterations of all stages together.
    fn step(&mut self, time: f64, q: &mut [f64]) -> Result<usize, IntegrationError> {
        let Self { problem, step, iteration, weights, increments, start, stage, work } = self;
        let Workspace { next, gradient, scratch } = work;
        stage.copy_from_slice(q);
        let mut iterations = 0;
        for (weight, increment) in weights.iter().zip(&*increments) {
            problem.apply(increment, stage, start, scratch);
            stage.iter_mut().zip(&mut *start).for_each(|(q, a)| {
                *a += *q;
                *q = *a;
            });
            let half = 0.5 * weight * *step;
            iterations += iteration.solve((time, *step), stage, next, |stage, out| {
                problem.gradient(stage, gradient);
                problem.apply_structure(gradient, out, scratch);
                out.iter_mut().zip(&*start).for_each(|(f, a)| *f = a + half * *f);
            })?;
            stage.iter_mut().zip(&*start).for_each(|(q, a)| *q = 2.0 * *q - a);
        }
        if let Some(last) = increments.last() {
            problem.apply(last, stage, q, scratch);
            q.iter_mut().zip(&*stage).for_each(|(q, z)| *q += z);
        }
        Ok(iterations)
    }
}
