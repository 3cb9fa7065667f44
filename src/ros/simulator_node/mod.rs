//! `simulator_node`: a simulated robot, its sensors, and the truth.
//!
//! Topics: `odom`, `features`, `imu` (if the scenario has one), `/tf` (odom → base), `/tf_static` (base → sensor),
//! `/clock` (if asked for), and the truth on `ground_truth/pose`, `ground_truth/path` and `ground_truth/landmarks`.

mod messages;
mod run;
mod settings;
mod space;

pub use settings::{SPECS, Settings};

use super::log::Log;
use super::parameters::{self, ParameterError, Parameters};
use super::start::{self, StartError};
use super::stop::Stop;
use super::type_description;
use lienav_sim::{Scenario, Simulation};
use run::Run;

/// The types of its topics, beside those that every node has.
const TYPES: [&str; 6] = [
    "geometry_msgs/msg/PoseStamped",
    "nav_msgs/msg/Odometry",
    "nav_msgs/msg/Path",
    "sensor_msgs/msg/Imu",
    "sensor_msgs/msg/PointCloud2",
    "tf2_msgs/msg/TFMessage",
];

/// Those of a run in space beside them.
const TYPES_IN_SPACE: [&str; 2] = ["geometry_msgs/msg/PoseWithCovarianceStamped", "sensor_msgs/msg/CameraInfo"];

/// Runs the node until `stop`, or to the end of the run if `exit_at_end`.
///
/// # Errors
/// The command line, a parameter, or ROS.
pub fn run(stop: &Stop) -> Result<(), StartError> {
    let mut node = start::node("simulator_node")?;
    let log = Log::new(node.logger());
    let mut parameters = declare(&node, &log)?;
    let settings: Settings = parameters.read(SPECS)?;
    parameters::check_frames(&[
        ("map_frame", &settings.map_frame),
        ("odom_frame", &settings.odom_frame),
        ("base_frame", &settings.base_frame),
        ("sensor_frame", &settings.sensor_frame),
    ])?;
    let is_in_space = settings.scenario.starts_with(space::PREFIX);
    if is_in_space {
        return run_in_space(node, parameters, settings, log, stop);
    }
    let scenario: Scenario = parameters.read(lienav_sim::SPECS)?;
    let simulation = Simulation::new(&scenario).map_err(|e| ParameterError::Unusable(e.to_string()))?;
    let (mut requests, _) = parameters::Services::of(&mut node)?.split();
    requests.extend(type_description::offer(&mut node, &[&TYPES, &type_description::COMMON])?);
    let run = Run::of(&mut node, simulation, settings, log.clone())?;
    parameters::declare_qos(&mut parameters, &node, &log);

    // Nothing can be changed while the run lasts, so parameters are answered for beside it.
    let answer = |batch: Vec<parameters::Request>| {
        for request in batch {
            if let Err(error) = request.answer(&mut parameters, |_| Ok(())) {
                log.warn(&format!("the response of a service could not be sent: {error}"));
            }
        }
    };
    start::spin(node, requests, stop, answer, |_| (), || run.play(stop))
}

/// The same of a run in space, `scenario: space:NAME` or `space:NAME:SEED`.
fn run_in_space(
    mut node: r2r::Node,
    mut parameters: Parameters,
    settings: Settings,
    log: Log,
    stop: &Stop,
) -> Result<(), StartError> {
    let name = settings.scenario.trim_start_matches(space::PREFIX);
    let run = space::run_of(name).map_err(|e| ParameterError::Unusable(format!("parameter 'scenario': {e}")))?;
    let (mut requests, _) = parameters::Services::of(&mut node)?.split();
    requests.extend(type_description::offer(&mut node, &[&TYPES, &TYPES_IN_SPACE, &type_description::COMMON])?);
    let run = space::Publishing::of(&mut node, run, settings, log.clone())?;
    parameters::declare_qos(&mut parameters, &node, &log);
    let answer = |batch: Vec<parameters::Request>| {
        for request in batch {
            if let Err(error) = request.answer(&mut parameters, |_| Ok(())) {
                log.warn(&format!("the response of a service could not be sent: {error}"));
            }
        }
    };
    start::spin(node, requests, stop, answer, |_| (), || run.play(stop))
}

/// All parameters, with what the user has set. The scenario that is named gives the defaults of the rest.
fn declare(node: &r2r::Node, log: &Log) -> Result<Parameters, ParameterError> {
    let overrides = parameters::overrides(node);
    let mut all = Parameters::default();
    all.declare(&Settings::default(), SPECS, &overrides)?;
    let name = all.read::<Settings>(SPECS)?.scenario;
    let defaults = match name.as_str() {
        name if name.starts_with(space::PREFIX) => {
            all.declare(&parameters::Time::default(), parameters::TIME_SPECS, &overrides)?;
            parameters::warn_of_unknown(&all, &overrides, log);
            return Ok(all);
        }
        "" => Scenario::default(),
        name => Scenario::named(name).map_err(|e| ParameterError::Unusable(format!("parameter 'scenario': {e}")))?,
    };
    all.declare(&defaults, lienav_sim::SPECS, &overrides)?;
    all.declare(&parameters::Time::default(), parameters::TIME_SPECS, &overrides)?;
    parameters::warn_of_unknown(&all, &overrides, log);
    Ok(all)
}
