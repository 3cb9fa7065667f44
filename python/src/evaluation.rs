//! Runs of filters over a recording, judged.

use crate::arguments;
use crate::arrays::{array, data, matrix3_rows};
use crate::errors::{failed, wrong_call};
use crate::recording::Recording;
use crate::settings::{set_mode, study};
use crate::slam::{landmark_arrays, pose_row};
use crate::wait::interruptible;
use lienav_eval::errors::{Errors, StepError};
use lienav_eval::folder;
use lienav_eval::method::Method;
use lienav_eval::motions::motions_of;
use lienav_eval::plot::Subject;
use lienav_eval::report::{Report, to_json, to_text};
use lienav_eval::run::{Estimate, Run, RunError, run_while, true_map};
use lienav_eval::study::Study;
use lienav_io::map_file::MapFile;
use lienav_io::truth::{MAX_TRUTH_GAP_S, Truth};
use lienav_slam::LandmarkMap;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::path::PathBuf;
use std::sync::Arc;

/// Filters over one recording.
#[pyclass(frozen, module = "lienav._lienav")]
pub struct Evaluation {
    runs: Arc<Vec<(Run, Errors)>>,
    truth: Arc<Truth>,
}

/// The names of filters and batch estimates.
#[pyfunction]
pub fn filter_names() -> Vec<&'static str> {
    Method::names().collect()
}

#[pyfunction]
pub fn evaluate(
    py: Python<'_>,
    recording: &Recording,
    #[pyo3(from_py_with = arguments::filters)] filters: Vec<String>,
    settings: Option<&Bound<'_, PyAny>>,
    #[pyo3(from_py_with = arguments::map)] map: Option<PathBuf>,
    #[pyo3(from_py_with = arguments::map_std_m)] map_std_m: f64,
    #[pyo3(from_py_with = arguments::max_truth_gap_s)] max_truth_gap_s: Option<f64>,
) -> PyResult<Evaluation> {
    let max_truth_gap_s = max_truth_gap_s.unwrap_or(MAX_TRUTH_GAP_S);
    if max_truth_gap_s.is_nan() || max_truth_gap_s < 0.0 {
        return Err(wrong_call(format!("max_truth_gap_s is {max_truth_gap_s}; allowed: 0 or more")));
    }
    for (k, name) in filters.iter().enumerate() {
        if filters[..k].contains(name) {
            return Err(wrong_call(format!("'{name}' is given twice; name each filter or pose once")));
        }
    }
    let recording = recording.0.clone();
    let mut study = study(recording.config.as_ref(), settings)?;
    let map = map.map(|path| known(&recording, &path, map_std_m)).transpose()?;
    if map.is_some() {
        set_mode(&mut study);
    }
    let filters = if filters.is_empty() { vec![study.filter.clone()] } else { filters };
    let studies: Vec<Study> = filters.iter().map(|filter| Study { filter: filter.clone(), ..study.clone() }).collect();
    let done = interruptible(py, move |wanted| {
        let run = |study: &Study| {
            let mut run = run_while(&recording, study, map.as_ref(), |_| wanted.goes_on())?;
            if !recording.truth.is_empty() && wanted.goes_on() {
                run.motions = motions_of(&recording, study, map.as_ref(), |_| wanted.goes_on())?;
            }
            Ok(run)
        };
        let runs = studies.iter().map(run).collect::<Result<Vec<Run>, RunError>>()?;
        let truth = Truth::of(&recording, max_truth_gap_s);
        let judged = runs.into_iter().map(|run| {
            let errors = Errors::new(&run, &truth);
            (run, errors)
        });
        Ok::<_, RunError>(Evaluation { runs: Arc::new(judged.collect()), truth: Arc::new(truth) })
    })?;
    done.map_err(wrong_call)
}

fn known(recording: &lienav_io::recording::Recording, path: &std::path::Path, std_m: f64) -> PyResult<LandmarkMap> {
    if path.as_os_str() != "truth" {
        return Ok(MapFile::read(path).map_err(failed)?.map);
    }
    if !(std_m.is_finite() && std_m >= 0.0) {
        return Err(wrong_call(format!("map_std_m is {std_m}; allowed: 0 or more")));
    }
    if recording.true_landmarks.is_empty() {
        return Err(failed("map 'truth': the source has no true landmarks; give a map file"));
    }
    Ok(true_map(recording, std_m))
}

#[pymethods]
impl Evaluation {
    fn __len__(&self) -> usize {
        self.runs.len()
    }

    fn text(&self) -> String {
        to_text(&self.reports())
    }

