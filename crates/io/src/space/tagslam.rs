//! TagSLAM: corners of tags in one or several cameras, odometry where there is any, and the poses of a batch estimate.
//!
//! A folder with `corners.csv` (t_s, camera, tag_id, hamming, u0_px … v3_px), `cameras.yaml` (by name: f and c,
//! distortion, `T_body_cam_given`, else `T_body_cam_reference`), `tags.yaml` (`default_sizes_m`, `known_tags` with σ,
//! `ignore_tags`, `boards`, `tag_id_remap`, `T_body_odom`), and, where they are known, `odometry.csv` (poses of the body
//! of the odometry) and `reference.csv` (poses of the body with covariance). Tables may be compressed (`.gz`).

use super::data::{Layout, SpaceRecording, TruePose, Twist};
use super::files::{self, Transform, drop_row, in_order, numbers, vector};
use super::jumps::leave_out_jumps;
use super::tag_map::TagsFile;
use super::tags::{CameraDistortion, TagCamera, TagFrames, TagSeen, are_corners, corners_of};
use crate::recording::OpenError;
use crate::trajectory::matrix;
use crate::yaml;
use lienav_base::stamp::Stamp;
use lienav_lie::se3::split;
use lienav_lie::{LieGroup, Se3};
use nalgebra::{Matrix6, Vector2};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;
use std::path::Path;

#[derive(Deserialize)]
struct CameraEntry {
    distortion_model: String,
    #[serde(rename = "intrinsics_fx_fy_cx_cy_px")]
    intrinsics: [f64; 4],
    #[serde(default)]
    distortion_coeffs: Vec<f64>,
    #[serde(rename = "T_body_cam_given")]
    given: Option<Transform>,
    #[serde(rename = "T_body_cam_reference")]
    reference: Option<Transform>,
}

/// Reads a folder.
pub fn open(folder: &Path) -> Result<SpaceRecording, OpenError> {
    let name = files::name_of(folder);
    let mut recording = SpaceRecording { name, layout: Layout::Tagslam, ..SpaceRecording::default() };
    let file: TagsFile = read_yaml(folder, "tags.yaml")?;
    recording.tags.cameras = read_cameras(folder)?;
    recording.tags.pixel_sigma = file.pixel_noise.filter(|sigma| (1e-3..1e3).contains(sigma));
    let map = file.map();
    (recording.tags.known, recording.tags.on_board) = (map.known, map.on_board);
    files::count(&mut recording, "bad_known_tag", map.refused);
    read_corners(folder, &file, &mut recording)?;
    read_odometry(folder, &file, &mut recording)?;
    read_reference(folder, &mut recording)?;
    read_reference_tags(folder, &mut recording)?;
    Ok(recording)
}

fn read_yaml<T: DeserializeOwned>(folder: &Path, name: &str) -> Result<T, OpenError> {
    let (path, text) = files::text(folder, name)?;
    yaml::from_str(&text).map_err(|error: yaml::YamlError| OpenError::Text {
        path,
        line: error.line().unwrap_or(1) as u64,
        problem: error.to_string(),
    })
}

