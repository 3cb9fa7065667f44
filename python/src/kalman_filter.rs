//! A filter that a program steps by itself, and sensors whose measurement model is written in Python.

use crate::arguments;
use crate::arrays::{Floats, array, matrix3, matrix3_rows, noise, numbers, value};
use crate::errors::{failed, wrong_call};
use crate::messages::{decision, identity, kind_named};
use crate::settings::study;
use crate::slam::pose_row;
use lienav_base::stamp::Stamp;
use lienav_lie::wrap_angle;
use lienav_slam::{
    Block, CalibrationParameter, Component, Increment, KalmanFilter as Filter, LandmarkMeasurement, Measurement,
    MeasurementKind, Odometry, SavedKalmanFilter, Se2, Sensor,
};
use nalgebra::{SMatrix, SVector, Vector2};
use numpy::PyUntypedArrayMethods;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PySlice};
use std::fmt;
use std::sync::{Arc, Mutex};

/// The first exception of a measurement model since the filter was last asked.
type Raised = Arc<Mutex<Option<PyErr>>>;

/// A measurement model of D numbers in Python: y = h(z) + n, with z the landmark in the sensor frame.
struct Model<const D: usize> {
    predict: Py<PyAny>,
    jacobian: Py<PyAny>,
    noise: SMatrix<f64, D, D>,
    components: [Component; D],
    raised: Raised,
}

impl<const D: usize> fmt::Debug for Model<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Model").field("components", &self.components).finish_non_exhaustive()
    }
}

impl<const D: usize> Model<D> {
    /// The numbers that a function of z gives; `None`, and the exception is kept, if it raises.
    fn called(&self, function: &Py<PyAny>, z: &Vector2<f64>, shape: &[usize]) -> Option<Vec<f64>> {
        let result = Python::attach(|py| -> PyResult<Vec<f64>> {
            let at = array(py, vec![z.x, z.y], &[2])?;
            let found = function.bind(py).call1((at,))?;
            let numpy = py.import("numpy")?;
            let flat = numpy.call_method1("asarray", (found, "float64"))?;
            let has: Vec<usize> = flat.getattr("shape")?.extract()?;
            let is_scalar = D == 1 && has.is_empty() && shape.len() == 1;
            if has != shape && !is_scalar {
                return Err(wrong_call(format!(
                    "a measurement model gives an array of shape {has:?} where {shape:?} is asked for"
                )));
            }
            flat.call_method0("ravel")?.call_method0("tolist")?.extract()
        });
        result.map_err(|error| self.keep(error)).ok()
    }

    fn keep(&self, error: PyErr) {
        if let Ok(mut raised) = self.raised.lock() {
            raised.get_or_insert(error);
        }
    }
}

impl<const D: usize> LandmarkMeasurement<D> for Model<D> {
    fn components(&self) -> [Component; D] {
        self.components
    }

    fn noise(&self) -> SMatrix<f64, D, D> {
        self.noise
    }

    fn predict(&self, z: &Vector2<f64>) -> SVector<f64, D> {
        self.called(&self.predict, z, &[D]).map_or_else(|| SVector::repeat(f64::NAN), SVector::from_vec)
    }

    fn jacobian(&self, z: &Vector2<f64>) -> Option<SMatrix<f64, D, 2>> {
        self.called(&self.jacobian, z, &[D, 2]).map(|rows| SMatrix::from_row_slice(&rows))
    }
}

/// A sensor as a program has added it.
type Added = (Py<PyAny>, Py<PyAny>, Vec<f64>, Vec<String>, (f64, f64, f64));

/// A Kalman filter that a program steps: `predict` moves the state along a motion, `correct` takes a scan in.
#[pyclass(module = "lienav._lienav")]
pub struct KalmanFilter {
    filter: Filter,
    /// How many numbers a measurement of each added sensor has.
    dims: Vec<usize>,
    /// What each of them was added with: h, its derivative, noise row by row, components, mount.
    added: Vec<Added>,
    raised: Raised,
}

/// What a correction did.
#[pyclass(frozen, module = "lienav._lienav")]
pub struct Correction(lienav_slam::KalmanCorrection);

#[pymethods]
impl Correction {
    /// Normalised innovation squared of all measurements that were used.
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

    /// Measurements that initialized a landmark.
    #[getter]
    fn added(&self) -> usize {
        self.0.added
    }

