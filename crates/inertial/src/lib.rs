//! # lienav-inertial
//!
//! Landmarks and an inertial sensor: a symmetry-reduced Kalman filter in space.

#![forbid(unsafe_code)]

pub mod chart;
pub mod chi_square;
pub mod clone;
pub mod covariance;
pub mod delayed;
pub mod filter;
pub mod imu;
mod kernel;
pub mod linearize;
pub mod measurement;
pub mod observability;
pub mod preintegration;
pub mod propagate;
pub mod start;
pub mod state;
pub mod step;
pub mod update;
// The simulator of the examples names this crate.
#[cfg(test)]
extern crate self as lienav_inertial;
#[cfg(test)]
mod tests;
