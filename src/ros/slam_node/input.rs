//! What `slam_node` listens to: topics, and services.

use super::Settings;
use super::inputs::Inputs;
use super::topic::Topic;
use super::tree::leads_to;
use crate::ros::receive::{Inbox, OnTopic, merged, receive, subscribe, subscribe_some};
use crate::ros::{lifecycle, parameters, qos};
use lienav_io::bag::cdr::CdrError;
use lienav_io::intake::{FeaturesMessage, FeaturesOf, OdometryMessage, OdometryOf};
use lienav_io::messages::{self, CameraInfo, Imu, NavSatFix, PoseWithCovarianceStamped, TfMessage};
use r2r::std_srvs::srv::{SetBool, Trigger};
use r2r::{Node, QosProfile, ServiceRequest};

/// A message of one of the topics.
pub enum Message {
    /// Of a source of odometry.
    Odometry(u8, OdometryOf),
    /// `imu`
    Imu(Box<Imu>),
    /// Of a feature sensor.
    Scan(u8, FeaturesOf),
    /// Of the camera of a feature sensor.
    CameraInfo(u8, Box<CameraInfo>),
    /// `/tf_static`
    StaticTransforms(Box<TfMessage>),
    /// `/tf`
    Transforms(Box<TfMessage>),
    /// `absolute_pose`
    AbsolutePose(Box<PoseWithCovarianceStamped>),
    /// `fix`
    Fix(Box<NavSatFix>),
    /// `initialpose`
    InitialPose(Box<PoseWithCovarianceStamped>),
    /// Bytes that are no message of their topic's type.
    Unreadable(Topic, CdrError),
}

/// Somebody waits for an answer.
pub enum Request {
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
    /// `~/relocalize`
    Relocalize(ServiceRequest<Trigger::Service>),
    /// `~/set_enabled`
    SetEnabled(ServiceRequest<SetBool::Service>),
}

/// Whatever arrives.
pub enum Event {
    /// A message.
    Message(Message),
    /// A request.
    Request(Request),
}

impl OnTopic for Message {
    fn stamp(&self) -> Option<(i32, u32)> {
        let stamp = match self {
            Self::Odometry(_, OdometryOf::Odometry(message)) => &message.header.stamp,
            Self::Odometry(_, OdometryOf::Twist(message)) => &message.header.stamp,
            Self::Imu(message) => &message.header.stamp,
            Self::Scan(_, message) => &message.header().stamp,
            Self::AbsolutePose(message) => &message.header.stamp,
            Self::Fix(message) => &message.header.stamp,
            Self::Transforms(message) => &message.transforms.first()?.header.stamp,
            Self::InitialPose(_) | Self::StaticTransforms(_) | Self::CameraInfo(..) | Self::Unreadable(..) => {
                return None;
            }
        };
        Some((stamp.sec, stamp.nanosec))
    }

    fn weight(&self) -> usize {
        match self {
            Self::Scan(_, FeaturesOf::PointCloud(message)) => message.data.0.len(),
            Self::Scan(_, FeaturesOf::Poses(message)) => message.poses.len() * size_of::<messages::Pose>(),
            Self::Scan(_, FeaturesOf::Detections(message)) => {
                let of_one = |d: &messages::Detection3D| {
                    size_of_val(d) + d.results.len() * size_of::<messages::ObjectHypothesisWithPose>()
                };
                message.detections.iter().map(of_one).sum()
            }
            Self::Scan(_, FeaturesOf::AprilTags(message)) => size_of_val(message.detections.as_slice()),
            _ => 1,
        }
    }

    fn topic(&self) -> usize {
        let topic = match self {
            Self::InitialPose(_) => Topic::InitialPose,
            Self::Odometry(source, _) => Topic::Odometry(*source),
            Self::Imu(_) => Topic::Imu,
            Self::AbsolutePose(_) => Topic::AbsolutePose,
            Self::Fix(_) => Topic::Fix,
            Self::Scan(sensor, _) => Topic::Scan(*sensor),
            Self::CameraInfo(sensor, _) => Topic::CameraInfo(*sensor),
            Self::StaticTransforms(_) => Topic::StaticTransforms,
            Self::Transforms(_) => Topic::Transforms,
            Self::Unreadable(topic, _) => *topic,
        };
        topic.index()
    }
}

