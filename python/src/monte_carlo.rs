//! Many simulated runs, on this machine or on others.

use crate::arguments;
use crate::arrays::{array, data};
use crate::errors::{failed, wrong_call};
use crate::settings::scenario;
use crate::wait::{Wanted, interruptible};
use lienav_eval::folder::remove_leftovers;
use lienav_eval::monte_carlo::{
    Experiment as Planned, ExperimentError, FilterOutcome, Outcome as Result_, Report, RunRecord, StepSummary, merge,
    merge_records, to_text, write,
};
use lienav_sim::Scenario;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

/// A scenario, filters, and how often.
#[pyclass(frozen, module = "lienav._lienav")]
pub struct Experiment(Planned);

/// An experiment as text.
#[derive(Serialize, Deserialize)]
struct Spec {
    scenario: Scenario,
    filters: Vec<String>,
    settings: Vec<(String, String)>,
    runs: usize,
    seed: u64,
    /// Of lienav: another one may give other numbers.
    version: String,
}

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Why runs are not there.
enum Ended {
    Error(ExperimentError),
    Interrupted,
}

impl From<ExperimentError> for Ended {
    fn from(error: ExperimentError) -> Self {
        Self::Error(error)
    }
}

fn of_experiment(error: ExperimentError) -> PyErr {
    match error {
        ExperimentError::Scenario(_)
        | ExperimentError::NoSteps(_)
        | ExperimentError::Config(_)
        | ExperimentError::Setting(_)
        | ExperimentError::Nothing => wrong_call(error),
        _ => failed(error),
    }
}

fn on_threads<T: Send>(threads: usize, work: impl FnOnce() -> T + Send) -> Result<T, String> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    let pool = pool.map_err(|error| format!("threads is {threads}: {error}; give fewer"))?;
    Ok(pool.install(work))
}

/// Some of the runs, in their order; fewer after Ctrl-C.
fn records(experiment: &Planned, runs: &[usize], wanted: &Wanted) -> Result<Vec<RunRecord>, ExperimentError> {
    let done = Mutex::new(Vec::with_capacity(runs.len()));
    let ended = experiment.run_some(runs, |record| {
        done.lock().unwrap_or_else(PoisonError::into_inner).push(record);
        if wanted.goes_on() { Ok(()) } else { Err(Ended::Interrupted) }
    });
    if let Err(Ended::Error(error)) = ended {
        return Err(error);
    }
    let mut records = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    records.sort_by_key(|record| record.run);
    Ok(records)
}

#[pymethods]
impl Experiment {
    #[new]
    fn new(
        given: &Bound<'_, PyAny>,
        #[pyo3(from_py_with = arguments::filters)] filters: Vec<String>,
        settings: Vec<(String, String)>,
        filter_settings: Vec<(String, String)>,
        #[pyo3(from_py_with = arguments::runs)] runs: usize,
        #[pyo3(from_py_with = arguments::seed)] seed: u64,
    ) -> PyResult<Self> {
        for (k, name) in filters.iter().enumerate() {
            if filters[..k].contains(name) {
                return Err(wrong_call(format!("'{name}' is given twice; name each filter or pose once")));
            }
        }
        if !(1..=1_000_000).contains(&runs) {
            return Err(wrong_call(format!("runs is {runs}; allowed: 1 … 1000000")));
        }
        if filter_settings.iter().any(|(name, _)| name == "filter") {
            let problem = "filter_settings: 'filter' would call one filter by the name of another; give it to filters";
            return Err(wrong_call(problem));
        }
        let scenario = scenario(given, &settings)?;
        let experiment = Planned { scenario, filters, settings: filter_settings, sensors: Vec::new(), runs, seed };
        Ok(Self(experiment))
    }

    #[staticmethod]
    fn from_spec(spec: &str) -> PyResult<Self> {
        let spec: Spec = serde_json::from_str(spec).map_err(|error| failed(format!("no experiment: {error}")))?;
        if spec.version != VERSION {
            let problem = format!("the experiment is of lienav {}, and this is {VERSION}", spec.version);
            return Err(failed(format!("{problem}: install the same version on every machine")));
        }
        let Spec { scenario, filters, settings, runs, seed, .. } = spec;
        Ok(Self(Planned { scenario, filters, settings, sensors: Vec::new(), runs, seed }))
    }

    /// The experiment as text, for other processes.
    fn spec(&self) -> PyResult<String> {
        let Planned { scenario, filters, settings, runs, seed, .. } = self.0.clone();
        serde_json::to_string(&Spec { scenario, filters, settings, runs, seed, version: VERSION.into() })
            .map_err(failed)
    }

    #[getter]
    fn runs(&self) -> usize {
        self.0.runs
    }

    /// All runs, on threads of this process; 0 is as many as there are processors.
    fn run(&self, py: Python<'_>, #[pyo3(from_py_with = arguments::threads)] threads: usize) -> PyResult<Outcome> {
        let experiment = self.0.clone();
        let outcome = interruptible(py, move |wanted| {
            on_threads(threads, || {
                let all: Vec<usize> = (0..experiment.runs).collect();
                let records = records(&experiment, &all, wanted)?;
                Ok::<_, ExperimentError>(merge_records(&experiment, records))
            })
        })?;
        let merged = outcome.map_err(wrong_call)?.map_err(of_experiment)?.map_err(failed)?;
        Ok(Outcome(Arc::new(merged)))
    }

