//! The body is at rest.

use super::{At, Linearized, Measurement};
use crate::covariance::NAV;
use crate::filter::Filter;
use crate::state::State;
use crate::state::errors::{GYRO_BIAS, VELOCITY};
use nalgebra::{Matrix3, Matrix6, SMatrix, Vector3, Vector6};

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

/// Velocities of bodies that move evenly, by axis, m/s: that of a hand, a slow drone or robot. Faster ones differ from
/// rest the more.
const EVENLY: f64 = 1.0;
/// Log odds from which on a body whose inertial sensor is calm is at rest: of ten thousand that move evenly, one is
/// held.
const LEAST_LOG_ODDS: f64 = 9.2;

/// Whether a body whose inertial sensor is calm is at rest, by what is known of its velocity, m/s. The sensor does not
/// tell rest from an even motion: with P the covariance of the velocity v and V that of bodies that move evenly,
///
/// ```math
/// \ln Λ = \ln\frac{N(v; 0, P)}{N(v; 0, P + V)}
/// ```
///
/// is large where the velocity is known to be small, and about 0 where it is unknown.
pub fn is_known_to_rest(state: &State, filter: &Filter) -> bool {
    let covariance = state.nav_covariance(filter).fixed_view::<3, 3>(VELOCITY, VELOCITY).into_owned();
    rests(&state.nav.velocity, &covariance)
}

fn rests(velocity: &Vector3<f64>, covariance: &Matrix3<f64>) -> bool {
    let log_density = |covariance: Matrix3<f64>| {
        let (inverse, det) = (covariance.try_inverse()?, covariance.determinant());
        (det > 0.0).then(|| -0.5 * (det.ln() + velocity.dot(&(inverse * velocity))))
    };
    let moving = covariance + Matrix3::from_diagonal_element(EVENLY * EVENLY);
    match (log_density(*covariance), log_density(moving)) {
        (Some(rest), Some(moving)) => rest - moving > LEAST_LOG_ODDS,
        _ => false,
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_known_of_the_velocity_decides_whether_a_calm_body_rests() {
        let rests = |speed: f64, sigma: f64| {
            rests(&Vector3::new(0.0, speed, 0.0), &Matrix3::from_diagonal_element(sigma * sigma))
        };
        assert!(rests(0.0, 0.02) && rests(0.03, 0.02), "known to be small");
        assert!(!rests(0.0, 0.2) && !rests(0.0, 10.0), "unknown");
        assert!(!rests(0.2, 0.02) && !rests(1.0, 0.1), "known to move");
        assert!(!rests(0.0, f64::NAN) && !rests(f64::NAN, 0.02) && !rests(0.0, 0.0), "not known at all");
    }
}
