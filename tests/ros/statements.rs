//! What a source states twice, and differently, is named once in the log and all the time in `/diagnostics`.

use super::process::{domain, run_peer, slam_node};
use std::time::Duration;

#[test]
fn sources_that_contradict_themselves_are_named_with_both_numbers() {
    let domain = domain();
    let mut node = slam_node(&domain, &["-p", "use_imu:=true", "-p", "gnss.use_fix:=true"]);
    let Some(said) = run_peer("statements.py", &domain, &[]) else { return };
    println!("{said}");
    node.signal("INT");
    let (status, log, _) = node.wait(Duration::from_secs(5));
    assert_eq!(status.code(), Some(0), "{log}");
    for once in ["twist and pose of odom disagree", "imu is stamped 37.0 s ahead", "the force of imu", "fixes of fix"] {
        assert_eq!(log.matches(once).count(), 1, "'{once}' in {log}");
    }
}
