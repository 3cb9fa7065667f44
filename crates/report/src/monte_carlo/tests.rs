//! Whole experiments, short ones.

use super::tally::{FilterRun, Tally};
use super::trial::{Sample, Trial, trials};
use super::*;
use crate::errors::StepError;
use crate::run::run;
use crate::simulated;
use crate::synthetic;
use lienav_io::truth::Truth;
use lienav_sim::Scenario;
use lienav_slam::Config;
use std::fs;

fn short(duration_s: f64) -> Scenario {
    let mut scenario = Scenario { name: "short".into(), ..Scenario::default() };
    scenario.trajectory.laps = duration_s / scenario.trajectory.lap_s;
    scenario
}

fn experiment(filters: &[&str], runs: usize) -> Experiment {
    let filters = filters.iter().map(ToString::to_string).collect();
    Experiment { scenario: short(3.0), filters, settings: Vec::new(), sensors: Vec::new(), runs, seed: 5 }
}

fn on_threads(threads: usize, experiment: &Experiment) -> Outcome {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    pool.install(|| experiment.run(|| ())).unwrap()
}

/// Of everything that is the same every time.
fn bytes(outcome: &Outcome) -> Vec<Vec<u8>> {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), outcome, &Report::new(outcome).without_times()).unwrap();
    let names = [
        "report.json",
        "report.txt",
        "report.html",
        "steps.csv",
        "runs.csv",
        "scenario.yaml",
        "error_growth.svg",
        "nees.svg",
    ];
    names.map(|name| fs::read(folder.path().join(name)).unwrap()).into()
}

#[test]
fn one_thread_and_two_give_the_same_bytes_and_another_seed_others() {
    let experiment = experiment(&["reduced", "default"], 5);
    let (one, two) = (bytes(&on_threads(1, &experiment)), bytes(&on_threads(2, &experiment)));
    assert!(one == two && one.iter().all(|file| !file.is_empty()));
    assert!(one != bytes(&on_threads(2, &Experiment { seed: 6, ..experiment })));
}

#[test]
fn every_filter_gets_the_same_runs_and_more_runs_begin_with_the_same() {
    let both = experiment(&["reduced", "default", "reduced"], 2).run(|| ()).unwrap();
    let one = experiment(&["default"], 3).run(|| ()).unwrap();
    assert_eq!(both.filters[1].runs, one.filters[0].runs[..2]);
    assert_eq!(both.filters[0].runs, both.filters[2].runs);
    assert_ne!(both.filters[0].runs, both.filters[1].runs);
    let report = Report::new(&both);
    let difference = report.filters[2].get("position_error_mean_m").unwrap().difference.unwrap();
    assert_eq!((difference.value, difference.interval), (0.0, Interval { low: 0.0, high: 0.0 }));
    assert_eq!((difference.ratio, difference.ratio_interval), (1.0, Interval { low: 1.0, high: 1.0 }));
}

#[test]
fn a_run_is_what_the_evaluator_makes_of_its_recording() {
    let scenario = short(3.0);
    let recording = simulated::recording(&scenario).unwrap();
    let config = Config { filter: "ekf".into(), ..recording.config.clone().unwrap() };
    let run = run(&recording, &config, |_| ()).unwrap();
    let truth = Truth::new(&recording.truth, &recording.true_landmarks, 0.0);
    let expected = run.estimates.iter().map(|e| Sample::from(&StepError::new(e, truth.at(e.stamp).unwrap())));
    let trial = trials(&scenario, &["ekf".to_owned()], &[], &[]).unwrap().remove(0);
    assert_eq!(trial.samples, expected.collect::<Vec<_>>());
    assert_eq!((trial.landmarks.len(), trial.dropped), (run.landmarks.len(), run.dropped));
}

#[test]
fn sensors_almost_without_noise_give_almost_no_errors() {
    let mut quiet = experiment(&["ekf", "reduced", "default"], 2);
    quiet.scenario.odometry.velocity_x_std = 1e-6;
    quiet.scenario.odometry.velocity_y_std = 1e-6;
    quiet.scenario.odometry.yaw_rate_std = 1e-6;
    quiet.scenario.sensor.bearing_std_rad = 1e-6;
    for filter in Report::new(&quiet.run(|| ()).unwrap()).filters {
        let value = |key: &str| filter.get(key).unwrap().value.unwrap();
        assert!(value("position_rmse_m") < 1e-5 && value("yaw_rmse_rad") < 1e-5, "{filter:?}");
        assert!(value("landmark_rmse_m") < 1e-3, "{filter:?}");
    }
}

