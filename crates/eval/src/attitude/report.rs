//! What a run comes to, in numbers: a table for people, JSON for programs, a folder with figures.

use super::Run;
use super::drift::{Drift, HORIZONS_S};
use super::errors::{Errors, Instant};
use crate::folder::{FolderError, write_file, write_text, write_whole};
use crate::plot;
use crate::plot::{Figure, Line};
use lienav_attitude::Config;
use lienav_io::inertial::InertialRecording;
use lienav_io::statements::biases;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{self, Write};
use std::path::Path;

/// The numbers of one run. Serialised, its fields are the keys of the JSON report; what cannot be known is `null`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// Where the samples came from.
    pub source: String,
    /// How rates were integrated.
    pub method: &'static str,
    /// How many samples there were.
    pub samples: usize,
    /// Instants with a true orientation.
    pub compared: usize,
    /// Root mean square while moving, degrees.
    pub inclination_rmse_deg: Option<f64>,
    /// Root mean square while moving, degrees; less the first heading's error.
    pub heading_rmse_deg: Option<f64>,
    /// Root mean square while moving, degrees; after the same turn of the world.
    pub total_rmse_deg: Option<f64>,
    /// The greatest while moving, degrees.
    pub inclination_max_deg: Option<f64>,
    /// Mean normalised estimation error squared of roll and pitch while moving; 2 is right.
    pub tilt_nees_mean: Option<f64>,
    /// Of the gyroscope at the end, rad/s.
    pub gyro_bias: Option<[f64; 3]>,
    /// Distance of its estimate 20 s after the first sample from `gyro_only_bias`, rad/s.
    pub bias_error_at_20_s: Option<f64>,
    /// The greatest such distance from then on, rad/s; a bias that wanders is in it.
    pub bias_error_after_20_s: Option<f64>,
    /// Of the accelerometer at the end, m/s².
    pub accelerometer_bias: Option<[f64; 3]>,
    /// The gyroscope alone at 10, 30 and 180 s of the recording, degrees.
    pub gyro_only_drift_deg: BTreeMap<String, Option<f64>>,
    /// The same, counted from the first truth.
    pub gyro_only_drift_since_truth_deg: BTreeMap<String, Option<f64>>,
    /// The bias that was taken off for that, rad/s.
    pub gyro_only_bias: Option<[f64; 3]>,
    /// Time of a sample, ns.
    pub sample_ns: f64,
    /// What was left out, by reason.
    pub dropped: BTreeMap<&'static str, u64>,
    /// Gaps that samples did not bridge.
    pub gaps: u64,
    /// How often the vertical was lost, and found again.
    pub levellings: u64,
    /// What the reader should know; what contradicts itself first.
    pub warnings: Vec<String>,
    /// How many of the warnings are contradictions.
    #[serde(skip)]
    pub contradictions: usize,
}

impl Report {
    /// Of a run, its errors, and the drift of the gyroscope alone.
    pub fn new(
        recording: &InertialRecording,
        config: &Config,
        run: &Run,
        errors: &Errors,
        drift: Option<&Drift>,
    ) -> Self {
        let degrees = |x: f64| x.to_degrees();
        let rmse = |of: fn(&Instant) -> f64| errors.rmse_moving(of).map(degrees);
        let moving = || errors.instants.iter().filter(|instant| instant.moving);
        let greatest = |x: f64, y: f64| x.max(y);
        let start = recording.samples.first().map(|sample| sample.stamp);
        let biases = run.last.iter().flat_map(|last| biases("imu", config, last)).map(|finding| finding.sentence);
        let contradictions: Vec<String> = recording.contradictions.iter().cloned().chain(biases).collect();
        let known = drift.is_some();
        let settled =
            || errors.instants.iter().filter(|i| known && start.is_some_and(|start| i.stamp.since(start) >= 20.0));
        let by_horizon = |at: [Option<f64>; 3]| -> BTreeMap<String, Option<f64>> {
            HORIZONS_S.iter().zip(at).map(|(t, x)| (format!("{t}"), x.map(degrees))).collect()
        };
        Self {
            source: recording.name.clone(),
            method: config.method.name(),
            samples: run.samples,
            compared: errors.instants.len(),
            inclination_rmse_deg: rmse(|i| i.inclination),
            heading_rmse_deg: rmse(|i| i.heading),
            total_rmse_deg: rmse(|i| i.total),
            inclination_max_deg: moving().map(|i| i.inclination).reduce(greatest).map(degrees),
            tilt_nees_mean: errors.tilt_nees_mean(),
            gyro_bias: run.last.map(|last| last.gyro_bias.into()),
            bias_error_at_20_s: settled().next().map(|i| i.bias),
            bias_error_after_20_s: settled().map(|i| i.bias).reduce(greatest),
            accelerometer_bias: run.last.map(|last| last.accelerometer_bias.into()),
            gyro_only_drift_deg: drift.map(|drift| by_horizon(drift.at)).unwrap_or_default(),
            gyro_only_drift_since_truth_deg: drift.map(|drift| by_horizon(drift.since_truth)).unwrap_or_default(),
            gyro_only_bias: drift.map(|drift| drift.bias.into()),
            sample_ns: run.sample_ns,
            dropped: run.dropped.clone(),
            gaps: run.gaps,
            levellings: run.levellings,
            warnings: contradictions.iter().chain(&recording.warnings).cloned().collect(),
            contradictions: contradictions.len(),
        }
    }

