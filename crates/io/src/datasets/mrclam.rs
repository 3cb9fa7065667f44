//! The UTIAS Multi-Robot Cooperative Localization and Mapping data set (Leung et al., IJRR 30(8), 2011).
//!
//! A folder `MRCLAM_DatasetN` with `RobotK_Odometry.dat` (t, v, ω), `RobotK_Measurement.dat` (t, barcode, range,
//! bearing), `RobotK_Groundtruth.dat` (t, x, y, θ), `Landmark_Groundtruth.dat` and `Barcodes.dat`. Subjects 1–5 are
//! robots, 6–20 landmarks.

use super::format::Format;
use super::text::Table;
use lienav_bag::recording::{Input, Recording};
use lienav_base::stamp::Stamp;
use lienav_files::OpenError;
use lienav_lie::{Se2, wrap_angle};
use lienav_slam::{Config, InitialConfig, Measurement, MeasurementKind, NoiseUnit, Odometry, Prior, Scan, TwistHold};
use nalgebra::Vector2;
use std::collections::{BTreeMap, HashMap};
use std::path::Path;

/// The subjects that do not stand still.
const ROBOTS: std::ops::RangeInclusive<u32> = 1..=5;

/// `mrclam:FOLDER:ROBOT`.
pub const FORMAT: Format =
    Format { prefix: "mrclam", arguments: "FOLDER:ROBOT", about: "one robot of MR.CLAM", open: open_source };

fn open_source(arguments: &str) -> Result<Recording, OpenError> {
    let wrong = |problem: &str| OpenError::Source { given: format!("mrclam:{arguments}"), problem: problem.to_owned() };
    let (folder, robot) = arguments.rsplit_once(':').ok_or_else(|| wrong("the number of the robot is missing"))?;
    let robot = robot.parse().map_err(|_| wrong("the robot is not a number"))?;
    open(Path::new(folder), robot)
}

/// Reads one robot's part of a data set. Inputs begin where odometry and truth both have begun, and the initial pose
/// is the truth of that instant. What is left out is counted: `other_robot`, `unknown_barcode`, `before_start`
/// (measurements), and `repeated_row` (odometry rows of the same stamp).
///
/// # Errors
/// A file is missing, or not as published: with its name and line.
pub fn open(folder: &Path, robot: u32) -> Result<Recording, OpenError> {
    let set = folder.file_name().map_or_else(|| "mrclam".into(), |name| name.to_string_lossy());
    let mut recording = Recording { name: format!("{set} robot {robot}"), ..Recording::default() };
    recording.truth = read_truth(folder, robot)?;
    for row in Table::read(folder, "Landmark_Groundtruth.dat")?.rows(&["subject", "x_m", "y_m"]) {
        let row = row?;
        recording.true_landmarks.push((row.identity(0)?, Vector2::new(row.number(1)?, row.number(2)?)));
    }
    let odometry = read_odometry(folder, robot, &mut recording)?;
    if odometry.is_empty() {
        let file = folder.join(format!("Robot{robot}_Odometry.dat"));
        return Err(OpenError::bag(&file, "no rows of odometry; expected rows of time, velocity and yaw rate"));
    }
    let clouds = read_measurements(folder, robot, &mut recording)?;
    let first = |stamp: Option<Stamp>| stamp.unwrap_or(Stamp::MIN);
    let start = first(odometry.first().map(|o| o.stamp)).max(first(recording.truth.first().map(|t| t.0)));
    recording.inputs = odometry.into_iter().filter(|o| o.stamp >= start).map(Input::Odometry).collect();
    for (stamp, measurements) in clouds {
        if stamp < start {
            *recording.dropped.entry("before_start".to_owned()).or_default() += measurements.len() as u64;
        } else {
            let features = Scan { stamp, kind: MeasurementKind::RangeBearing, measurements };
            recording.inputs.push(Input::Scan(features));
        }
    }
    // Stable: of the same stamp, odometry stays before features.
    recording.inputs.sort_by_key(Input::stamp);
    recording.config = Some(config(interpolate(&recording.truth, start)));
    Ok(recording)
}