    /// Measurements left out, by reason.
    #[getter]
    fn refused(&self) -> std::collections::BTreeMap<&'static str, u64> {
        let all = lienav_slam::DropReason::ALL;
        all.into_iter().map(|reason| (reason.word(), self.0.refused.get(reason))).filter(|(_, n)| *n > 0).collect()
    }

    /// (dof,): y − h(x̂) of the measurements that were used.
    #[getter]
    fn innovation<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        array(py, self.0.innovation.as_slice().to_vec(), &[self.0.innovation.len()])
    }

    /// (dof, dof): its covariance S = H P Hᵀ + R.
    #[getter]
    fn innovation_covariance<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let s = &self.0.innovation_covariance;
        array(py, s.as_slice().to_vec(), &[s.nrows(), s.ncols()])
    }

    /// (n,): the landmarks of the measurements that were associated; -1 for the pose.
    #[getter]
    fn landmarks<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let all = &self.0.associated;
        array(py, all.iter().map(|(landmark, _)| landmark.map_or(-1, i64::from)).collect(), &[all.len()])
    }

    /// What the filter did with each of them: "initialized", "used", "gated" or "held".
    #[getter]
    fn decisions(&self) -> Vec<&'static str> {
        self.0.associated.iter().map(|(_, role)| decision(*role)).collect()
    }

    /// Of each measurement that was used: its landmark, None for one of the pose, and its slice of the innovation.
    #[getter]
    fn used(&self) -> Vec<(Option<u32>, usize, usize)> {
        self.0.used.iter().map(|(landmark, range)| (*landmark, range.start, range.end)).collect()
    }
}

/// The word of a component of a measurement.
fn component(word: &str) -> PyResult<Component> {
    match word {
        "linear" => Ok(Component::Linear),
        "range" => Ok(Component::Range),
        "bearing" => Ok(Component::Bearing),
        "angle" => Ok(Component::Angle),
        _ => Err(wrong_call(format!("'{word}' is no component: 'linear', 'range', 'bearing' or 'angle'"))),
    }
}

impl KalmanFilter {
    /// Raises what a measurement model has raised.
    fn raise(&self) -> PyResult<()> {
        self.raised.lock().ok().and_then(|mut raised| raised.take()).map_or(Ok(()), Err)
    }

    fn add<const D: usize>(
        &mut self,
        (predict, jacobian): (Py<PyAny>, Py<PyAny>),
        noise: &[f64],
        components: &[Component],
        mount: Se2,
    ) -> PyResult<String> {
        let noise = SMatrix::<f64, D, D>::from_row_slice(noise);
        if noise.cholesky().is_none() || (noise - noise.transpose()).amax() > 1e-9 * noise.amax() {
            return Err(wrong_call("R is not symmetric positive definite"));
        }
        let components = std::array::from_fn(|k| components.get(k).copied().unwrap_or(Component::Linear));
        let model = Model::<D> { predict, jacobian, noise, components, raised: self.raised.clone() };
        let kind = self.filter.add_sensor(Sensor::of_landmarks(model, mount)).map_err(failed)?;
        self.dims.push(D);
        match kind {
            MeasurementKind::Added(k) => Ok(format!("added:{k}")),
            _ => Err(failed("the sensor was not added")),
        }
    }

    fn add_any(&mut self, added: Added, py: Python<'_>) -> PyResult<String> {
        let (h, jacobian, rows, words, (x, y, theta)) = &added;
        let components = words.iter().map(|word| component(word)).collect::<PyResult<Vec<_>>>()?;
        let (mount, functions) = (Se2::new(*x, *y, *theta), (h.clone_ref(py), jacobian.clone_ref(py)));
        let kind = match words.len() {
            1 => self.add::<1>(functions, rows, &components, mount),
            2 => self.add::<2>(functions, rows, &components, mount),
            3 => self.add::<3>(functions, rows, &components, mount),
            d => Err(wrong_call(format!("a measurement has one to three numbers, and noise is of {d}"))),
        }?;
        self.added.push(added);
        Ok(kind)
    }

    /// The kind of a word, and how many numbers its measurements have.
    fn kind(&self, word: &str) -> PyResult<(MeasurementKind, usize)> {
        let Some(k) = word.strip_prefix("added:").and_then(|k| k.parse::<u8>().ok()) else { return kind_named(word) };
        let dim = self.dims.get(usize::from(k));
        let dim =
            dim.ok_or_else(|| wrong_call(format!("'{word}' is no sensor of this filter: add_sensor gives its name")))?;
        Ok((MeasurementKind::Added(k), *dim))
    }
}

