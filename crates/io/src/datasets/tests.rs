//! Small folders of the formats, with what published files do to their readers.

use super::*;
use crate::recording::{Input, Recording, open};
use lienav_lie::Se2;
use lienav_slam::{NoiseUnit, Odometry, Scan};
use nalgebra::Vector2;
use std::fs;
use tempfile::TempDir;

fn folder(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        fs::write(folder.path().join(name), text).unwrap();
    }
    folder
}

const WOODS: [(&str, &str); 5] = [
    ("odometry.csv", "t_s,v_mps,omega_radps\n0.000,0.1,0.01\n0.100,0.2,0.02\n0.200,0.3,0.03\n"),
    ("measurements.csv", "t_s,landmark,range_m,bearing_rad\n0.100,2,1.5,-0.25\n0.100,1,2.5,3.141\n0.300,1,2.0,0.5\n"),
    ("groundtruth.csv", "t_s,x_m,y_m,theta_rad,valid\n0.000,9,9,9,0\n0.100,1,2,-2.5,1\n0.200,1.1,2,-2.4,1\n"),
    ("landmarks.csv", "landmark,x_m,y_m\n1,5.36479,0.67126\n2,-1,0\n"),
    (
        "parameters.csv",
        "name,value,unit\nrange_variance,0.04,m^2\nbearing_variance,0.09,rad^2\nv_variance,0.01,m^2/s^2\n\
         omega_variance,0.25,rad^2/s^2\nlaser_offset_forward,0.219016,m\n",
    ),
];

fn clouds(recording: &Recording) -> Vec<&Scan> {
    recording.inputs.iter().filter_map(|i| if let Input::Scan(f) = i { Some(f) } else { None }).collect()
}

fn odometry(recording: &Recording) -> Vec<&Odometry> {
    recording.inputs.iter().filter_map(|i| if let Input::Odometry(o) = i { Some(o) } else { None }).collect()
}

#[test]
fn the_woods_have_a_cloud_for_each_odometry_message_and_lose_no_sighting() {
    let folder = folder(&WOODS);
    let recording = open_woods(folder.path()).unwrap();
    let sizes: Vec<(String, usize)> =
        clouds(&recording).iter().map(|c| (c.stamp.to_string(), c.measurements.len())).collect();
    let expected = [("0.000000000", 0), ("0.100000000", 2), ("0.200000000", 0), ("0.300000000", 1)];
    assert_eq!(sizes, expected.map(|(stamp, n)| (stamp.to_owned(), n)));
    assert_eq!(clouds(&recording)[1].measurements[0].id, Some(2));
    assert_eq!(clouds(&recording)[1].measurements[0].value, [1.5, -0.25].into());
    assert_eq!(recording.truth.len(), 2);
    let config = recording.config.unwrap();
    assert_eq!(config.initial.pose(), Se2::new(1.0, 2.0, -2.5));
    let motion = &config.motion;
    let noises = (motion.velocity_x_std, motion.velocity_y_std, motion.yaw_rate_std, motion.noise);
    assert_eq!(noises, (0.1, 0.03, 0.5, NoiseUnit::PerSample));
    assert_eq!((config.sensor.range_std_m, config.sensor.bearing_std_rad, config.sensor.x_m), (0.2, 0.3, 0.219016));
}

