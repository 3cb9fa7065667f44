//! The tables of Shen 2019, chapter 5, cell by cell.

mod folder;
mod tables;
mod text;

pub use folder::{write, write_tables};
pub use tables::{PRINTED, PrintedCell};
pub use text::to_text;

use crate::monte_carlo::{
    Difference, Experiment, ExperimentError, FilterReport, METRICS, Outcome, Report, RunSummary, difference,
};
use lienav_sim::Scenario;
use serde::{Serialize, Serializer};
use std::collections::BTreeMap;

/// How it is called, and what it is.
pub const NAME: (&str, &str) = (
    "thesis-5",
    "tables 5.1-5.6 and figures 5.1-5.6 of Shen 2019, chapter 5: EKF, FE-EKF and reduced EKF in 36 scenes",
);

/// A filter of the thesis, and ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Method {
    /// What the thesis calls it.
    pub name: &'static str,
    /// Ours with the thesis's choices: covariance taken at the measured point, new features independent of the pose,
    /// Euler steps.
    pub as_printed: &'static str,
    /// Ours with sound ones: covariance at the predicted point, correlated initialization, steps by the exponential.
    pub sound: &'static str,
}

/// The three of the tables, in their order.
pub const METHODS: [Method; 3] = [
    Method { name: "EKF", as_printed: "thesis-ekf", sound: "ekf" },
    Method { name: "FE-EKF", as_printed: "thesis-fe-ekf", sound: "fe-ekf" },
    Method { name: "Reduced EKF", as_printed: "thesis-reduced", sound: "reduced" },
];

/// The hypothesis that the thesis names and does not run (its § 5.1).
pub const RIVAL: Method = Method { name: "OC-EKF", as_printed: "thesis-oc-ekf", sound: "oc-ekf" };

/// All filters that run in a cell. The first is the one the others are compared with.
pub const FILTERS: [&str; 9] = [
    "default",
    "thesis-ekf",
    "thesis-fe-ekf",
    "thesis-reduced",
    "ekf",
    "fe-ekf",
    "reduced",
    RIVAL.as_printed,
    RIVAL.sound,
];

/// Over so many realizations the printed numbers are means.
pub const REALIZATIONS: usize = 20;

/// The maximum-likelihood estimate of each whole run, on demand: what its data allow.
pub const YARDSTICK: &str = "batch";

/// One cell of the tables, run again.
#[derive(Clone, Debug)]
pub struct Cell {
    /// What the thesis prints.
    pub printed: PrintedCell,
    /// Every run and step.
    pub outcome: Outcome,
    /// The numbers of [`FILTERS`], in this order, then those of [`YARDSTICK`], where it was asked for.
    pub report: Report,
}

/// The tables, run again. Serialised: `experiment`, `runs`, `seed`, and `cells`, each with `table`, `scenario`,
/// `printed` (by method: `position_error_mean_m`, `yaw_error_mean_rad`, and what [`Cell::sampling_error`] gives as
/// `position_error_std_error_m`, `yaw_error_std_error_rad`), `filters` (by name, as in the report of a
/// Monte Carlo experiment) and, where the yardstick was asked for, `final_position_rmse_to_batch` (by name: how many
/// times it each filter's is, `ratio`, with `ratio_interval`).
#[derive(Clone, Debug)]
pub struct Thesis5 {
    /// How many runs each cell has.
    pub runs: usize,
    /// Where their seeds come from; the same runs in every cell but for what the cell changes.
    pub seed: u64,
    /// In the order of [`PRINTED`].
    pub cells: Vec<Cell>,
}

impl Thesis5 {
    /// The cells of these tables ("5.1" … "5.6"); all of them where none is named.
    pub fn cells_of(tables: &[String]) -> Vec<PrintedCell> {
        PRINTED.into_iter().filter(|cell| tables.is_empty() || tables.iter().any(|table| table == cell.table)).collect()
    }

    /// No cells yet.
    pub const fn new(runs: usize, seed: u64) -> Self {
        Self { runs, seed, cells: Vec::new() }
    }

    /// Runs a cell again, on the threads of the rayon pool it is called in; with `yardstick`, [`YARDSTICK`] too.
    /// `done` is called after each run.
    ///
    /// # Errors
    /// None in practice: scenes and filters are shipped ones; otherwise those of an experiment.
    pub fn add(
        &mut self,
        printed: &PrintedCell,
        yardstick: bool,
        done: impl Fn() + Sync,
    ) -> Result<(), ExperimentError> {
        let scenario = Scenario::named(printed.scenario)?;
        let filters = FILTERS.into_iter().chain(yardstick.then_some(YARDSTICK)).map(str::to_owned).collect();
        let experiment = Experiment {
            scenario,
            filters,
            settings: Vec::new(),
            sensors: Vec::new(),
            runs: self.runs,
            seed: self.seed,
        };
        self.cells.push(run_cell(*printed, experiment, &done)?);
        Ok(())
    }

