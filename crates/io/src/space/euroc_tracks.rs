//! EuRoC, an inertial sensor and tracks of points in one camera.
//!
//! A folder with `imu.csv` (t_s, rate, specific force), `tracks.csv` (t_s, feature_id, x_norm, y_norm: x/z and y/z),
//! `sensor.yaml` (`camera`: f, c, `T_body_cam`, `time_offset_s`) and, where truth is known, `truth.csv` (pose of the
//! sensor; velocity and biases where it has them). Tables may be compressed (`.gz`).

use super::data::{Camera, Image, Layout, SpaceRecording};
use super::files::{self, Frames, Transform, drop_row, numbers};
use crate::recording::OpenError;
use crate::yaml;
use lienav_lie::Se3;
use nalgebra::Vector2;
use serde::Deserialize;
use std::path::Path;

#[derive(Deserialize)]
struct SensorFile {
    camera: CameraEntry,
}

#[derive(Deserialize)]
struct CameraEntry {
    fx_px: f64,
    fy_px: f64,
    #[serde(default)]
    cx_px: f64,
    #[serde(default)]
    cy_px: f64,
    #[serde(rename = "T_body_cam")]
    body_from_camera: Transform,
    /// t_imu = t_cam + this, s.
    #[serde(default)]
    time_offset_s: f64,
}

/// Reads a folder.
pub fn open(folder: &Path) -> Result<SpaceRecording, OpenError> {
    let name = files::name_of(folder);
    let mut recording = SpaceRecording { name, layout: Layout::EurocTracks, ..SpaceRecording::default() };
    let offset_s = read_camera(folder, &mut recording)?;
    files::read_inertial(folder, &mut recording)?;
    read_tracks(folder, offset_s, &mut recording)?;
    files::read_truth(folder, &Se3::identity(), &mut recording)?;
    Ok(recording)
}

/// The camera; returns its time offset.
fn read_camera(folder: &Path, recording: &mut SpaceRecording) -> Result<f64, OpenError> {
    let (path, text) = files::text(folder, "sensor.yaml")?;
    let wrong = |line: Option<usize>, problem: String| OpenError::Text {
        path: path.clone(),
        line: line.unwrap_or(1) as u64,
        problem,
    };
    let SensorFile { camera } =
        yaml::from_str(&text).map_err(|error: yaml::YamlError| wrong(error.line(), error.to_string()))?;
    let on_body = camera.body_from_camera.pose();
    let on_body = on_body.ok_or_else(|| wrong(None, "camera: T_body_cam is not a pose".to_owned()))?;
    let focal = Vector2::new(camera.fx_px, camera.fy_px);
    if !focal.iter().all(|f| (1.0..1e5).contains(f)) {
        return Err(wrong(None, format!("camera: fx_px, fy_px are {}, {}; expected 1 to 1e5", focal.x, focal.y)));
    }
    if !(-10.0..=10.0).contains(&camera.time_offset_s) {
        return Err(wrong(None, format!("camera: time_offset_s is {}; expected -10 to 10", camera.time_offset_s)));
    }
    let centre = Vector2::new(camera.cx_px, camera.cy_px);
    recording.camera = Camera { focal, centre, baseline_m: 0.0, on_body };
    Ok(camera.time_offset_s)
}

fn read_tracks(folder: &Path, offset_s: f64, recording: &mut SpaceRecording) -> Result<(), OpenError> {
    let mut frames = Frames::default();
    for row in files::table(folder, "tracks.csv")?.columns(&["t_s", "feature_id", "x_norm", "y_norm"])? {
        let row = row?;
        let (stamp, id) = (row.stamp(0)? + offset_s, u64::from(row.identity(1)?));
        match numbers::<2>(&row, 2)?.filter(|[x, y]| x.abs().max(y.abs()) < 100.0) {
            Some([x, y]) if frames.add(stamp, id, Image::Normalized(Vector2::new(x, y))) => {}
            Some(_) => drop_row(recording, "repeated_row"),
            None => drop_row(recording, "bad_value"),
        }
    }
    recording.frames = frames.into_frames();
    Ok(())
}
