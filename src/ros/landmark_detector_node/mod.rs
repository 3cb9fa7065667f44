//! `landmark_detector_node`: a laser scanner in; reflectors, poles, trunks and cones out, as `features` of `slam_node`.
//! `docs/detector.md` has the method.
//!
//! One thread: a scan takes the detector a tenth of a millisecond.

mod motion;
mod place;
mod settings;
mod worker;

pub use settings::{MountConfig, SPECS, Settings};

use super::clock::RosClock;
use super::lifecycle;
use super::log::Log;
use super::parameters::{self, ParameterError, Parameters, use_sim_time};
use super::qos;
use super::receive::{Inbox, WAIT, relay, subscribe, turn};
use super::start::{self, StartError, clock_follower};
use super::stop::Stop;
use super::type_description;
use lienav_detect::{Config, Detector};
use lienav_io::bag::cdr::CdrError;
use lienav_io::messages::{LaserScan, Odometry, TfMessage};
use place::Place;
use worker::Worker;

/// Whatever arrives.
enum Event {
    /// `scan`
    Scan(LaserScan),
    /// `odom`
    Odometry(Box<Odometry>),
    /// `/tf_static`
    StaticTransforms(TfMessage),
    /// Bytes on a topic that are no message of its type.
    Unreadable(&'static str, CdrError),
    /// About parameters.
    Parameters(parameters::Request),
    /// About the state of the node.
    Lifecycle(lifecycle::Request),
}

/// The types of its topics, beside those that every node has.
const TYPES: [&str; 4] =
    ["nav_msgs/msg/Odometry", "sensor_msgs/msg/LaserScan", "sensor_msgs/msg/PointCloud2", "tf2_msgs/msg/TFMessage"];

/// Runs the node until `stop`.
///
/// # Errors
/// The command line, a parameter, or ROS.
pub fn run(stop: &Stop) -> Result<(), StartError> {
    let mut node = start::node("landmark_detector_node")?;
    let log = Log::new(node.logger());
    let mut parameters = declare(&node, &log)?;
    let settings: Settings = parameters.read(SPECS)?;
    let config: Config = parameters.read(lienav_detect::SPECS)?;
    let detector = Detector::new(config.clone()).map_err(|error| ParameterError::Unusable(error.to_string()))?;
    let clock = RosClock::of(&mut node, parameters::use_sim_time(&parameters)?)?;
    let (requests, _) = parameters::Services::of(&mut node)?.split();
    let mut inboxes = listen(&mut node, &settings)?;
    inboxes.extend(requests.into_iter().map(|inbox| relay(inbox, Event::Parameters)));
    let (requests, managed) = lifecycle::Services::of(&mut node)?.split();
    inboxes.extend(requests.into_iter().map(|inbox| relay(inbox, Event::Lifecycle)));
    inboxes.extend(type_description::offer(&mut node, &[&TYPES, &type_description::COMMON])?);
    let autostart = parameters.read::<lifecycle::Start>(lifecycle::START_SPECS)?.autostart;
    let is_placed = parameters::is_placed("mount", &parameters::overrides(&node));
    let place = Place::new(is_placed.then(|| settings.mount.pose()));
    let mut worker = Worker::of(&mut node, (detector, place), config, settings, clock.clone(), managed, log.clone())?;
    parameters::declare_qos(&mut parameters, &node, &log);
    lifecycle::begin(&mut worker, autostart, &log);
    let mut follow_clock = clock_follower(clock.clone(), log.clone());
    while !stop.is_requested() {
        turn(&mut node, &mut inboxes, WAIT, &mut |event| match event {
            // They come once only.
            Event::StaticTransforms(message) => worker.static_transforms(&message),
            Event::Scan(_) | Event::Odometry(_) | Event::Unreadable(..) if !worker.is_active() => (),
            Event::Scan(message) => worker.scan(&message),
            Event::Odometry(message) => worker.odometry(&message),
            Event::Unreadable(topic, error) => worker.unreadable(topic, &error),
            Event::Lifecycle(request) => worker.answer_about_lifecycle(request),
            // Nothing but the clock can be changed while it runs.
            Event::Parameters(request) => {
                let apply = |changed: &Parameters| {
                    clock.simulate(use_sim_time(changed).map_err(|e| e.to_string())?);
                    Ok(())
                };
                if let Err(error) = request.answer(&mut parameters, apply) {
                    log.warn(&format!("the response of a service could not be sent: {error}"));
                }
            }
        });
        worker.look_after();
        follow_clock(&mut node);
    }
    Ok(())
}

fn listen(node: &mut r2r::Node, settings: &Settings) -> r2r::Result<Vec<Inbox<Event>>> {
    let scans = subscribe(node, "scan", qos::sensor_data(), |decoded: Result<LaserScan, CdrError>| {
        decoded.map_or_else(|error| Event::Unreadable("scan", error), Event::Scan)
    })?;
    let transforms =
        subscribe(node, "/tf_static", qos::static_transforms(), |decoded: Result<TfMessage, CdrError>| {
            decoded.map_or_else(|error| Event::Unreadable("/tf_static", error), Event::StaticTransforms)
        })?;
    let mut inboxes = vec![scans, transforms];
    if settings.use_odom {
        inboxes.push(subscribe(node, "odom", qos::sensor_data(), |decoded: Result<Odometry, CdrError>| {
            decoded.map_or_else(|error| Event::Unreadable("odom", error), |message| Event::Odometry(Box::new(message)))
        })?);
    }
    Ok(inboxes)
}

/// All parameters, with what the user has set; warns of names that nobody has asked for.
fn declare(node: &r2r::Node, log: &Log) -> Result<Parameters, ParameterError> {
    let overrides = parameters::overrides(node);
    let mut all = Parameters::default();
    all.declare(&Config::default(), lienav_detect::SPECS, &overrides)?;
    all.declare(&Settings::default(), SPECS, &overrides)?;
    all.declare(&lifecycle::Start::default(), lifecycle::START_SPECS, &overrides)?;
    all.declare(&parameters::Time::default(), parameters::TIME_SPECS, &overrides)?;
    parameters::warn_of_unknown(&all, &overrides, log);
    Ok(all)
}
