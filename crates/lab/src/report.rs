//! What an experiment with integrators gives: numbers by method, tables and figures.

use lienav_eval::plot::Figure;
use lienav_integrate::IntegrationError;
use serde::Serialize;
use serde_json::{Map, Value, json};

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
    /// What could not be run to its end; the numbers that it would have given are missing or not finite.
    pub failures: Vec<Failure>,
}

/// A run that a method could not bring to its end. It is a result like others, and leaves the other methods alone.
#[derive(Clone, Debug, PartialEq)]
pub struct Failure {
    /// The method's name, as in [`MethodResult`].
    pub method: String,
    /// Which run, with its step size where there are several: `long run, h = 0.25`.
    pub during: String,
    /// When it ended, and why.
    pub error: IntegrationError,
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

impl Experiment {
    /// What was found, or nothing, and then a failure of the method in this run is noted.
    pub fn found<T>(&mut self, method: &str, during: &str, found: Result<T, IntegrationError>) -> Option<T> {
        found.map_err(|error| self.note(method, during, Some(error))).ok()
    }

    /// Notes that a method's run ended before its time, if it did.
    pub fn note(&mut self, method: &str, during: &str, error: Option<IntegrationError>) {
        let failure = |error| Failure { method: method.to_owned(), during: during.to_owned(), error };
        self.failures.extend(error.map(failure));
    }

    /// `{method: {key: number}}`, with `failures` of the methods that have any.
    fn to_json(&self) -> Value {
        let mut methods = Map::new();
        for MethodResult { name, values } in &self.methods {
            let values: Map<_, _> = values.iter().map(|(key, x)| ((*key).to_owned(), json_number(*x))).collect();
            methods.insert(name.clone(), values.into());
        }
        for failure in &self.failures {
            let method = methods.entry(failure.method.as_str()).or_insert_with(|| json!({}));
            // An array is made of the first, and the others are added to it.
            match &mut method["failures"] {
                Value::Array(failures) => failures.push(failure.to_json()),
                failures => *failures = json!([failure.to_json()]),
            }
        }
        methods.into()
    }
}

impl Failure {
    /// `during`, `error` as a sentence, `time`; `step` and `residual` where the error has them.
    fn to_json(&self) -> Value {
        let mut value = json!({ "during": self.during, "error": self.error.to_string() });
        match self.error {
            IntegrationError::NotConverged { time, step, residual, .. } => {
                value["time"] = json_number(time);
                value["step"] = json_number(step);
                value["residual"] = json_number(residual);
            }
            IntegrationError::NotFinite { time, step } => {
                value["time"] = json_number(time);
                value["step"] = json_number(step);
            }
            IntegrationError::StepTooSmall { time, .. } => value["time"] = json_number(time),
        }
        value
    }
}

impl Report {
    /// `{experiment: {method: {key: number}}}`; a number that is not finite becomes null. What could not be run to its
    /// end is in an array `failures` beside a method's numbers.
    pub fn to_json(&self) -> Value {
        let experiments: Map<_, _> = self.experiments.iter().map(|e| (e.name.clone(), e.to_json())).collect();
        experiments.into()
    }
}

fn json_number(x: f64) -> Value {
    serde_json::Number::from_f64(x).map_or(Value::Null, Into::into)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_stand_beside_the_numbers_of_their_method() {
        let mut experiment = Experiment { name: "top".into(), ..Experiment::default() };
        for (name, x) in [("midpoint", f64::NAN), ("other", 2.0)] {
            experiment.methods.push(MethodResult { name: name.into(), values: vec![("order_observed", x)] });
        }
        let error =
            IntegrationError::NotConverged { time: 12.5, step: 0.25, residual: 3e-9, tolerance: 1e-15, iterations: 50 };
        assert_eq!(experiment.found::<()>("midpoint", "h = 0.25", Err(error)), None);
        assert_eq!(experiment.found("other", "h = 0.25", Ok(1)), Some(1));
        experiment.note("midpoint", "h = 0.5", Some(IntegrationError::NotFinite { time: 1.0, step: 0.5 }));
        experiment.note("other", "h = 0.5", None);
        experiment.note("third", "tolerance 1e-9", Some(IntegrationError::StepTooSmall { time: 3.0, least: 1e-12 }));
        let report = Report { experiments: vec![experiment] }.to_json();
        let of = &report["top"]["midpoint"];
        assert_eq!(of["order_observed"], Value::Null);
        assert_eq!((&of["failures"][0]["time"], &of["failures"][0]["residual"]), (&json!(12.5), &json!(3e-9)));
        assert_eq!((&of["failures"][1]["during"], &of["failures"][1]["step"]), (&json!("h = 0.5"), &json!(0.5)));
        assert_eq!(report["top"]["other"], json!({"order_observed": 2.0}));
        assert_eq!(report["top"]["third"]["failures"][0]["time"], json!(3.0));
    }
}
