//! How a command fails.

use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

/// Why a command did not do what it was asked to. The text is one line with cause and remedy.
#[derive(Debug, PartialEq)]
pub(super) enum Failure {
    /// The command line asks for something there is not.
    WrongCall(String),
    /// What was asked for could not be done.
    Failed(String),
    /// All was done, and an expectation of the user does not hold.
    Unmet(String),
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
            Self::Unmet(text) => (text.as_str(), 3),
            Self::ReaderGone => return ExitCode::SUCCESS,
        };
        let line = harmless(&text.split_whitespace().collect::<Vec<_>>().join(" "));
        // eprintln! panics where standard error is closed.
        let _ = io::Write::write_all(&mut io::stderr(), format!("lienav: {line}\n").as_bytes());
        ExitCode::from(code)
    }
}

/// Says something on standard error that is no reason to stop.
pub(super) fn warn(text: &str) {
    // eprintln! panics where standard error is closed.
    let _ = io::Write::write_all(&mut io::stderr(), format!("lienav: {}\n", harmless(text)).as_bytes());
}

/// Says what a run that was killed had left, and that it is gone.
pub(super) fn say_removed(leftovers: &[PathBuf]) {
    for path in leftovers {
        warn(&format!("{}: removed; a run that was killed had left it unfinished", path.display()));
    }
}

/// Text without anything that a terminal would obey: names of topics, frames and files come from whoever has made a
/// bag. Control characters and those that turn the direction of writing are shown by their numbers, as in JSON.
pub(super) fn harmless(text: &str) -> String {
    let is_harmful = |c: char| match c {
        '\n' | '\t' => false,
        '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => true,
        c => c.is_control(),
    };
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        if is_harmful(c) { shown.push_str(&format!("\\u{:04x}", c as u32)) } else { shown.push(c) }
    }
    shown
}

/// Writes text to standard output.
///
/// # Errors
/// The reader has gone, or the output cannot be written to.
pub(super) fn print(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    let result = io::Write::write_all(&mut out, harmless(text).as_bytes()).and_then(|()| io::Write::flush(&mut out));
    result.map_err(|error| match error.kind() {
        io::ErrorKind::BrokenPipe => Failure::ReaderGone,
        _ => Failure::Failed(format!("standard output: {error}")),
    })
}

/// What a build without the feature `ros` says to a command that needs it.
#[cfg(not(feature = "ros"))]
pub(super) const NO_ROS: &str =
    "this build has no ROS; source a ROS 2 distribution and build without --no-default-features";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_obeys_nothing_that_a_name_says() {
        let text = "/odom\u{1b}]0;pwned\u{7}\u{9b}31m\u{202e}txt\ttab\nline é 中";
        assert_eq!(harmless(text), "/odom\\u001b]0;pwned\\u0007\\u009b31m\\u202etxt\ttab\nline é 中");
    }
}
