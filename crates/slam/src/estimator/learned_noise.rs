//! What an estimator knows of the noise.

use crate::estimator::Estimator;
use crate::noise_estimation::{LearnedNoise, NoiseFactors};

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

    /// Measurements have the noise that was learned from now on.
    pub(super) fn use_noise(&mut self) {
        if let Some(learned) = &self.learned {
            self.model.sensors.set_noise(|sensor| learned.of_one(sensor));
        }
    }
}