/// Estimates drawn from the covariance they claim, for 40 runs of 200 steps.
#[test]
fn the_nees_of_a_filter_that_is_right_is_three_and_lies_in_its_band() {
    let mut tally = Tally::new("right");
    for seed in 0..40 {
        let (run, truth) = synthetic::run(200, seed);
        let sample = |e| Sample::from(&StepError::new(e, truth.at(e.stamp).unwrap()));
        let trial = Trial { samples: run.estimates.iter().map(sample).collect(), ..Trial::default() };
        tally.add(&FilterRun::new(seed, &trial));
    }
    let experiment = experiment(&["right"], 40);
    let report = Report::new(&Outcome { experiment, filters: vec![tally.finish()] });
    let filter = &report.filters[0];
    let nees = filter.get("nees_mean").unwrap();
    assert!(nees.interval.unwrap().contains(3.0) && (nees.value.unwrap() - 3.0).abs() < 0.1, "{nees:?}");
    let slope = filter.get("nees_slope_per_s").unwrap();
    assert!(slope.interval.unwrap().contains(0.0), "{slope:?}");
    // 200 independent steps: 0.95 ± 0.015.
    assert!((filter.nees_in_band_fraction.unwrap() - 0.95).abs() < 0.05, "{filter:?}");
    assert!((filter.group_nees_in_band_fraction.unwrap() - 0.95).abs() < 0.06, "{filter:?}");
    assert_eq!(filter.nees_left_out, 0);
}

#[test]
fn a_known_start_has_no_nees_and_is_counted() {
    let outcome = experiment(&["default"], 3).run(|| ()).unwrap();
    let filter = &outcome.filters[0];
    assert_eq!((filter.nees_left_out, filter.steps[0].nees.mean()), (3, None));
    assert!(filter.steps[1..].iter().all(|step| step.nees.runs == 3));
    assert_eq!(filter.steps.len(), 31);
}

/// Julier and Uhlmann's counterexample, a hundred steps of it.
#[test]
fn a_robot_that_stands_still_learns_nothing_of_its_pose_but_from_an_ekf() {
    let mut scenario = Scenario::named("static").unwrap();
    scenario.trajectory.duration_s = 10.0;
    let filters = ["reduced", "default", "ekf"].map(str::to_owned).into();
    let report = Report::new(
        &Experiment { scenario, filters, settings: Vec::new(), sensors: Vec::new(), runs: 2, seed: 3 }
            .run(|| ())
            .unwrap(),
    );
    let change: Vec<f64> = report.filters.iter().map(|filter| filter.pose_covariance_change_max.unwrap()).collect();
    assert!(change[0] < 1e-14 && change[1] < 1e-14 && change[2] > 0.1, "{change:?}");
    let std = |filter: usize, key: &str| report.filters[filter].get(key).unwrap().value.unwrap();
    assert!((std(1, "first_yaw_std_rad") - 0.1).abs() < 1e-12 && (std(1, "final_yaw_std_rad") - 0.1).abs() < 1e-12);
    assert!(std(2, "final_yaw_std_rad") < 0.05);
}

#[test]
fn the_batch_estimate_runs_beside_filters_and_is_nearer_to_the_truth() {
    let outcome = experiment(&["batch", "default"], 6).run(|| ()).unwrap();
    let report = Report::new(&outcome);
    assert!(report.filters.iter().all(|filter| !filter.dropped.contains_key("not_converged")));
    let difference = report.filters[1].get("position_error_mean_m").unwrap().difference.unwrap();
    assert!(difference.value > 0.0 && difference.ratio > 1.0, "{difference:?}");
    // χ² of the whole fit by its degrees of freedom stands where filters have their innovations.
    let residual = report.filters[0].get("nis_per_dof").unwrap().value.unwrap();
    assert!((residual - 1.0).abs() < 0.1, "{residual}");
}

