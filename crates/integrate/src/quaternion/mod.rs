//! The Lie group variational integrator of a rigid body in unit quaternions: Shen 2019, chapter 3.
//!
//! The discrete Lagrangian (3.16), h(m|Δx/h|²/2 + 2/h² Im(q₀*q₁)·J Im(q₀*q₁) − (V₀ + V₁)/2), gives a symplectic,
//! symmetric map of order two that keeps the momentum map of every symmetry of the potential. Written in Π = w/2
//! instead of the text's w it is kick, drift, kick:
//!
//! Π⁺ = Π₀ + (h/2)τ₀;  c·Jv + v × Jv = (h/2)Π⁺;  q₁ = q₀(c, v);  Π₁ = (2/h)(c·Jv − v × Jv) + (h/2)τ₁.
//!
//! The drift is the discrete free rigid body of Moser and Veselov. Its q₁ is of unit norm because (c, v) is; how it
//! stays so in rounded arithmetic is [`CarriedQuaternion`]'s subject.

mod carried;
mod increment;
mod lagrangian;
#[cfg(test)]
mod tests;

pub use carried::CarriedQuaternion;
pub use increment::Iteration;
pub(super) use increment::{rotation_less_one, solve};
pub use lagrangian::LagrangianQuaternionIntegrator;

use super::floating_body::{FloatingBody, FloatingBodyMethod, FloatingBodyState, Inertia, Load};
use super::{Convergence, IntegrationError};
use nalgebra::Vector3;

/// The integrator on the Hamiltonian side, (3.23).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct QuaternionIntegrator {
    /// How the implicit equation is solved; the result is the same to rounding.
    pub iteration: Iteration,
    /// Where the iteration ends.
    pub convergence: Convergence,
}

impl Default for QuaternionIntegrator {
    /// By (3.26), to rounding.
    fn default() -> Self {
        Self { iteration: Iteration::Cross, convergence: Convergence::default() }
    }
}

/// Attitude and momentum of a body that turns freely or under a given torque.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rotation {
    /// R, body to world.
    pub attitude: CarriedQuaternion,
    /// Π = JΩ, in the body frame.
    pub body_angular_momentum: Vector3<f64>,
}

impl QuaternionIntegrator {
    /// The free motion over h: Π turns with the frame, so that RΠ stays as it is. Returns the number of iterations.
    /// Order two; symplectic; |Π|, the momentum in the world frame and the energy are kept to rounding (the map of
    /// Moser and Veselov is integrable as the true flow is).
    ///
    /// # Errors
    /// Where Π is not finite or no turn of less than half a revolution solves the step; `rotation` is then as it was.
    /// `time` goes into the error only.
    #[inline]
    pub fn drift(
        &self,
        inertia: &Inertia,
        rotation: &mut Rotation,
        time: f64,
        h: f64,
    ) -> Result<usize, IntegrationError> {
        let momentum = &mut rotation.body_angular_momentum;
        let increment = solve(inertia, momentum, self.iteration, self.convergence, (time, h))?;
        *momentum -= increment.momentum_change(h);
        rotation.attitude.turn_with(increment.w, &increment.v);
        Ok(increment.iterations)
    }

