//! A map that is kept in a file, as rclpy sees it.

use super::process::{domain, run_peer};

#[test]
fn a_map_outlives_the_node_and_a_damaged_one_harms_none() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let arguments = [env!("CARGO_BIN_EXE_slam_node"), folder.path().to_str().unwrap()];
    if let Some(said) = run_peer("map.py", &domain(), &arguments) {
        println!("{said}");
    }
}
