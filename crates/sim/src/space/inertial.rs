//! The inertial sensor: its grades, and what it measures.

use super::course::Course;
use super::kinematics::Kinematics;
use super::scenario::{InertialConfig, SpaceScenario};
use crate::random::{Purpose, generator, normal};
use lienav_base::stamp::Stamp;
use nalgebra::Vector3;
use rand::Rng;

/// Gravity, m/s².
pub const GRAVITY: f64 = 9.806_65;

/// A sample in the axes of the body.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct InertialSample {
    /// When.
    pub stamp: Stamp,
    /// Angular rate, rad/s.
    pub rate: Vector3<f64>,
    /// Specific force, m/s².
    pub force: Vector3<f64>,
}

/// A class of inertial sensors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grade {
    /// Of a phone.
    Consumer,
    /// Of a robot.
    Industrial,
    /// Of an aircraft.
    Tactical,
}

impl Grade {
    /// All with their names.
    pub const ALL: [(&'static str, Self); 3] =
        [("consumer", Self::Consumer), ("industrial", Self::Industrial), ("tactical", Self::Tactical)];

    /// Noise and biases.
    ///
    /// - Consumer: white noise as the data sheet of the MPU-6050 (0.005 °/s/√Hz, 400 µg/√Hz), ten times in power for
    ///   what a housing adds; the data sheet states no walk: 10⁻⁴ rad/s²/√Hz and 2·10⁻³ m/s³/√Hz are assumed, and
    ///   biases of 1 °/s and 30 mg after a calibration.
    /// - Industrial: the ADIS16448 as the EuRoC recordings state it, and biases of 0.5 °/s and 16 mg, as its data sheet
    ///   has them.
    /// - Tactical: the data sheet of the ADIS16495 (0.09 °/√h, 0.008 m/s/√h; in-run stability of 0.8 °/h and 3.2 µg as
    ///   walks that reach them in 100 s), and biases of 0.07 °/s and 2 mg.
    pub fn config(self) -> InertialConfig {
        let [gyro_noise, force_noise, gyro_walk, force_walk, gyro_bias_std, force_bias_std] = match self {
            Self::Consumer => [2.8e-4, 1.2e-2, 1e-4, 2e-3, 0.017, 0.3],
            Self::Industrial => [1.7e-4, 2.0e-3, 1.9e-5, 3e-3, 0.009, 0.16],
            Self::Tactical => [2.6e-5, 1.3e-4, 3.9e-7, 3.1e-6, 0.0012, 0.02],
        };
        let config = InertialConfig::default();
        InertialConfig { gyro_noise, force_noise, gyro_walk, force_walk, gyro_bias_std, force_bias_std, ..config }
    }
}

/// Biases of the gyroscope, rad/s, and of the accelerometer, m/s².
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Biases {
    /// rad/s.
    pub rate: Vector3<f64>,
    /// m/s².
    pub force: Vector3<f64>,
}

/// All samples of a run, and the biases at each.
pub fn samples(scenario: &SpaceScenario, motion: &Course, seed: u64) -> (Vec<InertialSample>, Vec<Biases>) {
    let imu = &scenario.imu;
    let h = 1.0 / imu.rate_hz;
    let count = (scenario.duration_s * imu.rate_hz).round() as u64;
    let mut rng = generator(seed, Purpose::SpaceInertial);
    let mut vector = |sigma: f64| draw(&mut rng, sigma);
    let mut own = Biases { rate: vector(imu.gyro_bias_std), force: vector(imu.force_bias_std) };
    let (mut samples, mut biases) = (Vec::new(), Vec::new());
    for k in 0..=count {
        let t = k as f64 * h;
        let noise = [imu.gyro_noise, imu.force_noise].map(|density| vector(density / h.sqrt()));
        let truth = motion.at(t);
        let shake = vibration(imu, t);
        let rate = truth.rate + own.rate + noise[0] + Vector3::x() * (imu.vibration_rad_s * shake);
        let force = force(&truth) + own.force + noise[1] + Vector3::z() * (imu.vibration_m_s2 * shake);
        let sample = InertialSample {
            stamp: Stamp::from_secs(t),
            rate: rate.map(|x| x.clamp(-imu.gyro_limit, imu.gyro_limit)),
            force: force.map(|x| x.clamp(-imu.force_limit, imu.force_limit)),
        };
        biases.push(own);
        samples.push(sample);
        own.rate += vector(imu.gyro_walk * h.sqrt());
        own.force += vector(imu.force_walk * h.sqrt());
    }
    (samples, biases)
}

fn force(truth: &Kinematics) -> Vector3<f64> {
    truth.force(GRAVITY)
}

/// Between −1 and 1. The motion that it is of, micrometres, is not in the truth.
fn vibration(imu: &InertialConfig, t: f64) -> f64 {
    (std::f64::consts::TAU * imu.vibration_hz * t).sin()
}

/// Three draws from N(0, σ²).
pub(super) fn draw(rng: &mut impl Rng, sigma: f64) -> Vector3<f64> {
    Vector3::from_fn(|_, _| sigma * normal(rng))
}
