//! A map in parts, as rclpy sees it.

use super::process::{domain, run_peer};

#[test]
fn a_map_in_parts_is_driven_shown_and_saved() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let arguments = [env!("CARGO_BIN_EXE_slam_node"), folder.path().to_str().unwrap()];
    if let Some(said) = run_peer("parts.py", &domain(), &arguments) {
        println!("{said}");
    }
}
