//! The velocity of the body in its own axes, as wheels, Doppler radars and optical flow have it.

use super::{At, Linearized, Measurement};
use crate::covariance::NAV;
use crate::state::errors::{GYRO_BIAS, VELOCITY};
use lienav_lie::{Se3, hat};
use nalgebra::{Matrix3, SMatrix, Vector3};

/// z = R_sᵀ(Rᵀv + ω × t_s) + n: the velocity of the sensor at its own place and in its own axes. Lateral and vertical
/// slip of wheels are its noise.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BodyVelocity {
    /// Where the sensor is on the body.
    pub mount: Se3,
    /// z, m/s, in the axes of the sensor.
    pub velocity: Vector3<f64>,
    /// Covariance, (m/s)².
    pub covariance: Matrix3<f64>,
}

impl Measurement for BodyVelocity {
    /// δ(Rᵀv) = R̂ᵀ ξ_v and δω = −δb_g.
    fn linearize(&self, at: &At) -> Option<Linearized> {
        let (lever, turn) = (&self.mount.translation, self.mount.rotation.matrix().transpose());
        let expected = turn * (at.nav.rotation.rotate_back(&at.nav.velocity) + at.rate.cross(lever));
        let mut by_nav = SMatrix::<f64, 3, NAV>::zeros();
        by_nav.fixed_view_mut::<3, 3>(0, VELOCITY).copy_from(&(turn * at.nav.rotation.matrix().transpose()));
        by_nav.fixed_view_mut::<3, 3>(0, GYRO_BIAS).copy_from(&(turn * hat(lever)));
        Some(Linearized::of_nav(&(self.velocity - expected), &by_nav, &self.covariance))
    }
}
