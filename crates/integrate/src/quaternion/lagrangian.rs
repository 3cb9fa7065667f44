//! The same integrator as a map of pairs of configurations.

use super::increment::Increment;
use super::{CarriedQuaternion, QuaternionIntegrator, solve};
use crate::IntegrationError;
use crate::floating_body::{FloatingBody, FloatingBodyMethod, FloatingBodyState};
use nalgebra::Vector3;

/// The integrator on the Lagrangian side, Shen 2019, (3.19) and (3.22): (x₀, q₀, x₁, q₁) ↦ (x₁, q₁, x₂, q₂) without
/// any momentum. The pair is kept as the first configuration and the change to the second, because a difference of
/// neighbouring positions, divided by h², would lose what the change has.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LagrangianQuaternionIntegrator(
    /// Solves the implicit equation, and makes the first pair.
    pub QuaternionIntegrator,
);

/// A pair of neighbouring configurations.
#[derive(Clone, Copy, Debug)]
pub struct LagrangianState {
    position: Vector3<f64>,
    attitude: CarriedQuaternion,
    position_change: Vector3<f64>,
    increment: Increment,
}

impl LagrangianState {
    /// G(q₁*q₀)J Im(q₁*q₀), less its sign: (h/2)M at the beginning of the pair.
    fn beginning(&self) -> Vector3<f64> {
        let Increment { v, w, y, .. } = &self.increment;
        y + (y * *w + v.cross(y))
    }

    /// G(q₀*q₁)J Im(q₀*q₁): (h/2)M' at its end.
    fn end(&self) -> Vector3<f64> {
        let Increment { v, w, y, .. } = &self.increment;
        y + (y * *w - v.cross(y))
    }
}

impl FloatingBodyMethod for LagrangianQuaternionIntegrator {
    type State = LagrangianState;

    fn name(&self) -> &'static str {
        "quaternion (3.22)"
    }

    fn start<B: FloatingBody>(
        &self,
        body: &B,
        initial: &FloatingBodyState,
        h: f64,
    ) -> Result<LagrangianState, IntegrationError> {
        let attitude = CarriedQuaternion::from(initial.attitude);
        let load = body.load(&initial.position, &attitude.rotation());
        let momentum = initial.momentum + load.force_world * (0.5 * h);
        let angular = initial.body_angular_momentum + load.torque_body * (0.5 * h);
        let increment = solve(body.inertia(), &angular, self.0.iteration, self.0.convergence, (0.0, h))?;
        let position_change = momentum * (h / body.mass());
        Ok(LagrangianState { position: initial.position, attitude, position_change, increment })
    }

    fn step<B: FloatingBody>(
        &self,
        body: &B,
        state: &mut LagrangianState,
        time: f64,
        h: f64,
    ) -> Result<usize, IntegrationError> {
        let mut next = *state;
        next.position += state.position_change;
        next.attitude.turn_with(state.increment.w, &state.increment.v);
        let load = body.load(&next.position, &next.attitude.rotation());
        next.position_change += load.force_world * (h * h / body.mass());
        let momentum = state.end() * (2.0 / h) + load.torque_body * h;
        next.increment = solve(body.inertia(), &momentum, self.0.iteration, self.0.convergence, (time, h))?;
        if !next.position_change.norm_squared().is_finite() {
            return Err(IntegrationError::NotFinite { time, step: h });
        }
        *state = next;
        Ok(next.increment.iterations)
    }

    /// The momenta by the discrete Legendre transform at the first configuration of the pair.
    fn observe<B: FloatingBody>(&self, body: &B, state: &LagrangianState, h: f64) -> FloatingBodyState {
        let load = body.load(&state.position, &state.attitude.rotation());
        FloatingBodyState {
            position: state.position,
            attitude: state.attitude.value(),
            momentum: state.position_change * (body.mass() / h) - load.force_world * (0.5 * h),
            body_angular_momentum: state.beginning() * (2.0 / h) - load.torque_body * (0.5 * h),
        }
    }

    fn constraint_error(&self, state: &LagrangianState) -> f64 {
        state.attitude.norm_error().abs()
    }
}
