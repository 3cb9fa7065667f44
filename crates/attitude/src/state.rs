//! What the filter keeps: R, gyroscope bias b, velocity v, accelerometer bias a, position p, errors M of the
//! gyroscope's scales and axes, the lever r, and how sure it is of them.
//!
//! p is the leaky integral of v, dp/dt = v − p/L: of a sensor that stays about where it is, it is small. The error is
//! invariant from the right: R = exp(ξ) R̂, v = exp(ξ) v̂ + ν and p = exp(ξ) p̂ + ρ with ξ, ν, ρ in the world frame,
//! biases, M and r by differences in the body frame. In these coordinates the propagation of (ξ, ν, ρ) does not depend
//! on the motion (Barrau and Bonnabel 2017), and the biases enter through integrals of R̂ alone.

use super::preintegration::Preintegration;
use super::{AccelerometerConfig, GyroscopeConfig, MotionConfig};
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
/// Where ρ is.
pub const RHO: usize = 12;
/// Where the errors of the gyroscope's scales and axes are: the columns of M, one behind the other.
pub const SCALE: usize = 15;
/// Where the error of the lever is.
pub const LEVER: usize = 24;
/// The length of an error.
pub const SIZE: usize = 27;

/// Errors of scales and axes of the gyroscope that are not constant, as a part of those that are. A constant matrix and
/// bias explain the gyroscope on three trials of BROAD to 0.2° over two minutes of turns, so it is small.
const CHANGING_SCALES: f64 = 0.05;

/// How the lever wanders in a second, as a part of its standard deviation at the start: by all of it in 15 minutes.
const LEVER_WALK: f64 = 1.0 / 30.0;

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
    /// Of (ξ, b, ν, a, ρ, M, r) at the end of the last preintegration.
    pub covariance: Covariance,
    /// ∫R̂ ω_k dt for each component ω_k of the rate, forgotten with [`GyroscopeConfig::scale_memory_s`]: what an error
    /// of scales and axes of one has turned in the world, rad.
    pub turned: [Matrix3<f64>; 3],
}

