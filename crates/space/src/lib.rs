//! # lienav-space
//!
//! Where is a body in space, live, from an inertial sensor and landmarks with identities? This crate is the filter of
//! `lienav-inertial` with what a robot needs around it: samples and frames in whatever order they arrive, a start by
//! itself, clocks that jump, sensors that fall silent, bad numbers dropped under a reason, maps, and a pose at every
//! sample of the inertial sensor with six honest variances. It reads no clock and no files.
//!
//! A body at rest sees a point 4 m ahead with a stereo camera:
//!
//! ```
//! use lienav_base::stamp::Stamp;
//! use lienav_space::{Config, Frame, Imu, ImuSample, Seen, Sensor, Slam3d, Value};
//! use nalgebra::Vector3;
//!
//! let mut slam = Slam3d::new(Config::default())?;
//! slam.set_sensor(0, Sensor::default())?;
//! let value = Imu::new(Vector3::zeros(), Vector3::new(0.0, 0.0, 9.80665));
//! for k in 0..400 {
//!     let stamp = Stamp::from_nanos(5_000_000 * k);
//!     if k % 10 == 0 {
//!         let seen = Seen { id: 7, sensor: 0, value: Value::Position(Vector3::new(4.0, 0.0, 0.0), None) };
//!         slam.push_frame(&Frame { stamp, seen: vec![seen] })?;
//!     }
//!     slam.push_imu(&ImuSample { stamp, value })?;
//!     while let Some(step) = slam.poll() {
//!         println!("{} {:?}", step.estimate.stamp, step.estimate.pose.translation);
//!     }
//! }
//! assert!(slam.pose().unwrap().pose.translation.norm() < 0.05);
//! assert!((slam.landmarks()[0].position.x - 4.0).abs() < 0.1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Where to go on
//!
//! - [`Slam3d`] takes [input] and gives [output]; [`Config`] has every setting.
//! - [`tags`] is the same for tags in images, without an inertial sensor.
//! - [`Map3d`] is a map with its joint covariance, as JSON; [`SavedState`] is the whole filter.
//! - [`estimator`] is the filter with its bounds, for programs with a motion model of their own; [`start`] begins.
//!
//! Units are SI, the axes of the map those of REP 103, and the body is the frame of the inertial sensor.

#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod ahead;
mod align;
mod check;
pub mod config;
pub mod estimator;
mod inbox;
pub mod input;
mod interrupted;
pub mod measured;
pub mod output;
mod running;
pub mod saved;
mod slam3d;
pub mod start;
mod still;
pub mod tags;
pub mod world;

#[cfg(test)]
mod tests;

pub use config::{Config, MapMode, SPECS};
pub use lienav_inertial::measurement::pixel::Pinhole;
pub use lienav_tags::lens;

pub use input::{Frame, Imu, ImuSample, Odometry, PixelNoise, Pose, Seen, Sensor, Value};
pub use output::{Counts, DropReason, Landmark, PoseEstimate, Quality, Step};
pub use saved::{ResumeError, SavedState};
pub use slam3d::Slam3d;
pub use world::{Map3d, MapError, MapLandmark};
