//! Part of the runs of an experiment in a file, and files added up.
//!
//! A file is lines of text, each with its check sum: the experiment first, then a line for each run, in the order in
//! which they were done. A run is written as soon as it is done: a process that is killed loses what it was at, and the
//! next one goes on behind the lines that are whole.

mod merge;

pub use merge::{MergeError, merge, merge_records};

use super::error::ExperimentError;
use super::experiment::Experiment;
use super::record::{RunRecord, checked_line, content_of};
use lienav_io::files::{remedy, write_atomically};
use lienav_io::open;
use lienav_sim::Scenario;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fs::{File, TryLockError};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::{Mutex, PoisonError};

/// One of N parts of the runs: every N-th from the K-th on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shard {
    /// Which, from 1 on.
    number: usize,
    /// Of how many.
    of: usize,
}

/// As many parts as a job array may have.
const MOST_SHARDS: usize = 1_000_000;
/// More runs than anybody makes.
const MOST_RUNS: usize = 100_000_000;

impl Shard {
    /// The K-th of N parts; `None` where K is not 1 … N.
    pub fn new(number: usize, of: usize) -> Option<Self> {
        ((1..=of).contains(&number) && of <= MOST_SHARDS).then_some(Self { number, of })
    }

    /// Its runs of so many, from 0 on, in order.
    pub fn runs(self, runs: usize) -> impl Iterator<Item = usize> {
        (self.number - 1..runs).step_by(self.of)
    }

    /// What its file is called.
    pub fn file_name(self) -> String {
        let width = self.of.to_string().len();
        format!("shard-{:0width$}-of-{}.jsonl", self.number, self.of)
    }

    /// Whether a file is called like a shard.
    pub fn is_file_name(name: &str) -> bool {
        let parts = name.strip_prefix("shard-").and_then(|rest| rest.strip_suffix(".jsonl")?.split_once("-of-"));
        parts.is_some_and(|(k, n)| [k, n].iter().all(|x| !x.is_empty() && x.bytes().all(|b| b.is_ascii_digit())))
    }
}

impl std::fmt::Display for Shard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.number, self.of)
    }
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let numbers = text.split_once('/').and_then(|(k, n)| Some((k.trim().parse().ok()?, n.trim().parse().ok()?)));
        numbers
            .and_then(|(number, of)| Self::new(number, of))
            .ok_or_else(|| format!("give K/N with K from 1 to N and N up to {MOST_SHARDS}, as in 3/8"))
    }
}

/// The first line of a file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Header {
    format: String,
    /// Of lienav: another one may give other numbers.
    version: String,
    shard: Shard,
    runs: usize,
    seed: u64,
    filters: Vec<String>,
    settings: Vec<(String, String)>,
    scenario: Scenario,
}

const FORMAT: &str = "lienav monte-carlo shard 1";

impl Header {
    fn new(experiment: &Experiment, shard: Shard) -> Self {
        Self {
            format: FORMAT.to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            shard,
            runs: experiment.runs,
            seed: experiment.seed,
            filters: experiment.filters.clone(),
            settings: experiment.settings.clone(),
            scenario: experiment.scenario.clone(),
        }
    }

    fn experiment(&self) -> Experiment {
        Experiment {
            scenario: self.scenario.clone(),
            filters: self.filters.clone(),
            settings: self.settings.clone(),
            sensors: Vec::new(),
            runs: self.runs,
            seed: self.seed,
        }
    }

    /// What differs, in a word; `None` where both are of one experiment.
    fn difference(&self, other: &Self) -> Option<&'static str> {
        let is_other = [
            (self.version != other.version, "version of lienav"),
            (self.scenario != other.scenario, "scenario"),
            (self.filters != other.filters, "--filters"),
            (self.settings != other.settings, "--filter-set"),
            (self.runs != other.runs, "--runs"),
            (self.seed != other.seed, "--seed"),
            (self.shard.of != other.shard.of, "number of shards"),
        ];
        is_other.into_iter().find(|(is_other, _)| *is_other).map(|(_, what)| what)
    }
}

/// Why a shard is not made.
#[derive(Debug, thiserror::Error)]
pub enum ShardError {
    /// An experiment that cannot be run.
    #[error(transparent)]
    Experiment(#[from] ExperimentError),
    /// The file system says no.
    #[error("{}: {error}{}", path.display(), remedy(error))]
    Io {
        /// Of which file.
        path: PathBuf,
        /// What it says.
        error: io::Error,
    },
    /// Another process makes it.
    #[error("{}: another process is making this shard; wait for it, or give another folder", .0.display())]
    InUse(PathBuf),
    /// The file is another experiment's.
    #[error("{}: is of another experiment, its {what} differs; give another folder, or remove the file", path.display())]
    Other {
        /// Which file.
        path: PathBuf,
        /// What differs.
        what: &'static str,
    },
    /// The place is taken.
    #[error("{}: exists and is no shard of an experiment; give another folder", .0.display())]
    NoShard(PathBuf),
    /// Sensors that a program has added have no form as text.
    #[error("sensors that a program has added cannot be written to a shard; leave them out")]
    Sensors,
    /// An interruption.
    #[error("interrupted; the runs that were done are kept, and the same call goes on behind them")]
    Interrupted,
}

/// What [`make`] has done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Made {
    /// The file.
    pub path: PathBuf,
    /// How many runs are in it.
    pub runs: usize,
    /// How many of them were there already.
    pub kept: usize,
    /// How many lines were damaged, and are made anew.
    pub damaged: usize,
}