#[pymethods]
impl KalmanFilter {
    #[new]
    #[pyo3(signature = (settings=None))]
    fn new(settings: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        let study = study(None, settings)?;
        let filter = study.composed(&study.filter).map_err(wrong_call)?;
        let filter = Filter::new(filter, study.config()).map_err(wrong_call)?;
        Ok(Self { filter, dims: Vec::new(), added: Vec::new(), raised: Raised::default() })
    }

    /// Adds a sensor of landmarks whose model is written in Python: h(z) gives (d,) and H(z) gives (d, 2), its
    /// derivative, for a landmark at z = (x, y) m in the sensor frame; R is (d, d), with d from 1 to 3. Gives its kind,
    /// for `correct`.
    #[pyo3(signature = (h, jacobian, noise, *, components=None, mount=(0.0, 0.0, 0.0)))]
    fn add_sensor(
        &mut self,
        h: Py<PyAny>,
        jacobian: Py<PyAny>,
        #[pyo3(from_py_with = arguments::noise)] noise: Floats<'_>,
        components: Option<Vec<String>>,
        #[pyo3(from_py_with = arguments::mount)] mount: (f64, f64, f64),
    ) -> PyResult<String> {
        let d = noise.shape().first().copied().unwrap_or(0);
        let rows = numbers("noise", &noise, &[Some(d), Some(d)])?;
        let words = components.unwrap_or_else(|| vec!["linear".to_owned(); d]);
        if words.len() != d {
            return Err(wrong_call(format!("components has {} words for {d} numbers", words.len())));
        }
        Python::attach(|py| self.add_any((h.clone_ref(py), jacobian.clone_ref(py), rows, words, mount), py))
    }

