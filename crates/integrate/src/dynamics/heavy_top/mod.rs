//! The heavy top in its three formulations (Celledoni et al. 2021, section 3.4).
//!
//! Attitude Q from body to world, angular velocity Ω and momentum Π = 𝕀Ω in the body frame, π = QΠ in the world frame.
//! Without weight it is the free rigid body.

use crate::VectorField;
use crate::cotangent::CotangentHamiltonian;
use lienav_lie::se3::{join, split};
use lienav_lie::{Coadjoint, Se3, So3, Translation, hat};
use nalgebra::{Matrix3, Vector3, Vector6};

/// A rigid body with a fixed point in a field of gravity, H = ½Π·𝕀⁻¹Π + s·Γ with Γ = QᵀΓ₀.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HeavyTop {
    /// The diagonal of 𝕀 about the fixed point, kg m².
    pub moments: Vector3<f64>,
    /// s: mass times the vector from the fixed point to the centre of mass, in the body frame, kg m.
    pub first_moment: Vector3<f64>,
    /// Γ₀ in the world frame, m/s²; where H is the energy, the acceleration of gravity turned upward.
    pub gravity: Vector3<f64>,
}

/// (Q, π) on T*SO(3), trivialized from the right: (20)–(22).
pub type Canonical = (So3, Translation<Vector3<f64>>);

/// (Π, Γ) on 𝔰𝔢(3)*: (23), (24).
pub type LiePoisson = Coadjoint<Se3>;

/// SO(3) × ℝ³ with (Q, q), on whose cotangent bundle H is quadratic, section 3.4.3; the momenta are (π, p), p = −s.
pub type Extended = (So3, Translation<Vector3<f64>>);

impl HeavyTop {
    /// The top of section 3.4.4, 𝕀 = diag(0.234375, 0.46875, 0.234375), ℓ = 2, M = 15, 𝒳 = (0, 1, 0) and
    /// Γ₀ = (0, 0, −9.81), signs as printed. The text's Mgℓ with this Γ₀ is read as Mℓ, for Γ₀ has g in it.
    pub fn of_celledoni() -> Self {
        Self {
            moments: Vector3::new(0.234_375, 0.468_75, 0.234_375),
            first_moment: Vector3::new(0.0, 30.0, 0.0),
            gravity: Vector3::new(0.0, 0.0, -9.81),
        }
    }

    /// Π(0) = 𝕀(0, 150, −4.61538) of the same section, with Q(0) = I.
    pub fn initial_momentum(&self) -> Vector3<f64> {
        self.moments.component_mul(&Vector3::new(0.0, 150.0, -4.61538))
    }

    /// A body with these moments and no weight.
    pub fn free(moments: Vector3<f64>) -> Self {
        Self { moments, first_moment: Vector3::zeros(), gravity: Vector3::zeros() }
    }

    /// H of Π and Γ.
    pub fn energy_of(&self, body_momentum: &Vector3<f64>, gravity_body: &Vector3<f64>) -> f64 {
        0.5 * body_momentum.dot(&self.body_angular_velocity(body_momentum)) + self.first_moment.dot(gravity_body)
    }

    /// 𝕀⁻¹Π.
    pub fn body_angular_velocity(&self, body_momentum: &Vector3<f64>) -> Vector3<f64> {
        body_momentum.component_div(&self.moments)
    }

    /// ω = Q𝕀⁻¹Qᵀπ.
    fn spatial_angular_velocity(&self, attitude: &So3, spatial_momentum: &Vector3<f64>) -> Vector3<f64> {
        *attitude * self.body_angular_velocity(&attitude.rotate_back(spatial_momentum))
    }

    /// Γ₀ × Qs, (21).
    fn spatial_torque(&self, attitude: &So3) -> Vector3<f64> {
        self.gravity.cross(&(*attitude * self.first_moment))
    }

    /// The momentum p = −s of the extended formulation, that stays.
    pub fn extended_momentum(&self) -> Vector3<f64> {
        -self.first_moment
    }
}

