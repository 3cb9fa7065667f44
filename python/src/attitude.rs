//! Orientation from an inertial sensor.

use crate::arguments;
use crate::arrays::{Floats, Integers, array, data, matrix3_rows, numbers, vector3};
use crate::errors::{failed, wrong_call};
use crate::settings::laid_over;
use crate::wait::interruptible;
use lienav_attitude::{Attitude as Filter, Config, DropReason, Estimate, ImuSample, MagneticField};
use lienav_base::stamp::Stamp;
use lienav_eval::attitude::drift::drift;
use lienav_eval::attitude::errors::Errors;
use lienav_eval::attitude::report::Report;
use lienav_eval::attitude::{Begin, run};
use lienav_io::bag::Topics;
use lienav_io::inertial::open;
use nalgebra::{Quaternion, UnitQuaternion, Vector3};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use std::collections::BTreeMap;

const NODE: &str = "attitude_node";
/// Samples between two looks for Ctrl-C.
const AT_ONCE: usize = 20_000;

fn config(settings: Option<&Bound<'_, PyAny>>) -> PyResult<Config> {
    let config = laid_over(&Config::default(), settings, NODE)?;
    config.validate().map_err(wrong_call)?;
    Ok(config)
}

fn refusal(outcome: Result<(), DropReason>) -> Option<&'static str> {
    outcome.err().map(DropReason::word)
}

#[pyclass(subclass, module = "lienav._lienav")]
pub struct Attitude(Filter);

#[pymethods]
impl Attitude {
    #[new]
    #[pyo3(signature = (settings=None))]
    fn new(settings: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        Filter::new(config(settings)?).map(Self).map_err(wrong_call)
    }

    /// All that `restore` needs to go on from here.
    fn save<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, self.0.save().map_err(failed)?.as_bytes()))
    }

    /// Goes on where `save` was called, to the last bit; its settings are those of the state.
    fn restore(&mut self, #[pyo3(from_py_with = arguments::state)] state: Bound<'_, PyBytes>) -> PyResult<()> {
        let text = std::str::from_utf8(state.as_bytes()).map_err(failed)?;
        self.0 = Filter::resume(text).map_err(failed)?;
        Ok(())
    }

    /// Takes in a sample: rad/s (3,), m/s² (3,), in the body frame. Gives None, or why it was not used.
    fn imu(
        &mut self,
        #[pyo3(from_py_with = arguments::stamp_ns)] stamp_ns: i64,
        #[pyo3(from_py_with = arguments::angular_velocity)] angular_velocity: Floats<'_>,
        #[pyo3(from_py_with = arguments::specific_force)] specific_force: Floats<'_>,
    ) -> PyResult<Option<&'static str>> {
        let sample = ImuSample {
            stamp: Stamp::from_nanos(stamp_ns),
            angular_velocity: vector3("angular_velocity", &angular_velocity)?,
            specific_force: vector3("specific_force", &specific_force)?,
        };
        Ok(refusal(self.0.imu(&sample)))
    }

    /// Takes in a magnetic field (3,) in any unit, in the body frame.
    fn magnetic_field(
        &mut self,
        #[pyo3(from_py_with = arguments::stamp_ns)] stamp_ns: i64,
        #[pyo3(from_py_with = arguments::field)] field: Floats<'_>,
    ) -> PyResult<Option<&'static str>> {
        let field = MagneticField { stamp: Stamp::from_nanos(stamp_ns), field: vector3("field", &field)? };
        Ok(refusal(self.0.magnetic_field(&field)))
    }

    /// Takes arrays of samples, (n,) ns, (n, 3) rad/s, (n, 3) m/s², with magnetic fields in between by their stamps:
    /// the estimate after each sample.
    #[pyo3(signature = (stamp_ns, angular_velocity, specific_force, field_stamp_ns=None, field=None))]
    fn run<'py>(
        &mut self,
        py: Python<'py>,
        #[pyo3(from_py_with = arguments::stamps)] stamp_ns: Integers<'py>,
        #[pyo3(from_py_with = arguments::angular_velocity)] angular_velocity: Floats<'py>,
        #[pyo3(from_py_with = arguments::specific_force)] specific_force: Floats<'py>,
        #[pyo3(from_py_with = arguments::field_stamp_ns)] field_stamp_ns: Option<Integers<'py>>,
        #[pyo3(from_py_with = arguments::fields)] field: Option<Floats<'py>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let stamps = numbers("stamp_ns", &stamp_ns, &[None])?;
        let shape = [Some(stamps.len()), Some(3)];
        let rates = numbers("angular_velocity", &angular_velocity, &shape)?;
        let forces = numbers("specific_force", &specific_force, &shape)?;
        let mut fields = Vec::new();
        if let (Some(stamps), Some(field)) = (field_stamp_ns, field) {
            let stamps = numbers("field_stamp_ns", &stamps, &[None])?;
            let values = numbers("field", &field, &[Some(stamps.len()), Some(3)])?;
            fields.extend(stamps.iter().zip(values.chunks_exact(3)).map(|(stamp, value)| MagneticField {
                stamp: Stamp::from_nanos(*stamp),
                field: Vector3::from_column_slice(value),
            }));
        }
        let (mut estimates, mut fields) = (Vec::with_capacity(stamps.len()), fields.iter().peekable());
        let places: Vec<usize> = (0..stamps.len()).collect();
        for some in places.chunks(AT_ONCE) {
            let filter = &mut self.0;
            py.detach(|| {
                for &k in some {
                    let sample = ImuSample {
                        stamp: Stamp::from_nanos(stamps[k]),
                        angular_velocity: Vector3::from_column_slice(&rates[3 * k..3 * k + 3]),
                        specific_force: Vector3::from_column_slice(&forces[3 * k..3 * k + 3]),
                    };
                    // What is left out is counted.
                    let _ = filter.imu(&sample);
                    while let Some(field) = fields.next_if(|field| field.stamp <= sample.stamp) {
                        let _ = filter.magnetic_field(field);
                    }
                    estimates.push(filter.estimate());
                }
            });
            py.check_signals()?;
        }
        estimate_arrays(py, &stamps, &estimates)
    }

    /// The estimate at the newest sample; None before any.
    fn estimate<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let Some(estimate) = self.0.estimate() else { return Ok(None) };
        let fields = PyDict::new(py);
        let vector = |v: Vector3<f64>| array(py, vec![v.x, v.y, v.z], &[3]);
        let matrix = |m: nalgebra::Matrix3<f64>| array(py, matrix3_rows(Some(&m)).to_vec(), &[3, 3]);
        fields.set_item("stamp_ns", estimate.stamp.nanos())?;
        fields.set_item("orientation", array(py, quaternion_row(&estimate.orientation).to_vec(), &[4])?)?;
        fields.set_item("orientation_covariance", matrix(estimate.orientation_covariance)?)?;
        fields.set_item("angular_velocity", vector(estimate.angular_velocity)?)?;
        fields.set_item("gyro_bias", vector(estimate.gyro_bias)?)?;
        fields.set_item("gyro_bias_covariance", matrix(estimate.gyro_bias_covariance)?)?;
        fields.set_item("at_rest", estimate.at_rest)?;
        data(py, "AttitudeEstimate", &fields).map(Some)
    }

    /// Puts the body to an orientation, quaternion (x, y, z, w), with the standard deviation of each axis.
    fn set_orientation(
        &mut self,
        #[pyo3(from_py_with = arguments::orientation)] orientation: Floats<'_>,
        #[pyo3(from_py_with = arguments::std_rad)] std_rad: f64,
    ) -> PyResult<Option<&'static str>> {
        let q = numbers("orientation", &orientation, &[Some(4)])?;
        let quaternion = UnitQuaternion::new_unchecked(Quaternion::new(q[3], q[0], q[1], q[2]));
        Ok(refusal(self.0.set_orientation(quaternion, std_rad)))
    }

    /// How often input was not used, by reason.
    #[getter]
    fn dropped(&self) -> BTreeMap<&'static str, u64> {
        self.0.counts().by_word()
    }

    /// Begins anew.
    fn reset(&mut self) {
        self.0.reset();
    }
}

