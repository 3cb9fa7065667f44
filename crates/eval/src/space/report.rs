//! What runs in space come to, in numbers: a table for people, JSON for programs.

use super::errors::Errors;
use super::run::SpaceRun;
use crate::report::StepTime;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// The numbers of one run. Serialised, its fields are the keys of the JSON report; what cannot be known is `null`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// The name of the filter.
    pub filter: String,
    /// Estimates, each at its own instant.
    pub steps: usize,
    /// Root mean square of the distance to the true position, m; as it is, from the start that was given.
    pub position_rmse_m: Option<f64>,
    /// The same after the turn about the vertical and the shift that fit best.
    pub aligned_position_rmse_m: Option<f64>,
    /// Root mean square of the angle to the true orientation, degrees.
    pub orientation_rmse_deg: Option<f64>,
    /// The same after the turn about the vertical that fits best.
    pub aligned_orientation_rmse_deg: Option<f64>,
    /// The greatest distance to the true position, m.
    pub position_max_m: Option<f64>,
    /// Mean normalized estimation error squared of the position, the truth's own error included; 3 is right.
    pub nees_position_mean: Option<f64>,
    /// The same of the orientation; 3 is right.
    pub nees_orientation_mean: Option<f64>,
    /// The same of the pose; 6 is right.
    pub nees_mean: Option<f64>,
    /// Time of a step, µs.
    pub step_us: Option<StepTime>,
    /// Mean over instants of the root mean square over the three axes, m.
    pub position_armse_m: Option<f64>,

    /// Where the input came from.
    pub source: String,
    /// Estimates where no true pose is known.
    pub steps_without_truth: usize,
    /// Estimates without NEES because the covariance was singular.
    pub nees_singular: usize,
    /// Landmarks in the state at the end.
    pub landmarks: usize,
    /// Measurements that were used.
    pub accepted: usize,
    /// Measurements beyond the gate.
    pub rejected: usize,
    /// Landmarks that were initialized.
    pub added: usize,
    /// Landmarks that were removed, because their measurements failed the gate again and again.
    pub removed: usize,
    /// Frames in which the body was taken to be at rest.
    pub at_rest: usize,
    /// What was left out, by reason.
    pub dropped: BTreeMap<String, u64>,
    /// What the reader should know.
    pub warnings: Vec<String>,
}

impl Report {
    /// The numbers of a run and its errors; `dropped` are the rows that the reader of the recording left out.
    pub fn new(run: &SpaceRun, errors: &Errors, dropped: &BTreeMap<String, u64>) -> Self {
        let degrees = |angle: Option<f64>| angle.map(f64::to_degrees);
        let counts = &run.counts;
        let mut all = dropped.clone();
        for (reason, count) in &counts.dropped {
            *all.entry(reason.clone()).or_default() += count;
        }
        Self {
            filter: run.filter.clone(),
            steps: run.estimates.len(),
            position_rmse_m: errors.position_rmse(),
            aligned_position_rmse_m: errors.aligned_position_rmse(),
            orientation_rmse_deg: degrees(errors.orientation_rmse()),
            aligned_orientation_rmse_deg: degrees(errors.aligned_orientation_rmse()),
            position_max_m: errors.position_max(),
            nees_position_mean: errors.nees_mean(0),
            nees_orientation_mean: errors.nees_mean(1),
            nees_mean: errors.nees_mean(2),
            step_us: StepTime::new(&run.step_us),
            position_armse_m: errors.position_armse(),
            source: run.source.clone(),
            steps_without_truth: errors.without_truth,
            nees_singular: errors.pairs.iter().filter(|pair| pair.nees.is_none()).count(),
            landmarks: run.landmarks.len(),
            accepted: counts.used,
            rejected: counts.gated,
            added: counts.initialized,
            removed: counts.removed,
            at_rest: counts.at_rest,
            dropped: all,
            warnings: run.warnings.clone(),
        }
    }
}

/// Reports as JSON, indented: an object for one report, an array of such objects otherwise.
///
/// # Errors
/// None in practice; serde's, should a report ever hold what JSON cannot say.
pub fn to_json(reports: &[Report]) -> serde_json::Result<String> {
    match reports {
        [one] => serde_json::to_string_pretty(one),
        many => serde_json::to_string_pretty(many),
    }
}

/// Reports as a table with units, one column a filter; then what was left out, and the warnings.
pub fn to_text(reports: &[Report]) -> String {
    let Some(first) = reports.first() else { return String::new() };
    let mut text = format!("source: {}\n\n", first.source);
    let columns: Vec<Vec<String>> = reports.iter().map(column).collect();
    let widths: Vec<usize> =
        columns.iter().map(|cells| cells.iter().map(|c| c.chars().count()).max().unwrap_or(0)).collect();
    for (row, label) in ROWS.iter().enumerate() {
        // Writing to a String cannot fail.
        let _ = write!(text, "{label:<46}");
        for (column, width) in columns.iter().zip(&widths) {
            let _ = write!(text, "  {:>width$}", column[row]);
        }
        text.push('\n');
    }
    for report in reports {
        let reasons: Vec<String> = report.dropped.iter().map(|(reason, n)| format!("{reason} {n}")).collect();
        let reasons = if reasons.is_empty() { "nothing".to_owned() } else { reasons.join(", ") };
        let _ = writeln!(text, "\nleft out by {}: {reasons}", report.filter);
        for warning in &report.warnings {
            let _ = writeln!(text, "warning: {warning}");
        }
    }
    text
}

/// The first column of the table; [`column()`] fills the others in this order.
pub const ROWS: [&str; 16] = [
    "",
    "steps",
    "  without truth",
    "position RMSE [m]",
    "  after alignment of yaw and position [m]",
    "  greatest [m]",
    "  ARMSE [m]",
    "orientation RMSE [°]",
    "  after alignment of yaw [°]",
    "NEES of position, mean (3 is right)",
    "NEES of orientation, mean (3 is right)",
    "NEES of the pose, mean (6 is right)",
    "landmarks",
    "measurements used / beyond the gate",
    "landmarks initialized / removed",
    "time of a step, mean / p50 / p99 [µs]",
];

/// The cells of a report.
pub fn column(report: &Report) -> Vec<String> {
    let number =
        |value: Option<f64>, digits: usize| value.map_or("–".to_owned(), |value| format!("{value:.digits$}"));
    let time = report.step_us.map(|time| format!("{:.0} / {:.0} / {:.0}", time.mean, time.p50, time.p99));
    vec![
        report.filter.clone(),
        report.steps.to_string(),
        report.steps_without_truth.to_string(),
        number(report.position_rmse_m, 4),
        number(report.aligned_position_rmse_m, 4),
        number(report.position_max_m, 4),
        number(report.position_armse_m, 4),
        number(report.orientation_rmse_deg, 3),
        number(report.aligned_orientation_rmse_deg, 3),
        number(report.nees_position_mean, 2),
        number(report.nees_orientation_mean, 2),
        number(report.nees_mean, 2),
        report.landmarks.to_string(),
        format!("{} / {}", report.accepted, report.rejected),
        format!("{} / {}", report.added, report.removed),
        time.unwrap_or("–".to_owned()),
    ]
}
