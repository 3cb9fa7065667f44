//! Mechanical systems on products of spheres, (TS²)ⁿ, and their integrators: directions qᵢ that turn with q̇ᵢ = ωᵢ ×
//! qᵢ, under L = ½ Σ Mᵢⱼ q̇ᵢ·q̇ⱼ − V(q₁, …, qₙ) (Ortolan 2011, chapters 6 and 7).

mod lie_newmark;
mod lifted;
mod mass;
mod rattle;
#[cfg(test)]
mod tests;

pub use lie_newmark::SphereLieNewmark;
pub use lifted::{Lifted, SphereField, lifted, lowered};
pub use mass::{Coupled, Diagonal, ImplicitKick, SphereMass};
pub use rattle::SphereRattle;

use super::IntegrationError;
use lienav_lie::Ts2;
use nalgebra::Vector3;

/// A system of `N` directions with a quadratic kinetic energy and a potential of the directions.
pub trait SphereSystem<const N: usize> {
    /// How the kinetic energy couples the directions.
    type Mass: SphereMass<N>;

    /// M.
    fn mass(&self) -> &Self::Mass;
    /// V(q).
    fn potential(&self, q: &[Vector3<f64>; N]) -> f64;
    /// ∂V/∂qᵢ, as of a function on (ℝ³)ⁿ; only the part perpendicular to qᵢ matters.
    fn gradient(&self, q: &[Vector3<f64>; N]) -> [Vector3<f64>; N];

    /// ½ Σ Mᵢⱼ q̇ᵢ·q̇ⱼ + V.
    fn energy(&self, state: &[Ts2; N]) -> f64 {
        let velocity = state.map(|s| s.velocity());
        let momentum = self.mass().times(&velocity);
        let twice_kinetic: f64 = velocity.iter().zip(&momentum).map(|(v, p)| v.dot(p)).sum();
        0.5 * twice_kinetic + self.potential(&state.map(|s| s.q))
    }

    /// Σ qᵢ × pᵢ, pᵢ = Σ Mᵢⱼ q̇ⱼ; its component along an axis of symmetry is constant (Ortolan 2011, (7.6)).
    fn angular_momentum(&self, state: &[Ts2; N]) -> Vector3<f64> {
        let momentum = self.mass().times(&state.map(|s| s.velocity()));
        state.iter().zip(&momentum).map(|(s, p)| s.q.cross(p)).sum()
    }

    /// M⁻¹(−∂V): what the accelerations would be without constraints.
    fn free_acceleration(&self, q: &[Vector3<f64>; N]) -> [Vector3<f64>; N] {
        self.mass().divide(&self.gradient(q).map(|g| -g))
    }

    /// ω̇ of the equations of motion, Ortolan 2011, (6.5), with ω̇ⱼ in the first of their sums. They are solved for
    /// the n forces along the directions instead of for the 3n accelerations: q̈ = M⁻¹(−∂V + λq) with qᵢ·q̈ᵢ = −|ωᵢ|².
    fn angular_acceleration(&self, state: &[Ts2; N]) -> [Vector3<f64>; N] {
        let q = state.map(|s| s.q);
        let along = state.map(|s| -s.omega.norm_squared());
        let acceleration = self.mass().constrained(&q, &self.free_acceleration(&q), &along);
        std::array::from_fn(|i| q[i].cross(&acceleration[i]))
    }
}

/// A one-step method for systems on (TS²)ⁿ.
pub trait SphereMethod<const N: usize, S: SphereSystem<N>> {
    /// The state at `time` + `h` from that at `time`.
    ///
    /// # Errors
    /// An implicit step that does not converge; numbers that are not finite.
    fn step(&self, system: &S, state: &[Ts2; N], time: f64, h: f64) -> Result<[Ts2; N], IntegrationError>;
}

/// The state, if all of it is finite.
fn finite<const N: usize>(state: [Ts2; N], time: f64, step: f64) -> Result<[Ts2; N], IntegrationError> {
    // A direction can only go wrong with, or before, its velocity.
    if state.iter().all(|s| s.omega.iter().all(|x| x.is_finite())) {
        Ok(state)
    } else {
        Err(IntegrationError::NotFinite { time, step })
    }
}