fn quaternion_row(q: &UnitQuaternion<f64>) -> [f64; 4] {
    [q.i, q.j, q.k, q.w]
}

fn estimate_arrays<'py>(
    py: Python<'py>,
    stamps: &[i64],
    estimates: &[Option<Estimate>],
) -> PyResult<Bound<'py, PyAny>> {
    let n = estimates.len();
    let all = || estimates.iter().map(Option::as_ref);
    let fields = PyDict::new(py);
    fields.set_item("stamp_ns", array(py, stamps.to_vec(), &[n])?)?;
    let orientation = all().flat_map(|e| e.map_or([f64::NAN; 4], |e| quaternion_row(&e.orientation))).collect();
    fields.set_item("orientation", array(py, orientation, &[n, 4])?)?;
    let covariance = all().flat_map(|e| matrix3_rows(e.map(|e| &e.orientation_covariance))).collect();
    fields.set_item("orientation_covariance", array(py, covariance, &[n, 3, 3])?)?;
    let bias = all().flat_map(|e| e.map_or([f64::NAN; 3], |e| e.gyro_bias.into())).collect();
    fields.set_item("gyro_bias", array(py, bias, &[n, 3])?)?;
    let at_rest = all().map(|e| e.is_some_and(|e| e.at_rest)).collect();
    fields.set_item("at_rest", array::<bool>(py, at_rest, &[n])?)?;
    data(py, "Attitudes", &fields)
}

/// An inertial recording through the filter: the report as JSON and as a table.
#[pyfunction]
#[pyo3(signature = (source, settings, first_orientation, bias_window_s, imu_topic))]
pub fn evaluate_attitude(
    py: Python<'_>,
    source: String,
    settings: Option<&Bound<'_, PyAny>>,
    first_orientation: bool,
    bias_window_s: f64,
    imu_topic: Option<String>,
) -> PyResult<(String, String)> {
    if !(bias_window_s.is_finite() && bias_window_s > 0.0) {
        return Err(wrong_call(format!("bias_window_s is {bias_window_s}; allowed: more than 0")));
    }
    let config = config(settings)?;
    let begin = if first_orientation { Begin::FirstOrientation } else { Begin::Cold };
    let report = interruptible(py, move |_| {
        let topics = Topics { imu: imu_topic, ..Topics::default() };
        let recording = open(&source, &topics).map_err(|error| error.to_string())?;
        let outcome = run(&recording, &config, begin).map_err(|error| error.to_string())?;
        let drift = drift(&recording, config.method, bias_window_s);
        let errors = Errors::new(&outcome, drift.as_ref().map(|drift| drift.bias));
        Ok::<_, String>(Report::new(&recording, &config, &outcome, &errors, drift.as_ref()))
    })?;
    let report = report.map_err(failed)?;
    Ok((serde_json::to_string(&report).map_err(failed)?, report.to_text()))
}