fn read_cameras(folder: &Path) -> Result<Vec<TagCamera>, OpenError> {
    let entries: BTreeMap<String, CameraEntry> = read_yaml(folder, "cameras.yaml")?;
    let camera = |(name, entry): (String, CameraEntry)| {
        let wrong = |problem: &str| OpenError::Text {
            path: folder.join("cameras.yaml"),
            line: 1,
            problem: format!("{name}: {problem}"),
        };
        let on_body = entry.given.or(entry.reference).ok_or_else(|| wrong("there is no T_body_cam"))?;
        let on_body = on_body.pose().ok_or_else(|| wrong("T_body_cam is not a pose"))?;
        let [fx, fy, cx, cy] = entry.intrinsics;
        let (focal, centre) = (Vector2::new(fx, fy), Vector2::new(cx, cy));
        if !(focal.iter().all(|f| (1.0..1e5).contains(f)) && centre.iter().all(|c| c.abs() < 1e5)) {
            return Err(wrong("intrinsics_fx_fy_cx_cy_px: expected focal lengths of 1 to 1e5 px"));
        }
        let k = &entry.distortion_coeffs;
        if k.len() > 5 || !k.iter().all(|k| k.abs() < 100.0) {
            return Err(wrong("distortion_coeffs: expected at most five numbers"));
        }
        let number = |n: usize| k.get(n).copied().unwrap_or(0.0);
        let distortion = match entry.distortion_model.as_str() {
            "equidistant" | "fisheye" => CameraDistortion::Equidistant(std::array::from_fn(number)),
            "radtan" | "plumb_bob" => CameraDistortion::PlumbBob(std::array::from_fn(number)),
            other => return Err(wrong(&format!("distortion_model is '{other}'; expected equidistant or radtan"))),
        };
        Ok(TagCamera { name: name.clone(), focal, centre, distortion, on_body })
    };
    entries.into_iter().map(camera).collect()
}

fn read_corners(folder: &Path, file: &TagsFile, recording: &mut SpaceRecording) -> Result<(), OpenError> {
    const COLUMNS: &[&str] =
        &["t_s", "camera", "tag_id", "hamming", "u0_px", "v0_px", "u1_px", "v1_px", "u2_px", "v2_px", "u3_px", "v3_px"];
    let mut frames = TagFrames::default();
    for row in files::table(folder, "corners.csv")?.columns(COLUMNS)? {
        let row = row?;
        let (stamp, id) = (row.stamp(0)?, row.identity(2)?);
        let camera = recording.tags.cameras.iter().position(|camera| camera.name == row.word(1));
        let id = file.identity(id, stamp);
        let corners = numbers::<8>(&row, 4)?.map(corners_of);
        let problem = match (camera, corners.filter(are_corners), file.size(id)) {
            _ if file.ignore_tags.contains(&id) => Some("ignored_tag"),
            _ if file.max_hamming_distance.is_some_and(|most| row.identity(3).is_ok_and(|found| found > most)) => {
                Some("too_many_wrong_bits")
            }
            (None, ..) => Some("unknown_camera"),
            (_, None, _) => Some("bad_corners"),
            (_, _, None) => Some("unknown_size"),
            (Some(camera), Some(corners), Some(size_m)) => {
                let is_kept = frames.add(stamp, TagSeen { camera, id: u64::from(id), size_m, corners });
                (!is_kept).then_some("too_many")
            }
        };
        if let Some(reason) = problem {
            drop_row(recording, reason);
        }
    }
    let (frames, repeated) = frames.into_frames();
    files::count(recording, "repeated_tag", repeated);
    recording.tags.frames = frames;
    Ok(())
}

/// Poses of the odometry as twists of the body between them.
fn read_odometry(folder: &Path, file: &TagsFile, recording: &mut SpaceRecording) -> Result<(), OpenError> {
    const COLUMNS: &[&str] = &["t_s", "p_x_m", "p_y_m", "p_z_m", "qx", "qy", "qz", "qw"];
    let Some(table) = files::optional_table(folder, "odometry.csv")? else { return Ok(()) };
    let on_body = file.body_from_odometry.as_ref().and_then(Transform::pose).unwrap_or_default();
    let mut poses: Vec<(Stamp, Se3)> = Vec::new();
    for row in table.columns(COLUMNS)? {
        let row = row?;
        match (vector(&row, 1)?, numbers::<4>(&row, 4)?.and_then(|q| files::rotation(&q))) {
            (Some(place), Some(rotation)) => {
                poses.push((row.stamp(0)?, Se3::new(rotation, place) * on_body.inverse()));
            }
            _ => drop_row(recording, "bad_value"),
        }
    }
    let repeated = in_order(&mut poses, |pose| pose.0);
    files::count(recording, "duplicate_stamp", repeated);
    for pair in poses.windows(2) {
        let [from, to] = pair else { continue };
        let (turn, shift) = split(&(from.1.inverse() * to.1).log());
        let seconds = to.0.since(from.0);
        recording.twists.push(Twist { stamp: from.0, velocity: shift / seconds, rate: turn / seconds });
    }
    Ok(())
}

