//! A folder with everything about an evaluation: numbers, trajectories, errors and plots.

use super::plot::{self, PlotError, Subject};
use super::report::{Report, to_json, to_text};
use super::trajectory::{write_errors_csv, write_tum};
use lienav_io::files::write_atomically;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// A folder that could not be written.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    /// The file system says no.
    #[error("{}: {error}", path.display())]
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

/// Writes `report.json`, `report.txt`, `estimate.tum`, `truth.tum`, `errors.csv`, `trajectory.svg`, `errors.svg` and
/// `nees.svg`, each of them whole or not at all. `truth.tum` holds the truth at the stamps of the estimates, so that
/// a tool that pairs poses by their stamps finds the errors of the report. Of several runs, each gets a folder named
/// like its filter, and the folder itself `report.json`, `report.txt` and `comparison.svg`.
///
/// # Errors
/// Which file could not be written, and why.
pub fn write(folder: &Path, subjects: &[Subject]) -> Result<(), FolderError> {
    create(folder)?;
    write_reports(folder, subjects)?;
    if let [subject] = subjects {
        return write_run(folder, subject);
    }
    write_text(folder, "comparison.svg", &plot::comparison(subjects)?)?;
    for subject in subjects {
        let own = folder.join(&subject.run.filter);
        create(&own)?;
        write_reports(&own, &[*subject])?;
        write_run(&own, subject)?;
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
    let truth = subject.errors.steps.iter().map(|step| (step.stamp, step.truth));
    write_file(folder, "truth.tum", |out| write_tum(truth, out))?;
    write_file(folder, "errors.csv", |out| write_errors_csv(subject.errors, out))?;
    write_text(folder, "trajectory.svg", &plot::trajectory(subject)?)?;
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

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<String> =
            fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn one_run_fills_one_folder_and_two_runs_a_folder_each() {
        let (run, truth) = synthetic::run(40, 2);
        let errors = Errors::new(&run, &truth);
        let mut other = run.clone();
        other.filter = "ekf".into();
        let subject = Subject { run: &run, truth: &truth, errors: &errors };
        let files = [
            "errors.csv",
            "errors.svg",
            "estimate.tum",
            "nees.svg",
            "report.json",
            "report.txt",
            "trajectory.svg",
            "truth.tum",
        ];
        let root = tempfile::tempdir().unwrap();
        let (one, two) = (root.path().join("one/deep"), root.path().join("two"));
        write(&one, &[subject]).unwrap();
        assert_eq!(names(&one), files);
        write(&two, &[subject, Subject { run: &other, ..subject }]).unwrap();
        assert_eq!(names(&two), ["comparison.svg", "ekf", "reduced", "report.json", "report.txt"]);
        assert_eq!(names(&two.join("ekf")), files);
    }

    #[test]
    fn a_folder_that_is_a_file_is_an_error_that_names_it() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let error = write(file.path(), &[]).unwrap_err().to_string();
        assert!(error.contains(file.path().to_str().unwrap()), "{error}");
    }
}
