//! The folder of the chapter: tables and figures.

use super::{Cell, METHODS, Thesis5, to_text};
use crate::errors::Errors;
use crate::folder::{FolderError, create, write_file, write_text};
use crate::monte_carlo::run_seeds;
use crate::plot::{self, Subject};
use crate::run::run;
use crate::simulated;
use lienav_io::truth::{MAX_TRUTH_GAP_S, Truth};
use lienav_sim::Scenario;
use lienav_slam::Config;
use std::io::{self, Write};
use std::path::Path;

/// The trajectory, its figure of path and features, and that of error growth.
const FIGURES: [(&str, &str, &str); 3] = [
    ("-line-", "figure-5.1", "figure-5.2"),
    ("-circle-", "figure-5.3", "figure-5.4"),
    ("-general-", "figure-5.5", "figure-5.6"),
];

/// Writes `report.json`, `report.txt` and `cells.csv` (a line for each filter in each cell) of the cells there are.
/// Called after each cell, it leaves a killed run with what it had.
///
/// # Errors
/// Which file could not be written, and why.
pub fn write_tables(folder: &Path, thesis: &Thesis5) -> Result<(), FolderError> {
    create(folder)?;
    write_file(folder, "report.json", |out| writeln!(out, "{}", thesis.to_json()?))?;
    write_text(folder, "report.txt", &to_text(thesis))?;
    write_file(folder, "cells.csv", |out| write_cells(thesis, out))
}

/// Writes [the tables](write_tables) and, of the first cell of each trajectory that was run, `figure-5.1.svg` …
/// `figure-5.6.svg`: path and features as the default filter found them in the first run, and the growth of the mean
/// errors; and `nees-….svg`, which the thesis has no figure of.
///
/// # Errors
/// Which file could not be written, and why.
pub fn write(folder: &Path, thesis: &Thesis5) -> Result<(), FolderError> {
    write_tables(folder, thesis)?;
    for (path, scene, growth) in FIGURES {
        let Some(cell) = thesis.cells.iter().find(|cell| cell.printed.scenario.contains(path)) else { continue };
        write_text(folder, &format!("{growth}.svg"), &plot::error_growth(&cell.outcome)?)?;
        write_text(folder, &format!("nees{}.svg", path.trim_end_matches('-')), &plot::run_mean_nees(&cell.outcome)?)?;
        if let Some(drawn) = scene_of(cell)? {
            write_text(folder, &format!("{scene}.svg"), &drawn)?;
        }
    }
    Ok(())
}

/// Path and features of a cell's first run. `None` of a cell without runs.
fn scene_of(cell: &Cell) -> Result<Option<String>, FolderError> {
    let experiment = &cell.outcome.experiment;
    let Some(&seed) = run_seeds(experiment.seed, 1).first() else { return Ok(None) };
    // The scenario has been run already, so neither it nor its settings are refused here.
    let Ok(recording) = simulated::recording(&Scenario { seed, ..experiment.scenario.clone() }) else {
        return Ok(None);
    };
    // Features that the filter forgets would be missing from the figure.
    let mut config = Config { filter: "default".into(), ..recording.config.clone().unwrap_or_default() };
    config.map.forget_after_s = 0.0;
    let Ok(run) = run(&recording, &config, |_| ()) else { return Ok(None) };
    let truth = Truth::new(&recording.truth, &recording.true_landmarks, MAX_TRUTH_GAP_S);
    let errors = Errors::new(&run, &truth);
    Ok(Some(plot::trajectory(&Subject { run: &run, truth: &truth, errors: &errors })?))
}

const COLUMNS: [&str; 16] = [
    "table",
    "scenario",
    "filter",
    "printed_position_error_mean_m",
    "printed_yaw_error_mean_rad",
    "position_error_mean_m",
    "position_error_mean_low_m",
    "position_error_mean_high_m",
    "yaw_error_mean_rad",
    "yaw_error_mean_low_rad",
    "yaw_error_mean_high_rad",
    "nees_mean",
    "final_position_rmse_m",
    "final_position_rmse_to_batch",
    "final_position_rmse_to_batch_low",
    "final_position_rmse_to_batch_high",
];

fn write_cells(thesis: &Thesis5, out: &mut dyn Write) -> io::Result<()> {
    let mut csv = csv::Writer::from_writer(out);
    csv.write_record(COLUMNS)?;
    let text = |number: Option<f64>| number.map(|number| number.to_string()).unwrap_or_default();
    for cell in &thesis.cells {
        for filter in &cell.report.filters {
            let of_thesis = METHODS.iter().position(|m| [m.as_printed, m.sound].contains(&filter.name.as_str()));
            let printed = of_thesis.map(|method| cell.printed.errors[method]);
            let mut record = vec![cell.printed.table.to_owned(), cell.printed.scenario.to_owned(), filter.name.clone()];
            record.extend([text(printed.map(|errors| errors.0)), text(printed.map(|errors| errors.1))]);
            for key in ["position_error_mean_m", "yaw_error_mean_rad"] {
                let value = filter.get(key);
                let interval = value.and_then(|value| value.interval);
                record.push(text(value.and_then(|value| value.value)));
                record.extend([text(interval.map(|i| i.low)), text(interval.map(|i| i.high))]);
            }
            record.push(text(filter.get("nees_mean").and_then(|value| value.value)));
            record.push(text(filter.get("final_position_rmse_m").and_then(|value| value.value)));
            let ratio = cell.to_yardstick(&filter.name);
            record.push(text(ratio.map(|ratio| ratio.ratio)));
            let interval = ratio.map(|ratio| ratio.ratio_interval);
            record.extend([text(interval.map(|i| i.low)), text(interval.map(|i| i.high))]);
            csv.write_record(record)?;
        }
    }
    csv.flush()
}
