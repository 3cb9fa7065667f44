//! What the filter keeps: R, gyroscope bias b, velocity v, accelerometer bias a, and how sure it is of them.
//!
//! The error is invariant from the right: R = exp(ξ) R̂ and v = exp(ξ) v̂ + ν with ξ, ν in the world frame, biases by
//! differences in the body frame. In these coordinates the propagation of (ξ, ν) does not depend on the motion (Barrau
//! and Bonnabel 2017), and the biases enter through integrals of R̂ alone.

use super::preintegration::Preintegration;
use super::{AccelerometerConfig, GyroscopeConfig};
use lienav_lie::{LieGroup, Quat, hat};
use nalgebra::{Matrix3, SMatrix, SVector, UnitQuaternion, Vector3};

/// Where ξ is in an error.
pub const XI: usize = 0;
/// Where the error of the gyroscope's bias is.
pub const GYRO: usize = 3;
/// Where ν is.
pub const NU: usize = 6;
/// Where the error of the accelerometer's bias is.
pub const ACCEL: usize = 9;
/// The length of an error.
pub const SIZE: usize = 12;

/// An error, or a correction.
pub type Error = SVector<f64, SIZE>;
/// Of an error.
pub type Covariance = SMatrix<f64, SIZE, SIZE>;
/// The columns of a covariance that belong to a measurement of three numbers.
pub type Columns = SMatrix<f64, SIZE, 3>;

/// The estimate.
#[derive(Clone, Debug)]
pub struct State {
    /// R, from the body to the world.
    pub orientation: UnitQuaternion<f64>,
    /// b, rad/s, body frame.
    pub gyro_bias: Vector3<f64>,
    /// v, m/s, world frame: of a motion that stays about where it is.
    pub velocity: Vector3<f64>,
    /// a, m/s², body frame.
    pub accelerometer_bias: Vector3<f64>,
    /// Of (ξ, b, ν, a) at the end of the last preintegration.
    pub covariance: Covariance,
}

impl State {
    /// At rest in the world, with these standard deviations of roll and pitch, heading, and the rest.
    pub fn new(orientation: UnitQuaternion<f64>, std: &InitialStd) -> Self {
        let mut covariance = Covariance::zeros();
        for i in 0..3 {
            covariance[(GYRO + i, GYRO + i)] = std.gyro_bias.powi(2);
            covariance[(NU + i, NU + i)] = std.speed.powi(2);
            covariance[(ACCEL + i, ACCEL + i)] = std.accelerometer_bias.powi(2);
        }
        let mut state = Self {
            orientation,
            gyro_bias: Vector3::zeros(),
            velocity: Vector3::zeros(),
            accelerometer_bias: Vector3::zeros(),
            covariance,
        };
        state.set_orientation(orientation, std.tilt, std.yaw);
        state
    }

    /// Puts R where somebody else says, with these standard deviations about the horizontal axes and the vertical. It
    /// is then independent of the rest.
    pub fn set_orientation(&mut self, orientation: UnitQuaternion<f64>, tilt_std: f64, yaw_std: f64) {
        self.orientation = orientation;
        self.covariance.fixed_rows_mut::<3>(XI).fill(0.0);
        self.covariance.fixed_columns_mut::<3>(XI).fill(0.0);
        for (i, std) in [tilt_std, tilt_std, yaw_std].into_iter().enumerate() {
            self.covariance[(XI + i, XI + i)] = std * std;
        }
    }

    /// Variances of ν by axis of the world, m²/s²: of the velocity, but for the turn of the world that is not known.
    pub fn velocity_variance(&self) -> Vector3<f64> {
        self.covariance.diagonal().fixed_rows::<3>(NU).into_owned()
    }

    /// Puts v to zero with these variances by axis, independent of the rest.
    pub fn forget_velocity(&mut self, variance: &Vector3<f64>) {
        self.velocity = Vector3::zeros();
        self.covariance.fixed_rows_mut::<3>(NU).fill(0.0);
        self.covariance.fixed_columns_mut::<3>(NU).fill(0.0);
        for i in 0..3 {
            self.covariance[(NU + i, NU + i)] = variance[i];
        }
    }

    /// The gyroscope's bias may have changed by this much, rad/s by axis.
    pub fn loosen_gyro_bias(&mut self, std: f64) {
        for i in GYRO..GYRO + 3 {
            self.covariance[(i, i)] += std * std;
        }
    }

