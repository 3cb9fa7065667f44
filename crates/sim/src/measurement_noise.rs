//! Noise of measurements that is not white and Gaussian: alike for a while, heavy in its tails, larger from some time
//! on.

use super::random::{Purpose, generator, normal};
use lienav_base::settings;
use lienav_base::stamp::Stamp;
use nalgebra::Vector2;
use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use std::collections::BTreeMap;

settings! {
    /// How the noise of measurements and odometry differs from what a filter takes it for. No filter is told of it.
    pub struct NoiseConfig {
        /// Time constant over which errors of the measurements of one feature stay alike, s; 0 for independent errors.
        ///
        /// An autoregressive process of first order, with the stated variance at every time.
        alike_s: f64 = 0.0, within 0.0..=1e6, unit "s";
        /// Probability that the noise of a measurement is `noise.tail_factor` times as large.
        tail_probability: f64 = 0.0, within 0.0..=1.0;
        /// How much larger it is then.
        tail_factor: f64 = 5.0, within 1.0..=1e3;
        /// From this time on noise is larger, s; 0 for never.
        change_s: f64 = 0.0, within 0.0..=1e6, unit "s";
        /// How much larger noise of measurements is from then on.
        readings_change: f64 = 3.0, within 0.0..=1e3;
        /// How much larger noise of the odometry is from then on.
        odometry_change: f64 = 1.0, within 0.0..=1e3;
        /// Scans of features are stamped so much later than they were taken, s.
        cloud_delay_s: f64 = 0.0, within 0.0..=10.0, unit "s";
        /// Measured ranges are the true ones times this.
        range_scale: f64 = 1.0, within 0.01..=100.0;
    }
}

impl NoiseConfig {
    /// How much larger than stated the noise of measurements is at this time.
    fn of_measurements(&self, stamp: Stamp) -> f64 {
        if self.is_changed(stamp) { self.readings_change } else { 1.0 }
    }

    /// How much larger than stated the noise of odometry is at this time.
    pub(super) fn of_odometry(&self, stamp: Stamp) -> f64 {
        if self.is_changed(stamp) { self.odometry_change } else { 1.0 }
    }

    fn is_changed(&self, stamp: Stamp) -> bool {
        self.change_s > 0.0 && stamp >= Stamp::default() + self.change_s
    }
}

/// Draws of unit variance for the two numbers of each measurement.
#[derive(Clone, Debug)]
pub(super) struct MeasurementNoise {
    config: NoiseConfig,
    white: ChaCha8Rng,
    tails: ChaCha8Rng,
    /// The last draw for each feature.
    last: BTreeMap<u32, (Stamp, Vector2<f64>)>,
}

impl MeasurementNoise {
    pub(super) fn new(config: &NoiseConfig, seed: u64) -> Self {
        Self {
            config: config.clone(),
            white: generator(seed, Purpose::Scan),
            tails: generator(seed, Purpose::Tails),
            last: BTreeMap::new(),
        }
    }

    /// The noise of a measurement of feature `id`, beside its standard deviations.
    pub(super) fn draw(&mut self, stamp: Stamp, id: u32) -> Vector2<f64> {
        let white = Vector2::new(normal(&mut self.white), normal(&mut self.white));
        // One number for every measurement: another probability has other tails, and the same noise.
        let is_tail = self.tails.random::<f64>() < self.config.tail_probability;
        let alike = self.alike(stamp, id, white);
        let factor = if is_tail { self.config.tail_factor } else { 1.0 };
        alike * factor * self.config.of_measurements(stamp)
    }

    fn alike(&mut self, stamp: Stamp, id: u32, white: Vector2<f64>) -> Vector2<f64> {
        if self.config.alike_s <= 0.0 {
            return white;
        }
        let noise = match self.last.get(&id) {
            Some((before, noise)) => {
                let rho = (-stamp.since(*before).abs() / self.config.alike_s).exp();
                rho * noise + (1.0 - rho * rho).sqrt() * white
            }
            None => white,
        };
        self.last.insert(id, (stamp, noise));
        noise
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(k: u32) -> Stamp {
        Stamp::from_secs(0.1 * f64::from(k))
    }

    /// Draws for two features, read in turns, at 10 Hz.
    fn draws(config: &NoiseConfig) -> Vec<[Vector2<f64>; 2]> {
        let mut noise = MeasurementNoise::new(config, 3);
        (0..20_000).map(|k| [noise.draw(at(k), 0), noise.draw(at(k), 1)]).collect()
    }

    fn mean(values: impl Iterator<Item = f64>) -> f64 {
        let (sum, count) = values.fold((0.0, 0.0), |(sum, count), value| (sum + value, count + 1.0));
        sum / count
    }

    #[test]
    fn as_it_was_where_nothing_is_set() {
        let mut stream = generator(3, Purpose::Scan);
        for pair in draws(&NoiseConfig::default()) {
            assert!(pair.iter().flat_map(|draw| draw.iter()).all(|x| *x == normal(&mut stream)));
        }
    }

    /// 40,000 draws with a correlation of exp(−0.1/0.5) have 40,000/9 independent ones: 0.02 is their standard error.
    #[test]
    fn errors_stay_alike_by_feature_and_keep_their_variance() {
        let draws = draws(&NoiseConfig { alike_s: 0.5, ..NoiseConfig::default() });
        let variance = mean(draws.iter().flatten().map(|draw| draw.norm_squared() / 2.0));
        assert!((variance - 1.0).abs() < 0.06, "{variance}");
        let product = |lag: usize| mean(draws.windows(lag + 1).map(|w| w[0][0].dot(&w[lag][0]) / 2.0));
        for lag in [1, 5] {
            let expected = (-0.2 * lag as f64).exp();
            assert!((product(lag) - expected).abs() < 0.06, "lag {lag}: {} {expected}", product(lag));
        }
        let across = mean(draws.iter().map(|pair| pair[0].dot(&pair[1]) / 2.0));
        assert!(across.abs() < 0.06, "{across}");
    }

    #[test]
    fn tails_come_as_often_as_stated_and_spare_the_others() {
        let white = draws(&NoiseConfig::default());
        let tailed = draws(&NoiseConfig { tail_probability: 0.05, tail_factor: 5.0, ..NoiseConfig::default() });
        let pairs = || white.iter().flatten().zip(tailed.iter().flatten());
        assert!(pairs().all(|(a, b)| b == a || *b == 5.0 * a));
        let share = mean(pairs().map(|(a, b)| f64::from(a != b)));
        // Binomial over 40,000: ± 0.0011.
        assert!((share - 0.05).abs() < 0.004, "{share}");
    }

    #[test]
    fn noise_changes_when_it_is_told_to() {
        let white = draws(&NoiseConfig::default());
        let config = NoiseConfig { change_s: 1000.0, readings_change: 3.0, ..NoiseConfig::default() };
        for (k, (before, after)) in white.iter().zip(draws(&config)).enumerate() {
            let factor = if k < 10_000 { 1.0 } else { 3.0 };
            assert_eq!(after, before.map(|draw| draw * factor), "{k}");
        }
        assert_eq!((config.of_odometry(at(20_000)), NoiseConfig::default().of_measurements(at(20_000))), (1.0, 1.0));
    }
}
