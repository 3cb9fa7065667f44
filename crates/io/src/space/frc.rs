//! Robots on a field with tags: corners in one camera, increments of the odometry, speeds of the chassis.
//!
//! A folder with `corners.csv` (t_capture_s, tag_id, u0_px … v3_px), `camera.yaml` (f and c, `tag_size_m`,
//! `T_robot_cam_fitted` with `truth_minus_capture_s`), `field_tags.csv` (pose of each tag, its x out of its face), and,
//! where they are known, `twist.csv` (increments), `chassis_speed.csv` and `truth.csv` (x, y, yaw). Tables may be
//! compressed (`.gz`). All stamps are brought to the clock of the truth: a frame is as much earlier than its capture as
//! the file states; the loop of the robot logs increments and speeds a cycle of 20 ms after the truth of the same motion,
//! and stamps them at its end.

use super::data::{Layout, SpaceRecording, TruePose, Twist};
use super::files::{self, Transform, drop_row, in_order, numbers, vector};
use super::jumps::keep_longest_run;
use super::tag_map::{FIELD_SIGMA, axes_of_field};
use super::tags::{CameraDistortion, StatedTag, TagCamera, TagFrames, TagSeen, are_corners, corners_of};
use crate::recording::OpenError;
use crate::yaml;
use lienav_lie::{LieGroup, Se3, So3};
use nalgebra::{Vector2, Vector3};
use serde::Deserialize;
use std::path::Path;

#[derive(Deserialize)]
struct CameraFile {
    #[serde(rename = "intrinsics_fx_fy_cx_cy_px")]
    intrinsics: [f64; 4],
    #[serde(default)]
    distortion_coeffs: Vec<f64>,
    tag_size_m: f64,
    #[serde(rename = "T_robot_cam_fitted")]
    on_robot: OnRobot,
}

#[derive(Deserialize)]
struct OnRobot {
    t_m: [f64; 3],
    q_xyzw_robot_from_optical: [f64; 4],
    #[serde(default)]
    truth_minus_capture_s: f64,
}

/// The loop of a robot takes so long, s.
const CYCLE_S: f64 = 0.02;

/// Reads a folder.
pub fn open(folder: &Path) -> Result<SpaceRecording, OpenError> {
    let name = files::name_of(folder);
    let mut recording = SpaceRecording { name, layout: Layout::Frc, ..SpaceRecording::default() };
    let (path, text) = files::text(folder, "camera.yaml")?;
    let wrong = |line: Option<usize>, problem: String| OpenError::Text {
        path: path.clone(),
        line: line.unwrap_or(1) as u64,
        problem,
    };
    let file: CameraFile =
        yaml::from_str(&text).map_err(|error: yaml::YamlError| wrong(error.line(), error.to_string()))?;
    let on_body = Transform { q_xyzw: file.on_robot.q_xyzw_robot_from_optical, t_m: file.on_robot.t_m }.pose();
    let on_body = on_body.ok_or_else(|| wrong(None, "T_robot_cam_fitted is not a pose".to_owned()))?;
    let [fx, fy, cx, cy] = file.intrinsics;
    let (focal, centre) = (Vector2::new(fx, fy), Vector2::new(cx, cy));
    let offset_s = file.on_robot.truth_minus_capture_s;
    let is_right = focal.iter().all(|f| (1.0..1e5).contains(f))
        && centre.iter().all(|c| c.abs() < 1e5)
        && (1e-3..100.0).contains(&file.tag_size_m)
        && offset_s.abs() < 10.0
        && file.distortion_coeffs.len() <= 5
        && file.distortion_coeffs.iter().all(|k| k.abs() < 100.0);
    if !is_right {
        return Err(wrong(None, "intrinsics, size or clock are not those of a camera and a tag".to_owned()));
    }
    let k = |n: usize| file.distortion_coeffs.get(n).copied().unwrap_or(0.0);
    let distortion = CameraDistortion::PlumbBob(std::array::from_fn(k));
    recording.tags.cameras = vec![TagCamera { name: "camera".to_owned(), focal, centre, distortion, on_body }];
    read_field(folder, &mut recording)?;
    read_corners(folder, offset_s, file.tag_size_m, &mut recording)?;
    read_twists(folder, &mut recording)?;
    read_truth(folder, &mut recording)?;
    Ok(recording)
}

fn read_field(folder: &Path, recording: &mut SpaceRecording) -> Result<(), OpenError> {
    let axes = axes_of_field();
    let table = files::table(folder, "field_tags.csv")?;
    for row in table.columns(&["tag_id", "x_m", "y_m", "z_m", "qx", "qy", "qz", "qw"])? {
        let row = row?;
        match (vector(&row, 1)?, numbers::<4>(&row, 4)?.and_then(|q| files::rotation(&q))) {
            (Some(place), Some(rotation)) => {
                let tag = StatedTag { pose: Se3::new(rotation * axes, place), sigma: FIELD_SIGMA };
                let id = u64::from(row.identity(0)?);
                recording.tags.known.insert(id, tag);
                recording.tags.true_tags.insert(id, tag.pose);
            }
            _ => drop_row(recording, "bad_known_tag"),
        }
    }
    Ok(())
}

