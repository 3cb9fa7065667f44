//! The Plaza data sets (Djugash and Singh, Carnegie Mellon University): a mowing robot with wheel odometry and ranges
//! to radio beacons at unknown places, about four a second.
//!
//! A folder with `odometry.csv` (t, distance, turn since the row before), `ranges.csv` (t, landmark, range),
//! `groundtruth.csv` (t, x, y, yaw) and `landmarks.csv`.

use super::format::Format;
use super::text::Table;
use lienav_bag::recording::{Input, Recording};
use lienav_base::stamp::Stamp;
use lienav_files::OpenError;
use lienav_lie::Se2;
use lienav_slam::{Config, InitialConfig, Measurement, MeasurementKind, NoiseUnit, Odometry, Prior, Scan, TwistHold};
use nalgebra::Vector2;
use std::path::Path;

/// `plaza:FOLDER`.
pub const FORMAT: Format = Format {
    prefix: "plaza",
    arguments: "FOLDER",
    about: "Plaza, ranges to radio beacons",
    open: |folder| open(Path::new(folder)),
};

/// The shortest time between two rows of odometry, s; a shorter one is a repetition.
const LEAST_S: f64 = 1e-3;

/// Reads the folder. The rows of odometry are motions since the row before, and become velocities; the configuration
/// holds the noise of such radios and wheels, and the start.
///
/// # Errors
/// A file is missing, or not as published: with its name and line.
pub fn open(folder: &Path) -> Result<Recording, OpenError> {
    let mut recording = Recording { name: "plaza".to_owned(), ..Recording::default() };
    for row in Table::read(folder, "groundtruth.csv")?.rows(&["t_s", "x_m", "y_m", "yaw_rad"]) {
        let row = row?;
        recording.truth.push((row.stamp(0)?, Se2::new(row.number(1)?, row.number(2)?, row.number(3)?)));
    }
    recording.truth.sort_by_key(|&(stamp, _)| stamp);
    recording.truth.dedup_by_key(|&mut (stamp, _)| stamp);
    for row in Table::read(folder, "landmarks.csv")?.rows(&["landmark", "x_m", "y_m"]) {
        let row = row?;
        recording.true_landmarks.push((row.identity(0)?, Vector2::new(row.number(1)?, row.number(2)?)));
    }
    read_odometry(folder, &mut recording)?;
    for row in Table::read(folder, "ranges.csv")?.rows(&["t_s", "landmark", "range_m"]) {
        let row = row?;
        let measurements = vec![Measurement::new(Some(row.identity(1)?), [row.number(2)?])];
        recording.inputs.push(Input::Scan(Scan { stamp: row.stamp(0)?, kind: MeasurementKind::Range, measurements }));
    }
    recording.inputs.sort_by_key(Input::stamp);
    recording.config = Some(config(recording.truth.first()));
    Ok(recording)
}

fn read_odometry(folder: &Path, recording: &mut Recording) -> Result<(), OpenError> {
    let mut last: Option<Stamp> = recording.truth.first().map(|&(stamp, _)| stamp);
    for row in Table::read(folder, "odometry.csv")?.rows(&["t_s", "distance_m", "turn_rad"]) {
        let row = row?;
        let (stamp, distance, turn) = (row.stamp(0)?, row.number(1)?, row.number(2)?);
        let duration = last.map_or(0.0, |last| stamp.since(last));
        let odometry = |stamp, velocity: Vector2<f64>, yaw_rate| {
            Input::Odometry(Odometry { stamp, velocity, yaw_rate, covariance: None })
        };
        if recording.inputs.is_empty() && duration >= LEAST_S {
            // The run begins where the first row does.
            recording.inputs.push(odometry(stamp + -duration, Vector2::zeros(), 0.0));
        }
        if duration >= LEAST_S {
            recording.inputs.push(odometry(stamp, Vector2::new(distance / duration, 0.0), turn / duration));
        } else if last.is_none() {
            recording.inputs.push(odometry(stamp, Vector2::zeros(), 0.0));
        } else {
            recording.drop_one("duplicate_stamp");
        }
        last = last.max(Some(stamp));
    }
    if recording.inputs.is_empty() {
        let problem = "no rows of odometry; expected rows of t_s,distance_m,turn_rad";
        return Err(OpenError::bag(&folder.join("odometry.csv"), problem));
    }
    Ok(())
}

/// What is said of such robots: ranges good to half a metre with a tenth of them too long, scales of a few hundredths,
/// and wheels that slip on grass. Nothing here is fitted to the run.
fn config(start: Option<&(Stamp, Se2)>) -> Config {
    let mut config = Config::default();
    // The noise is what is known of the radios.
    config.learning.enabled = false;
    config.motion.noise = NoiseUnit::SpectralDensity;
    config.motion.hold = TwistHold::Before;
    config.motion.velocity_x_std = 0.05;
    config.motion.velocity_y_std = 0.02;
    config.motion.yaw_rate_std = 0.01;
    config.motion.velocity_ratio_std = 0.02;
    config.motion.yaw_rate_ratio_std = 0.02;
    config.motion.max_step_s = 2.0;
    config.sensor.kind = MeasurementKind::Range;
    config.sensor.range_std_m = 0.5;
    config.sensor.max_range_m = 200.0;
    config.sensor.late_probability = 0.1;
    config.gate.robust_scale = 2.0;
    config.gate.probability = 0.9999;
    config.calibration.range_bias = Prior { sigma: 0.5, ..Prior::default() };
    config.calibration.range_scale = Prior { sigma: 0.05, ..Prior::default() };
    if let Some((_, pose)) = start {
        config.initial = InitialConfig {
            x_m: pose.p.x,
            y_m: pose.p.y,
            yaw_rad: lienav_lie::wrap_angle(pose.theta),
            ..InitialConfig::default()
        };
    }
    config
}
