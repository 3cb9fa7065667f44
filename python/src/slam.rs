//! The filter itself: message by message, or many at a time.

use crate::arguments;
use crate::arrays::{Floats, array, data, matrix2_rows, matrix3, matrix3_rows, noise, numbers, value};
use crate::errors::{failed, wrong_call};
use crate::messages::{InputArrays, Kind, Messages, decision, identity, kind_named};
use crate::recording::Recording;
use crate::settings::{set_mode, study};
use lienav_base::stamp::Stamp;
use lienav_io::files::remedy;
use lienav_io::map_file::MapFile;
use lienav_io::recording::{Feeder, Input};
use lienav_lie::wrap_angle;
use lienav_slam::{
    DropReason, Imu, Landmark, Measurement, MeasurementKind, Odometry, PoseEstimate, Role, SavedState, Se2,
    Slam as Filter, Step as Stepped, Tilt,
};
use nalgebra::{Matrix3, Vector2};
use numpy::{PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use std::collections::{BTreeMap, VecDeque};
use std::path::PathBuf;

/// Messages between two looks for Ctrl-C.
const AT_ONCE: usize = 2000;

#[pyclass(subclass, module = "lienav._lienav")]
pub struct Slam {
    slam: Filter,
    /// Steps that a call has taken and not given back, as after Ctrl-C.
    waiting: VecDeque<Stepped>,
    observations: Vec<Measurement>,
    /// Of the steps that the last call has made.
    decided: Vec<Decided>,
}

/// The stamp of a scan, the landmark that a measurement was taken for, and what the filter did with it.
type Decided = (Stamp, Option<u32>, Role);

/// The result of a cloud.
#[pyclass(frozen, module = "lienav._lienav")]
pub struct Step(Stepped);

#[pymethods]
impl Step {
    /// When, ns.
    #[getter]
    fn stamp_ns(&self) -> i64 {
        self.0.estimate.stamp.nanos()
    }

    /// Position of the base in the map frame, m.
    #[getter]
    fn x(&self) -> f64 {
        self.0.estimate.pose.p.x
    }

    /// Position of the base in the map frame, m.
    #[getter]
    fn y(&self) -> f64 {
        self.0.estimate.pose.p.y
    }

    /// Heading, rad.
    #[getter]
    fn theta(&self) -> f64 {
        wrap_angle(self.0.estimate.pose.theta)
    }

    /// (3,): x m, y m, θ rad.
    #[getter]
    fn pose<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        array(py, pose_row(&self.0.estimate.pose).to_vec(), &[3])
    }

    /// (3, 3) of (x, y, θ) in the map frame.
    #[getter]
    fn covariance<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        array(py, matrix3_rows(Some(&self.0.estimate.covariance)).to_vec(), &[3, 3])
    }

    /// Normalised innovation squared of all accepted measurements together.
    #[getter]
    fn nis(&self) -> f64 {
        self.0.nis
    }

    /// Its degrees of freedom.
    #[getter]
    fn dof(&self) -> usize {
        self.0.dof
    }

    /// Measurements used.
    #[getter]
    fn accepted(&self) -> usize {
        self.0.accepted
    }

    /// Measurements of new landmarks.
    #[getter]
    fn added(&self) -> usize {
        self.0.added
    }

    /// Measurements left out.
    #[getter]
    fn rejected(&self) -> usize {
        self.0.rejected
    }

    /// Landmarks in the map after the step.
    #[getter]
    fn features(&self) -> usize {
        self.0.landmarks
    }

    fn __repr__(&self) -> String {
        let Stepped { estimate, accepted, added, rejected, .. } = self.0;
        let PoseEstimate { stamp, pose, .. } = estimate;
        format!(
            "Step(stamp_ns={}, x={:.4}, y={:.4}, theta={:.5}, accepted={accepted}, added={added}, rejected={rejected})",
            stamp.nanos(),
            pose.p.x,
            pose.p.y,
            wrap_angle(pose.theta)
        )
    }
}

/// x m, y m, θ rad in (−π, π].
pub fn pose_row(pose: &Se2) -> [f64; 3] {
    [pose.p.x, pose.p.y, wrap_angle(pose.theta)]
}

