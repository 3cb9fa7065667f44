//! The filter in space: message by message, or many at a time.

use crate::arguments;
use crate::arrays::{Floats, array, data, matrix3_rows, numbers, vector3};
use crate::errors::{failed, wrong_call, wrong_type};
use crate::frames::{Message, Rows, SpaceArrays, kind_named, messages, noise_shape, stated3};
use crate::poses::{estimate_fields, matrix_rows, matrix6, matrix6_rows, pose_or_identity, quaternion};
use crate::recording3d::Recording3d;
use crate::settings::laid_over;
use lienav_base::stamp::Stamp;
use lienav_inertial::state::State;
use lienav_lie::Se3;
use lienav_space::estimator::Decision;
use lienav_space::{
    Config, DropReason, Frame, Imu, ImuSample, Map3d, MapMode, Odometry, PixelNoise, Pose, PoseEstimate, SavedState,
    Sensor, Slam3d as Filter, Step as Stepped,
};
use nalgebra::Vector2;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use std::collections::{BTreeMap, VecDeque};

/// The node whose section of a parameter file counts.
const NODE: &str = "slam3d_node";
/// Messages between two looks for Ctrl-C.
const AT_ONCE: usize = 2000;

#[pyclass(subclass, module = "lienav._lienav")]
pub struct Slam3d {
    slam: Filter,
    /// Steps that a call has taken and not given back, as after Ctrl-C.
    waiting: VecDeque<Step3d>,
}

/// The result of an instant.
#[pyclass(frozen, module = "lienav._lienav")]
#[derive(Clone)]
pub struct Step3d {
    step: Stepped,
    decided: Vec<Decision>,
}

#[pymethods]
impl Step3d {
    /// When, ns.
    #[getter]
    fn stamp_ns(&self) -> i64 {
        self.step.estimate.stamp.nanos()
    }

    /// (4, 4): the body in the map, [R t; 0 1], m.
    #[getter]
    fn pose<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        array(py, matrix_rows(&self.step.estimate.pose).to_vec(), &[4, 4])
    }

    /// (3,): position of the body in the map, m.
    #[getter]
    fn position<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        array(py, self.step.estimate.pose.translation.iter().copied().collect(), &[3])
    }

    /// (4,): quaternion x, y, z, w, from the body to the map.
    #[getter]
    fn orientation<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        array(py, quaternion(&self.step.estimate.pose).to_vec(), &[4])
    }

    /// (6, 6): of the position, m, then of a small rotation about the axes of the map, rad.
    #[getter]
    fn covariance<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        array(py, matrix6_rows(&self.step.estimate.covariance).to_vec(), &[6, 6])
    }

    /// (3,): velocity in the map, m/s.
    #[getter]
    fn velocity<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        array(py, self.step.estimate.velocity.iter().copied().collect(), &[3])
    }

    /// (3,): bias of the gyroscope, rad/s, in the axes of the body.
    #[getter]
    fn gyro_bias<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        array(py, self.step.estimate.biases.gyro.iter().copied().collect(), &[3])
    }

    /// (3,): bias of the accelerometer, m/s², in the axes of the body.
    #[getter]
    fn accelerometer_bias<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        array(py, self.step.estimate.biases.accelerometer.iter().copied().collect(), &[3])
    }

    /// Whether features came in.
    #[getter]
    fn has_frame(&self) -> bool {
        self.step.has_frame
    }

    /// Whether the body was taken to be at rest.
    #[getter]
    fn is_at_rest(&self) -> bool {
        self.step.is_at_rest
    }

    /// Normalized innovation squared of all accepted measurements together.
    #[getter]
    fn nis(&self) -> f64 {
        self.step.nis
    }

    /// Its degrees of freedom.
    #[getter]
    fn dof(&self) -> usize {
        self.step.dof
    }

    /// Measurements used.
    #[getter]
    fn accepted(&self) -> usize {
        self.step.accepted
    }

    /// Measurements beyond the gate.
    #[getter]
    fn gated(&self) -> usize {
        self.step.gated
    }

    /// Landmarks that were initialized.
    #[getter]
    fn initialized(&self) -> usize {
        self.step.initialized
    }

    /// Landmarks that were removed, because their measurements failed the gate again and again.
    #[getter]
    fn removed(&self) -> usize {
        self.step.removed
    }

    /// Whether the covariance was widened, because most measurements were beyond the gate.
    #[getter]
    fn is_widened(&self) -> bool {
        self.step.is_widened
    }

    /// Landmarks in the state after the step.
    #[getter]
    fn landmarks(&self) -> usize {
        self.step.landmarks
    }

    /// (k,): the landmark of each measurement of the frame.
    #[getter]
    fn ids<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        array(py, self.decided.iter().map(id_of).collect(), &[self.decided.len()])
    }

    /// What the filter did with each of them: "used", "gated", "initialized", "waiting" (for views from other places) or
    /// "unseen" (it cannot be linearized), or the reason for which it was left out, as in `dropped`.
    #[getter]
    fn decisions(&self) -> Vec<&'static str> {
        self.decided.iter().map(Decision::word).collect()
    }

    /// (k,): the squared Mahalanobis distance of each of them from its expectation, before the update; NaN where there
    /// is no expectation.
    #[getter]
    fn distances<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        array(py, self.decided.iter().map(distance_of).collect(), &[self.decided.len()])
    }

    fn __repr__(&self) -> String {
        let Stepped { estimate, accepted, gated, initialized, .. } = self.step;
        let t = estimate.pose.translation;
        format!(
            "Step3d(stamp_ns={}, position=({:.4}, {:.4}, {:.4}), accepted={accepted}, gated={gated}, \
             initialized={initialized})",
            estimate.stamp.nanos(),
            t.x,
            t.y,
            t.z
        )
    }
}

