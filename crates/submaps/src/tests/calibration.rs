//! Calibration that goes on from submap to submap.

use super::{World, of_submaps};
use crate::{Submaps, Worker};
use lienav_slam::{CalibrationEstimate, Prior, Step};
use nalgebra::Vector3;

const SIGMA: f64 = 0.1;

/// A robot whose odometry is 5 % short goes round in the ring; steps, NEES, and what was learned.
fn run(seed: u64, local_features: usize) -> (Vec<Step>, f64, Vec<CalibrationEstimate>) {
    let mut world = World::new(seed, 0.03);
    world.scale = 1.05;
    let mut config = world.config(local_features);
    let on = Prior { sigma: SIGMA, ..Prior::default() };
    (config.calibration.scale_v, config.calibration.scale_w) = (on, on);
    let mut slam = of_submaps(config);
    let mut submaps = Submaps::new(&slam, Worker::InPlace).unwrap();
    let (mut steps, mut nees) = (Vec::new(), 0.0);
    while world.time < 130.0 {
        let Some(step) = world.advance(&mut slam) else { continue };
        let step = match &mut submaps {
            Some(submaps) => submaps.join(&mut slam, step),
            None => step,
        };
        let d = step.estimate.pose.p - world.truth.p;
        let d = Vector3::new(d.x, d.y, (step.estimate.pose.theta - world.truth.theta).sin());
        nees += step.estimate.covariance.try_inverse().map_or(0.0, |inverse| d.dot(&(inverse * d)));
        steps.push(step);
    }
    if let Some(submaps) = &submaps {
        assert!(submaps.status().submaps > 7, "{:?}", submaps.status());
    }
    (steps.clone(), nees / steps.len() as f64, slam.calibration().collect())
}

/// What one submap has learned, the next begins with: as much as one map learns, and never more.
#[test]
fn submaps_learn_what_one_map_learns() {
    let (mut in_submaps, mut in_one, mut off) = (0.0, 0.0, 0.0);
    for seed in 1..=8 {
        let ((dense, nees_dense, one), (steps, nees, learned)) = (run(seed, 0), run(seed, 10));
        assert_eq!(steps.len(), dense.len());
        for (submap, one) in learned.iter().zip(&one) {
            assert!(submap.std < 0.1 * SIGMA && submap.std > 0.9 * one.std, "{submap:?} {one:?}");
            assert!((submap.value - 0.05).abs() < 5.0 * submap.std, "{submap:?}");
            assert!((submap.value - one.value).abs() < 2.0 * one.std, "{submap:?} {one:?}");
        }
        off +=
            steps.iter().zip(&dense).map(|(a, b)| (a.estimate.pose.p - b.estimate.pose.p).norm_squared()).sum::<f64>()
                / steps.iter().map(|step| step.estimate.covariance.fixed_view::<2, 2>(0, 0).trace()).sum::<f64>();
        (in_submaps, in_one) = (in_submaps + nees / 8.0, in_one + nees_dense / 8.0);
    }
    assert!((1.9..4.4).contains(&in_submaps) && (in_submaps / in_one - 1.0).abs() < 0.15, "{in_submaps} {in_one}");
    assert!(off / 8.0 < 0.1, "{off}");
}
