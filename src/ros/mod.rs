//! The ROS face: conversions, parameters, quality of service, time, and one file per node.

pub mod clock;
pub mod convert;
pub mod diagnostics;
pub mod live;
pub mod log;
pub mod pace;
pub mod parameters;
pub mod player;
pub mod qos;
pub mod queue;
mod receive;
pub mod simulator_node;
pub mod slam_node;
pub mod start;
pub mod stop;
pub mod tf;