fn refusal(outcome: Result<(), DropReason>) -> Option<&'static str> {
    outcome.err().map(DropReason::word)
}

#[pymethods]
impl Slam {
    #[new]
    #[pyo3(signature = (settings=None, *, map=None))]
    fn new(
        settings: Option<&Bound<'_, PyAny>>,
        #[pyo3(from_py_with = arguments::map)] map: Option<PathBuf>,
    ) -> PyResult<Self> {
        let mut study = study(None, settings)?;
        if map.is_some() {
            set_mode(&mut study);
        }
        let filter = study.composed(&study.filter).map_err(wrong_call)?;
        let mut slam = Filter::with_filter(filter, study.config()).map_err(wrong_call)?;
        if let Some(path) = map {
            let file = MapFile::read(&path).map_err(failed)?;
            slam.set_map(file.map).map_err(|error| failed(format!("the map cannot be used: {error}")))?;
        }
        Ok(Self { slam, waiting: VecDeque::new(), observations: Vec::new(), decided: Vec::new() })
    }

    /// Goes on where `save` was called; what this filter has estimated is forgotten.
    fn restore(&mut self, #[pyo3(from_py_with = arguments::state)] state: Bound<'_, PyBytes>) -> PyResult<()> {
        let damaged = |error| failed(format!("the state is damaged: {error}; use an older copy"));
        let saved: SavedState = serde_json::from_slice(state.as_bytes()).map_err(damaged)?;
        self.slam.restore(saved).map_err(failed)?;
        self.waiting.clear();
        Ok(())
    }

