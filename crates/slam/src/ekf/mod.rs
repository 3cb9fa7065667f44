//! The parts of an error-state Kalman filter that know no geometry.
//!
//! A filter estimates x̂ with an error e, x = x̂ ⊞ e, and its joint covariance P = E(e eᵀ). What the errors mean is the
//! business of the crates above; here are the parts that every such filter has:
//!
//! - [`covariance`]: P in blocks, of the pose, the calibration and the landmarks, with augmentation and removal.
//! - [`kernel`]: the loops that take most of the time of an update, bit-identical on every machine.
//! - [`mahalanobis`] and [`chi_square`]: the distance of a residual in units of its covariance, and bounds on it.
//! - [`validity`]: whether a covariance is one.
//! - [`time_correlated`]: noise that stays alike from one measurement to the next.
//! - [`changed`]: noise that has changed, by the scores of blocks of innovations.
//! - [`by_id`]: tables by identity.

pub mod by_id;
pub mod changed;
pub mod chi_square;
pub mod covariance;
pub mod kernel;
pub mod mahalanobis;
pub mod time_correlated;
pub mod validity;
