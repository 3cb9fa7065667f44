//! Child processes that end with us, whichever way we end: by success, by an error or by Ctrl-C.

use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// How long a process may take to end after SIGINT.
const GRACE: Duration = Duration::from_secs(10);
const NAP: Duration = Duration::from_millis(20);

/// The running ones. Dropping it ends them all.
#[derive(Default)]
pub struct Processes(Vec<Process>);

struct Process {
    name: String,
    child: Child,
    log: PathBuf,
}

impl Processes {
    /// Starts a process whose output goes to `log`. Ctrl-C does not reach it: it is told by us, once.
    pub fn start(&mut self, name: &str, mut command: Command, log: PathBuf) -> Result<()> {
        command.stdin(Stdio::null()).process_group(0);
        let child = command.spawn().with_context(|| format!("could not start {:?}", command.get_program()))?;
        self.0.push(Process { name: name.to_owned(), child, log });
        Ok(())
    }

    /// Waits until the process of this name has ended with success, and forgets it.
    ///
    /// Errors: it fails; any other ends meanwhile; `patience` is over; Ctrl-C was pressed.
    pub fn wait_for(&mut self, name: &str, patience: Duration, interrupted: &AtomicBool) -> Result<()> {
        let start = Instant::now();
        loop {
            for index in 0..self.0.len() {
                let Some(status) = self.0[index].child.try_wait()? else { continue };
                let ended = self.0.remove(index);
                if ended.name != name || !status.success() {
                    bail!(ended.failure(status));
                }
                return Ok(());
            }
            if interrupted.load(Ordering::SeqCst) {
                bail!("interrupted");
            }
            if start.elapsed() > patience {
                bail!("{name} did not end within {} s; see {}", patience.as_secs(), self.log_of(name));
            }
            std::thread::sleep(NAP);
        }
    }

    /// Sends SIGINT to the process of this name.
    pub fn interrupt(&self, name: &str) -> Result<()> {
        let process = self.0.iter().find(|process| process.name == name);
        process.with_context(|| format!("{name} does not run"))?.signal(Signal::SIGINT)
    }

    /// Ends all of them with SIGINT.
    ///
    /// Errors: one of them does not end, or not with success.
    pub fn stop(&mut self) -> Result<()> {
        for process in &self.0 {
            process.signal(Signal::SIGINT)?;
        }
        let start = Instant::now();
        while let Some(process) = self.0.last_mut() {
            match process.child.try_wait()? {
                Some(status) if status.success() => drop(self.0.pop()),
                Some(status) => bail!(process.failure(status)),
                None if start.elapsed() > GRACE => {
                    process.end()?;
                    bail!("{} did not end when asked to; see {}", process.name, process.log.display());
                }
                None => std::thread::sleep(NAP),
            }
        }
        Ok(())
    }

    fn log_of(&self, name: &str) -> String {
        self.0.iter().find(|process| process.name == name).map_or_else(String::new, |p| p.log.display().to_string())
    }
}

impl Drop for Processes {
    fn drop(&mut self) {
        for process in &self.0 {
            drop(process.signal(Signal::SIGINT));
        }
        let start = Instant::now();
        for process in &mut self.0 {
            while matches!(process.child.try_wait(), Ok(None)) && start.elapsed() < GRACE {
                std::thread::sleep(NAP);
            }
            drop(process.end());
        }
    }
}

impl Process {
    fn signal(&self, signal: Signal) -> Result<()> {
        // A child that has ended and was not waited for keeps its id, so this reaches nobody else.
        let pid = Pid::from_raw(i32::try_from(self.child.id())?);
        kill(pid, signal).with_context(|| format!("could not signal {}", self.name))
    }

    fn end(&mut self) -> Result<()> {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }

    fn failure(&self, status: ExitStatus) -> String {
        let log = std::fs::read_to_string(&self.log).unwrap_or_default();
        let last = log.lines().last().unwrap_or("it printed nothing");
        format!("{} ended ({status}): {last}; see {}", self.name, self.log.display())
    }
}
