//! The partitioned Runge-Kutta Munthe-Kaas method of Nukala and Shelton.

use super::IntegrationError;
use super::RotationMap;
use super::lie_newmark::{half_kicked, trapezoidal_momentum, trapezoidal_tangent};
use super::rigid_body::{BodyMethod, BodyState, RigidBody, Step};
use lienav_lie::LieGroup;

/// Lobatto IIIA for the attitude, IIIB for the velocity, two stages (PRK), Ortolan 2011, (4.8):
/// [`super::ExplicitLieNewmark`] with its half kicks exchanged, the implicit one first. Symmetric, of order 2, not
/// symplectic; with the Cayley map it keeps the spatial angular momentum of a free body, since JΩₖ₊₁ = cay(−hΩₖ₊½) JΩₖ
/// there.
#[derive(Clone, Copy, Debug, Default)]
pub struct PartitionedRkmk {
    /// How the attitude is updated.
    pub map: RotationMap,
}

impl<B: RigidBody> BodyMethod<B> for PartitionedRkmk {
    #[inline]
    fn step(&self, body: &B, state: &BodyState, time: f64, h: f64) -> Result<BodyState, IntegrationError> {
        let step = Step { time, size: h };
        let moments = body.moments();
        let omega = state.angular_velocity;
        let kicked = moments.component_mul(&omega) + 0.5 * h * body.torque(&state.attitude);
        let guess = half_kicked(&moments, &omega, &kicked, h);
        let middle = step.newton(guess, |omega| {
            (trapezoidal_momentum(&moments, omega, h) - kicked, trapezoidal_tangent(&moments, omega, h))
        })?;
        let attitude = state.attitude.compose(&self.map.rotation(&(h * middle)));
        let momentum = trapezoidal_momentum(&moments, &middle, -h) + 0.5 * h * body.torque(&attitude);
        step.finite(BodyState { attitude, angular_velocity: momentum.component_div(&moments) })
    }
}
