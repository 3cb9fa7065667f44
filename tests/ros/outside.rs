//! Readings of one number, and positions from outside: each topic with rclpy as its driver.

use super::process::{domain, run_peer, slam_node};
use std::time::Duration;

/// Runs a part of the script against a node with these arguments, and ends the node.
fn run(part: &str, arguments: &[&str]) {
    let domain = domain();
    let mut node = slam_node(&domain, arguments);
    if let Some(said) = run_peer("outside.py", &domain, &[part]) {
        println!("{said}");
        node.signal("INT");
        let (status, log, _) = node.wait(Duration::from_secs(5));
        assert_eq!(status.code(), Some(0), "{log}");
        assert!(!log.contains("panicked"), "{log}");
    }
}

/// A start that is two metres off, as the filter is told.
const OFF: [&str; 6] =
    ["-p", "initial.y_m:=2.0", "-p", "initial.position_std_m:=2.0", "-p", "initial.yaw_std_rad:=0.2"];

#[test]
fn poses_of_absolute_pose_put_the_robot_where_it_is() {
    run("poses", &[&OFF[..], &["-p", "gnss.use_absolute_pose:=true"]].concat());
}

#[test]
fn fixes_put_the_robot_east_and_north_of_the_datum() {
    let datum = ["-p", "gnss.datum:=given", "-p", "gnss.latitude_deg:=48.0", "-p", "gnss.longitude_deg:=11.0"];
    run("fixes", &[&OFF[..], &datum[..], &["-p", "gnss.use_fix:=true"]].concat());
}

#[test]
fn clouds_of_ranges_alone_map_beacons() {
    run("ranges", &["-p", "sensor.max_range_m:=60.0", "-p", "sensor.range_std_m:=0.02"]);
}

#[test]
fn clouds_of_bearings_alone_map_marks() {
    run("bearings", &["-p", "sensor.max_range_m:=60.0", "-p", "sensor.bearing_std_rad:=0.002"]);
}
