//! The Störmer–Verlet method on the rotation group, in rotation matrices.

use super::floating_body::{FloatingBody, FloatingBodyMethod, FloatingBodyState, Load};
use super::quaternion::rotation_less_one;
use super::{Convergence, Inertia, IntegrationError};
use crate::lie::{Quat, So3};
use nalgebra::Vector3;

/// The map τ from the algebra to the group that a step goes along.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LocalMap {
    /// (I − x^/2)⁻¹(I + x^/2): then the attitude part is the variational Lie–Verlet method.
    Cayley,
    /// The exponential.
    Exponential,
}

/// The Lie group Störmer–Verlet method: Bou-Rabee and Marsden 2009, (4.15)–(4.18), one of the three of Shen 2019, table 3.1.
/// The discrete Lagrangian is h(ℓ(ξ) − (V₀ + V₁)/2) with R₀ᵀR₁ = τ(hξ), so the step is
///
/// (dτ⁻¹_{hξ})*Jξ = Π₀ + (h/2)τ₀;  R₁ = R₀τ(hξ);  Π₁ = (dτ⁻¹_{−hξ})*Jξ + (h/2)τ₁,
///
/// with the right-trivialized tangent of the map. Order two; symplectic; symmetric; keeps momenta. The
/// quaternion method is of the same form with the map v ↦ (√(1 − |v|²), v).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StormerVerlet {
    /// τ.
    pub map: LocalMap,
    /// Where the iteration for ξ ends.
    pub convergence: Convergence,
}

impl Default for StormerVerlet {
    fn default() -> Self {
        Self { map: LocalMap::Cayley, convergence: Convergence::default() }
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
            LocalMap::Cayley => "Störmer–Verlet, Cayley",
            LocalMap::Exponential => "Störmer–Verlet, exp",
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

impl LocalMap {
    /// τ(2u) as a unit quaternion: scalar and vector part.
    #[inline]
    fn quaternion(self, u: &Vector3<f64>) -> (f64, Vector3<f64>) {
        match self {
            Self::Cayley => {
                let c = 1.0 / (1.0 + u.norm_squared()).sqrt();
                (c, u * c)
            }
            Self::Exponential => {
                let angle = u.norm();
                let sinc = if angle < 1e-4 { 1.0 - angle * angle / 6.0 } else { angle.sin() / angle };
                (angle.cos(), u * sinc)
            }
        }
    }

    /// (dτ⁻¹_{2u})*y: y + u × y + (u·y)u for the Cayley map, y + u × y + β u × (u × y), β = (1 − |u|cot|u|)/|u|², for the
    /// exponential.
    #[inline]
    fn pulled_back(self, u: &Vector3<f64>, y: &Vector3<f64>) -> Vector3<f64> {
        let cross = u.cross(y);
        match self {
            Self::Cayley => y + (cross + u * u.dot(y)),
            Self::Exponential => {
                let square = u.norm_squared();
                let beta = if square < 1e-3 {
                    1.0 / 3.0 + square * (1.0 / 45.0 + square * (2.0 / 945.0 + square / 4725.0))
                } else {
                    let angle = square.sqrt();
                    (1.0 - angle / angle.tan()) / square
                };
                y + (cross + u.cross(&cross) * beta)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nalgebra::{Matrix3, Quaternion, UnitQuaternion};

    const MAPS: [LocalMap; 2] = [LocalMap::Cayley, LocalMap::Exponential];

    fn unit((c, v): (f64, Vector3<f64>)) -> UnitQuaternion<f64> {
        UnitQuaternion::new_unchecked(Quaternion::from_parts(c, v))
    }

    #[test]
    fn the_maps_are_those_of_nalgebra_and_of_the_book() {
        for u in [Vector3::new(0.3, -0.2, 0.5), Vector3::new(1e-6, 2e-6, 0.0), Vector3::zeros()] {
            let exponential = UnitQuaternion::from_scaled_axis(u * 2.0);
            assert!(unit(LocalMap::Exponential.quaternion(&u)).angle_to(&exponential) < 1e-15);
            let half = u.cross_matrix();
            let cayley = (Matrix3::identity() - half).try_inverse().unwrap() * (Matrix3::identity() + half);
            let (c, v) = LocalMap::Cayley.quaternion(&u);
            assert!((rotation_less_one(c, &v) + Matrix3::identity() - cayley).norm() < 1e-15);
        }
    }

    /// ⟨(dτ⁻¹_x)*y, dτ_x δ⟩ = ⟨y, δ⟩ with dτ_x δ from finite differences.
    #[test]
    fn the_pulled_back_momentum_against_finite_differences() {
        let (y, step) = (Vector3::new(0.7, -0.4, 1.1), 1e-5);
        for map in MAPS {
            for u in [Vector3::new(0.3, -0.2, 0.5), Vector3::new(0.01, 0.02, -0.02), Vector3::new(0.02, 0.02, -0.02)] {
                let back = unit(map.quaternion(&u)).inverse();
                for delta in [Vector3::x(), Vector3::y(), Vector3::z()] {
                    // The algebra's element is x = 2u.
                    let at = |s: f64| (unit(map.quaternion(&(u + delta * (0.5 * s)))) * back).scaled_axis();
                    let tangent = (at(step) - at(-step)) / (2.0 * step);
                    assert!((map.pulled_back(&u, &y).dot(&tangent) - y.dot(&delta)).abs() < 1e-9, "{map:?} {u}");
                }
            }
        }
    }

    #[test]
    fn momentum_turns_with_the_frame() {
        let y = Vector3::new(0.7, -0.4, 1.1);
        for map in MAPS {
            for u in [Vector3::new(0.3, -0.2, 0.5), Vector3::new(1e-3, 0.0, 2e-3)] {
                let turned = unit(map.quaternion(&u)) * map.pulled_back(&-u, &y);
                assert!((turned - map.pulled_back(&u, &y)).norm() < 1e-14, "{map:?}");
            }
        }
    }
}
