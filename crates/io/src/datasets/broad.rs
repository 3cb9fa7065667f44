//! BROAD, the Berlin Robust Orientation Estimation Assessment Dataset: one trial as CSV, compressed or not.
//!
//! The data set is published as HDF5 and MATLAB files; this reads their arrays as columns of a table: time, gyroscope
//! (rad/s), accelerometer (m/s²), optical reference quaternion (w, x, y, z; body to world; `nan` where the cameras
//! lost it), and whether the sensor is moved.

use super::text::Table;
use crate::inertial::{InertialRecording, TrueOrientation};
use crate::open;
use flate2::read::MultiGzDecoder;
use lienav_attitude::ImuSample;
use lienav_files::{OpenError, bounds};
use nalgebra::{Quaternion, UnitQuaternion, Vector3};
use std::io::{self, BufReader};
use std::path::Path;

const COLUMNS: &[&str] = &[
    "t_s",
    "gyr_x_radps",
    "gyr_y_radps",
    "gyr_z_radps",
    "acc_x_mps2",
    "acc_y_mps2",
    "acc_z_mps2",
    "q_w",
    "q_x",
    "q_y",
    "q_z",
    "movement",
];

/// Reads a trial.
///
/// # Errors
/// The file is missing, damaged, or not as described: with its name and line.
pub fn open(path: &Path) -> Result<InertialRecording, OpenError> {
    let text = read_text(path).map_err(|error| OpenError::io(path, error))?;
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let name = name.split('.').next().unwrap_or_default().to_owned();
    let mut recording = InertialRecording { name, ..InertialRecording::default() };
    for row in Table::of(path.to_owned(), text).rows(COLUMNS) {
        let row = row?;
        let stamp = row.stamp(0)?;
        let vector = |at: usize| Ok(Vector3::new(row.number(at)?, row.number(at + 1)?, row.number(at + 2)?));
        recording.samples.push(ImuSample { stamp, angular_velocity: vector(1)?, specific_force: vector(4)? });
        if (7..11).any(|at| row.word(at).eq_ignore_ascii_case("nan")) {
            continue;
        }
        let q = Quaternion::new(row.number(7)?, row.number(8)?, row.number(9)?, row.number(10)?);
        // Published with six digits; what is no rotation at all is left out as if it were lost.
        if let Some(orientation) = UnitQuaternion::try_new(q, 0.5) {
            recording.truth.push(TrueOrientation { stamp, orientation, moving: row.number(11)? != 0.0 });
        }
    }
    Ok(recording)
}

fn read_text(path: &Path) -> io::Result<String> {
    let file = open::regular(path)?;
    if path.extension().is_none_or(|ending| ending != "gz") {
        return open::text(file, bounds::DATA_SET);
    }
    open::text(MultiGzDecoder::new(BufReader::new(file)), bounds::DATA_SET)
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::write::GzEncoder;
    use std::fs;
    use std::io::Write;

    const TRIAL: &str = "t_s,gyr_x_radps,gyr_y_radps,gyr_z_radps,acc_x_mps2,acc_y_mps2,acc_z_mps2,q_w,q_x,q_y,q_z,movement\n\
                         0.000000,0.1,0.2,0.3,0.0,0.0,9.81,1.0,0.0,0.0,0.0,0\n\
                         0.003500,0.1,0.2,0.3,0.0,0.0,9.81,nan,nan,nan,nan,1\n\
                         0.007000,0.1,0.2,0.3,0.0,0.0,9.81,0.0,1.0,0.0,0.0,1\n";

    fn gzipped(bytes: &[u8]) -> Vec<u8> {
        let mut out = GzEncoder::new(Vec::new(), Compression::fast());
        out.write_all(bytes).unwrap();
        out.finish().unwrap()
    }

    #[test]
    fn a_trial_is_read_with_what_the_cameras_saw_of_it() {
        let folder = tempfile::tempdir().unwrap();
        for (name, bytes) in [("01_slow.csv", TRIAL.as_bytes().to_vec()), ("01_slow.csv.gz", gzipped(TRIAL.as_bytes()))]
        {
            let path = folder.path().join(name);
            fs::write(&path, bytes).unwrap();
            let recording = open(&path).unwrap();
            assert_eq!((recording.name.as_str(), recording.samples.len()), ("01_slow", 3));
            assert_eq!(recording.samples[2].stamp.nanos(), 7_000_000);
            let truth: Vec<(i64, bool)> = recording.truth.iter().map(|t| (t.stamp.nanos(), t.moving)).collect();
            assert_eq!(truth, [(0, false), (7_000_000, true)]);
        }
    }

    #[test]
    fn a_damaged_file_and_a_bad_cell_are_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.csv.gz");
        let whole = gzipped(TRIAL.as_bytes());
        fs::write(&path, &whole[..whole.len() / 2]).unwrap();
        assert!(open(&path).unwrap_err().to_string().starts_with(&path.display().to_string()));
        fs::write(&path, gzipped(TRIAL.replace("0.2", "inf").as_bytes())).unwrap();
        let text = open(&path).unwrap_err().to_string();
        assert!(text.ends_with(":2: gyr_y_radps is 'inf'; expected a finite number"), "{text}");
    }
}
