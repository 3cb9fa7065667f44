//! Recordings: bags, data sets, simulations and arrays.

use crate::arguments;
use crate::arrays::{Floats, Integers, array, data, matrix3_rows, noise_rows, numbers};
use crate::errors::{failed, wrong_call};
use crate::messages::{InputArrays, KINDS, Messages, identity, word_of};
use crate::rest::Rest;
use crate::settings::{scenario, study};
use crate::wait::interruptible;
use lienav_base::stamp::Stamp;
use lienav_eval::{harder, simulated};
use lienav_io::bag::{Existing, Topics};
use lienav_io::recording::{Input, Recording as Recorded, stream};
use lienav_io::to_bag::to_bag;
use lienav_slam::{Imu, Label, Measurement, Odometry, Scan, Se2};
use nalgebra::Vector2;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

#[pyclass(frozen, module = "lienav._lienav")]
pub struct Recording(pub Arc<Recorded>);

/// What is asked for of a bag whose topics have other names.
#[derive(FromPyObject, Default)]
#[pyo3(from_item_all)]
pub struct TopicNames {
    odometry: Option<String>,
    features: Option<String>,
    imu: Option<String>,
    truth: Option<String>,
    landmarks: Option<String>,
    parameters: Option<String>,
}

impl From<TopicNames> for Topics {
    fn from(names: TopicNames) -> Self {
        let TopicNames { odometry, features, imu, truth, landmarks, parameters } = names;
        Self { odometry, features, imu, truth, true_landmarks: landmarks, parameters, ..Self::default() }
    }
}

#[pyfunction]
pub fn open_recording(py: Python<'_>, source: String, topics: TopicNames) -> PyResult<Recording> {
    let opened = interruptible(py, move |wanted| {
        let mut stream = stream(&source, &topics.into())?;
        let inputs = stream.by_ref().take_while(|_| wanted.goes_on()).collect();
        Ok::<_, lienav_io::recording::OpenError>(Recorded { inputs, ..stream.finish() })
    })?;
    Ok(Recording(Arc::new(opened.map_err(failed)?)))
}

#[pyfunction]
pub fn simulate(
    py: Python<'_>,
    given: &Bound<'_, PyAny>,
    #[pyo3(from_py_with = arguments::scenario_seed)] seed: Option<u64>,
    settings: Vec<(String, String)>,
) -> PyResult<Recording> {
    let mut scenario = scenario(given, &settings)?;
    scenario.seed = seed.unwrap_or(scenario.seed);
    let recording = interruptible(py, move |_| simulated::recording(&scenario))?;
    Ok(Recording(Arc::new(recording.map_err(wrong_call)?)))
}

/// Input as a recording, with what is known besides.
#[pyfunction]
#[pyo3(signature = (arrays, name, truth, true_landmarks, settings))]
pub fn recording_of_arrays(
    arrays: InputArrays<'_>,
    name: String,
    truth: Option<(Integers<'_>, Floats<'_>)>,
    true_landmarks: Option<(Integers<'_>, Floats<'_>)>,
    settings: Option<&Bound<'_, PyAny>>,
) -> PyResult<Recording> {
    let mut recording = Recorded { name, inputs: Messages::of(&arrays)?.inputs(), ..Recorded::default() };
    if let Some((stamps, poses)) = truth {
        let stamps = numbers("truth.stamp_ns", &stamps, &[None])?;
        let poses = numbers("truth.pose", &poses, &[Some(stamps.len()), Some(3)])?;
        let one = |(stamp, pose): (&i64, &[f64])| (Stamp::from_nanos(*stamp), Se2::new(pose[0], pose[1], pose[2]));
        recording.truth = stamps.iter().zip(poses.chunks_exact(3)).map(one).collect();
        if let Some(pair) = recording.truth.windows(2).find(|pair| pair[1].0 <= pair[0].0) {
            let (earlier, later) = (pair[0].0, pair[1].0);
            return Err(wrong_call(format!("truth.stamp_ns goes from {earlier} s to {later} s; it has to increase")));
        }
    }
    if let Some((ids, places)) = true_landmarks {
        let ids = numbers("true_landmarks.ids", &ids, &[None])?;
        let places = numbers("true_landmarks.position", &places, &[Some(ids.len()), Some(2)])?;
        let one = |(id, place): (&i64, &[f64])| {
            let id = identity(*id)?.ok_or_else(|| wrong_call("a true landmark has the id -1; give it one"))?;
            Ok((id, Vector2::new(place[0], place[1])))
        };
        recording.true_landmarks = ids.iter().zip(places.chunks_exact(2)).map(one).collect::<PyResult<_>>()?;
    }
    if settings.is_some() {
        recording.config = Some(study(None, settings)?.config());
    }
    Ok(Recording(Arc::new(recording)))
}

