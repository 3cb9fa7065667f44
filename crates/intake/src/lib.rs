//! # lienav-intake
//!
//! A filter takes plain numbers with stamps, and a robot has messages. This crate turns the latter into the former,
//! without ROS: what comes from a topic and what comes from a bag are the same plain structs, pass the same checks, and
//! are refused for the same reasons.
//!
//! - [`messages`] are ROS 2 messages as plain structs, [`convert`] checks and converts them, and [`cloud`] defines the
//!   fields of a point cloud of measurements. [`transforms`] are those of `/tf_static`, [`geodesy`] is for GNSS.
//! - [`intake`] makes input of a filter of the messages of a whole robot: sensors placed by `/tf_static`, several of
//!   them, tags, twists, several sources of odometry.
//! - [`statements`] compares what messages state twice: two stamps, a pose and its twist, a force at rest and g.
//! - [`settings_file`] reads settings from YAML and ROS parameter files.

#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic))]

pub mod cloud;
pub mod convert;
pub mod geodesy;
pub mod intake;
pub mod messages;
pub mod settings_file;
pub mod statements;
pub mod transforms;
