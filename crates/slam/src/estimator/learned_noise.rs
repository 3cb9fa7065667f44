//! What an estimator knows of the noise.

use crate::estimator::Estimator;
use crate::noise_estimation::{LearnedNoise, NoiseFactors};
use crate::step::Outcome;
use lienav_base::stamp::Stamp;
use lienav_planar::input::{Measurement, MeasurementKind};

impl Estimator {
    /// What was learned of the noise.
    pub fn learned_noise(&self) -> Option<LearnedNoise> {
        self.learned.as_ref().map(NoiseFactors::learned)
    }

    /// What is known of the noise, where it is learned.
    pub fn noise(&self) -> Option<&NoiseFactors> {
        self.learned.as_ref()
    }

    /// Goes on with a noise that was learned from what comes now: until [`Estimator::learn_noise_again`], nothing is
    /// learned of it.
    pub fn take_noise_for_known(&mut self, noise: Option<NoiseFactors>) {
        self.learned = noise;
        self.learns_noise = false;
        self.use_noise();
    }

    /// From now on noise is learned.
    pub fn learn_noise_again(&mut self) {
        self.learns_noise = true;
    }

    /// Processes a scan from which no noise is learned: of a scan that was cut to `sensor.max_points`, what is left is
    /// no sample of the sensor's errors. Scans of thousands of points without a landmark in them would otherwise say
    /// that the odometry is wrong.
    pub fn correct_without_learning(&mut self, stamp: Stamp, kind: MeasurementKind, scan: &[Measurement]) -> Outcome {
        let learned = std::mem::replace(&mut self.learns_noise, false);
        let outcome = self.correct(stamp, kind, scan);
        self.learns_noise = learned;
        outcome
    }

    /// Measurements have the noise that was learned from now on.
    pub(super) fn use_noise(&mut self) {
        if let Some(learned) = &self.learned {
            self.model.sensors.set_noise(|sensor| learned.of_one(sensor));
        }
    }
}
