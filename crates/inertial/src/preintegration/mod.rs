//! What an inertial sensor says between two frames: an increment of SE₂(3), its derivative by the biases, and its
//! covariance. None of it depends on where the robot is.
//!
//! Read [`galilei`] (the group and one step), then [`bias`] and [`noise`] (what is carried along), then
//! [`Preintegration`] here (one step of all of it), [`samples`] (rate and force between samples) and [`integrator`]
//! (samples in, one increment a frame out). [`twist`] is the same of a gyroscope and a velocity, without an accelerometer.
//!
//! The error ζ of an increment is taken from the left, Υ_true = Exp(ζ) Υ̂ on SE₂(3). To first order, with n and δb the
//! noise and the errors of the biases,
//!
//! ```math
//! \dot ζ_R = −ΔR (δb_g + n_g),  \dot ζ_v = −[Δv]_× ΔR (δb_g + n_g) − ΔR (δb_a + n_a),
//! \dot ζ_p = ζ_v − [Δp]_× ΔR (δb_g + n_g)
//! ```
//!
//! (Barrau and Bonnabel 2017, with gravity left out). The transition of ζ is the identity but for ζ_p += h ζ_v, so that
//! a step costs little more than its exponential.

pub mod bias;
pub mod galilei;
pub mod integrator;
pub mod noise;
pub mod samples;
pub mod step;
pub mod twist;

use crate::imu::{Biases, Imu, ImuNoise};
use bias::BiasIntegrals;
use galilei::{Element, Increment};
use lienav_lie::{LieGroup, So3};
use nalgebra::{SMatrix, SVector, Vector3};
use noise::{WalkIntegrals, WhiteNoise};
use serde::{Deserialize, Serialize};
use step::Step;

/// Increment, bias Jacobian and covariance over an interval that grows sample by sample.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Preintegration {
    biases: Biases,
    noise: ImuNoise,
    increment: Increment,
    end_rate: Vector3<f64>,
    bias: BiasIntegrals,
    white: WhiteNoise,
    walk: WalkIntegrals,
}

impl Preintegration {
    /// An interval without length, at these biases.
    pub fn new(biases: Biases, noise: ImuNoise) -> Self {
        Self { biases, noise, ..Self::default() }
    }

    /// Begins again at these biases.
    pub fn restart(&mut self, biases: Biases) {
        *self = Self::new(biases, self.noise);
    }

    /// The biases that were taken off the samples.
    pub fn biases(&self) -> &Biases {
        &self.biases
    }

    /// The increment so far.
    pub fn increment(&self) -> &Increment {
        &self.increment
    }

    /// Adds a step of h seconds, with what the sensor measured at its two Gauss points (½ ∓ √3/6)h.
    #[inline]
    pub fn add(&mut self, h: f64, measured: &[Imu; 2]) {
        let values = measured.map(|value| value.without(&self.biases));
        let exponential = Element::magnus(h, &values).exp();
        let (now, within) = (&self.increment, &exponential.increment);
        let moved = now.rotation * within.velocity;
        let step = Step {
            duration_s: h,
            rotation: now.rotation,
            velocity: now.velocity,
            coasting: now.position + now.velocity * h,
            middle_velocity: now.velocity + moved * 0.5,
            middle_position: now.position + now.velocity * (0.5 * h) + moved * (0.125 * h),
        };
        self.bias.add(&step, &values, &exponential);
        self.white.add(&step, &self.noise);
        self.walk.add(h, &self.bias);
        self.increment = now.then(within);
        self.end_rate = values[1].rate;
    }

    /// Increment, Jacobian and covariance as matrices.
    pub fn finish(&self) -> Preintegrated {
        let jacobian = self.bias.jacobian();
        let mut covariance = self.walk.covariance(self.increment.duration_s, &self.bias, &self.noise);
        let mut own = covariance.fixed_view_mut::<9, 9>(0, 0);
        own += self.white.covariance();
        Preintegrated { increment: self.increment, biases: self.biases, end_rate: self.end_rate, jacobian, covariance }
    }
}

/// What an inertial sensor says of an interval.
#[derive(Clone, Debug, PartialEq)]
pub struct Preintegrated {
    /// The increment.
    pub increment: Increment,
    /// The biases that were taken off the samples.
    pub biases: Biases,
    /// Angular rate at the end, rad/s, without the bias.
    pub end_rate: Vector3<f64>,
    /// ∂ζ/∂(b_g, b_a), 9 × 6, rows (ζ_R, ζ_v, ζ_p): rad, m/s, m for each rad/s and m/s².
    pub jacobian: SMatrix<f64, 9, 6>,
    /// Covariance of (ζ, δb_g, δb_a) at the end that white noise and the random walks of the interval make, 15 × 15.
    pub covariance: SMatrix<f64, 15, 15>,
}

impl Preintegrated {
    /// Nothing moves, and what is known is less certain by these standard deviations of rotation, rad, velocity, m/s,
    /// and position, m, by axis.
    pub fn uncertainty(turn: f64, velocity: f64, position: f64) -> Self {
        let mut covariance = SMatrix::<f64, 15, 15>::zeros();
        for axis in 0..3 {
            covariance[(axis, axis)] = turn * turn;
            covariance[(3 + axis, 3 + axis)] = velocity * velocity;
            covariance[(6 + axis, 6 + axis)] = position * position;
        }
        Self {
            increment: Increment::default(),
            biases: Biases::default(),
            end_rate: Vector3::zeros(),
            jacobian: SMatrix::zeros(),
            covariance,
        }
    }

    /// The increment at other biases, Exp(J (b − b₀)) Υ, exact to first order in the change.
    #[must_use]
    pub fn at(&self, biases: &Biases) -> Increment {
        let gyro = biases.gyro - self.biases.gyro;
        let accelerometer = biases.accelerometer - self.biases.accelerometer;
        let zeta = self.jacobian.fixed_columns::<3>(0) * gyro + self.jacobian.fixed_columns::<3>(3) * accelerometer;
        moved(&self.increment, &zeta)
    }
}

/// Exp(ζ) Υ on SE₂(3), with ζ = (ζ_R, ζ_v, ζ_p).
pub fn moved(increment: &Increment, zeta: &SVector<f64, 9>) -> Increment {
    let part = |row| Vector3::new(zeta[row], zeta[row + 1], zeta[row + 2]);
    let turn = part(0);
    let by = So3::exp(&turn);
    Increment {
        rotation: by.matrix() * increment.rotation,
        velocity: by * increment.velocity + So3::dexp(&turn, &part(3)),
        position: by * increment.position + So3::dexp(&turn, &part(6)),
        duration_s: increment.duration_s,
    }
}

/// The ζ with Υ_true = Exp(ζ) Υ, (ζ_R, ζ_v, ζ_p).
pub fn difference(truth: &Increment, estimate: &Increment) -> SVector<f64, 9> {
    let turn = So3::from_matrix_unchecked(truth.rotation * estimate.rotation.transpose());
    let angle = turn.log();
    let velocity = So3::dexp_inv(&angle, &(truth.velocity - turn * estimate.velocity));
    let position = So3::dexp_inv(&angle, &(truth.position - turn * estimate.position));
    let mut zeta = SVector::<f64, 9>::zeros();
    zeta.fixed_rows_mut::<3>(0).copy_from(&angle);
    zeta.fixed_rows_mut::<3>(3).copy_from(&velocity);
    zeta.fixed_rows_mut::<3>(6).copy_from(&position);
    zeta
}