#[test]
fn plaza_has_motions_as_velocities_and_ranges_by_themselves() {
    let folder = folder(&[
        ("groundtruth.csv", "t_s,x_m,y_m,yaw_rad\n10.0,1,2,4.2\n11.0,1,3,4.2\n"),
        ("landmarks.csv", "landmark,x_m,y_m\n5,-17,59\n"),
        ("odometry.csv", "t_s,distance_m,turn_rad\n10.2,0.1,-0.02\n10.2,0.1,0\n10.4,0.2,0.04\n"),
        ("ranges.csv", "t_s,landmark,range_m\n10.3,5,65.5\n"),
    ]);
    let recording = open_plaza(folder.path()).unwrap();
    let moved: Vec<_> = odometry(&recording).iter().map(|o| (o.stamp.secs(), o.velocity.x, o.yaw_rate)).collect();
    let expected = [(10.0, 0.0, 0.0), (10.2, 0.5, -0.1), (10.4, 1.0, 0.2)];
    for (found, expected) in moved.iter().zip(&expected) {
        let error = (found.0 - expected.0).abs() + (found.1 - expected.1).abs() + (found.2 - expected.2).abs();
        assert!(error < 1e-6, "{found:?} {expected:?}");
    }
    assert_eq!((moved.len(), recording.dropped.get("duplicate_stamp")), (3, Some(&1)));
    let seen = clouds(&recording)[0];
    assert_eq!((seen.kind, seen.measurements[0].id), (lienav_slam::MeasurementKind::Range, Some(5)));
    assert_eq!(seen.measurements[0].value, [65.5].into());
    assert_eq!(recording.config.unwrap().validate().map(|_| ()), Ok(()));
}

#[test]
fn a_missing_file_a_wrong_column_and_a_bad_cell_are_named() {
    let error = |change: &dyn Fn(&std::path::Path)| {
        let folder = folder(&WOODS);
        change(folder.path());
        open(&format!("woods:{}", folder.path().display())).unwrap_err().to_string()
    };
    let missing = error(&|folder| fs::remove_file(folder.join("landmarks.csv")).unwrap());
    assert!(missing.contains("landmarks.csv: No such file"), "{missing}");
    let columns = error(&|folder| fs::write(folder.join("odometry.csv"), "t_s,omega_radps\n").unwrap());
    let header =
        "odometry.csv:1: the header is 't_s,omega_radps'; expected 't_s,v_mps,omega_radps', more columns may follow";
    assert!(columns.ends_with(header), "{columns}");
    let cell = error(&|folder| fs::write(folder.join("measurements.csv"), "0.1,one,2,3\n").unwrap());
    assert!(cell.ends_with("measurements.csv:1: landmark is 'one'; expected a whole number"), "{cell}");
    let noise = error(&|folder| fs::write(folder.join("parameters.csv"), "range_variance,-1\n").unwrap());
    assert!(noise.contains("parameters.csv") && noise.contains("sensor.range_std_m"), "{noise}");
}

const MRCLAM: [(&str, &str); 5] = [
    ("Barcodes.dat", "# Subject #    Barcode #\n  1 \t   5\n  6 \t  63\n  7\t81\n"),
    ("Landmark_Groundtruth.dat", "# Subject\n  6 \t 0.5 \t -4.25 \t 0.00004 \t 0.0002\n7 1 2 0 0\n"),
    (
        "Robot1_Groundtruth.dat",
        "# Time\n100.000 \t 1.0 \t 2.0 \t 3.1\n100.000 \t 1.0 \t 2.0 \t 3.1\n102.000 \t 2.0 \t 2.0 \t -3.1\n",
    ),
    (
        "Robot1_Odometry.dat",
        "# Time\n101.000 \t 0.1 \t 0.2\n101.010 \t 0.1 \t 0.2\n101.010 \t 0.3 \t 0.4\n101.030,0.5,0.6\n",
    ),
    (
        "Robot1_Measurement.dat",
        "# Time\n100.5 63 1 0\n101.020 \t 63 \t 3.787 \t -0.257\n101.020 \t 81 \t 1.5 \t 0.5\n\
         101.020 \t 81 \t 1.5 \t 0.5\n101.025 \t 5 \t 1 \t 1\n101.025 \t 99 \t 1 \t 1\n",
    ),
];

