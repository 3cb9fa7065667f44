//! Inputs as the packages of others send them: sensors placed by `/tf_static`, several of them, tags on `/tf`, poses,
//! and odometry of other frames and sources.

use super::process::{domain, run_peer, slam_node};
use std::time::Duration;

/// Runs a part of the script against a node with these arguments, and ends the node.
fn run(part: &str, arguments: &[&str]) {
    run_script("inputs.py", &[part], arguments);
}

/// The same of any script.
fn run_script(script: &str, words: &[&str], arguments: &[&str]) {
    let domain = domain();
    let mut node = slam_node(&domain, arguments);
    if let Some(said) = run_peer(script, &domain, words) {
        println!("{said}");
        node.signal("INT");
        let (status, log, _) = node.wait(Duration::from_secs(5));
        assert_eq!(status.code(), Some(0), "{log}");
        assert!(!log.contains("panicked"), "{log}");
        println!("{log}");
    }
}

#[test]
fn a_sensor_waits_for_its_place_on_tf_static_and_is_there_then() {
    run("place", &[]);
}

#[test]
fn bearings_of_a_sensor_that_leans_are_an_error() {
    run("tilted", &[]);
}

#[test]
fn clouds_of_two_sensors_with_one_stamp_both_count() {
    let named = ["-p", "sensors:=[radar]", "-p", "radar.topic:=radar"];
    let placed = ["-p", "radar.x_m:=-0.5", "-p", "radar.y_m:=0.1", "-p", "radar.yaw_rad:=3.141592653589793"];
    run("sensors", &[&named[..], &placed[..]].concat());
}

#[test]
fn a_sensor_that_starves_beside_a_good_one_is_named() {
    let named = ["-p", "sensors:=[radar]", "-p", "radar.topic:=radar", "-p", "radar.kind:=range_bearing"];
    let placed = ["-p", "radar.x_m:=-0.5", "-p", "radar.y_m:=0.1"];
    run("starved", &[&named[..], &placed, &["-p", "learning.enabled:=false"]].concat());
}

#[test]
fn a_sensor_whose_errors_are_learned_to_be_large_beside_a_good_one_is_named() {
    let named = ["-p", "sensors:=[radar]", "-p", "radar.topic:=radar", "-p", "radar.kind:=range_bearing"];
    let placed = ["-p", "radar.x_m:=-0.5", "-p", "radar.y_m:=0.1"];
    run("noisier", &[&named[..], &placed, &["-p", "learning.enabled:=true"]].concat());
}

#[test]
fn clouds_that_are_late_count_where_the_filter_may_go_back_for_them() {
    let named = ["-p", "sensors:=[radar]", "-p", "radar.topic:=radar", "-p", "timing.rewind_s:=1.0"];
    let placed = ["-p", "radar.x_m:=-0.5", "-p", "radar.y_m:=0.1", "-p", "radar.yaw_rad:=3.141592653589793"];
    run("late", &[&named[..], &placed[..]].concat());
}

#[test]
fn tags_on_tf_are_landmarks_with_the_number_in_their_name() {
    run("tags", &["-p", "tags.frame_patterns:=['tag36h11:{id}', 'marker_{id+1000}']", "-p", "tags.max_range_m:=30.0"]);
}

#[test]
fn odometry_that_stops_is_one_line_of_the_log_and_its_return_another() {
    let domain = domain();
    let mut node =
        slam_node(&domain, &["-p", "tags.frame_patterns:=['tag36h11:{id}']", "-p", "tags.max_range_m:=30.0"]);
    let Some(said) = run_peer("inputs.py", &domain, &["silent"]) else { return };
    println!("{said}");
    node.signal("INT");
    let (_, log, _) = node.wait(Duration::from_secs(5));
    let stopped = log.find("pose quality: lost (no odometry for").expect(&log);
    let after = &log[stopped..];
    assert_eq!(after.matches("pose quality: lost").count(), 1, "{log}");
    // Whether the pose is good at once depends on how far the robot has come.
    let returned = after.find("pose quality: degraded").or_else(|| after.find("pose quality: ok")).expect(&log);
    assert!(!after[..returned].contains("dropped as from_the_future"), "{log}");
}

