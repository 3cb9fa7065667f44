//! The body is at rest.

use super::{At, Linearized, Measurement};
use crate::covariance::NAV;
use crate::state::errors::{GYRO_BIAS, VELOCITY};
use nalgebra::{Matrix6, SMatrix, Vector3, Vector6};

/// 0 = Rᵀv + n_v and ω̄_m = b_g + n_ω, with ω̄_m the mean rate that the gyroscope measured at rest.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rest {
    /// Standard deviation of the velocity by axis, m/s.
    pub velocity_sigma: f64,
    /// ω̄_m, rad/s.
    pub mean_rate: Vector3<f64>,
    /// Standard deviation of ω̄_m as a measurement of the bias, rad/s; infinite leaves the rate out.
    pub rate_sigma: f64,
}

impl Measurement for Rest {
    /// Noise without a direction is the same in the axes of the body as in those of the world, so that H = R̂ᵀ at ξ_v:
    /// rest says nothing of the heading.
    fn linearize(&self, at: &At) -> Option<Linearized> {
        let turn = at.nav.rotation.matrix().transpose();
        let velocity = -(turn * at.nav.velocity);
        let rate = self.mean_rate - at.nav.biases.gyro;
        let residual = Vector6::new(velocity.x, velocity.y, velocity.z, rate.x, rate.y, rate.z);
        let mut by_nav = SMatrix::<f64, 6, NAV>::zeros();
        by_nav.fixed_view_mut::<3, 3>(0, VELOCITY).copy_from(&turn);
        by_nav.fixed_view_mut::<3, 3>(3, GYRO_BIAS).fill_with_identity();
        let (v, w) = (self.velocity_sigma.powi(2), self.rate_sigma.powi(2));
        let noise = Matrix6::from_diagonal(&Vector6::new(v, v, v, w, w, w));
        let mut all = Linearized::of_nav(&residual, &by_nav, &noise);
        if !self.rate_sigma.is_finite() {
            all.dim = 3;
        }
        Some(all)
    }
}