/// Splits what has arrived together into requests, and messages in the order of their stamps.
pub fn sort(batch: Vec<Event>) -> (Vec<Request>, Vec<Message>) {
    let (mut requests, mut messages) = (Vec::new(), Vec::new());
    for event in batch {
        match event {
            Event::Request(request) => requests.push(request),
            Event::Message(message) => messages.push(message),
        }
    }
    (requests, merged::<_, { Topic::COUNT }>(messages))
}

/// Subscribes to the topics, `imu`, `absolute_pose` and `fix` only where they are wanted, and offers the services.
///
/// # Errors
/// ROS refuses one of them.
pub fn listen(node: &mut Node, settings: &Settings, inputs: &Inputs) -> r2r::Result<Vec<Inbox<Event>>> {
    let mut inboxes: Vec<Inbox<Event>> = Vec::new();
    let of_robot = (Topic::StaticTransforms, "/tf_static");
    inboxes.push(hear(node, of_robot, qos::static_transforms(), Message::StaticTransforms)?);
    for (k, source) in (0..).zip(inputs.odometry_sources()) {
        let topic = (Topic::Odometry(k), source.topic.as_str());
        inboxes.push(match source.message {
            OdometryMessage::Odometry => {
                hear(node, topic, qos::sensor_data(), move |m| Message::Odometry(k, OdometryOf::Odometry(m)))?
            }
            OdometryMessage::Twist => {
                hear(node, topic, qos::sensor_data(), move |m| Message::Odometry(k, OdometryOf::Twist(m)))?
            }
        });
    }
    if settings.use_imu {
        inboxes.push(hear(node, (Topic::Imu, "imu"), qos::fast_sensor_data(), Message::Imu)?);
    }
    if settings.gnss.use_absolute_pose {
        let topic = (Topic::AbsolutePose, "absolute_pose");
        inboxes.push(hear(node, topic, qos::sensor_data(), Message::AbsolutePose)?);
    }
    if settings.gnss.use_fix {
        inboxes.push(hear(node, (Topic::Fix, "fix"), qos::sensor_data(), Message::Fix)?);
    }
    for (k, (topic, message)) in (0..).zip(inputs.feature_topics()) {
        let topic = (Topic::Scan(k), topic);
        inboxes.push(match message {
            FeaturesMessage::PointCloud => {
                hear(node, topic, qos::sensor_data(), move |m| Message::Scan(k, FeaturesOf::PointCloud(m)))?
            }
            FeaturesMessage::PoseArray => {
                hear(node, topic, qos::sensor_data(), move |m| Message::Scan(k, FeaturesOf::Poses(m)))?
            }
            FeaturesMessage::Detections => {
                hear(node, topic, qos::sensor_data(), move |m| Message::Scan(k, FeaturesOf::Detections(m)))?
            }
            FeaturesMessage::AprilTags => {
                hear(node, topic, qos::sensor_data(), move |m| Message::Scan(k, FeaturesOf::AprilTags(m)))?
            }
        });
    }
    for (k, topic) in inputs.camera_topics() {
        let topic = (Topic::CameraInfo(k), topic.as_str());
        inboxes.push(hear(node, topic, qos::sensor_data(), move |m| Message::CameraInfo(k, m))?);
    }
    if inputs.wants_tags() {
        inboxes.push(hear(node, (Topic::Transforms, "/tf"), qos::sensor_data(), Message::Transforms)?);
    } else if settings.publish_tf {
        // Of all that robots say there, only what would contradict this node.
        let odom = settings.odom_frame.clone();
        let conflict = move |decoded: Result<TfMessage, CdrError>| {
            let message = decoded.ok().filter(|message| leads_to(message, &odom))?;
            Some(Event::Message(Message::Transforms(Box::new(message))))
        };
        inboxes.push(subscribe_some(node, "/tf", qos::sensor_data(), conflict)?);
    }
    inboxes.push(hear(node, (Topic::InitialPose, "initialpose"), qos::reliable(), Message::InitialPose)?);
    let services = QosProfile::services_default;
    inboxes.push(receive(node.create_service("~/reset", services())?, |r| Event::Request(Request::Reset(r))));
    inboxes.push(receive(node.create_service("~/save_map", services())?, |r| Event::Request(Request::SaveMap(r))));
    inboxes.push(receive(node.create_service("~/load_map", services())?, |r| Event::Request(Request::LoadMap(r))));
    inboxes.push(receive(node.create_service("~/relocalize", services())?, |r| Event::Request(Request::Relocalize(r))));
    inboxes
        .push(receive(node.create_service("~/set_enabled", services())?, |r| Event::Request(Request::SetEnabled(r))));
    Ok(inboxes)
}

