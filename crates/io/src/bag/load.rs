//! A bag as a recording.

use super::cdr;
use super::content::{features_of, imu_of, odometry_of, pose_of};
use super::params;
use super::read::{BagReader, Topic};
use super::topics::{Role, Topics, roles_of};
use crate::cloud::decode_landmarks;
use crate::files::folder_of;
use crate::messages::{Imu, Message, Odometry, PointCloud2, PoseStamped, PoseWithCovarianceStamped};
use crate::recording::{Input, OpenError, Recording};
use lienav_slam::FeatureKind;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;

/// `custom_data` under which a converted bag keeps the name of its source.
pub const NAME_KEY: &str = "lienav.name";
/// Prefix of `custom_data` under which a converted bag keeps what its source left out, by reason.
pub const DROPPED_KEY: &str = "lienav.dropped.";

/// The word under which a message that cannot be decoded is counted. A node never counts any: the middleware keeps such
/// messages from it.
pub const UNREADABLE: &str = "unreadable";

/// Reads a bag: a folder, or a single storage file. A `params.yaml` in the bag's folder gives [`Recording::config`].
///
/// # Errors
/// Nothing can be read, or a topic that was asked for is not there.
pub fn load(path: &Path, topics: &Topics) -> Result<Recording, OpenError> {
    let mut bag = BagReader::open(path)?;
    let roles = roles_of(bag.topics(), topics).map_err(|problem| OpenError::bag(path, problem))?;
    let name = if path.is_dir() { path.file_name() } else { path.file_stem() };
    let name = name.map_or_else(|| path.display().to_string(), |name| name.to_string_lossy().into_owned());
    let mut recording = Recording { name, ..Recording::default() };
    read_notes(path, &bag, &mut recording)?;
    warn_of_topics(bag.topics(), &roles, &mut recording);

    let preferred = recording.config.as_ref().map_or(FeatureKind::default(), |config| config.sensor.kind);
    let mut first_problem = None;
    while let Some(record) = bag.next() {
        let Some(role) = roles[record.topic] else { continue };
        let topic = &bag.topics()[record.topic];
        if let Err(Unread { reason, problem }) = take_in(role, topic, &record.data, preferred, &mut recording) {
            recording.drop_one(reason);
            first_problem
                .get_or_insert_with(|| format!("{} at {} was left out: {problem}", topic.name, record.log_time));
        }
    }
    recording.truth.sort_by_key(|&(stamp, _)| stamp);
    recording.truth.dedup_by_key(|&mut (stamp, _)| stamp);
    recording.warnings.extend_from_slice(bag.warnings());
    recording.warnings.extend(first_problem);
    Ok(recording)
}

/// A message that was left out: the word it is counted under, and the sentence.
struct Unread {
    reason: &'static str,
    problem: String,
}

impl Unread {
    fn new(reason: &'static str, problem: impl ToString) -> Self {
        Self { reason, problem: problem.to_string() }
    }
}

fn take_in(
    role: Role,
    topic: &Topic,
    bytes: &[u8],
    preferred: FeatureKind,
    recording: &mut Recording,
) -> Result<(), Unread> {
    let bad_layout = |error| Unread::new("bad_layout", error);
    match role {
        Role::Odometry => recording.inputs.push(Input::Odometry(odometry_of(&decode::<Odometry>(bytes)?))),
        Role::Imu => {
            let imu = imu_of(&decode::<Imu>(bytes)?);
            let imu = imu.ok_or_else(|| Unread::new("no_angular_velocity", "it has no angular velocity"))?;
            recording.inputs.push(Input::Imu(imu));
        }
        Role::Features => {
            let features = features_of(&decode::<PointCloud2>(bytes)?, preferred).map_err(bad_layout)?;
            recording.inputs.push(Input::Features(features));
        }
        Role::Truth => {
            let (header, pose) = match topic.type_name.as_str() {
                PoseStamped::TYPE => decode::<PoseStamped>(bytes).map(|m| (m.header, m.pose))?,
                PoseWithCovarianceStamped::TYPE => {
                    decode::<PoseWithCovarianceStamped>(bytes).map(|m| (m.header, m.pose.pose))?
                }
                _ => decode::<Odometry>(bytes).map(|m| (m.header, m.pose.pose))?,
            };
            let pose = pose_of(&pose);
            if !(pose.p.x.is_finite() && pose.p.y.is_finite() && pose.theta.is_finite()) {
                return Err(Unread::new("bad_truth", "a true pose is not finite"));
            }
            recording.truth.push(((&header.stamp).into(), pose));
        }
        Role::TrueLandmarks => {
            let landmarks = decode_landmarks(&decode::<PointCloud2>(bytes)?).map_err(bad_layout)?;
            recording.true_landmarks = landmarks;
        }
    }
    Ok(())
}

fn decode<M: Message>(bytes: &[u8]) -> Result<M, Unread> {
    cdr::decode(bytes).map_err(|error| Unread::new(UNREADABLE, error))
}

/// What is known beside the messages: the parameter file, and what a conversion has noted in `metadata.yaml`.
fn read_notes(path: &Path, bag: &BagReader, recording: &mut Recording) -> Result<(), OpenError> {
    for (key, value) in bag.metadata().and_then(|m| m.custom_data.as_ref()).into_iter().flatten() {
        if key == NAME_KEY {
            recording.name.clone_from(value);
        } else if let (Some(reason), Ok(count)) = (key.strip_prefix(DROPPED_KEY), value.parse()) {
            recording.dropped.insert(reason.to_owned(), count);
        }
    }
    let folder = if path.is_dir() { path } else { folder_of(path) };
    let params = folder.join(params::FILE_NAME);
    match fs::read_to_string(&params) {
        Ok(text) => {
            let config = params::from_yaml(&text).map_err(|problem| OpenError::bag(&params, problem))?;
            recording.config = Some(config);
        }
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(error) => return Err(OpenError::io(&params, error)),
    }
    Ok(())
}

fn warn_of_topics(topics: &[Topic], roles: &[Option<Role>], recording: &mut Recording) {
    for role in [Role::Odometry, Role::Features] {
        if !roles.contains(&Some(role)) {
            let (name, types) = (role.usual_name(), role.types().join(" or "));
            recording.warnings.push(format!("there is no topic {name}, nor just one of type {types}; name it"));
        }
    }
    let unused = topics.iter().zip(roles).filter(|(_, role)| role.is_none());
    let unused: Vec<String> = unused.map(|(topic, _)| format!("{} ({})", topic.name, topic.type_name)).collect();
    if !unused.is_empty() {
        recording.warnings.push(format!("topics that were not read: {}", unused.join(", ")));
    }
}
