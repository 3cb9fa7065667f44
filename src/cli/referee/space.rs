//! Recordings in space: an inertial sensor or velocities, pixels of landmarks with identity, and our filters over them.

use super::super::failure::Failure;
use super::super::space::read;
use super::files::{self, Numbers};
use lienav_base::stamp::Stamp;
use lienav_eval::judge::steps::TruthNoise;
use lienav_eval::space::run::{Options, SpaceRun, run};
use lienav_eval::space::settings::Settings;
use lienav_eval::space::truth::Truth;
use lienav_io::files::read_text;
use lienav_io::space::data::{Image, Layout, SpaceRecording};
use lienav_lie::{LieGroup, Se3, So3};
use nalgebra::{UnitQuaternion, Vector3};
use serde_json::json;
use std::path::{Path, PathBuf};

/// A recording in space.
pub(super) struct SpaceInput {
    recording: SpaceRecording,
    truth: Truth,
    settings: Settings,
    /// Where it was read from.
    folder: PathBuf,
}

/// The loop of the robot that logs an estimate does so a cycle after the truth of the same motion, s.
const CYCLE_S: f64 = 0.02;

impl SpaceInput {
    /// Reads a recording.
    pub(super) fn open(source: &str) -> Result<Self, Failure> {
        let recording = read(source)?;
        let folder = source.split_once(':').map_or(source, |(_, path)| path).into();
        Ok(Self { truth: Truth::of(&recording), settings: Settings::of(&recording), recording, folder })
    }

    /// Runs a filter, or takes the estimate of others that the recording has.
    pub(super) fn run(&self, name: &str) -> Result<String, Failure> {
        if name == "wpilib" {
            return self.published();
        }
        let run = self.run_filter(name)?;
        Ok(files::space(run.estimates.iter().map(|one| (one.stamp, one.pose, Some(one.covariance)))))
    }

    fn run_filter(&self, name: &str) -> Result<SpaceRun, Failure> {
        run(&self.recording, &self.truth, name, &Options::default()).map_err(Failure::failed)
    }

    /// `wpilib_estimate.csv` (t_s, x_m, y_m, yaw_deg), which is logged on change: its last row at each instant of ours.
    fn published(&self) -> Result<String, Failure> {
        let path = self.folder.join("wpilib_estimate.csv");
        let wrong = |problem: String| Failure::Failed(format!("{}: {problem}", path.display()));
        let text = read_text(&path).map_err(|error| wrong(error.to_string()))?;
        let mut rows: Vec<(f64, [f64; 3])> = Vec::new();
        for (at, line) in text.lines().enumerate().skip(1) {
            let numbers: Vec<f64> = line.split(',').map_while(|cell| cell.trim().parse().ok()).collect();
            match numbers[..] {
                [stamp, x, y, yaw_deg] => rows.push((stamp - CYCLE_S, [x, y, yaw_deg])),
                _ => return Err(wrong(format!("line {}: needed are t_s, x_m, y_m, yaw_deg", at + 1))),
            }
        }
        let held = |stamp: Stamp| {
            let at = rows.partition_point(|(from, _)| *from <= stamp.secs()).checked_sub(1)?;
            let (_, [x, y, yaw_deg]) = rows.get(at)?;
            let turn = So3::exp(&(Vector3::z() * yaw_deg.to_radians()));
            Some((stamp, Se3::new(turn, Vector3::new(*x, *y, 0.0)), None))
        };
        let ours = self.run_filter("default")?;
        Ok(files::space(ours.estimates.iter().filter_map(|one| held(one.stamp))))
    }