/// Makes a shard as a file in `folder`, on the threads of the rayon pool it is called in. Runs that the file has
/// already are not made again; a line that is damaged is. `done` is called for each run, by any thread, also for those
/// that were there; where it gives false, no more runs are begun.
///
/// # Errors
/// The experiment cannot be run, or the file is another's or cannot be written.
pub fn make(
    experiment: &Experiment,
    shard: Shard,
    folder: &Path,
    done: impl Fn() -> bool + Sync,
) -> Result<Made, ShardError> {
    experiment.check()?;
    if !experiment.sensors.is_empty() {
        return Err(ShardError::Sensors);
    }
    let path = folder.join(shard.file_name());
    let io_error = |error| ShardError::Io { path: path.clone(), error };
    let header = Header::new(experiment, shard);
    let mut file = open_locked(&path)?;
    let (whole, damaged) = whole_lines(&mut file, &path, &header)?;
    let kept: BTreeSet<usize> = whole.iter().map(|(run, _)| *run).collect();
    if damaged > 0 || whole.is_empty() {
        drop(file);
        let text = serde_json::to_string(&header).map_err(|error| io_error(error.into()))?;
        write_atomically(&path, |out| {
            writeln!(out, "{}", checked_line(&text))?;
            whole.iter().try_for_each(|(_, line)| writeln!(out, "{line}"))
        })
        .map_err(io_error)?;
        file = open_locked(&path)?;
    }
    drop(whole);
    file.seek(SeekFrom::End(0)).map_err(io_error)?;
    if !kept.iter().all(|_| done()) {
        return Err(ShardError::Interrupted);
    }
    let missing: Vec<usize> = shard.runs(experiment.runs).filter(|run| !kept.contains(run)).collect();
    let out = Mutex::new(file);
    experiment.run_some(&missing, |record| {
        let line = record.to_line().map_err(|error| io_error(error.into()))? + "\n";
        // A thread that panicked has written nothing or a line that is found damaged.
        let mut out = out.lock().unwrap_or_else(PoisonError::into_inner);
        out.write_all(line.as_bytes()).map_err(io_error)?;
        drop(out);
        if done() { Ok(()) } else { Err(ShardError::Interrupted) }
    })?;
    out.into_inner().unwrap_or_else(PoisonError::into_inner).sync_all().map_err(io_error)?;
    Ok(Made { path, runs: kept.len() + missing.len(), kept: kept.len(), damaged })
}

fn open_locked(path: &Path) -> Result<File, ShardError> {
    let io_error = |error| ShardError::Io { path: path.to_owned(), error };
    let file = open::in_place(path).map_err(io_error)?;
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => Err(ShardError::InUse(path.to_owned())),
        // Not every file system has locks.
        _ => Ok(file),
    }
}

/// The runs that a file has, with their lines, and how many lines are damaged. A file without content has none.
fn whole_lines(file: &mut File, path: &Path, header: &Header) -> Result<(Vec<(usize, String)>, usize), ShardError> {
    let io_error = |error| ShardError::Io { path: path.to_owned(), error };
    let mut lines = Lines::new(file);
    let Some((first, _)) = lines.next_line().map_err(io_error)? else { return Ok((Vec::new(), 0)) };
    let found: Option<Header> = content_of(&first).and_then(|text| serde_json::from_str(text).ok());
    let Some(found) = found.filter(|found| found.format == FORMAT) else {
        // Where the first line is ours but for its end or its numbers, all is made anew.
        let is_ours = first.bytes().zip(0..).all(|(byte, at)| match at {
            0..8 => byte.is_ascii_hexdigit(),
            8 => byte == b' ',
            _ => true,
        });
        return if is_ours { Ok((Vec::new(), 1)) } else { Err(ShardError::NoShard(path.to_owned())) };
    };
    let differs = header.difference(&found).or((header.shard != found.shard).then_some("--shard"));
    if let Some(what) = differs {
        // A call that was wrong has left its first line at most.
        let has_runs = lines.next_line().map_err(io_error)?.is_some();
        return if has_runs { Err(ShardError::Other { path: path.to_owned(), what }) } else { Ok((Vec::new(), 0)) };
    }
    let mine: BTreeSet<usize> = header.shard.runs(header.runs).collect();
    let (mut whole, mut seen, mut damaged) = (Vec::new(), BTreeSet::new(), 0);
    while let Some((line, _)) = lines.next_line().map_err(io_error)? {
        match RunRecord::from_line(&line).filter(|record| mine.contains(&record.run) && seen.insert(record.run)) {
            Some(record) => whole.push((record.run, line)),
            None => damaged += 1,
        }
    }
    Ok((whole, damaged))
}

/// Longer than any run: what has no end of a line is no file of ours.
const LONGEST_LINE: u64 = 1 << 28;

/// Lines with the place where each begins. What is no text is a line that is damaged.
struct Lines<R> {
    input: BufReader<R>,
    at: u64,
}

impl<R: Read> Lines<R> {
    fn new(input: R) -> Self {
        Self { input: BufReader::new(input), at: 0 }
    }

    fn next_line(&mut self) -> io::Result<Option<(String, u64)>> {
        let (mut line, begin) = (Vec::new(), self.at);
        self.at += self.input.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut line)? as u64;
        if line.last() == Some(&b'\n') {
            line.pop();
        } else if line.is_empty() {
            return Ok(None);
        } else {
            // Without its end, it was not written as a whole.
            line.push(b' ');
        }
        Ok(Some((String::from_utf8(line).unwrap_or_else(|_| "damaged".to_owned()), begin)))
    }
}
