//! A folder with everything about an experiment.

use super::experiment::Outcome;
use super::report::Report;
use super::text::to_text;
use crate::folder::{FolderError, write_file, write_text, write_whole};
use crate::page;
use crate::plot;
use std::io::{self, Write};
use std::path::Path;

/// Writes `report.json`, `report.txt`, `report.html`, `scenario.yaml`, `steps.csv` (each filter at each step, over the
/// runs), `runs.csv` (each filter in each run, over its steps), `error_growth.svg` and `nees.svg`, all of them or
/// nothing. All but the reports are the same bytes every time, and these too without times.
///
/// # Errors
/// Which file could not be written, and why.
pub fn write(folder: &Path, outcome: &Outcome, report: &Report) -> Result<(), FolderError> {
    write_whole(folder, |folder| write_into(folder, outcome, report))
}

fn write_into(folder: &Path, outcome: &Outcome, report: &Report) -> Result<(), FolderError> {
    let scenario = &outcome.experiment.scenario;
    write_file(folder, "report.json", |out| writeln!(out, "{}", report.to_json()?))?;
    write_text(folder, "report.txt", &to_text(report))?;
    write_file(folder, "report.html", |out| out.write_all(page::experiment(outcome, report)?.as_bytes()))?;
    write_file(folder, "scenario.yaml", |out| write!(out, "{}", scenario.to_yaml().map_err(io::Error::other)?))?;
    write_file(folder, "steps.csv", |out| write_steps(outcome, out))?;
    write_file(folder, "runs.csv", |out| write_runs(outcome, out))?;
    write_text(folder, "error_growth.svg", &plot::error_growth(outcome)?)?;
    write_text(folder, "nees.svg", &plot::run_mean_nees(outcome)?)
}

const STEP_COLUMNS: [&str; 10] = [
    "filter",
    "time_s",
    "position_error_mean_m",
    "position_rmse_m",
    "yaw_error_mean_rad",
    "yaw_rmse_rad",
    "nees_mean",
    "nees_runs",
    "group_nees_mean",
    "group_nees_runs",
];

fn write_steps(outcome: &Outcome, out: &mut dyn Write) -> io::Result<()> {
    let mut csv = csv::Writer::from_writer(out);
    csv.write_record(STEP_COLUMNS)?;
    for filter in &outcome.filters {
        for step in &filter.steps {
            csv.write_record([
                filter.name.clone(),
                step.stamp.to_string(),
                step.position_mean_m.to_string(),
                step.position_rms_m.to_string(),
                step.yaw_mean_rad.to_string(),
                step.yaw_rms_rad.to_string(),
                optional(step.nees.mean()),
                step.nees.runs.to_string(),
                optional(step.group_nees.mean()),
                step.group_nees.runs.to_string(),
            ])?;
        }
    }
    csv.flush()
}

const RUN_COLUMNS: [&str; 24] = [
    "filter",
    "seed",
    "position_error_mean_m",
    "position_mean_square_m2",
    "yaw_error_mean_rad",
    "yaw_mean_square_rad2",
    "final_position_error_m",
    "final_yaw_error_rad",
    "nees_mean",
    "final_nees",
    "nees_slope_per_s",
    "group_nees_mean",
    "final_group_nees",
    "group_nees_slope_per_s",
    "nis_per_dof",
    "landmark_mean_square_m2",
    "relative_landmark_mean_square_m2",
    "landmark_nees_mean",
    "first_var_x",
    "first_var_y",
    "first_var_yaw",
    "final_var_x",
    "final_var_y",
    "final_var_yaw",
];

fn write_runs(outcome: &Outcome, out: &mut dyn Write) -> io::Result<()> {
    let mut csv = csv::Writer::from_writer(out);
    csv.write_record(RUN_COLUMNS)?;
    for filter in &outcome.filters {
        for run in &filter.runs {
            let (first, last) = (run.first_covariance.diagonal(), run.final_covariance.diagonal());
            csv.write_record([
                filter.name.clone(),
                run.seed.to_string(),
                run.position_mean_m.to_string(),
                run.position_square_m2.to_string(),
                run.yaw_mean_rad.to_string(),
                run.yaw_square_rad2.to_string(),
                run.final_position_m.to_string(),
                run.final_yaw_rad.to_string(),
                optional(run.nees_mean),
                optional(run.final_nees),
                optional(run.nees_slope_per_s),
                optional(run.group_nees_mean),
                optional(run.final_group_nees),
                optional(run.group_nees_slope_per_s),
                optional(run.nis_per_dof),
                optional(run.landmark_square_m2),
                optional(run.relative_landmark_square_m2),
                optional(run.landmark_nees_mean),
                first.x.to_string(),
                first.y.to_string(),
                first.z.to_string(),
                last.x.to_string(),
                last.y.to_string(),
                last.z.to_string(),
            ])?;
        }
    }
    csv.flush()
}

fn optional(value: Option<f64>) -> String {
    value.map(|value| value.to_string()).unwrap_or_default()
}