    /// Writes what every estimator is given, and the truth, level; says how good it is.
    pub(super) fn write(&self, folder: &Path) -> Result<TruthNoise, Failure> {
        let poses = self.recording.truth.iter().filter_map(|one| Some((one.stamp, self.truth.at(one.stamp)?, None)));
        lienav_eval::folder::write_text(folder, "truth.csv", &files::space(poses)).map_err(Failure::failed)?;
        // The instants of ours are those of all.
        let ours = self.run_filter("default")?;
        let start = match ours.estimates.first() {
            Some(first) => first.stamp,
            None => return Err(Failure::Failed(format!("{}: no estimate in it", self.recording.name))),
        };
        let end = ours.estimates.last().map_or(start, |last| last.stamp);
        let mut instants = Numbers::new("stamp_s");
        ours.estimates.iter().for_each(|one| instants.row(&[one.stamp], &[]));
        instants.write(folder, "instants.csv")?;
        self.write_motion(folder, start, end)?;
        let mut pixels = Numbers::new("stamp_s,landmark,ul,vl,ur,vr");
        for frame in self.recording.frames.iter().filter(|frame| (start..=end).contains(&frame.stamp)) {
            for seen in &frame.seen {
                if let Image::Stereo(z) = seen.at {
                    pixels.row(&[frame.stamp], &[seen.id as f64, z.x, z.y, z.z, z.w]);
                }
            }
        }
        pixels.write(folder, "pixels.csv")?;
        self.write_setting(folder, start)?;
        let (std_m, std_rad) = self.settings.truth_sigma;
        Ok(TruthNoise { std_m, std_rad })
    }

    /// Velocities that are held, or samples of the inertial sensor.
    fn write_motion(&self, folder: &Path, start: Stamp, end: Stamp) -> Result<(), Failure> {
        let mut twists = Numbers::new("begin_s,end_s,vx,vy,vz,wx,wy,wz");
        if self.recording.layout == Layout::Starry {
            for pair in self.recording.twists.windows(2) {
                if let [one, next] = pair
                    && one.stamp >= start
                    && one.stamp < end
                {
                    let (v, w) = (one.velocity, one.rate);
                    twists.row(&[one.stamp, next.stamp], &[v.x, v.y, v.z, w.x, w.y, w.z]);
                }
            }
        }
        twists.write(folder, "twists.csv")?;
        let mut imu = Numbers::new("stamp_s,wx,wy,wz,ax,ay,az");
        for sample in self.recording.inertial.iter().filter(|sample| sample.stamp <= end) {
            let (w, a) = (sample.rate, sample.force);
            imu.row(&[sample.stamp], &[w.x, w.y, w.z, a.x, a.y, a.z]);
        }
        imu.write(folder, "imu.csv")
    }

    fn write_setting(&self, folder: &Path, start: Stamp) -> Result<(), Failure> {
        let (camera, noise) = (&self.recording.camera, &self.settings.pixels);
        let pose = self.truth.at(start).unwrap_or_default();
        let velocity = self.truth.velocity_at(start).unwrap_or_default();
        let numbers = |pose: &Se3| {
            let (p, q) = (pose.translation, UnitQuaternion::from_rotation_matrix(&pose.rotation.rotation()));
            [p.x, p.y, p.z, q.i, q.j, q.k, q.w]
        };
        let stated = |of: Option<Vector3<f64>>| of.map(|variances| [variances.x, variances.y, variances.z]);
        let (imu, sigma) = (&self.settings.imu, self.settings.start_sigma);
        files::setting(
            folder,
            &json!({
                "focal": [camera.focal.x, camera.focal.y],
                "centre": [camera.centre.x, camera.centre.y],
                "baseline_m": camera.baseline_m,
                "body_from_camera": numbers(&camera.on_body),
                "pixel_std_own": noise.own,
                "pixel_std_common": noise.common,
                "velocity_variance": stated(self.recording.stated.velocity),
                "rate_variance": stated(self.recording.stated.rate),
                "start_stamp_s": start.secs(),
                "start_pose": numbers(&pose),
                "start_velocity": [velocity.x, velocity.y, velocity.z],
                "start_std_rotation_velocity_position_biases": sigma,
                "gravity": self.settings.gravity,
                "imu_noise": [imu.gyro, imu.accelerometer, imu.gyro_walk, imu.accelerometer_walk],
            }),
        )
    }
}
