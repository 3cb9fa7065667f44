//! The explicit Lie-Newmark method on spheres.

use super::{SphereMass, SphereMethod, SphereSystem, finite, turning};
use crate::integrate::IntegrationError;
use crate::integrate::fixed_point::solve;
use crate::lie::{LieGroup, So3, Ts2};
use nalgebra::Vector3;

/// The explicit Lie-Newmark method in space (ELN), Ortolan 2011, (7.1): half a kick, a turn about the fixed axis ω, half a
/// kick. Symmetric, of order 2. It keeps |q| and q·ω to rounding: the turn is about an axis perpendicular to q, and
/// accelerations are perpendicular to the q they belong to. Explicit but for the second half kick where the mass
/// couples directions; that one is solved by fixed-point iteration.
#[derive(Clone, Copy, Debug, Default)]
pub struct SphereLieNewmark;

impl<const N: usize, S: SphereSystem<N>> SphereMethod<N, S> for SphereLieNewmark {
    fn step(&self, system: &S, state: &[Ts2; N], time: f64, h: f64) -> Result<[Ts2; N], IntegrationError> {
        let acceleration = system.angular_acceleration(state);
        let middle: [Vector3<f64>; N] = std::array::from_fn(|i| state[i].omega + 0.5 * h * acceleration[i]);
        let q: [Vector3<f64>; N] = std::array::from_fn(|i| So3::exp(&(h * middle[i])) * state[i].q);
        let free = system.free_acceleration(&q);
        let kicked = |omega: &[Vector3<f64>; N]| -> [Vector3<f64>; N] {
            let acceleration = turning(system.mass(), &q, &free, omega);
            std::array::from_fn(|i| middle[i] + 0.5 * h * acceleration[i])
        };
        let omega = if S::Mass::IS_COUPLED {
            let guess = std::array::from_fn(|i| middle[i] + 0.5 * h * acceleration[i]);
            solve(guess, time, h, kicked)?.0
        } else {
            kicked(&middle)
        };
        finite(std::array::from_fn(|i| Ts2 { q: q[i], omega: omega[i] }), time, h)
    }
}
