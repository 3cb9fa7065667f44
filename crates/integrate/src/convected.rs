//! Methods that carry the momentum along with the attitude, so that a free body keeps its spatial angular momentum to
//! rounding whatever the step: LIEMID[EA] of Krysl, MCG of Nukala and Shelton, NEW3 of Koziara and Bićanić. All are
//! symmetric, of order 2, explicit in the torque and not symplectic.
//!
//! They are compositions of three maps: the kick K(h), Π ← Π + hτ(R); the explicit E(h), Ω = J⁻¹Π first, then
//! R ← R exp(hΩ), Π ← exp(−hΩ)Π; and its adjoint I(h), the same with Ω = J⁻¹Π afterwards. Leftmost last,
//!
//! - MCG(h) = K(h/2) E(h/2) I(h/2) K(h/2),
//! - LIEMID\[EA\](h) = K(h/2) E(h/4) I(h/4) E(h/4) I(h/4) K(h/2),
//! - NEW3(h) = I(h/2) K(h) E(h/2),
//!
//! so that NEW3 is conjugate to MCG: what one drifts, the other does.

use super::IntegrationError;
use super::rigid_body::{BodyMethod, BodyState, RigidBody, Step};
use lienav_lie::{LieGroup, So3, hat};
use nalgebra::{Matrix3, Vector3};

/// The explicit Lie midpoint method (LIEMID\[EA\]) of Krysl, Ortolan 2011, (4.6).
#[derive(Clone, Copy, Debug, Default)]
pub struct LieMidpoint;

impl<B: RigidBody> BodyMethod<B> for LieMidpoint {
    #[inline]
    fn step(&self, body: &B, state: &BodyState, time: f64, h: f64) -> Result<BodyState, IntegrationError> {
        let step = Step { time, size: h };
        let moments = body.moments();
        let momentum = moments.component_mul(&state.angular_velocity) + 0.5 * h * body.torque(&state.attitude);
        let first = So3::exp(&coast(step, &moments, &momentum, 0.5 * h)?);
        let momentum = first.rotate_back(&momentum);
        let second = So3::exp(&coast(step, &moments, &momentum, 0.5 * h)?);
        let attitude = state.attitude.compose(&first).compose(&second);
        let momentum = second.rotate_back(&momentum) + 0.5 * h * body.torque(&attitude);
        step.finite(BodyState { attitude, angular_velocity: momentum.component_div(&moments) })
    }
}

/// The modified Crouch-Grossman method (MCG) of Nukala and Shelton, Ortolan 2011, (4.9), where (4.9c) has to read
/// JΩₖ₊₁ = exp(−hΩₖ₊½)(JΩₖ + (h/2)τₖ) + (h/2)τₖ₊₁.
#[derive(Clone, Copy, Debug, Default)]
pub struct ModifiedCrouchGrossman;

impl<B: RigidBody> BodyMethod<B> for ModifiedCrouchGrossman {
    #[inline]
    fn step(&self, body: &B, state: &BodyState, time: f64, h: f64) -> Result<BodyState, IntegrationError> {
        let step = Step { time, size: h };
        let moments = body.moments();
        let momentum = moments.component_mul(&state.angular_velocity) + 0.5 * h * body.torque(&state.attitude);
        let turn = So3::exp(&coast(step, &moments, &momentum, h)?);
        let attitude = state.attitude.compose(&turn);
        let momentum = turn.rotate_back(&momentum) + 0.5 * h * body.torque(&attitude);
        step.finite(BodyState { attitude, angular_velocity: momentum.component_div(&moments) })
    }
}

/// Koziara and Bićanić's semi-explicit NEW3, Ortolan 2011, (4.10): one torque a step, in the middle.
#[derive(Clone, Copy, Debug, Default)]
pub struct KoziaraBicanic;

impl<B: RigidBody> BodyMethod<B> for KoziaraBicanic {
    #[inline]
    fn step(&self, body: &B, state: &BodyState, time: f64, h: f64) -> Result<BodyState, IntegrationError> {
        let step = Step { time, size: h };
        let moments = body.moments();
        let first = So3::exp(&(0.5 * h * state.angular_velocity));
        let middle = state.attitude.compose(&first);
        let momentum = first.rotate_back(&moments.component_mul(&state.angular_velocity)) + h * body.torque(&middle);
        // Π = exp(−hΩ/2)·momentum with Ω = J⁻¹Π: the equation of a whole step of coasting, of which half is made.
        let angle = coast(step, &moments, &momentum, h)?;
        let attitude = middle.compose(&So3::exp(&(0.5 * angle)));
        step.finite(BodyState { attitude, angular_velocity: angle / h })
    }
}

/// The angle Θ by which the free body of momentum Π turns in a time h by the Lie midpoint rule: JΘ = h exp(−Θ/2)Π. The
/// whole map is E(h/2) I(h/2): R ← R exp(Θ), Π ← exp(−Θ)Π.
#[inline]
fn coast(
    step: Step,
    moments: &Vector3<f64>,
    momentum: &Vector3<f64>,
    h: f64,
) -> Result<Vector3<f64>, IntegrationError> {
    let angle = (h * momentum).component_div(moments);
    let guess = angle + (0.5 * h * momentum.cross(&angle)).component_div(moments);
    step.newton(guess, |angle| {
        let half = 0.5 * angle;
        let middle = h * So3::exp(&half).rotate_back(momentum);
        (moments.component_mul(angle) - middle, Matrix3::from_diagonal(moments) - half_turn_tangent(&half, &middle))
    })
}

/// ½ m^ dexp_{−y}, by which m = exp(−y)Π changes with 2y: d(exp(x)Π) = (dexp_x dx) × exp(x)Π. The series of dexp are
/// cut off where Newton's iteration cannot tell below a radian; beyond, it takes a step more.
#[inline]
fn half_turn_tangent(y: &Vector3<f64>, m: &Vector3<f64>) -> Matrix3<f64> {
    let x = y.norm_squared();
    let g1 = 0.5 - x * (1.0 / 24.0 - x * (1.0 / 720.0 - x * (1.0 / 40_320.0)));
    let g2 = 1.0 / 6.0 - x * (1.0 / 120.0 - x * (1.0 / 5_040.0 - x * (1.0 / 362_880.0)));
    // m^(I − g₁y^ + g₂y^²), with m^y^ = y mᵀ − (m·y)I and m^y^² = y (m × y)ᵀ − (m·y)y^.
    let along = m.dot(y);
    let mut tangent = hat(&(0.5 * (m - g2 * along * y))) + y * (0.5 * (g2 * m.cross(y) - g1 * m)).transpose();
    (0..3).for_each(|i| tangent[(i, i)] += 0.5 * g1 * along);
    tangent
}
