//! The nodes under faults, and for a while: the short forms of `cargo xtask faults` and `cargo xtask soak`.

use super::process::{domain, run_peer};

const NODES: [&str; 2] = [env!("CARGO_BIN_EXE_slam_node"), env!("CARGO_BIN_EXE_simulator_node")];

#[test]
fn every_fault_leaves_a_node_that_says_so_and_recovers() {
    let domains = [domain(), domain(), domain(), domain()].join(",");
    let arguments = [&NODES[..], &["--jobs", "4", "--domains", &domains]].concat();
    if let Some(said) = run_peer("faults.py", &domain(), &arguments) {
        println!("{said}");
    }
}

#[test]
fn every_fault_leaves_a_node_in_space_that_says_so_and_recovers() {
    let nodes = [env!("CARGO_BIN_EXE_slam3d_node"), env!("CARGO_BIN_EXE_simulator_node")];
    let domains = [domain(), domain(), domain(), domain()].join(",");
    let arguments = [&nodes[..], &["--jobs", "4", "--domains", &domains]].concat();
    if let Some(printed) = run_peer("space_faults.py", &domain(), &arguments) {
        println!("{printed}");
    }
}

#[test]
fn a_run_loses_nothing_and_grows_by_nothing() {
    let arguments = [&NODES[..], &["--minutes", "0.35"]].concat();
    if let Some(said) = run_peer("soak.py", &domain(), &arguments) {
        println!("{said}");
    }
}
