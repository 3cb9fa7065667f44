//! What a newcomer gets wrong is named with its remedy, and what is right is not doubted.

use super::simulated;
use crate::judge::options::Options;
use crate::judge::run::judge;
use lienav_base::stamp::Stamp;
use lienav_io::trajectory::{Trajectory, data::upper};
use nalgebra::Matrix6;

/// The warnings of an estimate that was changed so.
fn warnings(change: impl Fn(&mut Trajectory)) -> String {
    let mut simulated = simulated(3, 2000, 5.0, 1.0);
    change(&mut simulated.estimate);
    judge(&simulated.estimate, &simulated.truth, &Options::default()).unwrap().report.warnings.join("\n")
}

#[test]
fn nothing_is_said_of_a_right_estimate() {
    assert_eq!(warnings(|_| ()), "the covariance is the same at every pose: a placeholder, and no estimate");
}

#[test]
fn another_unit_is_named() {
    let said = warnings(|estimate| estimate.poses.iter_mut().for_each(|pose| pose.translation.vector *= 1000.0));
    assert!(said.contains("times as far: are both in metres?"), "{said}");
}

#[test]
fn another_clock_is_named_with_its_offset() {
    let late = |estimate: &mut Trajectory| {
        estimate.stamps = estimate.stamps.iter().map(|stamp| *stamp + 3.0).collect::<Vec<Stamp>>();
    };
    let said = warnings(late);
    assert!(said.contains("late: if the clocks differ, give --time-offset -"), "{said}");
    let simulated = simulated(3, 2000, 5.0, 1.0);
    let mut estimate = simulated.estimate.clone();
    late(&mut estimate);
    let options = Options { offset_s: -3.0, ..Options::default() };
    let said = judge(&estimate, &simulated.truth, &options).unwrap().report.warnings.join("\n");
    assert!(!said.contains("clocks"), "{said}");
}

#[test]
fn standard_deviations_in_the_place_of_variances_are_named() {
    let said = warnings(|estimate| {
        let root = |covariance| {
            let c: Matrix6<f64> = lienav_io::trajectory::data::matrix(covariance);
            upper(&Matrix6::from_diagonal(&c.diagonal().map(f64::sqrt)))
        };
        estimate.covariances = estimate.covariances.iter().map(root).collect();
    });
    assert!(said.contains("holds standard deviations"), "{said}");
}

#[test]
fn a_negative_variance_and_the_truth_itself_are_named() {
    let said = warnings(|estimate| estimate.covariances.iter_mut().for_each(|upper| upper[0] = -2.0));
    assert!(said.contains("2000 of 2000 covariances of the pose are singular or not positive definite"), "{said}");
    let truth = simulated(3, 100, 5.0, 1.0).truth;
    let said = judge(&truth, &truth, &Options::default()).unwrap().report.warnings.join("\n");
    assert!(said.contains("the truth itself"), "{said}");
}
