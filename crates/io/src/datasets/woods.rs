//! The Lost in the Woods data set (UTIAS, course AER1513): a robot among 17 tubes, known association, 10 Hz.
//!
//! A folder with `odometry.csv` (t, v, ω), `measurements.csv` (t, landmark, range, bearing), `groundtruth.csv` (t, x,
//! y, θ, valid), `landmarks.csv` and `parameters.csv` (variances of the noise, forward offset of the laser).

use super::format::Format;
use super::text::Table;
use lienav_bag::recording::{Input, Recording};
use lienav_base::stamp::Stamp;
use lienav_files::OpenError;
use lienav_lie::Se2;
use lienav_slam::{Config, InitialConfig, Measurement, MeasurementKind, NoiseUnit, Odometry, Scan, TwistHold};
use nalgebra::Vector2;
use std::collections::BTreeMap;
use std::path::Path;

/// Standard deviation of the leftward velocity of one sample, m/s. The odometry has no lateral axis, but the wheels
/// slip: the true velocity across the heading is not zero, and a filter that takes it for zero is overconfident.
const SLIP_STD: f64 = 0.03;

/// `woods:FOLDER`.
pub const FORMAT: Format =
    Format { prefix: "woods", arguments: "FOLDER", about: "Lost in the Woods", open: |folder| open(Path::new(folder)) };

/// Reads the folder. There is one cloud of features for each odometry message, empty where nothing was seen; truth
/// holds the rows that are valid; the configuration holds the published noise, the laser's place and the start.
///
/// # Errors
/// A file is missing, or not as published: with its name and line.
pub fn open(folder: &Path) -> Result<Recording, OpenError> {
    let mut recording = Recording { name: "lost_in_the_woods".to_owned(), ..Recording::default() };
    recording.truth = read_truth(folder)?;
    for row in Table::read(folder, "landmarks.csv")?.rows(&["landmark", "x_m", "y_m"]) {
        let row = row?;
        recording.true_landmarks.push((row.identity(0)?, Vector2::new(row.number(1)?, row.number(2)?)));
    }
    let mut clouds = read_measurements(folder)?;
    for row in Table::read(folder, "odometry.csv")?.rows(&["t_s", "v_mps", "omega_radps"]) {
        let row = row?;
        let stamp = row.stamp(0)?;
        let velocity = Vector2::new(row.number(1)?, 0.0);
        recording.inputs.push(Input::Odometry(Odometry {
            stamp,
            velocity,
            yaw_rate: row.number(2)?,
            covariance: None,
        }));
        let measurements = clouds.remove(&stamp).unwrap_or_default();
        recording.inputs.push(Input::Scan(Scan { stamp, kind: MeasurementKind::RangeBearing, measurements }));
    }
    if recording.inputs.is_empty() {
        let problem = "no rows of odometry; expected rows of t_s,v_mps,omega_radps";
        return Err(OpenError::bag(&folder.join("odometry.csv"), problem));
    }
    // Seen between two odometry messages, or after the last: not in the published files, but not to be lost either.
    for (stamp, measurements) in clouds {
        recording.inputs.push(Input::Scan(Scan { stamp, kind: MeasurementKind::RangeBearing, measurements }));
    }
    recording.inputs.sort_by_key(Input::stamp);
    recording.config = Some(read_config(folder, recording.truth.first())?);
    Ok(recording)
}

fn read_truth(folder: &Path) -> Result<Vec<(Stamp, Se2)>, OpenError> {
    let mut truth = Vec::new();
    for row in Table::read(folder, "groundtruth.csv")?.rows(&["t_s", "x_m", "y_m", "theta_rad", "valid"]) {
        let row = row?;
        if row.word(4) == "1" {
            truth.push((row.stamp(0)?, Se2::new(row.number(1)?, row.number(2)?, row.number(3)?)));
        }
    }
    truth.sort_by_key(|&(stamp, _)| stamp);
    truth.dedup_by_key(|&mut (stamp, _)| stamp);
    Ok(truth)
}

fn read_measurements(folder: &Path) -> Result<BTreeMap<Stamp, Vec<Measurement>>, OpenError> {
    let mut clouds: BTreeMap<Stamp, Vec<Measurement>> = BTreeMap::new();
    for row in Table::read(folder, "measurements.csv")?.rows(&["t_s", "landmark", "range_m", "bearing_rad"]) {
        let row = row?;
        let value = Vector2::new(row.number(2)?, row.number(3)?);
        let measurement = Measurement::new(Some(row.identity(1)?), value);
        clouds.entry(row.stamp(0)?).or_default().push(measurement);
    }
    Ok(clouds)
}

/// The published model lets the velocities of row k move the robot from k − 1 to k (`motion.hold: before`), and its
/// variances are those of the residuals so taken (yaw rate 0.088 rad/s here, 0.0905 published). Taken for the interval
/// from k to k + 1 the residual is 0.067 rad/s: that is when the data were recorded, and what is taken here, with the
/// published variances.
fn read_config(folder: &Path, start: Option<&(Stamp, Se2)>) -> Result<Config, OpenError> {
    let mut config = Config::default();
    // The noise is what the file states.
    config.learning.enabled = false;
    config.motion.noise = NoiseUnit::PerSample;
    config.motion.hold = TwistHold::After;
    config.motion.velocity_y_std = SLIP_STD;
    config.sensor.kind = MeasurementKind::RangeBearing;
    for row in Table::read(folder, "parameters.csv")?.rows(&["name", "value"]) {
        let row = row?;
        match row.word(0) {
            "range_variance" => config.sensor.range_std_m = row.number(1)?.sqrt(),
            "bearing_variance" => config.sensor.bearing_std_rad = row.number(1)?.sqrt(),
            "v_variance" => config.motion.velocity_x_std = row.number(1)?.sqrt(),
            "omega_variance" => config.motion.yaw_rate_std = row.number(1)?.sqrt(),
            "laser_offset_forward" => config.sensor.x_m = row.number(1)?,
            _ => {}
        }
    }
    if let Some((_, pose)) = start {
        config.initial =
            InitialConfig { x_m: pose.p.x, y_m: pose.p.y, yaw_rad: pose.theta, ..InitialConfig::default() };
    }
    config.validate().map_err(|error| OpenError::Text {
        path: folder.join("parameters.csv"),
        line: 1,
        problem: error.to_string(),
    })?;
    Ok(config)
}
