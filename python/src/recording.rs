//! Recordings: bags, data sets, simulations and arrays.

use crate::arrays::{Floats, Integers, array, data, matrix2, matrix2_rows, matrix3, matrix3_rows, numbers};
use crate::errors::{failed, wrong_call};
use crate::settings::{scenario, study};
use crate::wait::interruptible;
use lienav_base::stamp::Stamp;
use lienav_eval::{harder, simulated};
use lienav_io::bag::{Existing, Topics};
use lienav_io::recording::{Input, Recording as Recorded, stream};
use lienav_io::to_bag::to_bag;
use lienav_slam::{FeatureKind, Features, Imu, Label, Noise, Observation, Odometry, Se2, Tilt};
use nalgebra::Vector2;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

/// What numbers of a kind mean, by its place in `Features.kind`.
pub const KINDS: [(&str, FeatureKind); 3] = [
    ("position", FeatureKind::RelativePosition),
    ("range_bearing", FeatureKind::RangeBearing),
    ("stereo_bearings", FeatureKind::StereoBearings),
];

/// A kind by its name.
pub fn kind_named(name: &str) -> PyResult<FeatureKind> {
    let found = KINDS.iter().find(|(word, _)| *word == name).map(|(_, kind)| *kind);
    found.ok_or_else(|| wrong_call(format!("kind is '{name}'; allowed: {}", KINDS.map(|(word, _)| word).join(" | "))))
}

/// An identity; -1 is unknown.
pub fn identity(id: i64) -> PyResult<Option<u32>> {
    match id {
        -1 => Ok(None),
        id => u32::try_from(id).map(Some).map_err(|_| wrong_call(format!("an id is {id}; allowed: -1 … 4294967295"))),
    }
}

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
}

impl From<TopicNames> for Topics {
    fn from(names: TopicNames) -> Self {
        let TopicNames { odometry, features, imu, truth, landmarks } = names;
        Self { odometry, features, imu, truth, true_landmarks: landmarks, ..Self::default() }
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
    seed: Option<u64>,
    settings: Vec<(String, String)>,
) -> PyResult<Recording> {
    let mut scenario = scenario(given, &settings)?;
    scenario.seed = seed.unwrap_or(scenario.seed);
    let recording = interruptible(py, move |_| simulated::recording(&scenario))?;
    Ok(Recording(Arc::new(recording.map_err(wrong_call)?)))
}

/// The arrays of one kind of input, as the fields of `lienav._data`.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct OdometryArrays<'py> {
    stamp_ns: Integers<'py>,
    twist: Floats<'py>,
    covariance: Option<Floats<'py>>,
}

#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct ImuArrays<'py> {
    stamp_ns: Integers<'py>,
    yaw_rate: Floats<'py>,
    tilt: Option<Floats<'py>>,
}

#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct FeatureArrays<'py> {
    stamp_ns: Integers<'py>,
    first: Integers<'py>,
    ids: Integers<'py>,
    values: Floats<'py>,
    kind: Vec<String>,
    covariance: Option<Floats<'py>>,
    label: Option<Floats<'py>>,
}

/// All input of a filter as arrays.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct InputArrays<'py> {
    odometry: Option<OdometryArrays<'py>>,
    imu: Option<ImuArrays<'py>>,
    features: Option<FeatureArrays<'py>>,
    order: Option<Integers<'py>>,
}

impl InputArrays<'_> {
    /// The messages in the order of their arrival: as `order` says, or by their stamps.
    pub fn inputs(&self) -> PyResult<Vec<Input>> {
        let odometry = self.odometry.as_ref().map_or(Ok(Vec::new()), odometry_inputs)?;
        let imu = self.imu.as_ref().map_or(Ok(Vec::new()), imu_inputs)?;
        let features = self.features.as_ref().map_or(Ok(Vec::new()), feature_inputs)?;
        let Some(order) = &self.order else {
            // At one stamp, a cloud comes last: what tells of the motion until then is there.
            let mut all: Vec<Input> = imu.into_iter().chain(odometry).chain(features).collect();
            all.sort_by_key(Input::stamp);
            return Ok(all);
        };
        let order = numbers("order", order, &[None])?;
        let total = odometry.len() + imu.len() + features.len();
        let mut kinds = [odometry.into_iter(), imu.into_iter(), features.into_iter()];
        let mut next = |kind: &i64| usize::try_from(*kind).ok().and_then(|kind| kinds.get_mut(kind)?.next());
        let inputs: Option<Vec<Input>> = order.iter().map(&mut next).collect();
        inputs.filter(|inputs| inputs.len() == total).ok_or_else(|| {
            wrong_call("order does not fit the messages; give 0 for each odometry, 1 for each imu, 2 for each cloud")
        })
    }
}

