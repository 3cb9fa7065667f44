//! How fast the sensor moves, learned from its accelerations.
//!
//! Velocity is taken for a random process of mean zero, standard deviation σ by axis and correlation time τ: over a time T
//! long against τ its mean is zero but for 2τσ²/T. This is what lets specific force be averaged to gravity. Too small a σ
//! takes accelerations for tilt, too large a one does without gravity. σ² follows the mean square of u, the acceleration in
//! the world frame integrated with a leak, u' = f − u/τ_u, and is at no instant less than a part of u² itself. The vertical has
//! a σ of its own: a drone flies far and stays at its height, and it is the vertical that shows the accelerometer's bias.

use super::MotionConfig;
use nalgebra::Vector3;

/// What is known of the velocity's size.
#[derive(Clone, Copy, Debug)]
pub struct Motion {
    /// u, m/s.
    leaky: Vector3<f64>,
    /// σ², m²/s² by axis: horizontal and vertical.
    variance: [f64; 2],
}

impl Motion {
    /// Before anything is known.
    pub fn new(config: &MotionConfig) -> Self {
        Self { leaky: Vector3::zeros(), variance: [config.initial_speed.powi(2); 2] }
    }

    /// σ² by axis of the world, m²/s².
    pub fn variance(&self) -> Vector3<f64> {
        let [horizontal, vertical] = self.variance;
        Vector3::new(horizontal, horizontal, vertical)
    }

    /// Takes in an acceleration in the world frame, m/s².
    #[inline]
    pub fn add(&mut self, step: f64, acceleration: &Vector3<f64>, leak_per_s: f64) {
        self.leaky += (acceleration - self.leaky * leak_per_s) * step;
    }

    /// Learns from the last `duration` seconds.
    pub fn learn(&mut self, duration: f64, config: &MotionConfig) {
        let share = (duration / config.memory_s).min(1.0);
        let shown = [0.5 * self.leaky.xy().norm_squared(), self.leaky.z * self.leaky.z];
        for (variance, shown) in self.variance.iter_mut().zip(shown) {
            *variance += share * (config.gain * shown - *variance);
            *variance = variance.max(config.attack * shown).max(config.least_speed.powi(2));
        }
    }

    /// The sensor is at rest, and whatever moved it is over.
    pub fn rest(&mut self, speed: f64) {
        self.variance = [speed * speed; 2];
    }
}
