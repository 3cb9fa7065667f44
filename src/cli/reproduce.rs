//! `lienav reproduce`: published experiments, run again.

use super::failure::{Failure, print};
use super::monte_carlo::{Output, at_least_one};
use super::progress;
use crate::evaluate::reproduce::thesis5::{self, PRINTED, Thesis5};
use crate::evaluate::reproduce::{Extent, REPRODUCTIONS, Reproduction, names, to_text, write_part};
use crate::integrate::IntegrationError;
use clap::builder::PossibleValuesParser;

/// Run a published experiment again and hold it against what was printed
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// Which experiment; `list` lists them
    #[arg(value_parser = PossibleValuesParser::new(names().map(|(name, _)| name).chain(["list"])))]
    experiment: String,
    /// Shorten it to seconds (not of thesis-5: there, give fewer --runs)
    #[arg(long)]
    quick: bool,
    /// Of thesis-5: how many runs each cell of the tables has [default: 50]
    #[arg(long, value_name = "N", value_parser = at_least_one())]
    runs: Option<u64>,
    /// Of thesis-5: the seeds of the runs come from this [default: 1]
    #[arg(long)]
    seed: Option<u64>,
    /// Of thesis-5: only these tables, separated by commas
    #[arg(long, value_name = "5.1,…", value_delimiter = ',',
          value_parser = PossibleValuesParser::new(PRINTED.chunk_by(|a, b| a.table == b.table).map(|cells| cells[0].table)))]
    tables: Vec<String>,
    /// Of thesis-5: also the maximum-likelihood estimate of each whole run, to compare with
    #[arg(long)]
    batch: bool,
    #[command(flatten)]
    output: Output,
}

const EXAMPLES: &str = "Examples:
  lienav reproduce list
  lienav reproduce thesis-2 --quick
  lienav reproduce thesis-2 --out thesis-2
  lienav reproduce thesis-5 --runs 50 --batch --out thesis-5
  lienav reproduce thesis-5 --tables 5.3,5.4 --json";

pub(super) fn run(args: &Args) -> Result<(), Failure> {
    if let Some(reproduction) = REPRODUCTIONS.iter().find(|reproduction| reproduction.name == args.experiment) {
        refuse_foreign(
            args,
            &[
                ("--runs", args.runs.is_some()),
                ("--seed", args.seed.is_some()),
                ("--tables", !args.tables.is_empty()),
                ("--batch", args.batch),
            ],
        )?;
        return integrators(args, reproduction);
    }
    if args.experiment == thesis5::NAME.0 {
        refuse_foreign(args, &[("--quick", args.quick)])?;
        return filters(args);
    }
    list()
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

impl From<IntegrationError> for Failure {
    fn from(error: IntegrationError) -> Self {
        Self::failed(error)
    }
}

/// How finely the bar of an experiment with integrators moves.
const BAR_STEPS: u32 = 1000;

fn integrators(args: &Args, reproduction: &Reproduction) -> Result<(), Failure> {
    let extent = if args.quick { Extent::Quick } else { Extent::Full };
    args.output.make_folder()?;
    let bar = progress::bar(BAR_STEPS as usize, reproduction.name);
    bar.tick();
    let report = args.output.on_threads(|| {
        let progress = |done: f64| bar.set_position((done.clamp(0.0, 1.0) * f64::from(BAR_STEPS)) as u64);
        // What is finished is kept, whatever becomes of the rest.
        reproduction.run(extent, &progress, |report, new| match &args.output.out {
            Some(out) => write_part(out, report, new).map_err(Failure::failed),
            None => Ok(()),
        })
    });
    bar.finish_and_clear();
    let report = report??;
    if args.output.json {
        return print(&format!("{:#}\n", report.to_json()));
    }
    print(&to_text(&report))?;
    args.output.say_where()
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
