//! Nodes as a user has them: started, fed by each other, and ended.

use super::process::{domain, run_peer, simulator_node, slam_node, start};
use std::time::Duration;

/// Generous, on a machine that does other things; measured it is below 0.1 s.
const END: Duration = Duration::from_secs(1);
const SOON: Duration = Duration::from_secs(20);

/// The noise that the default scenario makes (Shen 2019, section 5.5).
const THESIS_NOISE: [&str; 26] = [
    "-p",
    "sensor.kind:=stereo_bearings",
    "-p",
    "sensor.bearing_std_rad:=0.01",
    "-p",
    "sensor.max_range_m:=5",
    "-p",
    "motion.noise:=spectral_density",
    "-p",
    "motion.velocity_y_std:=0.1",
    "-p",
    "use_sim_time:=true",
    // Some 50 landmarks and not 500, of which a step without optimization takes a tenth of a second now and then.
    "-p",
    "map.forget_after_s:=2.0",
    // Ten times as fast as a robot, and without optimization: every cloud is to be used, however long it takes.
    "-p",
    "max_latency_s:=60.0",
    "-p",
    "qos_overrides./odom.subscription.reliability:=reliable",
    "-p",
    "qos_overrides./odom.subscription.depth:=1000",
    "-p",
    "qos_overrides./features.subscription.reliability:=reliable",
    "-p",
    "qos_overrides./features.subscription.depth:=1000",
    "-p",
    "qos_overrides./pose.publisher.depth:=1000",
];

#[test]
fn the_estimates_of_one_process_follow_the_truth_of_another() {
    // A machine that is too slow for a rate is given more time. Where none is slow enough, what arrived was right, and
    // the node knows what did not.
    let is_complete = ["10.0", "2.0"].into_iter().any(follow_truth);
    println!("{}", if is_complete { "all estimates were heard" } else { "estimates are missing at any rate" });
}

/// Whether all estimates of a simulation at this rate were heard. Those that were are held against the truth; where some
/// were not, the node has to go on, and to have counted every cloud that it did not use.
fn follow_truth(rate: &str) -> bool {
    let domain = domain();
    let mut slam = slam_node(&domain, &THESIS_NOISE);
    // Two subscribers of odom and features: the node, and the peer that counts.
    let rate = format!("rate:={rate}");
    let arguments = ["-p", &rate, "-p", "publish_clock:=true", "-p", "exit_at_end:=true"];
    let wait = ["-p", "wait_for_subscribers:=2", "-p", "seed:=3"];
    let topics = ["odom", "features", "ground_truth/pose"];
    let depths = topics.map(|topic| format!("qos_overrides./{topic}.publisher.depth:=1000"));
    let depths: Vec<&str> = depths.iter().flat_map(|depth| ["-p", depth.as_str()]).collect();
    let simulator = simulator_node(&domain, &[&arguments[..], &wait, &depths].concat());
    let Some(said) = run_peer("follow_truth.py", &domain, &[]) else { return true };
    println!("{said}");
    let (status, log, _) = simulator.wait(SOON);
    assert!(status.success() && log.contains("the run is over"), "{log}");
    slam.signal("TERM");
    let (status, log, _) = slam.wait(SOON);
    assert!(status.success() && !log.contains("panicked"), "{log}");
    !said.contains("incomplete")
}

#[test]
fn sigint_and_sigterm_end_either_node_at_once_and_well() {
    for signal in ["INT", "TERM"] {
        for (mut node, ready) in
            [(slam_node(&domain(), &[]), "filter 'default'"), (simulator_node(&domain(), &[]), "scenario")]
        {
            node.wait_for_line(ready);
            node.signal(signal);
            let (status, log, took) = node.wait(END);
            println!("SIG{signal}: ended after {took:?}");
            assert_eq!(status.code(), Some(0), "{log}");
        }
    }
}

#[test]
fn a_simulator_that_waits_for_subscribers_can_be_ended() {
    let mut node = simulator_node(&domain(), &["-p", "wait_for_subscribers:=1"]);
    node.wait_for_line("waiting for 1 subscribers");
    node.signal("INT");
    assert_eq!(node.wait(END).0.code(), Some(0));
}

