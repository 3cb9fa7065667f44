//! What an inertial sensor recorded, wherever it comes from, and the truth to compare with.

use crate::bag::cdr;
use crate::bag::{BagReader, Role, Topics, roles_of};
use crate::datasets;
use crate::messages::Imu;
use crate::recording::OpenError;
use lienav_attitude::{ImuSample, MagneticField};
use lienav_base::stamp::Stamp;
use nalgebra::{UnitQuaternion, Vector3};
use std::path::Path;

/// A recorded run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct InertialRecording {
    /// What to call it in a report.
    pub name: String,
    /// In order of arrival.
    pub samples: Vec<ImuSample>,
    /// In order of arrival; empty without a magnetometer.
    pub fields: Vec<MagneticField>,
    /// By increasing stamp; empty where nobody knows.
    pub truth: Vec<TrueOrientation>,
    /// What the reader should know, one sentence each.
    pub warnings: Vec<String>,
}

/// Where the body was turned.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TrueOrientation {
    /// When.
    pub stamp: Stamp,
    /// From the body to the world, z up.
    pub orientation: UnitQuaternion<f64>,
    /// Whether the body is moved; errors count while it is.
    pub moving: bool,
}

/// Reads a recording. `source` is `broad:FILE`, `euroc:FOLDER`, or a bag with a topic of sensor_msgs/Imu.
///
/// # Errors
/// Nothing can be read: [`OpenError`] names file, cause and remedy.
pub fn open(source: &str, topics: &Topics) -> Result<InertialRecording, OpenError> {
    if let Some(file) = source.strip_prefix("broad:") {
        return datasets::open_broad(Path::new(file));
    }
    if let Some(folder) = source.strip_prefix("euroc:") {
        return datasets::open_euroc(Path::new(folder));
    }
    if !Path::new(source).exists() {
        let problem = "there is no such file or folder; give broad:FILE, euroc:FOLDER or a bag";
        return Err(OpenError::Bag { path: source.into(), problem: problem.to_owned() });
    }
    from_bag(Path::new(source), topics)
}

fn from_bag(path: &Path, topics: &Topics) -> Result<InertialRecording, OpenError> {
    let mut bag = BagReader::open(path)?;
    let roles = roles_of(bag.topics(), topics).map_err(|problem| OpenError::bag(path, problem))?;
    if !roles.contains(&Some(Role::Imu)) {
        return Err(OpenError::bag(path, "there is no topic /imu, nor just one of type sensor_msgs/msg/Imu; name it"));
    }
    let name = path.file_stem().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let mut recording = InertialRecording { name, ..InertialRecording::default() };
    let mut unreadable = 0_u64;
    for record in bag.by_ref() {
        if roles[record.topic] != Some(Role::Imu) {
            continue;
        }
        match cdr::decode::<Imu>(&record.data) {
            Ok(message) => recording.samples.push(ImuSample {
                stamp: (&message.header.stamp).into(),
                angular_velocity: vector(&message.angular_velocity),
                specific_force: vector(&message.linear_acceleration),
            }),
            Err(_) => unreadable += 1,
        }
    }
    recording.warnings.extend_from_slice(bag.warnings());
    if unreadable > 0 {
        recording.warnings.push(format!("{unreadable} messages could not be decoded and were left out"));
    }
    Ok(recording)
}

fn vector(v: &crate::messages::Vector3) -> Vector3<f64> {
    Vector3::new(v.x, v.y, v.z)
}