    /// A step under an applied torque, given in the body frame at the beginning and at the end of the step (both the
    /// same where it is held): the discrete Lagrange–d'Alembert principle with the forces f⁻ = hτ₀/2, f⁺ = hτ₁/2.
    /// Order two where the torque is smooth in time; the balance R₁Π₁ − R₀Π₀ = (h/2)(R₀τ₀ + R₁τ₁) holds to rounding;
    /// without torque it is the symplectic [`drift`](Self::drift), so no energy is made or lost but by the torque.
    ///
    /// # Errors
    /// As [`drift`](Self::drift).
    ///
    /// ```
    /// use lienav_integrate::{Inertia, quaternion::{QuaternionIntegrator, Rotation}};
    /// use nalgebra::{UnitQuaternion, Vector3};
    ///
    /// let inertia = Inertia::principal(Vector3::new(0.02, 0.03, 0.04))?;
    /// let start = UnitQuaternion::identity();
    /// let mut body = Rotation { attitude: start.into(), body_angular_momentum: Vector3::zeros() };
    /// let (torque, h) = (Vector3::new(0.0, 0.0, 0.001), 0.005);
    /// for k in 0..200 {
    ///     QuaternionIntegrator::default().step_forced(&inertia, &mut body, [torque; 2], f64::from(k) * h, h)?;
    /// }
    /// let rate = inertia.body_angular_velocity(&body.body_angular_momentum);
    /// assert!((rate.z - 0.025).abs() < 1e-12 && (body.attitude.value().angle() - 0.0125).abs() < 1e-6);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn step_forced(
        &self,
        inertia: &Inertia,
        rotation: &mut Rotation,
        [torque_begin, torque_end]: [Vector3<f64>; 2],
        time: f64,
        h: f64,
    ) -> Result<usize, IntegrationError> {
        let mut next = *rotation;
        next.body_angular_momentum += torque_begin * (0.5 * h);
        let iterations = self.drift(inertia, &mut next, time, h)?;
        next.body_angular_momentum += torque_end * (0.5 * h);
        if !next.body_angular_momentum.norm_squared().is_finite() {
            return Err(IntegrationError::NotFinite { time, step: h });
        }
        *rotation = next;
        Ok(iterations)
    }
}

/// State of [`QuaternionIntegrator`] in a potential.
#[derive(Clone, Copy, Debug)]
pub struct QuaternionState {
    position: Vector3<f64>,
    momentum: Vector3<f64>,
    rotation: Rotation,
    // At this position and attitude: the end of a step and the beginning of the next need the same one.
    load: Load,
}

impl FloatingBodyMethod for QuaternionIntegrator {
    type State = QuaternionState;

    fn name(&self) -> &'static str {
        match self.iteration {
            Iteration::Linear => "quaternion (3.23), by (3.25)",
            Iteration::Cross => "quaternion (3.23), by (3.26)",
            Iteration::Newton => "quaternion (3.23), by Newton",
        }
    }

    fn start<B: FloatingBody>(
        &self,
        body: &B,
        initial: &FloatingBodyState,
        _h: f64,
    ) -> Result<QuaternionState, IntegrationError> {
        let attitude = CarriedQuaternion::from(initial.attitude);
        Ok(QuaternionState {
            position: initial.position,
            momentum: initial.momentum,
            rotation: Rotation { attitude, body_angular_momentum: initial.body_angular_momentum },
            load: body.load(&initial.position, &attitude.rotation()),
        })
    }

    #[inline]
    fn step<B: FloatingBody>(
        &self,
        body: &B,
        state: &mut QuaternionState,
        time: f64,
        h: f64,
    ) -> Result<usize, IntegrationError> {
        let mut next = *state;
        next.kick(0.5 * h);
        let iterations = self.drift(body.inertia(), &mut next.rotation, time, h)?;
        next.position += next.momentum * (h / body.mass());
        next.load = body.load(&next.position, &next.rotation.attitude.rotation());
        next.kick(0.5 * h);
        if !next.is_finite() {
            return Err(IntegrationError::NotFinite { time, step: h });
        }
        *state = next;
        Ok(iterations)
    }

    fn observe<B: FloatingBody>(&self, _body: &B, state: &QuaternionState, _h: f64) -> FloatingBodyState {
        FloatingBodyState {
            position: state.position,
            attitude: state.rotation.attitude.value(),
            momentum: state.momentum,
            body_angular_momentum: state.rotation.body_angular_momentum,
        }
    }

    fn constraint_error(&self, state: &QuaternionState) -> f64 {
        state.rotation.attitude.norm_error().abs()
    }
}

impl QuaternionState {
    fn kick(&mut self, time: f64) {
        self.momentum += self.load.force_world * time;
        self.rotation.body_angular_momentum += self.load.torque_body * time;
    }

    fn is_finite(&self) -> bool {
        (self.momentum.norm_squared() + self.rotation.body_angular_momentum.norm_squared()).is_finite()
    }
}
