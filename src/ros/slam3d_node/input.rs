//! What `slam3d_node` listens to: topics, and services.

use super::Settings;
use crate::ros::receive::{Inbox, OnTopic, merged, receive, subscribe};
use crate::ros::{lifecycle, parameters, qos};
use lienav_io::bag::cdr::CdrError;
use lienav_io::messages::{self, CameraInfo, Imu, Odometry, PointCloud2, PoseWithCovarianceStamped, TfMessage};
use r2r::std_srvs::srv::{SetBool, Trigger};
use r2r::{Node, QosProfile, ServiceRequest};

/// Whatever arrives.
pub enum Event {
    /// `/tf_static`
    StaticTransforms(Box<TfMessage>),
    /// `camera_info`
    CameraInfo(Box<CameraInfo>),
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

/// Topics, for [`merged`].
const TOPICS: usize = 8;

impl OnTopic for Event {
    fn topic(&self) -> usize {
        match self {
            Self::StaticTransforms(_) => 0,
            Self::CameraInfo(_) => 1,
            Self::InitialPose(_) => 2,
            Self::Features(_) => 3,
            Self::Odometry(_) => 4,
            Self::AbsolutePose(_) => 5,
            Self::Imu(_) => 6,
            _ => 7,
        }
    }

    fn stamp(&self) -> Option<(i32, u32)> {
        let stamp = match self {
            Self::Features(message) => &message.header.stamp,
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

/// Subscribes to the topics, `odom` only where it is wanted, and offers the services.
///
/// # Errors
/// ROS refuses one of them.
pub fn listen(node: &mut Node, settings: &Settings) -> r2r::Result<Vec<Inbox<Event>>> {
    let sensor = qos::sensor_data;
    let mut inboxes = vec![
        hear(node, "/tf_static", qos::static_transforms(), Event::StaticTransforms)?,
        hear(node, "camera_info", sensor(), Event::CameraInfo)?,
        hear(node, "initialpose", qos::reliable(), Event::InitialPose)?,
        hear(node, "features", sensor(), Event::Features)?,
        hear(node, "absolute_pose", sensor(), Event::AbsolutePose)?,
        hear(node, "imu", qos::fast_sensor_data(), Event::Imu)?,
    ];
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
    subscribe(node, topic, qos, move |decoded: Result<M, CdrError>| match decoded {
        Ok(message) => event(Box::new(message)),
        Err(error) => Event::Unreadable(topic, error),
    })
}
