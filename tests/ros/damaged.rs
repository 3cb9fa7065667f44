//! The same damaged messages from topics and from a bag are dropped for the same reasons.

use super::process::{domain, run_peer, slam_node, start};
use lienav_base::stamp::Stamp;
use lienav_io::bag::metadata::Qos;
use lienav_io::bag::{BagWriter, Existing, UNREADABLE};
use lienav_io::convert::Refusal;
use lienav_io::messages::{Imu, Message, Odometry, PointCloud2};
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

pub type Counts = BTreeMap<String, u64>;

/// Frames as the node's parameters have them by default.
const PARAMETERS: &str = "/**:
  ros__parameters:
    {odom_frame: odom, base_frame: base_link, sensor_frame: feature_sensor, imu_frame: imu_link}
";

/// What the node alone can count: a pose that it cannot make a transform of.
const NODE_ALONE: &str = "no_odom_pose";

/// Messages as they were sent: the number of their topic, and their bytes.
pub fn records(file: &[u8]) -> Vec<(usize, &[u8])> {
    let (mut records, mut rest) = (Vec::new(), file);
    while let [topic, a, b, c, d, after @ ..] = rest {
        let (message, after) = after.split_at(u32::from_le_bytes([*a, *b, *c, *d]) as usize);
        records.push((usize::from(*topic), message));
        rest = after;
    }
    records
}

/// What `lienav evaluate` counts of a bag of these messages.
fn counted_in_a_bag(folder: &Path, records: &[(usize, &[u8])], parameters: Option<&str>) -> Counts {
    let mut bag = BagWriter::create(folder, Existing::Replace).unwrap();
    let topics = [("/odom", Odometry::TYPE), ("/features", PointCloud2::TYPE), ("/imu", Imu::TYPE)];
    let topics = topics.map(|(name, message)| bag.add_topic_of_type(name, message, Qos::RELIABLE).unwrap());
    for (i, (topic, message)) in records.iter().enumerate() {
        let received = Stamp::from_nanos(1_000_000 * i as i64);
        bag.write_serialized(topics[*topic], received, received, message).unwrap();
    }
    if let Some(parameters) = parameters {
        bag.add_file("params.yaml", parameters).unwrap();
    }
    bag.finish().unwrap();
    let arguments = ["evaluate", folder.to_str().unwrap(), "--json"];
    let lienav = start(env!("CARGO_BIN_EXE_lienav"), &domain(), &arguments);
    let (status, out, log) = lienav.output(Duration::from_secs(60));
    assert!(status.success(), "{log}");
    let report: serde_json::Value = serde_json::from_str(&out).unwrap();
    serde_json::from_value(report["dropped"].clone()).unwrap()
}

#[test]
fn damaged_messages_from_topics_and_from_a_bag_are_dropped_for_the_same_reasons() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let (sent, bag) = (folder.path().join("sent"), folder.path().join("bag"));
    let domain = domain();
    let node = slam_node(&domain, &["-p", "use_imu:=true", "-p", "sensor.x_m:=0.0"]);
    let Some(said) = run_peer("damaged.py", &domain, &[sent.to_str().unwrap()]) else { return };
    drop(node);
    let mut live: Counts = serde_json::from_str(said.lines().last().unwrap()).unwrap();
    println!("{} pieces of bad input: {live:?}", live.values().sum::<u64>());

    assert!(live.remove(NODE_ALONE).is_some(), "two poses are of no use");
    // What cannot be read, and what the filter can say of a message or an observation by itself; attitude_node alone
    // needs an acceleration, a bag is read without transforms, damaged fixes are sent by outside.py, and tags in
    // images by inputs.py.
    let elsewhere = [
        "no_linear_acceleration",
        "no_transform",
        "tilted_sensor",
        "bad_transform",
        "no_fix",
        "bad_fix",
        "no_camera_info",
    ];
    let reasons = Refusal::WORDS.into_iter().filter(|word| !elsewhere.contains(word)).chain([
        UNREADABLE,
        "not_finite",
        "absurd",
        "bad_covariance",
        "duplicate_stamp",
        "too_late",
        "from_the_future",
        "not_started",
        "duplicate_feature",
        "out_of_range",
        "gated",
    ]);
    for reason in reasons {
        assert!(live.contains_key(reason), "nothing was dropped as {reason}: {live:?}");
    }

    let file = std::fs::read(&sent).unwrap();
    let records = records(&file);
    assert_eq!(counted_in_a_bag(&bag, &records, Some(PARAMETERS)), live);

    // Where nothing states frames, the first message does; here it is not the damaged one.
    *live.get_mut("unknown_frame").unwrap() -= 1;
    assert_eq!(counted_in_a_bag(&bag, &records[1..], None), live);
}
