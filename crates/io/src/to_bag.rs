//! A recording as a rosbag2 bag, from which it can be read back to the last bit, played and recorded again.

use super::bag::cdr;
use super::bag::metadata::Qos;
use super::bag::{BagWriter, DROPPED_KEY, Existing, NAME_KEY, Role, TopicId, WriteError, params};
use super::cloud::encode_landmarks;
use super::convert::{
    absolute_pose_message, cloud_message, features_message, imu_message, odometry_message, pose_message, pose_stamped,
    transform_message,
};
use super::messages::{Imu, Odometry, PointCloud2, PoseStamped, PoseWithCovarianceStamped, TfMessage};
use super::recording::{Input, Recording};
use lienav_base::stamp::Stamp;
use lienav_lie::Se2;
use lienav_slam::{MeasurementKind, Scan, SensorConfig};
use nalgebra::Vector3;
use std::collections::BTreeMap;
use std::path::Path;

/// The frames that the messages of a converted bag name.
const MAP_FRAME: &str = "map";
const ODOM_FRAME: &str = "odom";
const BASE_FRAME: &str = "base_link";
const SENSOR_FRAME: &str = "feature_sensor";

/// Messages between two calls of the progress callback.
const PROGRESS_STEP: u64 = 1000;

/// What a conversion has written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Converted {
    /// Messages on all topics.
    pub messages: u64,
    /// How many were left out because their stamps lie before the epoch, which a bag cannot store, by topic, with the
    /// first such stamp.
    pub before_the_epoch: BTreeMap<&'static str, (u64, Stamp)>,
}

impl Converted {
    /// Whether a message can be stored; counts it, if it cannot.
    fn takes(&mut self, role: Role, stamp: Stamp) -> bool {
        if stamp.nanos() < 0 {
            self.before_the_epoch.entry(role.usual_name()).or_insert((0, stamp)).0 += 1;
        }
        stamp.nanos() >= 0
    }
}

