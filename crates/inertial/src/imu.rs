//! What an inertial sensor measures, and its noise.

use lienav_base::stamp::Stamp;
use nalgebra::Vector3;
use serde::{Deserialize, Serialize};

/// Standard gravity, m/s².
pub const GRAVITY: f64 = 9.806_65;

/// A sample of an inertial sensor in the axes of the body.
///
/// The model is ω_m = ω + b_g + n_g, a_m = Rᵀ(v̇ − g) + b_a + n_a, with g = (0, 0, −9.81) m/s² in a world with z up.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ImuSample {
    /// When it was measured.
    pub stamp: Stamp,
    /// Angular rate and specific force.
    pub value: Imu,
}

/// Angular rate and specific force at an instant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Imu {
    /// ω_m, rad/s.
    pub rate: Vector3<f64>,
    /// a_m, m/s². At rest and level it is (0, 0, +9.81).
    pub force: Vector3<f64>,
}

impl Imu {
    /// From its two parts.
    pub fn new(rate: Vector3<f64>, force: Vector3<f64>) -> Self {
        Self { rate, force }
    }

    /// Without the biases.
    #[inline]
    pub fn without(&self, biases: &Biases) -> Self {
        Self { rate: self.rate - biases.gyro, force: self.force - biases.accelerometer }
    }

    /// Whether all numbers are finite.
    pub fn is_finite(&self) -> bool {
        self.rate.iter().chain(self.force.iter()).all(|x| x.is_finite())
    }
}

/// What a sensor at rest and without weight would measure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Biases {
    /// b_g, rad/s, in the axes of the body.
    pub gyro: Vector3<f64>,
    /// b_a, m/s², in the axes of the body.
    pub accelerometer: Vector3<f64>,
}

/// Spectral densities of an inertial sensor, alike for its three axes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ImuNoise {
    /// White noise of the rate, rad/s/√Hz.
    pub gyro: f64,
    /// White noise of the specific force, m/s²/√Hz.
    pub accelerometer: f64,
    /// Random walk of the gyroscope's bias, rad/s²/√Hz.
    pub gyro_walk: f64,
    /// Random walk of the accelerometer's bias, m/s³/√Hz.
    pub accelerometer_walk: f64,
}

/// A sensor of a phone or a small drone.
impl Default for ImuNoise {
    fn default() -> Self {
        Self { gyro: 1e-3, accelerometer: 1e-2, gyro_walk: 2e-5, accelerometer_walk: 2e-4 }
    }
}
