//! A folder with everything about an evaluation: numbers, trajectories, errors and plots.

use super::page;
use super::plot::{self, PlotError, Subject};
use super::report::{Report, to_json, to_text};
use super::tables::{write_fixes_csv, write_landmarks_csv, write_measurements_csv};
use super::trajectory::{write_errors_csv, write_tum};
use lienav_io::files::{self, StagedFolder, write_atomically};
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// A folder that could not be written.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    /// The file system says no.
    #[error("{}: cannot be written: {error}{}", path.display(), files::remedy(error))]
    Io {
        /// Of which file.
        path: PathBuf,
        /// What it says.
        error: io::Error,
    },
    /// A plot could not be drawn.
    #[error(transparent)]
    Plot(#[from] PlotError),
}

/// The files that a folder of results may hold, of an evaluation, of an experiment, of an attitude or of runs in space.
const NAMES: [&str; 22] = [
    "report.json",
    "report.html",
    "report.txt",
    "estimate.tum",
    "truth.tum",
    "errors.csv",
    "landmarks.csv",
    "readings.csv",
    "fixes.csv",
    "trajectory.svg",
    "errors.svg",
    "nees.svg",
    "comparison.svg",
    "scenario.yaml",
    "steps.csv",
    "runs.csv",
    "error_growth.svg",
    "above.svg",
    "side.svg",
    "position.svg",
    "orientation.svg",
    "attitude.svg",
];

/// Whether a file of this name is one that a folder of results has.
pub fn is_name_of_result(name: &str) -> bool {
    NAMES.contains(&name)
}

/// Whether an entry of a folder of results is a result: a file, or the folder of a filter. Anything else is the user's.
fn is_result(path: &Path) -> bool {
    let is_named = |path: &Path| path.file_name().is_some_and(|name| NAMES.iter().any(|ours| name == *ours));
    let is_file = |path: &Path| fs::symlink_metadata(path).is_ok_and(|found| found.is_file());
    if is_file(path) {
        let name = path.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
        // What a killed process of an earlier version left.
        let is_leftover = NAMES.iter().any(|ours| name.starts_with(&format!(".{ours}."))) && name.ends_with(".tmp");
        return is_named(path) || is_leftover;
    }
    let is_folder = fs::symlink_metadata(path).is_ok_and(|found| found.is_dir()) && path.join(NAMES[0]).exists();
    is_folder
        && fs::read_dir(path).is_ok_and(|mut entries| {
            entries.all(|entry| entry.is_ok_and(|entry| is_named(&entry.path()) && is_file(&entry.path())))
        })
}

/// Removes what killed processes have left that were writing results to `folder`, and says where that was.
pub fn remove_leftovers(folder: &Path) -> Vec<PathBuf> {
    files::remove_leftovers(folder, &is_result)
}

/// Writes a folder of results as a whole: `write` fills a hidden folder beside it, which then takes its place with one
/// rename. Results that are there are replaced, all of them; files of the user stay. Who is interrupted leaves what
/// was there.
///
/// # Errors
/// What `write` says; the folder cannot be made, or something that is no folder has its place.
pub fn write_whole(folder: &Path, write: impl FnOnce(&Path) -> Result<(), FolderError>) -> Result<(), FolderError> {
    let io_error = |error| FolderError::Io { path: folder.to_owned(), error };
    if folder.exists() && !folder.is_dir() {
        return Err(io_error(io::ErrorKind::NotADirectory.into()));
    }
    let staged = StagedFolder::create(folder).map_err(io_error)?;
    write(staged.path()).map_err(|error| match error {
        // Nobody knows the hidden name.
        FolderError::Io { path, error } => {
            let shown = path.strip_prefix(staged.path()).map(|rest| folder.join(rest));
            FolderError::Io { path: shown.unwrap_or(path), error }
        }
        error @ FolderError::Plot(_) => error,
    })?;
    staged.take_place(&is_result).map_err(io_error)
}

/// Writes `report.json`, `report.txt`, `estimate.tum`, `truth.tum`, `errors.csv`, `trajectory.svg`, `errors.svg` and
/// `nees.svg`, `landmarks.csv` where landmarks are known in both maps, `measurements.csv` where identities were
/// withheld, and `fixes.csv` where the source has position fixes, all of them or nothing, as [`write_whole`] does.
/// `truth.tum` holds the truth at the stamps of the estimates. Without a true pose, it and the figures of errors are not
/// written. Each run has a folder named like its filter; the folder itself has `report.json`, `report.txt`,
/// `report.html`, all of it as a page, and of several runs `comparison.svg`; that of an only run has its files, too.
///
/// # Errors
/// Which file could not be written, and why.
pub fn write(folder: &Path, subjects: &[Subject]) -> Result<(), FolderError> {
    write_whole(folder, |folder| write_into(folder, subjects))
}