#[test]
fn a_wrong_parameter_stops_a_node_at_start_and_says_which_what_and_what_else() {
    let refused = |arguments: &[&str], words: &[&str]| {
        let (status, log, _) = slam_node(&domain(), arguments).wait(SOON);
        assert_eq!(status.code(), Some(2), "{log}");
        assert!(words.iter().all(|word| log.contains(word)) && !log.contains("panicked"), "{words:?} in {log}");
    };
    refused(&["-p", "gate.probability:=2.0"], &["'gate.probability' is 2.0", "0.5 … 1"]);
    refused(&["-p", "map.max_features:=2.5"], &["'map.max_features' is 2.5", "a whole number"]);
    refused(&["-p", "motion.max_speed:=fast"], &["'motion.max_speed' is \"fast\"", "a number"]);
    refused(&["-p", "filter:=ukf"], &["'filter' is \"ukf\"", "thesis-reduced"]);
    refused(&["-p", "sensor.range_std_m:=.nan"], &["'sensor.range_std_m' is NaN", "0.000000001 … 100"]);
    refused(&["-p", "map_frame:=odom"], &["'map_frame' and 'odom_frame' are both 'odom'"]);
    refused(&["-p", "map_frame:=''"], &["'map_frame' is empty"]);
    refused(&["-p", "marker_probability:=1.0"], &["'marker_probability' is 1.0", "0.01 … 0.9999"]);
}

#[test]
fn ros_arguments_that_nobody_knows_are_refused() {
    for node in [slam_node, simulator_node] {
        let (status, log, _) = node(&domain(), &["--bogus", "1"]).wait(SOON);
        assert_eq!(status.code(), Some(2), "{log}");
        assert!(log.contains("unknown ROS arguments: --bogus 1"), "{log}");
    }
}

#[test]
fn a_node_that_would_hear_itself_does_not_start() {
    for (arguments, topic) in [
        (&["-r", "odom:=/odometry/filtered"][..], "/odometry/filtered"),
        (&["-r", "__ns:=/robot", "-r", "features:=landmarks"], "/robot/landmarks"),
        (&["-r", "odom:=odometry/local", "-p", "local_odometry:=topic"], "/odometry/local"),
        (&["-r", "initialpose:=pose"], "/pose"),
    ] {
        let (status, log, _) = slam_node(&domain(), arguments).wait(SOON);
        assert_eq!(status.code(), Some(2), "{log}");
        assert!(log.contains(&format!("is heard on {topic}, which this node publishes itself")), "{log}");
    }
}

#[test]
fn words_that_are_no_ros_arguments_are_refused() {
    for words in [&["map.file:=hall.yaml"][..], &["--params-file", "robot.yaml"], &["--ros-args", "--", "--rviz"]] {
        let (status, log, _) = start(env!("CARGO_BIN_EXE_slam_node"), &domain(), words).wait(SOON);
        assert_eq!(status.code(), Some(2), "{log}");
        assert!(log.contains("unknown words on the command line") && log.contains("--ros-args -p"), "{log}");
    }
}

#[test]
fn a_parameter_file_for_another_node_is_named() {
    let path = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("other_node.yaml");
    std::fs::write(&path, "slam:\n  ros__parameters:\n    filter: ekf\n").unwrap();
    let mut node = slam_node(&domain(), &["--params-file", path.to_str().unwrap()]);
    node.wait_for_line("has entries for 'slam' alone, and none for the node '/slam_node'");
    node.signal("INT");
    assert_eq!(node.wait(END).0.code(), Some(0));
}

#[test]
fn a_parameter_file_that_is_missing_or_broken_is_named() {
    let (status, log, _) = slam_node(&domain(), &["--params-file", "/nowhere/slam.yaml"]).wait(SOON);
    assert_eq!(status.code(), Some(2), "{log}");
    assert!(log.contains("/nowhere/slam.yaml") && !log.contains("panicked"), "{log}");

    let broken = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("broken.yaml");
    std::fs::write(&broken, "/**:\n  ros__parameters:\n    filter: [1, a\n").unwrap();
    let (status, log, _) = simulator_node(&domain(), &["--params-file", broken.to_str().unwrap()]).wait(SOON);
    assert_eq!(status.code(), Some(2), "{log}");
    assert!(log.contains("broken.yaml") && !log.contains("panicked"), "{log}");
}

#[test]
fn the_parameters_of_a_simulator_can_be_written_to_a_file_and_read_back() {
    let (domain, file) = (domain(), std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("dumped.yaml"));
    let file = file.to_str().unwrap();
    let mut node = simulator_node(&domain, &["-p", "wait_for_subscribers:=1", "-p", "seed:=77"]);
    node.wait_for_line("waiting for 1 subscribers");
    let Some(said) = run_peer("dump.py", &domain, &["simulator_node", file]) else { return };
    println!("{said}");
    drop(node);
    assert!(std::fs::read_to_string(file).unwrap().contains("seed: 77"));
    let mut again = simulator_node(&domain, &["--params-file", file]);
    again.wait_for_line("waiting for 1 subscribers");
    again.signal("INT");
    assert_eq!(again.wait(END).0.code(), Some(0));
}

#[test]
fn a_scenario_that_nobody_knows_is_named() {
    let (status, log, _) = simulator_node(&domain(), &["-p", "scenario:=moon"]).wait(SOON);
    assert_eq!(status.code(), Some(2), "{log}");
    assert!(log.contains("'scenario'") && log.contains("moon"), "{log}");
}
