//! `lienav evaluate --expect`: bounds on the numbers of a report, for a continuous integration.

use super::failure::{Failure, warn};
use lienav_eval::expect::{Check, ExpectError, Expectations, Numbers, junit};
use lienav_eval::report::Report;
use lienav_io::files::{read_text, remedy, write_atomically};
use lienav_io::yaml;
use std::path::{Path, PathBuf};

/// What the report is held against.
#[derive(clap::Args)]
#[command(next_help_heading = "As a test")]
pub(super) struct Expect {
    /// A YAML file with bounds on numbers of the report; exit code 3 where one does not hold
    #[arg(long, value_name = "FILE")]
    expect: Option<PathBuf>,
    /// Also write what held and what did not as JUnit XML
    #[arg(long, value_name = "FILE", requires = "expect")]
    junit: Option<PathBuf>,
}

impl Expect {
    /// Whether anything is expected.
    pub(super) fn is_asked_for(&self) -> bool {
        self.expect.is_some()
    }

    /// Reads the file before work that may take long; `None` where nothing is expected.
    ///
    /// # Errors
    /// It cannot be read, or says something else.
    pub(super) fn read(&self) -> Result<Option<Expectations>, Failure> {
        let Some(path) = &self.expect else { return Ok(None) };
        let text = read_text(path).map_err(|error| wrong(path, &error))?;
        yaml::from_str(&text).map(Some).map_err(|error| wrong(path, &error))
    }

    /// Says which expectations do not hold, a line each.
    ///
    /// # Errors
    /// One does not hold, or none can be held against the reports.
    pub(super) fn hold(&self, expectations: Option<&Expectations>, reports: &[Report]) -> Result<(), Failure> {
        let source = reports.first().map(|report| report.source.as_str()).unwrap_or_default();
        self.hold_with(expectations, source, |expectations| expectations.check(reports))
    }

    /// The same of reports of any kind, which are about `source`.
    ///
    /// # Errors
    /// As [`Expect::hold`].
    pub(super) fn hold_numbers(
        &self,
        expectations: Option<&Expectations>,
        source: &str,
        reports: &[Numbers],
    ) -> Result<(), Failure> {
        self.hold_with(expectations, source, |expectations| expectations.check_numbers(reports))
    }

    fn hold_with(
        &self,
        expectations: Option<&Expectations>,
        source: &str,
        check: impl FnOnce(&Expectations) -> Result<Vec<Check>, ExpectError>,
    ) -> Result<(), Failure> {
        let (Some(path), Some(expectations)) = (&self.expect, expectations) else { return Ok(()) };
        let checks = check(expectations).map_err(|error| wrong(path, &error))?;
        if let Some(file) = &self.junit {
            let xml = junit(source, &checks);
            let written = write_atomically(file, |out| out.write_all(xml.as_bytes()));
            written.map_err(|error| Failure::Failed(format!("{}: {error}{}", file.display(), remedy(&error))))?;
        }
        let failed: Vec<String> = checks.iter().filter(|check| !check.holds()).map(ToString::to_string).collect();
        failed.iter().for_each(|line| warn(line));
        if failed.is_empty() {
            return Ok(());
        }
        Err(Failure::Unmet(format!(
            "{} of {} expectations of {} do not hold",
            failed.len(),
            checks.len(),
            path.display()
        )))
    }
}

fn wrong(path: &Path, problem: &dyn std::fmt::Display) -> Failure {
    Failure::WrongCall(format!("--expect {}: {problem}", path.display()))
}
