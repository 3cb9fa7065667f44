//! How far the sensor moves, learned from the innovations.
//!
//! p, the leaky integral of the velocity, is taken for a random process of mean zero, standard deviation σ by axis and
//! correlation time τ: over an interval T long against τ its mean is zero but for 2τσ²/T. This lets specific force be
//! averaged to gravity. Seen from the velocity, this noise has the spectral density 2τσ² (ω² + 1/L²), with L the time
//! constant of the leak: it is large at the frequencies of a shaken or swinging sensor and small below. A white
//! velocity would be as large below, and a filter that learns its level from there takes a swing for tilt.
//!
//! Innovations of a Kalman filter are white, with the variance P + 2τσ²/T, whatever P is. Averaged over a time A,
//! their variance is (2τσ² + P T)/(2A). So the mean square of the innovation averaged over τ shows σ², also while tilt
//! and biases are not known yet. What is larger at low frequencies than that is accelerations that last, of which the
//! hypotheses of the mixture know. The vertical has a σ of its own: a drone flies far and stays at its height, and
//! it is the vertical that shows the accelerometer's bias.

use super::MotionConfig;
use nalgebra::Vector3;
use serde::{Deserialize, Serialize};

/// What is known of the motion's size.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Motion {
    /// The innovation averaged over a correlation time, m, world frame.
    mean: Vector3<f64>,
    /// σ², m² by axis: horizontal and vertical.
    variance: [f64; 2],
    /// It was learned from so much motion, s.
    seen_s: f64,
}

impl Motion {
    /// With this standard deviation of positions until more is known, m.
    pub fn of_reach(reach: f64) -> Self {
        Self { mean: Vector3::zeros(), variance: [reach * reach; 2], seen_s: 0.0 }
    }

    /// σ² by axis of the world, m².
    pub fn variance(&self) -> Vector3<f64> {
        let [horizontal, vertical] = self.variance;
        Vector3::new(horizontal, horizontal, vertical)
    }

    /// Learns from p at the end of `duration` seconds, m, and its variances by axis of the world.
    pub fn learn(&mut self, duration: f64, position: &Vector3<f64>, unknown: &Vector3<f64>, config: &MotionConfig) {
        self.seen_s += duration;
        // The first value is worth a few independent ones.
        let memory = self.seen_s.min(config.memory_s).max(4.0 * config.correlation_s).max(duration);
        let share = duration / memory;
        let keep = (-duration / config.correlation_s).exp();
        self.mean = self.mean * keep + position * (1.0 - keep);
        let shown = [0.5 * self.mean.xy().norm_squared(), self.mean.z * self.mean.z];
        let unknown = [0.5 * (unknown.x + unknown.y), unknown.z];
        for ((variance, shown), unknown) in self.variance.iter_mut().zip(shown).zip(unknown) {
            // Of the averaged innovation, by expectation maximization: the part that is motion, and how well that part
            // is known.
            let unknown = unknown * duration / (2.0 * config.correlation_s);
            let part = *variance / (*variance + unknown);
            *variance += share * (part * part * shown + part * unknown - *variance);
            *variance = variance.max(config.least_reach.powi(2));
        }
    }

    /// The sensor is at rest. Its next motion is taken to be like the last.
    pub fn rest(&mut self) {
        self.mean = Vector3::zeros();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;
    use rand::rngs::ChaCha8Rng;
    use rand_distr::{Distribution, StandardNormal};

    const STEP: f64 = 0.05;

    /// What is learned from ten minutes of white innovations of motion with these standard deviations by axis and
    /// variances of what is not known.
    fn learned(reach: Vector3<f64>, unknown: Vector3<f64>, config: &MotionConfig) -> Vector3<f64> {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let mut motion = Motion::of_reach(config.initial_reach);
        let mut sum = Vector3::zeros();
        for k in 0..12_000 {
            let variance = reach.component_mul(&reach) * (2.0 * config.correlation_s / STEP) + unknown;
            let innovation = variance.map(|x| {
                let unit: f64 = StandardNormal.sample(&mut rng);
                x.sqrt() * unit
            });
            motion.learn(STEP, &innovation, &unknown, config);
            if k >= 6_000 {
                sum += motion.variance() / 6_000.0;
            }
        }
        sum
    }

    #[test]
    fn it_is_learned_from_innovations_whatever_is_not_known() {
        let config = MotionConfig { memory_s: 60.0, ..MotionConfig::default() };
        for unknown in [0.0, 0.1] {
            let variance = learned(Vector3::new(0.2, 0.2, 0.1), Vector3::repeat(unknown), &config);
            let ratio = variance.component_div(&Vector3::new(0.04, 0.04, 0.01));
            assert!(ratio.min() > 0.8 && ratio.max() < 1.25, "{unknown}: {ratio}");
        }
    }

    #[test]
    fn it_falls_no_lower_than_the_least() {
        let config = MotionConfig::default();
        let variance = learned(Vector3::zeros(), Vector3::zeros(), &config);
        assert!((variance - Vector3::repeat(config.least_reach.powi(2))).norm() < 1e-12, "{variance}");
    }

    #[test]
    fn rest_keeps_what_was_learned() {
        let config = MotionConfig::default();
        let mut motion = Motion::of_reach(config.initial_reach);
        (0..20).for_each(|_| motion.learn(STEP, &Vector3::repeat(1.0), &Vector3::zeros(), &config));
        let before = motion.variance();
        motion.rest();
        assert_eq!(motion.variance(), before);
    }

    /// What turns the world round the vertical changes nothing.
    #[test]
    fn the_horizontal_has_no_direction() {
        let config = MotionConfig::default();
        let of = |x: f64, y: f64| {
            let mut motion = Motion::of_reach(config.initial_reach);
            (0..200).for_each(|_| motion.learn(STEP, &Vector3::new(x, y, 0.1), &Vector3::repeat(0.1), &config));
            motion.variance()
        };
        assert!((of(0.5, 0.0) - of(0.3, 0.4)).norm() < 1e-12);
    }
}