impl State {
    /// At rest in the world, with these standard deviations of roll and pitch, heading, and the rest.
    pub fn new(orientation: UnitQuaternion<f64>, std: &InitialStd) -> Self {
        let mut covariance = Covariance::zeros();
        for i in 0..3 {
            covariance[(GYRO + i, GYRO + i)] = std.gyro_bias.powi(2);
            covariance[(NU + i, NU + i)] = std.speed.powi(2);
            covariance[(RHO + i, RHO + i)] = std.reach.powi(2);
            covariance[(ACCEL + i, ACCEL + i)] = std.accelerometer_bias.powi(2);
        }
        for i in SCALE..LEVER {
            covariance[(i, i)] = std.gyro_scale.powi(2);
        }
        for i in LEVER..SIZE {
            covariance[(i, i)] = std.lever.powi(2);
        }
        let mut state = Self {
            orientation,
            gyro_bias: Vector3::zeros(),
            velocity: Vector3::zeros(),
            position: Vector3::zeros(),
            accelerometer_bias: Vector3::zeros(),
            scales: Matrix3::zeros(),
            lever: Vector3::zeros(),
            swept: Matrix3::zeros(),
            covariance,
            turned: [Matrix3::zeros(); 3],
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

    /// A rate as it is read, without bias and errors of scales and axes, rad/s.
    pub fn rate(&self, read: &Vector3<f64>) -> Vector3<f64> {
        read - self.scales * read - self.gyro_bias
    }

    /// What is left of the position beside that of what turns about a point, p − S r, m.
    pub fn residual_position(&self) -> Vector3<f64> {
        self.position - self.swept * self.lever
    }

    /// Columns of the covariance with ρ − S δr.
    pub fn residual_columns(&self) -> Columns {
        self.covariance.fixed_columns::<3>(RHO) - self.covariance.fixed_columns::<3>(LEVER) * self.swept.transpose()
    }

    /// Covariance of ρ − S δr, m².
    pub fn residual_covariance(&self, columns: &Columns) -> Matrix3<f64> {
        columns.fixed_rows::<3>(RHO) - self.swept * columns.fixed_rows::<3>(LEVER)
    }

    /// Its variances by axis of the world, m².
    pub fn position_variance(&self) -> Vector3<f64> {
        self.residual_covariance(&self.residual_columns()).diagonal()
    }

    /// Puts v and p to zero with these variances by axis, independent of the rest.
    pub fn forget_motion(&mut self, speed: f64, reach: f64) {
        self.velocity = Vector3::zeros();
        self.forget_rows(NU, speed * speed);
        self.forget_position(reach);
    }

    /// Puts p to zero with this standard deviation by axis, independent of the rest.
    pub fn forget_position(&mut self, reach: f64) {
        self.position = Vector3::zeros();
        self.swept = Matrix3::zeros();
        self.forget_rows(RHO, reach * reach);
    }

    fn forget_rows(&mut self, at: usize, variance: f64) {
        self.covariance.fixed_rows_mut::<3>(at).fill(0.0);
        self.covariance.fixed_columns_mut::<3>(at).fill(0.0);
        for i in at..at + 3 {
            self.covariance[(i, i)] = variance;
        }
    }

    /// The gyroscope's bias may have changed by this much, rad/s by axis, as long ago as it takes for `turned`, ∫R̂ dt
    /// since then, s: the change has turned ξ by −A δb.
    pub fn loosen_gyro_bias(&mut self, std: f64, turned: &Matrix3<f64>) {
        let variance = std * std;
        let p = &mut self.covariance;
        let mut add = |i: usize, j: usize, m: &Matrix3<f64>| {
            let sum = p.fixed_view::<3, 3>(i, j) + m * variance;
            p.fixed_view_mut::<3, 3>(i, j).copy_from(&sum);
        };
        add(GYRO, GYRO, &Matrix3::identity());
        add(XI, GYRO, &-turned);
        add(GYRO, XI, &-turned.transpose());
        let square = turned * turned.transpose();
        add(XI, XI, &((square + square.transpose()) * 0.5));
    }

    /// Variance of the gyroscope's bias about a unit vector of the body, rad²/s².
    pub fn gyro_bias_variance(&self, axis: &Vector3<f64>) -> f64 {
        axis.dot(&(self.covariance.fixed_view::<3, 3>(GYRO, GYRO) * axis))
    }

    /// The horizontal velocity may have changed by this much, m²/s² by axis.
    pub fn loosen_level_velocity(&mut self, variance: f64) {
        for i in NU..NU + 2 {
            self.covariance[(i, i)] += variance;
        }
    }

    /// Propagates the covariance over preintegrated samples, which have already moved R, v and p; L is `motion.leak_s`:
    ///
    /// ξ⁺ = ξ − A δb, ν⁺ = ν + T g^ ξ − (g^ B + v̂^ A) δb − A δa, ρ⁺ = ρ k + T (ν k + ν⁺)/2 − p̂^ A δb,
    ///
    /// with A = ∫R̂ dt, B = ∫A dt, k = e^(−T/L), g the acceleration of free fall, and δb + δM ω in the place of δb,
    /// where ω is the mean rate. Noise η of the rate enters as A δb does: as
    /// −(η, v̂^ η, p̂^ η) in (ξ, ν, ρ).
    pub fn propagate(
        &mut self,
        preintegration: &Preintegration,
        free_fall: &Vector3<f64>,
        gyro: &GyroscopeConfig,
        accel: &AccelerometerConfig,
        motion: &MotionConfig,
    ) {
        let (t, a) = (preintegration.duration, &preintegration.rotation);
        let of_xi = hat(free_fall) * t;
        let of_bias = hat(free_fall) * preintegration.rotation_integral + hat(&self.velocity) * a;
        let of_position = hat(&self.position) * a;
        let keep = (-t / motion.leak_s).exp();
        let p = &mut self.covariance;
        let block = |p: &Covariance, i: usize| -> SMatrix<f64, 3, SIZE> { p.fixed_rows::<3>(i).into_owned() };
        // δb + δM ω with the mean rate of the interval: what errors of scales and axes do is what a bias does.
        let rate = preintegration.turn / t;
        let (xi, nu, ab, rho) = (block(p, XI), block(p, NU), block(p, ACCEL), block(p, RHO));
        let b = (0..3).fold(block(p, GYRO), |sum, k| sum + block(p, SCALE + 3 * k) * rate[k]);
        let moved = nu + of_xi * xi - of_bias * b - a * ab;
        p.fixed_rows_mut::<3>(XI).copy_from(&(xi - a * b));
        p.fixed_rows_mut::<3>(NU).copy_from(&moved);
        p.fixed_rows_mut::<3>(RHO).copy_from(&(rho * keep + (nu * keep + moved) * (0.5 * t) - of_position * b));
        let block = |p: &Covariance, i: usize| -> Columns { p.fixed_columns::<3>(i).into_owned() };
        let (xi, nu, ab, rho) = (block(p, XI), block(p, NU), block(p, ACCEL), block(p, RHO));
        let b = (0..3).fold(block(p, GYRO), |sum, k| sum + block(p, SCALE + 3 * k) * rate[k]);
        let (a, of_xi, of_bias) = (a.transpose(), of_xi.transpose(), of_bias.transpose());
        let moved = nu + xi * of_xi - b * of_bias - ab * a;
        p.fixed_columns_mut::<3>(XI).copy_from(&(xi - b * a));
        p.fixed_columns_mut::<3>(NU).copy_from(&moved);
        let sum = rho * keep + (nu * keep + moved) * (0.5 * t) - b * of_position.transpose();
        p.fixed_columns_mut::<3>(RHO).copy_from(&sum);
        let turn = self.turn_noise(preintegration, gyro);
        let p = &mut self.covariance;
        let (v, q) = (hat(&self.velocity), hat(&self.position));
        let (to_v, to_p) = (v * turn, q * turn);
        let mut add = |i: usize, j: usize, m: Matrix3<f64>| {
            let sum = p.fixed_view::<3, 3>(i, j) + m;
            p.fixed_view_mut::<3, 3>(i, j).copy_from(&sum);
        };
        add(XI, XI, turn);
        add(NU, XI, to_v);
        add(XI, NU, to_v.transpose());
        add(RHO, XI, to_p);
        add(XI, RHO, to_p.transpose());
        let (vv, pp, vp) = (to_v * v.transpose(), to_p * q.transpose(), to_v * q.transpose());
        add(NU, NU, (vv + vv.transpose()) * 0.5);
        add(RHO, RHO, (pp + pp.transpose()) * 0.5);
        add(NU, RHO, vp);
        add(RHO, NU, vp.transpose());
        let noise = [
            (GYRO, gyro.bias_walk.powi(2) * t),
            (NU, accel.noise_density.powi(2) * t + accel.relative_noise_density.powi(2) * preintegration.force_squared),
            (ACCEL, accel.bias_walk.powi(2) * t),
            (LEVER, (motion.lever_std * LEVER_WALK).powi(2) * t),
        ];
        for (at, variance) in noise {
            for i in at..at + 3 {
                p[(i, i)] += variance;
            }
        }
    }

    /// Covariance of the error of a preintegrated turn: white noise, and errors of scales and axes that are not
    /// constant. Those, a matrix N of independent entries, turn the estimate by ∫R N ω dt. What turns back takes that
    /// back; what is left of the turn after a time T adds up. With G the turn that is forgotten with time constant T,
    /// this is a noise of density 2 G Gᵀ std²/T: the spectral density of the turn's rate below 1/T.
    fn turn_noise(&mut self, preintegration: &Preintegration, gyro: &GyroscopeConfig) -> Matrix3<f64> {
        let t = preintegration.duration;
        let keep = (-t / gyro.scale_memory_s).exp();
        let share = 2.0 * (gyro.scale_std * CHANGING_SCALES).powi(2) * t / gyro.scale_memory_s;
        let mut noise = Matrix3::from_diagonal_element(gyro.noise_density.powi(2) * t);
        for (k, turned) in self.turned.iter_mut().enumerate() {
            *turned = *turned * keep + preintegration.rotation * (preintegration.turn[k] / t);
            noise += *turned * turned.transpose() * share;
        }
        noise
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
