//! What the readers share: tables that may be compressed, transforms, and checks of rows.

use super::data::{Frame, Image, InertialSample, Seen, SpaceRecording, TruePose};
use crate::datasets::text::{Row, Table};
use crate::open;
use crate::recording::OpenError;
use flate2::read::MultiGzDecoder;
use lienav_base::stamp::Stamp;
use lienav_files::bounds;
use lienav_lie::{Se3, So3};
use nalgebra::{Quaternion, UnitQuaternion, Vector3, Vector4};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::io::BufReader;
use std::path::{Path, PathBuf};

/// No sensor of such a recording gives more: rad/s, m/s², px, m.
const LARGEST: f64 = 1e6;
/// Most landmarks in one frame; those behind them are left out.
const MOST_SEEN: usize = 300;

/// The file of this name, or that with `.gz` behind it, where one is there.
fn find(folder: &Path, name: &str) -> Option<PathBuf> {
    [name.to_owned(), format!("{name}.gz")].iter().map(|name| folder.join(name)).find(|path| path.exists())
}

/// Reads a table, compressed or not; `None` where it is missing.
pub fn optional_table(folder: &Path, name: &str) -> Result<Option<Table>, OpenError> {
    let Some(path) = find(folder, name) else { return Ok(None) };
    let text = open::regular(&path).and_then(|file| match path.extension() {
        Some(ending) if ending == "gz" => open::text(MultiGzDecoder::new(BufReader::new(file)), bounds::DATA_SET),
        _ => open::text(file, bounds::DATA_SET),
    });
    Ok(Some(Table::of(path.clone(), text.map_err(|error| OpenError::io(&path, error))?)))
}

/// Reads a table, compressed or not.
pub fn table(folder: &Path, name: &str) -> Result<Table, OpenError> {
    let missing = || {
        let problem = format!("neither {name} nor {name}.gz is in this folder");
        OpenError::Bag { path: folder.to_owned(), problem }
    };
    optional_table(folder, name)?.ok_or_else(missing)
}

/// Reads a small text.
pub fn text(folder: &Path, name: &str) -> Result<(PathBuf, String), OpenError> {
    /// No file of settings of a recording is longer.
    const LONGEST: u64 = 1 << 20;
    let path = folder.join(name);
    let text = open::read_text(&path, LONGEST).map_err(|error| OpenError::io(&path, error))?;
    Ok((path, text))
}

/// The last part of the folder's path.
pub fn name_of(folder: &Path) -> String {
    folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

/// x_a = R x_b + t, as the files write it.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct Transform {
    pub(super) q_xyzw: [f64; 4],
    pub(super) t_m: [f64; 3],
}

impl Transform {
    /// As a pose; `None` where the quaternion is no rotation or the shift is absurd.
    pub fn pose(&self) -> Option<Se3> {
        let t = Vector3::from(self.t_m);
        let is_near = t.iter().all(|x| x.abs() < LARGEST);
        rotation(&self.q_xyzw).filter(|_| is_near).map(|rotation| Se3::new(rotation, t))
    }
}

/// The rotation of (x, y, z, w); `None` where the four numbers are far from a unit quaternion.
pub fn rotation(q: &[f64; 4]) -> Option<So3> {
    let [x, y, z, w] = *q;
    let norm = (x * x + y * y + z * z + w * w).sqrt();
    let is_unit = (0.5..2.0).contains(&norm);
    is_unit.then(|| UnitQuaternion::from_quaternion(Quaternion::new(w, x, y, z)).to_rotation_matrix().into())
}

/// Three numbers from a column on; `None` where one is not finite or absurd.
pub fn vector(row: &Row, first: usize) -> Result<Option<Vector3<f64>>, OpenError> {
    let v = Vector3::new(row.any_number(first)?, row.any_number(first + 1)?, row.any_number(first + 2)?);
    Ok(Some(v).filter(|v| v.iter().all(|x| x.abs() < LARGEST)))
}

/// Numbers from a column on; `None` where one is not finite or absurd.
pub fn numbers<const N: usize>(row: &Row, first: usize) -> Result<Option<[f64; N]>, OpenError> {
    let mut all = [0.0; N];
    for (k, slot) in all.iter_mut().enumerate() {
        *slot = row.any_number(first + k)?;
    }
    Ok(Some(all).filter(|all| all.iter().all(|x| x.abs() < LARGEST)))
}

/// Counts a row that is left out.
pub fn drop_row(recording: &mut SpaceRecording, reason: &str) {
    *recording.dropped.entry(reason.to_owned()).or_default() += 1;
}

/// Sorts by stamp, and leaves out what has the stamp of the row before it.
pub fn in_order<T>(rows: &mut Vec<T>, stamp: impl Fn(&T) -> Stamp) -> u64 {
    let before = rows.len();
    rows.sort_by_key(&stamp);
    rows.dedup_by_key(|row| stamp(row));
    (before - rows.len()) as u64
}

/// The samples of `imu.csv`.
pub fn read_inertial(folder: &Path, recording: &mut SpaceRecording) -> Result<(), OpenError> {
    const COLUMNS: &[&str] =
        &["t_s", "gyr_x_radps", "gyr_y_radps", "gyr_z_radps", "acc_x_mps2", "acc_y_mps2", "acc_z_mps2"];
    for row in table(folder, "imu.csv")?.columns(COLUMNS)? {
        let row = row?;
        match (vector(&row, 1)?, vector(&row, 4)?) {
            (Some(rate), Some(force)) => {
                recording.inertial.push(InertialSample { stamp: row.stamp(0)?, rate, force });
            }
            _ => drop_row(recording, "bad_value"),
        }
    }
    let repeated = in_order(&mut recording.inertial, |sample| sample.stamp);
    count(recording, "duplicate_stamp", repeated);
    if recording.inertial.len() < 2 {
        return Err(OpenError::bag(&folder.join("imu.csv"), "fewer than two samples"));
    }
    Ok(())
}

