//! Landmarks from a laser scanner as a ROS 2 node.

#![forbid(unsafe_code)]

use std::process::ExitCode;

#[cfg(feature = "ros")]
fn main() -> ExitCode {
    use lienav::ros::{landmark_detector_node, start};
    start::main("landmark_detector_node", landmark_detector_node::run)
}

#[cfg(not(feature = "ros"))]
fn main() -> ExitCode {
    eprintln!(
        "landmark_detector_node: this build has no ROS 2; build it with the feature `ros`, which is on by default"
    );
    ExitCode::FAILURE
}
