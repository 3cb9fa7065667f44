//! A dipole at the end of a stick, under gravity and beside a fixed charge.

use crate::RigidBody;
use lienav_lie::So3;
use nalgebra::Vector3;

/// The dipole on a stick of Bogfjellmo and Marthinsen, as in Shen, Tran & Leok 2022, (29): two charges ±q of mass m/2
/// at y± = (0, ±α, −1) of a body that turns about the origin, gravity along −e₃, and a charge β at z:
/// U(R) = m e₃·R e₃ + qβ(1/|Ry₊ − z| − 1/|Ry₋ − z|), J = m·diag(1 + α², 1, α²). In the text's units.
///
/// The text's potential has gravity's sign as if the masses were at +e₃; it is kept.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DipoleOnAStick {
    /// m.
    pub mass: f64,
    /// α, half the distance of the charges, in stick lengths.
    pub half_distance: f64,
    /// qβ, the product of the charges.
    pub charges: f64,
    /// z, where the fixed charge is.
    pub fixed_charge: Vector3<f64>,
}

impl Default for DipoleOnAStick {
    /// The parameters of the text.
    fn default() -> Self {
        Self { mass: 1.0, half_distance: 0.1, charges: 1.0, fixed_charge: Vector3::new(0.0, 0.0, -1.5) }
    }
}

impl DipoleOnAStick {
    /// The initial attitude of the text: body axis 2 upwards.
    pub fn initial_attitude() -> So3 {
        So3::from_matrix_unchecked(nalgebra::Matrix3::new(1.0, 0.0, 0.0, 0.0, 0.0, -1.0, 0.0, 1.0, 0.0))
    }

    /// The initial angular velocity of the text, g₀ᵀe₂ in the body: p(0) = g₀Jg₀ᵀe₂ there is the spatial momentum.
    pub fn initial_angular_velocity() -> Vector3<f64> {
        Self::initial_attitude().rotate_back(&Vector3::y())
    }

    fn charge_places(&self) -> [(f64, Vector3<f64>); 2] {
        [1.0, -1.0].map(|sign| (sign * self.charges, Vector3::new(0.0, sign * self.half_distance, -1.0)))
    }
}

impl RigidBody for DipoleOnAStick {
    fn moments(&self) -> Vector3<f64> {
        let square = self.half_distance * self.half_distance;
        Vector3::new(1.0 + square, 1.0, square) * self.mass
    }

    fn potential(&self, attitude: &So3) -> f64 {
        let coulomb = |(charge, y): (f64, Vector3<f64>)| charge / (*attitude * y - self.fixed_charge).norm();
        self.mass * attitude.matrix().m33 + self.charge_places().map(coulomb).iter().sum::<f64>()
    }

    /// Σ y × Rᵀ(force on y): the weight −m e₃ at e₃, and qβ d/|d|³ at y, d = Ry − z.
    #[inline]
    fn torque(&self, attitude: &So3) -> Vector3<f64> {
        let coulomb = |(charge, y): (f64, Vector3<f64>)| {
            let d = *attitude * y - self.fixed_charge;
            let square = d.norm_squared();
            y.cross(&attitude.rotate_back(&d)) * (charge / (square * square.sqrt()))
        };
        let up = attitude.rotate_back(&Vector3::z());
        let [plus, minus] = self.charge_places().map(coulomb);
        plus + minus - Vector3::z().cross(&up) * self.mass
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lienav_lie::LieGroup;

    #[test]
    fn the_torque_is_the_slope_of_the_potential() {
        let (dipole, h) = (DipoleOnAStick::default(), 1e-6);
        for xi in [[0.3, -0.2, 0.5], [2.0, 0.4, -1.0], [-0.9, 1.3, 0.2]] {
            let attitude = So3::exp(&Vector3::from(xi));
            let at = |delta: Vector3<f64>| dipole.potential(&attitude.compose(&So3::exp(&delta)));
            let axes = [Vector3::x(), Vector3::y(), Vector3::z()];
            let slope = Vector3::from(axes.map(|e| (at(e * h) - at(e * -h)) / (2.0 * h)));
            assert!((slope + dipole.torque(&attitude)).norm() < 1e-8);
        }
    }

    /// e₂ᵀg₀Jg₀ᵀe₂/2 + U(g₀), by hand: J₃₃/2, and both charges at √((1.5 ∓ 0.1)² + 1) from z.
    #[test]
    fn the_initial_energy_is_that_of_the_text() {
        let (dipole, attitude) = (DipoleOnAStick::default(), DipoleOnAStick::initial_attitude());
        let omega = DipoleOnAStick::initial_angular_velocity();
        assert_eq!(omega, Vector3::new(0.0, 0.0, -1.0));
        let energy = 0.5 * omega.dot(&dipole.momentum(&omega)) + dipole.potential(&attitude);
        let by_hand = 0.005 + 1.0 / 1f64.hypot(1.6) - 1.0 / 1f64.hypot(1.4);
        assert!((energy - by_hand).abs() < 1e-15, "{energy} {by_hand}");
    }
}
