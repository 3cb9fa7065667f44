//! The explicit Lie-Newmark method on spheres.

use super::{SphereMass, SphereMethod, SphereSystem, finite, turning};
use crate::integrate::IntegrationError;
use crate::lie::{LieGroup, So3, Ts2, VectorSpace};
use nalgebra::Vector3;

/// The explicit Lie-Newmark method in space (ELN), Ortolan 2011, (7.1): half a kick, a turn about the fixed axis ω, half a
/// kick. Symmetric, of order 2. It keeps |q| and q·ω to rounding: the turn is about an axis perpendicular to q, and
/// accelerations are perpendicular to the q they belong to. Explicit but for the second half kick where the mass
/// couples directions; that one is solved by fixed-point iteration.
#[derive(Clone, Copy, Debug, Default)]
pub struct SphereLieNewmark;

const ITERATIONS: usize = 100;
/// Of an increment of ω, relative to ω.
const TOLERANCE: f64 = 2e-16;
/// Where rounding lets increments stop to fall they have to be this small.
const FLOOR: f64 = 1e-13;

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
            fixed_point(guess, kicked, time, h)?
        } else {
            kicked(&middle)
        };
        finite(std::array::from_fn(|i| Ts2 { q: q[i], omega: omega[i] }), time, h)
    }
}

fn fixed_point<const N: usize>(
    guess: [Vector3<f64>; N],
    map: impl Fn(&[Vector3<f64>; N]) -> [Vector3<f64>; N],
    time: f64,
    step: f64,
) -> Result<[Vector3<f64>; N], IntegrationError> {
    let (mut x, mut last, mut size) = (guess, f64::INFINITY, 0.0);
    for _ in 0..ITERATIONS {
        let next = map(&x);
        let change = next.plus_scaled(-1.0, &x).norm();
        // The guess counts too: the velocities themselves may pass through zero.
        size = next.norm() + guess.norm();
        x = next;
        if change <= TOLERANCE * size || (change >= last && change <= FLOOR * size) {
            return Ok(x);
        }
        last = change;
    }
    if !last.is_finite() {
        return Err(IntegrationError::NotFinite { time, step });
    }
    Err(IntegrationError::NotConverged {
        time,
        step,
        residual: last,
        tolerance: TOLERANCE * size,
        iterations: ITERATIONS,
    })
}