/// Adds to the rows that were left out for a reason.
pub fn count(recording: &mut SpaceRecording, reason: &str, rows: u64) {
    if rows > 0 {
        *recording.dropped.entry(reason.to_owned()).or_default() += rows;
    }
}

/// Frames from rows in any order; a landmark that a frame has twice counts once.
#[derive(Default)]
pub struct Frames(BTreeMap<Stamp, Vec<Seen>>);

impl Frames {
    /// Takes in what was seen at an instant; `false` where the frame has this landmark already, or too many.
    pub fn add(&mut self, stamp: Stamp, id: u64, at: Image) -> bool {
        let seen = self.0.entry(stamp).or_default();
        let is_new = seen.len() < MOST_SEEN && seen.iter().all(|other| other.id != id);
        if is_new {
            seen.push(Seen { id, at });
        }
        is_new
    }

    /// By increasing stamp.
    pub fn into_frames(self) -> Vec<Frame> {
        self.0.into_iter().map(|(stamp, seen)| Frame { stamp, seen }).collect()
    }
}

/// The landmarks of a table with these columns: identity, x, y, z.
pub fn read_landmarks(
    table: &Table,
    columns: &'static [&'static str],
    recording: &mut SpaceRecording,
) -> Result<(), OpenError> {
    for row in table.columns(columns)? {
        let row = row?;
        let id = u64::from(row.identity(0)?);
        match vector(&row, 1)? {
            Some(place) => {
                recording.landmarks.insert(id, place);
            }
            None => drop_row(recording, "bad_value"),
        }
    }
    Ok(())
}

/// Frames of a rectified pair of cameras, from a table with these columns: t_s, identity, u_l, v_l, u_r, v_r.
pub fn read_stereo(
    folder: &Path,
    name: &str,
    columns: &'static [&'static str],
    recording: &mut SpaceRecording,
) -> Result<(), OpenError> {
    let mut frames = Frames::default();
    for row in table(folder, name)?.columns(columns)? {
        let row = row?;
        let (stamp, id) = (row.stamp(0)?, u64::from(row.identity(1)?));
        match numbers::<4>(&row, 2)? {
            Some(pixels) if frames.add(stamp, id, Image::Stereo(Vector4::from(pixels))) => {}
            Some(_) => drop_row(recording, "repeated_row"),
            None => drop_row(recording, "bad_value"),
        }
    }
    recording.frames = frames.into_frames();
    Ok(())
}

/// The poses of `truth.csv`, of a frame in which the body is at `body`; velocities and biases of the accelerometer where
/// it has them. Rows whose `ok` is not 1 are left out. Where the file is missing, there is no truth.
pub fn read_truth(folder: &Path, body: &Se3, recording: &mut SpaceRecording) -> Result<(), OpenError> {
    const POSE: &[&str] = &["t_s", "p_x_m", "p_y_m", "p_z_m", "qx", "qy", "qz", "qw"];
    const POSE_OK: &[&str] = &["t_s", "p_x_m", "p_y_m", "p_z_m", "qx", "qy", "qz", "qw", "ok"];
    let Some(table) = optional_table(folder, "truth.csv")? else {
        recording.warnings.push("there is no truth.csv: nothing is compared".to_owned());
        return Ok(());
    };
    let has_ok = table.has(&["ok"]);
    for row in table.columns(if has_ok { POSE_OK } else { POSE })? {
        let row = row?;
        if has_ok && row.any_number(8)? != 1.0 {
            drop_row(recording, "truth_not_ok");
            continue;
        }
        let rotation = numbers::<4>(&row, 4)?.and_then(|q| rotation(&q));
        match (vector(&row, 1)?, rotation) {
            (Some(place), Some(rotation)) => {
                let pose = Se3::new(rotation, place) * *body;
                recording.truth.push(TruePose { stamp: row.stamp(0)?, pose, velocity: None, force_bias: None });
            }
            _ => drop_row(recording, "bad_truth"),
        }
    }
    let repeated = in_order(&mut recording.truth, |truth| truth.stamp);
    count(recording, "duplicate_truth", repeated);
    add_to_truth(&table, &["t_s", "v_x_mps", "v_y_mps", "v_z_mps"], recording, |truth, v| truth.velocity = Some(v))?;
    let biases = &["t_s", "ba_x_mps2", "ba_y_mps2", "ba_z_mps2"];
    add_to_truth(&table, biases, recording, |truth, b| truth.force_bias = Some(b))
}

/// Adds three more columns to the truth of their stamps, where the table has them.
fn add_to_truth(
    table: &Table,
    columns: &'static [&'static str],
    recording: &mut SpaceRecording,
    set: impl Fn(&mut TruePose, Vector3<f64>),
) -> Result<(), OpenError> {
    if !table.has(columns) {
        return Ok(());
    }
    for row in table.columns(columns)? {
        let row = row?;
        let stamp = row.stamp(0)?;
        let at = recording.truth.binary_search_by_key(&stamp, |truth| truth.stamp);
        let truth = at.ok().and_then(|at| recording.truth.get_mut(at));
        if let (Some(value), Some(truth)) = (vector(&row, 1)?, truth) {
            set(truth, value);
        }
    }
    Ok(())
}
