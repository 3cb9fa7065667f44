//! The node without ROS 2, until it has one.

fn main() -> std::process::ExitCode {
    std::process::ExitCode::SUCCESS
}
