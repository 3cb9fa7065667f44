//! Shards added up: what one machine gives, to the last bit, or what stands in the way.

use super::super::experiment::{Experiment, Outcome, Sum, run_seeds};
use super::super::record::{RunRecord, content_of};
use super::{FORMAT, Header, Lines, MOST_RUNS, Shard};
use lienav_io::open;
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// Shards that do not make an experiment.
#[derive(Debug, thiserror::Error)]
pub enum MergeError {
    /// A file cannot be read.
    #[error("{}: {error}", path.display())]
    Io {
        /// Which.
        path: PathBuf,
        /// What the file system says.
        error: io::Error,
    },
    /// No file at all.
    #[error("no shards; give files that `lienav monte-carlo … --shard K/N --out FOLDER` has written, or their folder")]
    Nothing,
    /// Not a shard.
    #[error("{}: is no shard of an experiment, or its first line is damaged; make it again with --shard", .0.display())]
    NoShard(PathBuf),
    /// A line whose check sum is wrong.
    #[error(
        "{}:{line}: damaged; call `lienav monte-carlo … --shard {shard}` again: it makes only the runs that are missing",
        path.display()
    )]
    Damaged {
        /// Which file.
        path: PathBuf,
        /// Which line, counted from 1.
        line: usize,
        /// What to make again.
        shard: Shard,
    },
    /// Of two experiments.
    #[error("{} and {} are of two experiments: their {what} differs", first.display(), path.display())]
    Other {
        /// The first file.
        first: PathBuf,
        /// The one that differs from it.
        path: PathBuf,
        /// In what.
        what: &'static str,
    },
    /// A shard that is there twice.
    #[error("{} and {} are both shard {shard}; give it once", first.display(), path.display())]
    Twice {
        /// The first file.
        first: PathBuf,
        /// The other one.
        path: PathBuf,
        /// Which shard.
        shard: Shard,
    },
    /// Shards that were not given.
    #[error("missing: shard {}; make them with `lienav monte-carlo … --shard K/{of}`", listed(numbers))]
    Missing {
        /// Their numbers.
        numbers: Vec<usize>,
        /// Of how many.
        of: usize,
    },
    /// Runs that a shard does not have.
    #[error(
        "{}: has {found} of {expected} runs; call `lienav monte-carlo … --shard {shard}` again: it makes only those that \
         are missing",
        path.display()
    )]
    Unfinished {
        /// Which file.
        path: PathBuf,
        /// How many it has.
        found: usize,
        /// How many it should have.
        expected: usize,
        /// What to make again.
        shard: Shard,
    },
    /// Records that are not the runs of the experiment, each once.
    #[error("run {run} of the experiment is {}", if *is_there { "there twice" } else { "missing" })]
    Run {
        /// Which run, from 0 on.
        run: usize,
        /// Whether it is there more than once.
        is_there: bool,
    },
    /// A record that another experiment has made.
    #[error("run {0} was made by another experiment: its seed or its filters differ")]
    Foreign(usize),
}

/// The first of them, and how many there are.
fn listed(numbers: &[usize]) -> String {
    const SHOWN: usize = 20;
    let shown: Vec<String> = numbers.iter().take(SHOWN).map(ToString::to_string).collect();
    let more = numbers.len().saturating_sub(SHOWN);
    let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
    shown.join(", ") + &rest
}

/// Adds up the shards of an experiment: what [`Experiment::run`] gives on one machine, to the last bit. No more than
/// one run is in memory at a time.
///
/// # Errors
/// A file that is damaged or of another experiment; a shard that is missing, unfinished or there twice.
pub fn merge(paths: &[PathBuf]) -> Result<Outcome, MergeError> {
    let mut files: Vec<Indexed> = Vec::with_capacity(paths.len());
    for path in paths {
        let file = Indexed::open(path)?;
        if let Some(first) = files.first()
            && let Some(what) = first.header.difference(&file.header)
        {
            return Err(MergeError::Other { first: first.path.clone(), path: path.clone(), what });
        }
        if let Some(twin) = files.iter().find(|other| other.header.shard == file.header.shard) {
            return Err(MergeError::Twice { first: twin.path.clone(), path: path.clone(), shard: file.header.shard });
        }
        files.push(file);
    }
    let Some(first) = files.first() else { return Err(MergeError::Nothing) };
    let (experiment, of) = (first.header.experiment(), first.header.shard.of);
    let given: BTreeSet<usize> = files.iter().map(|file| file.header.shard.number).collect();
    let numbers: Vec<usize> = (1..=of).filter(|number| !given.contains(number)).collect();
    if !numbers.is_empty() {
        return Err(MergeError::Missing { numbers, of });
    }
    files.iter().try_for_each(Indexed::check_finished)?;
    files.sort_by_key(|file| file.header.shard.number);
    let mut sum = Sum::new(&experiment);
    for (run, seed) in run_seeds(experiment.seed, experiment.runs).into_iter().enumerate() {
        let record = files[run % of].read(run)?;
        check(&record, seed, &experiment)?;
        sum.add(&record);
    }
    Ok(sum.finish())
}

