//! # lienav-ekf
//!
//! The parts of an error-state Kalman filter that know no geometry. They are for programs that write a filter of their
//! own; `lienav-planar` has the states and measurements of a robot on a plane, and `lienav-slam` the filter that is
//! ready to run.
//!
//! A filter estimates x̂ with an error e, x = x̂ ⊞ e, and the joint covariance P = E(e eᵀ). What the errors mean is the
//! business of the crates above. Every such filter has these parts:
//!
//! - [`covariance`]: P in blocks, of the pose, the calibration and the landmarks, with augmentation and removal.
//! - [`kernel`]: the loops that take most of the time of an update, bit-identical on every machine.
//! - [`mahalanobis`] and [`chi_square`]: the distance of a residual in units of its covariance, and bounds on it.
//! - [`validity`]: the test for a valid covariance.
//! - [`time_correlated`]: noise that is correlated from one measurement to the next.
//! - [`changed`]: the test for noise that has changed, by the scores of blocks of innovations.
//! - [`by_id`]: tables by identity.
//!
//! A residual of two numbers passes a gate of 99 % if its squared Mahalanobis distance is below the quantile:
//!
//! ```
//! use lienav_ekf::chi_square::chi2_bound;
//! use lienav_ekf::mahalanobis::mahalanobis_squared;
//! use nalgebra::{Matrix3, Vector3};
//!
//! let innovation_covariance = Matrix3::from_diagonal(&Vector3::new(0.04, 0.01, 0.0));
//! let residual = Vector3::new(0.3, -0.1, 0.0);
//! let distance = mahalanobis_squared(&residual, &innovation_covariance, 2).ok_or("not positive definite")?;
//! assert!((distance - 3.25).abs() < 1e-12);
//! assert!(distance < chi2_bound(2, 0.99));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

pub mod by_id;
pub mod changed;
pub mod chi_square;
pub mod covariance;
pub mod kernel;
pub mod mahalanobis;
pub mod time_correlated;
pub mod validity;