/// Poses with their covariance. Whatever the names of its columns say, it is that of TagSLAM's optimizer: a rotation of
/// the body, then a shift, both along the axes of the body. By the names,
/// test_13 would know places to 0.6 mm and rotations to 2.4 mrad, which is more than that at the distance of a tag, and
/// test_11 rotations to 10°.
fn read_reference(folder: &Path, recording: &mut SpaceRecording) -> Result<(), OpenError> {
    const COLUMNS: &[&str] = &[
        "t_s", "p_x_m", "p_y_m", "p_z_m", "qx", "qy", "qz", "qw", "cov_xx", "cov_xy", "cov_xz", "cov_xrx", "cov_xry",
        "cov_xrz", "cov_yy", "cov_yz", "cov_yrx", "cov_yry", "cov_yrz", "cov_zz", "cov_zrx", "cov_zry", "cov_zrz",
        "cov_rxrx", "cov_rxry", "cov_rxrz", "cov_ryry", "cov_ryrz", "cov_rzrz",
    ];
    let Some(table) = files::optional_table(folder, "reference.csv")? else {
        recording.warnings.push("there is no reference.csv: nothing is compared".to_owned());
        return Ok(());
    };
    for row in table.columns(COLUMNS)? {
        let row = row?;
        let stamp = row.stamp(0)?;
        let rotation = numbers::<4>(&row, 4)?.and_then(|q| files::rotation(&q));
        let (Some(place), Some(rotation)) = (vector(&row, 1)?, rotation) else {
            drop_row(recording, "bad_truth");
            continue;
        };
        recording.truth.push(TruePose { stamp, pose: Se3::new(rotation, place), velocity: None, force_bias: None });
        if let Some(upper) = numbers::<21>(&row, 8)? {
            let own = matrix(&upper);
            let mut turn = Matrix6::zeros();
            turn.fixed_view_mut::<3, 3>(0, 3).copy_from(rotation.matrix());
            turn.fixed_view_mut::<3, 3>(3, 0).copy_from(rotation.matrix());
            recording.tags.truth_covariance.insert(stamp, turn * own * turn.transpose());
        }
    }
    let repeated = in_order(&mut recording.truth, |truth| truth.stamp);
    files::count(recording, "duplicate_truth", repeated);
    let left_out = leave_out_jumps(&mut recording.truth, FASTEST_MPS);
    files::count(recording, "truth_jumps", left_out);
    Ok(())
}

/// What is carried by a person or a small drone in a building is not faster, m/s: a batch estimate that is has taken the
/// wrong pose of a single tag.
const FASTEST_MPS: f64 = 3.0;

fn read_reference_tags(folder: &Path, recording: &mut SpaceRecording) -> Result<(), OpenError> {
    const COLUMNS: &[&str] = &["tag_id", "p_x_m", "p_y_m", "p_z_m", "qx", "qy", "qz", "qw"];
    let Some(table) = files::optional_table(folder, "reference_tags.csv")? else { return Ok(()) };
    for row in table.columns(COLUMNS)? {
        let row = row?;
        match (vector(&row, 1)?, numbers::<4>(&row, 4)?.and_then(|q| files::rotation(&q))) {
            (Some(place), Some(rotation)) => {
                let pose = Se3::new(rotation, place);
                recording.tags.true_tags.insert(u64::from(row.identity(0)?), pose);
            }
            _ => drop_row(recording, "bad_true_tag"),
        }
    }
    Ok(())
}
