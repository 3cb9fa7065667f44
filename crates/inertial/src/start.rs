//! The start at rest: up is where the mean specific force points, the gyroscope's bias is the mean rate.
//!
//! The accelerometer's bias tilts the start, and the covariance says so: with f̄ the mean of a_m = −Rᵀg + b_a + n and
//! R̂ f̄ along the vertical, ξ_R = e_z × R̂(δb_a + n)/|g| in its horizontal part. |f̄| − |g| shows the bias along the
//! vertical. Heading and position are given, or zero as a convention.

use crate::covariance::NavMatrix;
use crate::filter::Filter;
use crate::imu::{Biases, Imu, ImuNoise};
use crate::state::State;
use crate::state::errors::{FORCE_BIAS, GYRO_BIAS, POSITION, ROTATION, VELOCITY, put};
use crate::state::nav::Nav;
use lienav_lie::{LieGroup, So3, hat};
use nalgebra::{Matrix3, SVector, Vector3};

/// What is known at a start at rest, besides the samples.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Prior {
    /// Heading, rad, and its standard deviation.
    pub heading: (f64, f64),
    /// Position, m.
    pub position: Vector3<f64>,
    /// Standard deviation of the position by axis, m.
    pub position_sigma: f64,
    /// How much the body moves while at rest, m/s by axis.
    pub velocity_sigma: f64,
    /// How fast it turns while at rest, in the mean over the interval, rad/s by axis.
    pub rate_sigma: f64,
    /// Standard deviation of the accelerometer's bias by axis, m/s².
    pub accelerometer_bias_sigma: f64,
    /// Gravity, m/s², and its standard deviation.
    pub gravity: (f64, f64),
}

impl Default for Prior {
    fn default() -> Self {
        Self {
            heading: (0.0, 0.0),
            position: Vector3::zeros(),
            position_sigma: 0.0,
            velocity_sigma: 0.01,
            rate_sigma: 0.001,
            accelerometer_bias_sigma: 0.1,
            gravity: (crate::state::GRAVITY, 0.01),
        }
    }
}

/// Means and deviations of the samples of an interval.
#[derive(Clone, Copy, Debug, Default)]
pub struct RestSamples {
    count: f64,
    rate: Vector3<f64>,
    force: Vector3<f64>,
    rate_square: Vector3<f64>,
    force_square: Vector3<f64>,
}

/// A state cannot begin with these samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StartError {
    /// Two samples at least.
    #[error("there are no samples to start from")]
    NoSamples,
    /// The mean force is not near gravity: the sensor is not at rest, or its unit is not m/s².
    #[error("the mean specific force is not near gravity: not at rest, or not in m/s²")]
    NotGravity,
}

/// The mean specific force at rest may differ from gravity by this part.
const LARGEST_DEVIATION: f64 = 0.2;

impl RestSamples {
    /// Takes in a sample; what is not finite is left out.
    pub fn add(&mut self, value: &Imu) {
        if !value.is_finite() {
            return;
        }
        // Welford's sums.
        self.count += 1.0;
        let (rate, force) = (value.rate - self.rate, value.force - self.force);
        self.rate += rate / self.count;
        self.force += force / self.count;
        self.rate_square += rate.component_mul(&(value.rate - self.rate));
        self.force_square += force.component_mul(&(value.force - self.force));
    }

    /// The mean rate, rad/s, and the mean force, m/s².
    pub fn mean(&self) -> Imu {
        Imu::new(self.rate, self.force)
    }

    /// Standard deviations about the mean, the largest of the axes: rad/s and m/s².
    pub fn deviations(&self) -> (f64, f64) {
        let of = |square: &Vector3<f64>| (square.max() / (self.count - 1.0).max(1.0)).sqrt();
        (of(&self.rate_square), of(&self.force_square))
    }

    /// The state after `seconds` at rest, with room for `capacity` landmarks.
    ///
    /// # Errors
    /// [`StartError`].
    pub fn start(
        &self,
        seconds: f64,
        prior: &Prior,
        noise: &ImuNoise,
        capacity: usize,
        filter: &Filter,
    ) -> Result<State, StartError> {
        if self.count < 2.0 || seconds <= 0.0 {
            return Err(StartError::NoSamples);
        }
        let (gravity, gravity_sigma) = prior.gravity;
        let excess = self.force.norm() - gravity;
        if excess.abs() > LARGEST_DEVIATION * gravity {
            return Err(StartError::NotGravity);
        }
        let rotation = So3::exp(&(Vector3::z() * prior.heading.0)) * level(&self.force);
        let up = rotation.rotate_back(&Vector3::z());
        let white = |density: f64| density * density / seconds;
        let force_variance = white(noise.accelerometer);

        // b_a: alike in all directions, then the vertical is seen.
        let before = prior.accelerometer_bias_sigma.powi(2);
        let gain = before / (before + force_variance + gravity_sigma * gravity_sigma);
        let bias = Matrix3::from_diagonal_element(before) - up * up.transpose() * (gain * before);
        let biases = Biases { gyro: self.rate, accelerometer: up * (gain * excess) };

        // ξ_R by b_a and noise, and the heading.
        let tilt = hat(&Vector3::z()) * rotation.matrix() / gravity;
        let own = tilt * (bias + Matrix3::from_diagonal_element(force_variance)) * tilt.transpose();
        let mut covariance = NavMatrix::from_diagonal(&SVector::from_fn(|i, _| match i {
            VELOCITY..POSITION => prior.velocity_sigma.powi(2),
            POSITION..GYRO_BIAS => prior.position_sigma.powi(2),
            GYRO_BIAS..FORCE_BIAS => prior.rate_sigma.powi(2) + white(noise.gyro),
            _ => 0.0,
        }));
        let heading = Vector3::z() * Vector3::z().transpose() * prior.heading.1.powi(2);
        put(&mut covariance, ROTATION, ROTATION, &(own + heading));
        put(&mut covariance, ROTATION, FORCE_BIAS, &(tilt * bias));
        put(&mut covariance, FORCE_BIAS, ROTATION, &(tilt * bias).transpose());
        put(&mut covariance, FORCE_BIAS, FORCE_BIAS, &bias);
        let nav = Nav { rotation, velocity: Vector3::zeros(), position: prior.position, biases };
        let mut state = State::new(nav, &covariance, capacity, filter);
        state.gravity = gravity;
        Ok(state)
    }
}

/// The shortest rotation that takes a force to the vertical.
fn level(force: &Vector3<f64>) -> So3 {
    let f = force.normalize();
    let axis = f.cross(&Vector3::z());
    let sin = axis.norm();
    if sin < 1e-12 {
        return if f.z > 0.0 { So3::identity() } else { So3::exp(&(Vector3::x() * std::f64::consts::PI)) };
    }
    So3::exp(&(axis * (sin.atan2(f.z) / sin)))
}