fn write_into(folder: &Path, subjects: &[Subject]) -> Result<(), FolderError> {
    write_reports(folder, subjects)?;
    let page = |out: &mut dyn Write| out.write_all(page::html(subjects, page::Use::File)?.as_bytes());
    write_file(folder, "report.html", page)?;
    if subjects.len() > 1 {
        write_text(folder, "comparison.svg", &plot::comparison(subjects)?)?;
    }
    for subject in subjects {
        let own = folder.join(&subject.run.filter);
        create(&own)?;
        write_reports(&own, &[*subject])?;
        write_run(&own, subject)?;
        show_only(folder, &own, subjects.len())?;
    }
    Ok(())
}

/// Gives the files of a folder's only run names in the folder itself, too.
///
/// # Errors
/// [`FolderError::Io`].
pub fn show_only(folder: &Path, own: &Path, runs: usize) -> Result<(), FolderError> {
    if runs != 1 {
        return Ok(());
    }
    let io_error = |error| FolderError::Io { path: own.to_owned(), error };
    for entry in fs::read_dir(own).map_err(io_error)? {
        let entry = entry.map_err(io_error)?;
        let name = folder.join(entry.file_name());
        if name.exists() {
            continue;
        }
        // Not every file system has links.
        let linked = fs::hard_link(entry.path(), &name).or_else(|_| fs::copy(entry.path(), &name).map(drop));
        linked.map_err(|error| FolderError::Io { path: name, error })?;
    }
    Ok(())
}

fn write_reports(folder: &Path, subjects: &[Subject]) -> Result<(), FolderError> {
    let reports: Vec<Report> = subjects.iter().map(|subject| Report::new(subject.run, subject.errors)).collect();
    write_file(folder, "report.json", |out| writeln!(out, "{}", to_json(&reports)?))?;
    write_text(folder, "report.txt", &to_text(&reports))
}

fn write_run(folder: &Path, subject: &Subject) -> Result<(), FolderError> {
    let estimates = subject.run.estimates.iter().map(|estimate| (estimate.stamp, estimate.pose));
    write_file(folder, "estimate.tum", |out| write_tum(estimates, out))?;
    write_file(folder, "errors.csv", |out| write_errors_csv(subject.errors, out))?;
    if !subject.errors.landmarks.is_empty() {
        write_file(folder, "landmarks.csv", |out| write_landmarks_csv(&subject.errors.landmarks, out))?;
    }
    if !subject.errors.measurements.is_empty() {
        write_file(folder, "readings.csv", |out| write_measurements_csv(&subject.errors.measurements, out))?;
    }
    if !subject.errors.each_fix.is_empty() {
        write_file(folder, "fixes.csv", |out| write_fixes_csv(&subject.errors.each_fix, out))?;
    }
    write_text(folder, "trajectory.svg", &plot::trajectory(subject)?)?;
    if subject.errors.steps.is_empty() {
        return Ok(());
    }
    let truth = subject.errors.steps.iter().map(|step| (step.stamp, step.truth));
    write_file(folder, "truth.tum", |out| write_tum(truth, out))?;
    write_text(folder, "errors.svg", &plot::errors(subject)?)?;
    write_text(folder, "nees.svg", &plot::nees(subject)?)
}

/// Makes a folder, and those above it, where they are missing.
///
/// # Errors
/// [`FolderError::Io`].
pub fn create(folder: &Path) -> Result<(), FolderError> {
    fs::create_dir_all(folder).map_err(|error| FolderError::Io { path: folder.to_owned(), error })
}

/// Writes a text file whole or not at all.
///
/// # Errors
/// [`FolderError::Io`].
pub fn write_text(folder: &Path, name: &str, text: &str) -> Result<(), FolderError> {
    write_file(folder, name, |out| out.write_all(text.as_bytes()))
}

/// Writes a file whole or not at all: `write` fills a temporary file, which then takes the name.
///
/// # Errors
/// [`FolderError::Io`].
pub fn write_file(
    folder: &Path,
    name: &str,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), FolderError> {
    let path = folder.join(name);
    write_atomically(&path, write).map_err(|error| FolderError::Io { path, error })
}