    /// The report of one filter, or of all, as the command line prints it.
    #[pyo3(signature = (which=None))]
    fn json(&self, which: Option<usize>) -> PyResult<String> {
        let reports = self.reports();
        let some = match which {
            Some(which) => reports.get(which..=which).unwrap_or_default(),
            None => &reports,
        };
        to_json(some).map_err(failed)
    }

    fn write(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        let (runs, truth) = (self.runs.clone(), self.truth.clone());
        let written = interruptible(py, move |_| {
            let subject = |(run, errors)| Subject { run, truth: &truth, errors };
            let subjects: Vec<Subject<'_>> = runs.iter().map(|(run, errors)| (run, errors)).map(subject).collect();
            folder::remove_leftovers(&path);
            folder::write(&path, &subjects)
        })?;
        written.map_err(failed)
    }

    /// The estimates of one filter.
    fn steps<'py>(&self, py: Python<'py>, which: usize) -> PyResult<Bound<'py, PyAny>> {
        let run = &self.run(which)?.0;
        let all = &run.estimates;
        let n = all.len();
        let fields = PyDict::new(py);
        fields.set_item("stamp_ns", array(py, all.iter().map(|e| e.stamp.nanos()).collect(), &[n])?)?;
        fields.set_item("pose", array(py, all.iter().flat_map(|e| pose_row(&e.pose)).collect(), &[n, 3])?)?;
        let covariance = all.iter().flat_map(|e| matrix3_rows(Some(&e.covariance))).collect();
        fields.set_item("covariance", array(py, covariance, &[n, 3, 3])?)?;
        let nis = |e: &Estimate| e.update.map_or(f64::NAN, |update| update.nis);
        fields.set_item("nis", array(py, all.iter().map(nis).collect(), &[n])?)?;
        let count = |of: fn(&lienav_eval::run::Update) -> usize| {
            let one = |e: &Estimate| e.update.as_ref().map_or(0, of) as i64;
            array(py, all.iter().map(one).collect::<Vec<i64>>(), &[n])
        };
        fields.set_item("dof", count(|update| update.dof)?)?;
        fields.set_item("accepted", count(|update| update.accepted)?)?;
        fields.set_item("added", count(|update| update.added)?)?;
        fields.set_item("rejected", count(|update| update.rejected)?)?;
        data(py, "Steps", &fields)
    }

    /// The estimates of one filter beside the truth, where that is known.
    fn errors<'py>(&self, py: Python<'py>, which: usize) -> PyResult<Bound<'py, PyAny>> {
        let all = &self.run(which)?.1.steps;
        let n = all.len();
        let fields = PyDict::new(py);
        fields.set_item("stamp_ns", array(py, all.iter().map(|e| e.stamp.nanos()).collect(), &[n])?)?;
        fields.set_item("pose", array(py, all.iter().flat_map(|e| pose_row(&e.estimate)).collect(), &[n, 3])?)?;
        fields.set_item("truth", array(py, all.iter().flat_map(|e| pose_row(&e.truth)).collect(), &[n, 3])?)?;
        let error = all.iter().flat_map(|e| [e.error.x, e.error.y, e.error.z]).collect();
        fields.set_item("error", array(py, error, &[n, 3])?)?;
        let std = all.iter().flat_map(|e: &StepError| <[f64; 3]>::from(e.std())).collect();
        fields.set_item("std", array(py, std, &[n, 3])?)?;
        let nees = all.iter().map(|e| e.nees.unwrap_or(f64::NAN)).collect();
        fields.set_item("nees", array(py, nees, &[n])?)?;
        let group_nees = all.iter().map(|e| e.group_nees().unwrap_or(f64::NAN)).collect();
        fields.set_item("group_nees", array(py, group_nees, &[n])?)?;
        data(py, "Errors", &fields)
    }

    /// The map of one filter at the end.
    fn landmarks<'py>(&self, py: Python<'py>, which: usize) -> PyResult<Bound<'py, PyAny>> {
        landmark_arrays(py, &self.run(which)?.0.landmarks)
    }

    /// The time of each step, µs.
    fn step_us<'py>(&self, py: Python<'py>, which: usize) -> PyResult<Bound<'py, PyAny>> {
        let times = &self.run(which)?.0.step_us;
        array(py, times.clone(), &[times.len()])
    }
}

impl Evaluation {
    fn reports(&self) -> Vec<Report> {
        self.runs.iter().map(|(run, errors)| Report::new(run, errors)).collect()
    }

    fn run(&self, which: usize) -> PyResult<&(Run, Errors)> {
        self.runs.get(which).ok_or_else(|| wrong_call(format!("there is no filter {which}")))
    }
}