    /// Propagates the covariance over preintegrated samples, which have already moved R and v:
    ///
    /// ξ⁺ = ξ − A δb, ν⁺ = ν + T g^ ξ − (g^ B + v̂^ A) δb − A δa, with A = ∫R̂ dt, B = ∫A dt, g the acceleration of
    /// free fall.
    pub fn propagate(
        &mut self,
        preintegration: &Preintegration,
        free_fall: &Vector3<f64>,
        gyro: &GyroscopeConfig,
        accel: &AccelerometerConfig,
    ) {
        let (t, a) = (preintegration.duration, &preintegration.rotation);
        let of_xi = hat(free_fall) * t;
        let of_bias = hat(free_fall) * preintegration.rotation_integral + hat(&self.velocity) * a;
        let p = &mut self.covariance;
        let block = |p: &Covariance, i: usize| -> SMatrix<f64, 3, SIZE> { p.fixed_rows::<3>(i).into_owned() };
        let (xi, b, nu, ab) = (block(p, XI), block(p, GYRO), block(p, NU), block(p, ACCEL));
        p.fixed_rows_mut::<3>(XI).copy_from(&(xi - a * b));
        p.fixed_rows_mut::<3>(NU).copy_from(&(nu + of_xi * xi - of_bias * b - a * ab));
        let block = |p: &Covariance, i: usize| -> Columns { p.fixed_columns::<3>(i).into_owned() };
        let (xi, b, nu, ab) = (block(p, XI), block(p, GYRO), block(p, NU), block(p, ACCEL));
        let (a, of_xi, of_bias) = (a.transpose(), of_xi.transpose(), of_bias.transpose());
        p.fixed_columns_mut::<3>(XI).copy_from(&(xi - b * a));
        p.fixed_columns_mut::<3>(NU).copy_from(&(nu + xi * of_xi - b * of_bias - ab * a));
        let noise = [
            (XI, gyro.noise_density.powi(2) * t + gyro.relative_noise_density.powi(2) * preintegration.rate_squared),
            (GYRO, gyro.bias_walk.powi(2) * t),
            (NU, accel.noise_density.powi(2) * t + accel.relative_noise_density.powi(2) * preintegration.force_squared),
            (ACCEL, accel.bias_walk.powi(2) * t),
        ];
        for (at, variance) in noise {
            for i in at..at + 3 {
                p[(i, i)] += variance;
            }
        }
    }

    /// Covariance of ξ after `preintegration`, which has moved R but is not in the covariance yet.
    pub fn orientation_covariance(&self, preintegration: &Preintegration, gyro: &GyroscopeConfig) -> Matrix3<f64> {
        let p = &self.covariance;
        let a = &preintegration.rotation;
        let cross = p.fixed_view::<3, 3>(XI, GYRO) * a.transpose();
        let noise = gyro.noise_density.powi(2) * preintegration.duration
            + gyro.relative_noise_density.powi(2) * preintegration.rate_squared;
        p.fixed_view::<3, 3>(XI, XI) - cross - cross.transpose()
            + a * p.fixed_view::<3, 3>(GYRO, GYRO) * a.transpose()
            + Matrix3::from_diagonal_element(noise)
    }

    /// Moves the estimate by an error.
    pub fn retract(&mut self, error: &Error) {
        let part = |at: usize| -> Vector3<f64> { error.fixed_rows::<3>(at).into_owned() };
        let turn = Quat::exp(&part(XI)).unit_quaternion();
        self.orientation = turn * self.orientation;
        self.orientation.renormalize_fast();
        self.velocity = turn * self.velocity + part(NU);
        self.gyro_bias += part(GYRO);
        self.accelerometer_bias += part(ACCEL);
    }
}

/// Standard deviations at the start.
#[derive(Clone, Copy, Debug)]
pub struct InitialStd {
    /// Of roll and pitch, rad.
    pub tilt: f64,
    /// Of the heading, rad.
    pub yaw: f64,
    /// Of the gyroscope's bias, rad/s.
    pub gyro_bias: f64,
    /// Of the velocity, m/s.
    pub speed: f64,
    /// Of the accelerometer's bias, m/s².
    pub accelerometer_bias: f64,
}
