//! A map in parts beside one map, over whole runs.

use super::faults::woods;
use crate::errors::Errors;
use crate::run::{Run, run};
use crate::simulated;
use lienav_io::truth::{MAX_TRUTH_GAP_S, Truth};
use lienav_sim::Scenario;
use lienav_slam::Config;

#[test]
fn in_parts_a_run_is_as_good_and_as_consistent_as_with_one_map() {
    let (mut squares, mut nees) = ([0.0; 2], [0.0; 2]);
    for seed in 1..=3 {
        let scenario = Scenario { seed, ..Scenario::named("marked-orchard:40").unwrap() };
        let recording = simulated::recording(&scenario).unwrap();
        let truth = Truth::new(&recording.truth, &recording.true_landmarks, MAX_TRUTH_GAP_S);
        for (k, local_features) in [0, 12].into_iter().enumerate() {
            let mut config = recording.config.clone().unwrap();
            config.map.local_features = local_features;
            let run = run(&recording, &config, |_| ()).unwrap();
            let errors = Errors::new(&run, &truth);
            squares[k] += errors.landmark_rmse().unwrap().powi(2);
            nees[k] += errors.nees().sum::<f64>() / errors.steps.len() as f64 / 3.0;
            assert_eq!((errors.landmarks.len(), run.parts.is_some()), (40, k == 1));
            assert!(run.parts.is_none_or(|(status, _)| status.submaps > 4 && status.failed == 0 && status.moved == 0));
        }
    }
    let ratio = (squares[1] / squares[0]).sqrt();
    assert!((0.9..1.1).contains(&ratio), "{ratio}");
    assert!((nees[0] - nees[1]).abs() < 0.5, "{nees:?}");
}

#[test]
fn more_landmarks_than_the_map_has_room_for_are_left_out_and_told() {
    let recording = simulated::recording(&Scenario::named("marked-orchard:40").unwrap()).unwrap();
    let mut config: Config = recording.config.clone().unwrap();
    (config.map.local_features, config.map.max_features) = (12, 30);
    let Run { landmarks, warnings, .. } = run(&recording, &config, |_| ()).unwrap();
    assert_eq!(landmarks.len(), 30);
    assert!(warnings.iter().any(|warning| warning.contains("'map.max_features'")), "{warnings:?}");
}

/// Two cameras whose ranges are vague: landmarks that a part was begun with are elsewhere once their range is known,
/// and two of them are contradicted. Their differences had a covariance with negative variances: the part could not be
/// closed, and the pose was metres off.
#[test]
fn no_covariance_is_indefinite_where_vague_ranges_become_certain() {
    let mut scenario = Scenario::named("thesis-line-10hz-high-q1").unwrap();
    scenario.seed = 724_032_083_165_649;
    let recording = simulated::recording(&scenario).unwrap();
    let truth = Truth::new(&recording.truth, &recording.true_landmarks, MAX_TRUTH_GAP_S);
    let mut config = recording.config.clone().unwrap();
    config.map.local_features = 10;
    let run = run(&recording, &config, |_| ()).unwrap();
    let is_indefinite = |covariance: &nalgebra::Matrix3<f64>| covariance.symmetric_eigenvalues().min() < -1e-12;
    assert!(!run.estimates.iter().any(|estimate| is_indefinite(&estimate.covariance)));
    let worst = Errors::new(&run, &truth).steps.iter().map(|step| step.error.xy().norm()).fold(0.0, f64::max);
    assert!(worst < 0.6, "{worst}");
}

/// What contradicts itself by many standard deviations, because the filter was told too little noise: steps of
/// Gauss–Newton went back and forth over the least cost, 20 of them, and nine solutions were not taken.
#[test]
fn parts_that_contradict_each_other_are_joined() {
    let Some((recording, mut config)) = woods(f64::INFINITY) else { return };
    let truth = Truth::new(&recording.truth, &recording.true_landmarks, MAX_TRUTH_GAP_S);
    let rmse_of = |run: &Run| Errors::new(run, &truth).position_rmse().unwrap();
    let one = rmse_of(&run(&recording, &config, |_| ()).unwrap());
    config.map.local_features = 10;
    let parts = run(&recording, &config, |_| ()).unwrap();
    let (status, _) = parts.parts.as_ref().unwrap();
    assert!(status.submaps > 100 && status.failed == 0, "{status:?}");
    let rmse = rmse_of(&parts);
    assert!(rmse < 1.03 * one, "{rmse} m, and one map {one} m");
}
