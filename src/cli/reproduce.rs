//! `lienav reproduce`: published experiments, run again.

use super::failure::{Failure, print};
use super::honesty as of_noise;
use super::laboratory;
use super::monte_carlo::{Output, at_least_one};
use super::progress;
use clap::builder::PossibleValuesParser;
use lienav_eval::honesty;
use lienav_eval::thesis5::{self, PRINTED, Thesis5};
use std::path::PathBuf;

/// Run a published experiment again and hold it against what was printed
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// Which experiment; `list` lists them
    #[arg(value_parser = PossibleValuesParser::new(names().map(|(name, _)| name).chain(["list"])))]
    pub(super) experiment: String,
    /// Shorten it to seconds (not of thesis-5: there, give fewer --runs)
    #[arg(long)]
    pub(super) quick: bool,
    /// Of thesis-5 and all: how many runs each cell of the tables has [default: 50]
    #[arg(long, value_name = "N", value_parser = at_least_one())]
    pub(super) runs: Option<u64>,
    /// Of thesis-5, honesty and all: the seeds of the runs come from this [default: 1]
    #[arg(long)]
    pub(super) seed: Option<u64>,
    /// Of thesis-5: only these tables, separated by commas
    #[arg(long, value_name = "5.1,…", value_delimiter = ',',
          value_parser = PossibleValuesParser::new(PRINTED.chunk_by(|a, b| a.table == b.table).map(|cells| cells[0].table)))]
    tables: Vec<String>,
    /// Of thesis-5: also the maximum-likelihood estimate of each whole run, to compare with
    #[arg(long)]
    batch: bool,
    /// Of inertial: also the gyroscope of this recording, a CSV file with t_s, gyr_x_radps, gyr_y_radps, gyr_z_radps
    #[arg(long, value_name = "FILE")]
    pub(super) recording: Option<PathBuf>,
    /// Of honesty: also this recording, as `evaluate` takes it, with config/robot.yaml; may be given several times
    #[arg(long = "source", value_name = "SOURCE")]
    pub(super) sources: Vec<String>,
    /// Of honesty: leave the scenarios out
    #[arg(long, requires = "sources")]
    pub(super) recordings_only: bool,
    #[command(flatten)]
    pub(super) output: Output,
}

const EXAMPLES: &str = "Examples:
  lienav reproduce list
  lienav reproduce thesis-2 --quick
  lienav reproduce thesis-2 --out thesis-2
  lienav reproduce all --out everything
  lienav reproduce inertial --recording imu.csv
  lienav reproduce honesty --source woods:lost_in_the_woods --out honesty
  lienav reproduce thesis-5 --runs 50 --batch --out thesis-5
  lienav reproduce thesis-5 --tables 5.3,5.4 --json";

pub(super) fn run(args: &Args) -> Result<(), Failure> {
    match args.experiment.as_str() {
        "list" => list(),
        name if name == laboratory::ALL.0 => {
            refuse_foreign(args, &of_tables(args))?;
            refuse_foreign(args, &of_honesty(args))?;
            laboratory::run_all(args)
        }
        name if name == thesis5::NAME.0 => {
            refuse_foreign(args, &[("--quick", args.quick), ("--recording", args.recording.is_some())])?;
            refuse_foreign(args, &of_honesty(args))?;
            filters(args)
        }
        name if name == honesty::NAME.0 => {
            refuse_foreign(args, &of_tables(args))?;
            refuse_foreign(args, &[("--recording", args.recording.is_some())])?;
            of_noise::run(args)
        }
        _ => {
            refuse_foreign(args, &[("--runs", args.runs.is_some()), ("--seed", args.seed.is_some())])?;
            refuse_foreign(args, &of_tables(args))?;
            refuse_foreign(args, &of_honesty(args))?;
            laboratory::run(args)
        }
    }
}

/// What only the chapter of filters takes.
fn of_tables(args: &Args) -> [(&'static str, bool); 2] {
    [("--tables", !args.tables.is_empty()), ("--batch", args.batch)]
}

/// What only the tables of honesty take.
fn of_honesty(args: &Args) -> [(&'static str, bool); 2] {
    [("--source", !args.sources.is_empty()), ("--recordings-only", args.recordings_only)]
}

/// What can be run again, by name, and what it is.
fn names() -> impl Iterator<Item = (&'static str, &'static str)> {
    laboratory::names().chain([thesis5::NAME, honesty::NAME, laboratory::ALL])
}

fn list() -> Result<(), Failure> {
    let width = names().map(|(name, _)| name.len()).max().unwrap_or(0);
    print(&names().map(|(name, what)| format!("{name:width$}  {what}\n")).collect::<String>())
}

/// An option that an experiment has no use for is not passed over in silence.
fn refuse_foreign(args: &Args, foreign: &[(&str, bool)]) -> Result<(), Failure> {
    match foreign.iter().find(|(_, is_given)| *is_given) {
        None => Ok(()),
        Some((option, _)) => Err(Failure::WrongCall(format!(
            "{option} does not apply to {}; leave it out (see `lienav reproduce --help`)",
            args.experiment
        ))),
    }
}

fn filters(args: &Args) -> Result<(), Failure> {
    let runs = usize::try_from(args.runs.unwrap_or(50)).map_err(Failure::failed)?;
    let cells = Thesis5::cells_of(&args.tables);
    args.output.make_folder()?;
    let bar = progress::bar(cells.len() * runs, "runs of cells");
    bar.tick();
    let mut thesis = Thesis5::new(runs, args.seed.unwrap_or(1));
    let outcome = args.output.on_threads(|| {
        cells.iter().try_for_each(|cell| {
            thesis.add(cell, args.batch, || bar.inc(1)).map_err(Failure::failed)?;
            let Some(out) = &args.output.out else { return Ok(()) };
            thesis5::write_tables(out, &thesis).map_err(Failure::failed)
        })
    });
    bar.finish_and_clear();
    outcome??;
    if let Some(out) = &args.output.out {
        thesis5::write(out, &thesis).map_err(Failure::failed)?;
    }
    if args.output.json {
        return print(&format!("{}\n", thesis.to_json().map_err(Failure::failed)?));
    }
    print(&thesis5::to_text(&thesis))?;
    args.output.say_where()
}
