//! `lienav reproduce honesty`: how far errors and claimed covariances are apart where nobody tuned.

use super::experiments::Args;
use super::failure::{Failure, print};
use super::progress;
use super::source::open;
use lienav_eval::folder::{create, write_file, write_text};
use lienav_eval::honesty::{FILTERS, Honesty, cases, to_text};
use lienav_eval::study::Study;
use lienav_io::bag::Topics;
use lienav_io::bag::params::NODE;
use lienav_io::settings_file::overlay;
use std::path::Path;

/// The one configuration, which every recording is run with.
const ROBOT: &str = include_str!("../../config/robot.yaml");

/// Runs of a case, unless it is said how many.
const RUNS: u64 = 50;

/// The same of a quick run.
const QUICK_RUNS: u64 = 2;

pub(super) fn run(args: &Args) -> Result<(), Failure> {
    let runs = args.runs.unwrap_or(if args.quick { QUICK_RUNS } else { RUNS });
    let runs = usize::try_from(runs).map_err(Failure::failed)?;
    args.output.make_folder()?;
    let mut honesty = Honesty::new(runs, args.seed.unwrap_or(1));
    recordings(args, &mut honesty)?;
    if !args.recordings_only {
        scenarios(args, &mut honesty)?;
    }
    if args.output.json {
        return print(&format!("{}\n", honesty.to_json().map_err(Failure::failed)?));
    }
    print(&to_text(&honesty))?;
    args.output.say_where()
}

fn recordings(args: &Args, honesty: &mut Honesty) -> Result<(), Failure> {
    let bar = progress::bar(args.sources.len() * FILTERS.len(), "recordings");
    for source in &args.sources {
        let recording = open(source, &Topics::default())?;
        // What the source says of its sensor stays, as far as the file does not set it.
        let said = Study::from(recording.config.clone().unwrap_or_default());
        let study = overlay(&said, ROBOT, NODE).map_err(Failure::failed)?;
        honesty.add_recording(source, &recording, &study, || bar.inc(1)).map_err(Failure::failed)?;
        keep(args.output.out.as_deref(), honesty)?;
    }
    bar.finish_and_clear();
    Ok(())
}

fn scenarios(args: &Args, honesty: &mut Honesty) -> Result<(), Failure> {
    let all = cases();
    let runs = all.iter().map(|case| case.methods.len() * honesty.runs).sum();
    let bar = progress::bar(runs, "runs of cases");
    bar.tick();
    let outcome = args.output.on_threads(|| {
        all.iter().try_for_each(|case| {
            honesty.add(case, || bar.inc(1)).map_err(Failure::failed)?;
            keep(args.output.out.as_deref(), honesty)
        })
    });
    bar.finish_and_clear();
    outcome?
}

/// Writes what there is, so that a run that is ended leaves it.
fn keep(out: Option<&Path>, honesty: &Honesty) -> Result<(), Failure> {
    let Some(out) = out else { return Ok(()) };
    create(out).map_err(Failure::failed)?;
    write_file(out, "report.json", |file| writeln!(file, "{}", honesty.to_json()?)).map_err(Failure::failed)?;
    write_text(out, "report.txt", &to_text(honesty)).map_err(Failure::failed)
}
