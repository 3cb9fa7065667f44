//! `attitude_node`: as a peer of another make sees it, and how it starts and ends.

use super::process::{Process, attitude_node, domain, run_peer, slam_node};
use std::time::Duration;

const END: Duration = Duration::from_secs(1);
const SOON: Duration = Duration::from_secs(20);

/// Ends the node and checks that it was still well.
fn end(mut node: Process) {
    node.signal("INT");
    let (status, log, _) = node.wait(Duration::from_secs(5));
    assert_eq!(status.code(), Some(0), "{log}");
    assert!(!log.contains("panicked"), "{log}");
}

/// As `-p` parameters.
fn listed<'a>(parameters: &[&'a str]) -> Vec<&'a str> {
    parameters.iter().flat_map(|parameter| ["-p", parameter]).collect()
}

/// Runs a script with `arguments` against a node with these remappings and parameters.
fn faces(script: &str, remappings: &[&str], parameters: &[&str], arguments: &[&str]) {
    let domain = domain();
    let node = attitude_node(&domain, &[remappings, &listed(parameters)].concat());
    if let Some(said) = run_peer(script, &domain, arguments) {
        println!("{said}");
        end(node);
    }
}

#[test]
fn rclpy_finds_orientation_bias_transforms_parameters_and_services_as_documented() {
    let parameters =
        ["use_sim_time:=true", "publish_tf:=true", "tf_rate_hz:=20.0", "gyroscope.delay_s:=0.0", "bias_rate_hz:=10"];
    faces("attitude_face.py", &["-r", "__ns:=/robot1", "-r", "imu:=imu/data_raw"], &parameters, &[]);
}

#[test]
fn bad_input_is_dropped_and_counted_and_harms_no_orientation() {
    let parameters = ["magnetometer.enabled:=true", "gyroscope.delay_s:=0.0"];
    faces("attitude_bad_input.py", &[], &parameters, &["reset"]);
}

#[test]
fn time_that_is_set_back_keeps_the_orientation_where_the_parameter_says_so() {
    let parameters = ["magnetometer.enabled:=true", "gyroscope.delay_s:=0.0", "timing.on_jump_back:=rewind"];
    faces("attitude_bad_input.py", &[], &parameters, &["rewind"]);
}

#[test]
fn samples_that_wait_for_each_other_change_nothing_that_is_documented() {
    let parameters = [
        "use_sim_time:=true",
        "publish_tf:=true",
        "tf_rate_hz:=20.0",
        "gyroscope.delay_s:=0.0",
        "bias_rate_hz:=10",
        "batch_s:=0.01",
    ];
    faces("attitude_face.py", &["-r", "__ns:=/robot1", "-r", "imu:=imu/data_raw"], &parameters, &[]);
}

#[test]
fn samples_that_are_taken_together_are_all_used_in_order_and_published_as_often_as_wanted() {
    let parameters = [
        "magnetometer.enabled:=true",
        "gyroscope.delay_s:=0.0",
        // Nothing may be lost on the way, however slow this machine is.
        "qos_overrides./imu.subscription.reliability:=reliable",
        "qos_overrides./mag.subscription.reliability:=reliable",
        "qos_overrides./attitude.publisher.depth:=1000",
    ];
    faces("attitude_fast.py", &[], &parameters, &[]);
}

#[test]
fn torques_turn_a_body() {
    let parameters = ["mode:=dynamics", "publish_tf:=true", "tf_rate_hz:=1000.0", "world_frame:=world"];
    faces("attitude_dynamics.py", &[], &parameters, &[]);
}

#[test]
fn slam_node_takes_yaw_rate_and_tilt_from_it() {
    let domain = domain();
    let attitude = attitude_node(&domain, &[]);
    let slam = slam_node(&domain, &["-r", "imu:=attitude", "-p", "use_imu:=true", "-p", "motion.use_tilt:=true"]);
    if let Some(said) = run_peer("on_a_slope.py", &domain, &[]) {
        println!("{said}");
        end(attitude);
        end(slam);
    }
}

#[test]
fn sigint_and_sigterm_end_it_at_once_and_well() {
    for signal in ["INT", "TERM"] {
        let mut node = attitude_node(&domain(), &[]);
        node.wait_for_line("orientation from imu");
        node.signal(signal);
        let (status, log, took) = node.wait(END);
        println!("SIG{signal}: ended after {took:?}");
        assert_eq!(status.code(), Some(0), "{log}");
    }
}

#[test]
fn a_wrong_parameter_stops_it_at_start_and_says_which_what_and_what_else() {
    let refused = |parameters: &[&str], words: &[&str]| {
        let (status, log, _) = attitude_node(&domain(), &listed(parameters)).wait(SOON);
        assert_eq!(status.code(), Some(2), "{log}");
        assert!(words.iter().all(|word| log.contains(word)) && !log.contains("panicked"), "{words:?} in {log}");
    };
    refused(&["gyroscope.delay_s:=5.0"], &["'gyroscope.delay_s' is 5.0", "0 … 0.1"]);
    refused(&["method:=euler"], &["'method' is \"euler\"", "magnus4"]);
    refused(&["mode:=wheels"], &["'mode' is \"wheels\"", "dynamics"]);
    refused(&["rest.gate_probability:=.nan"], &["'rest.gate_probability' is NaN"]);
    refused(&["mode:=dynamics", "body.izz:=9.0"], &["'body.ixx' to 'body.iyz'"]);
}
