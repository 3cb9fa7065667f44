//! The variational Lie-Verlet method of Bou-Rabee and Marsden.

use super::IntegrationError;
use super::lie_newmark::{half_kicked, trapezoidal_momentum, trapezoidal_tangent};
use super::rigid_body::{BodyMethod, BodyState, RigidBody, Step};
use lienav_lie::{LieGroup, So3};

/// The variational Lie-Verlet method (VLV), Ortolan 2011, (4.11). Symplectic and symmetric, of order 2; keeps the
/// spatial angular momentum of a free body and momenta of symmetries to rounding. Explicit in the torque.
///
/// With ξ the velocity of the step and x = hξ: JΩₖ + (h/2)τₖ = (dcay⁻¹_x)ᵀ Jξ, Rₖ₊₁ = Rₖ cay(x),
/// JΩₖ₊₁ = (dcay⁻¹_{−x})ᵀ Jξ + (h/2)τₖ₊₁, where (dcay⁻¹_x)ᵀ = I + x^/2 + xxᵀ/4.
#[derive(Clone, Copy, Debug, Default)]
pub struct VariationalLieVerlet;

impl<B: RigidBody> BodyMethod<B> for VariationalLieVerlet {
    #[inline]
    fn step(&self, body: &B, state: &BodyState, time: f64, h: f64) -> Result<BodyState, IntegrationError> {
        let step = Step { time, size: h };
        let moments = body.moments();
        let omega = state.angular_velocity;
        let kicked = moments.component_mul(&omega) + 0.5 * h * body.torque(&state.attitude);
        let quarter = 0.25 * h * h;
        let xi = step.newton(half_kicked(&moments, &omega, &kicked, h), |xi| {
            let momentum = moments.component_mul(xi);
            let twice_kinetic = xi.dot(&momentum);
            let f = trapezoidal_momentum(&moments, xi, h) + quarter * twice_kinetic * xi - kicked;
            let mut jacobian = trapezoidal_tangent(&moments, xi, h) + xi * (2.0 * quarter * momentum).transpose();
            (0..3).for_each(|i| jacobian[(i, i)] += quarter * twice_kinetic);
            (f, jacobian)
        })?;
        let attitude = state.attitude.compose(&So3::cayley(&(h * xi)));
        let twice_kinetic = xi.dot(&moments.component_mul(&xi));
        let momentum = trapezoidal_momentum(&moments, &xi, -h) + quarter * twice_kinetic * xi;
        let angular_velocity = (momentum + 0.5 * h * body.torque(&attitude)).component_div(&moments);
        step.finite(BodyState { attitude, angular_velocity })
    }
}
