//! Orientation and gyroscope bias from an inertial sensor: an invariant extended Kalman filter. No ROS, no files, no
//! clock.
//!
//! [`Attitude`] is the whole pipeline: stamped [`ImuSample`]s go in, and an [`Estimate`] is there after each of them;
//! [`MagneticField`]s may help with the heading. [`Body`] has its orientation from torques instead. The equations are in `docs/attitude.md`.

mod body;
mod config;
mod correct;
mod field;
mod filter;
mod input;
mod motion;
mod output;
mod rest;
mod state;
mod stretch;
#[cfg(test)]
mod tests;
mod upright;

pub use body::{BODY_SPECS, Body, BodyConfig, BodyError, BodyGroup, BodyRefusal, Torque};
pub use config::{
    AccelerometerConfig, Config, GyroscopeConfig, InitialConfig, MagnetometerConfig, MotionConfig, RestConfig, SPECS,
    TimingConfig,
};
pub use filter::Attitude;
pub use input::{ImuSample, MagneticField};
pub use lienav_base::clock::TimeJump;
pub use output::{Counts, DropReason, Estimate};