/// Writes a bag folder: `/odom` and `/tf` with the pose that the odometry adds up to, `/tf_static` with the mount of
/// the sensor, `/imu` (if there is any), `/features`, `/ground_truth/pose`, `/ground_truth/landmarks`, and
/// `params.yaml` with what the recording says of its sensors. Each message is received at its own stamp, or at that of
/// the one before if that is later: the order of arrival stays. Messages stamped before the epoch, which a bag cannot
/// store, are left out and counted. `progress` is told how many of how many messages are written.
///
/// # Errors
/// The folder exists and may not be replaced, or the disk says no. Nothing is left behind then.
pub fn to_bag(
    recording: &Recording,
    folder: &Path,
    existing: Existing,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Converted, WriteError> {
    if !recording.equipment.sensors.is_empty() || recording.equipment.odometry.len() > 1 {
        return Err(WriteError::Further);
    }
    let mut bag = BagWriter::create(folder, existing)?;
    bag.set_custom_data(NAME_KEY, &recording.name);
    for (reason, count) in &recording.dropped {
        bag.set_custom_data(&format!("{DROPPED_KEY}{reason}"), &count.to_string());
    }
    if let Some(config) = &recording.config {
        bag.add_file(params::FILE_NAME, &params::to_yaml(config))?;
    }
    let mut topics = Topics::add(recording, &mut bag)?;
    let transforms = recording.inputs.iter().filter(|input| input.odometry().is_some()).count();
    let at_once = usize::from(topics.landmarks.is_some()) + usize::from(topics.mount.is_some());
    let total = (recording.inputs.len() + transforms + recording.truth.len() + at_once) as u64;
    if let (Some(topic), Some(config)) = (topics.mount, &recording.config) {
        let stamp = first_stamp(recording);
        let SensorConfig { x_m, y_m, yaw_rad, .. } = config.sensor;
        let mount = Se2::new(x_m, y_m, yaw_rad);
        bag.write(topic, stamp, &transform_message(stamp, &mount, BASE_FRAME, SENSOR_FRAME))?;
    }
    if let Some(topic) = topics.landmarks {
        let stamp = first_stamp(recording);
        let encoded = encode_landmarks(&recording.true_landmarks);
        bag.write(topic, stamp, &cloud_message(stamp, MAP_FRAME, encoded))?;
    }
    let mut converted = Converted { messages: 0, before_the_epoch: BTreeMap::new() };
    let truth: Vec<_> = recording.truth.iter().filter(|(stamp, _)| converted.takes(Role::Truth, *stamp)).collect();
    let mut truth = truth.into_iter().peekable();
    let mut tell = |bag: &BagWriter| {
        if bag.message_count().is_multiple_of(PROGRESS_STEP) {
            progress(bag.message_count(), total);
        }
    };
    // Truth before input of the same instant, so that a listener can compare at once.
    let mut received = Stamp::MIN;
    for input in &recording.inputs {
        let role = match input {
            Input::Odometry(_) | Input::Fallback { .. } | Input::Received { .. } => Role::Odometry,
            Input::Scan(features) if is_of_world(features) => Role::AbsolutePose,
            Input::Scan(_) => Role::Scan,
            Input::Imu(_) => Role::Imu,
        };
        if !converted.takes(role, input.stamp()) {
            continue;
        }
        received = received.max(input.stamp());
        while let Some((stamp, pose)) = truth.next_if(|(stamp, _)| *stamp <= received) {
            bag.write(topics.truth, *stamp, &pose_stamped(*stamp, pose, MAP_FRAME))?;
            tell(&bag);
        }
        topics.write(input, received, &mut bag)?;
        tell(&bag);
    }
    for (stamp, pose) in truth {
        bag.write(topics.truth, *stamp, &pose_stamped(*stamp, pose, MAP_FRAME))?;
        tell(&bag);
    }
    converted.messages = bag.message_count();
    bag.finish()?;
    progress(converted.messages, total);
    Ok(converted)
}

struct Topics {
    odometry: TopicId,
    transforms: TopicId,
    /// Where the sensor sits, if the recording says so.
    mount: Option<TopicId>,
    reckoning: DeadReckoning,
    features: TopicId,
    imu: Option<TopicId>,
    absolute_pose: Option<TopicId>,
    truth: TopicId,
    landmarks: Option<TopicId>,
}

impl Topics {
    fn add(recording: &Recording, bag: &mut BagWriter) -> Result<Self, WriteError> {
        let has_imu = recording.inputs.iter().any(|input| matches!(input, Input::Imu(_)));
        let of_world = |input: &Input| matches!(input, Input::Scan(features) if is_of_world(features));
        let has_world = recording.inputs.iter().any(of_world);
        let has_mount = recording.config.is_some();
        let has_landmarks = !recording.true_landmarks.is_empty();
        Ok(Self {
            odometry: bag.add_topic::<Odometry>(Role::Odometry.usual_name(), Qos::RELIABLE)?,
            transforms: bag.add_topic::<TfMessage>("/tf", Qos::RELIABLE)?,
            mount: has_mount.then(|| bag.add_topic::<TfMessage>("/tf_static", Qos::LATCHED)).transpose()?,
            reckoning: DeadReckoning::default(),
            features: bag.add_topic::<PointCloud2>(Role::Scan.usual_name(), Qos::RELIABLE)?,
            imu: has_imu.then(|| bag.add_topic::<Imu>(Role::Imu.usual_name(), Qos::RELIABLE)).transpose()?,
            absolute_pose: has_world
                .then(|| bag.add_topic::<PoseWithCovarianceStamped>(Role::AbsolutePose.usual_name(), Qos::RELIABLE))
                .transpose()?,
            truth: bag.add_topic::<PoseStamped>(Role::Truth.usual_name(), Qos::RELIABLE)?,
            landmarks: has_landmarks
                .then(|| bag.add_topic::<PointCloud2>(Role::TrueLandmarks.usual_name(), Qos::LATCHED))
                .transpose()?,
        })
    }

    fn write(&mut self, input: &Input, received: Stamp, bag: &mut BagWriter) -> Result<(), WriteError> {
        let (topic, bytes) = match (input, self.imu) {
            (Input::Odometry(odometry) | Input::Received { source: 0, odometry, .. }, _) => {
                let pose = self.reckoning.add(odometry);
                let transform = transform_message(odometry.stamp, &pose, ODOM_FRAME, BASE_FRAME);
                bag.write_serialized(self.transforms, received, odometry.stamp, &cdr::encode(&transform)?)?;
                let mut message = odometry_message(odometry, ODOM_FRAME, BASE_FRAME);
                message.pose.pose = pose_message(&pose);
                (self.odometry, cdr::encode(&message)?)
            }
            (Input::Scan(features), _) if is_of_world(features) => match self.absolute_pose {
                Some(topic) => (topic, cdr::encode(&absolute_pose_message(features, WORLD_FRAME))?),
                None => return Ok(()),
            },
            (Input::Scan(features), _) => (self.features, cdr::encode(&features_message(features, SENSOR_FRAME))?),
            (Input::Imu(imu), Some(topic)) => (topic, cdr::encode(&imu_message(imu, BASE_FRAME))?),
            (Input::Imu(_), None) | (Input::Fallback { .. } | Input::Received { .. }, _) => return Ok(()),
        };
        bag.write_serialized(topic, received, input.stamp(), &bytes)
    }
}

/// Whether measurements are of a pose in the world.
fn is_of_world(features: &Scan) -> bool {
    matches!(features.kind, MeasurementKind::WorldPosition | MeasurementKind::WorldPose)
}

/// The frame of what is measured from outside.
const WORLD_FRAME: &str = "world";

/// Twists added up to a pose in the odometry's frame, as the driver of a robot does it.
#[derive(Default)]
struct DeadReckoning {
    pose: Se2,
    last: Option<Stamp>,
}

impl DeadReckoning {
    /// Longer intervals are gaps, in which nobody knows how the robot moved, s.
    const GAP_S: f64 = 1.0;

    /// The pose at a sample. One that comes late changes nothing.
    fn add(&mut self, odometry: &lienav_slam::Odometry) -> Se2 {
        let elapsed = self.last.map_or(0.0, |last| odometry.stamp.since(last));
        if elapsed > 0.0 && elapsed <= Self::GAP_S {
            let twist = Vector3::new(odometry.velocity.x, odometry.velocity.y, odometry.yaw_rate);
            self.pose = self.pose * Se2::exp(&(twist * elapsed));
        }
        self.last = self.last.max(Some(odometry.stamp));
        self.pose
    }
}

fn first_stamp(recording: &Recording) -> Stamp {
    let first = |a: Option<Stamp>, b: Option<Stamp>| a.into_iter().chain(b).min();
    first(recording.inputs.first().map(Input::stamp), recording.truth.first().map(|t| t.0))
        .unwrap_or_default()
        .max(Stamp::from_nanos(0))
}

#[cfg(test)]
#[path = "to_bag_tests.rs"]
mod tests;