/// Subscribes to one topic.
fn hear<M: messages::Message + Send + 'static>(
    node: &mut Node,
    (topic, name): (Topic, &str),
    qos: QosProfile,
    message: impl Fn(Box<M>) -> Message + Send + 'static,
) -> r2r::Result<Inbox<Event>> {
    subscribe(node, name, qos, move |decoded: Result<M, CdrError>| {
        Event::Message(decoded.map_or_else(|error| Message::Unreadable(topic, error), |m| message(Box::new(m))))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ros::slam_node::topic::FEATURE_TOPICS;
    use lienav_base::stamp::Stamp;
    use lienav_io::convert::header;
    use lienav_io::messages::{Odometry, PointCloud2};

    fn odometry(ms: i64) -> Event {
        let header = header(Stamp::from_nanos(1_000_000 * ms), "odom");
        let message = Box::new(Odometry { header, ..Default::default() });
        Event::Message(Message::Odometry(0, OdometryOf::Odometry(message)))
    }

    fn features(ms: i64) -> Event {
        let header = header(Stamp::from_nanos(1_000_000 * ms), "feature_sensor");
        let message = Box::new(PointCloud2 { header, ..Default::default() });
        Event::Message(Message::Scan(0, FeaturesOf::PointCloud(message)))
    }

    fn shown(batch: Vec<Event>) -> Vec<(char, u32)> {
        let show = |m: &Message| {
            (if m.topic() == Topic::Odometry(0).index() { 'o' } else { 'f' }, m.stamp().unwrap().1 / 1_000_000)
        };
        sort(batch).1.iter().map(show).collect()
    }

    #[test]
    fn clouds_do_not_overtake_the_odometry_they_wait_for() {
        // What two turns of r2r bring after a while without processor time: one of each, then one of each.
        let batch = vec![odometry(5), features(5), odometry(10), features(55), odometry(50), odometry(55)];
        assert_eq!(shown(batch), [('o', 5), ('f', 5), ('o', 10), ('o', 50), ('o', 55), ('f', 55)]);
    }

    #[test]
    fn every_topic_has_a_place_of_its_own() {
        let others = [
            Topic::InitialPose,
            Topic::StaticTransforms,
            Topic::Imu,
            Topic::Transforms,
            Topic::AbsolutePose,
            Topic::Fix,
        ];
        let cameras = (0..FEATURE_TOPICS as u8).map(Topic::CameraInfo);
        let all = others.into_iter().chain(Topic::of_features()).chain(Topic::of_odometry()).chain(cameras);
        let mut places: Vec<usize> = all.map(Topic::index).collect();
        places.sort_unstable();
        assert_eq!(places, (0..Topic::COUNT).collect::<Vec<_>>());
    }

    #[test]
    fn messages_of_one_topic_stay_in_their_order() {
        assert_eq!(shown(vec![odometry(30), odometry(10), odometry(20)]), [('o', 30), ('o', 10), ('o', 20)]);
    }
}
