//! RATTLE on spheres.

use super::{SphereMass, SphereMethod, SphereSystem, finite};
use crate::IntegrationError;
use lienav_lie::Ts2;
use nalgebra::Vector3;

/// RATTLE with the constraints |qᵢ|² = 1, Ortolan 2011, (7.4). Symplectic and symmetric, of order 2; keeps the momenta
/// of linear symmetries. It works with velocities v = q̇; a state is brought back as ω = q × v.
#[derive(Clone, Copy, Debug, Default)]
pub struct SphereRattle;

impl<const N: usize, S: SphereSystem<N>> SphereMethod<N, S> for SphereRattle {
    fn step(&self, system: &S, state: &[Ts2; N], time: f64, h: f64) -> Result<[Ts2; N], IntegrationError> {
        let mass = system.mass();
        let q = state.map(|s| s.q);
        let free = system.free_acceleration(&q);
        let moved: [Vector3<f64>; N] = std::array::from_fn(|i| q[i] + h * (state[i].velocity() + 0.5 * h * free[i]));
        let next = mass.onto_spheres(&q, &moved, time, h)?;
        let free = system.free_acceleration(&next);
        // The middle velocity is the chord by h; the second half kick takes the part along q away.
        let kicked: [Vector3<f64>; N] = std::array::from_fn(|i| (next[i] - q[i]) / h + 0.5 * h * free[i]);
        let velocity = mass.constrained(&next, &kicked, &[0.0; N]);
        finite(std::array::from_fn(|i| Ts2 { q: next[i], omega: next[i].cross(&velocity[i]) }), time, h)
    }
}