    /// The state and the added sensors: what a copy or a pickle goes on from, to the last bit.
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let state = PyBytes::new(py, &serde_json::to_vec(&self.filter.save()).map_err(failed)?);
        let added: Vec<Added> = self
            .added
            .iter()
            .map(|(h, jacobian, noise, words, mount)| {
                (h.clone_ref(py), jacobian.clone_ref(py), noise.clone(), words.clone(), *mount)
            })
            .collect();
        let resumed = py.import("lienav._lienav")?.getattr("resumed_kalman_filter")?;
        Ok((resumed, (state, added)).into_pyobject(py)?.into_any())
    }

    /// Moves the state along (x m, y m, θ rad), seen from the base before, with the (3, 3) covariance of that.
    #[pyo3(signature = (motion, covariance, duration=0.0))]
    fn predict(
        &mut self,
        #[pyo3(from_py_with = arguments::motion)] motion: (f64, f64, f64),
        #[pyo3(from_py_with = arguments::covariance)] covariance: Floats<'_>,
        #[pyo3(from_py_with = arguments::duration)] duration: f64,
    ) -> PyResult<()> {
        let rows = numbers("covariance", &covariance, &[Some(3), Some(3)])?;
        let covariance = matrix3(&rows).ok_or_else(|| wrong_call("covariance is not finite"))?;
        let motion = Increment { motion: Se2::new(motion.0, motion.1, motion.2), covariance, drift: None };
        self.filter
            .predict(&motion, duration)
            .map_err(|reason| wrong_call(format!("the motion is refused as {reason}")))
    }

    /// Moves the state along a constant twist (m/s, m/s, rad/s) for `duration` seconds, with the noise of the settings.
    fn predict_twist(
        &mut self,
        #[pyo3(from_py_with = arguments::twist)] twist: (f64, f64, f64),
        #[pyo3(from_py_with = arguments::duration)] duration: f64,
    ) -> PyResult<()> {
        let velocity = Vector2::new(twist.0, twist.1);
        let odometry = Odometry { stamp: Stamp::default(), velocity, yaw_rate: twist.2, covariance: None };
        let moved = self.filter.predict_twist(&odometry, duration);
        moved.map_err(|reason| wrong_call(format!("the motion is refused as {reason}")))
    }

    /// Takes in n measurements at the pose of now: values (n, d), ids (n,) with -1 for unknown, covariance (n, d, d).
    #[pyo3(signature = (values, ids=None, *, kind="range_bearing", covariance=None))]
    fn correct(
        &mut self,
        #[pyo3(from_py_with = arguments::values)] values: Floats<'_>,
        #[pyo3(from_py_with = arguments::ids)] ids: Option<Vec<i64>>,
        kind: &str,
        #[pyo3(from_py_with = arguments::stated)] covariance: Option<Floats<'_>>,
    ) -> PyResult<Correction> {
        let (kind, dim) = self.kind(kind)?;
        let rows = numbers("values", &values, &[None, Some(dim)])?;
        let n = rows.len() / dim;
        if let Some(ids) = ids.as_ref().filter(|ids| ids.len() != n) {
            return Err(wrong_call(format!("there are {} ids for {n} values", ids.len())));
        }
        let stated = covariance.map(|c| numbers("covariance", &c, &[Some(n), Some(dim), Some(dim)])).transpose()?;
        let measurement = |k: usize| -> PyResult<Measurement> {
            let id = ids.as_ref().map(|ids| identity(ids[k])).transpose()?.flatten();
            let covariance = stated.as_ref().and_then(|all| noise(&all[k * dim * dim..(k + 1) * dim * dim], dim, dim));
            Ok(Measurement { covariance, ..Measurement::new(id, value(&rows[k * dim..(k + 1) * dim])) })
        };
        let measurements = (0..n).map(measurement).collect::<PyResult<Vec<_>>>()?;
        let corrected = self.filter.correct(kind, &measurements);
        self.raise()?;
        corrected.map(Correction).map_err(|reason| failed(format!("the measurements are refused as {reason}")))
    }

    /// (3,): x m, y m, θ rad.
    #[getter]
    fn pose<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        array(py, pose_row(&self.filter.pose().0).to_vec(), &[3])
    }

    /// (3, 3) of (x, y, θ) in the map.
    #[getter]
    fn pose_covariance<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        array(py, matrix3_rows(Some(&self.filter.pose().1)).to_vec(), &[3, 3])
    }

    /// (n,): the estimate; `blocks` says what its numbers are.
    #[getter]
    fn mean<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let mut mean = self.filter.mean().as_slice().to_vec();
        if let Some(theta) = mean.get_mut(2) {
            *theta = wrap_angle(*theta);
        }
        let n = mean.len();
        array(py, mean, &[n])
    }

    /// (n, n): the joint covariance of `mean`.
    #[getter]
    fn covariance<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let covariance = self.filter.covariance();
        array(py, covariance.as_slice().to_vec(), &[covariance.nrows(), covariance.ncols()])
    }

    /// The slices of `mean` by name: "pose", "landmark:7", and the calibration parameters.
    #[getter]
    fn blocks<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let blocks = PyDict::new(py);
        for (block, range) in self.filter.blocks() {
            let name = match block {
                Block::Pose => "pose".to_owned(),
                Block::Calibration(parameter) => calibration_name(parameter),
                Block::TimeCorrelated => "time_correlated".to_owned(),
                Block::Landmark(id) => format!("landmark:{id}"),
            };
            blocks.set_item(name, PySlice::new(py, range.start as isize, range.end as isize, 1))?;
        }
        Ok(blocks)
    }

    /// The seconds that predictions have taken.
    #[getter]
    fn time(&self) -> f64 {
        self.filter.time()
    }
}

fn calibration_name(parameter: CalibrationParameter) -> String {
    format!("calibration:{}", parameter.word())
}

/// A filter that goes on where another was copied or pickled.
#[pyfunction]
pub fn resumed_kalman_filter(py: Python<'_>, state: Bound<'_, PyBytes>, added: Vec<Added>) -> PyResult<KalmanFilter> {
    let damaged = |error: serde_json::Error| failed(format!("the state is damaged: {error}; use an older copy"));
    let saved: SavedKalmanFilter = serde_json::from_slice(state.as_bytes()).map_err(damaged)?;
    let filter = Filter::new(saved.filter, saved.config.clone()).map_err(failed)?;
    let mut resumed = KalmanFilter { filter, dims: Vec::new(), added: Vec::new(), raised: Raised::default() };
    for sensor in added {
        resumed.add_any(sensor, py)?;
    }
    resumed.filter.restore(saved).map_err(failed)?;
    Ok(resumed)
}
