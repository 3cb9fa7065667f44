//! The Lie-Newmark family of Simo and Vu-Quoc: Newmark's rules for the velocity, a map of SO(3) for the attitude.
//! Symmetric, of order 2, and neither symplectic nor conjugate to a symplectic method (Ortolan 2011, 4.1.1, 4.1.2).

use super::IntegrationError;
use super::RotationMap;
use super::rigid_body::{BodyMethod, BodyState, RigidBody, Step, TorqueGradient};
use lienav_lie::LieGroup;
use nalgebra::{Matrix3, Vector3};

/// The explicit Lie-Newmark method (ELN; γ = ½, β = 0), Ortolan 2011, (4.1): explicit in the torque, implicit in the
/// angular velocity. Exact for none of the invariants.
#[derive(Clone, Copy, Debug, Default)]
pub struct ExplicitLieNewmark {
    /// How the attitude is updated.
    pub map: RotationMap,
}

impl<B: RigidBody> BodyMethod<B> for ExplicitLieNewmark {
    #[inline]
    fn step(&self, body: &B, state: &BodyState, time: f64, h: f64) -> Result<BodyState, IntegrationError> {
        let step = Step { time, size: h };
        let moments = body.moments();
        let omega = state.angular_velocity;
        let gyroscopic = |omega: &Vector3<f64>| moments.component_mul(omega).cross(omega);
        let before = gyroscopic(&omega);
        let middle = omega + (0.5 * h * (before + body.torque(&state.attitude))).component_div(&moments);
        let attitude = state.attitude.compose(&self.map.rotation(&(h * middle)));
        let kicked = moments.component_mul(&middle) + 0.5 * h * body.torque(&attitude);
        let guess = (kicked + 0.5 * h * (2.0 * gyroscopic(&middle) - before)).component_div(&moments);
        let angular_velocity = step.newton(guess, |omega| {
            let f = trapezoidal_momentum(&moments, omega, h) - kicked;
            (f, trapezoidal_tangent(&moments, omega, h))
        })?;
        step.finite(BodyState { attitude, angular_velocity })
    }
}

/// The trapezoidal Lie-Newmark method (TLN; γ = ½, β = ¼), Ortolan 2011, (4.3): implicit in velocity and attitude.
#[derive(Clone, Copy, Debug, Default)]
pub struct TrapezoidalLieNewmark {
    /// How the attitude is updated.
    pub map: RotationMap,
}

impl<B: TorqueGradient> BodyMethod<B> for TrapezoidalLieNewmark {
    fn step(&self, body: &B, state: &BodyState, time: f64, h: f64) -> Result<BodyState, IntegrationError> {
        let step = Step { time, size: h };
        let moments = body.moments();
        let omega = state.angular_velocity;
        let torque = body.torque(&state.attitude);
        let momentum = moments.component_mul(&omega);
        let rhs = momentum + 0.5 * h * (momentum.cross(&omega) + torque);
        let angle_of = |next: &Vector3<f64>| 0.5 * h * (omega + next);
        let attitude_of = |angle: &Vector3<f64>| state.attitude.compose(&self.map.rotation(angle));
        let euler = omega + h * (momentum.cross(&omega) + torque).component_div(&moments);
        let angular_velocity = step.newton(euler, |next| {
            let angle = angle_of(next);
            let attitude = attitude_of(&angle);
            let f = trapezoidal_momentum(&moments, next, h) - 0.5 * h * body.torque(&attitude) - rhs;
            let torque_change = body.torque_gradient(&attitude) * self.map.right_tangent(&angle);
            (f, trapezoidal_tangent(&moments, next, h) - 0.25 * h * h * torque_change)
        })?;
        let attitude = attitude_of(&angle_of(&angular_velocity));
        step.finite(BodyState { attitude, angular_velocity })
    }
}

/// JΩ + (h/2) Ω × JΩ: what the implicit half of the gyroscopic kick makes of Ω.
#[inline]
pub(super) fn trapezoidal_momentum(moments: &Vector3<f64>, omega: &Vector3<f64>, h: f64) -> Vector3<f64> {
    let momentum = moments.component_mul(omega);
    momentum + 0.5 * h * omega.cross(&momentum)
}

/// The derivative of [`trapezoidal_momentum`]: J + (h/2)(Ω^J − (JΩ)^), with Ω^J − (JΩ)^ written out for a diagonal J.
#[inline]
pub(super) fn trapezoidal_tangent(moments: &Vector3<f64>, omega: &Vector3<f64>, h: f64) -> Matrix3<f64> {
    let (j, w) = (moments, 0.5 * h * omega);
    let (d12, d20, d01) = (j.z - j.y, j.x - j.z, j.y - j.x);
    Matrix3::new(j.x, d12 * w.z, d12 * w.y, d20 * w.z, j.y, d20 * w.x, d01 * w.y, d01 * w.x, j.z)
}

/// Close to the Ω with JΩ + (h/2) Ω × JΩ = `kicked`, for a body that turned at `omega`: the gyroscopic torque taken at
/// the velocity half an explicit step ahead.
#[inline]
pub(super) fn half_kicked(moments: &Vector3<f64>, omega: &Vector3<f64>, kicked: &Vector3<f64>, h: f64) -> Vector3<f64> {
    let ahead =
        |omega: &Vector3<f64>| (kicked + 0.5 * h * moments.component_mul(omega).cross(omega)).component_div(moments);
    ahead(&ahead(omega))
}