    /// As JSON, indented.
    ///
    /// # Errors
    /// None in practice; serde's, should a report ever hold what JSON cannot say.
    pub fn to_json(&self) -> serde_json::Result<String> {
        serde_json::to_string_pretty(self)
    }
}

fn run_cell(printed: PrintedCell, experiment: Experiment, done: &(impl Fn() + Sync)) -> Result<Cell, ExperimentError> {
    let outcome = experiment.run(done)?;
    Ok(Cell { printed, report: Report::new(&outcome), outcome })
}

impl Cell {
    /// The numbers of a filter, by its name.
    pub fn filter(&self, name: &str) -> Option<&FilterReport> {
        self.report.filters.iter().find(|filter| filter.name == name)
    }

    /// Standard errors that a mean over the [`REALIZATIONS`] of the thesis has, of position, m, and yaw, rad, if its
    /// runs differ as those of this filter do. `None` without two runs of it.
    pub fn sampling_error(&self, name: &str) -> Option<(f64, f64)> {
        let runs = &self.outcome.filters.iter().find(|filter| filter.name == name)?.runs;
        let of = |value: fn(&RunSummary) -> f64| {
            let mean = runs.iter().map(value).sum::<f64>() / runs.len() as f64;
            let squares = runs.iter().map(|run| (value(run) - mean).powi(2)).sum::<f64>();
            (squares / (runs.len() - 1) as f64 / REALIZATIONS as f64).sqrt()
        };
        (runs.len() > 1).then(|| (of(|run| run.position_mean_m), of(|run| run.yaw_mean_rad)))
    }

    /// How much farther from the end a filter comes out than the yardstick: RMS of the final position, in pairs.
    /// `None` without either.
    pub fn to_yardstick(&self, name: &str) -> Option<Difference> {
        let runs = |name: &str| self.outcome.filters.iter().find(|filter| filter.name == name).map(|f| &f.runs);
        let metric = METRICS.iter().find(|metric| metric.key == "final_position_rmse_m")?;
        difference(metric, runs(name)?, runs(YARDSTICK)?, self.outcome.experiment.seed)
    }
}

impl Serialize for Thesis5 {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Document<'a> {
            experiment: &'static str,
            runs: usize,
            seed: u64,
            cells: &'a [Cell],
        }
        Document { experiment: NAME.0, runs: self.runs, seed: self.seed, cells: &self.cells }.serialize(serializer)
    }
}

