//! Named steps with the time they took: a spinner on a terminal, plain lines in a pipe, a log of what was run.

use std::fs::{File, OpenOptions};
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use indicatif::{ProgressBar, ProgressStyle};

/// Runs `work` as a quiet step: its name and a clock while it lasts, a line with the time when it is done.
pub fn quiet<T>(name: &str, work: impl FnOnce() -> Result<T>) -> Result<T> {
    let start = Instant::now();
    let spinner = std::io::stderr().is_terminal().then(|| {
        let spinner = ProgressBar::new_spinner().with_message(name.to_owned());
        if let Ok(style) = ProgressStyle::with_template("{spinner} {msg} … {elapsed}") {
            spinner.set_style(style);
        }
        spinner.enable_steady_tick(Duration::from_millis(120));
        spinner
    });
    if spinner.is_none() {
        eprintln!("      {name} …");
    }
    let result = work();
    if let Some(spinner) = spinner {
        spinner.finish_and_clear();
    }
    if result.is_ok() {
        eprintln!("  ok  {name}  {}", seconds(start.elapsed()));
    }
    result
}

/// Seconds as a step reports them.
pub fn seconds(time: Duration) -> String {
    format!("{:.1} s", time.as_secs_f64())
}

/// Where the commands of quiet steps print to.
pub struct Log {
    path: PathBuf,
}

impl Log {
    /// An empty log; one of an earlier run is replaced.
    pub fn create(path: &Path) -> Result<Self> {
        File::create(path).with_context(|| format!("could not write {}", path.display()))?;
        Ok(Self { path: path.to_owned() })
    }

    /// Runs a command with its output in the log.
    ///
    /// Errors: it cannot be started or fails; then with the last line that it printed.
    pub fn run(&self, command: &mut Command) -> Result<()> {
        let mut log = OpenOptions::new().append(true).open(&self.path)?;
        writeln!(log, "$ {command:?}")?;
        let begin = log.metadata()?.len();
        let status = command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log).status();
        let status = status.with_context(|| format!("could not start {:?}", command.get_program()))?;
        if !status.success() {
            bail!("{} (all of it in {})", self.last_line(begin), self.path.display());
        }
        Ok(())
    }

    fn last_line(&self, begin: u64) -> String {
        let text = std::fs::read(&self.path).unwrap_or_default();
        let text =
            String::from_utf8_lossy(text.get(usize::try_from(begin).unwrap_or(0)..).unwrap_or_default()).into_owned();
        let errors = text.lines().rev().find(|line| line.to_lowercase().contains("error"));
        errors
            .or_else(|| text.lines().rev().find(|line| !line.trim().is_empty()))
            .unwrap_or("it printed nothing")
            .to_owned()
    }
}