fn odometry_inputs(arrays: &OdometryArrays<'_>) -> PyResult<Vec<Input>> {
    let stamps = numbers("odometry.stamp_ns", &arrays.stamp_ns, &[None])?;
    let n = Some(stamps.len());
    let twists = numbers("odometry.twist", &arrays.twist, &[n, Some(3)])?;
    let three = Some(3);
    let covariances = arrays.covariance.as_ref();
    let covariances = covariances.map(|c| numbers("odometry.covariance", c, &[n, three, three])).transpose()?;
    let one = |(k, (stamp, twist)): (usize, (&i64, &[f64]))| {
        Input::Odometry(Odometry {
            stamp: Stamp::from_nanos(*stamp),
            velocity: Vector2::new(twist[0], twist[1]),
            yaw_rate: twist[2],
            covariance: covariances.as_ref().and_then(|all| matrix3(&all[9 * k..9 * k + 9])),
        })
    };
    Ok(stamps.iter().zip(twists.chunks_exact(3)).enumerate().map(one).collect())
}

fn imu_inputs(arrays: &ImuArrays<'_>) -> PyResult<Vec<Input>> {
    let stamps = numbers("imu.stamp_ns", &arrays.stamp_ns, &[None])?;
    let n = Some(stamps.len());
    let rates = numbers("imu.yaw_rate", &arrays.yaw_rate, &[n])?;
    let tilts = arrays.tilt.as_ref().map(|tilt| numbers("imu.tilt", tilt, &[n, Some(2)])).transpose()?;
    let tilt = |k: usize| {
        let [roll, pitch] = *tilts.as_ref()?.get(2 * k..2 * k + 2)?.as_array()?;
        (!roll.is_nan() || !pitch.is_nan()).then_some(Tilt { roll, pitch })
    };
    let one = |(k, (stamp, yaw_rate)): (usize, (&i64, &f64))| {
        Input::Imu(Imu { stamp: Stamp::from_nanos(*stamp), yaw_rate: *yaw_rate, tilt: tilt(k) })
    };
    Ok(stamps.iter().zip(&rates).enumerate().map(one).collect())
}

fn feature_inputs(arrays: &FeatureArrays<'_>) -> PyResult<Vec<Input>> {
    let stamps = numbers("features.stamp_ns", &arrays.stamp_ns, &[None])?;
    let first = numbers("features.first", &arrays.first, &[Some(stamps.len() + 1)])?;
    let ids = numbers("features.ids", &arrays.ids, &[None])?;
    let n = Some(ids.len());
    let values = numbers("features.values", &arrays.values, &[n, Some(2)])?;
    let two = Some(2);
    let covariances = arrays.covariance.as_ref();
    let covariances = covariances.map(|c| numbers("features.covariance", c, &[n, two, two])).transpose()?;
    let labels = arrays.label.as_ref().map(|label| numbers("features.label", label, &[n, Some(3)])).transpose()?;
    let kinds = arrays.kind.iter().map(|name| kind_named(name)).collect::<PyResult<Vec<_>>>()?;
    if kinds.len() != 1 && kinds.len() != stamps.len() {
        return Err(wrong_call(format!("features.kind has {} names for {} clouds", kinds.len(), stamps.len())));
    }
    let observation = |k: usize| {
        let label = labels.as_ref().and_then(|all| all[3 * k..3 * k + 3].as_array::<3>().copied());
        Ok(Observation {
            id: identity(ids[k])?,
            value: [values[2 * k], values[2 * k + 1]].into(),
            covariance: covariances.as_ref().and_then(|all| matrix2(&all[4 * k..4 * k + 4])).map(Noise::from),
            label: label.map_or_else(Label::default, |[class, diameter_m, diameter_std_m]| Label {
                class: class as u32,
                diameter_m,
                diameter_std_m,
            }),
        })
    };
    let cloud = |(k, stamp): (usize, &i64)| {
        let range = usize::try_from(first[k]).ok().zip(usize::try_from(first[k + 1]).ok());
        let (from, to) = range.filter(|(from, to)| from <= to && *to <= ids.len()).ok_or_else(|| {
            wrong_call(format!(
                "features.first goes from {} to {} at cloud {k}; it has to increase from 0 to {}",
                first[k],
                first[k + 1],
                ids.len()
            ))
        })?;
        Ok(Input::Features(Features {
            stamp: Stamp::from_nanos(*stamp),
            kind: kinds[if kinds.len() == 1 { 0 } else { k }],
            observations: (from..to).map(observation).collect::<PyResult<_>>()?,
        }))
    };
    stamps.iter().enumerate().map(cloud).collect()
}

