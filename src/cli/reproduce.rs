//! `lienav reproduce`: published experiments, run again.

use super::failure::{Failure, print};
use super::monte_carlo::{Output, at_least_one};
use super::progress;
use crate::evaluate::reproduce::{NAMES, PRINTED, Thesis5, to_text, write};
use clap::builder::PossibleValuesParser;

/// Run a published experiment again and hold it against what was printed
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// Which experiment; `list` lists them
    #[arg(value_parser = PossibleValuesParser::new(NAMES.map(|(name, _)| name).into_iter().chain(["list"])))]
    experiment: String,
    /// How many runs each cell of the tables has
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = at_least_one())]
    runs: u64,
    /// The seeds of the runs come from this
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Only these tables, separated by commas
    #[arg(long, value_name = "5.1,…", value_delimiter = ',',
          value_parser = PossibleValuesParser::new(PRINTED.chunk_by(|a, b| a.table == b.table).map(|cells| cells[0].table)))]
    tables: Vec<String>,
    #[command(flatten)]
    output: Output,
}

const EXAMPLES: &str = "Examples:
  lienav reproduce thesis-5 --runs 50 --out thesis-5
  lienav reproduce thesis-5 --tables 5.3,5.4 --json
  lienav reproduce list";

pub(super) fn run(args: &Args) -> Result<(), Failure> {
    if args.experiment == "list" {
        return print(&NAMES.map(|(name, what)| format!("{name}  {what}\n")).concat());
    }
    let runs = usize::try_from(args.runs).map_err(Failure::failed)?;
    let cells = Thesis5::cells_of(&args.tables);
    let bar = progress::bar(cells.len() * runs, "runs of cells");
    bar.tick();
    let thesis = args.output.on_threads(|| Thesis5::run(&cells, runs, args.seed, || bar.inc(1)));
    bar.finish_and_clear();
    let thesis = thesis?.map_err(Failure::failed)?;
    if let Some(out) = &args.output.out {
        write(out, &thesis).map_err(Failure::failed)?;
    }
    if args.output.json {
        return print(&format!("{}\n", thesis.to_json().map_err(Failure::failed)?));
    }
    print(&to_text(&thesis))?;
    args.output.say_where()
}
