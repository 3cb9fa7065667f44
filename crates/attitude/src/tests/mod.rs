//! Tests of the filter as a whole: its laws, what it does, and what it bears.

mod behaviour;
mod drones;
mod laws;
mod magnetometer;
mod motions;
mod priors;
mod robustness;
mod saving;
mod sensors;
mod swings;
mod trips;
mod vqf;

use super::*;
use lienav_base::stamp::Stamp;
use nalgebra::{UnitQuaternion, Vector3};
use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};

const G: f64 = 9.81;

/// A hand that turns and shakes a sensor, after two seconds of rest.
#[derive(Clone, Copy)]
struct Hand {
    /// Turns are this fast, rad/s about.
    pace: f64,
    /// And this wide shakes, m.
    reach: f64,
}

impl Hand {
    /// Grows from 0 to 1 from the second second to the third, with a continuous second derivative.
    fn onset(t: f64) -> f64 {
        let x = (t - 2.0).clamp(0.0, 1.0);
        x * x * x * (10.0 - 15.0 * x + 6.0 * x * x)
    }

    fn orientation(&self, t: f64) -> UnitQuaternion<f64> {
        let s = Self::onset(t);
        let about = |axis: Vector3<f64>, angle: f64| UnitQuaternion::from_scaled_axis(axis * (s * angle));
        about(Vector3::z(), (0.5 * self.pace * t).sin() * 2.0)
            * about(Vector3::y(), (0.7 * self.pace * t).sin())
            * about(Vector3::x(), (self.pace * t).cos() * 1.5)
    }

    fn position(&self, t: f64) -> Vector3<f64> {
        Vector3::new((1.3 * t).sin(), (1.7 * t).cos(), (0.9 * t).sin()) * (self.reach * Self::onset(t))
    }

    /// What an inertial sensor without errors measures, by central differences.
    fn sample(&self, stamp: Stamp) -> ImuSample {
        const H: f64 = 1e-4;
        let t = stamp.secs();
        let (before, now, after) = (self.orientation(t - H), self.orientation(t), self.orientation(t + H));
        let acceleration =
            (self.position(t + H) - self.position(t) * 2.0 + self.position(t - H)) / (H * H) + Vector3::z() * G;
        ImuSample {
            stamp,
            angular_velocity: (before.inverse() * after).scaled_axis() / (2.0 * H),
            specific_force: now.inverse() * acceleration,
        }
    }
}

/// Constant errors and white noise, from a seed.
struct Sensor {
    gyro_bias: Vector3<f64>,
    accelerometer_bias: Vector3<f64>,
    gyro_std: f64,
    accelerometer_std: f64,
    rng: ChaCha8Rng,
}

impl Sensor {
    fn ordinary(seed: u64) -> Self {
        Self {
            gyro_bias: Vector3::new(0.02, -0.03, 0.01),
            accelerometer_bias: Vector3::zeros(),
            gyro_std: 2e-3,
            accelerometer_std: 0.05,
            rng: ChaCha8Rng::seed_from_u64(seed),
        }
    }

    fn noise(&mut self, std: f64) -> Vector3<f64> {
        Vector3::from_fn(|_, _| -> f64 { StandardNormal.sample(&mut self.rng) }) * std
    }

    fn spoil(&mut self, sample: &ImuSample) -> ImuSample {
        let (gyro, accelerometer) = (self.noise(self.gyro_std), self.noise(self.accelerometer_std));
        ImuSample {
            angular_velocity: sample.angular_velocity + self.gyro_bias + gyro,
            specific_force: sample.specific_force + self.accelerometer_bias + accelerometer,
            ..*sample
        }
    }
}

/// The default, for sensors without delay.
fn config() -> Config {
    let mut config = Config::default();
    config.gyroscope.delay_s = 0.0;
    config
}

/// Stamps at `rate` Hz over `seconds`.
fn stamps(rate: u32, seconds: u32) -> impl Iterator<Item = Stamp> {
    (0..i64::from(rate * seconds)).map(move |k| Stamp::from_nanos(k * 1_000_000_000 / i64::from(rate)))
}

fn resting(stamp: Stamp) -> ImuSample {
    ImuSample { stamp, angular_velocity: Vector3::zeros(), specific_force: Vector3::z() * G }
}

/// Angle between the estimated vertical and the true one, rad.
fn inclination(estimate: &Estimate, truth: &UnitQuaternion<f64>) -> f64 {
    (estimate.orientation.inverse() * Vector3::z()).angle(&(truth.inverse() * Vector3::z()))
}
