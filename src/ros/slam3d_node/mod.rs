//! `slam3d_node`: an inertial sensor and landmarks in, or tags and odometry; pose, map and transform in space out.
//! docs/slam3d.md has the table of its topics.
//!
//! One thread: a sample takes the filter microseconds, and a frame less than a millisecond.

mod display;
mod input;
mod managed;
mod output;
mod report;
mod squares;
mod worker;

pub use lienav_io::space::robot::settings::{MapSettings, SPECS, Settings};
pub use output::{pose_of, transform};
pub use report::{NO_IDENTITY, remedy};

use super::clock::RosClock;
use super::lifecycle;
use super::log::Log;
use super::parameters::{self, ParameterError, Parameters};
use super::receive::{WAIT, all, relay};
use super::start::{self, StartError, clock_follower};
use super::stop::Stop;
use super::type_description;
use input::Event;
use lienav_io::space::robot::filter_of;
use lienav_space::Config;
use lienav_space::tags::TagConfig;
use lienav_space::tags::settings::SPECS as TAG_SPECS;
use worker::Worker;

/// The types of its topics and services, beside those that every node has. Those of tags are known where r2r was built
/// with them.
const TYPES: &[&str] = &[
    #[cfg(feature = "apriltag_msgs")]
    "apriltag_msgs/msg/AprilTagDetectionArray",
    "diagnostic_msgs/msg/DiagnosticStatus",
    "geometry_msgs/msg/PoseWithCovarianceStamped",
    "nav_msgs/msg/Odometry",
    "nav_msgs/msg/Path",
    "sensor_msgs/msg/CameraInfo",
    "sensor_msgs/msg/Imu",
    "sensor_msgs/msg/PointCloud2",
    "std_srvs/srv/SetBool",
    "std_srvs/srv/Trigger",
    "tf2_msgs/msg/TFMessage",
    "visualization_msgs/msg/MarkerArray",
];

/// Runs the node until `stop`.
///
/// # Errors
/// The command line, a parameter, or ROS.
pub fn run(stop: &Stop) -> Result<(), StartError> {
    let mut node = start::node("slam3d_node")?;
    let log = Log::new(node.logger());
    let parameters = declare(&node, &log)?;
    let settings: Settings = parameters.read(SPECS)?;
    check_tags(&settings).map_err(ParameterError::Unusable)?;
    let config: Config = parameters.read(lienav_space::SPECS)?;
    let clock = RosClock::of(&mut node, parameters::use_sim_time(&parameters)?)?;

    let (requests, events) = parameters::Services::of(&mut node)?.split();
    let own: TagConfig = parameters.read(TAG_SPECS)?;
    let filter = filter_of(&settings, config, own.clone()).map_err(ParameterError::Unusable)?;
    let mut inboxes = input::listen(&mut node, &settings, own.tags.use_imu)?;
    inboxes.extend(requests.into_iter().map(|inbox| relay(inbox, Event::Parameters)));
    let (requests, lifecycle) = lifecycle::Services::of(&mut node)?.split();
    inboxes.extend(requests.into_iter().map(|inbox| relay(inbox, Event::Lifecycle)));
    inboxes.extend(type_description::offer(&mut node, &[TYPES, &type_description::COMMON])?);
    let autostart = parameters.read::<lifecycle::Start>(lifecycle::START_SPECS)?.autostart;
    let mut worker =
        Worker::of(&mut node, filter, parameters, settings, events, clock.clone(), lifecycle, log.clone())?;

    parameters::declare_qos(worker.parameters(), &node, &log);
    worker.begin(autostart);
    let mut follow_clock = clock_follower(clock, log);
    while !stop.is_requested() {
        let batch = all(&mut node, &mut inboxes, WAIT);
        input::in_order(batch).into_iter().for_each(|event| worker.take(event));
        worker.look_after();
        follow_clock(&mut node);
    }
    Ok(())
}

/// All parameters, with what the user has set; warns of names that are no parameters.
fn declare(node: &r2r::Node, log: &Log) -> Result<Parameters, ParameterError> {
    let overrides = parameters::overrides(node);
    let mut all = Parameters::default();
    all.declare(&Config::default(), lienav_space::SPECS, &overrides)?;
    all.declare(&Settings::default(), SPECS, &overrides)?;
    all.declare(&TagConfig::default(), TAG_SPECS, &overrides)?;
    all.declare(&lifecycle::Start::default(), lifecycle::START_SPECS, &overrides)?;
    all.declare(&parameters::Time::default(), parameters::TIME_SPECS, &overrides)?;
    parameters::warn_of_unknown(&all, &overrides, log);
    Ok(all)
}

/// Tags are taken where their messages were built in.
fn check_tags(settings: &Settings) -> Result<(), String> {
    if settings.tags.is_used() && !cfg!(feature = "apriltag_msgs") {
        return Err("parameter 'tags.detections' needs apriltag_msgs, which this build has not: install \
                    ros-$ROS_DISTRO-apriltag-msgs and build again with --features apriltag_msgs"
            .to_owned());
    }
    settings.tags.check()
}