    /// Takes in a velocity of the base: forward m/s, leftward m/s, rad/s, with its (3, 3) covariance where it is known.
    /// Gives None, or the word for why it was not used; that is counted in `dropped`.
    #[pyo3(signature = (stamp_ns, vx, vy=0.0, yaw_rate=0.0, covariance=None))]
    fn odometry(
        &mut self,
        #[pyo3(from_py_with = arguments::stamp_ns)] stamp_ns: i64,
        #[pyo3(from_py_with = arguments::vx)] vx: f64,
        #[pyo3(from_py_with = arguments::vy)] vy: f64,
        #[pyo3(from_py_with = arguments::yaw_rate)] yaw_rate: f64,
        #[pyo3(from_py_with = arguments::stated)] covariance: Option<Floats<'_>>,
    ) -> PyResult<Option<&'static str>> {
        let three = Some(3);
        let covariance = covariance.map(|c| numbers("covariance", &c, &[three, three])).transpose()?;
        let odometry = Odometry {
            stamp: Stamp::from_nanos(stamp_ns),
            velocity: Vector2::new(vx, vy),
            yaw_rate,
            covariance: covariance.and_then(|rows| matrix3(&rows)),
        };
        Ok(refusal(self.slam.odometry(&odometry)))
    }

    /// Takes in a rate of the heading, rad/s, and (roll, pitch) rad where they are known.
    #[pyo3(signature = (stamp_ns, yaw_rate, tilt=None))]
    fn imu(
        &mut self,
        #[pyo3(from_py_with = arguments::stamp_ns)] stamp_ns: i64,
        #[pyo3(from_py_with = arguments::yaw_rate)] yaw_rate: f64,
        #[pyo3(from_py_with = arguments::tilt)] tilt: Option<(f64, f64)>,
    ) -> Option<&'static str> {
        let tilt = tilt.map(|(roll, pitch)| Tilt { roll, pitch });
        refusal(self.slam.imu(&Imu { stamp: Stamp::from_nanos(stamp_ns), yaw_rate, tilt }))
    }

    /// Takes in a cloud of n measurements: values (n, d), ids (n,) with -1 for unknown, covariances (n, d, d). `kind`
    /// is "range_bearing" (m, rad), "position" (m, m), "stereo_bearings" (rad, rad), "range" (m) or "bearing" (rad), of
    /// landmarks; or "world_position" (m, m) or "world_pose" (m, m, rad), of the robot in the world.
    #[pyo3(signature = (stamp_ns, values, ids=None, *, kind="range_bearing", covariance=None))]
    fn features(
        &mut self,
        #[pyo3(from_py_with = arguments::stamp_ns)] stamp_ns: i64,
        values: &Bound<'_, PyAny>,
        ids: Option<&Bound<'_, PyAny>>,
        kind: &str,
        #[pyo3(from_py_with = arguments::stated)] covariance: Option<Floats<'_>>,
    ) -> PyResult<Option<&'static str>> {
        let (kind, dim) = if kind == "range_bearing" { (MeasurementKind::RangeBearing, 2) } else { kind_named(kind)? };
        self.read(values, ids, covariance, dim)?;
        Ok(refusal(self.slam.features(Stamp::from_nanos(stamp_ns), kind, &self.observations)))
    }

    /// The next step that is due; None where there is none.
    fn poll(&mut self, py: Python<'_>) -> Option<Step> {
        if let Some(step) = self.waiting.pop_front() {
            return Some(Step(step));
        }
        let slam = &mut self.slam;
        let step = py.detach(|| slam.poll())?;
        self.decided.clear();
        note(&mut self.decided, &self.slam, &step);
        Some(Step(step))
    }

    /// What the filter did with each measurement of the steps that the last `poll` or `run` has made.
    fn decisions<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let (all, n) = (&self.decided, self.decided.len());
        let fields = PyDict::new(py);
        fields.set_item("stamp_ns", array(py, all.iter().map(|(stamp, ..)| stamp.nanos()).collect(), &[n])?)?;
        let landmarks = all.iter().map(|(_, landmark, _)| landmark.map_or(-1, i64::from)).collect();
        fields.set_item("landmark", array(py, landmarks, &[n])?)?;
        let words: Vec<&str> = all.iter().map(|(.., role)| decision(*role)).collect();
        fields.set_item("decision", py.import("numpy")?.call_method1("array", (words, "U11"))?)?;
        data(py, "Decisions", &fields)
    }

    /// The input has ended: clouds that still wait for odometry are released.
    fn finish(&mut self) {
        self.slam.finish();
    }

    /// Arrays of messages, then all steps that are due.
    fn run_arrays<'py>(
        &mut self,
        py: Python<'py>,
        arrays: InputArrays<'py>,
        finish: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        let messages = Messages::of(&arrays)?;
        let mut observations = Vec::new();
        let take = |slam: &mut Filter, &(kind, k): &(Kind, usize)| match kind {
            Kind::Odometry => slam.odometry(&messages.odometry(k)),
            Kind::Imu => slam.imu(&messages.imu(k)),
            Kind::Scan => {
                let (stamp, kind) = messages.cloud(k, &mut observations);
                slam.features(stamp, kind, &observations)
            }
        };
        self.run_all(py, &messages.order, take, finish)
    }

    /// All messages of a recording, then all steps that are due.
    fn run_recording<'py>(
        &mut self,
        py: Python<'py>,
        recording: &Recording,
        finish: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        recording.0.equipment.equip(&mut self.slam).map_err(wrong_call)?;
        let mut feeder = Feeder::new(&recording.0.equipment);
        let take = |slam: &mut Filter, input: &Input| feeder.feed(slam, input);
        self.run_all(py, &recording.0.inputs, take, finish)
    }

    /// The pose at the newest odometry; None before any.
    fn predicted<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let Some(estimate) = self.slam.predicted() else { return Ok(None) };
        let fields = PyDict::new(py);
        fields.set_item("stamp_ns", estimate.stamp.nanos())?;
        fields.set_item("pose", array(py, pose_row(&estimate.pose).to_vec(), &[3])?)?;
        fields.set_item("covariance", array(py, matrix3_rows(Some(&estimate.covariance)).to_vec(), &[3, 3])?)?;
        fields.set_item("twist", array(py, estimate.twist.iter().copied().collect(), &[3])?)?;
        data(py, "Pose", &fields).map(Some)
    }

    /// The map.
    fn landmarks<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        landmark_arrays(py, &self.slam.landmarks().collect::<Vec<_>>())
    }

    /// What is calibrated while running: estimate and standard deviation, by name.
    fn calibration(&self) -> BTreeMap<&'static str, (f64, f64)> {
        self.slam.calibration().map(|c| (c.parameter.word(), (c.value, c.std))).collect()
    }

    /// How often input was not used, by reason.
    #[getter]
    fn dropped(&self) -> BTreeMap<&'static str, u64> {
        self.slam.counts().by_word()
    }

    /// How often the gate was opened because it had starved the filter.
    #[getter]
    fn gate_openings(&self) -> u64 {
        self.slam.gate_openings()
    }

    /// How many clouds came late and were taken in by going back (`timing.rewind_s`).
    #[getter]
    fn late_clouds(&self) -> u64 {
        self.slam.late_scans()
    }

    /// How often time was set back.
    #[getter]
    fn time_jumps(&self) -> u64 {
        self.slam.time_jumps()
    }

    fn settings_json(&self) -> PyResult<String> {
        serde_json::to_string(self.slam.config()).map_err(failed)
    }

    /// Changes settings that may change while running.
    fn reconfigure(&mut self, settings: &Bound<'_, PyAny>) -> PyResult<()> {
        let study = study(Some(self.slam.config()), Some(settings))?;
        self.slam.reconfigure(study.config()).map_err(wrong_call)
    }

    /// Puts the robot at a pose, m, m, rad, with its (3, 3) covariance; None is exact. A map that is being made moves
    /// with it.
    #[pyo3(signature = (x, y, theta, covariance=None))]
    fn set_pose(
        &mut self,
        #[pyo3(from_py_with = arguments::x)] x: f64,
        #[pyo3(from_py_with = arguments::y)] y: f64,
        #[pyo3(from_py_with = arguments::theta)] theta: f64,
        #[pyo3(from_py_with = arguments::stated)] covariance: Option<Floats<'_>>,
    ) -> PyResult<Option<&'static str>> {
        let covariance = covariance.map(|c| numbers("covariance", &c, &[Some(3), Some(3)])).transpose()?;
        let covariance = covariance.map_or_else(Matrix3::zeros, |rows| Matrix3::from_row_slice(&rows));
        Ok(refusal(self.slam.set_pose(Se2::new(x, y, theta), &covariance)))
    }

    /// Begins anew: the initial pose, and an empty map.
    fn reset(&mut self) {
        self.slam.reset();
        self.waiting.clear();
    }

    /// All that `resume` needs to go on from here.
    fn save<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, &serde_json::to_vec(&self.slam.save()).map_err(failed)?))
    }

    /// Writes the map as a file, with the state of the filter beside it: slam_node can go on from there.
    fn save_map(&self, #[pyo3(from_py_with = arguments::path)] path: PathBuf) -> PyResult<()> {
        let written = MapFile::from(self.slam.save()).write(&path);
        written.map(drop).map_err(|error| failed(format!("{}: {error}{}", path.display(), remedy(&error))))
    }

    fn __repr__(&self) -> String {
        format!("<lienav.Slam filter={:?}, {} landmarks>", self.slam.config().filter, self.slam.landmarks().count())
    }
}

