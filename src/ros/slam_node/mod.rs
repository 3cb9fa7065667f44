//! `slam_node`: odometry and features in; pose, map and transform out. docs/running.md has the table of its topics.
//!
//! Two threads: the main one turns ROS and empties its small channels into a queue that counts what it drops; the
//! other (`worker`) takes from that queue, steps the filter and publishes.

mod display;
mod health;
mod input;
mod inputs;
mod local;
mod map;
mod markers;
mod output;
mod pause;
mod quality;
mod report;
mod settings;
mod statements;
mod tally;
mod topic;
mod tree;
mod worker;

pub use quality::QualitySettings;
pub use report::{NO_ODOM_POSE, QUEUE_FULL, STALE};
pub use settings::{DatumFrom, GnssSettings, LocalOdometry, MapSettings, SPECS, Settings};

use super::clock::RosClock;
use super::lifecycle;
use super::log::Log;
use super::names::Names;
use super::parameters::{self, ParameterError, Parameters};
use super::queue::Queue;
use super::receive::relay;
use super::start::{self, StartError, clock_follower};
use super::stop::Stop;
use super::type_description;
use input::{Event, Request};
use inputs::Inputs;
use lienav_io::convert::check_frame_name;
use lienav_slam::{Config, MeasurementKind};
use topic::Topic;
use worker::Worker;

/// Clouds of so many bytes may wait for the filter; those that wait for long are skipped anyway.
const MOST_CLOUDS: usize = 64 << 20;

/// The types of its topics and services, beside those that every node has.
const TYPES: [&str; 14] = [
    "diagnostic_msgs/msg/DiagnosticStatus",
    "geometry_msgs/msg/PoseArray",
    "geometry_msgs/msg/PoseWithCovarianceStamped",
    "geometry_msgs/msg/TwistWithCovarianceStamped",
    "nav_msgs/msg/Odometry",
    "nav_msgs/msg/Path",
    "sensor_msgs/msg/CameraInfo",
    "sensor_msgs/msg/Imu",
    "sensor_msgs/msg/NavSatFix",
    "sensor_msgs/msg/PointCloud2",
    "std_srvs/srv/SetBool",
    "std_srvs/srv/Trigger",
    "tf2_msgs/msg/TFMessage",
    "visualization_msgs/msg/MarkerArray",
];

/// The types of messages that this build has by its features.
const OPTIONAL_TYPES: &[&str] = &[
    #[cfg(feature = "apriltag_msgs")]
    "apriltag_msgs/msg/AprilTagDetectionArray",
    #[cfg(feature = "vision_msgs")]
    "vision_msgs/msg/Detection3DArray",
];

// A feature without its package is an error of the build, which names the package, instead of one of the start.
#[cfg(feature = "apriltag_msgs")]
const _: usize = size_of::<r2r::apriltag_msgs::msg::AprilTagDetectionArray>();
#[cfg(feature = "vision_msgs")]
const _: usize = size_of::<r2r::vision_msgs::msg::Detection3DArray>();

/// Runs the node until `stop`.
///
/// # Errors
/// The command line, a parameter, or ROS.
pub fn run(stop: &Stop) -> Result<(), StartError> {
    let mut node = start::node("slam_node")?;
    let log = Log::new(node.logger());
    let (parameters, inputs) = declare(&node, &log)?;
    let settings: Settings = parameters.read(SPECS)?;
    check_frames(&settings).map_err(ParameterError::Unusable)?;
    let config: Config = parameters.read(lienav_slam::SPECS)?;
    if let Some(warning) = config.free_scale(kinds(&config, &settings)) {
        log.warn(warning);
    }
    check_loops(&node, &settings, &inputs)?;
    let (mut slam, parts) = worker::filter_of(config).map_err(|e| ParameterError::Unusable(e.to_string()))?;
    inputs.equip(&mut slam).map_err(|e| ParameterError::Unusable(e.to_string()))?;
    let clock = RosClock::of(&mut node, parameters::use_sim_time(&parameters)?)?;

    let (requests, events) = parameters::Services::of(&mut node)?.split();
    let mut inboxes = input::listen(&mut node, &settings, &inputs)?;
    inboxes.extend(requests.into_iter().map(|inbox| relay(inbox, |r| Event::Request(Request::Parameters(r)))));
    let (requests, lifecycle) = lifecycle::Services::of(&mut node)?.split();
    inboxes.extend(requests.into_iter().map(|inbox| relay(inbox, |r| Event::Request(Request::Lifecycle(r)))));
    inboxes.extend(type_description::offer(&mut node, &[&TYPES, OPTIONAL_TYPES, &type_description::COMMON])?);
    let managed = (lifecycle, parameters.read::<lifecycle::Start>(lifecycle::START_SPECS)?.autostart);
    let empty = Queue::new(settings.queue_size);
    let queue = Topic::of_features().fold(empty, |queue, topic| queue.holding(topic.index(), MOST_CLOUDS));
    let mut follow_clock = clock_follower(clock.clone(), log.clone());
    let publishers = tree::Publishers::default();
    let look_after = {
        let publishers = publishers.clone();
        move |node: &mut r2r::Node| {
            follow_clock(node);
            name_publishers(node, &publishers);
        }
    };
    let fed = ((slam, parts), inputs);
    let mut worker =
        Worker::of(&mut node, fed, parameters, (settings, publishers), events, clock, managed, log.clone())?;
    parameters::declare_qos(worker.parameters(), &node, &log);

    let take = |batch: Vec<Event>| {
        let (requests, messages) = input::sort(batch);
        requests.into_iter().for_each(|request| queue.push_request(request));
        messages.into_iter().for_each(|message| queue.push_message(message));
    };
    start::spin(node, inboxes, stop, take, look_after, || worker.run(&queue, stop))
}

