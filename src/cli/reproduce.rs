//! `lienav reproduce`: published experiments, run again.

use super::experiments::{ALL, REFEREE, names};
use super::failure::{Failure, print};
use super::honesty as of_noise;
use super::laboratory;
use super::progress;
use super::referee;
use lienav_eval::honesty;
use lienav_eval::thesis5::{self, Thesis5};

pub(super) use super::experiments::Args;

pub(super) fn run(args: &Args) -> Result<(), Failure> {
    match args.experiment.as_str() {
        "list" => list(),
        name if name == ALL.0 => {
            refuse_foreign(args, &of_tables(args))?;
            refuse_foreign(args, &of_honesty(args))?;
            refuse_foreign(args, &of_referee(args))?;
            laboratory::run_all(args)
        }
        name if name == thesis5::NAME.0 => {
            refuse_foreign(args, &[("--quick", args.quick), ("--recording", args.recording.is_some())])?;
            refuse_foreign(args, &of_honesty(args))?;
            refuse_foreign(args, &of_referee(args))?;
            filters(args)
        }
        name if name == honesty::NAME.0 => {
            refuse_foreign(args, &of_tables(args))?;
            refuse_foreign(args, &[("--recording", args.recording.is_some())])?;
            refuse_foreign(args, &of_referee(args))?;
            of_noise::run(args)
        }
        name if name == REFEREE.0 => {
            refuse_foreign(args, &of_tables(args))?;
            refuse_foreign(args, &of_honesty(args))?;
            refuse_foreign(args, &[("--recording", args.recording.is_some()), ("--runs", args.runs.is_some())])?;
            referee::run(args)
        }
        _ => {
            refuse_foreign(args, &[("--runs", args.runs.is_some()), ("--seed", args.seed.is_some())])?;
            refuse_foreign(args, &of_tables(args))?;
            refuse_foreign(args, &of_honesty(args))?;
            refuse_foreign(args, &of_referee(args))?;
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

/// What only the table of the referee takes.
fn of_referee(args: &Args) -> [(&'static str, bool); 2] {
    [("--data", !args.data.is_empty()), ("--estimate", !args.estimates.is_empty())]
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
