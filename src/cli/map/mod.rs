//! `lienav map`: maps of landmarks as files.

mod check;
mod convert;
mod draw;
mod info;
mod merge;

use super::failure::{Failure, warn};
use lienav_io::files::remedy;
use lienav_io::map_file::MapFile;
use std::io;
use std::path::Path;

/// Look at maps of landmarks, check, merge, convert and draw them
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    Info(info::Args),
    Check(check::Args),
    Merge(merge::Args),
    Convert(convert::Args),
    Draw(draw::Args),
}

const EXAMPLES: &str = "Examples:
  lienav map check hall.yaml                       every problem with its line; exit code 1 if there is one
  lienav map convert survey.csv hall.yaml --sigma-m 0.02
  lienav map convert tags.yaml hall.yaml --sigma-m 0.05
  lienav map merge monday.yaml tuesday.yaml --out hall.yaml
  lienav map info hall.yaml
  lienav map draw hall.yaml --out hall.svg

A map is a YAML file that a person can write from a survey:

  lienav_map: 1
  sigma_m: 0.02                                    standard deviation of either coordinate, m
  landmarks:
  - {id: 7, x_m: 1.25, y_m: -3.5}
  - {id: 8, x_m: 4.0, y_m: 0.75, sigma_m: 0.05}
  - {x_m: 2.0, y_m: 6.0, class: 2}                 without id where the sensor reads none

slam_node writes one, with its joint covariance beside it, when ~/save_map is called (parameter map.file).";

pub(super) fn run(args: &Args) -> Result<(), Failure> {
    match &args.command {
        Command::Info(args) => info::run(args),
        Command::Check(args) => check::run(args),
        Command::Merge(args) => merge::run(args),
        Command::Convert(args) => convert::run(args),
        Command::Draw(args) => draw::run(args),
    }
}

/// Reads a map, and says what of it is left out.
fn read(path: &Path) -> Result<MapFile, Failure> {
    let map = MapFile::read(path).map_err(Failure::failed)?;
    map.warnings.iter().for_each(|warning| warn(warning));
    Ok(map)
}

/// An error of writing, with what can be done.
fn not_written(path: &Path, error: &io::Error) -> Failure {
    Failure::Failed(format!("{}: {error}{}", path.display(), remedy(error)))
}

/// A file that is there is replaced where that is asked for only.
fn refuse_existing(path: &Path, force: bool) -> Result<(), Failure> {
    if force || !path.exists() {
        return Ok(());
    }
    Err(Failure::Failed(format!("{} exists; --force replaces it", path.display())))
}
