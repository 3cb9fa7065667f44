//! # lienav-io
//!
//! What comes from outside and goes there: messages as plain data, ROS 2 bags, data sets as published, settings as
//! files.
//!
//! [`messages`] are ROS 2 messages as plain structs; [`convert`] makes input of the filters of them, or says why not,
//! and [`cloud`] knows the layout of clouds of features. [`recording::open`] reads any source into a
//! [`recording::Recording`]; [`bag`] reads and writes rosbag2 bags; [`datasets`] reads published data sets; [`to_bag`]
//! turns a recording into a bag; [`settings_file`] reads settings from YAML; [`files`] writes a file whole or not at
//! all.

pub mod bag;
pub mod cloud;
pub mod convert;
pub mod datasets;
pub mod files;
pub mod inertial;
pub mod messages;
pub mod recording;
pub mod settings_file;
pub mod to_bag;
pub mod truth;