    /// Some of the runs, each as a line of text.
    fn run_some(&self, py: Python<'_>, runs: Vec<usize>, threads: usize) -> PyResult<Vec<String>> {
        let experiment = self.0.clone();
        let lines = interruptible(py, move |wanted| {
            on_threads(threads, || {
                let records = records(&experiment, &runs, wanted)?;
                Ok::<_, ExperimentError>(records.iter().map(RunRecord::to_line).collect::<Result<Vec<_>, _>>())
            })
        })?;
        lines.map_err(wrong_call)?.map_err(of_experiment)?.map_err(failed)
    }

    /// Runs as lines of text, added up.
    fn merge(&self, py: Python<'_>, lines: Vec<String>) -> PyResult<Outcome> {
        let experiment = self.0.clone();
        let merged = interruptible(py, move |_| {
            let records: Option<Vec<RunRecord>> = lines.iter().map(|line| RunRecord::from_line(line)).collect();
            records.map(|records| merge_records(&experiment, records))
        })?;
        let merged = merged.ok_or_else(|| failed("a run came back damaged; run the experiment again"))?;
        Ok(Outcome(Arc::new(merged.map_err(failed)?)))
    }
}

/// Shards that the command line has made, added up.
#[pyfunction]
pub fn merge_shards(py: Python<'_>, paths: Vec<PathBuf>) -> PyResult<Outcome> {
    let merged = interruptible(py, move |_| merge(&paths))?;
    Ok(Outcome(Arc::new(merged.map_err(failed)?)))
}

/// The shipped scenarios.
#[pyfunction]
pub fn scenario_names() -> Vec<String> {
    Scenario::names()
}

/// What an experiment came to.
#[pyclass(frozen, module = "lienav._lienav")]
pub struct Outcome(Arc<Result_>);

#[pymethods]
impl Outcome {
    fn text(&self, times: bool) -> String {
        to_text(&self.report(times))
    }

    fn json(&self, times: bool) -> PyResult<String> {
        self.report(times).to_json().map_err(failed)
    }

    fn write(&self, py: Python<'_>, path: PathBuf, times: bool) -> PyResult<()> {
        let (outcome, report) = (self.0.clone(), self.report(times));
        let written = interruptible(py, move |_| {
            remove_leftovers(&path);
            write(&path, &outcome, &report)
        })?;
        written.map_err(failed)
    }

    fn filters(&self) -> Vec<String> {
        self.0.filters.iter().map(|filter| filter.name.clone()).collect()
    }

    /// One filter at each step, over the runs.
    fn steps<'py>(&self, py: Python<'py>, which: usize) -> PyResult<Bound<'py, PyAny>> {
        let all = &self.filter(which)?.steps;
        let n = all.len();
        let column = |of: fn(&StepSummary) -> f64| array(py, all.iter().map(of).collect::<Vec<f64>>(), &[n]);
        let fields = PyDict::new(py);
        fields.set_item("stamp_ns", array(py, all.iter().map(|step| step.stamp.nanos()).collect(), &[n])?)?;
        fields.set_item("position_error_mean_m", column(|step| step.position_mean_m)?)?;
        fields.set_item("position_rmse_m", column(|step| step.position_rms_m)?)?;
        fields.set_item("yaw_error_mean_rad", column(|step| step.yaw_mean_rad)?)?;
        fields.set_item("yaw_rmse_rad", column(|step| step.yaw_rms_rad)?)?;
        fields.set_item("nees_mean", column(|step| step.nees.mean().unwrap_or(f64::NAN))?)?;
        let band = all.iter().flat_map(|step| <[f64; 2]>::from(step.nees.band())).collect();
        fields.set_item("nees_band", array(py, band, &[n, 2])?)?;
        fields.set_item("group_nees_mean", column(|step| step.group_nees.mean().unwrap_or(f64::NAN))?)?;
        data(py, "RunMeans", &fields)
    }

    /// One filter in each run: the columns of runs.csv.
    fn runs<'py>(&self, py: Python<'py>, which: usize) -> PyResult<Bound<'py, PyDict>> {
        let all = &self.filter(which)?.runs;
        let n = all.len();
        let fields = PyDict::new(py);
        fields.set_item("seed", array(py, all.iter().map(|run| run.seed as i64).collect(), &[n])?)?;
        for metric in lienav_eval::monte_carlo::METRICS {
            let values = all.iter().map(|run| (metric.of_run)(run).unwrap_or(f64::NAN)).collect();
            fields.set_item(metric.key, array::<f64>(py, values, &[n])?)?;
        }
        Ok(fields)
    }
}

impl Outcome {
    fn report(&self, times: bool) -> Report {
        let report = Report::new(&self.0);
        if times { report } else { report.without_times() }
    }

    fn filter(&self, which: usize) -> PyResult<&FilterOutcome> {
        self.0.filters.get(which).ok_or_else(|| wrong_call(format!("there is no filter {which}")))
    }
}
