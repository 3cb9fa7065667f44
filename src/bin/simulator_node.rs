//! Simulated runs as a ROS 2 node.

#![forbid(unsafe_code)]

use std::process::ExitCode;

#[cfg(feature = "ros")]
fn main() -> ExitCode {
    use lienav::ros::{simulator_node, start};
    start::main("simulator_node", simulator_node::run)
}

#[cfg(not(feature = "ros"))]
fn main() -> ExitCode {
    eprintln!("simulator_node: this build has no ROS 2; build it with the feature `ros`, which is on by default");
    ExitCode::FAILURE
}
