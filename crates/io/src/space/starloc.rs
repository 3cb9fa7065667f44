//! STAR-loc, an inertial sensor and centres of tags in a rectified pair of cameras, in a hand.
//!
//! A folder with `imu.csv`, `tags.csv` (t_s, tag_id, pixels of both cameras), `calib.json` (`intrinsics`, `T_cam_imu`,
//! `T_rig_imu`, `gravity_in_truth_frame_mps2`), `truth.csv` (pose of the rig; `ok` is 0 where it is not to be used) and
//! `landmarks_fixed.csv` or `landmarks.csv` (places of the tags). Tables may be compressed (`.gz`); truth and landmarks
//! may be missing.

use super::data::{Camera, Layout, SpaceRecording};
use super::files::{self, Transform};
use crate::recording::OpenError;
use lienav_lie::{LieGroup, Se3};
use nalgebra::{Vector2, Vector3};
use serde::Deserialize;
use std::path::Path;

#[derive(Deserialize)]
struct Calibration {
    intrinsics: Intrinsics,
    #[serde(rename = "T_cam_imu")]
    camera_from_imu: Transform,
    #[serde(rename = "T_rig_imu")]
    rig_from_imu: Option<Transform>,
    gravity_in_truth_frame_mps2: Option<[f64; 3]>,
}

#[derive(Deserialize)]
struct Intrinsics {
    fu_px: f64,
    fv_px: f64,
    cu_px: f64,
    cv_px: f64,
    baseline_m: f64,
}

const TAGS: &[&str] = &["t_s", "tag_id", "left_u_px", "left_v_px", "right_u_px", "right_v_px"];

/// Reads a folder.
pub fn open(folder: &Path) -> Result<SpaceRecording, OpenError> {
    let name = files::name_of(folder);
    let mut recording = SpaceRecording { name, layout: Layout::Starloc, ..SpaceRecording::default() };
    let imu_on_rig = read_calibration(folder, &mut recording)?;
    files::read_inertial(folder, &mut recording)?;
    files::read_stereo(folder, "tags.csv", TAGS, &mut recording)?;
    files::read_truth(folder, &imu_on_rig, &mut recording)?;
    for name in ["landmarks_fixed.csv", "landmarks.csv"] {
        if let Some(table) = files::optional_table(folder, name)? {
            files::read_landmarks(&table, &["tag_id", "x_m", "y_m", "z_m"], &mut recording)?;
            break;
        }
    }
    Ok(recording)
}

/// The cameras; returns where the inertial sensor is on the rig.
fn read_calibration(folder: &Path, recording: &mut SpaceRecording) -> Result<Se3, OpenError> {
    let (path, text) = files::text(folder, "calib.json")?;
    let wrong = |line: usize, problem: String| OpenError::Text { path: path.clone(), line: line as u64, problem };
    let calibration: Calibration = serde_json::from_str(&text)
        .map_err(|error| wrong(error.line(), format!("column {}: {error}", error.column())))?;
    let Intrinsics { fu_px, fv_px, cu_px, cv_px, baseline_m } = calibration.intrinsics;
    let is_focal = [fu_px, fv_px].iter().all(|f| (1.0..1e5).contains(f)) && (1e-3..10.0).contains(&baseline_m);
    if !is_focal {
        let found = format!("fu_px, fv_px, baseline_m are {fu_px}, {fv_px}, {baseline_m}");
        return Err(wrong(1, format!("intrinsics: {found}; expected 1 to 1e5 px and 0.001 to 10 m")));
    }
    let camera_from_imu = calibration.camera_from_imu.pose();
    let on_body = camera_from_imu.ok_or_else(|| wrong(1, "T_cam_imu is not a pose".to_owned()))?.inverse();
    let (focal, centre) = (Vector2::new(fu_px, fv_px), Vector2::new(cu_px, cv_px));
    recording.camera = Camera { focal, centre, baseline_m, on_body };
    recording.gravity = calibration.gravity_in_truth_frame_mps2.map(Vector3::from);
    match calibration.rig_from_imu {
        Some(transform) => transform.pose().ok_or_else(|| wrong(1, "T_rig_imu is not a pose".to_owned())),
        None => {
            recording.warnings.push("calib.json has no T_rig_imu: the truth is taken as that of the sensor".to_owned());
            Ok(Se3::identity())
        }
    }
}
