//! The methods of one force a step.

use super::{CanonicalMethod, Hamiltonian, PhasePoint};
use crate::{IntegrationError, fixed_point};
use nalgebra::DVector;

/// The two symplectic Euler methods of order 1, each the other's adjoint (Shen 2019, (1.18), (1.19) and their general
/// forms). Explicit where the Hamiltonian is separable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SymplecticEuler {
    /// Euler-A: both derivatives at (qₙ₊₁, pₙ); of a separable Hamiltonian positions first.
    A,
    /// Euler-B: both derivatives at (qₙ, pₙ₊₁); of a separable Hamiltonian momenta first.
    B,
}

impl CanonicalMethod for SymplecticEuler {
    fn name(&self) -> String {
        format!("symplectic Euler {self:?}")
    }
    fn order(&self) -> usize {
        1
    }
    fn step(
        &self,
        system: &dyn Hamiltonian,
        at: &PhasePoint,
        time: f64,
        h: f64,
    ) -> Result<PhasePoint, IntegrationError> {
        let PhasePoint { q, p } = at;
        match self {
            Self::A => {
                let q = drifted(system, q, p, (time, h), h)?;
                let p = p - h * system.by_position(&q, p);
                PhasePoint { q, p }.finite(time, h)
            }
            Self::B => {
                let p = kicked(system, q, p, (time, h), h)?;
                let q = q + h * system.by_momentum(q, &p);
                PhasePoint { q, p }.finite(time, h)
            }
        }
    }
}

/// Störmer–Verlet, Euler-A(h/2) ∘ Euler-B(h/2), of order 2 and symmetric (Shen 2019, (1.20) and its general form);
/// explicit where the Hamiltonian is separable.
#[derive(Clone, Copy, Debug, Default)]
pub struct StormerVerlet;

impl CanonicalMethod for StormerVerlet {
    fn name(&self) -> String {
        "Störmer–Verlet".into()
    }
    fn order(&self) -> usize {
        2
    }
    fn step(
        &self,
        system: &dyn Hamiltonian,
        at: &PhasePoint,
        time: f64,
        h: f64,
    ) -> Result<PhasePoint, IntegrationError> {
        let half = SymplecticEuler::B.step(system, at, time, 0.5 * h)?;
        SymplecticEuler::A.step(system, &half, time + 0.5 * h, 0.5 * h)
    }
}

/// The p' = p − s ∂H/∂q(q, p').
fn kicked(
    system: &dyn Hamiltonian,
    q: &DVector<f64>,
    p: &DVector<f64>,
    (time, step): (f64, f64),
    s: f64,
) -> Result<DVector<f64>, IntegrationError> {
    let guess = p - s * system.by_position(q, p);
    Ok(fixed_point::solve(guess, time, step, |next| p - s * system.by_position(q, next))?.0)
}

/// The q' = q + s ∂H/∂p(q', p).
fn drifted(
    system: &dyn Hamiltonian,
    q: &DVector<f64>,
    p: &DVector<f64>,
    (time, step): (f64, f64),
    s: f64,
) -> Result<DVector<f64>, IntegrationError> {
    let guess = q + s * system.by_momentum(q, p);
    Ok(fixed_point::solve(guess, time, step, |next| q + s * system.by_momentum(next, p))?.0)
}
