//! How fast the sensor moves, learned from its accelerations.
//!
//! Velocity is taken for a random process of mean zero, standard deviation σ by axis and correlation time τ: over a time T
//! long against τ its mean is zero but for 2τσ²/T. This is what lets specific force be averaged to gravity. Too small a σ
//! takes accelerations for tilt, too large a one does without gravity. σ² follows the mean square of u, the acceleration in
//! the world frame integrated with a leak, u' = f − u/τ_u, and is at no instant less than a part of |u|² itself.

use super::MotionConfig;
use nalgebra::Vector3;

/// What is known of the velocity's size.
#[derive(Clone, Copy, Debug)]
pub struct Motion {
    /// u, m/s.
    leaky: Vector3<f64>,
    /// σ², m²/s² by axis.
    variance: f64,
}

impl Motion {
    /// Before anything is known.
    pub fn new(config: &MotionConfig) -> Self {
        Self { leaky: Vector3::zeros(), variance: config.initial_speed.powi(2) }
    }

    /// σ², m²/s² by axis.
    pub fn variance(&self) -> f64 {
        self.variance
    }

    /// Takes in an acceleration in the world frame, m/s².
    #[inline]
    pub fn add(&mut self, step: f64, acceleration: &Vector3<f64>, leak_per_s: f64) {
        self.leaky += (acceleration - self.leaky * leak_per_s) * step;
    }

    /// Learns from the last `duration` seconds.
    pub fn learn(&mut self, duration: f64, config: &MotionConfig) {
        let shown = self.leaky.norm_squared() / 3.0;
        let towards = config.gain * shown;
        self.variance += (duration / config.memory_s).min(1.0) * (towards - self.variance);
        self.variance = self.variance.max(config.attack * shown).max(config.least_speed.powi(2));
    }

    /// The sensor is at rest, and whatever moved it is over.
    pub fn rest(&mut self, speed: f64) {
        self.variance = speed * speed;
    }
}
