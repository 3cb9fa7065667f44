//! `slam3d_node`: an inertial sensor and landmarks in, or tags and odometry; pose, map and transform in space out.
//! docs/slam3d.md has the table of its topics.
//!
//! One thread: a sample takes the filter microseconds, and a frame less than a millisecond.

mod display;
mod filter;
mod input;
mod managed;
mod map;
mod output;
mod report;
mod settings;
mod squares;
mod worker;

pub use output::{pose_of, transform};
pub use report::{NO_IDENTITY, remedy};
pub use settings::{MapSettings, SPECS, Settings};

use super::clock::RosClock;
use super::lifecycle;
use super::log::Log;
use super::parameters::{self, ParameterError, Parameters};
use super::receive::{WAIT, all, relay};
use super::start::{self, StartError, clock_follower};
use super::stop::Stop;
use super::type_description;
use filter::Filter;
use input::Event;
use lienav_io::convert::check_frame_name;
use lienav_io::intake::{SpaceIntake, TagIntake};
use lienav_space::tags::settings::SPECS as TAG_SPECS;
use lienav_space::tags::{TagConfig, TagSlam3d};
use lienav_space::{Config, Slam3d};
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
    check_frames(&settings).map_err(ParameterError::Unusable)?;
    check_tags(&settings).map_err(ParameterError::Unusable)?;
    let config: Config = parameters.read(lienav_space::SPECS)?;
    let clock = RosClock::of(&mut node, parameters::use_sim_time(&parameters)?)?;

    let (requests, events) = parameters::Services::of(&mut node)?.split();
    let own: TagConfig = parameters.read(TAG_SPECS)?;
    check_imu(&own).map_err(ParameterError::Unusable)?;
    let mut inboxes = input::listen(&mut node, &settings, own.tags.use_imu)?;
    inboxes.extend(requests.into_iter().map(|inbox| relay(inbox, Event::Parameters)));
    let (requests, lifecycle) = lifecycle::Services::of(&mut node)?.split();
    inboxes.extend(requests.into_iter().map(|inbox| relay(inbox, Event::Lifecycle)));
    inboxes.extend(type_description::offer(&mut node, &[TYPES, &type_description::COMMON])?);
    let autostart = parameters.read::<lifecycle::Start>(lifecycle::START_SPECS)?.autostart;
    let filter = filter_of(&settings, config, own)?;
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

/// The pipeline of tags where topics of these are given, else that of landmarks.
fn filter_of(settings: &Settings, config: Config, own: TagConfig) -> Result<Filter, ParameterError> {
    let robot = settings.tags(own.tags.use_imu).map_err(ParameterError::Unusable)?;
    if settings.tags.is_used() {
        let mut slam = TagSlam3d::new(config, own).map_err(ParameterError::from)?;
        slam.expect(settings.tags.topics().len(), settings.uses_odometry());
        slam.set_moving(settings.tags.moving().map_err(ParameterError::Unusable)?);
        return Ok(Filter::Tags { slam, intake: TagIntake::new(robot) });
    }
    let intake = SpaceIntake::new(settings.frames(&config));
    Ok(Filter::Landmarks { slam: Slam3d::new(config).map_err(ParameterError::from)?, intake })
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

/// The body is then the frame of the inertial sensor, which has its own height and inclination.
fn check_imu(own: &TagConfig) -> Result<(), String> {
    match own.tags.use_imu && own.tags.level_floor {
        true => Err("parameters 'tags.use_imu' and 'tags.level_floor' exclude each other: gravity shows what is level"
            .to_owned()),
        false => Ok(()),
    }
}

/// Frames that are empty, or one where there have to be two, make a tree of transforms that is of no use.
fn check_frames(settings: &Settings) -> Result<(), String> {
    let Settings { map_frame, odom_frame, base_frame, .. } = settings;
    for (parameter, name) in [("map_frame", map_frame), ("odom_frame", odom_frame), ("base_frame", base_frame)] {
        if name.is_empty() && parameter != "odom_frame" {
            return Err(format!("parameter '{parameter}' is empty: name the frame"));
        }
        check_frame_name(name).map_err(|why| format!("parameter '{parameter}' is '{name}', which {why}"))?;
    }
    if map_frame == base_frame || map_frame == odom_frame || base_frame == odom_frame {
        return Err("parameters 'map_frame', 'odom_frame' and 'base_frame' have to differ".to_owned());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_that_are_empty_or_the_same_are_refused() {
        assert_eq!(check_frames(&Settings::default()), Ok(()));
        let same = Settings { odom_frame: "map".into(), ..Settings::default() };
        assert!(check_frames(&same).unwrap_err().contains("have to differ"));
        let empty = Settings { base_frame: String::new(), ..Settings::default() };
        assert!(check_frames(&empty).unwrap_err().contains("'base_frame' is empty"));
    }
}
