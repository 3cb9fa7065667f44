//! `lienav map`: maps of landmarks as files.

mod check;
mod convert;
mod draw;
mod files;
mod info;
mod merge;

use super::failure::Failure;

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
