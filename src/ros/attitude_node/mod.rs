//! `attitude_node`: an inertial sensor in; orientation, gyroscope bias and transform out. `docs/attitude.md` has the table of
//! its topics.
//!
//! One thread: a sample takes the filter less than a microsecond, so nothing has to wait while it is computed, and no second
//! thread has to be woken a thousand times a second.

mod convert;
mod input;
mod output;
mod report;
mod settings;
mod worker;

pub use report::NOT_INTEGRATED;
pub use settings::{Mode, SPECS, Settings};

use super::clock::RosClock;
use super::log::Log;
use super::parameters::{self, ParameterError, Parameters};
use super::receive::relay;
use super::start::{self, StartError};
use super::stop::Stop;
use crate::attitude::{self, Attitude, BODY_SPECS, Body, Config};
use input::Event;
use std::time::Duration;
use worker::Worker;

/// The longest the node waits for input before it looks after diagnostics and the end.
const TURN: Duration = Duration::from_millis(20);

/// Runs the node until `stop`.
///
/// # Errors
/// The command line, a parameter, or ROS.
pub fn run(stop: &Stop) -> Result<(), StartError> {
    let mut node = r2r::Node::create(start::context()?, "attitude_node", "")?;
    let log = Log::new(node.logger());
    let parameters = declare(&node, &log)?;
    let mut settings: Settings = parameters.read(SPECS)?;
    settings.body = parameters.read::<Settings>(BODY_SPECS)?.body;
    let config: Config = parameters.read(attitude::SPECS)?;
    let body = Body::new(settings.body.clone()).map_err(|e| ParameterError::Unusable(e.to_string()))?;
    let clock = RosClock::of(&mut node, parameters::use_sim_time(&parameters)?)?;

    let (requests, events) = parameters::Services::of(&mut node)?.split();
    let mut inboxes = input::listen(&mut node, &settings, &config)?;
    inboxes.extend(requests.into_iter().map(|inbox| relay(inbox, Event::Parameters)));
    let attitude = Attitude::new(config).map_err(ParameterError::from)?;
    let mut worker = Worker::of(&mut node, attitude, body, parameters, settings, events, clock, log)?;

    worker.greet();
    while !stop.is_requested() {
        node.spin_once(TURN);
        for inbox in &mut inboxes {
            inbox(&mut |event| worker.take(event));
        }
        worker.look_after();
    }
    Ok(())
}

/// All parameters, with what the user has set; warns of names that nobody has asked for.
fn declare(node: &r2r::Node, log: &Log) -> Result<Parameters, ParameterError> {
    let overrides = parameters::overrides(node);
    let mut all = Parameters::default();
    all.declare(&Config::default(), attitude::SPECS, &overrides)?;
    all.declare(&Settings::default(), SPECS, &overrides)?;
    all.declare(&Settings::default(), BODY_SPECS, &overrides)?;
    all.declare(&parameters::Time::default(), parameters::TIME_SPECS, &overrides)?;
    parameters::warn_of_unknown(&all, &overrides, log);
    Ok(all)
}
