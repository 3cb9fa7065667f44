//! # lienav-attitude
//!
//! How does a body lean, and how fast does its gyroscope drift? This crate estimates orientation and gyroscope bias
//! from an inertial sensor, with their covariances, by an invariant extended Kalman filter on SO(3). It is for robots
//! and programs that need roll and pitch, and a heading that does not drift while the sensor is at rest. A
//! magnetometer may help with the heading. A second estimator, [`Body`], integrates the motion of a rigid body from
//! measured torques.
//!
//! A sensor leans by 0.2 rad about x and is at rest. Its gyroscope has a bias:
//!
//! ```
//! use lienav_attitude::{Attitude, Config, ImuSample};
//! use lienav_base::stamp::Stamp;
//! use nalgebra::{UnitQuaternion, Vector3};
//!
//! let (truth, bias) = (UnitQuaternion::from_euler_angles(0.2, 0.0, 0.0), Vector3::new(0.01, -0.02, 0.0));
//! let specific_force = truth.inverse() * Vector3::new(0.0, 0.0, 9.80665);
//! let mut attitude = Attitude::new(Config::default())?;
//! for k in 0..500 {
//!     let stamp = Stamp::from_nanos(10_000_000 * k);
//!     attitude.imu(&ImuSample { stamp, angular_velocity: bias, specific_force })?;
//! }
//! let estimate = attitude.estimate().ok_or("no sample yet")?;
//! assert!(estimate.orientation.angle_to(&truth) < 0.01);
//! assert!((estimate.gyro_bias - bias).norm() < 0.003);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Equations
//!
//! ```math
//! \begin{array}{lll}
//! \text{state} & R \in SO(3),\; b \in \mathbb{R}^3
//!     & \text{body to world, z up; bias of the gyroscope, rad/s} \\
//! \text{error} & R_{true} = \mathrm{Exp}(\xi)\, \hat R & \xi \text{ in the axes of the world, rad} \\
//! \text{motion} & \dot R = R\, (\omega - b)^\wedge & \omega \text{ the reading of the gyroscope, rad/s} \\
//! \text{measurement} & f = R^T (a + g\, e_z) + n & \text{specific force, } m/s^2 \text{; the acceleration a is unknown}
//! \end{array}
//! ```
//!
//! `docs/attitude.md` derives the filter. Units are SI; axes are those of REP 103, samples those of REP 145. The crate
//! reads no clock and no files.
//!
//! # Where to go on
//!
//! - [`Attitude`] is the whole pipeline: [`ImuSample`]s and [`MagneticField`]s go in, an [`Estimate`] is there after
//!   each sample, and a sample that cannot be used is counted under a [`DropReason`].
//! - [`Config`] lists all settings of the filter, [`BodyConfig`] those of the body.
//! - `examples/05_attitude.rs` estimates the inclination of a swinging sensor, with noise.
//! - `lienav-integrate` has the integrators of the rates, `lienav-lie` the groups; `lienav-eval` judges a recorded
//!   run.

#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod belief;
mod body;
mod config;
mod correct;
mod field;
mod filter;
mod gravity_check;
mod input;
mod leaning;
mod mixture;
mod motion;
mod output;
mod preintegration;
mod rest;
mod start;
mod state;
#[cfg(test)]
mod tests;
mod transition;

pub use body::{BODY_SPECS, Body, BodyConfig, BodyError, BodyGroup, BodyRefusal, Torque};
pub use config::{
    AccelerometerConfig, Config, GyroscopeConfig, InitialConfig, MagnetometerConfig, MotionConfig, RestConfig, SPECS,
    TimingConfig,
};
pub use filter::{Attitude, ResumeError};
pub use input::{ImuSample, MagneticField};
pub use lienav_base::clock::TimeJump;
pub use output::{Counts, DropReason, Estimate};
