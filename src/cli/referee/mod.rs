//! `lienav reproduce referee`: estimators of several houses on public recordings, each judged by its file alone.
//!
//! Read [`recordings`] for what runs on what, [`planar`], [`space`] and [`attitude`] for what every estimator is given
//! and for what ours make of it, [`foreign`] for the programs of others, [`given`] for estimates that the user names, [`files`] for the files between them, and
//! [`table`] and [`page`] for the result.

mod attitude;
mod files;
mod foreign;
mod given;
mod page;
mod planar;
mod recordings;
mod space;
mod table;

use super::experiments::Args;
use super::failure::{Failure, print, warn};
use super::progress;
use given::Given;
use indicatif::ProgressBar;
use lienav_eval::folder::{create, remove_leftovers, write_file, write_text};
use lienav_eval::judge::run::Subject;
use lienav_eval::judge::{self, Judged, Options};
use lienav_io::open;
use lienav_io::trajectory::{self, Trajectory};
use rayon::prelude::*;
use recordings::{Entry, Opened};
use std::fs;
use std::path::{Path, PathBuf};
use table::{Row, Table};

pub(super) fn run(args: &Args) -> Result<(), Failure> {
    let given = args.estimates.iter().map(|text| Given::parse(text)).collect::<Result<Vec<_>, Failure>>()?;
    args.output.make_folder()?;
    // Without --out, files live as long as the command.
    let scratch = tempfile::tempdir().map_err(Failure::failed)?;
    let folder = args.output.out.as_deref().unwrap_or(scratch.path());
    remove_leftovers(folder);
    let (found, missing) = recordings::find(&args.data);
    if !missing.is_empty() {
        warn(&format!("in no folder of --data, so that their rows are missing: {}", missing.join(", ")));
    }
    let bar = progress::bar(found.iter().map(|(entry, _)| entry.steps()).sum(), "estimates");
    bar.tick();
    let plan = Plan { args, given: &given, folder, bar: &bar };
    let parts: Vec<Result<Vec<Row>, Failure>> =
        args.output.on_threads(|| found.par_iter().map(|(entry, source)| plan.recording(entry, source)).collect())?;
    bar.finish_and_clear();
    let rows = parts.into_iter().collect::<Result<Vec<_>, Failure>>()?.concat();
    let table =
        Table { version: env!("CARGO_PKG_VERSION"), seed: args.seed.unwrap_or(1), is_quick: args.quick, missing, rows };
    if let Some(out) = &args.output.out {
        write(out, &table)?;
    }
    if args.output.json {
        return print(&format!("{}\n", serde_json::to_string_pretty(&table).map_err(Failure::failed)?));
    }
    print(&table.to_text())?;
    args.output.say_where()
}

fn write(out: &Path, table: &Table) -> Result<(), Failure> {
    let json = serde_json::to_string_pretty(table).map_err(Failure::failed)?;
    write_file(out, "report.json", |file| writeln!(file, "{json}")).map_err(Failure::failed)?;
    let texts = [
        ("report.txt", table.to_text()),
        ("report.csv", table.to_csv()),
        ("report.tex", table.to_latex()),
        ("report.html", page::html(table)),
    ];
    texts.iter().try_for_each(|(name, text)| write_text(out, name, text)).map_err(Failure::failed)
}

/// The file that says how estimates were made is not longer, bytes.
const LONGEST: u64 = 1 << 16;

/// What holds for all recordings.
struct Plan<'a> {
    args: &'a Args,
    given: &'a [Given],
    folder: &'a Path,
    bar: &'a ProgressBar,
}

impl Plan<'_> {
    /// Makes the estimates of a recording that are not there yet, and judges all of them.
    fn recording(&self, entry: &Entry, source: &str) -> Result<Vec<Row>, Failure> {
        let seed = self.args.seed.unwrap_or(1);
        let own = self.folder.join(entry.name);
        let mark = format!("lienav {}, seed {seed}, quick {}, {source}\n", env!("CARGO_PKG_VERSION"), self.args.quick);
        let (inputs, estimates) = (own.join("inputs"), own.join("estimates"));
        // Estimates of other input are not gone on with.
        if open::read_text(&own.join("made.txt"), LONGEST).ok().as_deref() != Some(mark.as_str()) && estimates.exists()
        {
            fs::remove_dir_all(&estimates)
                .map_err(|error| Failure::Failed(format!("{}: {error}", estimates.display())))?;
        }
        for folder in [&inputs, &estimates] {
            create(folder).map_err(Failure::failed)?;
        }
        let opened = recordings::open(entry, source, seed, self.args.quick)?;
        write_text(&own, "made.txt", &mark).map_err(Failure::failed)?;
        let noise = opened.write_inputs(&inputs)?;
        for name in opened.ours() {
            let path = estimates.join(format!("{name}.csv"));
            if !path.exists() {
                let text = opened.run_ours(name)?;
                write_text(&estimates, &format!("{name}.csv"), &text).map_err(Failure::failed)?;
            }
            self.bar.inc(1);
        }
        let mut reasons = Vec::new();
        for program in entry.programs() {
            if let Err(why) = program.run(&self.args.python, &inputs, &estimates) {
                reasons.extend(program.outputs.iter().map(|name| ((*name).to_owned(), why.clone())));
            }
            self.bar.inc(1);
        }
        let truth = open(&inputs.join("truth.csv"), "truth").map_err(Failure::Failed)?;
        let options = Options { space: Some(entry.space()), noise, ..Options::default() };
        let sources = self.sources(entry, &opened, &estimates);
        let mut judged: Vec<(Trajectory, Judged)> = Vec::new();
        let mut rows = Vec::new();
        for (name, path) in sources {
            let why = reasons.iter().find(|(of, _)| *of == name).map(|(_, why)| why.clone());
            let outcome = match why {
                Some(why) => Err(why),
                None => open(&path, &name).and_then(|estimate| {
                    let found = judge::judge(&estimate, &truth, &options).map_err(|error| error.to_string())?;
                    Ok((estimate, found))
                }),
            };
            match outcome {
                Ok((estimate, found)) => {
                    rows.push(Row::new(entry, &name, &found.report));
                    judged.push((estimate, found));
                }
                Err(why) => rows.push(Row::left_out(entry, &name, why)),
            }
        }
        let subjects: Vec<Subject<'_>> =
            judged.iter().map(|(estimate, judged)| Subject { estimate, judged, noise: options.noise }).collect();
        judge::folder::write(&own.join("judged"), &subjects).map_err(Failure::failed)?;
        Ok(rows)
    }

    /// All estimates of a recording by name, ours first, and where they are.
    fn sources(&self, entry: &Entry, opened: &Opened, estimates: &Path) -> Vec<(String, PathBuf)> {
        let ours = opened.ours().iter().map(|name| (*name).to_owned());
        let foreign = entry.programs().iter().flat_map(|program| program.outputs).map(|name| (*name).to_owned());
        let made = ours.chain(foreign).map(|name| {
            let path = estimates.join(format!("{name}.csv"));
            (name, path)
        });
        let given = self.given.iter().filter(|given| given.recording == entry.name);
        made.chain(given.map(|given| (given.name.clone(), PathBuf::from(&given.source)))).collect()
    }
}

/// Reads an estimate or the truth, as `lienav judge` does.
fn open(path: &Path, name: &str) -> Result<Trajectory, String> {
    let source = path.to_string_lossy();
    let mut found =
        trajectory::open(&source, &trajectory::Options::default(), &mut |_| ()).map_err(|error| error.to_string())?;
    found.name = name.to_owned();
    Ok(found)
}