/// Where ranges are vague when features are new, what sets the default apart is that it takes the last scans in
/// again: then its error is the batch estimate's, run by run. Filters that do not are several times as far from it.
#[test]
fn scans_that_are_linearized_again_bring_the_default_to_the_batch_estimate() {
    let mut scenario = Scenario::named("thesis-circle-10hz-low-q4").unwrap();
    scenario.trajectory.laps = 0.25;
    let filters = ["batch", "default", "iterated", "anchored"].map(str::to_owned).into();
    let outcome = Experiment { scenario, filters, settings: Vec::new(), sensors: Vec::new(), runs: 6, seed: 3 }
        .run(|| ())
        .unwrap();
    let from_batch = |filter: usize| {
        let runs = outcome.filters[filter].runs.iter().zip(&outcome.filters[0].runs);
        let square = |(run, batch): (&RunSummary, &RunSummary)| (run.final_position_m - batch.final_position_m).powi(2);
        (runs.map(square).sum::<f64>() / 6.0).sqrt()
    };
    let (default, others) = (from_batch(1), [from_batch(2), from_batch(3)]);
    assert!(others.iter().all(|other| default < 0.5 * other) && default < 0.02, "{default} m of {others:?} m");
}

#[test]
fn each_filter_has_its_own_coordinates_of_the_error() {
    let report = Report::new(&experiment(&["ekf", "default"], 2).run(|| ()).unwrap());
    let json: serde_json::Value = serde_json::from_str(&report.to_json().unwrap()).unwrap();
    let of = |filter: &str, key: &str| json["filters"][filter][key].as_f64().unwrap();
    assert_eq!(of("ekf", "own_nees_mean"), of("ekf", "nees_mean"));
    assert_eq!(of("default", "own_nees_mean"), of("default", "group_nees_mean"));
    assert!(json["filters"]["ekf"]["standard_errors"]["nees_slope_per_s"].as_f64().unwrap() > 0.0);
}

#[test]
fn what_cannot_be_run_is_an_error() {
    let nothing = experiment(&[], 1).run(|| ()).unwrap_err();
    assert!(matches!(nothing, ExperimentError::Nothing));
    assert!(matches!(experiment(&["kalman"], 1).run(|| ()), Err(ExperimentError::Config(_))));
    let mut late = experiment(&["ekf"], 1);
    late.scenario.sensor.first_s = 100.0;
    assert!(late.run(|| ()).unwrap_err().to_string().contains("sensor.first_s"));
    late.scenario.sensor.first_s = -1.0;
    assert!(matches!(late.run(|| ()), Err(ExperimentError::Scenario(_))));
}

#[test]
fn associations_are_judged_where_identities_are_withheld_and_only_there() {
    let mut scenario = Scenario::named("cones").unwrap();
    scenario.trajectory.waypoints_x_m.truncate(30);
    scenario.trajectory.waypoints_y_m.truncate(30);
    let report = |identified: bool| {
        let mut scenario = scenario.clone();
        scenario.sensor.identified = identified;
        let experiment = Experiment {
            scenario,
            filters: vec!["default".into()],
            settings: Vec::new(),
            sensors: Vec::new(),
            runs: 2,
            seed: 1,
        };
        Report::new(&experiment.run(|| ()).unwrap())
    };
    let withheld = report(false);
    let found = withheld.filters[0].associations.unwrap();
    assert!(found.pair_precision.unwrap() > 0.9 && found.used_fraction.unwrap() > 0.8, "{found:?}");
    assert!(found.false_landmarks < 1.0 && found.wrong_fraction.unwrap() < 0.01, "{found:?}");
    assert!(found.loops == 0 && found.step_us_p99.is_some(), "{found:?}");
    assert!(withheld.filters[0].get("landmark_rmse_m").unwrap().value.unwrap() < 3.0);
    let json = withheld.clone().without_times().to_json().unwrap();
    assert!(json.contains("\"pair_recall\"") && json.contains("\"step_us_p99\": null"), "{json}");
    assert!(to_text(&withheld).contains("against identities that were withheld"));
    let known = report(true);
    assert_eq!(known.filters[0].associations, None);
    assert!(!known.to_json().unwrap().contains("associations") && !to_text(&known).contains("withheld"));
}