fn id_of(one: &Decision) -> i64 {
    i64::try_from(one.id).unwrap_or(-1)
}

fn distance_of(one: &Decision) -> f64 {
    one.outcome.ok().and_then(|outcome| outcome.distance).unwrap_or(f64::NAN)
}

fn refusal(outcome: Result<(), DropReason>) -> Option<&'static str> {
    outcome.err().map(DropReason::word)
}

/// The landmarks of a map, as `lienav.Map3d` has them.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct MapArrays<'py> {
    ids: crate::arrays::Integers<'py>,
    position: Floats<'py>,
    covariance: Floats<'py>,
}

impl MapArrays<'_> {
    fn map(&self) -> PyResult<Map3d> {
        let ids = numbers("map.ids", &self.ids, &[None])?;
        let n = ids.len();
        let places = numbers("map.position", &self.position, &[Some(n), Some(3)])?;
        let all = numbers("map.covariance", &self.covariance, &[Some(3 * n), Some(3 * n)])?;
        let landmark = |(id, place): (&i64, &[f64])| {
            Ok(lienav_space::MapLandmark {
                id: crate::frames::identity(*id)?,
                position: [place[0], place[1], place[2]],
            })
        };
        let landmarks = ids.iter().zip(places.chunks_exact(3)).map(landmark).collect::<PyResult<_>>()?;
        let covariance = (0..3 * n).flat_map(|i| (0..=i).map(move |j| 3 * n * i + j)).map(|k| all[k]).collect();
        Ok(Map3d { landmarks, covariance })
    }
}

#[pymethods]
impl Slam3d {
    #[new]
    #[pyo3(signature = (settings=None, *, map=None))]
    fn new(settings: Option<&Bound<'_, PyAny>>, map: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        let mut config = laid_over(&Config::default(), settings, NODE)?;
        if map.is_some() {
            config.map.mode = MapMode::Localization;
        }
        let slam = Filter::new(config).map_err(wrong_call)?;
        let mut slam = Self { slam, waiting: VecDeque::new() };
        if let Some(map) = map {
            slam.load_map(map)?;
        }
        Ok(slam)
    }

