//! `attitude_node`: an inertial sensor in; orientation, gyroscope bias and transform out. `docs/attitude.md` has the
//! table of its topics.
//!
//! One thread: a sample takes the filter less than a microsecond, so nothing has to wait while it is computed, and no
//! second thread has to be woken a thousand times a second. Nor has the one, where samples may wait for each other
//! (`batch_s`).

mod input;
mod managed;
mod output;
mod report;
mod settings;
mod worker;

pub use report::NOT_INTEGRATED;
pub use settings::{Mode, SPECS, Settings};

use super::clock::RosClock;
use super::lifecycle;
use super::log::Log;
use super::parameters::{self, ParameterError, Parameters};
use super::receive::{Inbox, WAIT, all, relay, turn};
use super::start::{self, StartError, clock_follower};
use super::stop::Stop;
use super::type_description;
use input::Event;
use lienav_attitude::{Attitude, Body, Config};
use std::time::{Duration, Instant};
use worker::Worker;

/// The types of its topics and services, beside those that every node has.
const TYPES: [&str; 7] = [
    "geometry_msgs/msg/Vector3Stamped",
    "geometry_msgs/msg/WrenchStamped",
    "sensor_msgs/msg/Imu",
    "sensor_msgs/msg/MagneticField",
    "std_srvs/srv/SetBool",
    "std_srvs/srv/Trigger",
    "tf2_msgs/msg/TFMessage",
];

/// Runs the node until `stop`.
///
/// # Errors
/// The command line, a parameter, or ROS.
pub fn run(stop: &Stop) -> Result<(), StartError> {
    let mut node = start::node("attitude_node")?;
    let log = Log::new(node.logger());
    let parameters = declare(&node, &log)?;
    let settings: Settings = parameters.read(SPECS)?;
    parameters::check_frames(&[("world_frame", &settings.world_frame)])?;
    let config: Config = parameters.read(lienav_attitude::SPECS)?;
    let body = Body::new(settings.body.clone()).map_err(|e| ParameterError::Unusable(e.to_string()))?;
    let clock = RosClock::of(&mut node, parameters::use_sim_time(&parameters)?)?;

    let (requests, events) = parameters::Services::of(&mut node)?.split();
    let mut inboxes = input::listen(&mut node, &settings, &config)?;
    inboxes.extend(requests.into_iter().map(|inbox| relay(inbox, Event::Parameters)));
    let (requests, lifecycle) = lifecycle::Services::of(&mut node)?.split();
    inboxes.extend(requests.into_iter().map(|inbox| relay(inbox, Event::Lifecycle)));
    inboxes.extend(type_description::offer(&mut node, &[&TYPES, &type_description::COMMON])?);
    let autostart = parameters.read::<lifecycle::Start>(lifecycle::START_SPECS)?.autostart;
    let attitude = Attitude::new(config).map_err(ParameterError::from)?;
    let mut worker =
        Worker::of(&mut node, attitude, body, parameters, settings, events, clock.clone(), lifecycle, log.clone())?;

    parameters::declare_qos(worker.parameters(), &node, &log);
    worker.begin(autostart);
    let mut follow_clock = clock_follower(clock, log);
    let mut emptied = None;
    while !stop.is_requested() {
        let batch = worker.batch();
        if batch.is_zero() {
            turn(&mut node, &mut inboxes, WAIT, &mut |event| worker.take(event));
        } else {
            let events = gathered(&mut node, &mut inboxes, batch, &mut emptied, stop);
            events.into_iter().for_each(|event| worker.take(event));
        }
        worker.look_after();
        follow_clock(&mut node);
    }
    Ok(())
}

/// What has come within `batch`, in order. Where something had come the last time, more will: it gathers in DDS, whose
/// history is deep enough ([`super::qos`]), and wakes nobody. Otherwise the next message is waited for and taken at
/// once. `emptied` is when nothing was left the last time, if something had come.
fn gathered(
    node: &mut r2r::Node,
    inboxes: &mut [Inbox<Event>],
    batch: Duration,
    emptied: &mut Option<Instant>,
    stop: &Stop,
) -> Vec<Event> {
    let wait = match *emptied {
        Some(emptied) => {
            stop.sleep_until(emptied + batch);
            Duration::ZERO
        }
        None => WAIT,
    };
    let events = all(node, inboxes, wait);
    *emptied = (!events.is_empty()).then(Instant::now);
    input::in_order(events)
}

/// All parameters, with what the user has set; warns of names that nobody has asked for.
fn declare(node: &r2r::Node, log: &Log) -> Result<Parameters, ParameterError> {
    let overrides = parameters::overrides(node);
    let mut all = Parameters::default();
    all.declare(&Config::default(), lienav_attitude::SPECS, &overrides)?;
    all.declare(&Settings::default(), SPECS, &overrides)?;
    all.declare(&lifecycle::Start::default(), lifecycle::START_SPECS, &overrides)?;
    all.declare(&parameters::Time::default(), parameters::TIME_SPECS, &overrides)?;
    parameters::warn_of_unknown(&all, &overrides, log);
    Ok(all)
}
