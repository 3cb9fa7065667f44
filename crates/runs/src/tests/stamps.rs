//! What one message costs whose stamp is wrong by less than would make it another clock's.

use super::faults::restamped;
use super::gap::{config, scene};
use crate::run::{Run, run};
use crate::simulated;
use lienav_io::recording::Input;
use lienav_sim::Simulation;

/// The greatest distance between two runs at the same stamps, m; and how many steps one of them does not have.
fn apart(one: &Run, other: &Run) -> (f64, usize) {
    let mut missing = 0;
    let mut greatest: f64 = 0.0;
    for estimate in &one.estimates {
        match other.estimates.iter().find(|e| e.stamp == estimate.stamp) {
            Some(same) => greatest = greatest.max((same.pose.p - estimate.pose.p).norm()),
            None => missing += 1,
        }
    }
    (greatest, missing)
}

/// The odometry or the scan itself is stamped wrongly, not a copy of it.
#[test]
fn one_stamp_that_is_ahead_costs_its_message() {
    let scenario = scene(3);
    let config = config(&Simulation::new(&scenario).unwrap(), "default");
    let mut recording = simulated::recording(&scenario).unwrap();
    recording.inputs.retain(|input| input.stamp().secs() < 40.0);
    let place = |is_odometry: bool| {
        let fits = |input: &Input| input.stamp().secs() > 30.0 && matches!(input, Input::Odometry(_)) == is_odometry;
        recording.inputs.iter().position(fits).unwrap()
    };
    for (is_odometry, ahead_s) in [true, false].into_iter().flat_map(|o| [0.45, 1.0, 1.9, 3.0, 5.0].map(|s| (o, s))) {
        let (at, mut damaged, mut lost) = (place(is_odometry), recording.clone(), recording.clone());
        damaged.inputs[at] = restamped(&damaged.inputs[at], damaged.inputs[at].stamp() + ahead_s);
        lost.inputs.remove(at);
        let (damaged, lost) = (run(&damaged, &config, |_| ()).unwrap(), run(&lost, &config, |_| ()).unwrap());
        let (greatest, missing) = apart(&lost, &damaged);
        println!("odometry: {is_odometry}, {ahead_s} s ahead: {greatest} m apart, {missing} steps missing");
        assert!(greatest < 1e-9 && missing == 0, "odometry: {is_odometry}, {ahead_s} s ahead: {greatest} m, {missing}");
        assert_eq!(lost.estimates.len(), damaged.estimates.len());
    }
}
