//! What the filter keeps: R, gyroscope bias b, velocity v, accelerometer bias a, position p, errors M of the
//! gyroscope's scales and axes, the lever r, and how sure it is of them.
//!
//! p is the leaky integral of v, dp/dt = v − p/L: of a sensor that stays about where it is, it is small. The error is
//! invariant from the right: R = exp(ξ) R̂, v = exp(ξ) v̂ + ν and p = exp(ξ) p̂ + ρ with ξ, ν, ρ in the world frame,
//! biases, M and r by differences in the body frame. In these coordinates the propagation of (ξ, ν, ρ) does not depend
//! on the motion (Barrau and Bonnabel 2017), and the biases enter through integrals of R̂ alone.

use super::GyroscopeConfig;
use super::belief::{ACCEL, Covariance, Error, GYRO, LEVER, NU, RHO, SCALE, XI};
use super::preintegration::Preintegration;
use lienav_lie::{LieGroup, Quat};
use nalgebra::{Matrix3, UnitQuaternion, Vector3};
use serde::{Deserialize, Serialize};

/// The estimate.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct State {
    /// R, from the body to the world.
    pub orientation: UnitQuaternion<f64>,
    /// b, rad/s, body frame.
    pub gyro_bias: Vector3<f64>,
    /// v, m/s, world frame: of a motion that stays about where it is.
    pub velocity: Vector3<f64>,
    /// p, m, world frame: the leaky integral of v.
    pub position: Vector3<f64>,
    /// a, m/s², body frame.
    pub accelerometer_bias: Vector3<f64>,
    /// M, errors of the gyroscope's scales and axes: a rate ω is read as ω + M ω + b.
    pub scales: Matrix3<f64>,
    /// r, m, body frame: the sensor is on what turns about a point that stays about where it is.
    pub lever: Vector3<f64>,
    /// S, the rotation R as p is the position: dS/dt = dR/dt − S/L. Of what turns about a point, p = S r.
    pub swept: Matrix3<f64>,
    /// Of (ξ, b, ν, a, ρ, M, r) at the end of the last preintegration, over all hypotheses.
    pub covariance: Covariance,
    /// ∫R̂ ω_k dt for each component ω_k of the rate, forgotten with [`GyroscopeConfig::scale_memory_s`]: what an error
    /// of scales and axes of one has turned in the world, rad.
    pub turned: [Matrix3<f64>; 3],
}

impl State {
    /// At rest in the world.
    pub fn new(orientation: UnitQuaternion<f64>) -> Self {
        Self {
            orientation,
            gyro_bias: Vector3::zeros(),
            velocity: Vector3::zeros(),
            position: Vector3::zeros(),
            accelerometer_bias: Vector3::zeros(),
            scales: Matrix3::zeros(),
            lever: Vector3::zeros(),
            swept: Matrix3::zeros(),
            covariance: Covariance::zeros(),
            turned: [Matrix3::zeros(); 3],
        }
    }

    /// A rate as it is read, without bias and errors of scales and axes, rad/s.
    pub fn rate(&self, read: &Vector3<f64>) -> Vector3<f64> {
        read - self.scales * read - self.gyro_bias
    }

    /// What is left of the position beside that of what turns about a point, p − S r, m.
    pub fn residual_position(&self) -> Vector3<f64> {
        self.position - self.swept * self.lever
    }

    /// Puts p to zero.
    pub fn forget_position(&mut self) {
        self.position = Vector3::zeros();
        self.swept = Matrix3::zeros();
    }

    /// Covariance of ξ after `preintegration`, which has moved R but is not in the covariance yet.
    pub fn orientation_covariance(&self, preintegration: &Preintegration, gyro: &GyroscopeConfig) -> Matrix3<f64> {
        let p = &self.covariance;
        let a = &preintegration.rotation;
        let duration = preintegration.duration;
        let rate = if duration > 0.0 { preintegration.turn / duration } else { Vector3::zeros() };
        // Of δb + δM ω, as in [`Self::propagate`].
        let with = |row: usize| -> Matrix3<f64> {
            let block = |at: usize| -> Matrix3<f64> { p.fixed_view::<3, 3>(row, at).into_owned() };
            (0..3).fold(block(GYRO), |sum, k| sum + block(SCALE + 3 * k) * rate[k])
        };
        let cross = with(XI) * a.transpose();
        let of_rate = (0..3).fold(with(GYRO), |sum, k| sum + with(SCALE + 3 * k) * rate[k]);
        let noise = gyro.noise_density.powi(2) * duration;
        p.fixed_view::<3, 3>(XI, XI) - cross - cross.transpose()
            + a * of_rate * a.transpose()
            + Matrix3::from_diagonal_element(noise)
    }

    /// Moves the estimate by an error.
    pub fn retract(&mut self, error: &Error) {
        let part = |at: usize| -> Vector3<f64> { error.fixed_rows::<3>(at).into_owned() };
        let turn = Quat::exp(&part(XI)).unit_quaternion();
        self.orientation = turn * self.orientation;
        self.orientation.renormalize_fast();
        self.velocity = turn * self.velocity + part(NU);
        self.position = turn * self.position + part(RHO);
        self.gyro_bias += part(GYRO);
        self.accelerometer_bias += part(ACCEL);
        self.lever += part(LEVER);
        self.swept = turn.to_rotation_matrix() * self.swept;
        for k in 0..3 {
            let mut column = self.scales.column_mut(k);
            column += part(SCALE + 3 * k);
        }
    }
}