impl Slam {
    /// The measurements of a cloud: without a copy where the arrays have the right type.
    fn read(
        &mut self,
        values: &Bound<'_, PyAny>,
        ids: Option<&Bound<'_, PyAny>>,
        covariance: Option<Floats<'_>>,
        dim: usize,
    ) -> PyResult<()> {
        self.observations.clear();
        let observations = &mut self.observations;
        let mut add = |values: &[f64]| {
            observations.extend(values.chunks_exact(dim).map(|numbers| Measurement::new(None, value(numbers))));
        };
        match values.extract::<PyReadonlyArray2<'_, f64>>() {
            Ok(array) if array.shape()[1] == dim && array.is_c_contiguous() => add(array.as_slice()?),
            _ => {
                let array = arguments::values(values)?;
                add(&numbers("values", &array, &[None, Some(dim)])?);
            }
        }
        let n = self.observations.len();
        if let Some(ids) = ids {
            let wrong = |found| wrong_call(format!("there are {found} ids for {n} values"));
            let mut set = |ids: &[i64]| {
                if ids.len() != n {
                    return Err(wrong(ids.len()));
                }
                for (observation, id) in self.observations.iter_mut().zip(ids) {
                    observation.id = identity(*id)?;
                }
                Ok(())
            };
            match ids.extract::<PyReadonlyArray1<'_, i64>>() {
                Ok(array) if array.as_slice().is_ok() => set(array.as_slice()?)?,
                _ => set(&arguments::ids(ids)?.unwrap_or_default())?,
            }
        }
        if let Some(covariance) = covariance {
            let rows = numbers("covariance", &covariance, &[Some(n), Some(dim), Some(dim)])?;
            for (observation, rows) in self.observations.iter_mut().zip(rows.chunks_exact(dim * dim)) {
                observation.covariance = noise(rows, dim, dim);
            }
        }
        Ok(())
    }

    fn run_all<'py, M: Sync>(
        &mut self,
        py: Python<'py>,
        messages: &[M],
        mut take: impl FnMut(&mut Filter, &M) -> Result<(), DropReason> + Send,
        finish: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.decided.clear();
        for some in messages.chunks(AT_ONCE) {
            let (slam, waiting, decided, take) = (&mut self.slam, &mut self.waiting, &mut self.decided, &mut take);
            py.detach(|| {
                for message in some {
                    // What is refused is counted.
                    let _counted = take(slam, message);
                    while let Some(step) = slam.poll() {
                        note(decided, slam, &step);
                        waiting.push_back(step);
                    }
                }
            });
            py.check_signals()?;
        }
        if finish {
            self.slam.finish();
            while let Some(step) = self.slam.poll() {
                note(&mut self.decided, &self.slam, &step);
                self.waiting.push_back(step);
            }
        }
        let steps = std::mem::take(&mut self.waiting);
        step_arrays(py, &Vec::from(steps))
    }
}

