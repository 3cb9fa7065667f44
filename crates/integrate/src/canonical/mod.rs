//! Hamiltonian systems on vector spaces, q̇ = ∂H/∂p, ṗ = −∂H/∂q, and the basic geometric methods for them: symplectic
//! Euler, Störmer–Verlet, partitioned Runge–Kutta methods, Galerkin variational integrators, RATTLE and SHAKE with any
//! constraint (Shen 2019, chapter 1); and Poisson systems, whose structure depends on the state.
//!
//! A pendulum by Störmer–Verlet: the energy oscillates and does not drift.
//!
//! ```
//! use lienav_integrate::canonical::{CanonicalMethod, Hamiltonian, PhasePoint, StormerVerlet, systems::Pendulum};
//!
//! let start = PhasePoint::new(&[1.0], &[0.0]);
//! let (mut point, energy) = (start.clone(), Pendulum.energy(&start.q, &start.p));
//! let mut largest = 0.0_f64;
//! for k in 0..10_000 {
//!     point = StormerVerlet.step(&Pendulum, &point, 0.1 * f64::from(k), 0.1)?;
//!     largest = largest.max((Pendulum.energy(&point.q, &point.p) - energy).abs());
//! }
//! assert!(largest < 2e-3, "{largest}");
//! # Ok::<(), lienav_integrate::IntegrationError>(())
//! ```

mod constrained;
mod galerkin;
mod newton;
mod one_stage;
mod partitioned;
pub mod poisson;
pub mod structure;
pub mod systems;
#[cfg(test)]
mod tests;

pub use constrained::{ConstrainedPartitioned, Constraint, Shake};
pub use galerkin::{ConstrainedGalerkin, Lagrangian, Quadrature, VariationalTwoPoint, galerkin};
pub use one_stage::{StormerVerlet, SymplecticEuler};
pub use partitioned::PartitionedRungeKutta;

use super::IntegrationError;
use nalgebra::DVector;

/// A Hamiltonian of positions and momenta, vectors of one length.
pub trait Hamiltonian {
    /// H(q, p).
    fn energy(&self, q: &DVector<f64>, p: &DVector<f64>) -> f64;
    /// ∂H/∂q.
    fn by_position(&self, q: &DVector<f64>, p: &DVector<f64>) -> DVector<f64>;
    /// ∂H/∂p.
    fn by_momentum(&self, q: &DVector<f64>, p: &DVector<f64>) -> DVector<f64>;
}

/// A point of the phase space.
#[derive(Clone, Debug, PartialEq)]
pub struct PhasePoint {
    /// Positions.
    pub q: DVector<f64>,
    /// Momenta, as many.
    pub p: DVector<f64>,
}

impl PhasePoint {
    /// From the components of both.
    pub fn new(q: &[f64], p: &[f64]) -> Self {
        Self { q: DVector::from_column_slice(q), p: DVector::from_column_slice(p) }
    }

    /// Positions, then momenta.
    pub fn stacked(&self) -> DVector<f64> {
        stack(&[&self.q, &self.p])
    }

    /// From positions, then momenta.
    pub fn of_stacked(x: &DVector<f64>) -> Self {
        let n = x.len() / 2;
        Self { q: x.rows(0, n).into_owned(), p: x.rows(n, x.len() - n).into_owned() }
    }

    /// The Euclidean distance in the phase space.
    pub fn distance(&self, other: &Self) -> f64 {
        (&self.q - &other.q).norm().hypot((&self.p - &other.p).norm())
    }

    /// An error where a number is not finite.
    fn finite(self, time: f64, step: f64) -> Result<Self, IntegrationError> {
        let is_finite = self.q.iter().chain(self.p.iter()).all(|x| x.is_finite());
        if is_finite { Ok(self) } else { Err(IntegrationError::NotFinite { time, step }) }
    }
}

/// A one-step method for any Hamiltonian.
pub trait CanonicalMethod {
    /// The name it is known by.
    fn name(&self) -> String;
    /// Its order of accuracy.
    fn order(&self) -> usize;
    /// The point after a step of `h`.
    ///
    /// # Errors
    /// An implicit step that does not converge, or numbers that are not finite.
    fn step(
        &self,
        system: &dyn Hamiltonian,
        at: &PhasePoint,
        time: f64,
        h: f64,
    ) -> Result<PhasePoint, IntegrationError>;
}

/// Vectors one below the other.
fn stack(parts: &[&DVector<f64>]) -> DVector<f64> {
    DVector::from_iterator(
        parts.iter().map(|part| part.len()).sum(),
        parts.iter().flat_map(|part| part.iter().copied()),
    )
}
