//! How errors of constant biases move an increment.

use super::galilei::{COMMUTATOR, Exponential};
use super::step::Step;
use crate::imu::Imu;
use lienav_lie::hat;
use nalgebra::{Matrix3, SMatrix, Vector3};
use serde::{Deserialize, Serialize};

/// Minus the derivatives of ζ by the biases, integrals over the interval [0, T].
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct BiasIntegrals {
    /// ∫ΔR ds, s: of ζ_R by b_g and of ζ_v by b_a.
    pub rotation: Matrix3<f64>,
    /// ∫Δv^ ΔR ds, m: of ζ_v by b_g.
    pub velocity: Matrix3<f64>,
    /// ∫((T − s)Δv^ + Δp^)ΔR ds, m·s: of ζ_p by b_g.
    pub position: Matrix3<f64>,
    /// ∫(T − s)ΔR ds, s²: of ζ_p by b_a.
    pub twice: Matrix3<f64>,
}

/// a^ M, column by column.
#[inline]
pub fn cross(a: &Vector3<f64>, m: &Matrix3<f64>) -> Matrix3<f64> {
    let (x, y, z) = (m.row(0), m.row(1), m.row(2));
    Matrix3::from_rows(&[z * a.y - y * a.z, x * a.z - z * a.x, y * a.x - x * a.y])
}

impl BiasIntegrals {
    /// Adds a step. Within it, integrals are expanded to an error of h⁴.
    #[inline]
    pub fn add(&mut self, step: &Step, [first, second]: &[Imu; 2], exponential: &Exponential) {
        let h = step.duration_s;
        let kappa = COMMUTATOR * h * h;
        // ∫r ds of the rotation r within the step. J₁ has it for a constant rate; the change of the rate adds the rest.
        let turn = exponential.first * h - hat(&((second.rate - first.rate) * kappa));
        // ∫u^ r ds and ∫((h − s)u^ + q^)r ds of velocity u and position q within the step.
        let force = (first.force + second.force) * 0.5 - (second.force - first.force) * (6.0 * COMMUTATOR);
        let rate = (first.rate + second.rate) * 0.5;
        let u = exponential.increment.velocity;
        let of_velocity =
            hat(&(u * (h / 3.0) + force * (h * h / 6.0))) + cross(&(force * (h * h * h / 3.0)), &hat(&rate));
        // R x^ = (R x)^ R.
        let of_position = u * (h * h / 3.0);
        let r = &step.rotation;
        let turned = r * turn;
        self.position += self.velocity * h + cross(&(r * of_position), r) + cross(&step.coasting, &turned);
        self.velocity += r * of_velocity + cross(&step.velocity, &turned);
        self.twice += self.rotation * h + r * exponential.second * (h * h);
        self.rotation += turned;
    }

    /// ∂ζ/∂(b_g, b_a), 9 × 6.
    pub fn jacobian(&self) -> SMatrix<f64, 9, 6> {
        let mut jacobian = SMatrix::<f64, 9, 6>::zeros();
        let blocks = [
            (0, 0, self.rotation),
            (3, 0, self.velocity),
            (3, 3, self.rotation),
            (6, 0, self.position),
            (6, 3, self.twice),
        ];
        for (row, column, block) in blocks {
            jacobian.fixed_view_mut::<3, 3>(row, column).copy_from(&-block);
        }
        jacobian
    }
}
