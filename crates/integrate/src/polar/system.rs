//! What [`super::PolarVariational`] is run on: Hamiltonians and Lagrangians on SO(n), and every rigid body as both.

use super::super::rigid_body::RigidBody;
use lienav_lie::{So3, Square, hat, vee};
use nalgebra::Matrix3;

/// A Hamiltonian H(g, μ) on SO(n) × so(n)*, trivialized from the left: body momenta, where g is an attitude.
pub trait PolarHamiltonian<M: Square> {
    /// H(g, μ).
    fn energy(&self, g: &M, mu: &M) -> f64;
    /// Ω ← ∂H/∂μ.
    fn velocity(&self, g: &M, mu: &M, omega: &mut M);
    /// τ ← −∂H/∂g: H(g exp(δ), μ) = H(g, μ) − ⟨τ, δ⟩ + O(δ²).
    fn torque(&self, g: &M, mu: &M, tau: &mut M);
}

/// A Lagrangian L(g, Ω) on SO(n) × so(n), trivialized from the left, regular.
pub trait PolarLagrangian<M: Square> {
    /// μ ← ∂L/∂Ω.
    fn momentum(&self, g: &M, omega: &M, mu: &mut M);
    /// δ ← (∂²L/∂Ω²)⁻¹μ, or near it: how Ω is corrected where the momentum is off by μ.
    fn correction(&self, g: &M, mu: &M, delta: &mut M);
    /// τ ← ∂L/∂g.
    fn torque(&self, g: &M, omega: &M, tau: &mut M);
}

/// A system that does not depend on the attitude: its torque vanishes, and its momentum can be integrated alone.
pub trait LeftInvariant {}

/// Any rigid body, in matrices: μ = Π^, τ its torque.
impl<B: RigidBody> PolarHamiltonian<Matrix3<f64>> for B {
    fn energy(&self, g: &Matrix3<f64>, mu: &Matrix3<f64>) -> f64 {
        let momentum = vee(mu);
        let kinetic = 0.5 * momentum.dot(&momentum.component_div(&self.moments()));
        kinetic + self.potential(&So3::from_matrix_unchecked(*g))
    }
    #[inline]
    fn velocity(&self, _: &Matrix3<f64>, mu: &Matrix3<f64>, omega: &mut Matrix3<f64>) {
        *omega = hat(&vee(mu).component_div(&self.moments()));
    }
    #[inline]
    fn torque(&self, g: &Matrix3<f64>, _: &Matrix3<f64>, tau: &mut Matrix3<f64>) {
        *tau = hat(&RigidBody::torque(self, &So3::from_matrix_unchecked(*g)));
    }
}

impl<B: RigidBody> PolarLagrangian<Matrix3<f64>> for B {
    fn momentum(&self, _: &Matrix3<f64>, omega: &Matrix3<f64>, mu: &mut Matrix3<f64>) {
        *mu = hat(&RigidBody::momentum(self, &vee(omega)));
    }
    fn correction(&self, _: &Matrix3<f64>, mu: &Matrix3<f64>, delta: &mut Matrix3<f64>) {
        *delta = hat(&vee(mu).component_div(&self.moments()));
    }
    fn torque(&self, g: &Matrix3<f64>, _: &Matrix3<f64>, tau: &mut Matrix3<f64>) {
        *tau = hat(&RigidBody::torque(self, &So3::from_matrix_unchecked(*g)));
    }
}

/// What differs between the two sides.
pub(super) trait Side<M: Square> {
    /// Ω from μ, improving on what it holds; with memory to work in.
    fn velocity(&self, g: &M, mu: &M, omega: &mut M, scratch: [&mut M; 2]);
    fn torque(&self, g: &M, mu: &M, omega: &M, tau: &mut M);
}

pub(super) struct Hamiltonian<'a, H>(pub &'a H);

impl<M: Square, H: PolarHamiltonian<M>> Side<M> for Hamiltonian<'_, H> {
    #[inline]
    fn velocity(&self, g: &M, mu: &M, omega: &mut M, _: [&mut M; 2]) {
        self.0.velocity(g, mu, omega);
    }
    #[inline]
    fn torque(&self, g: &M, mu: &M, _: &M, tau: &mut M) {
        self.0.torque(g, mu, tau);
    }
}

pub(super) struct Lagrangian<'a, L>(pub &'a L);

impl<M: Square, L: PolarLagrangian<M>> Side<M> for Lagrangian<'_, L> {
    fn velocity(&self, g: &M, mu: &M, omega: &mut M, [residual, delta]: [&mut M; 2]) {
        self.0.momentum(g, omega, residual);
        residual.scale_by(-1.0);
        residual.add_scaled(1.0, mu);
        self.0.correction(g, residual, delta);
        omega.add_scaled(1.0, delta);
    }
    fn torque(&self, g: &M, _: &M, omega: &M, tau: &mut M) {
        self.0.torque(g, omega, tau);
    }
}
