//! Recordings in space, and filters over them.

use crate::arguments;
use crate::arrays::{array, data};
use crate::errors::{failed, wrong_call};
use crate::poses::{estimate_fields, matrix_rows, matrix6_rows, quaternion};
use crate::settings::text_of;
use crate::wait::interruptible;
use lienav_eval::folder::remove_leftovers;
use lienav_eval::space::bag::{self, to_bag};
use lienav_eval::space::errors::{Errors, Pair};
use lienav_eval::space::figures::Subject;
use lienav_eval::space::folder;
use lienav_eval::space::report::{Report, to_json, to_text};
use lienav_eval::space::run::{Options, RunError, SpaceRun, run};
use lienav_eval::space::settings::Settings;
use lienav_eval::space::simulated::{PREFIX, name_and_seed, recording};
use lienav_eval::space::start::start;
use lienav_eval::space::truth::Truth;
use lienav_io::bag::Existing;
use lienav_io::settings_file::with;
use lienav_io::space::data::{Camera, Image, SpaceRecording};
use lienav_sim::space::scenario::SpaceScenario;
use lienav_space::Slam3d;
use nalgebra::Vector3;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

#[pyclass(frozen, module = "lienav._lienav")]
pub struct Recording3d(Arc<SpaceRecording>);

/// Whether a source is in space.
#[pyfunction]
pub fn is_in_space(source: &str) -> bool {
    source.starts_with(PREFIX) || lienav_io::space::is_in_space(source) || bag::is_bag(source)
}

/// A recorded run, or a simulated one.
#[pyfunction]
pub fn open_in_space(py: Python<'_>, source: String) -> PyResult<Recording3d> {
    if let Some(name) = source.strip_prefix(PREFIX) {
        let (name, seed) = name_and_seed(name).map_err(wrong_call)?;
        let scenario = SpaceScenario::named(name).map_err(wrong_call)?;
        return simulated(py, scenario, seed);
    }
    let opened = interruptible(py, move |_| {
        if bag::is_bag(&source) { bag::open(std::path::Path::new(&source)) } else { lienav_io::space::open(&source) }
    })?;
    Ok(Recording3d(Arc::new(opened.map_err(failed)?)))
}

/// A simulated run of a scenario: a name, a YAML file or text, or a mapping.
#[pyfunction]
pub fn simulate_in_space(
    py: Python<'_>,
    given: &Bound<'_, PyAny>,
    #[pyo3(from_py_with = arguments::scenario_seed)] seed: Option<u64>,
    settings: Vec<(String, String)>,
) -> PyResult<Recording3d> {
    let name = given.extract::<String>().ok();
    let named = name.as_deref().map(|name| name.strip_prefix(PREFIX).unwrap_or(name));
    let (mut scenario, own) = match named {
        Some(name) if !name.contains(['/', '.', '\n', '{']) => {
            let (name, seed) = name_and_seed(name).map_err(wrong_call)?;
            (SpaceScenario::named(name).map_err(wrong_call)?, seed)
        }
        _ => {
            let text = text_of(given)?;
            (SpaceScenario::from_yaml(text.as_str()).map_err(|error| text.error(error))?, None)
        }
    };
    for (name, value) in &settings {
        scenario = with(&scenario, name, value).map_err(wrong_call)?;
    }
    scenario.validate().map_err(wrong_call)?;
    simulated(py, scenario, seed.or(own))
}

fn simulated(py: Python<'_>, scenario: SpaceScenario, seed: Option<u64>) -> PyResult<Recording3d> {
    let seed = seed.unwrap_or(scenario.seed);
    let made = interruptible(py, move |_| recording(&scenario, seed))?;
    Ok(Recording3d(Arc::new(made.map_err(wrong_call)?)))
}

/// The names of the scenarios in space, without trouble.
#[pyfunction]
pub fn scenario_names_in_space() -> Vec<String> {
    SpaceScenario::names()
}

