//! Trajectories in text files.

use super::blocks::{self, LineProblem};
use super::columns::{Column, Layout, cells};
use super::convention::Convention;
use super::data::{BAD_ORIENTATION, MOST_POSES, Trajectory, Upper};
use crate::datasets::stamp_of;
use crate::recording::OpenError;
use lienav_base::stamp::Stamp;
use nalgebra::{Isometry3, Matrix3, Quaternion, Rotation3, UnitQuaternion, Vector3};
use std::path::Path;

/// How far the square of a quaternion's length may be from 1, as for tf2.
const SQUARE_TOLERANCE: f64 = 0.01;
/// How far R Rᵀ of a written matrix may be from 1.
const ROTATION_TOLERANCE: f64 = 0.01;
/// Stamps are not greater, s: beyond, they are nanoseconds.
const MOST_SECONDS: f64 = 9e9;

/// Angles beyond a turn are those of a heading that goes on counting, or degrees, rad.
const MOST_TURN: f64 = 6.3;

/// The poses of one block.
#[derive(Default)]
struct Part {
    stamps: Vec<Stamp>,
    poses: Vec<Isometry3<f64>>,
    covariances: Vec<Upper>,
    bad_orientation: u64,
    /// The greatest angle, rad.
    largest_angle: f64,
}

/// Reads a trajectory; `times` has the stamps of a KITTI file.
///
/// # Errors
/// The file cannot be read, or a line of it is not like the first: with its number and what was expected.
pub fn read(
    path: &Path,
    times: Option<&Path>,
    convention: Option<Convention>,
    progress: &mut dyn FnMut(u64),
) -> Result<Trajectory, OpenError> {
    let layout = Layout::of(&blocks::head(path)?).map_err(|problem| OpenError::bag(path, problem))?;
    if layout.needs_times() && times.is_none() {
        let problem = "a file of KITTI poses has no stamps; name the file that has them: --times FILE";
        return Err(OpenError::bag(path, problem));
    }
    let mut whole = Part::default();
    let take = |part: Part| {
        whole.stamps.extend(part.stamps);
        whole.poses.extend(part.poses);
        whole.covariances.extend(part.covariances);
        whole.bad_orientation += part.bad_orientation;
        whole.largest_angle = whole.largest_angle.max(part.largest_angle);
        if whole.poses.len() > MOST_POSES { Err(too_many()) } else { Ok(()) }
    };
    blocks::each(path, |text| parse(text, &layout), take, progress)?;
    if layout.needs_times() {
        whole.stamps = read_times(times.unwrap_or(path))?;
        if whole.stamps.len() != whole.poses.len() {
            let (poses, stamps) = (whole.poses.len(), whole.stamps.len());
            let problem = format!("it has {poses} poses, and its file of stamps {stamps}; both need as many lines");
            return Err(OpenError::bag(path, problem));
        }
    }
    let mut trajectory = Trajectory::new("", whole.stamps, whole.poses, whole.covariances);
    if whole.bad_orientation > 0 {
        trajectory.dropped.insert(BAD_ORIENTATION, whole.bad_orientation);
    }
    if whole.largest_angle > MOST_TURN {
        trajectory.warnings.push(format!(
            "angles reach {:.1} rad, {:.1} turns: if they are in degrees, write radians",
            whole.largest_angle,
            whole.largest_angle / std::f64::consts::TAU
        ));
    }
    let stated =
        convention.map(|convention| if layout.is_named { convention.of_names() } else { convention.of_array() });
    trajectory.meaning = stated.or(layout.meaning).or(trajectory.meaning);
    trajectory.is_named = layout.is_named;
    Ok(trajectory)
}

/// What is said of a file that is too long.
pub fn too_many() -> String {
    format!("it has more than {MOST_POSES} poses; judge a part of it")
}

fn read_times(path: &Path) -> Result<Vec<Stamp>, OpenError> {
    let parse = |text: &str| {
        let mut stamps = Vec::new();
        for (at, line) in (1..).zip(text.lines()) {
            let line = line.trim();
            if !line.is_empty() && !line.starts_with(['#', '%']) {
                let problem = || LineProblem { line: at, problem: format!("'{}' is no stamp, s", shown(line)) };
                stamps.push(stamp_of(line).ok_or_else(problem)?);
            }
        }
        Ok(stamps)
    };
    let mut all = Vec::new();
    let take = |part: Vec<Stamp>| {
        all.extend(part);
        if all.len() > MOST_POSES { Err(too_many()) } else { Ok(()) }
    };
    blocks::each(path, parse, take, &mut |_| ())?;
    Ok(all)
}

