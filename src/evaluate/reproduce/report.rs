//! What an experiment with integrators gives: numbers by method, tables and figures.

use serde::Serialize;
use std::collections::BTreeMap;

/// One reproduction: what `lienav reproduce NAME` prints, writes and draws.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// In the order of the text.
    pub experiments: Vec<Experiment>,
}

/// One experiment: a system, the methods that were put to it, and what came out.
#[derive(Clone, Debug, Default)]
pub struct Experiment {
    /// Short, for JSON and file names: `free-rigid-body`.
    pub name: String,
    /// A sentence or two: system, parameters, initial data, where in the text.
    pub about: String,
    /// Results by method, in the order they are to be printed.
    pub methods: Vec<MethodResult>,
    /// Tables beside those of the results, as the text prints them, with the text's numbers where it gives any.
    pub tables: Vec<Table>,
    /// Figures as the text draws them.
    pub figures: Vec<Figure>,
}

/// What was measured of one method. Keys are snake case with units and the same in every experiment where they mean
/// the same: `order_observed`, `order_expected`, `energy_error_max`, `energy_drift_per_time`, `constraint_error_max`,
/// `momentum_error_max`, `step_ns`, `iterations_mean`. A key that does not apply is left out.
#[derive(Clone, Debug, Default)]
pub struct MethodResult {
    /// The method's name.
    pub name: String,
    /// Key and number, in the order of columns.
    pub values: Vec<(&'static str, f64)>,
}

/// A table to be printed.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Table {
    /// What it is, and which one of the text.
    pub title: String,
    /// The first heads the names of the rows.
    pub columns: Vec<String>,
    /// Each as long as `columns`.
    pub rows: Vec<Vec<String>>,
}

/// Lines in a plane.
#[derive(Clone, Debug, Default)]
pub struct Figure {
    /// File name without its ending: `figure-4.2`.
    pub file: String,
    /// What it shows.
    pub title: String,
    /// Label of the abscissa, with unit.
    pub x_label: String,
    /// Label of the ordinate, with unit.
    pub y_label: String,
    /// Whether the abscissa is logarithmic; points that are not positive are left out then.
    pub x_log: bool,
    /// Whether the ordinate is logarithmic.
    pub y_log: bool,
    /// What is drawn.
    pub lines: Vec<Line>,
}

/// A line of a [`Figure`].
#[derive(Clone, Debug, Default)]
pub struct Line {
    /// What the legend says.
    pub name: String,
    /// Points (x, y); those that are not finite are left out. Thinned to what can be seen when drawn.
    pub points: Vec<(f64, f64)>,
    /// Marks at the points and thin lines between them, as for a few measured points; else a line alone.
    pub marked: bool,
    /// Grey and dashed, as a slope to compare with.
    pub is_guide: bool,
}

/// How large a reproduction is to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// The text's own lengths and numbers of steps.
    Full,
    /// Shortened to seconds, for a first look and for tests.
    Quick,
}

/// Called with the fraction that is done, in [0, 1].
pub type Progress<'a> = &'a (dyn Fn(f64) + Sync);

/// Something that can be run again.
pub struct Reproduction {
    /// As `lienav reproduce` takes it.
    pub name: &'static str,
    /// A line for `lienav reproduce list`.
    pub about: &'static str,
    /// Runs it.
    pub run: fn(Extent, Progress<'_>) -> Result<Report, crate::integrate::IntegrationError>,
}

impl Report {
    /// `{experiment: {method: {key: number}}}`; a number that is not finite becomes null.
    pub fn to_json(&self) -> serde_json::Value {
        let number = |x: f64| serde_json::Number::from_f64(x).map_or(serde_json::Value::Null, Into::into);
        let method = |m: &MethodResult| {
            let values: serde_json::Map<_, _> =
                m.values.iter().map(|(key, x)| ((*key).to_owned(), number(*x))).collect();
            (m.name.clone(), values.into())
        };
        let experiments: BTreeMap<&str, serde_json::Map<String, serde_json::Value>> =
            self.experiments.iter().map(|e| (e.name.as_str(), e.methods.iter().map(method).collect())).collect();
        serde_json::json!(experiments)
    }
}
