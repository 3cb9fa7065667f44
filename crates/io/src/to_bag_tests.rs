use super::*;
use crate::datasets::{open_mrclam, open_woods};
use crate::recording::open;
use lienav_lie::Se2;
use lienav_slam::{Config, Imu as ImuInput, Measurement, MeasurementKind, Odometry as OdometryInput, Scan};
use nalgebra::{Matrix2, Matrix3, Vector2};
use std::path::PathBuf;

/// Everything a recording can hold, with doubles that are not round, input that comes late, and one thing of each kind
/// more.
fn recording() -> Recording {
    let at = |millis: i64| Stamp::from_nanos(millis * 1_000_003);
    let mut recording =
        Recording { name: "everything".into(), config: Some(Config::default()), ..Recording::default() };
    for i in 0..300 {
        let x = f64::from(i) / 7.0;
        let stamp = at(100 * i64::from(i));
        let covariance = (i % 3 == 0).then(|| Matrix3::new(0.1, 0.01, x, 0.01, 0.2, 0.0, x, 0.0, 0.3));
        let odometry =
            OdometryInput { stamp, velocity: Vector2::new(x.sin(), 0.1 * x.cos()), yaw_rate: -x, covariance };
        recording.inputs.push(Input::Odometry(odometry));
        recording.inputs.push(Input::Imu(ImuInput {
            stamp: at(100 * i64::from(i) + 3),
            yaw_rate: x / 3.0,
            tilt: None,
        }));
        let seen = |k: i32| Measurement {
            covariance: (k == 2).then(|| Matrix2::new(0.1, 0.02, 0.02, x + 1.0).into()),
            ..Measurement::new((k != 1).then_some(k as u32), [x + f64::from(k), 0.1 * f64::from(k)])
        };
        let kinds = [MeasurementKind::RangeBearing, MeasurementKind::RelativePosition, MeasurementKind::StereoBearings];
        let features = Scan {
            stamp: at(100 * i64::from(i) - 20),
            kind: kinds[i as usize % 3],
            measurements: (0..i % 4).map(seen).collect(),
        };
        if features.stamp >= Stamp::from_nanos(0) {
            recording.inputs.push(Input::Scan(features));
        }
        recording.truth.push((at(50 + 100 * i64::from(i)), Se2::new(x, -x / 3.0, (x / 9.0).sin() * 3.0)));
    }
    recording.true_landmarks = vec![(7, Vector2::new(0.1, 1.0 / 3.0)), (1, Vector2::new(-5.0, 2e-9))];
    recording.dropped.insert("other_robot".into(), 12);
    recording
}

fn convert(recording: &Recording, folder: &Path) -> Converted {
    to_bag(recording, folder, Existing::Refuse, &mut |_, _| ()).unwrap()
}

fn open_bag(folder: &Path) -> Recording {
    open(folder.to_str().unwrap()).unwrap()
}

fn data(path: &str) -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data").join(path);
    if !folder.exists() {
        println!("skipped: {} is not there", folder.display());
        return None;
    }
    Some(folder)
}

