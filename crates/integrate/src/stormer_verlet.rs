//! The Störmer–Verlet method on the rotation group, in rotation matrices.

use super::floating_body::{FloatingBody, FloatingBodyMethod, FloatingBodyState, Load};
use super::quaternion::rotation_less_one;
use super::{Convergence, Inertia, IntegrationError, RotationMap};
use lienav_lie::{Quat, So3};
use nalgebra::Vector3;

/// The Lie group Störmer–Verlet method: Bou-Rabee and Marsden 2009, (4.15)–(4.18), one of the three of Shen 2019,
/// table 3.1. The discrete Lagrangian is h(ℓ(ξ) − (V₀ + V₁)/2) with R₀ᵀR₁ = τ(hξ), so the step is
///
/// (dτ⁻¹_{hξ})*Jξ = Π₀ + (h/2)τ₀;  R₁ = R₀τ(hξ);  Π₁ = (dτ⁻¹_{−hξ})*Jξ + (h/2)τ₁,
///
/// with the right-trivialized tangent of the map. Order two; symplectic; symmetric; keeps momenta. The
/// quaternion method is of the same form with the map v ↦ (√(1 − |v|²), v).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StormerVerlet {
    /// τ.
    pub map: RotationMap,
    /// Where the iteration for ξ ends.
    pub convergence: Convergence,
}

impl Default for StormerVerlet {
    fn default() -> Self {
        Self { map: RotationMap::Cayley, convergence: Convergence::default() }
    }
}

/// State of [`StormerVerlet`].
#[derive(Clone, Copy, Debug)]
pub struct StormerVerletState {
    position: Vector3<f64>,
    momentum: Vector3<f64>,
    attitude: So3,
    body_angular_momentum: Vector3<f64>,
    load: Load,
}

impl FloatingBodyMethod for StormerVerlet {
    type State = StormerVerletState;

    fn name(&self) -> &'static str {
        match self.map {
            RotationMap::Cayley => "Störmer–Verlet, Cayley",
            RotationMap::Exponential => "Störmer–Verlet, exp",
        }
    }

    fn start<B: FloatingBody>(
        &self,
        body: &B,
        initial: &FloatingBodyState,
        _h: f64,
    ) -> Result<StormerVerletState, IntegrationError> {
        let attitude = So3::from(initial.attitude.to_rotation_matrix());
        Ok(StormerVerletState {
            position: initial.position,
            momentum: initial.momentum,
            load: body.load(&initial.position, &attitude),
            attitude,
            body_angular_momentum: initial.body_angular_momentum,
        })
    }

    fn step<B: FloatingBody>(
        &self,
        body: &B,
        state: &mut StormerVerletState,
        time: f64,
        h: f64,
    ) -> Result<usize, IntegrationError> {
        let half = 0.5 * h;
        let kicked = state.body_angular_momentum + state.load.torque_body * half;
        let (u, y, iterations) = self.solve(body.inertia(), &kicked, (time, h))?;
        let (c, v) = self.map.quaternion(&u);
        let r0 = state.attitude.matrix();
        let attitude = So3::from_matrix_unchecked(r0 + r0 * rotation_less_one(c, &v));
        let drifted = self.map.pulled_back(&-u, &y) * (2.0 / h);

        let p = state.momentum + state.load.force_world * half;
        let position = state.position + p * (h / body.mass());
        let load = body.load(&position, &attitude);
        let momentum = p + load.force_world * half;
        let body_angular_momentum = drifted + load.torque_body * half;
        if !(momentum.norm_squared() + body_angular_momentum.norm_squared()).is_finite() {
            return Err(IntegrationError::NotFinite { time, step: h });
        }
        *state = StormerVerletState { position, momentum, attitude, body_angular_momentum, load };
        Ok(iterations)
    }

    fn observe<B: FloatingBody>(&self, _body: &B, state: &StormerVerletState, _h: f64) -> FloatingBodyState {
        FloatingBodyState {
            position: state.position,
            attitude: Quat::from(state.attitude).unit_quaternion(),
            momentum: state.momentum,
            body_angular_momentum: state.body_angular_momentum,
        }
    }

    fn constraint_error(&self, state: &StormerVerletState) -> f64 {
        state.attitude.orthogonality_error()
    }
}

impl StormerVerlet {
    /// u = hξ/2 and Ju with (dτ⁻¹_{2u})*Ju = (h/2)M, by fixed-point iteration, and the number of iterations.
    #[inline]
    fn solve(
        &self,
        inertia: &Inertia,
        momentum: &Vector3<f64>,
        at: (f64, f64),
    ) -> Result<(Vector3<f64>, Vector3<f64>, usize), IntegrationError> {
        let b = momentum * (0.5 * at.1);
        let (y, iterations) = self.convergence.iterate(b, b.norm_squared(), at, |y| {
            let u = inertia.inverse() * y;
            let next = b - (self.map.pulled_back(&u, y) - y);
            (next, (next - y).norm_squared())
        })?;
        Ok((inertia.inverse() * y, y, iterations))
    }
}