/// Adds up the runs of an experiment that were made anywhere, in any order.
///
/// # Errors
/// A run that is missing, there twice, or of another experiment.
pub fn merge_records(experiment: &Experiment, mut records: Vec<RunRecord>) -> Result<Outcome, MergeError> {
    records.sort_by_key(|record| record.run);
    let mut sum = Sum::new(experiment);
    let seeds = run_seeds(experiment.seed, experiment.runs);
    for (place, record) in records.iter().enumerate() {
        match seeds.get(place) {
            Some(&seed) if record.run == place => check(record, seed, experiment)?,
            _ => {
                let is_there = place > 0 && records[place - 1].run == record.run;
                return Err(MergeError::Run { run: if is_there { record.run } else { place }, is_there });
            }
        }
        sum.add(record);
    }
    match records.len() {
        found if found < seeds.len() => Err(MergeError::Run { run: found, is_there: false }),
        _ => Ok(sum.finish()),
    }
}

fn check(record: &RunRecord, seed: u64, experiment: &Experiment) -> Result<(), MergeError> {
    let is_ours = record.filters.len() == experiment.filters.len() && record.is_of_seed(seed);
    if is_ours { Ok(()) } else { Err(MergeError::Foreign(record.run)) }
}

/// A file of which it is known where each run stands.
struct Indexed {
    path: PathBuf,
    file: File,
    header: Header,
    /// Line, place and length of each run of the shard, in the order of the runs.
    places: Vec<Option<(usize, u64, usize)>>,
}

impl Indexed {
    fn open(path: &Path) -> Result<Self, MergeError> {
        let io_error = |error| MergeError::Io { path: path.to_owned(), error };
        let file = open::regular(path).map_err(io_error)?;
        let mut lines = Lines::new(&file);
        let first = lines.next_line().map_err(io_error)?;
        let header: Option<Header> =
            first.and_then(|(line, _)| content_of(&line).and_then(|text| serde_json::from_str(text).ok()));
        let no_shard = || MergeError::NoShard(path.to_owned());
        let header = header.filter(|h| h.format == FORMAT && h.runs <= MOST_RUNS).ok_or_else(no_shard)?;
        let shard = Shard::new(header.shard.number, header.shard.of).ok_or_else(no_shard)?;
        let mut places = vec![None; shard.runs(header.runs).count()];
        let mut number = 1;
        while let Some((line, at)) = lines.next_line().map_err(io_error)? {
            number += 1;
            let damaged = || MergeError::Damaged { path: path.to_owned(), line: number, shard };
            let record = RunRecord::from_line(&line).ok_or_else(damaged)?;
            let is_mine = record.run % shard.of + 1 == shard.number;
            let place = places.get_mut(record.run / shard.of).filter(|place| is_mine && place.is_none());
            *place.ok_or_else(damaged)? = Some((number, at, line.len()));
        }
        Ok(Self { path: path.to_owned(), file, header, places })
    }

    fn check_finished(&self) -> Result<(), MergeError> {
        let (found, expected) = (self.places.iter().flatten().count(), self.places.len());
        if found == expected {
            return Ok(());
        }
        Err(MergeError::Unfinished { path: self.path.clone(), found, expected, shard: self.header.shard })
    }

    fn read(&mut self, run: usize) -> Result<RunRecord, MergeError> {
        let io_error = |error| MergeError::Io { path: self.path.clone(), error };
        let place = self.places.get(run / self.header.shard.of).copied().flatten();
        let (line, at, length) = place.ok_or(MergeError::Run { run, is_there: false })?;
        let mut text = vec![0; length];
        self.file.seek(SeekFrom::Start(at)).map_err(io_error)?;
        self.file.read_exact(&mut text).map_err(io_error)?;
        let record = std::str::from_utf8(&text).ok().and_then(RunRecord::from_line);
        record.ok_or(MergeError::Damaged { path: self.path.clone(), line, shard: self.header.shard })
    }
}