/// Q̇ = ω^Q, π̇ = Γ₀ × Qs, by SO(3) × ℝ³ acting factor by factor.
impl VectorField<Canonical> for HeavyTop {
    #[inline]
    fn generator(&self, _: f64, (attitude, momentum): &Canonical) -> (Vector3<f64>, Vector3<f64>) {
        (self.spatial_angular_velocity(attitude, &momentum.0), self.spatial_torque(attitude))
    }
}

/// μ̇ = ad*_{∂H/∂μ}μ, so f = −(Ω, s): Π̇ = Π × Ω + Γ × s, Γ̇ = Γ × Ω, and |Γ| and Π·Γ are kept to rounding.
impl VectorField<LiePoisson> for HeavyTop {
    #[inline]
    fn generator(&self, _: f64, point: &LiePoisson) -> Vector6<f64> {
        let (body_momentum, _) = split(&point.0);
        -join(&self.body_angular_velocity(&body_momentum), &self.first_moment)
    }
}

/// Euler's equations of the body without weight on 𝔰𝔬(3)*: Π̇ = Π × Ω.
impl VectorField<Coadjoint<So3>> for HeavyTop {
    #[inline]
    fn generator(&self, _: f64, body_momentum: &Coadjoint<So3>) -> Vector3<f64> {
        -self.body_angular_velocity(&body_momentum.0)
    }
}

/// The same motion in the vector space around SO(3) × ℝ³, as integrators see it that know of no group: the nine
/// entries of Q and π.
impl VectorField<(Translation<Matrix3<f64>>, Translation<Vector3<f64>>)> for HeavyTop {
    fn generator(
        &self,
        _: f64,
        (attitude, momentum): &(Translation<Matrix3<f64>>, Translation<Vector3<f64>>),
    ) -> (Matrix3<f64>, Vector3<f64>) {
        let q = attitude.0;
        let omega = q * self.body_angular_velocity(&(q.tr_mul(&momentum.0)));
        (hat(&omega) * q, self.gravity.cross(&(q * self.first_moment)))
    }
}

impl CotangentHamiltonian<So3> for HeavyTop {
    fn energy(&self, attitude: &So3, momentum: &Vector3<f64>) -> f64 {
        self.energy_of(&attitude.rotate_back(momentum), &attitude.rotate_back(&self.gravity))
    }
    #[inline]
    fn velocity(&self, attitude: &So3, momentum: &Vector3<f64>) -> Vector3<f64> {
        self.spatial_angular_velocity(attitude, momentum)
    }
    /// The torque, less what the kinetic energy changes by when the body is turned and π is not.
    #[inline]
    fn force(&self, attitude: &So3, momentum: &Vector3<f64>) -> Vector3<f64> {
        self.spatial_torque(attitude) - self.spatial_angular_velocity(attitude, momentum).cross(momentum)
    }
}

/// H = ½Π·𝕀⁻¹Π + ½|p − Γ|² − ½|Γ|² on T*(SO(3) × ℝ³), (29)–(32).
impl CotangentHamiltonian<Extended> for HeavyTop {
    fn energy(&self, (attitude, _): &Extended, (momentum, p): &(Vector3<f64>, Vector3<f64>)) -> f64 {
        let (body_momentum, gamma) = (attitude.rotate_back(momentum), attitude.rotate_back(&self.gravity));
        0.5 * (body_momentum.dot(&self.body_angular_velocity(&body_momentum)) + (p - gamma).norm_squared()
            - gamma.norm_squared())
    }
    fn velocity(
        &self,
        (attitude, _): &Extended,
        (momentum, p): &(Vector3<f64>, Vector3<f64>),
    ) -> (Vector3<f64>, Vector3<f64>) {
        (self.spatial_angular_velocity(attitude, momentum), p - attitude.rotate_back(&self.gravity))
    }
    fn force(
        &self,
        (attitude, _): &Extended,
        (momentum, p): &(Vector3<f64>, Vector3<f64>),
    ) -> (Vector3<f64>, Vector3<f64>) {
        let kinetic = self.spatial_angular_velocity(attitude, momentum).cross(momentum);
        (-self.gravity.cross(&(*attitude * *p)) - kinetic, Vector3::zeros())
    }
}

#[cfg(test)]
mod tests;
