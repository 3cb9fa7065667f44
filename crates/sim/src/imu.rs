//! Gyroscope and accelerometer of a robot on level ground.

use super::random::{Purpose, generator, normal};
use super::scenario::ImuConfig;
use lienav_base::stamp::Stamp;
use nalgebra::Vector2;
use rand_chacha::ChaCha8Rng;

/// What an inertial sensor at the origin of the base frame reads. Roll and pitch are zero, and so is the vertical
/// acceleration beyond gravity.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ImuMeasurement {
    /// When.
    pub stamp: Stamp,
    /// Mean yaw rate since the measurement before, rad/s: measurements add up to the turn of the robot.
    pub yaw_rate: f64,
    /// Horizontal specific force at this instant, forward and left: R(θ)ᵀ p̈, m/s².
    pub acceleration: Vector2<f64>,
}

/// What the filter takes of it.
impl From<ImuMeasurement> for lienav_slam::Imu {
    fn from(measurement: ImuMeasurement) -> Self {
        Self { stamp: measurement.stamp, yaw_rate: measurement.yaw_rate, tilt: None }
    }
}

/// An inertial sensor with its noise.
#[derive(Clone, Debug)]
pub(super) struct InertialSensor {
    config: ImuConfig,
    noise: ChaCha8Rng,
}

impl InertialSensor {
    pub(super) fn new(config: &ImuConfig, seed: u64) -> Self {
        Self { config: config.clone(), noise: generator(seed, Purpose::Imu) }
    }

    /// The measurement for a true mean yaw rate (rad/s) and acceleration (m/s², base frame).
    pub(super) fn measure(&mut self, stamp: Stamp, yaw_rate: f64, acceleration: &Vector2<f64>) -> ImuMeasurement {
        let [gyro, x, y] = [(); 3].map(|()| normal(&mut self.noise));
        let config = &self.config;
        let accel_bias = Vector2::new(config.accel_bias_x_m_s2, config.accel_bias_y_m_s2);
        ImuMeasurement {
            stamp,
            yaw_rate: yaw_rate + config.gyro_bias_rad_s + config.gyro_std_rad_s * gyro,
            acceleration: acceleration + accel_bias + config.accel_std_m_s2 * Vector2::new(x, y),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 5,000 squares: χ² with a standard deviation of 100; 10,000 for the two accelerations, 141.
    #[test]
    fn noise_has_the_stated_variance_and_bias() {
        let config = ImuConfig {
            rate_hz: 100.0,
            gyro_std_rad_s: 0.01,
            gyro_bias_rad_s: 0.02,
            accel_std_m_s2: 0.1,
            accel_bias_x_m_s2: -0.3,
            accel_bias_y_m_s2: 0.4,
        };
        let mut sensor = InertialSensor::new(&config, 2);
        let (mut gyro, mut accel) = (0.0, 0.0);
        for _ in 0..5000 {
            let measurement = sensor.measure(Stamp::default(), 0.5, &Vector2::new(1.0, 2.0));
            gyro += ((measurement.yaw_rate - 0.52) / 0.01).powi(2);
            accel += (measurement.acceleration - Vector2::new(0.7, 2.4)).norm_squared() / 0.01;
        }
        assert!((gyro - 5000.0).abs() < 300.0, "{gyro}");
        assert!((accel - 10_000.0).abs() < 424.0, "{accel}");
    }
}