fn parse(text: &str, layout: &Layout) -> Result<Part, LineProblem> {
    let mut part = Part::default();
    let has_covariance = layout.has_covariance();
    for (at, line) in (1..).zip(text.lines()) {
        let line = line.trim_start_matches('\u{feff}').trim();
        if line.is_empty() || line.starts_with(['#', '%']) || layout.header.as_deref() == Some(line) {
            continue;
        }
        let row = Row::parse(line, layout).map_err(|problem| LineProblem { line: at, problem })?;
        let Some(pose) = row.pose() else {
            part.bad_orientation += 1;
            continue;
        };
        part.largest_angle = part.largest_angle.max(row.angles.amax());
        part.stamps.push(row.stamp);
        part.poses.push(pose);
        if has_covariance {
            part.covariances.push(row.covariance);
        }
    }
    Ok(part)
}

/// The numbers of a line by what they are.
struct Row {
    stamp: Stamp,
    position: Vector3<f64>,
    quaternion: Option<[f64; 4]>,
    angles: Vector3<f64>,
    covariance: Upper,
    matrix: Option<[f64; 12]>,
}

impl Row {
    fn parse(line: &str, layout: &Layout) -> Result<Self, String> {
        let mut row = Self {
            stamp: Stamp::default(),
            position: Vector3::zeros(),
            quaternion: None,
            angles: Vector3::zeros(),
            covariance: [0.0; 21],
            matrix: None,
        };
        let mut cells = cells(line, layout.separator);
        for (at, column) in layout.columns.iter().enumerate() {
            let Some(cell) = cells.next() else {
                return Err(format!("it has {at} columns; expected {}", layout.columns.len()));
            };
            let number_of = match *column {
                Column::Other => None,
                Column::Seconds => {
                    row.stamp = seconds(cell)?;
                    None
                }
                Column::Nanoseconds => {
                    let nanos = cell.parse().map_err(|_| format!("'{}' is no stamp, ns", shown(cell)))?;
                    row.stamp = Stamp::from_nanos(nanos);
                    None
                }
                Column::Position(k) => row.position.get_mut(k),
                Column::Quaternion(k) => row.quaternion.get_or_insert([0.0; 4]).get_mut(k),
                Column::Angle(k) => row.angles.get_mut(k),
                Column::Covariance(k) => row.covariance.get_mut(k),
                Column::Matrix(k) => row.matrix.get_or_insert([0.0; 12]).get_mut(k),
            };
            if let Some(number_of) = number_of {
                *number_of = number(cell, at)?;
            }
        }
        Ok(row)
    }

    /// The pose; `None` where its orientation is invalid. One that is not finite is left to the trajectory.
    fn pose(&self) -> Option<Isometry3<f64>> {
        if let Some(m) = &self.matrix {
            let r = Matrix3::new(m[0], m[1], m[2], m[4], m[5], m[6], m[8], m[9], m[10]);
            let is_rotation = (r * r.transpose() - Matrix3::identity()).amax() < ROTATION_TOLERANCE;
            let rotation = UnitQuaternion::from_rotation_matrix(&Rotation3::from_matrix_unchecked(r));
            let position = Vector3::new(m[3], m[7], m[11]);
            // Its stamp is elsewhere: the place in the file must stay, and what is not finite is left out later.
            let is_one = is_rotation && r.determinant() > 0.0;
            return Some(Isometry3::from_parts((position * if is_one { 1.0 } else { f64::NAN }).into(), rotation));
        }
        let rotation = match self.quaternion {
            Some([x, y, z, w]) => unit(x, y, z, w)?,
            None => UnitQuaternion::from_euler_angles(self.angles.x, self.angles.y, self.angles.z),
        };
        Some(Isometry3::from_parts(self.position.into(), rotation))
    }
}

/// A rotation of a quaternion whose length is 1 but for rounding; one that is not finite passes, and is left out later.
pub fn unit(x: f64, y: f64, z: f64, w: f64) -> Option<UnitQuaternion<f64>> {
    let q = Quaternion::new(w, x, y, z);
    let square = q.norm_squared();
    if square.is_nan() {
        return Some(UnitQuaternion::new_unchecked(q));
    }
    ((square - 1.0).abs() < SQUARE_TOLERANCE).then(|| UnitQuaternion::new_normalize(q))
}

/// A number; an empty cell is not-a-number.
fn number(cell: &str, at: usize) -> Result<f64, String> {
    if cell.is_empty() {
        return Ok(f64::NAN);
    }
    cell.parse().map_err(|_| format!("column {} is '{}'; expected a number", at + 1, shown(cell)))
}

fn seconds(cell: &str) -> Result<Stamp, String> {
    let Some(stamp) = stamp_of(cell) else {
        let is_large = cell.parse::<f64>().is_ok_and(|seconds| seconds.abs() >= MOST_SECONDS);
        let remedy = if is_large { "; nanoseconds need a header with stamp_ns" } else { "" };
        return Err(format!("the stamp is '{}'; expected seconds{remedy}", shown(cell)));
    };
    Ok(stamp)
}

/// So much of a cell that a sentence stays one.
fn shown(cell: &str) -> String {
    cell.chars().take(40).collect()
}