#[test]
fn what_is_no_landmark_is_counted_and_rows_of_one_stamp_are_one_cloud() {
    let folder = folder(&MRCLAM);
    let recording = open(&format!("mrclam:{}:1", folder.path().display())).unwrap();
    let dropped: Vec<(&str, u64)> = recording.dropped.iter().map(|(reason, &n)| (&**reason, n)).collect();
    assert_eq!(dropped, [("before_start", 1), ("other_robot", 1), ("repeated_row", 2), ("unknown_barcode", 1)]);
    let cloud = clouds(&recording);
    assert_eq!(cloud.len(), 1);
    let ids: Vec<Option<u32>> = cloud[0].measurements.iter().map(|o| o.id).collect();
    assert_eq!((cloud[0].stamp.nanos(), ids), (101_020_000_000, vec![Some(6), Some(7)]));
    let speeds: Vec<f64> = odometry(&recording).iter().map(|o| o.velocity.x).collect();
    assert_eq!(speeds, [0.1, 0.3, 0.5]);
    // Half way between its neighbours, across the cut of the angle.
    let start = recording.config.unwrap().initial.pose();
    assert!((start.p - Vector2::new(1.5, 2.0)).norm() < 1e-12);
    assert!((start.theta - std::f64::consts::PI).abs() < 1e-12);
    assert_eq!(recording.true_landmarks, [(6, Vector2::new(0.5, -4.25)), (7, Vector2::new(1.0, 2.0))]);
}

const VICTORIA: [(&str, &str); 3] = [
    (
        "inputs.dat",
        "     0.973      0.000    -0.0035\n     0.998      1.000    0.1000\n     1.023      1.000    0.1000\n",
    ),
    (
        "measurements.dat",
        "     0.998   20.46202    0.88575    0.35404\n     0.998   10.0    1.5707963267948966    0.2\n     1.2   9.0 1.0  -1\n",
    ),
    ("gps.dat", "     1.401     -2.062     -1.878\n     0.000     -2.023     -1.923\n"),
];

#[test]
fn the_park_has_clouds_without_identity_trunks_with_a_diameter_and_fixes_of_the_antenna() {
    let folder = folder(&VICTORIA);
    let recording = open(&format!("victoria:{}", folder.path().display())).unwrap();
    assert_eq!((odometry(&recording).len(), recording.truth.len()), (3, 0));
    let cloud = clouds(&recording);
    let sizes: Vec<usize> = cloud.iter().map(|cloud| cloud.measurements.len()).collect();
    assert_eq!(sizes, [2, 1]);
    let ahead = &cloud[0].measurements[1];
    assert_eq!((ahead.id, ahead.value), (None, [10.0, 0.0].into()));
    assert_eq!(ahead.label.diameter_m, 0.2);
    assert!(ahead.label.diameter_std_m < cloud[0].measurements[0].label.diameter_std_m);
    // A diameter that is none says nothing.
    assert_eq!(cloud[1].measurements[0].label.diameter_m, 0.0);
    let fixes = recording.fixes.unwrap();
    assert_eq!((fixes.fixes[0].0.nanos(), fixes.fixes[1].1.x), (0, -2.062));
    assert_eq!(fixes.antenna, Vector2::new(3.78, 0.5));

    fs::write(folder.path().join("inputs.dat"), "0.1 1.0 1.6\n").unwrap();
    let error = open_victoria(folder.path()).unwrap_err().to_string();
    assert!(error.ends_with("steering_rad is '1.6'; expected an angle of steering from -1.5 to 1.5 rad"), "{error}");
    fs::write(folder.path().join("inputs.dat"), "\n").unwrap();
    assert!(open_victoria(folder.path()).unwrap_err().to_string().contains("no rows of speed and steering"));
}

#[test]
fn sources_that_are_none_say_what_would_be_one() {
    for (source, problem) in [
        ("mrclam:/x", "number of the robot is missing"),
        ("mrclam:/x:two", "not a number"),
        ("/no/where", "no such file"),
    ] {
        let error = open(source).unwrap_err().to_string();
        assert!(error.contains(problem) && error.contains("woods:FOLDER"), "{error}");
    }
}

#[test]
fn a_pointer_of_git_lfs_is_named_as_one() {
    let folder =
        folder(&[("pose.g2o", "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a2146\nsize 12345\n")]);
    let error = open(&format!("g2o:{}", folder.path().join("pose.g2o").display())).unwrap_err().to_string();
    assert!(error.contains("a pointer of Git LFS"), "{error}");
}
