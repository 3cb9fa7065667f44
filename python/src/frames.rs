//! Input in space as arrays: checked once, then given out one by one.

use crate::arrays::{FASTEST_NS, Floats, Integers, matrix3, numbers, stamps};
use crate::errors::wrong_call;
use crate::poses;
use lienav_base::stamp::Stamp;
use lienav_lie::Se3;
use lienav_space::{Frame, Imu, ImuSample, Odometry, Pose, Seen, Value};
use nalgebra::{Matrix3, Matrix6, Vector2, Vector3, Vector4};
use pyo3::prelude::*;

/// A kind of measurement.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Pixel,
    Normalized,
    Stereo,
    Position,
    Range,
    Bearing,
}

/// The kinds by their names, and how many numbers one has.
const KINDS: [(&str, Kind, usize); 6] = [
    ("pixel", Kind::Pixel, 2),
    ("normalized", Kind::Normalized, 2),
    ("stereo", Kind::Stereo, 4),
    ("position", Kind::Position, 3),
    ("range", Kind::Range, 1),
    ("bearing", Kind::Bearing, 3),
];

/// A kind by its name, and how many numbers a measurement has.
pub fn kind_named(name: &str) -> PyResult<(Kind, usize)> {
    let found = KINDS.iter().find(|(word, ..)| *word == name).map(|(_, kind, numbers)| (*kind, *numbers));
    found.ok_or_else(|| wrong_call(format!("kind is '{name}'; allowed: {}", KINDS.map(|(word, ..)| word).join(" | "))))
}

/// An identity: unknown landmarks are not used in space.
pub fn identity(id: i64) -> PyResult<u64> {
    u64::try_from(id).map_err(|_| wrong_call(format!("an id is {id}; allowed: 0 … 9223372036854775807")))
}

/// How many rows and columns the noise of a kind has, if a message can state it.
pub fn noise_dim(kind: Kind) -> Option<usize> {
    match kind {
        Kind::Position => Some(3),
        Kind::Range | Kind::Bearing => Some(1),
        Kind::Pixel | Kind::Normalized | Kind::Stereo => None,
    }
}

/// A measurement from its numbers; `noise` are those of its covariance, none or NaN where that is not stated.
pub fn value(kind: Kind, z: &[f64], noise: &[f64]) -> Value {
    let at = |k: usize| z.get(k).copied().unwrap_or(f64::NAN);
    let sigma = noise.first().filter(|variance| !variance.is_nan()).map(|variance| variance.sqrt());
    match kind {
        Kind::Pixel => Value::Pixel(Vector2::new(at(0), at(1))),
        Kind::Normalized => Value::Normalized(Vector2::new(at(0), at(1))),
        Kind::Stereo => Value::Stereo(Vector4::new(at(0), at(1), at(2), at(3))),
        Kind::Position => Value::Position(Vector3::new(at(0), at(1), at(2)), matrix3(noise)),
        Kind::Range => Value::Range(at(0), sigma),
        Kind::Bearing => Value::Bearing(Vector3::new(at(0), at(1), at(2)), sigma),
    }
}

#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct ImuArrays<'py> {
    stamp_ns: Integers<'py>,
    angular_velocity: Floats<'py>,
    specific_force: Floats<'py>,
}

#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct FeatureArrays<'py> {
    stamp_ns: Integers<'py>,
    first: Integers<'py>,
    ids: Integers<'py>,
    values: Floats<'py>,
    kind: Vec<String>,
    sensor: Option<Integers<'py>>,
    covariance: Option<Floats<'py>>,
}

#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct OdometryArrays<'py> {
    stamp_ns: Integers<'py>,
    velocity: Floats<'py>,
    covariance: Option<Floats<'py>>,
}

#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct PoseArrays<'py> {
    stamp_ns: Integers<'py>,
    position: Floats<'py>,
    orientation: Floats<'py>,
    covariance: Floats<'py>,
}

/// All input of a filter as arrays.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct SpaceArrays<'py> {
    imu: Option<ImuArrays<'py>>,
    features: Option<FeatureArrays<'py>>,
    odometry: Option<OdometryArrays<'py>>,
    poses: Option<PoseArrays<'py>>,
}

/// A message.
#[derive(Clone)]
pub enum Message {
    Frame(Frame),
    Odometry(Odometry),
    Pose(Pose),
    Imu(ImuSample),
}

