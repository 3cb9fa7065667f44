//! How a node begins, turns and ends.

use super::arguments::RosArguments;
use super::clock::RosClock;
use super::log::{self, Log};
use super::parameters::{self, ParameterError};
use super::qos_overrides;
use super::receive::{self, Inbox};
use super::stop::Stop;
use std::process::ExitCode;
use std::time::Duration;

/// So long is waited at the end for a log that does not take its lines.
const FLUSHING: Duration = Duration::from_millis(500);

/// Why a node does not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// ROS does not accept the command line, mostly a parameter file that is missing or broken.
    #[error("{0}")]
    CommandLine(String),
    /// A parameter that cannot be used.
    #[error(transparent)]
    Parameter(#[from] ParameterError),
    /// ROS refuses something.
    #[error(
        "ROS 2: {0}; check names and remappings on the command line, the sourced installation and RMW_IMPLEMENTATION"
    )]
    Ros(#[from] r2r::Error),
    /// ROS refuses the node, and is to be secure.
    #[error(
        "ROS 2: {0}; ROS_SECURITY_ENABLE is true: look whether ROS_SECURITY_KEYSTORE has the enclave (--enclave), and \
         whether the middleware was built with its security plug-in (docs/security.md)"
    )]
    Secured(r2r::Error),
    /// The operating system refuses a thread or a signal handler.
    #[error("a thread or a signal handler could not be set up: {0}")]
    System(#[from] std::io::Error),
    /// A thread ended by a panic, which is a mistake in this program.
    #[error("the worker thread panicked, which is a defect of lienav; please report what was printed")]
    Panic,
}

impl StartError {
    /// 2 for a wrong call, 1 for anything else.
    pub fn exit_code(&self) -> ExitCode {
        match self {
            Self::CommandLine(_) | Self::Parameter(_) => ExitCode::from(2),
            Self::Ros(_) | Self::Secured(_) | Self::System(_) | Self::Panic => ExitCode::FAILURE,
        }
    }
}

/// The whole of a node's `main`: runs `node` until SIGINT or SIGTERM, and reports why it could not.
pub fn main(name: &str, node: impl FnOnce(&Stop) -> Result<(), StartError>) -> ExitCode {
    let outcome = Stop::on_signals().map_err(StartError::from).and_then(|stop| node(&stop));
    let code = match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            Log::new(name).error(&error.to_string());
            error.exit_code()
        }
    };
    if !log::flush(FLUSHING) {
        // Who does not take the log now never will, and C++ would wait for it when the process exits.
        std::process::abort();
    }
    code
}

/// The node of this name, before remapping.
///
/// # Errors
/// The command line, or what ROS says.
pub fn node(name: &str) -> Result<r2r::Node, StartError> {
    let outside = RosArguments::read(std::env::args()).outside;
    if !outside.is_empty() {
        return Err(StartError::CommandLine(format!(
            "unknown words on the command line: {}; a node takes ROS arguments alone, behind --ros-args, as in \
             `--ros-args -p NAME:=VALUE -r FROM:=TO --params-file FILE`",
            outside.join(" ")
        )));
    }
    let is_secured = std::env::var("ROS_SECURITY_ENABLE").is_ok_and(|value| value == "true");
    let refused = |error| if is_secured { StartError::Secured(error) } else { StartError::from(error) };
    let mut node = r2r::Node::create(context()?, name, "").map_err(refused)?;
    log::publish_with(&mut node).map_err(refused)?;
    qos_overrides::check(&parameters::overrides(&node))?;
    parameters::warn_of_entries(&node, &Log::new(node.logger()));
    Ok(node)
}

/// The ROS context of this process, from its command line.
///
/// # Errors
/// What rcl says about the command line or its parameter files.
pub fn context() -> Result<r2r::Context, StartError> {
    let unknown = RosArguments::read(std::env::args()).unknown;
    if !unknown.is_empty() {
        return Err(StartError::CommandLine(format!(
            "unknown ROS arguments: {}; behind --ros-args stand -r, -p, --params-file, --log-level, --enclave, \
             --enable-… and --disable-…, and -- ends them",
            unknown.join(" ")
        )));
    }
    // r2r panics where rcl refuses the command line: a missing parameter file is enough. The panic carries rcl's own
    // sentence, which is what the user needs; the hook is taken away so that it is not printed as a crash.
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| ()));
    let created = std::panic::catch_unwind(r2r::Context::create);
    std::panic::set_hook(hook);
    match created {
        Ok(context) => Ok(context?),
        Err(panic) => {
            let text = panic.downcast_ref::<String>().map_or("rcl rejected the command line", String::as_str);
            Err(StartError::CommandLine(without_source_lines(text)))
        }
    }
}

/// rcl's errors without the `, at ./src/rcl/arguments.c:442` of each.
fn without_source_lines(text: &str) -> String {
    let cut = |sentence: &str| sentence.split(", at ").next().unwrap_or_default().trim().to_owned();
    let sentences: Vec<String> = text.lines().map(cut).filter(|s| !s.is_empty()).collect();
    sentences.join("; ")
}

/// Turns `node` until the end is asked for, while `work` runs in a thread of its own. Whatever has arrived goes to
/// `take`, all of it at once; `look_after` gets the node after each turn. The node is destroyed after the thread has
/// ended.
///
/// # Errors
/// The thread cannot be started, or panics.
pub fn spin<E>(
    mut node: r2r::Node,
    mut inboxes: Vec<Inbox<E>>,
    stop: &Stop,
    mut take: impl FnMut(Vec<E>),
    mut look_after: impl FnMut(&mut r2r::Node),
    work: impl FnOnce() + Send,
) -> Result<(), StartError> {
    std::thread::scope(|scope| {
        let worker = std::thread::Builder::new().name("work".into()).spawn_scoped(scope, || {
            let _ends_all = stop.when_dropped();
            work();
        })?;
        while !stop.is_requested() {
            let batch = receive::all(&mut node, &mut inboxes, receive::WAIT);
            if !batch.is_empty() {
                take(batch);
            }
            look_after(&mut node);
        }
        worker.join().map_err(|_| StartError::Panic)
    })
}

/// Keeps the clock of a node as its parameter `use_sim_time` says, to be called after each turn.
pub fn clock_follower(clock: RosClock, mut log: Log) -> impl FnMut(&mut r2r::Node) {
    move |node| {
        if let Err(error) = clock.adjust(node) {
            log.warn_of("clock", || format!("use_sim_time: /clock cannot be subscribed to: {error}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_rcl_lose_their_source_lines() {
        let text = "Couldn't parse params file: '--params-file /x.yaml'. Error: Error opening YAML file, at \
            ./src/parser.c:270, at ./src/rcl/arguments.c:406";
        assert_eq!(
            without_source_lines(text),
            "Couldn't parse params file: '--params-file /x.yaml'. Error: Error opening YAML file"
        );
    }
}
