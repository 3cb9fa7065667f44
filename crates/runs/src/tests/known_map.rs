//! Recorded runs in a map of the true landmarks.

use crate::errors::Errors;
use crate::mean::mean;
use crate::run::{Run, run_in_map, true_map};
use crate::study::Study;
use lienav_io::recording::{Input, Recording, open};
use lienav_io::settings_file::overlay;
use lienav_io::truth::{MAX_TRUTH_GAP_S, Truth};
use lienav_slam::{Config, MapMode};
use rayon::prelude::*;
use std::path::Path;

/// The survey of MR.CLAM is good to this, m.
const SURVEY_STD_M: f64 = 0.01;

/// A run of MR.CLAM with a file of settings, if it is there.
pub fn mrclam_with(dataset: u32, robot: u32, file: &str) -> Option<(Recording, Config)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folder = root.join(format!("../shared/data/mrclam/MRCLAM_Dataset{dataset}"));
    if !folder.exists() {
        println!("not run: there is no data set at {}", folder.display());
        return None;
    }
    let recording = open(&format!("mrclam:{}:{robot}", folder.display())).unwrap();
    let yaml = std::fs::read_to_string(root.join("config").join(file)).unwrap();
    let config = overlay(recording.config.as_ref().unwrap(), &yaml, "slam_node").unwrap();
    Some((recording, config))
}

/// A run of MR.CLAM with the settings for it, if it is there.
fn mrclam(dataset: u32, robot: u32) -> Option<(Recording, Config)> {
    let (recording, mut config) = mrclam_with(dataset, robot, "mrclam.yaml")?;
    // What the settings for a map that is made on the way leave to the map: the heading is seen against the landmarks,
    // and so are its errors and those of bearings. The start is that of the motion capture.
    config.motion.yaw_rate_std = 0.03;
    (config.sensor.bearing_std_rad, config.sensor.correlation_s) = (0.08, 0.3);
    (config.initial.position_std_m, config.initial.yaw_std_rad) = (0.05, 0.2);
    Some((recording, config))
}

fn without_identities(recording: &Recording) -> Recording {
    let mut recording = recording.clone();
    for input in &mut recording.inputs {
        if let Input::Scan(scan) = input {
            scan.measurements.iter_mut().for_each(|measurement| measurement.id = None);
        }
    }
    recording
}

/// Position RMSE without alignment, m, heading RMSE, rad, and mean NEES.
fn judge(run: &Run, recording: &Recording) -> (f64, f64, f64) {
    let errors = Errors::new(run, &Truth::new(&recording.truth, &recording.true_landmarks, MAX_TRUTH_GAP_S));
    (errors.position_rmse().unwrap(), errors.yaw_rmse().unwrap(), mean(errors.nees()).unwrap())
}

fn run(recording: &Recording, config: &Config, filter: &str, mode: MapMode) -> Run {
    let mut config = Config { filter: filter.into(), ..config.clone() };
    config.map.mode = mode;
    run_in_map(recording, &Study::from(config), &true_map(recording, SURVEY_STD_M), |_| ()).unwrap()
}

/// Position RMSE, m, of the filter and of the batch estimate of what came before, at `instants` of the run.
fn against_what_came_before(recording: &Recording, config: &Config, filtered: &Run, instants: usize) -> (f64, f64) {
    let truth = Truth::new(&recording.truth, &recording.true_landmarks, MAX_TRUTH_GAP_S);
    let count = filtered.estimates.len();
    let squares = (1..=instants).into_par_iter().filter_map(|k| {
        let ours = filtered.estimates[k * count / instants - 1];
        let mut before = recording.clone();
        before.inputs.retain(|input| input.stamp() <= ours.stamp);
        let batch = run(&before, config, "batch-cauchy", MapMode::Localization);
        let last = batch.estimates.iter().rfind(|estimate| estimate.stamp == ours.stamp)?;
        let at = truth.at(ours.stamp)?;
        Some(((ours.pose.p - at.p).norm_squared(), (last.pose.p - at.p).norm_squared()))
    });
    let squares: Vec<(f64, f64)> = squares.collect();
    let root = |sum: f64| (sum / squares.len() as f64).sqrt();
    (root(squares.iter().map(|pair| pair.0).sum()), root(squares.iter().map(|pair| pair.1).sum()))
}

#[test]
fn a_recorded_run_in_a_known_map_is_consistent_with_identities_and_without() {
    let Some((mut recording, config)) = mrclam(6, 1) else { return };
    let first = recording.inputs[0].stamp();
    recording.inputs.retain(|input| input.stamp().since(first) < 300.0);
    for recording in [&recording, &without_identities(&recording)] {
        let (position, _, nees) = judge(&run(recording, &config, "default", MapMode::Localization), recording);
        assert!(position < 0.15 && (0.8..6.0).contains(&nees), "{position} m, NEES {nees}");
    }
    let batch = judge(&run(&recording, &config, "batch", MapMode::Localization), &recording);
    let unknown = judge(&run(&recording, &config, "batch", MapMode::Mapping), &recording);
    assert!(batch.0 < 0.12 && batch.0 < unknown.0, "{} m with the map, {} m without", batch.0, unknown.0);
}

/// `cargo test --release -p lienav-runs tests::known_map -- --ignored --nocapture`
#[test]
#[ignore = "a table of minutes"]
fn table_of_mrclam() {
    table("robot.yaml", |dataset, robot| mrclam_with(dataset, robot, "robot.yaml"));
    table("mrclam.yaml and four settings", mrclam);
}

fn table(settings: &str, recording: impl Fn(u32, u32) -> Option<(Recording, Config)>) {
    println!("{settings}");
    for (dataset, robot) in [(6, 1), (6, 2), (6, 3), (4, 3)] {
        let Some((recording, config)) = recording(dataset, robot) else { return };
        let unnamed = without_identities(&recording);
        for (name, filter, mode, with_identities) in [
            ("localization", "default", MapMode::Localization, true),
            ("localization, no identities", "default", MapMode::Localization, false),
            ("extend", "default", MapMode::Extend, true),
            ("localization, ekf", "ekf", MapMode::Localization, true),
            ("batch", "batch", MapMode::Localization, true),
            ("batch, cauchy", "batch-cauchy", MapMode::Localization, true),
        ] {
            let run = run(if with_identities { &recording } else { &unnamed }, &config, filter, mode);
            let (position, heading, nees) = judge(&run, &recording);
            if name == "localization" {
                let (ours, theirs) = against_what_came_before(&recording, &config, &run, 40);
                println!("D{dataset} R{robot} at 40 instants {ours:.4} m, batch of what came before {theirs:.4} m");
            }
            println!(
                "D{dataset} R{robot} {name:30} {position:.4} m {heading:.4} rad NEES {nees:6.2} {:?}",
                run.dropped
            );
        }
    }
}
