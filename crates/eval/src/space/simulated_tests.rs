//! Filters over simulated runs: true covariances, and troubles that are survived or named.

use super::bag::{is_bag, open, to_bag};
use super::errors::Errors;
use super::monte_carlo::{Experiment, FilterReport, Report, carry_out};
use super::observability::FilterReport as Observed;
use super::run::{Options, RunError, run};
use super::simulated::recording;
use super::truth::Truth;
use lienav_io::bag::Existing;
use lienav_io::settings_file::with;
use lienav_sim::space::scenario::SpaceScenario;

fn experiment(name: &str, filters: &[&str], seed: u64) -> Report {
    let scenario = SpaceScenario { duration_s: 15.0, ..SpaceScenario::named(name).unwrap() };
    let filters = filters.iter().map(|name| (*name).to_owned()).collect();
    carry_out(&Experiment { scenario, filters, runs: 6, seed, has_map: false }, || {}).unwrap()
}

fn default_of(name: &str) -> FilterReport {
    let report = experiment(name, &["default"], 900).filters.remove(0);
    println!("{name}: {report:?}");
    report
}

/// Whether errors and covariance of a few runs can be of one filter: 6 in the mean over many.
fn is_true(report: &FilterReport) -> bool {
    (3.0..10.0).contains(&report.nees_pose_mean) && report.position_rmse_m < 0.3 && report.ended == 0
}

#[test]
fn covariances_are_true_where_nothing_troubles() {
    for name in ["drone-mono-tactical", "hand-several-industrial", "car-stereo-industrial", "rest-stereo-consumer"] {
        assert!(is_true(&default_of(name)), "{name}");
    }
}

#[test]
fn outliers_missing_samples_and_false_detections_are_survived() {
    let names = [
        "hand-stereo-industrial-outliers",
        "car-stereo-industrial-outliers",
        "drone-mono-industrial-outliers",
        "drone-stereo-industrial-gap",
        "car-mono-industrial-gap",
        "hand-mono-industrial-false-misses",
        "hand-mono-industrial-vibration",
    ];
    for name in names {
        assert!(is_true(&default_of(name)), "{name}");
    }
}

#[test]
fn wrong_units_and_a_sensor_upside_down_are_refused_and_a_late_camera_is_named() {
    let base = SpaceScenario::named("hand-stereo-industrial").unwrap();
    let outcome = |setting: &str, value: &str| {
        let recording = recording(&with(&base, setting, value).unwrap(), 3).unwrap();
        run(&recording, &Truth::of(&recording), "default", &Options::default())
    };
    let refused = |setting: &str, value: &str| outcome(setting, value).unwrap_err().to_string();
    assert!(refused("imu.gyro_factor", "57.29578").contains("degrees"));
    assert!(refused("imu.force_factor", "0.101972").contains("in g?"));
    let upside_down = outcome("imu.upside_down", "true").unwrap_err();
    assert!(matches!(&upside_down, RunError::Mount(problem) if problem.contains("upside down")), "{upside_down}");
    let late = outcome("camera.late_s", "0.05").unwrap();
    assert!(late.warnings.iter().any(|warning| warning.contains("clock of the camera")), "{:?}", late.warnings);
    assert!(outcome("camera.late_s", "0").unwrap().warnings.is_empty());
}

#[test]
fn the_default_lacks_four_directions_and_the_ekf_fewer() {
    let scenario = SpaceScenario { duration_s: 12.0, ..SpaceScenario::named("drone-stereo-industrial").unwrap() };
    let recording = recording(&scenario, 5).unwrap();
    let truth = Truth::of(&recording);
    let options = Options { window: 40, ..Options::default() };
    let observed = |name: &str| Observed::new(name, run(&recording, &truth, name, &options).unwrap().windows);
    for name in ["default", "group", "reduced", "fe-ekf", "oc-ekf"] {
        let found = observed(name);
        assert!(found.deficiencies.len() == 1 && found.deficiencies[0].0 == 4, "{name}: {:?}", found.deficiencies);
        assert!(found.seen_at_most.iter().all(|seen| *seen < 1e-12), "{name}: {:?}", found.seen_at_most);
    }
    let ekf = observed("ekf");
    assert!(ekf.deficiencies.iter().all(|(deficiency, _)| *deficiency <= 3), "{:?}", ekf.deficiencies);
    assert!(ekf.seen_at_most[0] > 1e-6);
}

#[test]
fn reports_repeat_and_have_all_filters() {
    let report = |seed| experiment("hand-stereo-tactical", &["default", "ekf"], seed).without_times();
    let first = report(1);
    assert_eq!(first, report(1));
    assert_ne!(first, report(2));
    assert!(first.to_json().unwrap().contains("nees_pose_mean") && first.to_text().contains("ekf"));
    assert!(first.band_6[0] < 6.0 && first.band_6[1] > 6.0);
}

/// A bag gives the recording back to the last bit, and so every figure.
#[test]
fn a_bag_of_a_run_is_the_run_to_the_last_bit() {
    let root = tempfile::tempdir().unwrap();
    let folder = root.path().join("flight");
    for name in ["drone-mono-industrial-false-misses", "hand-stereo-consumer-gap", "car-several-tactical-outliers"] {
        let scenario = SpaceScenario { duration_s: 6.0, ..SpaceScenario::named(name).unwrap() };
        let made = recording(&scenario, 11).unwrap();
        let messages = to_bag(&made, &folder, Existing::Replace).unwrap();
        assert!(messages as usize >= made.inertial.len() + made.frames.len() + made.truth.len());
        let path = folder.to_str().unwrap();
        assert!(is_bag(path));
        let read = open(&folder).unwrap();
        assert_eq!(format!("{read:?}"), format!("{made:?}"), "{name}");
        let errors = |recording| {
            let truth = Truth::of(recording);
            let run = run(recording, &truth, "default", &Options::default()).unwrap();
            let errors = Errors::new(&run, &truth, (0.0, 0.0));
            assert!(errors.pairs.len() > 60);
            (errors.position_rmse(), errors.orientation_rmse(), errors.nees_mean(2))
        };
        assert_eq!(errors(&read), errors(&made), "{name}");
        // A damaged file is named.
        let notes = folder.join("space.json");
        let text = std::fs::read_to_string(&notes).unwrap();
        for (from, to) in [("\"truth\":", "\"truths\":"), ("\"focal\":[", "\"focal\":[-"), ("{", "")] {
            std::fs::write(&notes, text.replacen(from, to, 1)).unwrap();
            let refused = open(&folder).unwrap_err().to_string();
            assert!(refused.contains("space.json: "), "{refused}");
        }
        std::fs::write(&notes, text).unwrap();
    }
}