    /// States where a sensor of features is on the body (the frame of the inertial sensor), and how it is read.
    #[pyo3(signature = (number=0, *, pose=None, focal=None, centre=(0.0, 0.0), baseline_m=0.0, pixel_std=None,
                        common_pixel_std=(0.0, 0.0)))]
    #[expect(clippy::too_many_arguments, reason = "each has a name in Python")]
    fn set_sensor(
        &mut self,
        #[pyo3(from_py_with = arguments::number)] number: usize,
        pose: Option<&Bound<'_, PyAny>>,
        #[pyo3(from_py_with = arguments::focal)] focal: Option<(f64, f64)>,
        #[pyo3(from_py_with = arguments::centre)] centre: (f64, f64),
        #[pyo3(from_py_with = arguments::baseline_m)] baseline_m: f64,
        #[pyo3(from_py_with = arguments::pixel_std)] pixel_std: Option<(f64, f64)>,
        #[pyo3(from_py_with = arguments::common_pixel_std)] common_pixel_std: (f64, f64),
    ) -> PyResult<()> {
        let usual = self.slam.config().sensor.pixel_std_px;
        let sensor = Sensor {
            mount: pose_or_identity("pose", pose)?,
            focal: focal.map_or(Vector2::repeat(1.0), |(x, y)| Vector2::new(x, y)),
            centre: Vector2::new(centre.0, centre.1),
            baseline_m,
            pixels: PixelNoise { own: pixel_std.unwrap_or((usual, usual)).into(), common: common_pixel_std.into() },
        };
        self.slam.set_sensor(number, sensor).map_err(|reason| match reason {
            DropReason::UnknownSensor => wrong_call(format!("number is {number}; allowed: 0 … 15")),
            _ => wrong_call(format!(
                "focal is {focal:?}, centre {centre:?}, baseline_m {baseline_m}, pixel_std {pixel_std:?}; expected finite \
                 numbers, focal and pixel_std above 0"
            )),
        })
    }

    /// States where the frame is on the body whose position and heading `start` in the settings gives.
    fn set_base(&mut self, pose: &Bound<'_, PyAny>) -> PyResult<()> {
        self.slam.set_base(crate::poses::pose("pose", pose)?);
        Ok(())
    }

    /// Begins in motion, at a pose and a velocity (3,) m/s in the map, with standard deviations of rotation rad, velocity
    /// m/s, position m, and of the biases rad/s and m/s².
    fn begin(
        &mut self,
        #[pyo3(from_py_with = arguments::stamp_ns)] stamp_ns: i64,
        pose: &Bound<'_, PyAny>,
        #[pyo3(from_py_with = arguments::velocity)] velocity: Floats<'_>,
        #[pyo3(from_py_with = arguments::start_std)] std: [f64; 5],
    ) -> PyResult<Option<&'static str>> {
        let (pose, velocity) = (crate::poses::pose("pose", pose)?, vector3("velocity", &velocity)?);
        Ok(refusal(self.slam.begin_at(Stamp::from_nanos(stamp_ns), &pose, &velocity, &std)))
    }

    /// Takes in a sample of the inertial sensor: (3,) rad/s and (3,) m/s², in its own axes.
    fn imu(
        &mut self,
        #[pyo3(from_py_with = arguments::stamp_ns)] stamp_ns: i64,
        #[pyo3(from_py_with = arguments::angular_velocity)] angular_velocity: Floats<'_>,
        #[pyo3(from_py_with = arguments::specific_force)] specific_force: Floats<'_>,
    ) -> PyResult<Option<&'static str>> {
        let rate = vector3("angular_velocity", &angular_velocity)?;
        let force = vector3("specific_force", &specific_force)?;
        let sample = ImuSample { stamp: Stamp::from_nanos(stamp_ns), value: Imu::new(rate, force) };
        Ok(refusal(self.slam.push_imu(&sample)))
    }

    /// Takes in a frame of n features of one sensor: values (n, d), ids (n,).
    #[pyo3(signature = (stamp_ns, values, ids, *, kind="pixel", sensor=0, covariance=None))]
    fn features(
        &mut self,
        #[pyo3(from_py_with = arguments::stamp_ns)] stamp_ns: i64,
        #[pyo3(from_py_with = arguments::values)] values: Floats<'_>,
        #[pyo3(from_py_with = arguments::known_ids)] ids: Vec<i64>,
        kind: &str,
        #[pyo3(from_py_with = arguments::sensor)] sensor: i64,
        #[pyo3(from_py_with = arguments::stated)] covariance: Option<Floats<'_>>,
    ) -> PyResult<Option<&'static str>> {
        let (kind, dim) = kind_named(kind)?;
        let n = ids.len();
        let values = numbers("values", &values, &[Some(n), Some(dim)])?;
        let noise = match covariance {
            Some(c) => Some(numbers("covariance", &c, &noise_shape("covariance", kind, n)?)?),
            None => None,
        };
        let (sensors, noise) = (vec![sensor; n], noise.as_deref());
        let rows = Rows { kind, dim, width: dim, values: &values, ids: &ids, sensors: Some(&sensors), noise };
        let seen = (0..n).map(|i| rows.seen(i)).collect::<PyResult<_>>()?;
        Ok(refusal(self.slam.push_frame(&Frame { stamp: Stamp::from_nanos(stamp_ns), seen })))
    }

    /// Takes in a velocity (3,) m/s in the axes of the wheels, whose frame is at `mount` on the body.
    #[pyo3(signature = (stamp_ns, velocity, covariance=None, *, mount=None))]
    fn odometry(
        &mut self,
        #[pyo3(from_py_with = arguments::stamp_ns)] stamp_ns: i64,
        #[pyo3(from_py_with = arguments::velocity)] velocity: Floats<'_>,
        #[pyo3(from_py_with = arguments::stated)] covariance: Option<Floats<'_>>,
        mount: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Option<&'static str>> {
        let odometry = Odometry {
            stamp: Stamp::from_nanos(stamp_ns),
            mount: pose_or_identity("mount", mount)?,
            velocity: vector3("velocity", &velocity)?,
            covariance: stated3("covariance", covariance.as_ref())?,
        };
        Ok(refusal(self.slam.push_odometry(&odometry)))
    }

    /// Takes in a pose of the body in the map that another source measures, with its (6, 6) covariance.
    fn absolute_pose(
        &mut self,
        #[pyo3(from_py_with = arguments::stamp_ns)] stamp_ns: i64,
        pose: &Bound<'_, PyAny>,
        #[pyo3(from_py_with = arguments::covariance)] covariance: Floats<'_>,
    ) -> PyResult<Option<&'static str>> {
        let stamp = Stamp::from_nanos(stamp_ns);
        let (pose, covariance) = (crate::poses::pose("pose", pose)?, matrix6("covariance", &covariance)?);
        Ok(refusal(self.slam.push_pose(&Pose { stamp, pose, covariance })))
    }

    /// Asks for a step at an instant.
    fn instant(&mut self, #[pyo3(from_py_with = arguments::stamp_ns)] stamp_ns: i64) -> Option<&'static str> {
        refusal(self.slam.push_instant(Stamp::from_nanos(stamp_ns)))
    }

    /// The next step that is due, or None.
    fn poll(&mut self, py: Python<'_>) -> Option<Step3d> {
        self.waiting.pop_front().or_else(|| py.detach(|| next(&mut self.slam)))
    }

    /// The input has ended: frames that wait for other cameras are due.
    fn finish(&mut self) {
        self.slam.finish();
    }

    /// Arrays of messages, then all steps that are due.
    fn run_arrays<'py>(
        &mut self,
        py: Python<'py>,
        arrays: SpaceArrays<'py>,
        mount: Option<&Bound<'py, PyAny>>,
        finish: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        let all = messages(&arrays, &pose_or_identity("mount", mount)?)?;
        self.run_all(py, &all, finish)
    }

    /// The cameras and the start of a recording.
    fn equip(&mut self, recording: &Recording3d) -> PyResult<()> {
        recording.equip(&mut self.slam)
    }

    /// The estimate at the newest sample of the inertial sensor; None before the start.
    fn predicted<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.slam.pose().map(|estimate| pose_data(py, &estimate)).transpose()
    }

    /// How good the pose is, in one word: "ok", "wide", "lost" or "starting".
    #[getter]
    fn quality(&self) -> &'static str {
        self.slam.quality().word()
    }

    /// A sentence about samples that no start can be made of, while the filter waits for its start: an inertial sensor in g.
    #[getter]
    fn start_problem(&self) -> Option<String> {
        self.slam.start_problem()
    }

    /// The landmarks of the state, each with its own covariance.
    fn landmarks<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let all = self.slam.landmarks();
        let n = all.len();
        let fields = PyDict::new(py);
        let ids = all.iter().map(|one| i64::try_from(one.id).unwrap_or(-1)).collect();
        fields.set_item("ids", array(py, ids, &[n])?)?;
        let places = all.iter().flat_map(|one| <[f64; 3]>::from(one.position)).collect();
        fields.set_item("position", array(py, places, &[n, 3])?)?;
        let noise = all.iter().flat_map(|one| matrix3_rows(Some(&one.covariance))).collect();
        fields.set_item("covariance", array(py, noise, &[n, 3, 3])?)?;
        data(py, "Landmarks3d", &fields)
    }

    /// The landmarks with their joint covariance.
    fn map<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        map_data(py, &self.slam.map())
    }

    /// Takes a map, or the path of one: its landmarks replace those of the state.
    fn load_map(&mut self, map: &Bound<'_, PyAny>) -> PyResult<()> {
        let map = match map.extract::<MapArrays<'_>>() {
            Ok(arrays) => arrays.map()?,
            Err(_) => read_map(map)?,
        };
        self.slam.load_map(map).map_err(|error| wrong_call(format!("the map cannot be used: {error}")))
    }

    /// The map as text, for `save_map`.
    fn map_json(&self) -> String {
        self.slam.map().to_json()
    }

    /// How often input was not used, by reason.
    #[getter]
    fn dropped(&self) -> BTreeMap<&'static str, u64> {
        self.slam.counts().by_word()
    }

    /// How often time was set back.
    #[getter]
    fn time_jumps(&self) -> u64 {
        self.slam.time_jumps()
    }

    /// How often the covariance was widened, because most measurements were beyond the gate.
    #[getter]
    fn widened(&self) -> u64 {
        self.slam.widened()
    }

    fn settings_json(&self) -> PyResult<String> {
        serde_json::to_string(self.slam.config()).map_err(failed)
    }

    /// Puts the body at a pose with its (6, 6) covariance. A map that is being made moves with it.
    fn set_pose(
        &mut self,
        pose: &Bound<'_, PyAny>,
        #[pyo3(from_py_with = arguments::covariance)] covariance: Floats<'_>,
    ) -> PyResult<Option<&'static str>> {
        let (pose, covariance) = (crate::poses::pose("pose", pose)?, matrix6("covariance", &covariance)?);
        Ok(refusal(self.slam.set_pose(&pose, &covariance)))
    }

    /// Forgets the estimate; settings, sensors and the known map stay.
    fn reset(&mut self) {
        self.slam.reset();
        self.waiting.clear();
    }

    /// All that `resume` needs to go on from here.
    fn save<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, &serde_json::to_vec(&self.slam.save()).map_err(failed)?))
    }

    /// Goes on where `save` was called; what this filter has estimated is forgotten.
    fn restore(&mut self, #[pyo3(from_py_with = arguments::state)] state: Bound<'_, PyBytes>) -> PyResult<()> {
        let damaged = |error| failed(format!("the state is damaged: {error}; use an older copy"));
        let saved: SavedState = serde_json::from_slice(state.as_bytes()).map_err(damaged)?;
        self.slam.restore(saved).map_err(failed)?;
        self.waiting.clear();
        Ok(())
    }

    fn __repr__(&self) -> String {
        let points = |state: &State| state.landmarks.iter().filter(|one| one.is_point()).count();
        let landmarks = self.slam.state().map_or(0, points);
        format!("<lienav.Slam3d filter={:?}, {landmarks} landmarks>", self.slam.config().filter)
    }
}

