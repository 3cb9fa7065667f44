//! Errors of positions that last from reading to reading: how much less each tells.
//!
//! A first-order Gauss–Markov error of variance σ² and correlation time T has the correlation ρ = e^{−Δt/T} between two
//! measurements. Of something constant, the first tells 1/σ², and each one behind it, by y_k − ρ y_{k−1} of the
//! variance σ²(1 − ρ²),
//!
//! ```math
//! \frac{(1 - \rho)^2}{\sigma^2 (1 - \rho^2)} = \frac{1 - \rho}{\sigma^2 (1 + \rho)}
//! ```
//!
//! more: as much as a measurement whose error is its own, with the variance σ²(1 + ρ)/(1 − ρ). So each counts as such a
//! one. What is lost is what measurements near each other tell of the way between them, which odometry and landmarks
//! know.

use lienav_slam::{Config, ExternalMeasurement};

/// A measurement tells this share of what one without time-correlated error does at least: two of one instant.
const LEAST: f64 = 1e-6;

/// What of the error of a measurement lasts.
#[derive(Clone, Copy, Debug)]
pub(super) struct TimeCorrelated {
    /// σ², m².
    variance: f64,
    /// σ²(1 + ρ)/(1 − ρ), m².
    stated: f64,
}

impl TimeCorrelated {
    /// Of a measurement so long after the one before, s; `None` of the first.
    pub fn new(config: &Config, since_s: Option<f64>) -> Self {
        let world = &config.calibration.world;
        let variance = world.error_std_m * world.error_std_m;
        let rho = since_s.map_or(0.0, |since_s| (-since_s.max(0.0) / world.error_time_s).exp());
        Self { variance, stated: variance * (1.0 + rho) / (1.0 - rho).max(LEAST) }
    }

    /// A measurement, as it is expected.
    pub fn expected(&self, measurement: &ExternalMeasurement) -> ExternalMeasurement {
        with(measurement, self.variance)
    }

    /// A measurement, as it is told to what it is of.
    pub fn stated(&self, measurement: &ExternalMeasurement) -> ExternalMeasurement {
        with(measurement, self.stated)
    }

    /// The variance of either coordinate that [`TimeCorrelated::stated`] adds, m².
    pub fn stated_variance(&self) -> f64 {
        self.stated
    }
}

/// With a further error of its position, of this variance, m².
fn with(measurement: &ExternalMeasurement, variance: f64) -> ExternalMeasurement {
    let mut noise = measurement.noise;
    noise[(0, 0)] += variance;
    noise[(1, 1)] += variance;
    ExternalMeasurement { noise, ..*measurement }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nalgebra::DMatrix;

    /// What n measurements tell of a constant is what the inverse of their covariance says.
    #[test]
    fn measurements_tell_what_their_covariance_says() {
        let mut config = Config::default();
        (config.calibration.world.error_std_m, config.calibration.world.error_time_s) = (0.7, 20.0);
        let stamps = [0.0_f64, 1.0, 2.0, 5.0, 5.5, 60.0];
        let covariance = DMatrix::from_fn(6, 6, |i, k| 0.49 * (-(stamps[i] - stamps[k]).abs() / 20.0).exp());
        let expected: f64 = covariance.try_inverse().unwrap().sum();
        let since = std::iter::once(None).chain(stamps.windows(2).map(|pair| Some(pair[1] - pair[0])));
        let stated: f64 = since.map(|since| TimeCorrelated::new(&config, since).stated_variance().recip()).sum();
        assert!((stated / expected - 1.0).abs() < 1e-9, "{stated} {expected}");
        config.calibration.world.error_std_m = 0.0;
        assert_eq!(TimeCorrelated::new(&config, Some(0.0)).stated_variance(), 0.0);
    }
}
