//! # lienav-inertial
//!
//! Landmarks and an inertial sensor: a symmetry-reduced Kalman filter in space.

#![forbid(unsafe_code)]

pub mod imu;
pub mod preintegration;
#[cfg(test)]
mod tests;