/// The next step, with what became of the measurements of its frame.
fn next(slam: &mut Filter) -> Option<Step3d> {
    let step = slam.poll()?;
    let decided = if step.has_frame { slam.decisions().to_vec() } else { Vec::new() };
    Some(Step3d { step, decided })
}

fn read_map(path: &Bound<'_, PyAny>) -> PyResult<Map3d> {
    let path = path.extract::<std::path::PathBuf>().map_err(|_| {
        let kind = path.get_type().name().map_or_else(|_| "object".to_owned(), |name| name.to_string());
        wrong_type(format!("map is of type {kind}; expected a lienav.Map3d or a path"))
    })?;
    let named = |error: &dyn std::fmt::Display| failed(format!("{}: {error}", path.display()));
    let text = lienav_io::files::read_text(&path).map_err(|error| named(&error))?;
    Map3d::from_json(&text).map_err(|error| named(&error))
}

impl Slam3d {
    fn run_all<'py>(&mut self, py: Python<'py>, messages: &[Message], finish: bool) -> PyResult<Bound<'py, PyAny>> {
        for some in messages.chunks(AT_ONCE) {
            let (slam, waiting) = (&mut self.slam, &mut self.waiting);
            py.detach(|| {
                for message in some {
                    // What is refused is counted.
                    let _counted = match message {
                        Message::Frame(frame) => slam.push_frame(frame),
                        Message::Odometry(odometry) => slam.push_odometry(odometry),
                        Message::Pose(pose) => slam.push_pose(pose),
                        Message::Imu(sample) => slam.push_imu(sample),
                    };
                    while let Some(step) = next(slam) {
                        waiting.push_back(step);
                    }
                }
            });
            py.check_signals()?;
        }
        if finish {
            self.slam.finish();
            self.waiting.extend(std::iter::from_fn(|| next(&mut self.slam)));
        }
        let steps = std::mem::take(&mut self.waiting);
        step_arrays(py, &Vec::from(steps))
    }
}