impl Message {
    fn stamp(&self) -> Stamp {
        match self {
            Self::Frame(frame) => frame.stamp,
            Self::Odometry(odometry) => odometry.stamp,
            Self::Pose(pose) => pose.stamp,
            Self::Imu(sample) => sample.stamp,
        }
    }

    /// At one stamp, the sample comes last: with it, what waits for its instant is due.
    fn place(&self) -> (Stamp, u8) {
        let kind = match self {
            Self::Odometry(_) => 0,
            Self::Pose(_) => 1,
            Self::Frame(_) => 2,
            Self::Imu(_) => 3,
        };
        (self.stamp(), kind)
    }
}

/// All messages by their stamps; `mount` is where the wheels are.
pub fn messages(arrays: &SpaceArrays<'_>, mount: &Se3) -> PyResult<Vec<Message>> {
    let mut all = Vec::new();
    if let Some(imu) = &arrays.imu {
        all.extend(samples(imu)?);
    }
    if let Some(features) = &arrays.features {
        all.extend(frames(features)?);
    }
    if let Some(odometry) = &arrays.odometry {
        all.extend(velocities(odometry, mount)?);
    }
    if let Some(poses) = &arrays.poses {
        all.extend(absolute_poses(poses)?);
    }
    all.sort_by_key(Message::place);
    Ok(all)
}

fn samples(arrays: &ImuArrays<'_>) -> PyResult<Vec<Message>> {
    let stamps = stamps("imu.stamp_ns", &arrays.stamp_ns, FASTEST_NS.1)?;
    let shape = [Some(stamps.len()), Some(3)];
    let rates = numbers("imu.angular_velocity", &arrays.angular_velocity, &shape)?;
    let forces = numbers("imu.specific_force", &arrays.specific_force, &shape)?;
    let three = |all: &[f64], k: usize| Vector3::from_column_slice(&all[3 * k..3 * k + 3]);
    let sample = |(k, stamp): (usize, &i64)| {
        let value = Imu::new(three(&rates, k), three(&forces, k));
        Message::Imu(ImuSample { stamp: Stamp::from_nanos(*stamp), value })
    };
    Ok(stamps.iter().enumerate().map(sample).collect())
}

fn velocities(arrays: &OdometryArrays<'_>, mount: &Se3) -> PyResult<Vec<Message>> {
    let stamps = stamps("odometry.stamp_ns", &arrays.stamp_ns, FASTEST_NS.0)?;
    let (n, three) = (Some(stamps.len()), Some(3));
    let velocities = numbers("odometry.velocity", &arrays.velocity, &[n, three])?;
    let noise = arrays.covariance.as_ref();
    let noise = noise.map(|c| numbers("odometry.covariance", c, &[n, three, three])).transpose()?;
    let one = |(k, stamp): (usize, &i64)| {
        Message::Odometry(Odometry {
            stamp: Stamp::from_nanos(*stamp),
            mount: *mount,
            velocity: Vector3::from_column_slice(&velocities[3 * k..3 * k + 3]),
            covariance: noise.as_ref().and_then(|all| matrix3(&all[9 * k..9 * k + 9])),
        })
    };
    Ok(stamps.iter().enumerate().map(one).collect())
}

fn absolute_poses(arrays: &PoseArrays<'_>) -> PyResult<Vec<Message>> {
    let stamps = numbers("poses.stamp_ns", &arrays.stamp_ns, &[None])?;
    let n = Some(stamps.len());
    let places = numbers("poses.position", &arrays.position, &[n, Some(3)])?;
    let turns = numbers("poses.orientation", &arrays.orientation, &[n, Some(4)])?;
    let noise = numbers("poses.covariance", &arrays.covariance, &[n, Some(6), Some(6)])?;
    let one = |(k, stamp): (usize, &i64)| {
        let pose = poses::from_quaternion("poses.orientation", &places[3 * k..3 * k + 3], &turns[4 * k..4 * k + 4])?;
        let covariance = Matrix6::from_row_slice(&noise[36 * k..36 * k + 36]);
        Ok(Message::Pose(Pose { stamp: Stamp::from_nanos(*stamp), pose, covariance }))
    };
    stamps.iter().enumerate().map(one).collect()
}

