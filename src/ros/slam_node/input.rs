//! What `slam_node` listens to: topics, and services.

use super::Settings;
use crate::ros::parameters;
use crate::ros::qos;
use crate::ros::receive::{Inbox, receive};
use r2r::geometry_msgs::msg::PoseWithCovarianceStamped;
use r2r::nav_msgs::msg::Odometry;
use r2r::sensor_msgs::msg::{Imu, PointCloud2};
use r2r::std_srvs::srv::{SetBool, Trigger};
use r2r::{Node, QosProfile, ServiceRequest};

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
}

/// Somebody waits for an answer.
pub enum Request {
    /// About parameters.
    Parameters(parameters::Request),
    /// `~/reset`
    Reset(ServiceRequest<Trigger::Service>),
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

/// Subscribes to the topics, `imu` only where it is wanted, and offers the services.
///
/// # Errors
/// ROS refuses one of them.
pub fn listen(node: &mut Node, settings: &Settings) -> r2r::Result<Vec<Inbox<Event>>> {
    let mut inboxes: Vec<Inbox<Event>> = Vec::new();
    inboxes
        .push(receive(node.subscribe("odom", qos::sensor_data())?, |m| Event::Message(Message::Odometry(Box::new(m)))));
    if settings.use_imu {
        inboxes
            .push(receive(node.subscribe("imu", qos::sensor_data())?, |m| Event::Message(Message::Imu(Box::new(m)))));
    }
    inboxes.push(receive(node.subscribe("features", qos::sensor_data())?, |m| {
        Event::Message(Message::Features(Box::new(m)))
    }));
    inboxes.push(receive(node.subscribe("initialpose", qos::reliable())?, |m| {
        Event::Message(Message::InitialPose(Box::new(m)))
    }));
    let services = QosProfile::services_default;
    inboxes.push(receive(node.create_service("~/reset", services())?, |r| Event::Request(Request::Reset(r))));
    inboxes
        .push(receive(node.create_service("~/set_enabled", services())?, |r| Event::Request(Request::SetEnabled(r))));
    Ok(inboxes)
}