fn step_arrays<'py>(py: Python<'py>, steps: &[Step3d]) -> PyResult<Bound<'py, PyAny>> {
    let n = steps.len();
    let fields = PyDict::new(py);
    let estimates: Vec<(Stamp, Se3, [f64; 36])> = steps
        .iter()
        .map(|s| (s.step.estimate.stamp, s.step.estimate.pose, matrix6_rows(&s.step.estimate.covariance)))
        .collect();
    estimate_fields(py, &fields, &estimates)?;
    let threes = |of: fn(&PoseEstimate) -> [f64; 3]| {
        array(py, steps.iter().flat_map(|s| of(&s.step.estimate)).collect(), &[n, 3])
    };
    fields.set_item("velocity", threes(|e| e.velocity.into())?)?;
    fields.set_item("gyro_bias", threes(|e| e.biases.gyro.into())?)?;
    fields.set_item("accelerometer_bias", threes(|e| e.biases.accelerometer.into())?)?;
    fields.set_item("nis", array(py, steps.iter().map(|s| s.step.nis).collect(), &[n])?)?;
    let count = |of: fn(&Stepped) -> usize| array(py, steps.iter().map(|s| of(&s.step) as i64).collect(), &[n]);
    fields.set_item("dof", count(|s| s.dof)?)?;
    fields.set_item("accepted", count(|s| s.accepted)?)?;
    fields.set_item("gated", count(|s| s.gated)?)?;
    fields.set_item("initialized", count(|s| s.initialized)?)?;
    let mut first = vec![0_i64];
    first.extend(steps.iter().scan(0, |end, s| {
        *end += s.decided.len() as i64;
        Some(*end)
    }));
    fields.set_item("first", array(py, first, &[n + 1])?)?;
    let all = || steps.iter().flat_map(|s| &s.decided);
    let m = all().count();
    fields.set_item("ids", array(py, all().map(id_of).collect(), &[m])?)?;
    fields.set_item("decisions", all().map(Decision::word).collect::<Vec<_>>())?;
    fields.set_item("distances", array(py, all().map(distance_of).collect(), &[m])?)?;
    data(py, "Steps3d", &fields)
}