fn read_corners(folder: &Path, offset_s: f64, size_m: f64, recording: &mut SpaceRecording) -> Result<(), OpenError> {
    const COLUMNS: &[&str] =
        &["t_capture_s", "tag_id", "u0_px", "v0_px", "u1_px", "v1_px", "u2_px", "v2_px", "u3_px", "v3_px"];
    let mut frames = TagFrames::default();
    for row in files::table(folder, "corners.csv")?.columns(COLUMNS)? {
        let row = row?;
        let (stamp, id) = (row.stamp(0)? + offset_s, u64::from(row.identity(1)?));
        let corners = numbers::<8>(&row, 2)?.map(corners_of);
        match corners.filter(are_corners) {
            Some(corners) if frames.add(stamp, TagSeen { camera: 0, id, size_m, corners }) => {}
            Some(_) => drop_row(recording, "too_many"),
            None => drop_row(recording, "bad_corners"),
        }
    }
    let (frames, repeated) = frames.into_frames();
    files::count(recording, "repeated_tag", repeated);
    recording.tags.frames = frames;
    Ok(())
}

/// Increments become twists that are held for the time in which they were made.
fn read_twists(folder: &Path, recording: &mut SpaceRecording) -> Result<(), OpenError> {
    if let Some(table) = files::optional_table(folder, "twist.csv")? {
        let mut rows = Vec::new();
        for row in table.columns(&["t_s", "dx_m", "dy_m", "dz_m", "rx_rad", "ry_rad", "rz_rad"])? {
            let row = row?;
            match (vector(&row, 1)?, vector(&row, 4)?) {
                (Some(shift), Some(turn)) => rows.push((row.stamp(0)? + -CYCLE_S, shift, turn)),
                _ => drop_row(recording, "bad_value"),
            }
        }
        let repeated = in_order(&mut rows, |row| row.0);
        files::count(recording, "duplicate_stamp", repeated);
        // What the first row says is since an instant that the file does not have.
        for pair in rows.windows(2) {
            let &[(stamp, ..), (end, shift, turn)] = pair else { continue };
            let seconds = end.since(stamp);
            recording.twists.push(Twist { stamp, velocity: shift / seconds, rate: turn / seconds });
        }
    }
    if let Some(table) = files::optional_table(folder, "chassis_speed.csv")? {
        for row in table.columns(&["t_s", "vx_mps", "vy_mps", "omega_degps"])? {
            let row = row?;
            match vector(&row, 1)? {
                Some(v) => {
                    let (velocity, rate) = (Vector3::new(v.x, v.y, 0.0), Vector3::z() * v.z.to_radians());
                    recording.chassis.push(Twist { stamp: row.stamp(0)? + -2.0 * CYCLE_S, velocity, rate });
                }
                None => drop_row(recording, "bad_value"),
            }
        }
        let repeated = in_order(&mut recording.chassis, |twist| twist.stamp);
        files::count(recording, "duplicate_stamp", repeated);
    }
    Ok(())
}

fn read_truth(folder: &Path, recording: &mut SpaceRecording) -> Result<(), OpenError> {
    let Some(table) = files::optional_table(folder, "truth.csv")? else {
        recording.warnings.push("there is no truth.csv: nothing is compared".to_owned());
        return Ok(());
    };
    for row in table.columns(&["t_s", "x_m", "y_m", "yaw_deg"])? {
        let row = row?;
        match vector(&row, 1)? {
            Some(v) => {
                let rotation = So3::exp(&(Vector3::z() * v.z.to_radians()));
                let pose = Se3::new(rotation, Vector3::new(v.x, v.y, 0.0));
                recording.truth.push(TruePose { stamp: row.stamp(0)?, pose, velocity: None, force_bias: None });
            }
            None => drop_row(recording, "bad_truth"),
        }
    }
    let repeated = in_order(&mut recording.truth, |truth| truth.stamp);
    files::count(recording, "duplicate_truth", repeated);
    hold(recording);
    let left_out = keep_longest_run(&mut recording.truth, FASTEST_MPS);
    if left_out > 0 {
        files::count(recording, "truth_before_or_after_a_reset", left_out);
        let sentence = "the simulator places the robot anew: only the longest run between resets is compared";
        recording.warnings.push(sentence.to_owned());
    }
    Ok(())
}

/// No robot on a field is faster, m/s.
const FASTEST_MPS: f64 = 10.0;

/// Rows are logged on change: before a row that comes late, the last pose is held.
fn hold(recording: &mut SpaceRecording) {
    const LATE: f64 = 2.5 * CYCLE_S;
    let end = recording.tags.frames.last().map(|frame| frame.stamp);
    let mut all = Vec::with_capacity(recording.truth.len());
    for (k, truth) in recording.truth.iter().enumerate() {
        all.push(*truth);
        let Some(next) = recording.truth.get(k + 1).map(|next| next.stamp).or(end) else { continue };
        let mut at = truth.stamp + CYCLE_S;
        // No log of a robot is longer than a day.
        if next.since(truth.stamp) > 86_400.0 {
            continue;
        }
        while next.since(truth.stamp) > LATE && next.since(at) > 0.5 * CYCLE_S {
            all.push(TruePose { stamp: at, ..*truth });
            at = at + CYCLE_S;
        }
    }
    recording.truth = all;
}
