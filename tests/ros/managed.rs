//! Nodes that a lifecycle manager drives, and what else production asks of a node.

use super::process::{Process, attitude_node, domain, run_peer, simulator_node, slam_node, start};
use std::time::Duration;

/// A node that was driven through its states, and shut down in the end, still ends well.
fn drive(domain: &str, name: &str, mut node: Process) {
    if let Some(said) = run_peer("lifecycle.py", domain, &[name]) {
        println!("{said}");
        node.signal("INT");
        let (status, log, _) = node.wait(Duration::from_secs(5));
        assert!(status.success() && !log.contains("panicked"), "{log}");
    }
}

#[test]
fn slam_node_follows_its_manager_in_every_order_and_refuses_what_is_wrong() {
    let domain = domain();
    drive(&domain, "slam_node", slam_node(&domain, &["-p", "autostart:=false"]));
}

#[test]
fn a_pause_is_bridged_by_the_pose_of_the_odometry() {
    for way in ["lifecycle", "switch"] {
        let domain = domain();
        let mut node = slam_node(&domain, &[]);
        let Some(said) = run_peer("pause.py", &domain, &[way]) else { return };
        println!("{said}");
        node.signal("INT");
        let (_, log, _) = node.wait(Duration::from_secs(5));
        assert_eq!(log.matches("a pause was bridged by the pose of the odometry: 2.").count(), 1, "{log}");
    }
}

#[test]
fn attitude_node_follows_its_manager() {
    let domain = domain();
    drive(&domain, "attitude_node", attitude_node(&domain, &["-p", "autostart:=false"]));
}

#[test]
fn slam3d_node_follows_its_manager() {
    let domain = domain();
    let node = start(env!("CARGO_BIN_EXE_slam3d_node"), &domain, &["--ros-args", "-p", "autostart:=false"]);
    drive(&domain, "slam3d_node", node);
}

#[test]
fn the_landmark_detector_follows_its_manager() {
    let domain = domain();
    let program = env!("CARGO_BIN_EXE_landmark_detector_node");
    let node = start(program, &domain, &["--ros-args", "-p", "autostart:=false"]);
    drive(&domain, "landmark_detector_node", node);
}

#[test]
fn every_type_of_every_node_is_described_as_rclpy_describes_it() {
    let domain = domain();
    let imu = ["-p", "magnetometer.enabled:=true", "-p", "publish_tf:=true"];
    let _nodes = [
        slam_node(&domain, &["-p", "use_imu:=true"]),
        attitude_node(&domain, &imu),
        simulator_node(&domain, &["-p", "publish_clock:=true", "-p", "wait_for_subscribers:=1"]),
        start(env!("CARGO_BIN_EXE_landmark_detector_node"), &domain, &[]),
        start(env!("CARGO_BIN_EXE_slam3d_node"), &domain, &[]),
    ];
    let names = ["slam_node", "attitude_node", "simulator_node", "landmark_detector_node", "slam3d_node"];
    if let Some(said) = run_peer("type_description.py", &domain, &names) {
        println!("{said}");
    }
}

#[test]
fn the_clock_of_a_running_node_and_the_quality_of_service_of_its_topics_can_be_set() {
    let domain = domain();
    let slam = [
        "-r",
        "__ns:=/robot1",
        "-r",
        "odom:=/wheels/odom",
        "-p",
        "qos_overrides./wheels/odom.subscription.reliability:=reliable",
        "-p",
        "qos_overrides./wheels/odom.subscription.depth:=17",
        "-p",
        "qos_overrides./robot1/pose.publisher.durability:=transient_local",
        "-p",
        "qos_overrides./robot1/pose.publisher.reliability:=best_effort",
        "-p",
        "qos_overrides./odom.subscription.depth:=3",
    ];
    let mut slam = slam_node(&domain, &slam);
    slam.wait_for_line("'qos_overrides./odom.subscription.depth' has no effect");
    let _nodes = [slam, attitude_node(&domain, &[]), start(env!("CARGO_BIN_EXE_landmark_detector_node"), &domain, &[])];
    let names = ["/robot1/slam_node", "/attitude_node", "/landmark_detector_node"];
    if let Some(said) = run_peer("settings.py", &domain, &names) {
        println!("{said}");
    }
}

#[test]
fn a_policy_that_is_none_stops_a_node_at_start() {
    let wrong = ["-p", "qos_overrides./odom.subscription.reliability:=sometimes"];
    let (status, log, _) = slam_node(&domain(), &wrong).wait(Duration::from_secs(20));
    assert_eq!(status.code(), Some(2), "{log}");
    assert!(log.contains("./odom.subscription.reliability'") && log.contains("best_effort"), "{log}");
}

#[test]
fn the_quality_of_the_pose_follows_what_speaks_for_it() {
    let (domain, folder) = (domain(), tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap());
    let map = folder.path().join("hall.yaml").to_str().unwrap().to_owned();
    let node = slam_node(&domain, &["-p", &format!("map.file:={map}")]);
    if let Some(said) = run_peer("quality.py", &domain, &[&map]) {
        println!("{said}");
    }
    drop(node);
}

#[test]
fn odometry_without_corrections_never_jumps_and_its_transforms_fit() {
    let domain = domain();
    let parameters =
        ["-p", "local_odometry:=tf", "-p", "transform_tolerance_s:=0.25", "-p", "calibration.scale_v.value:=0.1"];
    let _node = slam_node(&domain, &parameters);
    if let Some(said) = run_peer("local.py", &domain, &[]) {
        println!("{said}");
    }
}

#[test]
fn landmarks_are_drawn_as_what_is_known_of_them() {
    let (domain, folder) = (domain(), tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap());
    let map = folder.path().join("hall.yaml").to_str().unwrap().to_owned();
    let file = format!("map.file:={map}");
    let _node = slam_node(&domain, &["-p", &file, "-p", "display_rate_hz:=50.0"]);
    if let Some(said) = run_peer("markers.py", &domain, &[&map]) {
        println!("{said}");
    }
}

#[test]
fn the_layout_of_foxglove_shows_what_the_nodes_publish() {
    let domain = domain();
    let _nodes = [slam_node(&domain, &[]), simulator_node(&domain, &["-p", "wait_for_subscribers:=9"])];
    let layout = concat!(env!("CARGO_MANIFEST_DIR"), "/config/lienav.foxglove.json");
    if let Some(said) = run_peer("foxglove.py", &domain, &[layout, "slam_node", "simulator_node"]) {
        println!("{said}");
    }
}
