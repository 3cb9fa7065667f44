//! Geometric exponential integrators for stiff Hamiltonian systems $\dot q = J(Dq + \nabla V(q))$ (X. Shen, "Geometric
//! integration and reduction for estimation and control", 2019, chapter 2): the stiff linear part is applied exactly,
//! and what the flow keeps, the Poisson structure or the energy, is kept.
//!
//! | method | order | keeps | what binds the step |
//! |---|---|---|---|
//! | [`SymplecticExponential::midpoint`] | 2 | Poisson structure, shared quadratic invariants | $\|J\nabla^2V\|$; resonances |
//! | [`SymplecticExponential::disex`] | 5 | the same | the same, twice as tight |
//! | [`EnergyPreservingExponential`] | 2 | energy | $\|\nabla^2V\|$ on slow modes |
//! | [`Classical::midpoint`], [`NewtonMidpoint`] | 2 | Poisson structure, quadratic invariants | $\|A\|$, unless the linear part is solved for |
//! | [`Classical::discrete_gradient`] | 2 | energy | the same |
//!
//! A system is anything that is a [`SemilinearPoisson`]; `dynamics::semilinear` makes one of a linear part and a
//! potential.
//!
//! ```
//! use lienav_integrate::dynamics::nls::Nls;
//! use lienav_integrate::exponential::{EnergyPreservingExponential, Iteration, Method, SemilinearPoisson};
//! use nalgebra::Complex;
//!
//! // The nonlinear Schrödinger equation on 161 nodes: the fastest linear mode has frequency 80² = 6400.
//! let system = Nls::new(161)?;
//! let mut state = system.sample(|x| Complex::new(1.0 / (2.0 + x.cos()), 0.0));
//! let mut scratch = system.scratch();
//! let energy = system.energy(&state, &mut scratch);
//!
//! // Steps of 0.1: 100 times what the implicit midpoint rule by fixed-point iteration can take.
//! let mut method = EnergyPreservingExponential::new(&system, 0.1, Iteration::default());
//! let iterations = method.run(100, &mut state)?;
//!
//! assert!((system.energy(&state, &mut scratch) / energy - 1.0).abs() < 1e-12);
//! assert!(iterations < 100 * 25);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

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

use crate::IntegrationError;

/// A one-step method, set up for a system and a step size.
pub trait Method {
    /// The step size.
    fn step_size(&self) -> f64;

    /// Carries `q` over one step that begins at `time` (which only errors tell of), and says how many iterations that
    /// took.
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
