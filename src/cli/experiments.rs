//! What `lienav reproduce` can run again, and how it is called.

use super::arguments::at_least_one;
use super::output::Output;
use clap::builder::PossibleValuesParser;
use lienav_eval::honesty;
use lienav_eval::thesis5::{self, PRINTED};
#[cfg(feature = "lab")]
use lienav_lab::REPRODUCTIONS;
use std::path::PathBuf;

/// All of them, and the filters' chapter.
#[cfg(feature = "lab")]
pub(super) const ALL: (&str, &str) =
    ("all", "every published experiment of this list into --out DIR; goes on where it was ended");

/// The experiments with integrators, by name, and what they are.
#[cfg(feature = "lab")]
fn of_integrators() -> impl Iterator<Item = (&'static str, &'static str)> {
    REPRODUCTIONS.iter().map(|reproduction| (reproduction.name, reproduction.about))
}

#[cfg(not(feature = "lab"))]
const ABOUT: &str =
    "in a build with the laboratory: `cargo run --release --no-default-features --features lab -- reproduce …`";

/// All of them, and the filters' chapter.
#[cfg(not(feature = "lab"))]
pub(super) const ALL: (&str, &str) = ("all", ABOUT);

/// The names of the experiments with integrators, and how to get them.
#[cfg(not(feature = "lab"))]
fn of_integrators() -> impl Iterator<Item = (&'static str, &'static str)> {
    NAMES.iter().map(|&name| (name, ABOUT))
}

#[cfg(not(feature = "lab"))]
const NAMES: [&str; 9] = [
    "thesis-1",
    "thesis-2",
    "thesis-3",
    "thesis-4",
    "polar-so-n",
    "lie-integrators",
    "inertial",
    "stability-test",
    "two-spheres",
];

/// The table of estimators: how it is called, and what it is.
pub(super) const REFEREE: (&str, &str) =
    ("referee", "filters of lienav beside a plain EKF, GTSAM, VQF and published estimates, on recordings of --data");

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
    /// Of thesis-5, honesty, referee and all: the seeds of the runs come from this [default: 1]
    #[arg(long)]
    pub(super) seed: Option<u64>,
    /// Of thesis-5: only these tables, separated by commas
    #[arg(long, value_name = "5.1,…", value_delimiter = ',',
          value_parser = PossibleValuesParser::new(
              PRINTED.chunk_by(|a, b| a.table == b.table).filter_map(|cells| Some(cells.first()?.table))))]
    pub(super) tables: Vec<String>,
    /// Of thesis-5: also the maximum-likelihood estimate of each whole run, to compare with
    #[arg(long)]
    pub(super) batch: bool,
    /// Of inertial: also the gyroscope of this recording, a CSV file with t_s, gyr_x_radps, gyr_y_radps, gyr_z_radps
    #[arg(long, value_name = "FILE")]
    pub(super) recording: Option<PathBuf>,
    /// Of honesty: also this recording, as `evaluate` takes it, with config/robot.yaml; may be given several times
    #[arg(long = "source", value_name = "SOURCE")]
    pub(super) sources: Vec<String>,
    /// Of honesty: leave the scenarios out
    #[arg(long, requires = "sources")]
    pub(super) recordings_only: bool,
    /// Of referee: a folder with recordings, by their paths or names; may be given several times
    #[arg(long, value_name = "DIR")]
    pub(super) data: Vec<PathBuf>,
    /// Of referee: the Python that has numpy, and gtsam and vqf where their rows are wanted
    #[arg(long, value_name = "PROGRAM", default_value = "python3")]
    pub(super) python: String,
    /// Of referee: also this estimate of another program, as `judge` takes it; may be given several times
    #[arg(long = "estimate", value_name = "RECORDING:NAME=FILE")]
    pub(super) estimates: Vec<String>,
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
  lienav reproduce referee --data recordings --python v/bin/python --out referee
  lienav reproduce thesis-5 --runs 50 --batch --out thesis-5
  lienav reproduce thesis-5 --tables 5.3,5.4 --json";

/// What can be run again, by name, and what it is.
pub(super) fn names() -> impl Iterator<Item = (&'static str, &'static str)> {
    of_integrators().chain([thesis5::NAME, honesty::NAME, REFEREE, ALL])
}
