//! One Gaussian belief about the error of the estimate: its mean, zero or small, and its covariance.

use nalgebra::{Matrix3, SMatrix, SVector, Vector3};
use serde::{Deserialize, Serialize};

/// Where ξ is in an error.
pub const XI: usize = 0;
/// Where the error of the gyroscope's bias is.
pub const GYRO: usize = 3;
/// Where ν is.
pub const NU: usize = 6;
/// Where the error of the accelerometer's bias is.
pub const ACCEL: usize = 9;
/// Where ρ is.
pub const RHO: usize = 12;
/// Where the errors of the gyroscope's scales and axes are: the columns of M, one behind the other.
pub const SCALE: usize = 15;
/// Where the error of the lever is.
pub const LEVER: usize = 24;
/// The length of an error.
pub const SIZE: usize = 27;

/// An error, or a correction.
pub type Error = SVector<f64, SIZE>;
/// Of an error.
pub type Covariance = SMatrix<f64, SIZE, SIZE>;
/// The columns of a covariance that belong to a measurement of three numbers.
pub type Columns = SMatrix<f64, SIZE, 3>;

/// A Gaussian distribution of the error (ξ, b, ν, a, ρ, M, r).
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Belief {
    /// Zero where the estimate is what this belief expects.
    pub mean: Error,
    /// About the mean.
    pub covariance: Covariance,
}

impl Belief {
    /// With mean zero, and independent entries.
    pub fn new(std: &InitialStd) -> Self {
        let mut covariance = Covariance::zeros();
        let blocks = [(GYRO, std.gyro_bias), (NU, std.speed), (RHO, std.reach), (ACCEL, std.accelerometer_bias)];
        for (at, std) in blocks.into_iter().chain([(LEVER, std.lever)]) {
            for i in at..at + 3 {
                covariance[(i, i)] = std * std;
            }
        }
        for i in SCALE..LEVER {
            covariance[(i, i)] = std.gyro_scale.powi(2);
        }
        let mut belief = Self { mean: Error::zeros(), covariance };
        belief.set(XI, &Vector3::new(std.tilt, std.tilt, std.yaw));
        belief
    }

    /// Three entries get mean zero and these standard deviations, independent of the rest.
    pub fn set(&mut self, at: usize, std: &Vector3<f64>) {
        self.mean.fixed_rows_mut::<3>(at).fill(0.0);
        self.covariance.fixed_rows_mut::<3>(at).fill(0.0);
        self.covariance.fixed_columns_mut::<3>(at).fill(0.0);
        self.loosen(at, &std.component_mul(std));
    }

    /// Adds these variances to three entries.
    pub fn loosen(&mut self, at: usize, variances: &Vector3<f64>) {
        for i in 0..3 {
            self.covariance[(at + i, at + i)] += variances[i];
        }
    }

    /// Adds a covariance of two blocks of three entries, and its transpose where they are not the same block.
    pub fn add(&mut self, i: usize, j: usize, m: &Matrix3<f64>) {
        let sum = self.covariance.fixed_view::<3, 3>(i, j) + m;
        self.covariance.fixed_view_mut::<3, 3>(i, j).copy_from(&sum);
        if i != j {
            let sum = self.covariance.fixed_view::<3, 3>(j, i) + m.transpose();
            self.covariance.fixed_view_mut::<3, 3>(j, i).copy_from(&sum);
        }
    }

    /// The gyroscope's bias may have changed by this much, rad/s by axis, as long ago as it takes for `turned`, ∫R̂ dt
    /// since then, s: the change has turned ξ by −A δb.
    pub fn loosen_gyro_bias(&mut self, std: f64, turned: &Matrix3<f64>) {
        let variance = std * std;
        self.add(GYRO, GYRO, &Matrix3::from_diagonal_element(variance));
        self.add(XI, GYRO, &(turned * -variance));
        let square = turned * turned.transpose();
        self.add(XI, XI, &((square + square.transpose()) * (0.5 * variance)));
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
    /// Of each of its errors of scales and axes.
    pub gyro_scale: f64,
    /// Of the velocity, m/s.
    pub speed: f64,
    /// Of the position, m.
    pub reach: f64,
    /// Of the accelerometer's bias, m/s².
    pub accelerometer_bias: f64,
    /// Of the lever, m.
    pub lever: f64,
}
