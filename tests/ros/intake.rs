//! Every input that parameters can name, from topics and from a bag: the same poses, and the same reasons where a
//! message is dropped.

use super::damaged::{Counts, records};
use super::process::{domain, run_peer, slam_node, start};
use lienav_base::stamp::Stamp;
use lienav_eval::run::run;
use lienav_io::bag::metadata::Qos;
use lienav_io::bag::{BagWriter, Existing, Topics, TypeText, load};
use lienav_io::convert::pose_message;
use lienav_io::messages::{Message, Odometry, PointCloud2, PoseArray, TfMessage, TwistWithCovarianceStamped};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

const PARAMETERS: &str = "/**:
  ros__parameters:
    {odom_frame: odom, base_frame: base_link, imu_frame: imu_link, publish_tf: false, max_latency_s: 60.0,
     timing.reorder_window_s: 1.0}
slam_node:
  ros__parameters:
    sensors: [radar, eye, ghost]
    radar: {topic: radar, kind: range_bearing}
    eye: {topic: boxes, message: pose_array}
    ghost: {topic: ghost}
    odometry: {fallbacks: [visual]}
    visual: {topic: visual/twist, message: twist}
    tags: {frame_patterns: ['tag36h11:{id}'], max_range_m: 30.0}
";

const TOPICS: [(&str, &str); 8] = [
    ("/odom", Odometry::TYPE),
    ("/features", PointCloud2::TYPE),
    ("/radar", PointCloud2::TYPE),
    ("/boxes", PoseArray::TYPE),
    ("/ghost", PointCloud2::TYPE),
    ("/visual/twist", TwistWithCovarianceStamped::TYPE),
    ("/tf", TfMessage::TYPE),
    ("/tf_static", TfMessage::TYPE),
];

/// A bag of these messages; with a parameter file beside them, if one is given.
fn bag_of(folder: &Path, records: &[(usize, &[u8])], parameters: Option<&str>) {
    let mut bag = BagWriter::create(folder, Existing::Replace).unwrap();
    let topics = TOPICS.map(|(name, kind)| {
        let kind = TypeText { name: kind, text: "", hash: "" };
        bag.add_topic_described(name, &kind, Qos::RELIABLE).unwrap()
    });
    for (i, (topic, message)) in records.iter().enumerate() {
        let received = Stamp::from_nanos(1_000_000 * i as i64);
        bag.write_serialized(topics[*topic], received, received, message).unwrap();
    }
    if let Some(parameters) = parameters {
        bag.add_file("params.yaml", parameters).unwrap();
    }
    bag.finish().unwrap();
}

#[test]
fn every_input_from_topics_and_from_a_bag_gives_the_same_poses_and_the_same_drops() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let path = |name: &str| folder.path().join(name);
    std::fs::write(path("robot.yaml"), PARAMETERS).unwrap();
    let (file, domain) = (path("robot.yaml").to_str().unwrap().to_owned(), domain());
    let mut node = slam_node(&domain, &["--params-file", &file]);
    let Some(said) = run_peer("intake.py", &domain, &[path("sent").to_str().unwrap()]) else { return };
    node.signal("INT");
    let (_, log, _) = node.wait(Duration::from_secs(5));
    let live: Value = serde_json::from_str(said.lines().last().unwrap()).unwrap();
    let mut dropped: Counts = serde_json::from_value(live["dropped"].clone()).unwrap();
    // A pose that the node cannot make a transform of, which a bag does not need.
    dropped.remove("no_odom_pose");
    for reason in [
        "unknown_frame",
        "bad_stamp",
        "no_transform",
        "bad_transform",
        "bad_orientation",
        "unreadable",
        "standby",
        "not_finite",
    ] {
        assert!(dropped.contains_key(reason), "nothing was dropped as {reason}: {dropped:?}\n{log}");
    }

    let sent = std::fs::read(path("sent")).unwrap();
    let records = records(&sent);
    bag_of(&path("bag"), &records, Some(PARAMETERS));
    let recording = load(&path("bag"), &Topics::default()).unwrap();
    let config = recording.config.clone().unwrap();
    let run = run(&recording, &config, |_| ()).unwrap();
    assert_eq!(run.dropped, dropped, "{:?}\n{log}", recording.warnings);

    // Of the scans with one stamp, the node publishes the first.
    let mut estimates = BTreeMap::new();
    for estimate in &run.estimates {
        estimates.entry(estimate.stamp).or_insert(estimate.pose);
    }
    let poses: Vec<(i32, u32, f64, f64, f64, f64)> = serde_json::from_value(live["poses"].clone()).unwrap();
    assert!(poses.len() >= 25, "{} poses", poses.len());
    for (sec, nanosec, x, y, z, w) in poses {
        let pose = estimates.get(&Stamp::from_parts(sec, nanosec)).expect("an estimate of the same stamp");
        let found = pose_message(pose);
        let found = [found.position.x, found.position.y, found.orientation.z, found.orientation.w];
        assert_eq!(found.map(f64::to_bits), [x, y, z, w].map(f64::to_bits), "{found:?} at {sec}.{nanosec}");
    }

    // The sentences are those of the node.
    for warning in recording.warnings.iter().filter_map(|warning| warning.split_once(" dropped as ")) {
        assert!(log.contains(warning.1), "{:?} is not in\n{log}", warning.1);
    }

    // A file given on the command line does as well as one beside the bag.
    bag_of(&path("bare"), &records, None);
    let bare = path("bare");
    let arguments = ["evaluate", bare.to_str().unwrap(), "--config", &file, "--json"];
    let (status, out, said) = start(env!("CARGO_BIN_EXE_lienav"), &domain, &arguments).output(Duration::from_secs(60));
    assert!(status.success(), "{said}");
    let report: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(serde_json::from_value::<Counts>(report["dropped"].clone()).unwrap(), dropped);
    assert_eq!(report["steps"], Value::from(run.estimates.len()));
}
