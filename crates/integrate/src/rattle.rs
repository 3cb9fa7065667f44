//! RATTLE for a rigid body whose attitude is a matrix in the space of all 3 × 3 matrices, held orthogonal by
//! multipliers.

use super::floating_body::{FloatingBody, FloatingBodyMethod, FloatingBodyState, Load};
use super::quaternion::{CarriedQuaternion, Iteration, solve};
use super::{Convergence, IntegrationError};
use lienav_lie::So3;
use nalgebra::{Matrix3, Vector3};

/// RATTLE, Shen 2019, (3.28), in the Lagrangian tr(Q̇J_dQ̇ᵀ)/2 − V(x, Q) with momentum P = Q̇J_d:
///
/// P½ = P₀ − (h/2)(∂V/∂Q₀ + Q₀Λ₀),  Q₁ = Q₀ + hP½J_d⁻¹,  Q₁ᵀQ₁ = I;
/// P₁ = P½ − (h/2)(∂V/∂Q₁ + Q₁Λ₁),  Q₁ᵀP₁J_d⁻¹ skew; Λ₀, Λ₁ symmetric.
///
/// The multipliers are the symmetric parts of these equations seen from Q₀ and Q₁, so the skew parts are what is to
/// be solved. At Q₀ it is FJ_d − J_dFᵀ = h(Π₀ + (h/2)τ₀)^ for F = Q₀ᵀQ₁, which with F = π(c, v) is the equation of the
/// quaternion method, solved as there; at Q₁ it is linear. Hence the two methods give the same motion, as the
/// text proves; they differ in what they carry, and in what rounding does to it. Order two; symplectic; keeps momenta.
///
/// Q₁ is taken from q₁ = q₀(c, v), as in the text; a product Q₀F would lose orthogonality, and with it the size of the
/// momentum, which goes through QᵀP in every step. It also goes through J_d and back through J⁻¹, which, being
/// rounded, undo each other only to 10⁻¹⁶ and in the same direction in every step: the angular momentum is off by some
/// 10⁻¹⁰ after 10⁵ steps, where the quaternion method, which turns Π, is off by 10⁻¹³.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rattle {
    /// How the equation for F is solved.
    pub iteration: Iteration,
    /// Where the iteration ends.
    pub convergence: Convergence,
}

impl Default for Rattle {
    fn default() -> Self {
        Self { iteration: Iteration::Cross, convergence: Convergence::default() }
    }
}

/// State of [`Rattle`].
#[derive(Clone, Copy, Debug)]
pub struct RattleState {
    position: Vector3<f64>,
    momentum: Vector3<f64>,
    quaternion: CarriedQuaternion,
    // Q = π(q) and P.
    attitude: So3,
    attitude_momentum: Matrix3<f64>,
    load: Load,
}

impl FloatingBodyMethod for Rattle {
    type State = RattleState;

    fn name(&self) -> &'static str {
        "RATTLE (3.28)"
    }

    fn start<B: FloatingBody>(
        &self,
        body: &B,
        initial: &FloatingBodyState,
        _h: f64,
    ) -> Result<RattleState, IntegrationError> {
        let quaternion = CarriedQuaternion::from(initial.attitude);
        let attitude = quaternion.rotation();
        let omega = body.inertia().body_angular_velocity(&initial.body_angular_momentum);
        Ok(RattleState {
            position: initial.position,
            momentum: initial.momentum,
            quaternion,
            attitude,
            attitude_momentum: attitude.matrix() * omega.cross_matrix() * body.inertia().nonstandard(),
            load: body.load(&initial.position, &attitude),
        })
    }

    fn step<B: FloatingBody>(
        &self,
        body: &B,
        state: &mut RattleState,
        time: f64,
        h: f64,
    ) -> Result<usize, IntegrationError> {
        let half = 0.5 * h;
        let inertia = body.inertia();
        let q0 = state.attitude.matrix();
        let kicked = body_momentum(q0, &state.attitude_momentum) + state.load.torque_body * half;
        let increment = solve(inertia, &kicked, self.iteration, self.convergence, (time, h))?;
        let change = increment.rotation_less_one();
        let mut quaternion = state.quaternion;
        quaternion.turn_with(increment.w, &increment.v);
        let attitude = quaternion.rotation();
        let q1 = attitude.matrix();
        let p_half = q0 * (change * inertia.nonstandard()) / h;

        let p = state.momentum + state.load.force_world * half;
        let position = state.position + p * (h / body.mass());
        let load = body.load(&position, &attitude);
        let momentum = p + load.force_world * half;
        // The tangent part: Q₁ᵀP₁ = Ω₁^J_d with JΩ₁ what the skew part of Q₁ᵀ(P½ − (h/2)∂V/∂Q₁) says.
        let angular = body_momentum(q1, &p_half) + load.torque_body * half;
        let omega = inertia.body_angular_velocity(&angular);
        let attitude_momentum = q1 * (omega.cross_matrix() * inertia.nonstandard());
        if !(momentum.norm_squared() + angular.norm_squared()).is_finite() {
            return Err(IntegrationError::NotFinite { time, step: h });
        }
        *state = RattleState { position, momentum, quaternion, attitude, attitude_momentum, load };
        Ok(increment.iterations)
    }

    fn observe<B: FloatingBody>(&self, _body: &B, state: &RattleState, _h: f64) -> FloatingBodyState {
        FloatingBodyState {
            position: state.position,
            attitude: state.quaternion.value(),
            momentum: state.momentum,
            body_angular_momentum: body_momentum(state.attitude.matrix(), &state.attitude_momentum),
        }
    }

    fn constraint_error(&self, state: &RattleState) -> f64 {
        state.attitude.orthogonality_error()
    }
}

