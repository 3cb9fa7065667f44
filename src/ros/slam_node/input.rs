//! What `slam_node` listens to: topics, and services.

use super::Settings;
use crate::ros::receive::{Inbox, OnTopic, merged, receive, subscribe};
use crate::ros::{lifecycle, parameters, qos};
use lienav_io::bag::cdr::CdrError;
use lienav_io::messages::{self, Imu, Odometry, PointCloud2, PoseWithCovarianceStamped};
use r2r::std_srvs::srv::{SetBool, Trigger};
use r2r::{Node, QosProfile, ServiceRequest};

/// The topics, in the order in which messages of one stamp are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Topic {
    /// `initialpose`
    InitialPose,
    /// `odom`
    Odometry,
    /// `imu`
    Imu,
    /// `features`
    Features,
}

impl Topic {
    /// How many there are.
    pub const COUNT: usize = 4;

    /// Its name, before remapping.
    pub fn name(self) -> &'static str {
        ["initialpose", "odom", "imu", "features"][self as usize]
    }
}

/// A message of one of the topics.
pub enum Message {
    /// `odom`
    Odometry(Box<Odometry>),
    /// `imu`
    Imu(Box<Imu>),
    /// `features`
    Features(Box<PointCloud2>),
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
            Self::Odometry(message) => &message.header.stamp,
            Self::Imu(message) => &message.header.stamp,
            Self::Features(message) => &message.header.stamp,
            Self::InitialPose(_) | Self::Unreadable(..) => return None,
        };
        Some((stamp.sec, stamp.nanosec))
    }

    fn weight(&self) -> usize {
        match self {
            Self::Features(message) => message.data.0.len(),
            _ => 1,
        }
    }

    fn topic(&self) -> usize {
        let topic = match self {
            Self::InitialPose(_) => Topic::InitialPose,
            Self::Odometry(_) => Topic::Odometry,
            Self::Imu(_) => Topic::Imu,
            Self::Features(_) => Topic::Features,
            Self::Unreadable(topic, _) => *topic,
        };
        topic as usize
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

/// Subscribes to the topics, `imu` only where it is wanted, and offers the services.
///
/// # Errors
/// ROS refuses one of them.
pub fn listen(node: &mut Node, settings: &Settings) -> r2r::Result<Vec<Inbox<Event>>> {
    let mut inboxes: Vec<Inbox<Event>> = Vec::new();
    inboxes.push(hear(node, Topic::Odometry, qos::sensor_data(), Message::Odometry)?);
    if settings.use_imu {
        inboxes.push(hear(node, Topic::Imu, qos::fast_sensor_data(), Message::Imu)?);
    }
    inboxes.push(hear(node, Topic::Features, qos::sensor_data(), Message::Features)?);
    inboxes.push(hear(node, Topic::InitialPose, qos::reliable(), Message::InitialPose)?);
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
    topic: Topic,
    qos: QosProfile,
    message: fn(Box<M>) -> Message,
) -> r2r::Result<Inbox<Event>> {
    subscribe(node, topic.name(), qos, move |decoded: Result<M, CdrError>| {
        Event::Message(decoded.map_or_else(|error| Message::Unreadable(topic, error), |m| message(Box::new(m))))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use lienav_base::stamp::Stamp;
    use lienav_io::convert::header;

    fn odometry(ms: i64) -> Event {
        let header = header(Stamp::from_nanos(1_000_000 * ms), "odom");
        Event::Message(Message::Odometry(Box::new(Odometry { header, ..Default::default() })))
    }

    fn features(ms: i64) -> Event {
        let header = header(Stamp::from_nanos(1_000_000 * ms), "feature_sensor");
        Event::Message(Message::Features(Box::new(PointCloud2 { header, ..Default::default() })))
    }

    fn shown(batch: Vec<Event>) -> Vec<(char, u32)> {
        let show = |m: &Message| (if m.topic() == 1 { 'o' } else { 'f' }, m.stamp().unwrap().1 / 1_000_000);
        sort(batch).1.iter().map(show).collect()
    }

    #[test]
    fn clouds_do_not_overtake_the_odometry_they_wait_for() {
        // What two turns of r2r bring after a while without processor time: one of each, then one of each.
        let batch = vec![odometry(5), features(5), odometry(10), features(55), odometry(50), odometry(55)];
        assert_eq!(shown(batch), [('o', 5), ('f', 5), ('o', 10), ('o', 50), ('o', 55), ('f', 55)]);
    }

    #[test]
    fn messages_of_one_topic_stay_in_their_order() {
        assert_eq!(shown(vec![odometry(30), odometry(10), odometry(20)]), [('o', 30), ('o', 10), ('o', 20)]);
    }
}