    /// A table with units.
    pub fn to_text(&self) -> String {
        let mut text = format!("source: {}\n", self.source);
        let (first, others) = self.warnings.split_at(self.contradictions.min(self.warnings.len()));
        for warning in first {
            // Writing to a String cannot fail.
            let _ = writeln!(text, "warning: {warning}");
        }
        text.push('\n');
        let number = |x: Option<f64>, digits: usize| x.map_or("–".to_owned(), |x| format!("{x:.digits$}"));
        let vector = |x: Option<[f64; 3]>| x.map_or("–".to_owned(), |[x, y, z]| format!("{x:.5} {y:.5} {z:.5}"));
        let drift = |of: &BTreeMap<String, Option<f64>>| {
            let at = |t: &f64| format!("{} at {t} s", number(of.get(&t.to_string()).copied().flatten(), 3));
            HORIZONS_S.iter().map(at).collect::<Vec<_>>().join(", ")
        };
        let rows = [
            ("method", self.method.to_owned()),
            ("samples (compared with truth)", format!("{} ({})", self.samples, self.compared)),
            ("inclination RMSE while moving [°]", number(self.inclination_rmse_deg, 3)),
            ("  greatest [°]", number(self.inclination_max_deg, 2)),
            ("heading RMSE while moving [°]", number(self.heading_rmse_deg, 2)),
            ("total RMSE while moving [°]", number(self.total_rmse_deg, 2)),
            ("NEES of roll and pitch (2 is right)", number(self.tilt_nees_mean, 2)),
            ("gyroscope bias at the end [rad/s]", vector(self.gyro_bias)),
            (
                "  error at 20 s, greatest after [rad/s]",
                format!("{}, {}", number(self.bias_error_at_20_s, 5), number(self.bias_error_after_20_s, 5)),
            ),
            ("accelerometer bias at the end [m/s²]", vector(self.accelerometer_bias)),
            ("gyroscope alone, error [°]", drift(&self.gyro_only_drift_deg)),
            ("  counted from the first truth [°]", drift(&self.gyro_only_drift_since_truth_deg)),
            ("  less a bias of [rad/s]", vector(self.gyro_only_bias)),
            ("time of a sample [ns]", number(Some(self.sample_ns), 0)),
            ("gaps not bridged", self.gaps.to_string()),
            ("vertical lost and found", self.levellings.to_string()),
        ];
        for (label, value) in rows {
            // Writing to a String cannot fail.
            let _ = writeln!(text, "{label:<40}  {value}");
        }
        let reasons: Vec<String> = self.dropped.iter().map(|(reason, n)| format!("{reason} {n}")).collect();
        let reasons = if reasons.is_empty() { "nothing".to_owned() } else { reasons.join(", ") };
        let _ = writeln!(text, "\nleft out: {reasons}");
        for warning in others {
            let _ = writeln!(text, "warning: {warning}");
        }
        text
    }
}

/// Writes `report.json`, `report.txt`, `errors.csv` and `errors.svg` into a folder, all of them or nothing.
///
/// # Errors
/// Which file could not be written, and why.
pub fn write(folder: &Path, report: &Report, errors: &Errors) -> Result<(), FolderError> {
    write_whole(folder, |folder| {
        write_file(folder, "report.json", |out| writeln!(out, "{}", serde_json::to_string_pretty(report)?))?;
        write_text(folder, "report.txt", &report.to_text())?;
        write_file(folder, "errors.csv", |out| write_errors(errors, out))?;
        write_text(folder, "errors.svg", &plot::figure(&figure(report, errors))?)
    })
}

fn write_errors(errors: &Errors, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "stamp_s,moving,inclination_deg,heading_deg,total_deg")?;
    for i in &errors.instants {
        let (inclination, heading, total) = (i.inclination.to_degrees(), i.heading.to_degrees(), i.total.to_degrees());
        writeln!(out, "{},{},{inclination:.6},{heading:.6},{total:.6}", i.stamp, u8::from(i.moving))?;
    }
    Ok(())
}

fn figure(report: &Report, errors: &Errors) -> Figure {
    let start = errors.instants.first().map(|i| i.stamp).unwrap_or_default();
    let line = |name: &str, of: fn(&Instant) -> f64| Line {
        name: name.to_owned(),
        points: errors.instants.iter().map(|i| (i.stamp.since(start), of(i).to_degrees())).collect(),
        ..Line::default()
    };
    Figure {
        file: "errors".to_owned(),
        title: format!("Errors of the orientation, {}", report.source),
        x_label: "time [s]".to_owned(),
        y_label: "error [°]".to_owned(),
        lines: vec![line("inclination", |i| i.inclination), line("heading", |i| i.heading)],
        ..Figure::default()
    }
}
