//! The explicit Lie-Newmark method on spheres.

use super::{ImplicitKick, SphereMass, SphereMethod, SphereSystem, finite};
use crate::IntegrationError;
use lienav_lie::{LieGroup, So3, Ts2};
use nalgebra::Vector3;

/// The explicit Lie-Newmark method in space (ELN), Ortolan 2011, (7.1): half a kick, a turn about the fixed axis ω,
/// half a kick. Symmetric, of order 2. It keeps |q| and q·ω to rounding: the turn is about an axis perpendicular to q,
/// and accelerations are perpendicular to the q they belong to. Explicit but for the second half kick where the mass
/// couples directions.
#[derive(Clone, Copy, Debug, Default)]
pub struct SphereLieNewmark;

impl<const N: usize, S: SphereSystem<N>> SphereMethod<N, S> for SphereLieNewmark {
    fn step(&self, system: &S, state: &[Ts2; N], time: f64, h: f64) -> Result<[Ts2; N], IntegrationError> {
        let acceleration = system.angular_acceleration(state);
        let middle: [Vector3<f64>; N] = std::array::from_fn(|i| state[i].omega + 0.5 * h * acceleration[i]);
        let q: [Vector3<f64>; N] = std::array::from_fn(|i| So3::exp(&(h * middle[i])) * state[i].q);
        let free = system.free_acceleration(&q);
        let guess = std::array::from_fn(|i| 2.0 * middle[i] - state[i].omega);
        let kick = ImplicitKick { q: &q, free: &free, middle: &middle };
        let omega = system.mass().kicked(&kick, &guess, time, h)?;
        finite(std::array::from_fn(|i| Ts2 { q: q[i], omega: omega[i] }), time, h)
    }
}
