//! Wheels: body velocity and yaw rate with noise.

use super::measurement_noise::NoiseConfig;
use super::random::{Purpose, generator, normal};
use super::scenario::OdometryConfig;
use lienav_base::stamp::Stamp;
use lienav_slam::{NoiseUnit, Odometry};
use nalgebra::{Matrix3, Vector3};
use rand_chacha::ChaCha8Rng;

/// Odometry with its noise.
#[derive(Clone, Debug)]
pub(super) struct Odometer {
    config: OdometryConfig,
    sample_std: Vector3<f64>,
    change: NoiseConfig,
    noise: ChaCha8Rng,
}

impl Odometer {
    pub(super) fn new(config: &OdometryConfig, change: &NoiseConfig, seed: u64) -> Self {
        let std = Vector3::new(config.velocity_x_std, config.velocity_y_std, config.yaw_rate_std);
        let sample_std = match config.noise {
            NoiseUnit::PerSample => std,
            // A sample is the mean of white noise over 1/rate: variance Q · rate.
            NoiseUnit::SpectralDensity => std * config.rate_hz.sqrt(),
        };
        Self { config: config.clone(), sample_std, change: change.clone(), noise: generator(seed, Purpose::Odometry) }
    }

    /// The sample for the true motion (v_x, v_y, w) in m/s and rad/s since the sample before: v_m = s_v v + n_v,
    /// w_m = s_w w + b + n_w.
    pub(super) fn measure(&mut self, stamp: Stamp, true_twist: &Vector3<f64>) -> Odometry {
        let std = self.std(true_twist);
        let factor = self.change.of_odometry(stamp);
        let noise = Vector3::from_fn(|i, _| factor * std[i] * normal(&mut self.noise));
        let config = &self.config;
        Odometry {
            stamp,
            velocity: config.velocity_scale * true_twist.xy() + noise.xy(),
            yaw_rate: config.yaw_rate_scale * true_twist.z + config.yaw_rate_bias_rad_s + noise.z,
            covariance: config.report_covariance.then(|| Matrix3::from_diagonal(&std.map(|s| s * s))),
        }
    }
}

impl Odometer {
    /// Standard deviations of a sample. Over 1/rate the robot travels |v|/rate, which adds σ²|v|/rate to the variance
    /// of the motion, and σ²|v| rate to that of the velocity.
    fn std(&self, true_twist: &Vector3<f64>) -> Vector3<f64> {
        let OdometryConfig { travel_std, travel_yaw_std, rate_hz, .. } = self.config;
        if travel_std == 0.0 && travel_yaw_std == 0.0 {
            return self.sample_std;
        }
        let root = (true_twist.xy().norm() * rate_hz).sqrt();
        let std = self.sample_std;
        Vector3::new(std.x.hypot(travel_std * root), std.y, std.z.hypot(travel_yaw_std * root))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Scenario;

    /// 3 · 5,000 squares of unit variance: χ² with 15,000 degrees of freedom, standard deviation 173.
    #[test]
    fn noise_has_the_variance_of_either_measurement() {
        for (noise, rate_hz, variance) in [
            (NoiseUnit::PerSample, 10.0, 0.01),
            (NoiseUnit::PerSample, 20.0, 0.01),
            (NoiseUnit::SpectralDensity, 10.0, 0.1),
            (NoiseUnit::SpectralDensity, 20.0, 0.2),
        ] {
            let config = OdometryConfig { noise, rate_hz, report_covariance: true, ..Scenario::default().odometry };
            let mut odometer = Odometer::new(&config, &NoiseConfig::default(), 5);
            let twist = Vector3::new(1.0, 0.0, 0.2);
            let mut sum = 0.0;
            for _ in 0..5000 {
                let sample = odometer.measure(Stamp::default(), &twist);
                sum += (sample.velocity - twist.xy()).norm_squared() + (sample.yaw_rate - twist.z).powi(2);
                let stated = sample.covariance.unwrap();
                assert!((stated - Matrix3::identity() * variance).norm() < 1e-12);
            }
            let chi_squared = sum / variance;
            assert!((chi_squared - 15_000.0).abs() < 3.0 * 173.2, "{noise:?} at {rate_hz} Hz: {chi_squared}");
        }
    }

    /// After 100 m at any rate and speed, the sum of the noise has 100 times the variance of a metre: 2 · 1,000 squares
    /// of unit variance, whose sum has a standard deviation of 63.
    #[test]
    fn noise_that_grows_with_travel_depends_on_the_way_alone() {
        for (rate_hz, speed) in [(10.0, 5.0), (50.0, 2.0)] {
            let config = OdometryConfig {
                velocity_x_std: 0.0,
                velocity_y_std: 0.0,
                yaw_rate_std: 0.0,
                travel_std: 0.02,
                travel_yaw_std: 0.01,
                rate_hz,
                report_covariance: true,
                ..Scenario::default().odometry
            };
            let mut odometer = Odometer::new(&config, &NoiseConfig::default(), 3);
            let twist = Vector3::new(speed, 0.0, 0.1);
            let samples = (100.0 / speed * rate_hz) as usize;
            let mut squares = 0.0;
            for _ in 0..1000 {
                let (mut x, mut yaw, mut stated) = (0.0, 0.0, 0.0);
                for _ in 0..samples {
                    let sample = odometer.measure(Stamp::default(), &twist);
                    x += (sample.velocity.x - speed) / rate_hz;
                    yaw += (sample.yaw_rate - 0.1) / rate_hz;
                    stated += sample.covariance.unwrap()[(0, 0)] / rate_hz.powi(2);
                }
                assert!((stated - 100.0 * 0.02 * 0.02).abs() < 1e-12);
                squares += (x / 0.2).powi(2) + (yaw / 0.1).powi(2);
            }
            assert!((squares - 2000.0).abs() < 3.0 * 63.3, "{rate_hz} Hz: {squares}");
        }
    }

    #[test]
    fn scale_and_bias_enter_as_documented() {
        let config = OdometryConfig {
            velocity_x_std: 0.0,
            velocity_y_std: 0.0,
            yaw_rate_std: 0.0,
            velocity_scale: 1.05,
            yaw_rate_scale: 0.95,
            yaw_rate_bias_rad_s: 0.01,
            ..Scenario::default().odometry
        };
        let sample = Odometer::new(&config, &NoiseConfig::default(), 1)
            .measure(Stamp::from_secs(2.0), &Vector3::new(2.0, -1.0, 0.4));
        assert_eq!((sample.velocity.x, sample.velocity.y, sample.yaw_rate), (2.1, -1.05, 0.95 * 0.4 + 0.01));
        assert_eq!((sample.stamp, sample.covariance), (Stamp::from_secs(2.0), None));
    }
}
