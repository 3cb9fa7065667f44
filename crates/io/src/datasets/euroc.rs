//! EuRoC MAV, a sequence's inertial sensor and truth.
//!
//! Either the published folder (`mav0/imu0/data.csv` in nanoseconds and `mav0/state_groundtruth_estimate0/data.csv`),
//! or a folder with `imu.csv` in seconds and `groundtruth_tum.txt` (t x y z qx qy qz qw).

use super::text::Table;
use crate::inertial::{InertialRecording, TrueOrientation};
use lienav_attitude::ImuSample;
use lienav_base::stamp::Stamp;
use lienav_files::OpenError;
use nalgebra::{Quaternion, UnitQuaternion, Vector3};
use std::path::Path;

const IMU: &[&str] = &["t_s", "gyr_x_radps", "gyr_y_radps", "gyr_z_radps", "acc_x_mps2", "acc_y_mps2", "acc_z_mps2"];
const TUM: &[&str] = &["t", "x", "y", "z", "qx", "qy", "qz", "qw"];
/// The columns as published; their head is a comment.
const IMU_NANOS: &[&str] = &["timestamp", "w_x", "w_y", "w_z", "a_x", "a_y", "a_z"];
const STATE: &[&str] = &["timestamp", "p_x", "p_y", "p_z", "q_w", "q_x", "q_y", "q_z"];

/// Reads a sequence. Truth is from the body, whose axes are the sensor's, to the world, z up; the whole of it counts
/// as moving.
///
/// # Errors
/// A file is missing, or not as described: with its name and line.
pub fn open(folder: &Path) -> Result<InertialRecording, OpenError> {
    let published = folder.join("mav0");
    let name = folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let mut recording = InertialRecording { name, ..InertialRecording::default() };
    let (imu, truth) = if published.is_dir() {
        (
            (Table::read(&published.join("imu0"), "data.csv")?, IMU_NANOS, true),
            (Table::read(&published.join("state_groundtruth_estimate0"), "data.csv")?, STATE, [4, 5, 6, 7]),
        )
    } else {
        (
            (Table::read(folder, "imu.csv")?, IMU, false),
            (Table::read(folder, "groundtruth_tum.txt")?, TUM, [7, 4, 5, 6]),
        )
    };
    let (table, columns, nanos) = imu;
    let stamp_of = |row: &super::text::Row<'_>| -> Result<Stamp, OpenError> {
        match row.word(0).parse().ok().filter(|_| nanos) {
            Some(nanos) => Ok(Stamp::from_nanos(nanos)),
            None => row.stamp(0),
        }
    };
    for row in table.rows(columns) {
        let row = row?;
        let vector = |at: usize| Ok(Vector3::new(row.number(at)?, row.number(at + 1)?, row.number(at + 2)?));
        let stamp = stamp_of(&row)?;
        recording.samples.push(ImuSample { stamp, angular_velocity: vector(1)?, specific_force: vector(4)? });
    }
    let (table, columns, [w, x, y, z]) = truth;
    for row in table.rows(columns) {
        let row = row?;
        let q = Quaternion::new(row.number(w)?, row.number(x)?, row.number(y)?, row.number(z)?);
        if let Some(orientation) = UnitQuaternion::try_new(q, 0.5) {
            recording.truth.push(TrueOrientation { stamp: stamp_of(&row)?, orientation, moving: true });
        }
    }
    Ok(recording)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn the_published_folder_and_the_plain_one_say_the_same() {
        let plain = tempfile::tempdir().unwrap();
        fs::write(plain.path().join("imu.csv"), format!("{}\n1403636579.758555392,1,2,3,4,5,6\n", IMU.join(",")))
            .unwrap();
        fs::write(plain.path().join("groundtruth_tum.txt"), "1403636579.758555392 0 0 0 0.6 0 0 0.8\n").unwrap();
        let published = tempfile::tempdir().unwrap();
        for (sensor, text) in [
            ("imu0", "#timestamp [ns],w_RS_S_x [rad s^-1]\n1403636579758555392,1,2,3,4,5,6\n"),
            ("state_groundtruth_estimate0", "#timestamp\n1403636579758555392,0,0,0,0.8,0.6,0,0,1,1,1\n"),
        ] {
            let folder = published.path().join("mav0").join(sensor);
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join("data.csv"), text).unwrap();
        }
        let (a, b) = (open(plain.path()).unwrap(), open(published.path()).unwrap());
        assert_eq!((&a.samples, &a.truth), (&b.samples, &b.truth));
        assert_eq!(a.samples[0].stamp.nanos(), 1_403_636_579_758_555_392);
        assert_eq!(a.truth[0].orientation.i, 0.6);
    }

    #[test]
    fn a_missing_file_is_named() {
        let folder = tempfile::tempdir().unwrap();
        assert!(open(folder.path()).unwrap_err().to_string().contains("imu.csv"));
    }
}