impl Recording3d {
    fn cameras(&self) -> impl Iterator<Item = &Camera> {
        std::iter::once(&self.0.camera).chain(&self.0.further_cameras)
    }

    /// Gives a filter the cameras and the start.
    pub fn equip(&self, slam: &mut Slam3d) -> PyResult<()> {
        let settings = Settings::of(&self.0);
        for (k, camera) in self.cameras().enumerate() {
            slam.set_sensor(k, settings.sensor(camera)).map_err(failed)?;
        }
        let filter = slam.config().validate().map_err(wrong_call)?;
        let Some(begin) = start(&self.0, &Truth::of(&self.0), &settings, &filter) else {
            return Err(failed(format!("{}: nothing to start from", self.0.name)));
        };
        let stamps = self.0.frames.iter().map(|frame| frame.stamp);
        let first = stamps.into_iter().find(|stamp| *stamp >= begin.stamp).unwrap_or(begin.stamp);
        slam.begin(begin.state, first);
        Ok(())
    }
}

#[pymethods]
impl Recording3d {
    #[getter]
    fn name(&self) -> &str {
        &self.0.name
    }

    #[getter]
    fn dropped(&self) -> BTreeMap<String, u64> {
        self.0.dropped.clone()
    }

    #[getter]
    fn warnings(&self) -> Vec<String> {
        self.0.warnings.clone()
    }

    /// The settings of a filter for it, as JSON.
    fn settings_json(&self) -> PyResult<String> {
        serde_json::to_string(&Settings::of(&self.0).config("default")).map_err(failed)
    }

