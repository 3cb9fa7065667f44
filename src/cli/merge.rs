//! `lienav merge`: the parts of a Monte Carlo that were made on several machines, added up.

use super::failure::Failure;
use super::monte_carlo::tell;
use super::output::Output;
use lienav_eval::monte_carlo::{Shard, merge};
use std::path::{Path, PathBuf};

/// Add up the parts that `lienav monte-carlo … --shard K/N` has made, to what one machine gives
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// Files `shard-K-of-N.jsonl`, or folders with such files
    #[arg(required = true, value_name = "FILE|FOLDER")]
    shards: Vec<PathBuf>,
    /// Leave the times of steps out, so that the report is that of one machine, to the last byte
    #[arg(long)]
    no_times: bool,
    #[command(flatten)]
    output: Output,
}

const EXAMPLES: &str = "Examples:
  lienav monte-carlo esde --runs 400 --shard 1/2 --out parts     on one machine
  lienav monte-carlo esde --runs 400 --shard 2/2 --out parts     on another one
  lienav merge parts --no-times --json --out results

A part that is missing is named; one that is damaged, unfinished, given twice or of another experiment is refused. The
call with --shard that made it goes on where it was stopped. examples/monte_carlo.slurm is a job array.";

pub(super) fn run(args: &Args) -> Result<(), Failure> {
    let mut paths = Vec::new();
    for path in &args.shards {
        if path.is_dir() { paths.extend(shards_in(path)?) } else { paths.push(path.clone()) }
    }
    args.output.make_folder()?;
    let outcome = merge(&paths).map_err(Failure::failed)?;
    args.output.on_threads(|| tell(&outcome, args.no_times, &args.output))?
}

/// The files of a folder that are called like shards, by name.
fn shards_in(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let failed = |error| Failure::Failed(format!("{}: {error}", folder.display()));
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        if Shard::is_file_name(&entry.file_name().to_string_lossy()) {
            found.push(entry.path());
        }
    }
    found.sort();
    Ok(found)
}
