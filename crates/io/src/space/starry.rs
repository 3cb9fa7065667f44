//! Starry Night: rate and velocity of a body, and points in a rectified pair of cameras; no accelerometer.
//!
//! A folder with `odometry.csv` (t_s, velocity, rate), `stereo.csv` (t_s, landmark_id, pixels of both cameras),
//! `sensor.yaml` (`camera`: f, c, `baseline_m`, `T_body_cam`; `noise_stated`: variances), and, where they are known,
//! `truth.csv` (pose of the body) and `landmarks.csv`. Tables may be compressed (`.gz`).

use super::data::{Camera, Layout, SpaceRecording, Twist};
use super::files::{self, Transform, drop_row, in_order, vector};
use crate::recording::OpenError;
use crate::yaml;
use lienav_lie::Se3;
use nalgebra::{Vector2, Vector3, Vector4};
use serde::Deserialize;
use std::path::Path;

#[derive(Deserialize)]
struct SensorFile {
    camera: CameraEntry,
    #[serde(default)]
    noise_stated: NoiseEntry,
}

#[derive(Deserialize)]
struct CameraEntry {
    fu_px: f64,
    fv_px: f64,
    cu_px: f64,
    cv_px: f64,
    baseline_m: f64,
    #[serde(rename = "T_body_cam")]
    body_from_camera: Transform,
}

#[derive(Default, Deserialize)]
struct NoiseEntry {
    vel_mps2: Option<[f64; 3]>,
    gyr_radps2: Option<[f64; 3]>,
    pixel2_ul_vl_ur_vr: Option<[f64; 4]>,
}

const POINTS: &[&str] = &["t_s", "landmark_id", "left_u_px", "left_v_px", "right_u_px", "right_v_px"];

/// Reads a folder.
pub fn open(folder: &Path) -> Result<SpaceRecording, OpenError> {
    let name = files::name_of(folder);
    let mut recording = SpaceRecording { name, layout: Layout::Starry, ..SpaceRecording::default() };
    read_sensor(folder, &mut recording)?;
    read_odometry(folder, &mut recording)?;
    files::read_stereo(folder, "stereo.csv", POINTS, &mut recording)?;
    files::read_truth(folder, &Se3::identity(), &mut recording)?;
    if let Some(table) = files::optional_table(folder, "landmarks.csv")? {
        files::read_landmarks(&table, &["landmark_id", "x_m", "y_m", "z_m"], &mut recording)?;
    }
    Ok(recording)
}

fn read_sensor(folder: &Path, recording: &mut SpaceRecording) -> Result<(), OpenError> {
    let (path, text) = files::text(folder, "sensor.yaml")?;
    let wrong = |line: Option<usize>, problem: String| OpenError::Text {
        path: path.clone(),
        line: line.unwrap_or(1) as u64,
        problem,
    };
    let SensorFile { camera, noise_stated } =
        yaml::from_str(&text).map_err(|error: yaml::YamlError| wrong(error.line(), error.to_string()))?;
    let on_body = camera.body_from_camera.pose();
    let on_body = on_body.ok_or_else(|| wrong(None, "camera: T_body_cam is not a pose".to_owned()))?;
    let focal = Vector2::new(camera.fu_px, camera.fv_px);
    if !(focal.iter().all(|f| (1.0..1e5).contains(f)) && (1e-3..10.0).contains(&camera.baseline_m)) {
        let found = format!("fu_px, fv_px, baseline_m are {}, {}, {}", focal.x, focal.y, camera.baseline_m);
        return Err(wrong(None, format!("camera: {found}; expected 1 to 1e5 px and 0.001 to 10 m")));
    }
    let centre = Vector2::new(camera.cu_px, camera.cv_px);
    recording.camera = Camera { focal, centre, baseline_m: camera.baseline_m, on_body };
    let NoiseEntry { vel_mps2, gyr_radps2, pixel2_ul_vl_ur_vr } = noise_stated;
    let is_variance = |all: &[f64]| all.iter().all(|x| (1e-12..1e9).contains(x));
    let named = [("vel_mps2", vel_mps2.as_ref().map(|v| &v[..])), ("gyr_radps2", gyr_radps2.as_ref().map(|v| &v[..]))];
    let pixels = [("pixel2_ul_vl_ur_vr", pixel2_ul_vl_ur_vr.as_ref().map(|v| &v[..]))];
    for (name, variances) in named.into_iter().chain(pixels) {
        if variances.is_some_and(|variances| !is_variance(variances)) {
            return Err(wrong(None, format!("noise_stated: {name} has a value that is not a variance")));
        }
    }
    recording.stated.velocity = vel_mps2.map(Vector3::from);
    recording.stated.rate = gyr_radps2.map(Vector3::from);
    recording.stated.pixels = pixel2_ul_vl_ur_vr.map(Vector4::from);
    Ok(())
}

fn read_odometry(folder: &Path, recording: &mut SpaceRecording) -> Result<(), OpenError> {
    const COLUMNS: &[&str] =
        &["t_s", "vel_x_mps", "vel_y_mps", "vel_z_mps", "gyr_x_radps", "gyr_y_radps", "gyr_z_radps"];
    for row in files::table(folder, "odometry.csv")?.columns(COLUMNS)? {
        let row = row?;
        match (vector(&row, 1)?, vector(&row, 4)?) {
            (Some(velocity), Some(rate)) => recording.twists.push(Twist { stamp: row.stamp(0)?, velocity, rate }),
            _ => drop_row(recording, "bad_value"),
        }
    }
    let repeated = in_order(&mut recording.twists, |twist| twist.stamp);
    files::count(recording, "duplicate_stamp", repeated);
    if recording.twists.len() < 2 {
        return Err(OpenError::bag(&folder.join("odometry.csv"), "fewer than two rows"));
    }
    Ok(())
}
