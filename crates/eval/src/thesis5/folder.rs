//! The folder of the chapter: tables and figures.

use super::{Cell, METHODS, Thesis5, to_text};
use crate::errors::Errors;
use crate::folder::{FolderError, create, write_file, write_text};
use crate::monte_carlo::run_seeds;
use crate::plot::{self, Figure, Line, Subject};
use crate::run::run;
use crate::simulated;
use lienav_io::truth::{MAX_TRUTH_GAP_S, Truth};
use lienav_sim::Scenario;
use lienav_sim::trajectory::Trajectory;
use lienav_slam::Config;
use std::io::{self, Write};
use std::path::Path;

/// The figures of a trajectory.
struct Figures {
    /// Part of the names of its scenes.
    path: &'static str,
    /// Number of the figure of path and features, (a) at low and (b) at high density.
    scene: &'static str,
    /// Number of the figure of error growth.
    growth: &'static str,
    /// Whether the thesis shows its velocity, as (c).
    has_velocity: bool,
}

const FIGURES: [Figures; 3] = [
    Figures { path: "-line-", scene: "5.1", growth: "5.2", has_velocity: false },
    Figures { path: "-circle-", scene: "5.3", growth: "5.4", has_velocity: true },
    Figures { path: "-general-", scene: "5.5", growth: "5.6", has_velocity: true },
];

/// Points of the figure of a velocity.
const VELOCITY_POINTS: u32 = 1200;

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

/// Writes [the tables](write_tables) and the figures, by their numbers: `figure-5.1a.svg`, `figure-5.1b.svg`, … are
/// path and features at low and high density, as the default filter found them in the first run of the first cell of
/// each; `figure-5.2.svg`, … the growth of the mean errors in the first cell of the trajectory; `figure-5.3c.svg` and
/// `figure-5.5c.svg` the velocity; and `nees-….svg`, which the thesis has no figure of, the NEES.
///
/// # Errors
/// Which file could not be written, and why.
pub fn write(folder: &Path, thesis: &Thesis5) -> Result<(), FolderError> {
    write_tables(folder, thesis)?;
    for figures in FIGURES {
        let first = |density: &str| {
            let is_of = |cell: &&Cell| [figures.path, density].iter().all(|part| cell.printed.scenario.contains(part));
            thesis.cells.iter().find(is_of)
        };
        for (density, letter) in [("-low-", 'a'), ("-high-", 'b')] {
            let Some(cell) = first(density) else { continue };
            if let Some(drawn) = scene_of(cell, &format!("Figure {} ({letter}). ", figures.scene))? {
                write_text(folder, &format!("figure-{}{letter}.svg", figures.scene), &drawn)?;
            }
        }
        let Some(cell) = first("") else { continue };
        let growth = plot::numbered_error_growth(&format!("Figure {}. ", figures.growth), &cell.outcome)?;
        write_text(folder, &format!("figure-{}.svg", figures.growth), &growth)?;
        let name = figures.path.trim_end_matches('-');
        write_text(folder, &format!("nees{name}.svg"), &plot::run_mean_nees(&cell.outcome)?)?;
        if figures.has_velocity
            && let Some(figure) = velocity_of(cell, figures.scene)
        {
            write_text(folder, &format!("{}.svg", figure.file), &plot::figure(&figure)?)?;
        }
    }
    Ok(())
}

/// The velocity along a cell's trajectory: its amount and the yaw rate. `None` of a scenario without a trajectory.
fn velocity_of(cell: &Cell, number: &str) -> Option<Figure> {
    let scenario = &cell.outcome.experiment.scenario;
    let trajectory = Trajectory::new(&scenario.trajectory).ok()?;
    let time = |k: u32| f64::from(k) / f64::from(VELOCITY_POINTS) * trajectory.duration_s();
    let twists = || (0..=VELOCITY_POINTS).map(|k| (time(k), trajectory.at(time(k)).twist));
    let line = |name: &str, points| Line { name: name.into(), points, ..Line::default() };
    Some(Figure {
        file: format!("figure-{number}c"),
        title: format!("Figure {number} (c). Velocity: {}", scenario.name),
        x_label: "time [s]".into(),
        y_label: "speed [m/s], yaw rate [rad/s]".into(),
        lines: vec![
            line("speed", twists().map(|(t, twist)| (t, twist.xy().norm())).collect()),
            line("yaw rate", twists().map(|(t, twist)| (t, twist.z)).collect()),
        ],
        ..Figure::default()
    })
}

/// Path and features of a cell's first run. `None` of a cell without runs.
fn scene_of(cell: &Cell, number: &str) -> Result<Option<String>, FolderError> {
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
    Ok(Some(plot::numbered_trajectory(number, &Subject { run: &run, truth: &truth, errors: &errors })?))
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
