//! Stationarity detector: the sensor is at rest while rates and forces stay near their means for a while.

use super::{ImuSample, RestConfig};
use nalgebra::Vector3;
use serde::{Deserialize, Serialize};

/// Detects stationarity.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Rest {
    mean_rate: Vector3<f64>,
    mean_force: Vector3<f64>,
    still_for_s: f64,
}

impl Rest {
    /// Begins anew with one sample.
    pub fn restart(&mut self, sample: &ImuSample) {
        *self = Self { mean_rate: sample.angular_velocity, mean_force: sample.specific_force, still_for_s: 0.0 };
    }

    /// Takes in the sample `step` seconds after the last.
    #[inline]
    pub fn add(&mut self, step: f64, sample: &ImuSample, config: &RestConfig) {
        let share = step / (config.averaging_s + step);
        let rate = sample.angular_velocity - self.mean_rate;
        let force = sample.specific_force - self.mean_force;
        self.mean_rate += rate * share;
        self.mean_force += force * share;
        let left = 1.0 - share;
        let still = rate.norm_squared() * left * left < config.rate_deviation.powi(2)
            && force.norm_squared() * left * left < config.force_deviation.powi(2)
            && self.mean_rate.amax() <= config.max_bias;
        self.still_for_s = if still { self.still_for_s + step } else { 0.0 };
    }

    /// Whether the sensor is stationary.
    pub fn is_rest(&self, config: &RestConfig) -> bool {
        self.still_for_s >= config.after_s
    }

    /// For how long it has looked like rest, s.
    pub fn still_for_s(&self) -> f64 {
        self.still_for_s
    }

    /// The mean rate, rad/s: while stationary the gyroscope's bias.
    pub fn mean_rate(&self) -> &Vector3<f64> {
        &self.mean_rate
    }
}
