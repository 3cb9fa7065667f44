//! # lienav
//!
//! Planar landmark SLAM by symmetry-reduced Kalman filtering and attitude by Lie group integrators, as a ROS 2
//! package. The modules, in the order data passes through them:
//!
//! - [`stamp`]: time as it comes with the data;
//! - [`settings`]: names, units, ranges and descriptions of everything that can be set;
//! - [`lie`]: the groups;
//! - [`integrate`]: one-step methods on groups and other curved spaces;
//! - [`dynamics`]: the systems they are run on;
//! - [`attitude`]: the filter that keeps an orientation; no ROS, no files, no clock;
//! - [`simulate`]: worlds, trajectories and sensors with stated noise, from a seed;
//! - [`filter`]: the Kalman filters; no ROS, no files, no clock;
//! - [`evaluate`]: recordings in, errors and consistency out;
//! - [`cli`]: the command line;
//! - `ros` (feature `ros`): the nodes, and the only place that names ROS.

#![warn(missing_docs)]

pub mod cli;
#[cfg(feature = "ros")]
pub mod ros;
