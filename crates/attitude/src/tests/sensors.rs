//! The errors of simulated sensors.

use super::*;
use nalgebra::Matrix3;
use rand::RngExt;

/// Constant biases, scales and misalignments, and white noise; in [`Mems::of_priors`] biases that wander, too.
pub struct Mems {
    pub gyro_bias: Vector3<f64>,
    accelerometer_bias: Vector3<f64>,
    gyro: Matrix3<f64>,
    accelerometer: Matrix3<f64>,
    /// Of a sample.
    white: Noise,
    rng: ChaCha8Rng,
}

/// Standard deviations of a sample.
struct Noise {
    /// rad/s.
    gyro: f64,
    /// m/s².
    accelerometer: f64,
    /// For each m/s² of acceleration.
    relative: f64,
    /// How far the gyroscope's bias goes to the next, rad/s.
    gyro_walk: f64,
    /// And the accelerometer's, m/s².
    accelerometer_walk: f64,
}

impl Mems {
    /// With this standard deviation of the gyroscope's biases, rad/s.
    pub fn new(gyro_bias: f64, rng: &mut ChaCha8Rng) -> Self {
        let white = Noise { gyro: 2e-3, accelerometer: 0.04, relative: 0.0, gyro_walk: 0.0, accelerometer_walk: 0.0 };
        Self::drawn([gyro_bias, 0.05, 0.003, 0.002], white, rng)
    }

    /// Of a telephone or a watch.
    pub fn consumer(rng: &mut ChaCha8Rng) -> Self {
        let white = Noise { gyro: 1.5e-3, accelerometer: 0.02, relative: 0.0, gyro_walk: 0.0, accelerometer_walk: 0.0 };
        Self::drawn([0.01, 0.06, 0.003, 0.003], white, rng)
    }

    /// As a filter with this configuration takes it to be, at `rate` samples a second, and with this standard deviation
    /// of the gyroscope's biases, rad/s.
    pub fn of_priors(config: &Config, gyro_bias: f64, rate: u32, rng: &mut ChaCha8Rng) -> Self {
        let (gyro, accel) = (&config.gyroscope, &config.accelerometer);
        let root = f64::from(rate).sqrt();
        let white = Noise {
            gyro: gyro.noise_density * root,
            accelerometer: accel.noise_density * root,
            relative: accel.relative_noise_density * root,
            gyro_walk: gyro.bias_walk / root,
            accelerometer_walk: accel.bias_walk / root,
        };
        Self::drawn([gyro_bias, accel.initial_bias_std, gyro.scale_std, 0.0], white, rng)
    }

    fn drawn(
        [gyro_bias, accelerometer_bias, gyro, accelerometer]: [f64; 4],
        white: Noise,
        rng: &mut ChaCha8Rng,
    ) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(rng.random());
        let mut normal = |std: f64| -> f64 {
            let unit: f64 = StandardNormal.sample(&mut rng);
            std * unit
        };
        Self {
            gyro_bias: Vector3::from_fn(|_, _| normal(gyro_bias)),
            accelerometer_bias: Vector3::from_fn(|_, _| normal(accelerometer_bias)),
            gyro: Matrix3::identity() + Matrix3::from_fn(|_, _| normal(gyro)),
            accelerometer: Matrix3::identity() + Matrix3::from_fn(|_, _| normal(accelerometer)),
            white,
            rng,
        }
    }

    /// The gyroscope's bias changes at once, with this standard deviation by axis, rad/s.
    pub fn change_bias(&mut self, std: f64) {
        let change = self.noise(std);
        self.gyro_bias += change;
    }

    fn noise(&mut self, std: f64) -> Vector3<f64> {
        Vector3::from_fn(|_, _| -> f64 { StandardNormal.sample(&mut self.rng) }) * std
    }

    /// What it reads of a sample without errors.
    pub fn spoil(&mut self, sample: &ImuSample) -> ImuSample {
        let acceleration = sample.specific_force.norm() - G;
        let of_force = self.white.accelerometer.hypot(self.white.relative * acceleration);
        let (gyro, accelerometer) = (self.noise(self.white.gyro), self.noise(of_force));
        if self.white.gyro_walk > 0.0 {
            let (gyro, accelerometer) = (self.noise(self.white.gyro_walk), self.noise(self.white.accelerometer_walk));
            self.gyro_bias += gyro;
            self.accelerometer_bias += accelerometer;
        }
        ImuSample {
            angular_velocity: self.gyro * sample.angular_velocity + self.gyro_bias + gyro,
            specific_force: self.accelerometer * sample.specific_force + self.accelerometer_bias + accelerometer,
            ..*sample
        }
    }
}
