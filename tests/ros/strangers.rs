//! Maps that are not what they seem, given to a node: it says what is wrong, and SIGINT ends it within a second.

use super::process::{domain, slam_node};
use std::fmt::Write;
use std::process::Command;
use std::time::Duration;

/// An end within a second, and as much again for a machine that does something else.
const END: Duration = Duration::from_secs(2);

#[test]
fn a_node_names_what_is_wrong_with_a_map_and_ends_on_sigint() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let path = |name: &str| folder.path().join(name);
    std::fs::write(path("brackets.yaml"), format!("lienav_map: 1\nlandmarks: {}", "[".repeat(300_000))).unwrap();
    assert!(Command::new("mkfifo").arg(path("pipe.yaml")).status().unwrap().success());
    for (name, cause) in [("brackets.yaml", "brackets in each other"), ("pipe.yaml", "a pipe")] {
        let map = format!("map.file:={}", path(name).display());
        let mut node = slam_node(&domain(), &["-p", &map]);
        node.wait_for_line(cause);
        node.signal("INT");
        let (status, log, took) = node.wait(END);
        println!("{name}: {status}, {took:?} after SIGINT");
        assert!(!log.contains("panicked"), "{log}");
    }
}

#[test]
fn sigint_ends_a_node_while_it_reads_a_large_map() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let path = folder.path().join("large.yaml");
    let mut text = String::from("lienav_map: 1\nlandmarks:\n");
    for id in 0..60_000 {
        let (x, y) = (f64::from(id % 300), f64::from(id / 300));
        writeln!(text, "- {{id: {id}, x_m: {x:.1}, y_m: {y:.1}, sigma_m: 0.02}}").unwrap();
    }
    std::fs::write(&path, text).unwrap();
    for wait_ms in [150, 500, 1500] {
        let mut node = slam_node(&domain(), &["-p", &format!("map.file:={}", path.display())]);
        std::thread::sleep(Duration::from_millis(wait_ms));
        node.signal("INT");
        let (status, log, took) = node.wait(END);
        println!("SIGINT after {wait_ms} ms: {status} after {took:?}");
        assert!(!log.contains("panicked"), "{log}");
    }
}