/// Input as a recording; `known` is what is known besides.
#[pyfunction]
#[pyo3(signature = (arrays, name, truth, true_landmarks, settings))]
pub fn recording_of_arrays(
    arrays: InputArrays<'_>,
    name: String,
    truth: Option<(Integers<'_>, Floats<'_>)>,
    true_landmarks: Option<(Integers<'_>, Floats<'_>)>,
    settings: Option<&Bound<'_, PyAny>>,
) -> PyResult<Recording> {
    let mut recording = Recorded { name, inputs: arrays.inputs()?, ..Recorded::default() };
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
            Input::Odometry(odometry) => Some(odometry),
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
        let clouds: Vec<&Features> = self.each(|input| match input {
            Input::Features(cloud) => Some(cloud),
            _ => None,
        });
        let readings = || clouds.iter().flat_map(|cloud| &cloud.observations);
        let (m, n) = (clouds.len(), readings().count());
        let fields = PyDict::new(py);
        fields.set_item("stamp_ns", array(py, clouds.iter().map(|c| c.stamp.nanos()).collect(), &[m])?)?;
        let mut first = vec![0];
        for cloud in &clouds {
            first.push(first[first.len() - 1] + cloud.observations.len() as i64);
        }
        fields.set_item("first", array(py, first, &[m + 1])?)?;
        fields.set_item("ids", array(py, readings().map(|o| o.id.map_or(-1, i64::from)).collect(), &[n])?)?;
        let value = |o: &Observation| std::array::from_fn::<f64, 2, _>(|k| o.value.get(k).copied().unwrap_or(f64::NAN));
        fields.set_item("values", array(py, readings().flat_map(value).collect(), &[n, 2])?)?;
        let name = |kind: FeatureKind| KINDS.iter().find(|(_, k)| *k == kind).map_or("range_bearing", |(word, _)| word);
        let mut kinds: Vec<&str> = clouds.iter().map(|cloud| name(cloud.kind)).collect();
        if kinds.windows(2).all(|pair| pair[0] == pair[1]) {
            kinds.truncate(1);
        }
        let kinds = if kinds.is_empty() { vec![KINDS[1].0] } else { kinds };
        fields.set_item("kind", kinds)?;
        let covariance = readings().any(|o| o.covariance.is_some()).then(|| {
            let one = |o: &Observation| matrix2_rows(o.covariance.map(|noise| noise.fixed::<2>()).as_ref());
            readings().flat_map(one).collect::<Vec<f64>>()
        });
        fields.set_item("covariance", covariance.map(|c| array(py, c, &[n, 2, 2])).transpose()?)?;
        let label = readings().any(|o| o.label != Label::default()).then(|| {
            let one = |o: &Observation| [f64::from(o.label.class), o.label.diameter_m, o.label.diameter_std_m];
            readings().flat_map(one).collect::<Vec<f64>>()
        });
        fields.set_item("label", label.map(|label| array(py, label, &[n, 3])).transpose()?)?;
        data(py, "Features", &fields)
    }

    /// Of each message, which kind it is: 0 odometry, 1 imu, 2 features.
    fn order<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let kind = |input: &Input| match input {
            Input::Odometry(_) => 0_i64,
            Input::Imu(_) => 1,
            Input::Features(_) => 2,
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

    fn to_bag(&self, py: Python<'_>, path: PathBuf, replace: bool) -> PyResult<u64> {
        let recording = self.0.clone();
        let existing = if replace { Existing::Replace } else { Existing::Refuse };
        let written = interruptible(py, move |_| to_bag(&recording, &path, existing, &mut |_, _| ()))?;
        Ok(written.map_err(failed)?.messages)
    }

    /// A copy that is harder: every n-th cloud only, false readings, no identities.
    fn harder(&self, every: usize, clutter: usize, clutter_seed: u64, ignore_ids: bool) -> Self {
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
                if let Input::Features(features) = input {
                    identities.hide(features);
                }
            }
        }
        Self(Arc::new(recording))
    }
}

impl Recording {
    fn each<'a, T>(&'a self, of: impl Fn(&'a Input) -> Option<T>) -> Vec<T> {
        self.0.inputs.iter().filter_map(of).collect()
    }
}
