//! The folder of a reproduction: numbers, tables and figures.

use super::looks;
use super::report::Report;
use super::text::to_text;
use lienav_eval::folder::{FolderError, create, write_file, write_text};
use lienav_eval::plot;
use lienav_eval::plot::Figure;
use std::io::{self, Write};
use std::path::Path;

/// Writes `report.json`, `report.txt`, and of each figure an SVG and a CSV (`line,x,y`, every point) of its name, each
/// of them whole or not at all.
///
/// # Errors
/// Which file could not be written, and why.
pub fn write(folder: &Path, report: &Report) -> Result<(), FolderError> {
    write_part(folder, report, report.experiments.len())
}

/// The same where all but the `new` last experiments have been written before: their figures are left as they are.
///
/// # Errors
/// Which file could not be written, and why.
pub fn write_part(folder: &Path, report: &Report, new: usize) -> Result<(), FolderError> {
    create(folder)?;
    write_file(folder, "report.json", |out| writeln!(out, "{:#}", report.to_json()))?;
    write_text(folder, "report.txt", &to_text(report))?;
    let written = report.experiments.len().saturating_sub(new);
    for figure in report.experiments[written..].iter().flat_map(|experiment| &experiment.figures) {
        write_figure(folder, figure)?;
    }
    Ok(())
}

/// A figure's SVG and CSV.
pub(super) fn write_figure(folder: &Path, figure: &Figure) -> Result<(), FolderError> {
    let mut drawn = figure.clone();
    looks::assign(&mut drawn);
    write_text(folder, &format!("{}.svg", figure.file), &plot::figure(&drawn)?)?;
    write_file(folder, &format!("{}.csv", figure.file), |out| write_points(figure, out))
}

fn write_points(figure: &Figure, out: &mut dyn Write) -> io::Result<()> {
    let mut csv = csv::Writer::from_writer(out);
    csv.write_record(["line", "x", "y"])?;
    for line in &figure.lines {
        for (x, y) in &line.points {
            csv.write_record([line.name.as_str(), &x.to_string(), &y.to_string()])?;
        }
    }
    csv.flush()
}

#[cfg(test)]
mod tests {
    use super::super::report::{Experiment, MethodResult};
    use super::*;
    use lienav_eval::plot::Line;
    use std::fs;

    #[test]
    fn the_folder_holds_numbers_text_figures_and_their_points() {
        let line =
            Line { name: "midpoint, by Newton".into(), points: vec![(0.1, 1e-3), (0.2, 4e-3)], ..Line::default() };
        let figure = Figure { file: "figure-1".into(), title: "Errors".into(), lines: vec![line], ..Figure::default() };
        let values = vec![("order_observed", 2.0), ("step_ns", f64::NAN)];
        let experiment = Experiment {
            name: "top".into(),
            methods: vec![MethodResult { name: "midpoint".into(), values }],
            figures: vec![figure],
            ..Experiment::default()
        };
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), &Report { experiments: vec![experiment] }).unwrap();
        let read = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
        let json: serde_json::Value = serde_json::from_str(&read("report.json")).unwrap();
        assert_eq!(json["top"]["midpoint"], serde_json::json!({"order_observed": 2.0, "step_ns": null}));
        assert_eq!(
            read("figure-1.csv"),
            "line,x,y\n\"midpoint, by Newton\",0.1,0.001\n\"midpoint, by Newton\",0.2,0.004\n"
        );
        assert!(read("report.txt").starts_with("top\n") && read("figure-1.svg").starts_with("<svg"));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 4);
    }

    #[test]
    fn a_part_adds_to_what_is_there() {
        let experiment = |name: &str| Experiment {
            name: name.into(),
            figures: vec![Figure { file: format!("figure-{name}"), ..Figure::default() }],
            ..Experiment::default()
        };
        let folder = tempfile::tempdir().unwrap();
        let mut report = Report { experiments: vec![experiment("first")] };
        write_part(folder.path(), &report, 1).unwrap();
        fs::write(folder.path().join("figure-first.csv"), "as it was").unwrap();
        report.experiments.push(experiment("second"));
        write_part(folder.path(), &report, 1).unwrap();
        let read = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
        assert_eq!((&*read("figure-first.csv"), &*read("figure-second.csv")), ("as it was", "line,x,y\n"));
        let json: serde_json::Value = serde_json::from_str(&read("report.json")).unwrap();
        assert_eq!(json, serde_json::json!({"first": {}, "second": {}}));
    }
}
