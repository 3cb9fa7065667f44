//! What `slam3d_node` listens to: topics, and services.

use crate::ros::receive::{Inbox, OnTopic, merged, receive, subscribe};
use crate::ros::{lifecycle, parameters, qos};
use lienav_io::bag::cdr::CdrError;
use lienav_io::messages::{
    self, AprilTagDetectionArray, CameraInfo, Imu, Odometry, PointCloud2, PoseWithCovarianceStamped, TfMessage,
};
use lienav_io::space::robot::settings::MOST_CAMERAS;
use lienav_io::space::robot::settings::Settings;
use r2r::std_srvs::srv::{SetBool, Trigger};
use r2r::{Node, QosProfile, ServiceRequest};

/// Whatever arrives.
pub enum Event {
    /// `/tf_static`
    StaticTransforms(Box<TfMessage>),
    /// `camera_info`, or that of one of several cameras.
    CameraInfo(usize, Box<CameraInfo>),
    /// Tags of one of several cameras.
    Detections(usize, Box<AprilTagDetectionArray>),
    /// `initialpose`
    InitialPose(Box<PoseWithCovarianceStamped>),
    /// `features`
    Features(Box<PointCloud2>),
    /// `odom`
    Odometry(Box<Odometry>),
    /// `absolute_pose`
    AbsolutePose(Box<PoseWithCovarianceStamped>),
    /// `imu`
    Imu(Box<Imu>),
    /// Bytes on a topic that are no message of its type.
    Unreadable(&'static str, CdrError),
    /// About parameters.
    Parameters(parameters::Request),
    /// About the state of the node.
    Lifecycle(lifecycle::Request),
    /// `~/reset`
    Reset(ServiceRequest<Trigger::Service>),
    /// `~/save_map`
    SaveMap(ServiceRequest<Trigger::Service>),
    /// `~/load_map`
    LoadMap(ServiceRequest<Trigger::Service>),
    /// `~/set_enabled`
    SetEnabled(ServiceRequest<SetBool::Service>),
}

/// Topics that are not of cameras, for [`merged`].
const OTHERS: usize = 7;
/// All topics.
const TOPICS: usize = OTHERS + MOST_CAMERAS;

impl OnTopic for Event {
    fn topic(&self) -> usize {
        match self {
            Self::StaticTransforms(_) => 0,
            Self::CameraInfo(..) => 1,
            Self::InitialPose(_) => 2,
            Self::Features(_) => 3,
            // The topics of cameras are merged with each other, too.
            Self::Detections(k, _) => OTHERS + k,
            Self::Odometry(_) => 4,
            Self::AbsolutePose(_) => 5,
            Self::Imu(_) => 6,
            _ => TOPICS,
        }
    }

    fn stamp(&self) -> Option<(i32, u32)> {
        let stamp = match self {
            Self::Features(message) => &message.header.stamp,
            Self::Detections(_, message) => &message.header.stamp,
            Self::Odometry(message) => &message.header.stamp,
            Self::AbsolutePose(message) => &message.header.stamp,
            Self::Imu(message) => &message.header.stamp,
            _ => return None,
        };
        Some((stamp.sec, stamp.nanosec))
    }
}

impl Event {
    fn is_request(&self) -> bool {
        matches!(
            self,
            Self::Parameters(_)
                | Self::Lifecycle(_)
                | Self::Reset(_)
                | Self::SaveMap(_)
                | Self::LoadMap(_)
                | Self::SetEnabled(_)
        )
    }
}

/// What has arrived together: messages in the order of their stamps, then requests, whose sender may have sent messages
/// before.
pub fn in_order(batch: Vec<Event>) -> Vec<Event> {
    let (requests, messages): (Vec<_>, Vec<_>) = batch.into_iter().partition(Event::is_request);
    let mut events = merged::<_, TOPICS>(messages);
    events.extend(requests);
    events
}

/// Subscribes to the topics, tags with `imu` or without, and `odom` only where they are wanted, and offers the services.
///
/// # Errors
/// ROS refuses one of them.
pub fn listen(node: &mut Node, settings: &Settings, tags_with_imu: bool) -> r2r::Result<Vec<Inbox<Event>>> {
    let sensor = qos::sensor_data;
    let mut inboxes = vec![
        hear(node, "/tf_static", qos::static_transforms(), Event::StaticTransforms)?,
        hear(node, "initialpose", qos::reliable(), Event::InitialPose)?,
        hear(node, "absolute_pose", sensor(), Event::AbsolutePose)?,
    ];
    let tags = &settings.tags;
    if tags.is_used() {
        for (k, (detections, info)) in tags.topics().into_iter().zip(tags.camera_infos()).enumerate() {
            let event = move |message| Event::CameraInfo(k, message);
            inboxes.push(hear_as(node, &info, "camera_info", sensor(), event)?);
            let event = move |message| Event::Detections(k, message);
            inboxes.push(hear_as(node, detections, "detections", sensor(), event)?);
        }
    }
    if !tags.is_used() || tags_with_imu {
        inboxes.push(hear(node, "imu", qos::fast_sensor_data(), Event::Imu)?);
    }
    if !tags.is_used() {
        inboxes.push(hear(node, "camera_info", sensor(), |message| Event::CameraInfo(0, message))?);
        inboxes.push(hear(node, "features", sensor(), Event::Features)?);
    }
    if settings.uses_odometry() {
        inboxes.push(hear(node, "odom", sensor(), Event::Odometry)?);
    }
    let services = QosProfile::services_default;
    inboxes.push(receive(node.create_service("~/reset", services())?, Event::Reset));
    inboxes.push(receive(node.create_service("~/save_map", services())?, Event::SaveMap));
    inboxes.push(receive(node.create_service("~/load_map", services())?, Event::LoadMap));
    inboxes.push(receive(node.create_service("~/set_enabled", services())?, Event::SetEnabled));
    Ok(inboxes)
}

/// Subscribes to one topic.
fn hear<M: messages::Message + Send + 'static>(
    node: &mut Node,
    topic: &'static str,
    qos: QosProfile,
    event: fn(Box<M>) -> Event,
) -> r2r::Result<Inbox<Event>> {
    hear_as(node, topic, topic, qos, event)
}

/// The same of a topic whose messages are counted under another word.
fn hear_as<M: messages::Message + Send + 'static>(
    node: &mut Node,
    topic: &str,
    word: &'static str,
    qos: QosProfile,
    event: impl Fn(Box<M>) -> Event + Send + 'static,
) -> r2r::Result<Inbox<Event>> {
    subscribe(node, topic, qos, move |decoded: Result<M, CdrError>| match decoded {
        Ok(message) => event(Box::new(message)),
        Err(error) => Event::Unreadable(word, error),
    })
}