/// One set for all robots, with errors of scale and bias calibrated while running. The priors are what the fleet has
/// in common, the noises what makes the four runs (data set 6, robots 1–3, and 4, robot 3) nearest to the truth after
/// alignment without the NEES leaving its place. The mean error of the four is flat around them: ±0.003 m for every
/// change that was tried, of 10–100 %.
///
/// - Residuals against the truth: of the yaw rate 0.030–0.050 rad/√s, two thirds of it a delay, an error of scale and
///   a loss of speed in turns, which are calibrated; of the forward velocity, an error of scale; sideways 0.001–0.003
///   m/√s, rounded up.
/// - Bearing: 0.006–0.011 rad (1.48 × median deviation) and a bias of up to 0.008 rad. Range: 0.12–0.19 m, not white:
///   the error depends on distance and landmark, and stays; so ranges count with twice their deviation.
/// - A few gross misreads, and many small ones: a measurement that is one standard deviation out counts half.
///
/// The velocities are those commanded, so each holds until the next: over the gaps between rows of up to a second this
/// leaves a third to three quarters of the error of the other measurement.
fn config(start: Se2) -> Config {
    let mut config = Config::default();
    // The noise is what the residuals of the set say.
    config.learning.enabled = false;
    config.motion.noise = NoiseUnit::SpectralDensity;
    config.motion.hold = TwistHold::After;
    config.motion.delay_s = 0.05;
    config.motion.velocity_x_std = 0.01;
    config.motion.velocity_y_std = 0.005;
    config.motion.yaw_rate_std = 0.02;
    config.motion.max_step_s = 2.0;
    config.sensor.kind = MeasurementKind::RangeBearing;
    config.sensor.range_std_m = 0.3;
    config.sensor.bearing_std_rad = 0.025;
    config.gate.probability = 0.999;
    config.gate.robust_scale = 0.9;
    let prior = |value, sigma| Prior { value, sigma, walk: 0.0 };
    config.calibration.scale_v = prior(0.0, 0.05);
    config.calibration.scale_w = prior(-0.02, 0.015);
    config.calibration.turn_slip = prior(0.09, 0.01);
    config.calibration.range_bias = prior(0.0, 0.02);
    config.calibration.bearing_bias = prior(0.0, 0.01);
    config.initial = InitialConfig { x_m: start.p.x, y_m: start.p.y, yaw_rad: start.theta, ..InitialConfig::default() };
    config
}

fn read_truth(folder: &Path, robot: u32) -> Result<Vec<(Stamp, Se2)>, OpenError> {
    let mut truth = Vec::new();
    for row in Table::read(folder, &format!("Robot{robot}_Groundtruth.dat"))?.rows(&["t_s", "x_m", "y_m", "theta_rad"])
    {
        let row = row?;
        truth.push((row.stamp(0)?, Se2::new(row.number(1)?, row.number(2)?, row.number(3)?)));
    }
    truth.sort_by_key(|&(stamp, _)| stamp);
    truth.dedup_by_key(|&mut (stamp, _)| stamp);
    Ok(truth)
}

fn read_odometry(folder: &Path, robot: u32, recording: &mut Recording) -> Result<Vec<Odometry>, OpenError> {
    let mut odometry = Vec::new();
    for row in Table::read(folder, &format!("Robot{robot}_Odometry.dat"))?.rows(&["t_s", "v_mps", "omega_radps"]) {
        let row = row?;
        let velocity = Vector2::new(row.number(1)?, 0.0);
        odometry.push(Odometry { stamp: row.stamp(0)?, velocity, yaw_rate: row.number(2)?, covariance: None });
    }
    odometry.sort_by_key(|o| o.stamp);
    // Of two commands at one instant the last one holds.
    let mut distinct: Vec<Odometry> = Vec::with_capacity(odometry.len());
    for next in odometry {
        match distinct.last_mut() {
            Some(last) if last.stamp == next.stamp => {
                *last = next;
                recording.drop_one("repeated_row");
            }
            _ => distinct.push(next),
        }
    }
    Ok(distinct)
}

/// The landmarks seen, those of the same stamp together.
fn read_measurements(
    folder: &Path,
    robot: u32,
    recording: &mut Recording,
) -> Result<BTreeMap<Stamp, Vec<Measurement>>, OpenError> {
    let mut subject_of_barcode = HashMap::new();
    for row in Table::read(folder, "Barcodes.dat")?.rows(&["subject", "barcode"]) {
        let row = row?;
        subject_of_barcode.insert(row.identity(1)?, row.identity(0)?);
    }
    let mut clouds: BTreeMap<Stamp, Vec<Measurement>> = BTreeMap::new();
    let table = Table::read(folder, &format!("Robot{robot}_Measurement.dat"))?;
    for row in table.rows(&["t_s", "barcode", "range_m", "bearing_rad"]) {
        let row = row?;
        match subject_of_barcode.get(&row.identity(1)?) {
            None => recording.drop_one("unknown_barcode"),
            Some(subject) if ROBOTS.contains(subject) => recording.drop_one("other_robot"),
            Some(&subject) => {
                let value = Vector2::new(row.number(2)?, row.number(3)?);
                let seen = clouds.entry(row.stamp(0)?).or_default();
                let measurement = Measurement::new(Some(subject), value);
                if seen.contains(&measurement) {
                    recording.drop_one("repeated_row");
                } else {
                    seen.push(measurement);
                }
            }
        }
    }
    Ok(clouds)
}

/// The pose at `stamp`, on the straight line between its neighbours; the nearest one outside the recorded time.
fn interpolate(truth: &[(Stamp, Se2)], stamp: Stamp) -> Se2 {
    let next = truth.partition_point(|&(t, _)| t < stamp);
    match (next.checked_sub(1).and_then(|i| truth.get(i).copied()), truth.get(next).copied()) {
        (Some((t0, a)), Some((t1, b))) => {
            let s = stamp.since(t0) / t1.since(t0);
            let p = a.p + (b.p - a.p) * s;
            Se2 { p, theta: a.theta + wrap_angle(b.theta - a.theta) * s }
        }
        (Some((_, only)), None) | (None, Some((_, only))) => only,
        (None, None) => Se2::identity(),
    }
}