/// Π with Π^ = QᵀP − PᵀQ: for P = QΩ^J_d it is JΩ, since Ω^J_d + J_dΩ^ = (JΩ)^.
fn body_momentum(q: &Matrix3<f64>, p: &Matrix3<f64>) -> Vector3<f64> {
    let a = q.tr_mul(p);
    Vector3::new(a.m32 - a.m23, a.m13 - a.m31, a.m21 - a.m12)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dynamics::three_balls::ThreeBalls;
    use crate::quaternion::QuaternionIntegrator;

    /// (3.28) as it is printed: the parts that the multipliers have to make up are symmetric, the constraints hold.
    #[test]
    fn a_step_solves_the_printed_equations() {
        let (body, initial) = (ThreeBalls::default(), ThreeBalls::initial_state());
        let (method, h) = (Rattle::default(), 0.1);
        let mut state = method.start(&body, &initial, h).unwrap();
        for _ in 0..10 {
            let before = state;
            method.step(&body, &mut state, 0.0, h).unwrap();
            let nonstandard = body.inertia().nonstandard();
            let inverse = nonstandard.try_inverse().unwrap();
            let (q0, q1) = (before.attitude.matrix(), state.attitude.matrix());
            let p_half = (q1 - q0) * nonstandard / h;
            // ∂V/∂Q up to a symmetric part, which goes into the multiplier.
            let slope = |q: &Matrix3<f64>, load: &Load| q * load.torque_body.cross_matrix() * -0.5;
            let begin = q0.tr_mul(&(p_half - before.attitude_momentum + slope(q0, &before.load) * (0.5 * h)));
            let end = q1.tr_mul(&(state.attitude_momentum - p_half + slope(q1, &state.load) * (0.5 * h)));
            let tangent = q1.tr_mul(&state.attitude_momentum) * inverse;
            for symmetric in [begin, end] {
                assert!((symmetric - symmetric.transpose()).norm() < 1e-14, "{symmetric}");
            }
            assert!((tangent + tangent.transpose()).norm() < 1e-13 && method.constraint_error(&state) < 1e-14);
        }
    }

    #[test]
    fn it_moves_the_body_as_the_quaternion_method_does() {
        let (body, initial) = (ThreeBalls::default(), ThreeBalls::initial_state());
        let (rattle, quaternion, h) = (Rattle::default(), QuaternionIntegrator::default(), 0.05);
        let mut matrix = rattle.start(&body, &initial, h).unwrap();
        let mut unit = quaternion.start(&body, &initial, h).unwrap();
        for k in 0..1000 {
            let time = f64::from(k) * h;
            rattle.step(&body, &mut matrix, time, h).unwrap();
            quaternion.step(&body, &mut unit, time, h).unwrap();
        }
        let (a, b) = (rattle.observe(&body, &matrix, h), quaternion.observe(&body, &unit, h));
        let apart = [
            (a.position - b.position).norm(),
            a.attitude.angle_to(&b.attitude),
            (a.body_angular_momentum - b.body_angular_momentum).norm(),
        ];
        assert!(apart.iter().all(|distance| *distance < 1e-10), "{apart:?}");
    }
}
