//! Rigid bodies nothing pulls at: in space, and in n dimensions.

use crate::polar::{LeftInvariant, PolarHamiltonian};
use crate::{RigidBody, TorqueGradient};
use lienav_lie::{So3, Square};
use nalgebra::{Matrix3, Vector3};

/// Euler's free body, by its principal moments of inertia. Its energy and its spatial angular momentum RJΩ are
/// constant.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FreeBody {
    /// The principal moments of inertia.
    pub moments: Vector3<f64>,
}

impl RigidBody for FreeBody {
    fn moments(&self) -> Vector3<f64> {
        self.moments
    }
    fn potential(&self, _: &So3) -> f64 {
        0.0
    }
    fn torque(&self, _: &So3) -> Vector3<f64> {
        Vector3::zeros()
    }
}

impl TorqueGradient for FreeBody {
    fn torque_gradient(&self, _: &So3) -> Matrix3<f64> {
        Matrix3::zeros()
    }
}

impl LeftInvariant for FreeBody {}

/// The free body in n dimensions (Manakov): mass distribution Λ = diag(λ), momentum M = ΛΩ + ΩΛ, so that
/// M_ij = (λᵢ + λⱼ)Ω_ij; Ṙ = RΩ, Ṁ = [M, Ω]. For n = 3 the moments of inertia are J₁ = λ₂ + λ₃ and so on. Its energy
/// and the invariants of M, tr M²ᵏ, are constant.
#[derive(Clone, Debug, PartialEq)]
pub struct FreeBodyN {
    /// λ, all pairs of a positive sum.
    pub distribution: Vec<f64>,
}

impl<M: Square> PolarHamiltonian<M> for FreeBodyN {
    fn energy(&self, _: &M, momentum: &M) -> f64 {
        let pairs = (0..momentum.size()).flat_map(|i| (0..i).map(move |j| (i, j)));
        let of_pair = |(i, j): (usize, usize)| momentum[(i, j)].powi(2) / (self.distribution[i] + self.distribution[j]);
        0.5 * pairs.map(of_pair).sum::<f64>()
    }
    fn velocity(&self, _: &M, momentum: &M, velocity: &mut M) {
        for i in 0..momentum.size() {
            for j in 0..momentum.size() {
                velocity[(i, j)] = momentum[(i, j)] / (self.distribution[i] + self.distribution[j]);
            }
        }
    }
    fn torque(&self, _: &M, _: &M, torque: &mut M) {
        torque.scale_by(0.0);
    }
}

impl LeftInvariant for FreeBodyN {}
