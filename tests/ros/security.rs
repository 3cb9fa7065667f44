//! SROS2: the policies, nodes in enclaves, and nodes that cannot be secure.

use super::process::{Process, attitude_node, domain, run_peer, simulator_node, slam_node, start};
use std::process::Command;
use std::time::Duration;

const POLICIES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/config/sros2/policies.xml");

fn allows_what_is_used(domain: &str, enclave: &str, nodes: &[&str], running: Vec<Process>) {
    if let Some(said) = run_peer("policies.py", domain, &[&[POLICIES, enclave], nodes].concat()) {
        println!("{said}");
    }
    drop(running);
}

#[test]
fn the_policies_allow_what_the_nodes_use_and_no_more() {
    let on = domain();
    let common = ["-p", "use_imu:=true", "-p", "use_sim_time:=true", "-p", "local_odometry:=tf"];
    let tags = ["-p", "tags.frame_patterns:=['tag36h11:{id}']"];
    let outside = ["-p", "gnss.use_fix:=true", "-p", "gnss.use_absolute_pose:=true"];
    let slam = slam_node(&on, &[&common[..], &tags, &outside].concat());
    allows_what_is_used(&on, "/lienav/slam_node", &["slam_node"], vec![slam]);
    let on = domain();
    let common = ["-p", "use_sim_time:=true", "-p", "magnetometer.enabled:=true", "-p", "publish_tf:=true"];
    let dynamics = ["-p", "mode:=dynamics", "-r", "__node:=attitude_of_a_body"];
    let nodes = [attitude_node(&on, &common), attitude_node(&on, &[&common[..], &dynamics].concat())];
    allows_what_is_used(&on, "/lienav/attitude_node", &["attitude_node", "attitude_of_a_body"], nodes.into());
    let on = domain();
    let program = env!("CARGO_BIN_EXE_landmark_detector_node");
    let detector = start(program, &on, &["--ros-args", "-p", "use_sim_time:=true"]);
    allows_what_is_used(&on, "/lienav/landmark_detector_node", &["landmark_detector_node"], vec![detector]);
    let on = domain();
    let program = env!("CARGO_BIN_EXE_slam3d_node");
    let common = ["--ros-args", "-p", "use_sim_time:=true", "-p", "odom_frame:=odom"];
    let tags = ["-p", "tags.detections:=[detections]", "-r", "__node:=slam3d_of_tags"];
    if cfg!(feature = "apriltag_msgs") {
        let nodes = [start(program, &on, &common), start(program, &on, &[&common[..], &tags].concat())];
        allows_what_is_used(&on, "/lienav/slam3d_node", &["slam3d_node", "slam3d_of_tags"], nodes.into());
    } else {
        println!("skipped slam3d_node: built without apriltag_msgs");
    }
    let on = domain();
    let common = ["-p", "publish_clock:=true", "-p", "wait_for_subscribers:=9"];
    let space = ["-r", "__node:=simulator_in_space", "-p", "scenario:=space:rest-stereo-industrial"];
    let nodes = [simulator_node(&on, &common), simulator_node(&on, &[&common[..], &space].concat())];
    allows_what_is_used(&on, "/lienav/simulator_node", &["simulator_node", "simulator_in_space"], nodes.into());
}

#[test]
fn an_enclave_without_permission_hears_nothing() {
    let nodes = [env!("CARGO_BIN_EXE_slam_node"), env!("CARGO_BIN_EXE_simulator_node")];
    if let Some(said) = run_peer("security.py", &domain(), &[&[POLICIES], &nodes[..]].concat()) {
        println!("{said}");
    }
}

/// Whatever the reason: a node that was told to be secure does not run without.
#[test]
fn a_node_that_cannot_be_secure_does_not_start() {
    let keystore = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let enclave = keystore.path().join("enclaves/lienav/slam_node");
    std::fs::create_dir_all(&enclave).unwrap();
    for named in ["/lienav/slam_node", "/lienav/somebody_else"] {
        let mut node = Command::new(env!("CARGO_BIN_EXE_slam_node"));
        node.args(["--ros-args", "--enclave", named]).env("ROS_DOMAIN_ID", domain());
        node.env("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST").env("ROS_LOG_DIR", env!("CARGO_TARGET_TMPDIR"));
        node.env("ROS_SECURITY_ENABLE", "true").env("ROS_SECURITY_STRATEGY", "Enforce");
        node.env("ROS_SECURITY_KEYSTORE", keystore.path());
        let (status, log, _) = Process::of(node).wait(Duration::from_secs(20));
        assert!(!status.success() && !log.contains("panicked"), "{log}");
        assert!(log.contains("SECURITY"), "{log}");
    }
}
