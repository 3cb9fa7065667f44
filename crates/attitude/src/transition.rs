//! Propagation of a belief over preintegrated samples, which have already moved R, v and p; L is `motion.leak_s`:
//!
//! ξ⁺ = ξ − A δb, ν⁺ = ν + T g^ ξ − (g^ B + v̂^ A) δb − A δa, ρ⁺ = ρ k + T (ν k + ν⁺)/2 − p̂^ A δb,
//!
//! with A = ∫R̂ dt, B = ∫A dt, k = e^(−T/L), g the acceleration of free fall, and δb + δM ω in the place of δb, where
//! ω is the mean rate. Noise η of the rate enters as A δb does: as −(η, v̂^ η, p̂^ η) in (ξ, ν, ρ).

use super::belief::{ACCEL, Belief, GYRO, LEVER, NU, RHO, SCALE, XI};
use super::preintegration::Preintegration;
use super::state::State;
use super::{AccelerometerConfig, GyroscopeConfig, MotionConfig};
use lienav_lie::hat;
use nalgebra::{Matrix3, SMatrix, Vector3};
use serde::{Deserialize, Serialize};

/// Errors of scales and axes of the gyroscope that are not constant, as a part of those that are. A constant matrix and
/// bias explain the gyroscope on three trials of BROAD to 0.2° over two minutes of turns, so it is small.
const CHANGING_SCALES: f64 = 0.05;

/// How the lever wanders in a second, as a part of its standard deviation at the start: by all of it in 15 minutes.
const LEVER_WALK: f64 = 1.0 / 30.0;

/// Spectral densities that a hypothesis adds to those of the configuration.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Noise {
    /// Of the rate, in parts of the rate, 1/√Hz.
    pub rate: f64,
    /// Of the acceleration, m/s²/√Hz.
    pub acceleration: f64,
}

/// The linear map of the errors over a preintegration, and the noise that it adds.
pub struct Transition {
    duration: f64,
    keep: f64,
    a: Matrix3<f64>,
    of_xi: Matrix3<f64>,
    of_bias: Matrix3<f64>,
    of_position: Matrix3<f64>,
    rate: Vector3<f64>,
    rate_squared: f64,
    velocity: Matrix3<f64>,
    position: Matrix3<f64>,
    /// Covariance of ξ by white noise of the rate and by scales that change.
    turn: Matrix3<f64>,
    /// Where variances are added, and how much.
    walks: [(usize, f64); 4],
}

impl Transition {
    /// Over a preintegration that ends in `state`.
    pub fn new(
        state: &mut State,
        preintegration: &Preintegration,
        free_fall: &Vector3<f64>,
        gyro: &GyroscopeConfig,
        accel: &AccelerometerConfig,
        motion: &MotionConfig,
    ) -> Self {
        let (duration, a) = (preintegration.duration, preintegration.rotation);
        let force = accel.noise_density.powi(2) * duration
            + accel.relative_noise_density.powi(2) * preintegration.force_squared;
        let (velocity, position) = (hat(&state.velocity), hat(&state.position));
        Self {
            duration,
            keep: (-duration / motion.leak_s).exp(),
            a,
            of_xi: hat(free_fall) * duration,
            of_bias: hat(free_fall) * preintegration.rotation_integral + velocity * a,
            of_position: position * a,
            rate: preintegration.turn / duration,
            rate_squared: preintegration.rate_squared,
            velocity,
            position,
            turn: turn_noise(state, preintegration, gyro),
            walks: [
                (GYRO, gyro.bias_walk.powi(2) * duration),
                (NU, force),
                (ACCEL, accel.bias_walk.powi(2) * duration),
                (LEVER, (motion.lever_std * LEVER_WALK).powi(2) * duration),
            ],
        }
    }

    /// Propagates a belief with noise beside that of the configuration.
    pub fn apply(&self, belief: &mut Belief, noise: &Noise) {
        let p = &mut belief.covariance;
        self.left(p);
        p.transpose_mut();
        self.left(p);
        self.left(&mut belief.mean);
        let turn = self.turn + Matrix3::from_diagonal_element(noise.rate.powi(2) * self.rate_squared);
        let (v, q) = (&self.velocity, &self.position);
        let (to_v, to_p) = (v * turn, q * turn);
        let (vv, pp) = (to_v * v.transpose(), to_p * q.transpose());
        belief.add(XI, XI, &turn);
        belief.add(NU, XI, &to_v);
        belief.add(RHO, XI, &to_p);
        belief.add(NU, NU, &((vv + vv.transpose()) * 0.5));
        belief.add(RHO, RHO, &((pp + pp.transpose()) * 0.5));
        belief.add(NU, RHO, &(to_v * q.transpose()));
        for (at, variance) in self.walks {
            belief.loosen(at, &Vector3::repeat(variance));
        }
        belief.loosen(NU, &Vector3::repeat(noise.acceleration.powi(2) * self.duration));
    }

    /// F x, for errors in the columns of x.
    fn left<const N: usize>(&self, x: &mut SMatrix<f64, { super::belief::SIZE }, N>) {
        let block = |x: &SMatrix<f64, { super::belief::SIZE }, N>, at: usize| -> SMatrix<f64, 3, N> {
            x.fixed_rows::<3>(at).into_owned()
        };
        let (xi, nu, rho, ab) = (block(x, XI), block(x, NU), block(x, RHO), block(x, ACCEL));
        // δb + δM ω with the mean rate of the interval: what errors of scales and axes do is what a bias does.
        let b = (0..3).fold(block(x, GYRO), |sum, k| sum + block(x, SCALE + 3 * k) * self.rate[k]);
        let moved = nu + self.of_xi * xi - self.of_bias * b - self.a * ab;
        x.fixed_rows_mut::<3>(XI).copy_from(&(xi - self.a * b));
        x.fixed_rows_mut::<3>(NU).copy_from(&moved);
        let sum = rho * self.keep + (nu * self.keep + moved) * (0.5 * self.duration) - self.of_position * b;
        x.fixed_rows_mut::<3>(RHO).copy_from(&sum);
    }
}

/// Covariance of the error of a preintegrated turn: white noise, and errors of scales and axes that are not constant.
/// Those, a matrix N of independent entries, turn the estimate by ∫R N ω dt. What turns back takes that back; what is
/// left of the turn after a time T adds up. With G the turn that is forgotten with time constant T, this is a noise of
/// density 2 G Gᵀ std²/T: the spectral density of the turn's rate below 1/T.
fn turn_noise(state: &mut State, preintegration: &Preintegration, gyro: &GyroscopeConfig) -> Matrix3<f64> {
    let t = preintegration.duration;
    let keep = (-t / gyro.scale_memory_s).exp();
    let share = 2.0 * (gyro.scale_std * CHANGING_SCALES).powi(2) * t / gyro.scale_memory_s;
    let mut noise = Matrix3::from_diagonal_element(gyro.noise_density.powi(2) * t);
    for (k, turned) in state.turned.iter_mut().enumerate() {
        *turned = *turned * keep + preintegration.rotation * (preintegration.turn[k] / t);
        noise += *turned * turned.transpose() * share;
    }
    noise
}