#[pymethods]
impl Recording {
    /// What it has beside its arrays.
    fn rest(&self) -> PyResult<Rest> {
        Rest::of(&self.0)
    }

    /// The same arrays with this beside them.
    fn with_rest(&self, rest: Rest) -> PyResult<Self> {
        let mut recording = (*self.0).clone();
        rest.put_into(&mut recording)?;
        Ok(Self(Arc::new(recording)))
    }

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

    /// What the source says of its sensors, as JSON.
    fn settings_json(&self) -> PyResult<Option<String>> {
        self.0.config.as_ref().map(|config| serde_json::to_string(config).map_err(failed)).transpose()
    }

    fn __len__(&self) -> usize {
        self.0.inputs.len()
    }

    fn odometry<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let all: Vec<&Odometry> = self.each(|input| match input {
            Input::Odometry(odometry) | Input::Fallback { odometry, .. } | Input::Received { odometry, .. } => {
                Some(odometry)
            }
            _ => None,
        });
        let n = all.len();
        let fields = PyDict::new(py);
        fields.set_item("stamp_ns", array(py, all.iter().map(|o| o.stamp.nanos()).collect(), &[n])?)?;
        let twists = all.iter().flat_map(|o| [o.velocity.x, o.velocity.y, o.yaw_rate]).collect();
        fields.set_item("twist", array(py, twists, &[n, 3])?)?;
        let covariance = all
            .iter()
            .any(|o| o.covariance.is_some())
            .then(|| all.iter().flat_map(|o| matrix3_rows(o.covariance.as_ref())).collect::<Vec<f64>>());
        fields.set_item("covariance", covariance.map(|c| array(py, c, &[n, 3, 3])).transpose()?)?;
        data(py, "Odometry", &fields)
    }

    fn imu<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let all: Vec<&Imu> = self.each(|input| match input {
            Input::Imu(imu) => Some(imu),
            _ => None,
        });
        let n = all.len();
        let fields = PyDict::new(py);
        fields.set_item("stamp_ns", array(py, all.iter().map(|imu| imu.stamp.nanos()).collect(), &[n])?)?;
        fields.set_item("yaw_rate", array(py, all.iter().map(|imu| imu.yaw_rate).collect(), &[n])?)?;
        let tilt = all.iter().any(|imu| imu.tilt.is_some()).then(|| {
            let one = |imu: &&Imu| imu.tilt.map_or([f64::NAN; 2], |tilt| [tilt.roll, tilt.pitch]);
            all.iter().flat_map(one).collect::<Vec<f64>>()
        });
        fields.set_item("tilt", tilt.map(|tilt| array(py, tilt, &[n, 2])).transpose()?)?;
        data(py, "Imu", &fields)
    }

    fn features<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let clouds: Vec<&Scan> = self.each(|input| match input {
            Input::Scan(cloud) => Some(cloud),
            _ => None,
        });
        let measurements = || clouds.iter().flat_map(|cloud| &cloud.measurements);
        let (m, n) = (clouds.len(), measurements().count());
        let fields = PyDict::new(py);
        fields.set_item("stamp_ns", array(py, clouds.iter().map(|c| c.stamp.nanos()).collect(), &[m])?)?;
        let mut first = vec![0];
        for cloud in &clouds {
            first.push(first[first.len() - 1] + cloud.measurements.len() as i64);
        }
        fields.set_item("first", array(py, first, &[m + 1])?)?;
        fields.set_item("ids", array(py, measurements().map(|o| o.id.map_or(-1, i64::from)).collect(), &[n])?)?;
        let w = measurements().map(|o| o.value.len()).max().unwrap_or(2).max(2);
        let value = |o: &Measurement| {
            let numbers = o.value;
            (0..w).map(move |k| numbers.get(k).copied().unwrap_or(f64::NAN))
        };
        fields.set_item("values", array(py, measurements().flat_map(value).collect(), &[n, w])?)?;
        let mut kinds: Vec<&str> = clouds.iter().map(|cloud| word_of(cloud.kind)).collect();
        if kinds.windows(2).all(|pair| pair[0] == pair[1]) {
            kinds.truncate(1);
        }
        let kinds = if kinds.is_empty() { vec![KINDS[1].0] } else { kinds };
        fields.set_item("kind", kinds)?;
        let covariance = measurements()
            .any(|o| o.covariance.is_some())
            .then(|| measurements().flat_map(|o| noise_rows(o.covariance.as_ref(), w)).collect::<Vec<f64>>());
        fields.set_item("covariance", covariance.map(|c| array(py, c, &[n, w, w])).transpose()?)?;
        let label = measurements().any(|o| o.label != Label::default()).then(|| {
            let one = |o: &Measurement| [f64::from(o.label.class), o.label.diameter_m, o.label.diameter_std_m];
            measurements().flat_map(one).collect::<Vec<f64>>()
        });
        fields.set_item("label", label.map(|label| array(py, label, &[n, 3])).transpose()?)?;
        let height =
            measurements().any(|o| o.height_m != 0.0).then(|| measurements().map(|o| o.height_m).collect::<Vec<f64>>());
        fields.set_item("height_m", height.map(|height| array(py, height, &[n])).transpose()?)?;
        data(py, "Features", &fields)
    }

    /// Of each message, which kind it is: 0 odometry, 1 imu, 2 features.
    fn order<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let kind = |input: &Input| match input {
            Input::Odometry(_) | Input::Fallback { .. } | Input::Received { .. } => 0_i64,
            Input::Imu(_) => 1,
            Input::Scan(_) => 2,
        };
        array(py, self.0.inputs.iter().map(kind).collect(), &[self.0.inputs.len()])
    }

    /// (stamps in ns, (n, 3) of x, y, θ).
    fn truth<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
        let n = self.0.truth.len();
        let stamps = self.0.truth.iter().map(|(stamp, _)| stamp.nanos()).collect();
        let poses = self.0.truth.iter().flat_map(|(_, pose)| [pose.p.x, pose.p.y, pose.theta]).collect();
        Ok((array(py, stamps, &[n])?, array(py, poses, &[n, 3])?))
    }

    /// (identities, (n, 2) of x, y).
    fn true_landmarks<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
        let n = self.0.true_landmarks.len();
        let ids = self.0.true_landmarks.iter().map(|(id, _)| i64::from(*id)).collect();
        let places = self.0.true_landmarks.iter().flat_map(|(_, place)| [place.x, place.y]).collect();
        Ok((array(py, ids, &[n])?, array(py, places, &[n, 2])?))
    }

    fn to_bag(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = arguments::path)] path: PathBuf,
        replace: bool,
    ) -> PyResult<u64> {
        let recording = self.0.clone();
        let existing = if replace { Existing::Replace } else { Existing::Refuse };
        let written = interruptible(py, move |_| to_bag(&recording, &path, existing, &mut |_, _| ()))?;
        Ok(written.map_err(failed)?.messages)
    }

    /// A copy that is harder: every n-th cloud only, false measurements, no identities.
    fn harder(
        &self,
        #[pyo3(from_py_with = arguments::every)] every: usize,
        #[pyo3(from_py_with = arguments::clutter)] clutter: usize,
        #[pyo3(from_py_with = arguments::clutter_seed)] clutter_seed: u64,
        ignore_ids: bool,
    ) -> PyResult<Self> {
        if every == 0 {
            return Err(wrong_call("every is 0; expected a whole number from 1 on"));
        }
        let mut recording = (*self.0).clone();
        if every > 1 {
            harder::keep_every(&mut recording, every);
        }
        if clutter > 0 {
            harder::add_clutter(&mut recording, clutter, clutter_seed);
        }
        if ignore_ids {
            let identities = recording.identities.get_or_insert_default();
            for input in &mut recording.inputs {
                if let Input::Scan(features) = input {
                    identities.hide(features);
                }
            }
        }
        Ok(Self(Arc::new(recording)))
    }
}

impl Recording {
    fn each<'a, T>(&'a self, of: impl Fn(&'a Input) -> Option<T>) -> Vec<T> {
        self.0.inputs.iter().filter_map(of).collect()
    }
}