    fn imu<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let all = &self.0.inertial;
        let n = all.len();
        let fields = PyDict::new(py);
        fields.set_item("stamp_ns", array(py, all.iter().map(|s| s.stamp.nanos()).collect(), &[n])?)?;
        let threes = |of: fn(&lienav_io::space::data::InertialSample) -> Vector3<f64>| {
            array(py, all.iter().flat_map(|s| <[f64; 3]>::from(of(s))).collect::<Vec<f64>>(), &[n, 3])
        };
        fields.set_item("angular_velocity", threes(|s| s.rate)?)?;
        fields.set_item("specific_force", threes(|s| s.force)?)?;
        data(py, "Imu3d", &fields)
    }

    fn features<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let frames = &self.0.frames;
        let (m, seen) = (frames.len(), || frames.iter().flat_map(|frame| &frame.seen));
        let n = seen().count();
        let is_stereo = |at: &Image| matches!(at, Image::Stereo(_));
        let width = if seen().any(|one| is_stereo(&one.at)) { 4 } else { 2 };
        let row = |at: &Image| -> Vec<f64> {
            let mut row = match at {
                Image::Normalized(z) | Image::Further(_, z) => vec![z.x, z.y],
                Image::Stereo(z) => vec![z.x, z.y, z.z, z.w],
            };
            row.resize(width, 0.0);
            row
        };
        let number = |at: &Image| if let Image::Further(k, _) = at { *k as i64 + 1 } else { 0 };
        let mut first = vec![0_i64];
        first.extend(frames.iter().scan(0, |end, frame| {
            *end += frame.seen.len() as i64;
            Some(*end)
        }));
        let kind = |frame: &lienav_io::space::data::Frame| {
            let stereo = frame.seen.first().is_some_and(|one| is_stereo(&one.at));
            if stereo { "stereo" } else { "normalized" }
        };
        let kinds: Vec<&str> = frames.iter().map(kind).collect();
        let is_one = kinds.iter().all(|kind| Some(kind) == kinds.first());
        let fields = PyDict::new(py);
        fields.set_item("stamp_ns", array(py, frames.iter().map(|f| f.stamp.nanos()).collect(), &[m])?)?;
        fields.set_item("first", array(py, first, &[m + 1])?)?;
        let ids = seen().map(|one| i64::try_from(one.id).unwrap_or(-1)).collect();
        fields.set_item("ids", array(py, ids, &[n])?)?;
        fields.set_item("values", array(py, seen().flat_map(|one| row(&one.at)).collect(), &[n, width])?)?;
        fields.set_item("kind", if is_one { kinds.into_iter().take(1).collect() } else { kinds })?;
        fields.set_item("sensor", array(py, seen().map(|one| number(&one.at)).collect(), &[n])?)?;
        data(py, "Features3d", &fields)
    }

    /// Stamps, positions, quaternions, velocities (NaN where they are not known) of the body, in the frame of the truth.
    fn truth<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let truth = Truth::of(&self.0);
        let all = &self.0.truth;
        let n = all.len();
        let fields = PyDict::new(py);
        let level = lienav_lie::Se3::new(truth.level, Vector3::zeros());
        fields.set_item("stamp_ns", array(py, all.iter().map(|t| t.stamp.nanos()).collect(), &[n])?)?;
        let places = all.iter().flat_map(|t| <[f64; 3]>::from(truth.level * t.pose.translation)).collect();
        fields.set_item("position", array(py, places, &[n, 3])?)?;
        let turns = all.iter().flat_map(|t| quaternion(&(level * t.pose))).collect();
        fields.set_item("orientation", array(py, turns, &[n, 4])?)?;
        let none = Vector3::repeat(f64::NAN);
        let speeds = all.iter().flat_map(|t| <[f64; 3]>::from(t.velocity.map_or(none, |v| truth.level * v))).collect();
        fields.set_item("velocity", array(py, speeds, &[n, 3])?)?;
        data(py, "Truth3d", &fields)
    }

    fn true_landmarks<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
        let (all, level) = (&self.0.landmarks, Truth::of(&self.0).level);
        let ids = all.keys().map(|id| i64::try_from(*id).unwrap_or(-1)).collect();
        let places = all.values().flat_map(|place| <[f64; 3]>::from(level * *place)).collect();
        Ok((array(py, ids, &[all.len()])?, array(py, places, &[all.len(), 3])?))
    }

    /// Writes it as a bag.
    fn to_bag(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = arguments::path)] path: PathBuf,
        replace: bool,
    ) -> PyResult<u64> {
        let existing = if replace { Existing::Replace } else { Existing::Refuse };
        let recording = self.0.clone();
        interruptible(py, move |_| to_bag(&recording, &path, existing))?.map_err(failed)
    }

    /// Of each camera, the arguments of `set_sensor`.
    fn sensors<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let settings = Settings::of(&self.0);
        let one = |camera: &Camera| {
            let sensor = settings.sensor(camera);
            let fields = PyDict::new(py);
            fields.set_item("pose", array(py, matrix_rows(&sensor.mount).to_vec(), &[4, 4])?)?;
            fields.set_item("focal", (sensor.focal.x, sensor.focal.y))?;
            fields.set_item("centre", (sensor.centre.x, sensor.centre.y))?;
            fields.set_item("baseline_m", sensor.baseline_m)?;
            fields.set_item("pixel_std", (sensor.pixels.own[0], sensor.pixels.own[1]))?;
            fields.set_item("common_pixel_std", (sensor.pixels.common[0], sensor.pixels.common[1]))?;
            Ok(fields)
        };
        self.cameras().map(one).collect()
    }
}

/// Filters over one recording in space.
#[pyclass(frozen, module = "lienav._lienav")]
pub struct Evaluation3d {
    runs: Arc<Vec<(SpaceRun, Errors)>>,
    dropped: BTreeMap<String, u64>,
}

