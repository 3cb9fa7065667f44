//! Geometric exponential integrators for stiff Hamiltonian systems $\dot q = J(Dq + \nabla V(q))$ (X. Shen, "Geometric
//! integration and reduction for estimation and control", 2019, chapter 2): the stiff linear part is applied exactly, and what
//! the flow keeps, the Poisson structure or the energy, is kept.

mod classical;
mod energy_preserving;
mod fixed_point;
mod newton;
mod problem;
mod symplectic;
#[cfg(test)]
mod tests;

pub use classical::{Classical, Splitting};
pub use energy_preserving::EnergyPreservingExponential;
pub use fixed_point::Iteration;
pub use newton::NewtonMidpoint;
pub use problem::SemilinearPoisson;
pub use symplectic::{DISEX_WEIGHTS, SymplecticExponential};

use crate::integrate::IntegrationError;

/// A one-step method, set up for a system and a step size.
pub trait Method {
    /// The step size.
    fn step_size(&self) -> f64;

    /// Carries `q` over one step that begins at `time` (which only errors tell of), and says how many iterations that took.
    ///
    /// # Errors
    /// The iteration did not converge or ran away; `q` is untouched then.
    fn step(&mut self, time: f64, q: &mut [f64]) -> Result<usize, IntegrationError>;

    /// Carries `q` over many steps, the first of which begins at time 0; how many iterations they took together.
    ///
    /// # Errors
    /// Those of the first step that fails, before which `q` is left.
    fn run(&mut self, steps: usize, q: &mut [f64]) -> Result<usize, IntegrationError> {
        (0..steps).try_fold(0, |sum, k| Ok(sum + self.step(k as f64 * self.step_size(), q)?))
    }
}

/// Memory that every method needs.
struct Workspace<P: SemilinearPoisson> {
    next: Vec<f64>,
    gradient: Vec<f64>,
    scratch: P::Scratch,
}

impl<P: SemilinearPoisson> Workspace<P> {
    fn new(problem: &P) -> Self {
        Self { next: vec![0.0; problem.dim()], gradient: vec![0.0; problem.dim()], scratch: problem.scratch() }
    }
}
