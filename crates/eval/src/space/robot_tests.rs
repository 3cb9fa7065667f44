//! Bags of robots: found, run as the node would, judged by their truth, and refused with a sentence.

use super::bag::to_bag;
use super::errors::Errors;
use super::robot::{PREFIX, Parameters, Replay, is_bag, run};
use super::simulated::recording;
use lienav_io::bag::{Existing, Topics};
use lienav_sim::space::scenario::SpaceScenario;
use std::path::{Path, PathBuf};

/// A bag that `ros2 bag record` could have made of a simulated run.
fn bag(root: &Path, name: &str) -> PathBuf {
    let folder = root.join("flight");
    let scenario = SpaceScenario { duration_s: 15.0, ..SpaceScenario::named(name).unwrap() };
    to_bag(&recording(&scenario, 11).unwrap(), &folder, Existing::Replace).unwrap();
    std::fs::remove_file(folder.join("space.json")).unwrap();
    folder
}

const INDUSTRIAL: &str = "slam3d_node:
  ros__parameters:
    use_sim_time: true
    imu: {gyro_noise: 0.00017, accelerometer_noise: 0.002, gyro_walk: 0.000019, accelerometer_walk: 0.003}
    imu.interpolation: cubic
    sensor.baseline_m: 0.12
";

fn replay(folder: &Path) -> Replay {
    run(folder, &Topics::default(), Parameters::of(folder, Some(INDUSTRIAL)).unwrap()).unwrap()
}

#[test]
fn a_bag_of_pixels_and_an_inertial_sensor_is_run_as_its_node_would() {
    let root = tempfile::tempdir().unwrap();
    let folder = bag(root.path(), "circle-stereo-industrial-standing");
    assert!(is_bag(folder.to_str().unwrap(), &Topics::default()));
    let done = replay(&folder);
    let errors = Errors::new(&done.run, &done.truth(), (0.0, 0.0));
    let (position, nees) = (errors.position_rmse().unwrap(), errors.nees_mean(2));
    println!("{} estimates, {position} m, NEES {nees:?}, {:?}", errors.pairs.len(), done.run.counts.dropped);
    assert!(errors.pairs.len() > 200 && position < 0.15, "{position}");
    // The first frame comes before the inertial sensor has named the body.
    let dropped: Vec<(&str, u64)> = done.recording.dropped.iter().map(|(word, n)| (word.as_str(), *n)).collect();
    assert!(done.run.landmarks.len() > 20 && dropped == [("no_transform", 1)], "{dropped:?}");
    let again = replay(&folder);
    assert_eq!(format!("{:?}", again.run.estimates), format!("{:?}", done.run.estimates));
}

#[test]
fn parameters_are_laid_over_each_other_and_unknown_ones_refused() {
    let root = tempfile::tempdir().unwrap();
    std::fs::write(root.path().join("params.yaml"), INDUSTRIAL.replace("0.12", "0.2")).unwrap();
    let of = |file: Option<&str>| Parameters::of(root.path(), file);
    assert_eq!(of(None).unwrap().config.sensor.baseline_m, 0.2);
    assert_eq!(of(Some(INDUSTRIAL)).unwrap().config.sensor.baseline_m, 0.12);
    let all = of(None).unwrap().with("tags.size_m", "0.3").unwrap().with("filter", "ekf").unwrap();
    assert_eq!((all.node.tags.size_m, all.config.filter.as_str()), (0.3, "ekf"));
    assert!(of(Some("imu: {gyro_nose: 1.0}")).unwrap_err().contains("'imu.gyro_nose'"));
    assert!(all.with("imu.gyro_nose", "1.0").is_err());
}

#[test]
fn a_bag_without_what_the_filter_takes_is_refused_with_what_it_has() {
    let root = tempfile::tempdir().unwrap();
    let folder = bag(root.path(), "rest-mono-tactical");
    let topics = Topics { features: Some("/nothing".into()), ..Topics::default() };
    let refused = run(&folder, &topics, Parameters::default()).unwrap_err().to_string();
    assert!(refused.contains("/features (sensor_msgs/msg/PointCloud2)"), "{refused}");
    let tags = Parameters::default().with("tags.detections", "[front/detections]").unwrap();
    let refused = run(&folder, &Topics::default(), tags).unwrap_err().to_string();
    assert!(refused.contains("a robot in space has imu and features, or tags.detections"), "{refused}");
    assert!(is_bag(&format!("{PREFIX}x"), &Topics::default()) && !is_bag("x", &Topics::default()));
}