#[pyfunction]
pub fn evaluate_in_space(
    py: Python<'_>,
    recording: &Recording3d,
    #[pyo3(from_py_with = arguments::filters)] filters: Vec<String>,
    has_map: bool,
    #[pyo3(from_py_with = arguments::stated_map_std_m)] map_std_m: Option<f64>,
) -> PyResult<Evaluation3d> {
    if map_std_m.is_some_and(|std| !(std.is_finite() && std >= 0.0)) {
        return Err(wrong_call(format!("map_std_m is {}; allowed: 0 or more", map_std_m.unwrap_or_default())));
    }
    let source = recording.0.clone();
    let names = if filters.is_empty() { vec!["default".to_owned()] } else { filters };
    let options = Options { has_map, map_sigma: map_std_m, ..Options::default() };
    let runs = interruptible(py, move |wanted| {
        let truth = Truth::of(&source);
        let sigma = Settings::of(&source).truth_sigma;
        let one = |name: &String| {
            let run = run(&source, &truth, name, &options)?;
            let errors = Errors::new(&run, &truth, sigma);
            Ok((run, errors))
        };
        names.iter().take_while(|_| wanted.goes_on()).map(one).collect::<Result<Vec<_>, RunError>>()
    })?;
    let runs = runs.map_err(|error| match error {
        RunError::NoFilter(_) | RunError::NoSteps(..) => wrong_call(error),
        _ => failed(error),
    })?;
    Ok(Evaluation3d { runs: Arc::new(runs), dropped: recording.0.dropped.clone() })
}

#[pymethods]
impl Evaluation3d {
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
        let some = which.map_or(Some(reports.as_slice()), |which| reports.get(which..=which)).unwrap_or_default();
        to_json(some).map_err(failed)
    }

    fn write(&self, py: Python<'_>, #[pyo3(from_py_with = arguments::path)] path: PathBuf) -> PyResult<()> {
        let (runs, reports) = (self.runs.clone(), self.reports());
        let written = interruptible(py, move |_| {
            let subjects: Vec<Subject<'_>> = runs.iter().map(|(run, errors)| Subject { run, errors }).collect();
            remove_leftovers(&path);
            folder::write(&path, &subjects, &reports)
        })?;
        written.map_err(failed)
    }

    /// The estimates of one filter.
    fn steps<'py>(&self, py: Python<'py>, which: usize) -> PyResult<Bound<'py, PyAny>> {
        let all = &self.run(which)?.0.estimates;
        let fields = PyDict::new(py);
        let rows: Vec<_> = all.iter().map(|e| (e.stamp, e.pose, matrix6_rows(&e.covariance))).collect();
        estimate_fields(py, &fields, &rows)?;
        data(py, "Poses3d", &fields)
    }

    /// The errors of one filter, where the truth is known.
    fn errors<'py>(&self, py: Python<'py>, which: usize) -> PyResult<Bound<'py, PyAny>> {
        let all = &self.run(which)?.1.pairs;
        let n = all.len();
        let fields = PyDict::new(py);
        fields.set_item("stamp_ns", array(py, all.iter().map(|pair| pair.stamp.nanos()).collect(), &[n])?)?;
        let sixes = |of: fn(&Pair) -> [f64; 6]| array(py, all.iter().flat_map(of).collect::<Vec<f64>>(), &[n, 6]);
        fields.set_item("error", sixes(|pair| pair.error.into())?)?;
        fields.set_item("std", sixes(|pair| pair.sigma.into())?)?;
        let nees = all.iter().flat_map(|pair| pair.nees.unwrap_or([f64::NAN; 3])).collect();
        fields.set_item("nees", array(py, nees, &[n, 3])?)?;
        data(py, "Errors3d", &fields)
    }
}

impl Evaluation3d {
    fn reports(&self) -> Vec<Report> {
        self.runs.iter().map(|(run, errors)| Report::new(run, errors, &self.dropped)).collect()
    }

    fn run(&self, which: usize) -> PyResult<&(SpaceRun, Errors)> {
        self.runs.get(which).ok_or_else(|| wrong_call(format!("there is no filter {which}")))
    }
}
