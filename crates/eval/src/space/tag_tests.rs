//! Runs over recordings of tags: those of others, where they are, and damaged ones.

use super::errors::Errors;
use super::run::{Options, RunError, run};
use super::settings::Settings;
use super::tag_motion::Odometry;
use super::truth::Truth;
use lienav_io::space::data::SpaceRecording;
use lienav_io::space::open;
use std::path::{Path, PathBuf};

fn folder(path: &str) -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data3d").join(path);
    if !folder.is_dir() {
        println!("skipped: {} is missing", folder.display());
        return None;
    }
    Some(folder)
}

fn judged(recording: &SpaceRecording, odometry: Odometry) -> Errors {
    let truth = Truth::of(recording);
    let run = run(recording, &truth, "default", &Options { odometry, ..Options::default() }).unwrap();
    Errors::new(&run, &truth, Settings::of(recording).truth_sigma)
}

/// Position, m, aligned where no tag is known, orientation, degrees, and NEES of the pose.
#[test]
fn recordings_of_others_are_as_exact_as_a_batch_estimate() {
    let cases = [
        ("tagslam", "tagslam/test_5", Odometry::Chassis, 0.015, 0.5, 9.0),
        ("tagslam", "tagslam/test_9", Odometry::Chassis, 0.06, 1.5, 15.0),
        ("tagslam", "tagslam/test_11", Odometry::Chassis, 0.27, 3.0, 9.0),
        ("tagslam", "tagslam/test_13", Odometry::Chassis, 0.010, 0.5, 40.0),
        ("frc", "frc/FRC_20241012_053443", Odometry::Twist, 0.003, 0.2, 4.5),
        ("frc", "frc/FRC_20241012_184342", Odometry::Twist, 0.003, 0.2, 4.5),
        ("frc", "frc/FRC_20241012_053443", Odometry::Chassis, 0.010, 0.3, 4.5),
        ("frc", "frc/FRC_20241012_184342", Odometry::Chassis, 0.010, 0.3, 4.5),
    ];
    for (prefix, path, odometry, metres, degrees, nees) in cases {
        let Some(folder) = folder(path) else { continue };
        let recording = open(&format!("{prefix}:{}", folder.display())).unwrap();
        let errors = judged(&recording, odometry);
        let position =
            if recording.tags.known.is_empty() { errors.aligned_position_rmse() } else { errors.position_rmse() };
        let found = (position.unwrap(), errors.orientation_rmse().unwrap().to_degrees(), errors.nees_mean(2).unwrap());
        println!("{path} {odometry:?}: {found:?}");
        assert!(found.0 <= metres && found.1 <= degrees && found.2 < nees, "{path} {odometry:?}: {found:?}");
    }
}

#[test]
fn damaged_recordings_give_a_run_that_ends_or_a_reason_and_no_panic() {
    let Some(folder) = folder("frc/FRC_20241012_184342") else { return };
    let good = open(&format!("frc:{}", folder.display())).unwrap();
    for damage in 0..7 {
        let mut recording = good.clone();
        let tags = &mut recording.tags;
        let seen = tags.frames.iter_mut().flat_map(|frame| &mut frame.seen);
        match damage {
            0 => seen.for_each(|seen| seen.camera = 9),
            1 => seen.for_each(|seen| seen.id = 3),
            2 => seen.for_each(|seen| seen.corners[1].x = f64::NAN),
            3 => tags.frames.clear(),
            4 => tags.known.clear(),
            5 => recording.chassis.iter_mut().for_each(|twist| twist.velocity *= 1e6),
            _ => recording.truth.clear(),
        }
        let truth = Truth::of(&recording);
        match run(&recording, &truth, "default", &Options::default()) {
            Ok(run) => {
                assert!(run.estimates.iter().all(|e| e.pose.translation.iter().all(|x| x.is_finite())), "{damage}")
            }
            Err(error) => assert!(!error.to_string().is_empty(), "{damage}"),
        }
    }
    let truth = Truth::of(&good);
    let refused = run(&good, &truth, "ekf", &Options::default()).map(|_| ());
    assert_eq!(refused, Err(RunError::NoFilter("ekf".to_owned())));
}

/// Two pairs of tags of this recording are stated to a tenth of a millimetre, and contradict each other.
#[test]
fn tags_whose_stated_places_contradict_each_other_are_named() {
    let Some(folder) = folder("tagslam/test_9") else { return };
    let recording = open(&format!("tagslam:{}", folder.display())).unwrap();
    let run = run(&recording, &Truth::of(&recording), "default", &Options::default()).unwrap();
    println!("{:?}", run.warnings);
    assert!(run.warnings.iter().any(|sentence| sentence.contains("contradict")), "{:?}", run.warnings);
}
