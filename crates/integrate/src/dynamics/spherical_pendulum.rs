//! The spherical pendulum and the double one.

use crate::two_spheres::{Coupled, Diagonal, SphereSystem};
use lienav_lie::Ts2;
use nalgebra::{Matrix2, Vector3};

/// A mass on a massless rod about a fixed joint; gravity pulls along −z (Ortolan 2011, 7.2.1).
#[derive(Clone, Copy, Debug)]
pub struct SphericalPendulum {
    mass: Diagonal<1>,
    weight_moment: f64,
}

impl SphericalPendulum {
    /// From the mass m (kg), the length l of the rod (m) and gravity g (m/s²): M = ml², V = mgl e_z·q.
    pub fn new(mass: f64, length: f64, gravity: f64) -> Self {
        Self { mass: Diagonal([mass * length * length]), weight_moment: mass * gravity * length }
    }

    /// The initial state of Ortolan 2011, 7.2.1. (The q̇ printed there is the velocity of the mass, 2 m from the
    /// joint.)
    pub fn initial_state() -> [Ts2; 1] {
        let side = 1.0 / 3.0_f64.sqrt();
        [Ts2 { q: Vector3::new(side, side, -side), omega: Vector3::new(1.0, 1.0, 2.0) }]
    }
}

impl SphereSystem<1> for SphericalPendulum {
    type Mass = Diagonal<1>;

    fn mass(&self) -> &Diagonal<1> {
        &self.mass
    }
    fn potential(&self, [q]: &[Vector3<f64>; 1]) -> f64 {
        self.weight_moment * q.z
    }
    fn gradient(&self, _: &[Vector3<f64>; 1]) -> [Vector3<f64>; 1] {
        [Vector3::z() * self.weight_moment]
    }
}

/// A pendulum that hangs on another; gravity pulls along +z (Ortolan 2011, 7.2.2).
#[derive(Clone, Copy, Debug)]
pub struct DoubleSphericalPendulum {
    mass: Coupled<2>,
    weight_moments: [f64; 2],
}

impl DoubleSphericalPendulum {
    /// From masses (kg) and lengths (m) of the upper and the lower pendulum, all positive, and gravity g (m/s²).
    pub fn new([m1, m2]: [f64; 2], [l1, l2]: [f64; 2], gravity: f64) -> Self {
        let [m11, m12, m22] = [(m1 + m2) * l1 * l1, m2 * l1 * l2, m2 * l2 * l2];
        let determinant = m1 * m2 * l1 * l1 * l2 * l2;
        let inverse = Matrix2::new(m22, -m12, -m12, m11) / determinant;
        let mass = Coupled::from_inverse_unchecked(Matrix2::new(m11, m12, m12, m22), inverse);
        Self { mass, weight_moments: [(m1 + m2) * l1 * gravity, m2 * l2 * gravity] }
    }

    /// The initial state of Ortolan 2011, 7.2.2.
    pub fn initial_state() -> [Ts2; 2] {
        let upper = Vector3::new(0.866019052628739, 0.0, 0.500011000363013).normalize();
        let lower = -Vector3::z();
        let velocities = [Vector3::new(0.0, 0.865980947790423, 0.0), -Vector3::x()];
        [Ts2 { q: upper, omega: upper.cross(&velocities[0]) }, Ts2 { q: lower, omega: lower.cross(&velocities[1]) }]
    }
}

impl SphereSystem<2> for DoubleSphericalPendulum {
    type Mass = Coupled<2>;

    fn mass(&self) -> &Coupled<2> {
        &self.mass
    }
    fn potential(&self, q: &[Vector3<f64>; 2]) -> f64 {
        -q.iter().zip(self.weight_moments).map(|(q, moment)| moment * q.z).sum::<f64>()
    }
    fn gradient(&self, _: &[Vector3<f64>; 2]) -> [Vector3<f64>; 2] {
        self.weight_moments.map(|moment| Vector3::z() * -moment)
    }
}
