//! The ROS face: the nodes, and the only place that names r2r.
//!
//! - [`slam_node`], [`slam3d_node`], [`attitude_node`], [`landmark_detector_node`] and [`simulator_node`]: one folder each;
//! - [`player`], [`playback`] and [`live`]: `lienav play`, `lienav evaluate --live`;
//! - [`start`], [`stop`], [`arguments`]: how a node begins, turns and ends, and what its command line says;
//! - [`lifecycle`]: the states of a managed node, and their services;
//! - [`parameters`]: every setting with type, range and description; its services;
//! - `receive`: from bytes on a topic to plain messages, as from a bag; what they mean, [`lienav_io::convert`] says;
//! - [`tf`]: to messages of r2r;
//! - [`queue`]: between the thread that receives and the one that computes;
//! - [`diagnostics`], [`log`]: what a node says about itself;
//! - [`type_description`]: what the types of a node look like;
//! - [`clock`], [`pace`], [`qos`], [`qos_overrides`]: time, and quality of service;
//! - [`names`]: what a topic is called in the end.

pub mod arguments;
pub mod attitude_node;
pub mod clock;
pub mod diagnostics;
pub mod landmark_detector_node;
pub mod lifecycle;
pub mod live;
pub mod log;
pub mod names;
pub mod pace;
pub mod parameters;
pub mod playback;
pub mod player;
pub mod qos;
pub mod qos_overrides;
pub mod queue;
mod rate;
mod receive;
pub mod record;
pub mod simulator_node;
pub mod slam3d_node;
pub mod slam_node;
pub mod start;
pub mod stop;
pub mod tf;
pub mod type_description;
