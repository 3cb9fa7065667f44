//! `lienav reproduce all`: every published experiment into one folder, kept part by part, with a page that links
//! every table and picture.

use super::experiments::Args;
use super::failure::{Failure, print};
use super::progress;
use lienav_eval::folder::{create, write_text};
use lienav_eval::thesis5::{self, PRINTED, Thesis5};
use lienav_io::open;
use lienav_lab::{Extent, Picture, REPRODUCTIONS, Section, keep, write_page};
use std::fs;
use std::path::Path;

/// No report of tables is longer, bytes.
const LONGEST: u64 = 1 << 23;

/// How finely the bar of a part moves.
const BAR_STEPS: u32 = 1000;

/// Runs what is missing of all.
pub(super) fn run(args: &Args) -> Result<(), Failure> {
    let Some(out) = args.output.out.as_deref().filter(|_| !args.output.json) else {
        let problem = "`reproduce all` writes into a folder: give it --out DIR, and no --json (each part has its \
                       report.json there)";
        return Err(Failure::WrongCall(problem.to_owned()));
    };
    args.output.make_folder()?;
    let extent = if args.quick { Extent::Quick } else { Extent::Full };
    let mut sections = Vec::new();
    for reproduction in REPRODUCTIONS {
        let bar = progress::bar(BAR_STEPS as usize, reproduction.name);
        bar.tick();
        let (mut done, parts) = (0, reproduction.parts());
        let section = args.output.on_threads(|| {
            let progress = |done: f64| bar.set_position((done.clamp(0.0, 1.0) * f64::from(BAR_STEPS)) as u64);
            keep(&out.join(reproduction.name), reproduction, extent, &progress, |_, was_there| {
                done += usize::from(was_there)
            })
        });
        bar.finish_and_clear();
        sections.push(section?.map_err(|error| Failure::Failed(format!("{}: {error}", reproduction.name)))?);
        print(&format!("{}: {} of {parts} parts run, {done} were there\n", reproduction.name, parts - done))?;
        // After each, so that a run that is ended leaves a page of what it has.
        write_page(out, &sections).map_err(Failure::failed)?;
    }
    sections.extend(filters(args, out)?);
    write_page(out, &sections).map_err(Failure::failed)?;
    print(&format!("{}\n", out.join("index.html").display()))
}

/// The filters' chapter, table by table.
fn filters(args: &Args, out: &Path) -> Result<Vec<Section>, Failure> {
    let runs = usize::try_from(args.runs.unwrap_or(if args.quick { 2 } else { 50 })).map_err(Failure::failed)?;
    let seed = args.seed.unwrap_or(1);
    let tables: Vec<&str> =
        PRINTED.chunk_by(|a, b| a.table == b.table).filter_map(|cells| Some(cells.first()?.table)).collect();
    let mut sections = Vec::new();
    let mut ran = 0;
    for table in &tables {
        let name = format!("{}/table-{table}", thesis5::NAME.0);
        let folder = out.join(&name);
        let mark = format!("{} runs, seed {seed}, lienav {}\n", runs, env!("CARGO_PKG_VERSION"));
        if open::read_text(&folder.join("complete.txt"), LONGEST).ok().as_deref() != Some(mark.as_str()) {
            let cells = Thesis5::cells_of(&[(*table).to_owned()]);
            let bar = progress::bar(cells.len() * runs, "runs of cells");
            bar.tick();
            let mut thesis = Thesis5::new(runs, seed);
            let outcome = args.output.on_threads(|| {
                cells.iter().try_for_each(|cell| thesis.add(cell, false, || bar.inc(1)).map_err(Failure::failed))
            });
            bar.finish_and_clear();
            outcome??;
            create(&folder).map_err(Failure::failed)?;
            thesis5::write(&folder, &thesis).map_err(Failure::failed)?;
            // The last file: what has it is whole.
            write_text(&folder, "complete.txt", &mark).map_err(Failure::failed)?;
            ran += 1;
        }
        let report = folder.join("report.txt");
        let text = open::read_text(&report, LONGEST)
            .map_err(|error| Failure::Failed(format!("{}: {error}", report.display())))?;
        let about = format!("Shen 2019, chapter 5, table {table} with its figures, {runs} runs");
        sections.push(Section { name: name.replace('/', "-"), about, folder: name, text, pictures: pictures(&folder) });
    }
    print(&format!("{}: {ran} of {} tables run, {} were there\n", thesis5::NAME.0, tables.len(), tables.len() - ran))?;
    Ok(sections)
}

/// The pictures of a folder, in the order of their names.
fn pictures(folder: &Path) -> Vec<Picture> {
    let names = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.file_name());
    let mut files: Vec<String> =
        names.filter_map(|name| Some(name.to_str()?.strip_suffix(".svg")?.to_owned())).collect();
    files.sort();
    files.into_iter().map(|file| Picture { title: file.clone(), file }).collect()
}
