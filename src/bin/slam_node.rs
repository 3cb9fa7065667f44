//! Planar landmark SLAM as a ROS 2 node.

use lienav::ros::{slam_node, start};

fn main() -> std::process::ExitCode {
    start::main("slam_node", slam_node::run)
}
