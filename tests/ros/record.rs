//! `lienav record`: what nodes hear and say, in a bag that is readable whatever happens to the recorder.

use super::process::{domain, run_peer, slam_node};
use lienav_io::bag::BagReader;
use std::collections::BTreeMap;

/// Records while a peer drives; `way` is how the recorder ends. Gives how many messages each topic has, and the
/// warnings of the reader.
fn recorded(way: &[&str]) -> Option<(String, BTreeMap<String, u64>, Vec<String>)> {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let bag = folder.path().join("run");
    let domain = domain();
    let _node = slam_node(&domain, &["-p", "max_latency_s:=60.0"]);
    let words = [&[bag.to_str().unwrap(), env!("CARGO_BIN_EXE_lienav")], way].concat();
    let said = run_peer("record.py", &domain, &words)?;
    let mut reader = BagReader::open(&bag).unwrap();
    let topics: Vec<String> = reader.topics().iter().map(|topic| topic.name.clone()).collect();
    let mut counts = BTreeMap::new();
    for record in reader.by_ref() {
        *counts.entry(topics[record.topic].clone()).or_default() += 1;
    }
    Some((said, counts, reader.warnings().to_vec()))
}

/// The counts that the peer says, and that the bag has.
fn check(said: &str, counts: &BTreeMap<String, u64>) {
    println!("{said}\n{counts:?}");
    for line in said.lines().filter(|line| line.starts_with('/')) {
        let (topic, count) = line.split_once(' ').unwrap();
        assert_eq!(counts.get(topic).map(u64::to_string).as_deref(), Some(count), "{topic} in {counts:?}");
    }
    for topic in ["/pose", "/odometry/filtered", "/landmarks", "/markers", "/diagnostics", "/slam_node/pose_quality"] {
        assert!(counts.get(topic).is_some_and(|count| *count > 0), "{topic} in {counts:?}");
    }
}

#[test]
fn nothing_is_lost_and_the_end_comes_at_once() {
    let Some((said, counts, warnings)) = recorded(&[]) else { return };
    check(&said, &counts);
    assert!(warnings.is_empty(), "{warnings:?}");
}

#[test]
fn a_recorder_that_is_killed_leaves_a_readable_bag() {
    let Some((said, counts, warnings)) = recorded(&["kill"]) else { return };
    check(&said, &counts);
    assert!(warnings[0].contains("its recorder was killed"), "{warnings:?}");
}