#[test]
fn a_bag_keeps_a_recording_to_the_last_bit() {
    let folder = tempfile::tempdir().unwrap();
    let bag = folder.path().join("bag");
    let mut told = Vec::new();
    let converted = to_bag(&recording(), &bag, Existing::Refuse, &mut |done, total| told.push((done, total))).unwrap();
    assert_eq!(open_bag(&bag), recording());
    assert_eq!(told.last(), Some(&(converted.messages, converted.messages)));
    assert!(told.is_sorted());
    let mut files: Vec<_> = std::fs::read_dir(&bag).unwrap().map(|e| e.unwrap().file_name()).collect();
    files.sort();
    assert_eq!(files, ["bag_0.mcap", "metadata.yaml", "params.yaml"]);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn the_storage_file_alone_gives_the_same_input() {
    let folder = tempfile::tempdir().unwrap();
    let bag = folder.path().join("bag");
    convert(&recording(), &bag);
    let alone = open_bag(&bag.join("bag_0.mcap"));
    assert_eq!((alone.inputs, alone.truth), (recording().inputs, recording().truth));
}

#[test]
fn what_exists_is_replaced_only_on_demand_and_only_if_it_is_a_bag() {
    let folder = tempfile::tempdir().unwrap();
    let bag = folder.path().join("bag");
    let write = |existing| to_bag(&recording(), &bag, existing, &mut |_, _| ());
    write(Existing::Refuse).unwrap();
    assert!(write(Existing::Refuse).unwrap_err().to_string().contains("exists already"));
    write(Existing::Replace).unwrap();
    assert_eq!(open_bag(&bag), recording());
    std::fs::write(bag.join("thesis.tex"), "years of work").unwrap();
    let error = write(Existing::Replace).unwrap_err().to_string();
    assert!(error.contains("thesis.tex"), "{error}");
    assert!(bag.join("thesis.tex").exists());
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn transforms_lead_from_the_odometry_to_the_sensor() {
    let mut reckoning = DeadReckoning::default();
    let sample = |millis: i64| OdometryInput {
        stamp: Stamp::from_nanos(millis * 1_000_000),
        velocity: Vector2::new(2.0, 0.0),
        yaw_rate: 0.5,
        covariance: None,
    };
    for k in 0..=20 {
        reckoning.add(&sample(100 * k));
    }
    let quarter = Se2::exp(&Vector3::new(4.0, 0.0, 1.0));
    assert!((reckoning.add(&sample(1500)).p - quarter.p).norm() < 1e-12, "late");
    assert!((reckoning.add(&sample(9000)).p - quarter.p).norm() < 1e-12, "a gap");
    assert!((reckoning.add(&sample(9100)).p - quarter.p).norm() > 0.1);
}

#[test]
fn what_is_stamped_before_the_epoch_is_left_out_and_counted_by_topic() {
    let folder = tempfile::tempdir().unwrap();
    let mut recording = recording();
    let path = folder.path().join("bag");
    let all = to_bag(&recording, &path, Existing::Refuse, &mut |_, _| ()).unwrap();
    let early = Stamp::from_nanos(-1);
    recording.truth[0].0 = early;
    let odometry = recording.inputs.iter_mut().find_map(|input| match input {
        Input::Odometry(odometry) => Some(odometry),
        _ => None,
    });
    odometry.unwrap().stamp = early;
    let converted = to_bag(&recording, &path, Existing::Replace, &mut |_, _| ()).unwrap();
    // The transform of the odometry message, too.
    assert_eq!(converted.messages, all.messages - 3);
    let expected = [("/ground_truth/pose", (1, early)), ("/odom", (1, early))];
    assert_eq!(converted.before_the_epoch, expected.into());
    assert_eq!(open_bag(&path).inputs.len(), recording.inputs.len() - 1);
}

#[test]
fn lost_in_the_woods_survives_conversion() {
    let Some(woods) = data("lost_in_the_woods") else { return };
    let recording = open_woods(&woods).unwrap();
    let clouds: Vec<&Scan> = recording
        .inputs
        .iter()
        .filter_map(|input| if let Input::Scan(features) = input { Some(features) } else { None })
        .collect();
    assert_eq!(clouds.len(), 12_609);
    assert_eq!(recording.inputs.len(), 2 * 12_609);
    assert!(clouds.iter().enumerate().all(|(i, cloud)| cloud.stamp.nanos() == 100_000_000 * i as i64));
    assert_eq!(recording.true_landmarks.len(), 17);
    let config = recording.config.as_ref().unwrap();
    assert_eq!((config.sensor.x_m, config.sensor.range_std_m), (0.219016, 0.00090036f64.sqrt()));
    assert_eq!(config.initial.pose(), recording.truth[0].1);

    let folder = tempfile::tempdir().unwrap();
    let bag = folder.path().join("woods");
    convert(&recording, &bag);
    assert_eq!(open_bag(&bag), recording);
}

#[test]
fn mrclam_survives_conversion() {
    let Some(set) = data("mrclam/MRCLAM_Dataset6") else { return };
    let recording = open_mrclam(&set, 1).unwrap();
    assert_eq!(recording.dropped.get("other_robot"), Some(&407));
    assert_eq!(recording.dropped.get("unknown_barcode"), Some(&1));
    assert_eq!(recording.true_landmarks.len(), 15);
    let start = recording.inputs[0].stamp();
    assert_eq!(start.to_string(), "1248444187.156000000");
    assert!(recording.inputs.iter().all(|input| input.stamp() >= start));

    let folder = tempfile::tempdir().unwrap();
    let bag = folder.path().join("mrclam");
    convert(&recording, &bag);
    assert_eq!(open_bag(&bag), recording);
}
