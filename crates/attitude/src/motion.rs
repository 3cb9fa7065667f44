//! How fast the sensor moves, learned from what the filter finds.
//!
//! Velocity is taken for a random process of mean zero, standard deviation σ by axis and correlation time τ: over a
//! time T long against τ its mean is zero but for 2τσ²/T. This is what lets specific force be averaged to gravity. Too
//! small a σ takes accelerations for tilt, too large a one does without gravity. σ² follows the mean square of the
//! velocity as far as it is known: of the estimate and, in part, of its variance, as in expectation maximization, E v²
//! = v̂² + P. While tilt and biases are not known, nor is the velocity, and a v̂ that stays small says little. It is
//! at no instant less than a part of v̂² itself. The vertical has a σ of its own: a drone flies far and stays at its
//! height, and it is the vertical that shows the accelerometer's bias.

use super::MotionConfig;
use nalgebra::Vector3;

/// What is known of the velocity's size.
#[derive(Clone, Copy, Debug)]
pub struct Motion {
    /// σ², m²/s² by axis: horizontal and vertical.
    variance: [f64; 2],
}

impl Motion {
    /// Before anything is known.
    pub fn new(config: &MotionConfig) -> Self {
        Self { variance: [config.initial_speed.powi(2); 2] }
    }

    /// σ² by axis of the world, m²/s².
    pub fn variance(&self) -> Vector3<f64> {
        let [horizontal, vertical] = self.variance;
        Vector3::new(horizontal, horizontal, vertical)
    }

    /// Learns from the velocity at the end of `duration` seconds, m/s, and its variances by axis of the world.
    pub fn learn(&mut self, duration: f64, velocity: &Vector3<f64>, unknown: &Vector3<f64>, config: &MotionConfig) {
        let share = (duration / config.memory_s).min(1.0);
        let shown = [0.5 * velocity.xy().norm_squared(), velocity.z * velocity.z];
        let unknown = [0.5 * (unknown.x + unknown.y), unknown.z];
        for ((variance, shown), unknown) in self.variance.iter_mut().zip(shown).zip(unknown) {
            *variance += share * (config.gain * shown + config.unknown_gain * unknown - *variance);
            *variance = variance.max(config.attack * shown).max(config.least_speed.powi(2));
        }
    }

    /// The sensor is at rest, and whatever moved it is over.
    pub fn rest(&mut self, speed: f64) {
        self.variance = [speed * speed; 2];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// After so long that what was before is forgotten.
    fn learned(velocity: Vector3<f64>, unknown: Vector3<f64>, config: &MotionConfig) -> Vector3<f64> {
        let mut motion = Motion::new(config);
        for _ in 0..10_000 {
            motion.learn(0.05, &velocity, &unknown, config);
        }
        motion.variance()
    }

    #[test]
    fn it_is_learned_from_what_is_found_and_from_what_is_not_known() {
        let config = MotionConfig::default();
        let variance = learned(Vector3::new(0.3, 0.4, 0.2), Vector3::new(0.1, 0.3, 0.5), &config);
        let horizontal = config.gain * 0.125 + config.unknown_gain * 0.2;
        let vertical = config.gain * 0.04 + config.unknown_gain * 0.5;
        assert!((variance - Vector3::new(horizontal, horizontal, vertical)).norm() < 1e-9, "{variance}");
    }

    #[test]
    fn it_falls_no_lower_than_the_least_and_not_below_a_part_of_what_is_there() {
        let config = MotionConfig::default();
        assert_eq!(learned(Vector3::zeros(), Vector3::zeros(), &config)[2], config.least_speed.powi(2));
        let mut motion = Motion::new(&config);
        motion.learn(1e-9, &Vector3::new(0.0, 0.0, 10.0), &Vector3::zeros(), &config);
        assert!(motion.variance()[2] >= config.attack * 100.0);
    }

    /// What turns the world round the vertical changes nothing.
    #[test]
    fn the_horizontal_has_no_direction() {
        let config = MotionConfig::default();
        let of = |x: f64, y: f64| learned(Vector3::new(x, y, 0.1), Vector3::new(0.2, 0.2, 0.1), &config);
        assert!((of(0.5, 0.0) - of(0.3, 0.4)).norm() < 1e-12);
    }
}
