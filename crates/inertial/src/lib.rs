//! # lienav-inertial
//!
//! Where is a body in space, if it carries an inertial sensor and sees landmarks? This crate estimates its pose,
//! velocity and sensor biases together with the landmarks, by a symmetry-reduced Kalman filter whose covariance is
//! true: what landmarks cannot tell (the heading and the position, four numbers) the filter does not learn from them.
//! Pixels, directions, stereo, ranges, positions, wheels and what is known of the place or the floor are measurements;
//! a type of one's own is one, too.
//!
//! A body at rest sees a point straight ahead, 4 m away:
//!
//! ```
//! use lienav_inertial::filter::Filter;
//! use lienav_inertial::imu::{Biases, Imu, ImuNoise};
//! use lienav_inertial::measurement::point::{Mount, Target};
//! use lienav_inertial::measurement::position::LandmarkPosition;
//! use lienav_inertial::preintegration::Preintegration;
//! use lienav_inertial::start::{Prior, RestSamples};
//! use lienav_inertial::step::Step;
//! use lienav_lie::Se3;
//! use nalgebra::{Matrix3, Vector3};
//!
//! let (at_rest, noise) = (Imu::new(Vector3::zeros(), Vector3::new(0.0, 0.0, 9.80665)), ImuNoise::default());
//! let mut samples = RestSamples::default();
//! (0..200).for_each(|_| samples.add(&at_rest));
//! let mut step = Step::new(Filter::DEFAULT);
//! let mut state = samples.start(1.0, &Prior::default(), &noise, 10, &step.filter)?;
//!
//! let mut interval = Preintegration::new(state.nav.biases, noise);
//! (0..10).for_each(|_| interval.add(0.005, &[at_rest; 2]));
//! step.predict(&mut state, &interval.finish());
//! let seen = LandmarkPosition {
//!     target: Target::Landmark(7),
//!     mount: Mount::Fixed(Se3::identity()),
//!     position: Vector3::new(4.0, 0.0, 0.0),
//!     covariance: Matrix3::identity() * 1e-4,
//! };
//! let corrected = step.correct(&mut state, &[&seen])?;
//! assert_eq!(corrected.initialized, 1);
//! assert!((state.landmarks[0].position - Vector3::new(4.0, 0.0, 0.0)).norm() < 1e-3);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Equations
//!
//! ```math
//! \begin{array}{lll}
//! \text{state} & R \in SO(3),\; v, p, p_i, b_g, b_a \in \mathbb{R}^3 & \text{body to world, z up; landmarks in the world} \\
//! \text{sensor} & ω_m = ω + b_g + n_g,\quad a_m = R^T(\dot v - g) + b_a + n_a & \text{rad/s, } m/s^2 \\
//! \text{errors} & X_{true} = \mathrm{Exp}(ξ) \hat X \text{ on } SE_{2+n}(3),\quad e_i = ξ_i - ξ_p
//!     & \text{world axes; biases by differences} \\
//! \text{landmark} & z_i = R^T(p_i - p),\quad δz_i = \hat R^T e_i & \text{no column of the pose} \\
//! \text{motion} & e_i^+ = e_i - T ξ_v - \tfrac12 T^2 g × ξ_R + \dots & \text{no part of heading and position}
//! \end{array}
//! ```
//!
//! # Where to go on
//!
//! - [`preintegration`] makes one increment of the samples between two frames; its
//!   [`Integrator`](preintegration::integrator::Integrator) takes samples and stamps.
//! - [`step`] is the filter: `predict` once a frame, `correct` for what was measured in it. [`filter`] has its other
//!   filters as values: the thesis's reduced filter in space and extended Kalman filters.
//! - [`measurement`] lists the types of measurements, [`start`] begins at rest, [`rest`] finds it, [`delayed`] initializes landmarks that
//!   are seen in directions alone.
//! - [`state`] says what the errors are, [`propagate`] and [`update`] what happens to their covariance,
//!   [`observability`] what can be learned along a run.
//! - `examples/consistency.rs` prints errors and NEES of all filters on simulated motions.
//!
//! Units are SI, the axes of the world are those of REP 103. The crate reads no clock and no files, and allocates
//! nothing in a frame once its buffers have grown.

#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

pub mod chart;
pub mod chi_square;
pub mod clone;
pub mod coordinates;
pub mod covariance;
pub mod delayed;
pub mod filter;
pub mod imu;
mod kernel;
pub mod linearize;
pub mod located;
pub mod measurement;
pub mod observability;
pub mod preintegration;
pub mod propagate;
pub mod rest;
mod sight;
pub mod start;
pub mod state;
pub mod step;
pub mod update;
pub mod window;
// The simulator of the examples names this crate.
#[cfg(test)]
extern crate self as lienav_inertial;
#[cfg(test)]
mod tests;
