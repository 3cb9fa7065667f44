//! How a command fails.

use std::io;
use std::process::ExitCode;

/// Why a command did not do what it was asked to. The text is one line with cause and remedy.
#[derive(Debug, PartialEq)]
pub(super) enum Failure {
    /// The command line asks for something there is not.
    WrongCall(String),
    /// What was asked for could not be done.
    Failed(String),
    /// Nobody reads the output any more, as in `lienav … | head`: no failure.
    ReaderGone,
}

impl Failure {
    /// What was tried, and why it failed.
    pub(super) fn failed(error: impl std::fmt::Display) -> Self {
        Self::Failed(error.to_string())
    }

    /// Says why on standard error, in one line, and gives the exit code.
    pub(super) fn report(&self) -> ExitCode {
        let (text, code) = match self {
            Self::WrongCall(text) => (text.as_str(), 2),
            Self::Failed(text) => (text.as_str(), 1),
            Self::ReaderGone => return ExitCode::SUCCESS,
        };
        let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
        // eprintln! panics where standard error is closed.
        let _ = io::Write::write_all(&mut io::stderr(), format!("lienav: {line}\n").as_bytes());
        ExitCode::from(code)
    }
}

/// Says something on standard error that is no reason to stop.
pub(super) fn warn(text: &str) {
    // eprintln! panics where standard error is closed.
    let _ = io::Write::write_all(&mut io::stderr(), format!("lienav: {text}\n").as_bytes());
}

/// Writes text to standard output.
///
/// # Errors
/// The reader has gone, or the output cannot be written to.
pub(super) fn print(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    let result = io::Write::write_all(&mut out, text.as_bytes()).and_then(|()| io::Write::flush(&mut out));
    result.map_err(|error| match error.kind() {
        io::ErrorKind::BrokenPipe => Failure::ReaderGone,
        _ => Failure::Failed(format!("standard output: {error}")),
    })
}

/// What a build without the feature `ros` says to a command that needs it.
#[cfg(not(feature = "ros"))]
pub(super) const NO_ROS: &str =
    "this build has no ROS; source a ROS 2 distribution and build without --no-default-features";
