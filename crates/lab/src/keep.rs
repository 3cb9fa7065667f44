//! Reproductions kept part by part in a folder, so that a run that was ended goes on where it was.

use super::folder::write_figure;
use super::page::{Picture, Section};
use super::parts::Reproduction;
use super::report::{Extent, Progress, Report};
use super::text::to_text;
use lienav_eval::folder::{FolderError, create, write_file, write_text};
use lienav_integrate::IntegrationError;
use lienav_io::open;
use serde::{Deserialize, Serialize};
use std::path::Path;
use thiserror::Error;

/// Why a reproduction could not be kept.
#[derive(Debug, Error)]
pub enum KeepError {
    /// A part could not be run at all.
    #[error(transparent)]
    Integration(#[from] IntegrationError),
    /// A file could not be written.
    #[error(transparent)]
    Folder(#[from] FolderError),
}

/// What remains of a part when its program has ended. The file that holds it is written last, and whole or not at all.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Kept {
    /// Version of the program that ran it.
    program: String,
    /// As [`Extent`] is called.
    extent: String,
    /// Its report as people read it.
    text: String,
    /// Its numbers.
    report: serde_json::Value,
    pictures: Vec<Picture>,
}

fn name_of(extent: Extent) -> &'static str {
    match extent {
        Extent::Full => "full",
        Extent::Quick => "quick",
    }
}

fn file_of(part: usize) -> String {
    format!("part-{:02}.json", part + 1)
}

/// No report of a part is longer, bytes.
const LONGEST: u64 = 1 << 25;

/// A part that is there already, of the same program and extent, with all its pictures.
fn read(folder: &Path, part: usize, extent: Extent) -> Option<Kept> {
    let text = open::read_text(&folder.join(file_of(part)), LONGEST).ok()?;
    let kept: Kept = serde_json::from_str(&text).ok()?;
    let is_same = kept.program == env!("CARGO_PKG_VERSION") && kept.extent == name_of(extent);
    let has_pictures = kept.pictures.iter().all(|picture| folder.join(format!("{}.svg", picture.file)).is_file());
    Some(kept).filter(|_| is_same && has_pictures)
}

/// Runs what is missing of a reproduction and writes it into `folder`: pictures and points of each part as it is
/// finished, and at the end `report.json` and `report.txt` of all. `told` is given how many parts are done, and
/// whether the last was there already.
///
/// # Errors
/// A part that cannot be run at all, or a file that cannot be written; what was finished before stays.
pub fn keep(
    folder: &Path,
    reproduction: &Reproduction,
    extent: Extent,
    progress: Progress<'_>,
    mut told: impl FnMut(usize, bool),
) -> Result<Section, KeepError> {
    create(folder)?;
    let mut all = Vec::new();
    for part in 0..reproduction.parts() {
        let found = read(folder, part, extent);
        let was_there = found.is_some();
        let kept = match found {
            Some(kept) => kept,
            None => {
                let report = reproduction.run_part(part, extent, progress)?;
                let kept = kept_of(folder, &report, extent)?;
                write_file(folder, &file_of(part), |out| writeln!(out, "{}", serde_json::to_string_pretty(&kept)?))?;
                kept
            }
        };
        all.push(kept);
        told(part + 1, was_there);
    }
    let report: serde_json::Map<_, _> =
        all.iter().filter_map(|kept| kept.report.as_object()).flatten().map(|(k, v)| (k.clone(), v.clone())).collect();
    let text = all.iter().map(|kept| kept.text.as_str()).collect::<Vec<_>>().join("\n\n");
    write_file(folder, "report.json", |out| writeln!(out, "{:#}", serde_json::Value::from(report)))?;
    write_text(folder, "report.txt", &text)?;
    let pictures = all.into_iter().flat_map(|kept| kept.pictures).collect();
    Ok(Section {
        name: reproduction.name.into(),
        about: reproduction.about.into(),
        folder: reproduction.name.into(),
        text,
        pictures,
    })
}

/// Writes the pictures of a part, and tells what is to be kept of it.
fn kept_of(folder: &Path, report: &Report, extent: Extent) -> Result<Kept, FolderError> {
    let mut pictures = Vec::new();
    for figure in report.experiments.iter().flat_map(|experiment| &experiment.figures) {
        write_figure(folder, figure)?;
        pictures.push(Picture { file: figure.file.clone(), title: figure.title.clone() });
    }
    let (program, extent) = (env!("CARGO_PKG_VERSION").to_owned(), name_of(extent).to_owned());
    Ok(Kept { program, extent, text: to_text(report), report: report.to_json(), pictures })
}

#[cfg(test)]
mod tests {
    use super::super::parts::Part;
    use super::super::report::Experiment;
    use super::*;
    use lienav_eval::plot::Figure;
    use std::fs;
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

    static RUNS: AtomicUsize = AtomicUsize::new(0);
    static FAILS: AtomicBool = AtomicBool::new(true);

    fn part(name: &str) -> Experiment {
        RUNS.fetch_add(1, Ordering::SeqCst);
        let figure = Figure { file: format!("figure-{name}"), title: format!("Of {name}"), ..Figure::default() };
        Experiment {
            name: name.into(),
            about: format!("About {name}."),
            figures: vec![figure],
            ..Experiment::default()
        }
    }

    const PARTS: &[Part] = &[
        (|_, _| Ok(part("first")), 0.5),
        (
            |_, _| match FAILS.load(Ordering::SeqCst) {
                true => Err(IntegrationError::NotFinite { time: 1.0, step: 0.5 }),
                false => Ok(part("second")),
            },
            0.5,
        ),
    ];

    #[test]
    fn what_was_finished_is_not_run_again_and_what_is_missing_is() {
        let folder = tempfile::tempdir().unwrap();
        let reproduction = Reproduction::of_parts("test", "A test", PARTS);
        let run = |extent| {
            let mut told = Vec::new();
            let section = keep(folder.path(), &reproduction, extent, &|_| (), |done, was| told.push((done, was)));
            (section, told)
        };
        let (first, told) = run(Extent::Quick);
        assert!(first.is_err() && told == [(1, false)]);
        assert!(folder.path().join("figure-first.svg").is_file() && !folder.path().join("report.txt").exists());
        FAILS.store(false, Ordering::SeqCst);
        let (second, told) = run(Extent::Quick);
        assert_eq!((told, RUNS.load(Ordering::SeqCst)), (vec![(1, true), (2, false)], 2));
        let section = second.unwrap();
        assert!(section.text.contains("About first.") && section.text.contains("About second."));
        assert_eq!(section.pictures.iter().map(|p| &*p.file).collect::<Vec<_>>(), ["figure-first", "figure-second"]);
        // A picture that is gone, a part that is damaged, and another extent: run again.
        fs::remove_file(folder.path().join("figure-first.svg")).unwrap();
        fs::write(folder.path().join("part-02.json"), "{").unwrap();
        assert_eq!(run(Extent::Quick).1, [(1, false), (2, false)]);
        assert_eq!(run(Extent::Full).1, [(1, false), (2, false)]);
        assert_eq!(run(Extent::Full).1, [(1, true), (2, true)]);
    }
}
