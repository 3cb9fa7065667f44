//! A rigid body that turns about a fixed point under its weight.

use crate::{FloatingBody, Inertia, Load};
use lienav_lie::So3;
use nalgebra::Vector3;

/// A heavy top, a 3D pendulum, or, with the pivot in the centre of mass, a free rigid body: V(R) = −mg·Rρ.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PivotedBody {
    /// J about the pivot.
    pub inertia: Inertia,
    /// mρ: the mass times the centre of mass, seen from the pivot in the body frame.
    pub moment_of_mass: Vector3<f64>,
    /// g, in the world frame.
    pub gravity: Vector3<f64>,
}

impl PivotedBody {
    /// Without weight.
    pub fn free(inertia: Inertia) -> Self {
        Self { inertia, moment_of_mass: Vector3::zeros(), gravity: Vector3::zeros() }
    }
}

impl FloatingBody for PivotedBody {
    /// Of no account: the pivot stays where it is.
    fn mass(&self) -> f64 {
        1.0
    }

    fn inertia(&self) -> &Inertia {
        &self.inertia
    }

    fn potential(&self, _position: &Vector3<f64>, attitude: &So3) -> f64 {
        -self.gravity.dot(&(*attitude * self.moment_of_mass))
    }

    #[inline]
    fn load(&self, _position: &Vector3<f64>, attitude: &So3) -> Load {
        let gravity_body = attitude.rotate_back(&self.gravity);
        Load { force_world: Vector3::zeros(), torque_body: self.moment_of_mass.cross(&gravity_body) }
    }
}