/// All parameters, with what the user has set; warns of names that nobody has asked for.
fn declare(node: &r2r::Node, log: &Log) -> Result<(Parameters, Inputs), ParameterError> {
    let overrides = parameters::overrides(node);
    let mut all = Parameters::default();
    all.declare(&Config::default(), lienav_slam::SPECS, &overrides)?;
    all.declare(&Settings::default(), SPECS, &overrides)?;
    all.declare(&lifecycle::Start::default(), lifecycle::START_SPECS, &overrides)?;
    all.declare(&parameters::Time::default(), parameters::TIME_SPECS, &overrides)?;
    let inputs = Inputs::declare(&mut all, &overrides)?;
    parameters::warn_of_unknown(&all, &overrides, log);
    Ok((all, inputs))
}

/// Frames that are empty, or one where there have to be two, make a tree of transforms that nobody can use.
fn check_frames(settings: &Settings) -> Result<(), String> {
    let frames = [
        ("map_frame", &settings.map_frame),
        ("odom_frame", &settings.odom_frame),
        ("base_frame", &settings.base_frame),
    ];
    for (i, ((parameter, name), example)) in frames.iter().zip(EXAMPLES).enumerate() {
        if name.is_empty() {
            return Err(format!("parameter '{parameter}' is empty: name the frame, for example '{example}'"));
        }
        check_frame_name(name).map_err(|why| format!("parameter '{parameter}' is '{name}', which {why}"))?;
        if let Some((other, _)) = frames.iter().take(i).find(|(_, earlier)| earlier == name) {
            return Err(format!("parameters '{other}' and '{parameter}' are both '{name}': they have to differ"));
        }
    }
    Ok(())
}

/// A node that hears what it says itself goes astray: an input must not be an output.
fn check_loops(node: &r2r::Node, settings: &Settings, inputs: &Inputs) -> Result<(), StartError> {
    let names = Names::of(node)?;
    let mut heard: Vec<String> = inputs.odometry_sources().iter().map(|source| source.topic.clone()).collect();
    heard.extend(inputs.feature_topics().map(|(topic, _)| topic.to_owned()));
    let optional = [
        ("imu", settings.use_imu),
        ("absolute_pose", settings.gnss.use_absolute_pose),
        ("fix", settings.gnss.use_fix),
        ("initialpose", true),
    ];
    heard.extend(optional.into_iter().filter(|(_, is_heard)| *is_heard).map(|(topic, _)| topic.to_owned()));
    let published = ["pose", "odometry/filtered", "path", "landmarks", "markers"];
    let local = (settings.local_odometry != LocalOdometry::Nothing).then_some("odometry/local");
    let published: Vec<&str> = published.into_iter().chain(local).collect();
    for input in &heard {
        let full = names.resolve(input);
        if let Some(output) = published.iter().find(|output| names.resolve(output) == full) {
            return Err(StartError::CommandLine(format!(
                "'{input}' is heard on {full}, which this node publishes itself ('{output}'): it would follow its own \
                 estimate; remap '{input}' to the topic of its source"
            )));
        }
    }
    Ok(())
}

/// Tells who else publishes on `/tf`, where that is asked.
fn name_publishers(node: &r2r::Node, publishers: &tree::Publishers) {
    if !publishers.is_asked() {
        return;
    }
    let (Ok(names), Ok(own)) = (Names::of(node), node.fully_qualified_name()) else { return };
    let Ok(found) = node.get_publishers_info_by_topic(&names.resolve("/tf"), false) else { return };
    let full = |namespace: &str, name: &str| format!("{}/{name}", namespace.trim_end_matches('/'));
    let names = found.iter().map(|info| full(&info.node_namespace, &info.node_name));
    let mut others: Vec<String> = names.filter(|name| *name != own).collect();
    others.sort();
    others.dedup();
    publishers.tell(others);
}

/// What is to be read of landmarks and from outside.
fn kinds(config: &Config, settings: &Settings) -> impl Iterator<Item = MeasurementKind> {
    let from_outside = settings.gnss.use_absolute_pose || settings.gnss.use_fix;
    std::iter::once(config.sensor.kind).chain(from_outside.then_some(MeasurementKind::WorldPosition))
}

/// Of map, odometry and robot (REP 105).
const EXAMPLES: [&str; 3] = ["map", "odom", "base_link"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_that_are_empty_or_the_same_are_refused_by_name() {
        assert_eq!(check_frames(&Settings::default()), Ok(()));
        let refused = |change: fn(&mut Settings)| {
            let mut settings = Settings::default();
            change(&mut settings);
            check_frames(&settings).unwrap_err()
        };
        assert!(refused(|s| s.map_frame.clear()).contains("'map_frame' is empty: name the frame, for example 'map'"));
        assert!(refused(|s| s.base_frame.clear()).contains("'base_frame' is empty"));
        assert!(refused(|s| s.map_frame = "odom".into()).contains("'map_frame' and 'odom_frame' are both 'odom'"));
        assert!(refused(|s| s.map_frame = "/map".into()).contains("'map_frame' is '/map', which begins with a slash"));
        assert!(refused(|s| s.map_frame = "map odom".into()).contains("has a blank in it"));
        assert!(refused(|s| s.odom_frame = "base_link".into()).contains("'odom_frame' and 'base_frame'"));
    }
}