fn pose_data<'py>(py: Python<'py>, estimate: &PoseEstimate) -> PyResult<Bound<'py, PyAny>> {
    let fields = PyDict::new(py);
    fields.set_item("stamp_ns", estimate.stamp.nanos())?;
    fields.set_item("pose", array(py, matrix_rows(&estimate.pose).to_vec(), &[4, 4])?)?;
    fields.set_item("orientation", array(py, quaternion(&estimate.pose).to_vec(), &[4])?)?;
    fields.set_item("covariance", array(py, matrix6_rows(&estimate.covariance).to_vec(), &[6, 6])?)?;
    let three = |v: &nalgebra::Vector3<f64>| array(py, v.iter().copied().collect::<Vec<f64>>(), &[3]);
    fields.set_item("velocity", three(&estimate.velocity)?)?;
    let covariance = matrix3_rows(Some(&estimate.velocity_covariance)).to_vec();
    fields.set_item("velocity_covariance", array(py, covariance, &[3, 3])?)?;
    fields.set_item("angular_velocity", three(&estimate.rate)?)?;
    fields.set_item("gyro_bias", three(&estimate.biases.gyro)?)?;
    fields.set_item("accelerometer_bias", three(&estimate.biases.accelerometer)?)?;
    data(py, "Pose3d", &fields)
}

fn map_data<'py>(py: Python<'py>, map: &Map3d) -> PyResult<Bound<'py, PyAny>> {
    let n = map.landmarks.len();
    let fields = PyDict::new(py);
    let ids = map.landmarks.iter().map(|one| i64::try_from(one.id).unwrap_or(-1)).collect();
    fields.set_item("ids", array(py, ids, &[n])?)?;
    let places = map.landmarks.iter().flat_map(|one| one.position).collect();
    fields.set_item("position", array(py, places, &[n, 3])?)?;
    let at = |k: usize| {
        let (i, j) = (k / (3 * n), k % (3 * n));
        let (i, j) = (i.max(j), i.min(j));
        map.covariance.get(i * (i + 1) / 2 + j).copied().unwrap_or(0.0)
    };
    fields.set_item("covariance", array(py, (0..9 * n * n).map(at).collect(), &[3 * n, 3 * n])?)?;
    data(py, "Map3d", &fields)
}