/// Keeps what the filter did with the measurements of its last step.
fn note(decided: &mut Vec<Decided>, slam: &Filter, step: &Stepped) {
    decided.extend(slam.decided().map(|(landmark, role)| (step.estimate.stamp, landmark, role)));
}

fn step_arrays<'py>(py: Python<'py>, steps: &[Stepped]) -> PyResult<Bound<'py, PyAny>> {
    let n = steps.len();
    let count = |of: fn(&Stepped) -> usize| array(py, steps.iter().map(|step| of(step) as i64).collect(), &[n]);
    let fields = PyDict::new(py);
    fields.set_item("stamp_ns", array(py, steps.iter().map(|s| s.estimate.stamp.nanos()).collect(), &[n])?)?;
    fields.set_item("pose", array(py, steps.iter().flat_map(|s| pose_row(&s.estimate.pose)).collect(), &[n, 3])?)?;
    let covariance = steps.iter().flat_map(|s| matrix3_rows(Some(&s.estimate.covariance))).collect();
    fields.set_item("covariance", array(py, covariance, &[n, 3, 3])?)?;
    fields.set_item("nis", array(py, steps.iter().map(|s| s.nis).collect(), &[n])?)?;
    fields.set_item("dof", count(|s| s.dof)?)?;
    fields.set_item("accepted", count(|s| s.accepted)?)?;
    fields.set_item("added", count(|s| s.added)?)?;
    fields.set_item("rejected", count(|s| s.rejected)?)?;
    data(py, "Steps", &fields)
}

pub fn landmark_arrays<'py>(py: Python<'py>, landmarks: &[Landmark]) -> PyResult<Bound<'py, PyAny>> {
    let n = landmarks.len();
    let fields = PyDict::new(py);
    fields.set_item("ids", array(py, landmarks.iter().map(|l| i64::from(l.id)).collect(), &[n])?)?;
    let positions = landmarks.iter().flat_map(|l| [l.position.x, l.position.y]).collect();
    fields.set_item("position", array(py, positions, &[n, 2])?)?;
    let covariances = landmarks.iter().flat_map(|l| matrix2_rows(Some(&l.covariance))).collect();
    fields.set_item("covariance", array(py, covariances, &[n, 2, 2])?)?;
    fields.set_item("observations", array(py, landmarks.iter().map(|l| i64::from(l.measurements)).collect(), &[n])?)?;
    fields.set_item("last_seen_ns", array(py, landmarks.iter().map(|l| l.last_seen.nanos()).collect(), &[n])?)?;
    data(py, "Landmarks", &fields)
}