impl Serialize for Cell {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Errors {
            position_error_mean_m: f64,
            yaw_error_mean_rad: f64,
            position_error_std_error_m: Option<f64>,
            yaw_error_std_error_rad: Option<f64>,
        }
        #[derive(Serialize)]
        struct Document<'a> {
            table: &'static str,
            scenario: &'static str,
            printed: BTreeMap<&'static str, Errors>,
            filters: BTreeMap<&'a str, &'a FilterReport>,
            #[serde(skip_serializing_if = "BTreeMap::is_empty")]
            final_position_rmse_to_batch: BTreeMap<&'a str, Difference>,
        }
        let errors = |(method, &(position_error_mean_m, yaw_error_mean_rad)): (&Method, &(f64, f64))| {
            let sampling = self.sampling_error(method.as_printed);
            let errors = Errors {
                position_error_mean_m,
                yaw_error_mean_rad,
                position_error_std_error_m: sampling.map(|error| error.0),
                yaw_error_std_error_rad: sampling.map(|error| error.1),
            };
            (method.name, errors)
        };
        let printed = METHODS.iter().zip(&self.printed.errors).map(errors).collect();
        let filters = self.report.filters.iter().map(|filter| (filter.name.as_str(), filter)).collect();
        let names = self.report.filters.iter().map(|filter| filter.name.as_str()).filter(|name| *name != YARDSTICK);
        Document {
            table: self.printed.table,
            scenario: self.printed.scenario,
            printed,
            filters,
            final_position_rmse_to_batch: names.filter_map(|name| Some((name, self.to_yardstick(name)?))).collect(),
        }
        .serialize(serializer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lienav_slam::Filter;
    use std::collections::BTreeSet;
    use std::fs;

    #[test]
    fn every_cell_has_a_scene_of_its_own_and_every_filter_exists() {
        let scenes: BTreeSet<_> = PRINTED.iter().map(|cell| cell.scenario).collect();
        assert_eq!(scenes.len(), 36);
        for cell in &PRINTED {
            assert!(Scenario::named(cell.scenario).is_ok(), "{}", cell.scenario);
            let (line, low) = (cell.scenario.contains("-line-"), cell.scenario.contains("-low-"));
            assert_eq!(
                (line, low),
                (["5.1", "5.2"].contains(&cell.table), ["5.1", "5.3", "5.5"].contains(&cell.table))
            );
        }
        for method in METHODS.into_iter().chain([RIVAL]) {
            assert!([method.as_printed, method.sound].iter().all(|name| FILTERS.contains(name)));
        }
        assert!(FILTERS.iter().all(|name| Filter::named(name).is_ok()));
        assert_eq!(Thesis5::cells_of(&["5.3".into(), "5.4".into()]).len(), 12);
        assert_eq!(Thesis5::cells_of(&[]), PRINTED);
    }

    #[test]
    fn the_numbers_that_the_text_of_the_thesis_quotes_are_in_the_table() {
        let cell = PRINTED.iter().find(|cell| cell.scenario == "thesis-circle-10hz-low-q4").unwrap();
        assert_eq!(cell.errors, [(2.893, 0.2914), (2.721, 0.2585), (1.512, 0.1033)]);
        // "It can reduce the orientation error by approximately 50 % in each case": of the circle, 12 cells.
        for cell in PRINTED.iter().filter(|cell| cell.scenario.contains("circle")) {
            let ratio = cell.errors[2].1 / cell.errors[0].1;
            assert!((0.3..0.85).contains(&ratio), "{}: {ratio}", cell.scenario);
        }
    }

    /// Two cells, with scenes cut short.
    #[test]
    fn a_reproduction_holds_the_printed_numbers_beside_ours_and_fills_its_folder() {
        let cells = [0, 12].map(|index: usize| {
            let mut scenario = Scenario::named(PRINTED[index].scenario).unwrap();
            scenario.trajectory.length_m = 2.0;
            scenario.trajectory.laps = 0.05;
            let filters = FILTERS.into_iter().chain([YARDSTICK]).map(str::to_owned).collect();
            run_cell(
                PRINTED[index],
                Experiment { scenario, filters, settings: Vec::new(), sensors: Vec::new(), runs: 2, seed: 1 },
                &|| (),
            )
            .unwrap()
        });
        let thesis = Thesis5 { runs: 2, seed: 1, cells: cells.into() };
        let json: serde_json::Value = serde_json::from_str(&thesis.to_json().unwrap()).unwrap();
        assert_eq!((&json["experiment"], json["cells"].as_array().map(Vec::len)), (&"thesis-5".into(), Some(2)));
        let cell = &json["cells"][1];
        assert_eq!((&cell["table"], &cell["printed"]["EKF"]["position_error_mean_m"]), (&"5.3".into(), &0.955.into()));
        // Of two runs the standard deviation is their difference over √2, and that of a mean of 20 its √20th part.
        let runs = &thesis.cells[1].outcome.filters[1].runs;
        let expected = (runs[0].position_mean_m - runs[1].position_mean_m).abs() / 40_f64.sqrt();
        let told = cell["printed"]["EKF"]["position_error_std_error_m"].as_f64().unwrap();
        assert!((told / expected - 1.0).abs() < 1e-9, "{told} {expected}");
        for filter in FILTERS.into_iter().chain([YARDSTICK]) {
            assert!(cell["filters"][filter]["nees_mean"].is_f64(), "{filter}: {cell}");
        }
        assert!(cell["final_position_rmse_to_batch"]["default"]["ratio"].as_f64().is_some_and(|ratio| ratio > 0.1));
        let text = to_text(&thesis);
        assert!(text.contains("Table 5.1") && text.contains("Table 5.3") && text.contains("0.955 ±"), "{text}");
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), &thesis).unwrap();
        for name in [
            "report.json",
            "report.txt",
            "cells.csv",
            "figure-5.1a.svg",
            "figure-5.2.svg",
            "figure-5.3a.svg",
            "figure-5.3c.svg",
            "figure-5.4.svg",
        ] {
            assert!(fs::metadata(folder.path().join(name)).is_ok_and(|file| file.len() > 0), "{name}");
        }
        for name in ["figure-5.1b.svg", "figure-5.1c.svg", "figure-5.6.svg"] {
            assert!(!folder.path().join(name).exists(), "{name}: no cell of it was run, or the thesis has none");
        }
        let growth = fs::read_to_string(folder.path().join("figure-5.2.svg")).unwrap();
        assert!(growth.contains("Figure 5.2. Error growth"));
    }
}
