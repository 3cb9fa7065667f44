//! A simulated robot as a ROS 2 node.

use lienav::ros::{simulator_node, start};

fn main() -> std::process::ExitCode {
    start::main("simulator_node", simulator_node::run)
}
