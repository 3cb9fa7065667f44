//! The folder of a study of observability.

use super::Report;
use super::report::{FilterReport, to_text};
use crate::folder::{FolderError, create, write_file, write_text};
use crate::plot::{Figure, Line, figure};
use std::io::{self, Write};
use std::path::Path;

/// Writes `report.json`, `report.txt`, `windows.csv`, `invented.csv`, `heading.svg` (what is invented of the heading,
/// scan by scan) and `windows.svg` (what each window says of the heading).
///
/// # Errors
/// Which file could not be written, and why.
pub fn write(folder: &Path, report: &Report) -> Result<(), FolderError> {
    create(folder)?;
    write_file(folder, "report.json", |out| writeln!(out, "{}", report.to_json()?))?;
    write_text(folder, "report.txt", &to_text(report))?;
    write_file(folder, "windows.csv", |out| write_rows(out, report, WINDOWS, windows))?;
    write_file(folder, "invented.csv", |out| write_rows(out, report, INVENTED, invented))?;
    write_text(folder, "heading.svg", &figure(&heading(report))?)?;
    write_text(folder, "windows.svg", &figure(&in_windows(report))?)
}

const WINDOWS: &[&str] =
    &["filter", "stamp_s", "features", "rank", "nullity", "heading_information", "position_information"];
const INVENTED: &[&str] = &["filter", "stamp_s", "heading_information", "position_information"];

fn write_rows(
    out: &mut dyn Write,
    report: &Report,
    columns: &[&str],
    rows: fn(&FilterReport) -> Vec<Vec<String>>,
) -> io::Result<()> {
    let mut csv = csv::Writer::from_writer(out);
    csv.write_record(columns)?;
    for filter in &report.filters {
        for row in rows(filter) {
            csv.write_record(std::iter::once(&filter.name).chain(&row))?;
        }
    }
    csv.flush()
}

fn windows(filter: &FilterReport) -> Vec<Vec<String>> {
    let row = |w: &super::Window| {
        let counts = [w.features, w.rank, w.nullity].map(|count| count.to_string());
        let information = [w.heading_information, w.position_information].map(|number| number.to_string());
        std::iter::once(w.stamp_s.to_string()).chain(counts).chain(information).collect()
    };
    filter.windows.iter().map(row).collect()
}

fn invented(filter: &FilterReport) -> Vec<Vec<String>> {
    let row = |step: &super::Invented| {
        [step.stamp_s, step.heading_information, step.position_information].map(|number| number.to_string()).to_vec()
    };
    filter.steps.iter().map(row).collect()
}

/// Name of a line; a filter that invents nothing has none on a logarithmic axis.
fn named(filter: &FilterReport, points: &[(f64, f64)]) -> String {
    if points.iter().any(|(_, y)| *y > 0.0) { filter.name.clone() } else { format!("{} (nothing)", filter.name) }
}

fn heading(report: &Report) -> Figure {
    let line = |filter: &FilterReport| {
        let points: Vec<_> = filter.steps.iter().map(|step| (step.stamp_s, step.heading_information)).collect();
        Line { name: named(filter, &points), points, ..Line::default() }
    };
    Figure {
        file: "heading".into(),
        title: format!("Information about the heading that no reading has: {}", report.source),
        x_label: "time [s]".into(),
        y_label: "invented since the start [1/rad²]".into(),
        y_log: true,
        lines: report.filters.iter().map(line).collect(),
        ..Figure::default()
    }
}

fn in_windows(report: &Report) -> Figure {
    let line = |filter: &FilterReport| {
        let points: Vec<_> = filter.windows.iter().map(|window| (window.stamp_s, window.heading_information)).collect();
        Line { name: named(filter, &points), points, marked: true, ..Line::default() }
    };
    Figure {
        file: "windows".into(),
        title: format!("What {} clouds say of the heading: {}", report.scans, report.source),
        x_label: "time [s]".into(),
        y_label: "information about the heading [1/rad²]".into(),
        y_log: true,
        lines: report.filters.iter().map(line).collect(),
        ..Figure::default()
    }
}