#[cfg(test)]
mod tests {
    use super::super::errors::Errors;
    use super::super::synthetic;
    use super::*;
    use lienav_io::recording::{PositionFixes, Recording};
    use lienav_io::truth::Truth;
    use nalgebra::Vector2;

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<String> =
            fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn each_run_has_a_folder_and_an_only_one_fills_the_folder_itself_too() {
        let (run, truth) = synthetic::run(40, 2);
        let errors = Errors::new(&run, &truth);
        let mut other = run.clone();
        other.filter = "ekf".into();
        let subject = Subject { run: &run, truth: &truth, errors: &errors };
        let files = [
            "errors.csv",
            "errors.svg",
            "estimate.tum",
            "landmarks.csv",
            "nees.svg",
            "report.json",
            "report.txt",
            "trajectory.svg",
            "truth.tum",
        ];
        let root = tempfile::tempdir().unwrap();
        let (one, two) = (root.path().join("one/deep"), root.path().join("two"));
        write(&one, &[subject]).unwrap();
        let all = [&files[..5], &["reduced", "report.html"], &files[5..]].concat();
        assert_eq!(names(&one), all);
        assert_eq!(names(&one.join("reduced")), files);
        let bytes = |name: &str| fs::read(one.join(name)).unwrap();
        assert_eq!(bytes("errors.csv"), bytes("reduced/errors.csv"));
        write(&two, &[subject, Subject { run: &other, ..subject }]).unwrap();
        assert_eq!(names(&two), ["comparison.svg", "ekf", "reduced", "report.html", "report.json", "report.txt"]);
        assert_eq!(names(&two.join("ekf")), files);
    }

    /// Where fixes are the judge, nothing else says where a run was off.
    #[test]
    fn position_fixes_are_a_table_and_points_of_the_plot() {
        let (run, _) = synthetic::run(40, 2);
        let fixes = run.estimates.iter().map(|estimate| (estimate.stamp, estimate.pose.p)).collect();
        let fixes = Some(PositionFixes { antenna: Vector2::zeros(), fixes });
        let truth = Truth::of(&Recording { fixes, ..Recording::default() }, 0.5);
        let errors = Errors::new(&run, &truth);
        let root = tempfile::tempdir().unwrap();
        write(root.path(), &[Subject { run: &run, truth: &truth, errors: &errors }]).unwrap();
        let text = |name: &str| fs::read_to_string(root.path().join(name)).unwrap();
        assert_eq!(text("fixes.csv").lines().count(), 1 + run.estimates.len());
        assert!(text("trajectory.svg").contains("position fix"));
        let of_truth = ["errors.svg", "nees.svg", "truth.tum"].map(|name| root.path().join(name).exists());
        assert_eq!(of_truth, [false; 3], "nothing is known that they could show");
    }

    #[test]
    fn a_second_evaluation_replaces_every_result_of_the_first_and_leaves_what_is_the_users() {
        let (run, truth) = synthetic::run(40, 2);
        let errors = Errors::new(&run, &truth);
        let mut other = run.clone();
        other.filter = "ekf".into();
        let subject = Subject { run: &run, truth: &truth, errors: &errors };
        let root = tempfile::tempdir().unwrap();
        let out = root.path().join("out");
        write(&out, &[subject, Subject { run: &other, ..subject }]).unwrap();
        fs::create_dir(out.join("bag")).unwrap();
        fs::write(out.join("notes.txt"), "mine").unwrap();
        write(&out, &[subject]).unwrap();
        let found = names(&out);
        assert!(!found.contains(&"ekf".to_owned()) && !found.contains(&"comparison.svg".to_owned()), "{found:?}");
        assert!(found.contains(&"bag".to_owned()) && found.contains(&"notes.txt".to_owned()), "{found:?}");
        assert_eq!(names(root.path()), ["out"]);
        let failed = write_whole(&out, |folder| write_text(&folder.join("missing"), "report.txt", ""));
        let text = failed.unwrap_err().to_string();
        assert!(text.starts_with(out.join("missing/report.txt").to_str().unwrap()), "{text}");
        assert_eq!((names(&out), names(root.path())), (found, vec!["out".to_owned()]));
    }

    #[test]
    fn a_folder_that_is_a_file_is_an_error_that_names_it() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let error = write(file.path(), &[]).unwrap_err().to_string();
        assert!(error.contains(file.path().to_str().unwrap()), "{error}");
    }
}
