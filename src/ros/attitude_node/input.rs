//! What `attitude_node` listens to: topics, and services.

use super::{Mode, Settings};
use crate::ros::receive::{Inbox, OnTopic, merged, receive, subscribe};
use crate::ros::{lifecycle, parameters, qos};
use lienav_attitude::Config;
use lienav_io::bag::cdr::CdrError;
use lienav_io::messages::{self, Imu, MagneticField, WrenchStamped};
use r2r::std_srvs::srv::{SetBool, Trigger};
use r2r::{Node, QosProfile, ServiceRequest};

/// Whatever arrives.
pub enum Event {
    /// `imu`
    Imu(Imu),
    /// `mag`
    MagneticField(MagneticField),
    /// `wrench`
    Wrench(WrenchStamped),
    /// Bytes on a topic that are no message of its type.
    Unreadable(&'static str, CdrError),
    /// About parameters.
    Parameters(parameters::Request),
    /// About the state of the node.
    Lifecycle(lifecycle::Request),
    /// `~/reset`
    Reset(ServiceRequest<Trigger::Service>),
    /// `~/set_enabled`
    SetEnabled(ServiceRequest<SetBool::Service>),
}

impl OnTopic for Event {
    fn topic(&self) -> usize {
        match self {
            Self::Imu(_) | Self::Wrench(_) => 0,
            Self::MagneticField(_) => 1,
            _ => 2,
        }
    }

    fn stamp(&self) -> Option<(i32, u32)> {
        let stamp = match self {
            Self::Imu(message) => &message.header.stamp,
            Self::MagneticField(message) => &message.header.stamp,
            Self::Wrench(message) => &message.header.stamp,
            _ => return None,
        };
        Some((stamp.sec, stamp.nanosec))
    }
}

/// What has arrived together: messages in the order of their stamps, so that a magnetic field meets the orientation it
/// was measured in; then requests, for who asks may have sent messages before, and waits for the answer before sending
/// more.
pub fn in_order(batch: Vec<Event>) -> Vec<Event> {
    let (messages, requests): (Vec<_>, Vec<_>) = batch.into_iter().partition(|event| event.stamp().is_some());
    let mut events = merged::<_, 2>(messages);
    events.extend(requests);
    events
}

/// Subscribes to the topics that are wanted, and offers the services.
///
/// # Errors
/// ROS refuses one of them.
pub fn listen(node: &mut Node, settings: &Settings, config: &Config) -> r2r::Result<Vec<Inbox<Event>>> {
    let mut inboxes: Vec<Inbox<Event>> = Vec::new();
    match settings.mode {
        Mode::Imu => {
            inboxes.push(hear(node, "imu", Event::Imu)?);
            if config.magnetometer.enabled {
                inboxes.push(hear(node, "mag", Event::MagneticField)?);
            }
        }
        Mode::Dynamics => inboxes.push(hear(node, "wrench", Event::Wrench)?),
    }
    let services = QosProfile::services_default;
    inboxes.push(receive(node.create_service("~/reset", services())?, Event::Reset));
    inboxes.push(receive(node.create_service("~/set_enabled", services())?, Event::SetEnabled));
    Ok(inboxes)
}

/// Subscribes to one topic.
fn hear<M: messages::Message + Send + 'static>(
    node: &mut Node,
    topic: &'static str,
    event: fn(M) -> Event,
) -> r2r::Result<Inbox<Event>> {
    subscribe(node, topic, qos::fast_sensor_data(), move |decoded: Result<M, CdrError>| {
        decoded.map_or_else(|error| Event::Unreadable(topic, error), event)
    })
}
