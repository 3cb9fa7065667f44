//! What the filter says after a sample.

use super::Attitude;
use crate::belief::GYRO;
use crate::{Estimate, ImuSample};
use lienav_lie::{LieGroup, Quat};
use nalgebra::{Matrix3, UnitQuaternion, Vector3};

/// How far the sensor turns against what it is mounted on when a force of the size of gravity comes or goes, rad by
/// axis: 0.11°. On two of three trials of BROAD, what is left of the optical orientation after a fit of the gyroscope
/// follows the specific force; the ratios of their axes are 0.17° for each g in the root mean square, one pair's 0.45°.
/// Of 0.0015, 0.002 and 0.003, this is the one with which NEES of the three trials is 2 to 3.
pub(crate) const MOUNT_STD: f64 = 0.002;

/// A force of more than this many times gravity bends no further: an upside-down sensor, and any shock.
const MOST_BENT: f64 = 2.0;

/// How well `gyroscope.delay_s` is known, as a part of it; fitted to the three trials, it is 0.0034 to 0.0042 s.
const DELAY_PART: f64 = 0.15;

impl Attitude {
    /// What is known at the newest sample. `None` before the first.
    pub fn estimate(&self) -> Option<Estimate> {
        let last = self.last?;
        let angular_velocity = self.state.rate(&last.angular_velocity);
        Some(Estimate {
            stamp: last.stamp,
            orientation: self.carried_on(&angular_velocity),
            orientation_covariance: self.state.orientation_covariance(&self.preintegration, &self.config.gyroscope)
                + self.not_of_the_state(&last, &angular_velocity),
            angular_velocity,
            specific_force: last.specific_force - self.state.accelerometer_bias,
            gyro_bias: self.state.gyro_bias,
            gyro_bias_covariance: self.state.covariance.fixed_view::<3, 3>(GYRO, GYRO).into_owned(),
            accelerometer_bias: self.state.accelerometer_bias,
            at_rest: self.rest.is_rest(&self.config.rest),
            reach_std: self.mixture.motion_variance().mean().sqrt(),
        })
    }

    /// What the orientation may be off by beside the error of the state: a mount that gives way to forces, and a delay
    /// that is not known to the last part. Both come and go with the motion, so they are no noise of the state.
    fn not_of_the_state(&self, last: &ImuSample, rate: &Vector3<f64>) -> Matrix3<f64> {
        let bent = (last.specific_force / self.config.accelerometer.gravity - self.first_up).norm().min(MOST_BENT);
        let late = self.rotation * rate * (self.config.gyroscope.delay_s * DELAY_PART);
        Matrix3::from_diagonal_element((MOUNT_STD * bent).powi(2)) + late * late.transpose()
    }

    /// R at the newest sample alone, which is quicker to have than an [`Estimate`]. The identity before the first.
    pub fn orientation(&self) -> UnitQuaternion<f64> {
        let rate = self.last.map_or(Vector3::zeros(), |last| self.state.rate(&last.angular_velocity));
        self.carried_on(&rate)
    }

    /// R at the instant of the stamp: the sensor's samples are older by its delay.
    fn carried_on(&self, rate: &Vector3<f64>) -> UnitQuaternion<f64> {
        self.state.orientation * Quat::exp(&(rate * self.config.gyroscope.delay_s)).unit_quaternion()
    }
}
