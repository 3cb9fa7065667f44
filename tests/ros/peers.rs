//! A node as a peer of another make sees it: rclpy.

use super::process::{Process, domain, run_peer, slam_node, start};
use std::time::Duration;

const NODE: [&str; 14] = [
    "-r",
    "__ns:=/robot1",
    "-r",
    "odom:=wheels/odom",
    "-p",
    "use_sim_time:=true",
    "-p",
    "use_imu:=true",
    "-p",
    "display_rate_hz:=20.0",
    "-p",
    "path_spacing_m:=0",
    "-p",
    "motion.velocity_x_std:=0.2",
];

/// Ends the node and checks that it was still well.
fn end(mut node: Process) {
    node.signal("INT");
    let (status, log, _) = node.wait(Duration::from_secs(5));
    assert_eq!(status.code(), Some(0), "{log}");
    assert!(!log.contains("panicked"), "{log}");
}

#[test]
fn rclpy_finds_topics_frames_transforms_parameters_and_services_as_documented() {
    let domain = domain();
    let node = slam_node(&domain, &NODE);
    if let Some(said) = run_peer("face.py", &domain, &[]) {
        println!("{said}");
        end(node);
    }
}

#[test]
fn log_lines_are_heard_on_rosout_at_the_level_that_was_asked_for() {
    let domain = domain();
    let levels = ["--log-level", "debug", "--log-level", "rcl:=info"];
    let node = slam_node(&domain, &[&["-r", "__ns:=/robot1"], &levels[..]].concat());
    if let Some(said) = run_peer("log.py", &domain, &[]) {
        println!("{said}");
        end(node);
    }
}

#[test]
fn bad_input_is_dropped_and_counted_and_harms_no_pose() {
    let domain = domain();
    let node = slam_node(&domain, &["-p", "use_imu:=true"]);
    if let Some(said) = run_peer("bad_input.py", &domain, &["reset"]) {
        println!("{said}");
        end(node);
    }
}

#[test]
fn time_that_is_set_back_rewinds_where_the_parameter_says_so() {
    let domain = domain();
    let node = slam_node(&domain, &["-p", "timing.on_jump_back:=rewind"]);
    if let Some(said) = run_peer("bad_input.py", &domain, &["rewind"]) {
        println!("{said}");
        end(node);
    }
}

#[test]
fn a_robot_with_an_unknown_start_is_found_in_its_map() {
    let (domain, folder) = (domain(), tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap());
    let map = folder.path().join("hall.yaml").to_str().unwrap().to_owned();
    let file = format!("map.file:={map}");
    let node = slam_node(&domain, &["-p", &file, "-p", "map.mode:=localization", "-p", "initial.mode:=unknown"]);
    if let Some(said) = run_peer("localize.py", &domain, &[&map]) {
        println!("{said}");
        end(node);
    }
}

#[test]
fn wheels_that_slip_among_posts_without_identity_are_found_and_told_of() {
    let domain = domain();
    let noise = ["-p", "motion.velocity_x_std:=0.03", "-p", "motion.yaw_rate_std:=0.03"];
    let node = slam_node(&domain, &noise);
    if let Some(said) = run_peer("slip.py", &domain, &[]) {
        println!("{said}");
        end(node);
    }
}

#[test]
fn somebody_else_who_publishes_the_same_transform_is_an_error_by_name() {
    let domain = domain();
    let mut node = slam_node(&domain, &["-p", "tf_rate_hz:=10.0"]);
    let Some(said) = run_peer("two_trees.py", &domain, &[]) else { return };
    println!("{said}");
    node.signal("INT");
    let (_, log, _) = node.wait(std::time::Duration::from_secs(5));
    assert_eq!(log.matches("somebody else publishes map -> odom").count(), 1, "{log}");
}

#[test]
fn poles_are_found_in_scans_and_what_is_no_scan_is_counted() {
    let domain = domain();
    let node = start(env!("CARGO_BIN_EXE_landmark_detector_node"), &domain, &[]);
    if let Some(said) = run_peer("detector.py", &domain, &[]) {
        println!("{said}");
        end(node);
    }
}
