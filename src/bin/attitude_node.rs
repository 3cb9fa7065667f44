//! Orientation from an inertial sensor as a ROS 2 node.

#![forbid(unsafe_code)]

use std::process::ExitCode;

#[cfg(feature = "ros")]
fn main() -> ExitCode {
    use lienav::ros::{attitude_node, start};
    start::main("attitude_node", attitude_node::run)
}

#[cfg(not(feature = "ros"))]
fn main() -> ExitCode {
    eprintln!("attitude_node: this build has no ROS 2; build it with the feature `ros`, which is on by default");
    ExitCode::FAILURE
}