/// Measurements of one kind: n of them, each with `width` numbers of which the first `dim` count.
pub struct Rows<'a> {
    pub kind: Kind,
    pub dim: usize,
    pub width: usize,
    pub values: &'a [f64],
    pub ids: &'a [i64],
    pub sensors: Option<&'a [i64]>,
    pub noise: Option<&'a [f64]>,
}

impl Rows<'_> {
    /// Measurement `i`.
    pub fn seen(&self, i: usize) -> PyResult<Seen> {
        let Self { kind, dim, width, .. } = *self;
        let sensor = self.sensors.map_or(0, |all| all[i]);
        let sensor =
            usize::try_from(sensor).map_err(|_| wrong_call(format!("a sensor is {sensor}; allowed: 0 … 15")))?;
        let d = noise_dim(kind).unwrap_or(0);
        let noise = self.noise.map_or(&[][..], |all| &all[d * d * i..d * d * (i + 1)]);
        let z = &self.values[width * i..width * i + dim];
        Ok(Seen { id: identity(self.ids[i])?, sensor, value: value(kind, z, noise) })
    }
}

/// The shape that the noise of n measurements of a kind has; kinds of pixels state none.
pub fn noise_shape(name: &str, kind: Kind, n: usize) -> PyResult<[Option<usize>; 3]> {
    let d = noise_dim(kind).ok_or_else(|| {
        wrong_call(format!("{name} is given, and the noise of pixels is that of their sensor: pixel_std in set_sensor"))
    })?;
    Ok([Some(n), Some(d), Some(d)])
}

fn frames(arrays: &FeatureArrays<'_>) -> PyResult<Vec<Message>> {
    let stamps = stamps("features.stamp_ns", &arrays.stamp_ns, FASTEST_NS.0)?;
    let first = numbers("features.first", &arrays.first, &[Some(stamps.len() + 1)])?;
    let ids = numbers("features.ids", &arrays.ids, &[None])?;
    let kinds = arrays.kind.iter().map(|name| kind_named(name)).collect::<PyResult<Vec<_>>>()?;
    if kinds.len() != 1 && kinds.len() != stamps.len() {
        return Err(wrong_call(format!("features.kind has {} names for {} frames", kinds.len(), stamps.len())));
    }
    let n = Some(ids.len());
    let values = numbers("features.values", &arrays.values, &[n, None])?;
    let most = kinds.iter().map(|(_, dim)| *dim).max().unwrap_or(0);
    let width = values.len().checked_div(ids.len()).unwrap_or(most);
    if width < most {
        return Err(wrong_call(format!("features.values has {width} columns; expected: {most} for these kinds")));
    }
    let sensors = arrays.sensor.as_ref().map(|s| numbers("features.sensor", s, &[n])).transpose()?;
    let noise = match (&arrays.covariance, kinds.as_slice()) {
        (None, _) => None,
        (Some(c), [(kind, _)]) => {
            let shape = noise_shape("features.covariance", *kind, ids.len())?;
            Some(numbers("features.covariance", c, &shape)?)
        }
        _ => return Err(wrong_call("features.covariance is given; expected one kind for all frames then")),
    };
    let fits = first.windows(2).all(|pair| 0 <= pair[0] && pair[0] <= pair[1])
        && first.last().is_some_and(|last| usize::try_from(*last) == Ok(ids.len()));
    if !fits {
        return Err(wrong_call(format!("features.first has to increase from 0 to {}", ids.len())));
    }
    let frame = |(k, stamp): (usize, &i64)| {
        let (kind, dim) = kinds[if kinds.len() == 1 { 0 } else { k }];
        let (sensors, noise) = (sensors.as_deref(), noise.as_deref());
        let rows = Rows { kind, dim, width, values: &values, ids: &ids, sensors, noise };
        let seen = (first[k] as usize..first[k + 1] as usize).map(|i| rows.seen(i)).collect::<PyResult<_>>()?;
        Ok(Message::Frame(Frame { stamp: Stamp::from_nanos(*stamp), seen }))
    };
    stamps.iter().enumerate().map(frame).collect()
}

/// A covariance of three numbers that may be left out.
pub fn stated3(name: &str, given: Option<&Floats<'_>>) -> PyResult<Option<Matrix3<f64>>> {
    let rows = given.map(|c| numbers(name, c, &[Some(3), Some(3)])).transpose()?;
    Ok(rows.and_then(|rows| matrix3(&rows)))
}
