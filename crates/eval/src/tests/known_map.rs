//! Recorded runs in a map of the true landmarks.

use crate::errors::{Errors, mean};
use crate::run::{Run, run_in_map, true_map};
use crate::study::Study;
use lienav_io::recording::{Input, Recording, open};
use lienav_io::settings_file::overlay;
use lienav_io::truth::{MAX_TRUTH_GAP_S, Truth};
use lienav_slam::{Config, MapMode};
use std::path::Path;

/// The survey of MR.CLAM is good to this, m.
const SURVEY_STD_M: f64 = 0.01;

/// A run of MR.CLAM with the settings for it, if it is there.
fn mrclam(dataset: u32, robot: u32) -> Option<(Recording, Config)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folder = root.join(format!("../shared/data/mrclam/MRCLAM_Dataset{dataset}"));
    if !folder.exists() {
        println!("not run: there is no data set at {}", folder.display());
        return None;
    }
    let recording = open(&format!("mrclam:{}:{robot}", folder.display())).unwrap();
    let yaml = std::fs::read_to_string(root.join("config/mrclam.yaml")).unwrap();
    let config = overlay(recording.config.as_ref().unwrap(), &yaml, "slam_node").unwrap();
    Some((recording, config))
}

fn without_identities(recording: &Recording) -> Recording {
    let mut recording = recording.clone();
    for input in &mut recording.inputs {
        if let Input::Features(cloud) = input {
            cloud.observations.iter_mut().for_each(|observation| observation.id = None);
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

/// `cargo test --release -p lienav-eval tests::known_map -- --ignored --nocapture`
#[test]
#[ignore = "a table of minutes"]
fn table_of_mrclam() {
    for (dataset, robot) in [(6, 1), (6, 2), (6, 3), (4, 3)] {
        let Some((recording, config)) = mrclam(dataset, robot) else { return };
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
            println!(
                "D{dataset} R{robot} {name:30} {position:.4} m {heading:.4} rad NEES {nees:6.2} {:?}",
                run.dropped
            );
        }
    }
}