/// The tags are on walls and on a ceiling, and nobody tells roll and pitch.
#[test]
fn a_robot_that_rocks_among_tags_knows_where_it_is_and_how_well() {
    for (place, degrees) in [("walls", "0.5"), ("walls", "2"), ("ceiling", "0.5"), ("ceiling", "2")] {
        run_script("rocking.py", &[place, degrees], &["-p", "tags.frame_patterns:=['tag36h11:{id}']"]);
    }
}

/// What docs/apriltag.md does, with the messages of apriltag_ros and aruco_opencv.
#[test]
fn tags_are_mapped_and_the_robot_finds_itself_among_them_after_a_restart() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let file = format!("map.file:={}", folder.path().join("room.yaml").display());
    let patterns = "tags.frame_patterns:=['tag36h11:{id}', 'marker_{id+1000}']";
    let mapping = ["-p", patterns, "-p", "tags.size_m:=0.16", "-p", "tags.max_range_m:=30.0", "-p", &file];
    run("survey", &mapping);
    let found = ["-p", "map.mode:=localization", "-p", "initial.mode:=unknown"];
    run("found", &[&mapping[..], &found[..]].concat());
}

#[test]
fn a_pose_array_is_features_without_identity() {
    run("poses", &["-r", "features:=boxes", "-p", "features_message:=pose_array"]);
}

#[cfg(feature = "vision_msgs")]
#[test]
fn detections_in_space_are_features_with_the_numbers_in_their_ids() {
    let named = ["-p", "sensors:=[eye]", "-p", "eye.topic:=detections", "-p", "eye.message:=detections"];
    let words = ["-p", "detections.identity:=post_{id}", "-p", "detections.classes:=[trunk, post]"];
    run("detections", &[&named[..], &words[..], &["-p", "detections.min_score:=0.5"]].concat());
}

#[cfg(feature = "apriltag_msgs")]
#[test]
fn corners_of_tags_in_an_image_are_features_once_the_camera_is_known() {
    let front = ["-p", "sensors:=[front]", "-p", "front.topic:=/front/detections", "-p", "front.message:=apriltags"];
    run("images", &[&front[..], &["-p", "tags.size_m:=0.16", "-p", "tags.max_range_m:=30.0"]].concat());
}

#[test]
fn odometry_of_another_frame_is_moved_to_the_base_and_another_source_stands_in_for_it() {
    let fallback =
        ["-p", "odometry.fallbacks:=[visual]", "-p", "visual.message:=twist", "-p", "visual.topic:=visual/twist"];
    run("odometry", &fallback);
}

#[test]
fn inputs_that_cannot_be_used_stop_the_node_at_start() {
    let refused = |arguments: &[&str], words: &[&str]| {
        let (status, log, _) = slam_node(&domain(), arguments).wait(Duration::from_secs(20));
        assert_eq!(status.code(), Some(2), "{log}");
        assert!(words.iter().all(|word| log.contains(word)) && !log.contains("panicked"), "{words:?} in {log}");
    };
    refused(&["-p", "sensors:=[map]"], &["'sensors' has the name 'map'", "choose another one"]);
    refused(&["-p", "sensors:=[a, b, c, d, e, f, g, h, i]"], &["9 names; at most 8"]);
    refused(&["-p", "sensors:=[a]", "-p", "a.kind:=smell"], &["'a.kind' is \"smell\"", "range_bearing"]);
    refused(&["-p", "sensors:=front"], &["'sensors' is \"front\"", "a list of strings"]);
    refused(&["-p", "tags.frame_patterns:=[tag36h11]"], &["'tag36h11' is no pattern of tags"]);
    refused(&["-p", "odometry.message:=laser"], &["'odometry.message' is \"laser\"", "twist"]);
}
