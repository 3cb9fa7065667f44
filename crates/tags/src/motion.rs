//! Motions without an inertial sensor: a body that keeps its velocity and its rate, but for white accelerations.
//!
//! This is the motion of an inertial sensor without weight that shows zero: where the gyroscope's bias is −ω, and walks
//! at random, R⁺ = R Exp(ω T) and p⁺ = p + v T, with all derivatives. The state's `biases.gyro` is then −ω, and its
//! gravity is zero.

use lienav_inertial::imu::{Imu, ImuNoise};
use lienav_inertial::preintegration::{Preintegrated, Preintegration};
use lienav_inertial::state::State;
use lienav_inertial::state::errors::{GYRO_BIAS, VELOCITY};
use nalgebra::{Matrix3, Vector3};

/// White accelerations of a body that keeps its velocity and rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ConstantVelocity {
    /// Spectral density of the acceleration, m/s²/√Hz.
    pub acceleration: f64,
    /// Spectral density of the angular acceleration, rad/s²/√Hz.
    pub turn: f64,
    /// Standard deviations by axis of a velocity, m/s, and of a rate, rad/s, of which nothing is known.
    pub unknown: (f64, f64),
    /// After so long, velocity and rate are not what they were, s.
    pub memory_s: f64,
}

/// Something carried by a person, a vehicle or a small drone: 5 m/s² and 5 rad/s² that last a tenth of a second.
impl Default for ConstantVelocity {
    fn default() -> Self {
        Self { acceleration: 1.6, turn: 1.6, unknown: (1.0, 1.0), memory_s: 1.0 }
    }
}

impl ConstantVelocity {
    /// What is known of an interval, at the velocity and rate of the state.
    pub fn interval(&self, state: &State, seconds: f64) -> Preintegrated {
        if seconds > self.memory_s {
            // Anywhere that the unknown velocity reaches, in any attitude.
            let turn = (self.unknown.1 * seconds).min(std::f64::consts::PI);
            let mut wide = Preintegrated::uncertainty(turn, 0.0, self.unknown.0 * seconds);
            wide.end_rate = Vector3::zeros();
            return wide;
        }
        let noise =
            ImuNoise { gyro: 0.0, accelerometer: self.acceleration, gyro_walk: self.turn, accelerometer_walk: 0.0 };
        let mut interval = Preintegration::new(state.nav.biases, noise);
        interval.add(seconds, &[Imu::default(); 2]);
        interval.finish()
    }

    /// Forgets velocity and rate.
    pub fn forget(&self, state: &mut State) {
        state.nav.velocity = Vector3::zeros();
        state.nav.biases.gyro = Vector3::zeros();
        state.predicted = state.nav;
        let n = state.covariance.dim();
        for (row, sigma) in [(VELOCITY, self.unknown.0), (GYRO_BIAS, self.unknown.1)] {
            (0..n).for_each(|column| state.covariance.set(row, column, &Vector3::<f64>::zeros()));
            state.covariance.set(row, row, &Matrix3::from_diagonal_element(sigma * sigma));
        }
    }
}
