//! Options that commands with many runs have in common: on how many threads, and where the report goes.

use super::failure::{Failure, print};
use std::path::{Path, PathBuf};

/// On how many threads, and where the report goes.
#[derive(clap::Args)]
pub(super) struct Output {
    /// Threads; as many as there are processors if it is not given. The numbers do not depend on it
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=MOST_THREADS))]
    threads: Option<u64>,
    /// Print JSON instead of a table
    #[arg(long)]
    pub(super) json: bool,
    /// Also write report, page (report.html), numbers by step and by run (CSV) and plots (SVG) into this folder
    #[arg(long, value_name = "DIR")]
    pub(super) out: Option<PathBuf>,
}

/// Refuses something that is no folder before work that may take an hour.
///
/// # Errors
/// A file, a pipe or a device has the name.
pub(super) fn refuse_other(out: Option<&Path>) -> Result<(), Failure> {
    match out.filter(|out| out.exists() && !out.is_dir()) {
        Some(out) => Err(Failure::Failed(format!(
            "--out {}: it is no folder, and is not replaced; give another name",
            out.display()
        ))),
        None => Ok(()),
    }
}

/// More than any machine has processors.
const MOST_THREADS: u64 = 1024;

impl Output {
    /// Makes the folder before work that may take an hour, rather than finding after it that there can be none.
    ///
    /// # Errors
    /// There can be none.
    pub(super) fn make_folder(&self) -> Result<(), Failure> {
        let Some(out) = &self.out else { return Ok(()) };
        std::fs::create_dir_all(out).map_err(|error| {
            Failure::Failed(format!("--out {}: {error}; give a folder that can be written", out.display()))
        })
    }

    /// Does `work` in a pool of the threads that are asked for.
    ///
    /// # Errors
    /// The threads cannot be started.
    pub(super) fn on_threads<T: Send>(&self, work: impl FnOnce() -> T + Send) -> Result<T, Failure> {
        let threads = self.threads.and_then(|threads| usize::try_from(threads).ok()).unwrap_or(0);
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
        let pool = pool.map_err(|error| Failure::Failed(format!("--threads {threads}: {error}; give fewer")))?;
        Ok(pool.install(work))
    }

    /// Ends a report for people with where the files are.
    pub(super) fn say_where(&self) -> Result<(), Failure> {
        match &self.out {
            Some(out) => print(&format!("\nwritten to {}\n", out.display())),
            None => Ok(()),
        }
    }
}
