//! Landmarks and an inertial sensor in space as a ROS 2 node.

#![forbid(unsafe_code)]

use std::process::ExitCode;

#[cfg(feature = "ros")]
fn main() -> ExitCode {
    use lienav::ros::{slam3d_node, start};
    start::main("slam3d_node", slam3d_node::run)
}

#[cfg(not(feature = "ros"))]
fn main() -> ExitCode {
    eprintln!("slam3d_node: this build has no ROS 2; build it with the feature `ros`, which is on by default");
    ExitCode::FAILURE
}
