//! The midpoint rule on Euler's equations with a reconstruction of the attitude (Austin, Krishnaprasad and Wang 1993;
//! Simo and Wong's conserving algorithm is the same map for a free body).

use super::rigid_body::{BodyMethod, BodyState, RigidBody, Step};
use super::{IntegrationError, RotationMap, fixed_point};
use lienav_lie::LieGroup;

/// With the mean velocity Ω̄ = (Ωₖ + Ωₖ₊₁)/2: Rₖ₊₁ = Rₖ τ(hΩ̄), and the spatial momentum changes by the mean of the
/// torques at both ends, Rₖ₊₁JΩₖ₊₁ = RₖJΩₖ + (h/2)(Rₖτₖ + Rₖ₊₁τₖ₊₁). A free body keeps its spatial momentum, and its
/// energy, for Ω̄ is the axis of τ(hΩ̄). Symmetric, of order 2, implicit in the torque, not symplectic with a torque.
#[derive(Clone, Copy, Debug, Default)]
pub struct EnergyMomentum {
    /// How the attitude is updated. With the Cayley map the free body's momentum obeys the midpoint rule.
    pub map: RotationMap,
}

impl<B: RigidBody> BodyMethod<B> for EnergyMomentum {
    fn step(&self, body: &B, state: &BodyState, time: f64, h: f64) -> Result<BodyState, IntegrationError> {
        let moments = body.moments();
        let omega = state.angular_velocity;
        let kicked = moments.component_mul(&omega) + 0.5 * h * body.torque(&state.attitude);
        let turn = |next: &nalgebra::Vector3<f64>| self.map.rotation(&(0.5 * h * (omega + next)));
        let guess =
            omega + h * (body.momentum(&omega).cross(&omega) + body.torque(&state.attitude)).component_div(&moments);
        let (angular_velocity, _) = fixed_point::solve(guess, time, h, |next| {
            let turn = turn(next);
            let torque = body.torque(&state.attitude.compose(&turn));
            (turn.rotate_back(&kicked) + 0.5 * h * torque).component_div(&moments)
        })?;
        let attitude = state.attitude.compose(&turn(&angular_velocity));
        Step { time, size: h }.finite(BodyState { attitude, angular_velocity })
    }
}
