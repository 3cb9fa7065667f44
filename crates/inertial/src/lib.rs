//! # lienav-inertial
//!
//! Landmarks and an inertial sensor: a symmetry-reduced Kalman filter in space.

#![forbid(unsafe_code)]

pub mod chart;
pub mod covariance;
pub mod filter;
pub mod imu;
pub mod observability;
pub mod preintegration;
pub mod propagate;
pub mod state;
#[cfg(test)]
mod tests;
