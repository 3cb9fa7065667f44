//! Messages as arrays: checked once, then given out one by one, without a copy of all of them.

use crate::arrays::{FASTEST_NS, Floats, Integers, matrix3, noise, numbers, stamps, value};
use crate::errors::wrong_call;
use lienav_base::stamp::Stamp;
use lienav_io::recording::Input;
use lienav_slam::{Imu, Label, Measurement, MeasurementKind, Odometry, Role, Scan, Tilt};
use nalgebra::Vector2;
use pyo3::prelude::*;

/// The kinds of measurements by their names, and how many numbers one has.
pub const KINDS: [(&str, MeasurementKind, usize); 7] = [
    ("position", MeasurementKind::RelativePosition, 2),
    ("range_bearing", MeasurementKind::RangeBearing, 2),
    ("stereo_bearings", MeasurementKind::StereoBearings, 2),
    ("range", MeasurementKind::Range, 1),
    ("bearing", MeasurementKind::Bearing, 1),
    ("world_position", MeasurementKind::WorldPosition, 2),
    ("world_pose", MeasurementKind::WorldPose, 3),
];

/// A kind by its name, and how many numbers a measurement has.
pub fn kind_named(name: &str) -> PyResult<(MeasurementKind, usize)> {
    let found = KINDS.iter().find(|(word, ..)| *word == name).map(|(_, kind, numbers)| (*kind, *numbers));
    found.ok_or_else(|| wrong_call(format!("kind is '{name}'; allowed: {}", KINDS.map(|(word, ..)| word).join(" | "))))
}

/// The name of a kind; that of a sensor that a program added is not known.
pub fn word_of(kind: MeasurementKind) -> &'static str {
    KINDS.iter().find(|(_, known, _)| *known == kind).map_or("range_bearing", |(word, ..)| word)
}

/// An identity; -1 is unknown.
pub fn identity(id: i64) -> PyResult<Option<u32>> {
    match id {
        -1 => Ok(None),
        id => u32::try_from(id).map(Some).map_err(|_| wrong_call(format!("an id is {id}; allowed: -1 … 4294967295"))),
    }
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
    height_m: Option<Floats<'py>>,
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

/// All input of a filter, in the order of its arrival.
pub struct Messages {
    odometry: OdometryRows,
    imu: ImuRows,
    features: FeatureRows,
    /// Of each message, which kind it is, and the how manieth of it.
    pub order: Vec<(Kind, usize)>,
}

/// A kind of message.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// At one stamp, a cloud comes last: what tells of the motion until then is there.
    Imu,
    Odometry,
    Scan,
}

#[derive(Default)]
struct OdometryRows {
    stamps: Vec<i64>,
    twists: Vec<f64>,
    covariances: Option<Vec<f64>>,
}

#[derive(Default)]
struct ImuRows {
    stamps: Vec<i64>,
    rates: Vec<f64>,
    tilts: Option<Vec<f64>>,
}

#[derive(Default)]
struct FeatureRows {
    stamps: Vec<i64>,
    first: Vec<usize>,
    ids: Vec<Option<u32>>,
    values: Vec<f64>,
    /// Numbers in a row of `values`; measurements of fewer have them first.
    width: usize,
    kinds: Vec<(MeasurementKind, usize)>,
    covariances: Option<Vec<f64>>,
    labels: Option<Vec<f64>>,
    heights: Option<Vec<f64>>,
}

impl Messages {
    /// # Errors
    /// Arrays that do not fit each other, by their names.
    pub fn of(arrays: &InputArrays<'_>) -> PyResult<Self> {
        let odometry = arrays.odometry.as_ref().map(OdometryRows::of).transpose()?.unwrap_or_default();
        let imu = arrays.imu.as_ref().map(ImuRows::of).transpose()?.unwrap_or_default();
        let features = arrays.features.as_ref().map(FeatureRows::of).transpose()?.unwrap_or_default();
        let mut messages = Self { odometry, imu, features, order: Vec::new() };
        messages.order = match &arrays.order {
            Some(order) => messages.ordered(&numbers("order", order, &[None])?)?,
            None => messages.by_stamp(),
        };
        Ok(messages)
    }

    fn stamps(&self, kind: Kind) -> &[i64] {
        match kind {
            Kind::Imu => &self.imu.stamps,
            Kind::Odometry => &self.odometry.stamps,
            Kind::Scan => &self.features.stamps,
        }
    }

    fn by_stamp(&self) -> Vec<(Kind, usize)> {
        let kinds = [Kind::Imu, Kind::Odometry, Kind::Scan];
        let mut order: Vec<(Kind, usize)> =
            kinds.into_iter().flat_map(|kind| (0..self.stamps(kind).len()).map(move |k| (kind, k))).collect();
        order.sort_by_key(|&(kind, k)| self.stamps(kind)[k]);
        order
    }

    fn ordered(&self, given: &[i64]) -> PyResult<Vec<(Kind, usize)>> {
        let mut next = [0_usize; 3];
        let mut one = |kind: &i64| {
            let word = match kind {
                0 => Kind::Odometry,
                1 => Kind::Imu,
                2 => Kind::Scan,
                _ => return None,
            };
            let k = &mut next[word as usize];
            *k += 1;
            (*k <= self.stamps(word).len()).then_some((word, *k - 1))
        };
        let order: Option<Vec<_>> = given.iter().map(&mut one).collect();
        let total: usize = [Kind::Imu, Kind::Odometry, Kind::Scan].map(|kind| self.stamps(kind).len()).iter().sum();
        order.filter(|order| order.len() == total).ok_or_else(|| {
            wrong_call("order does not fit the messages; give 0 for each odometry, 1 for each imu, 2 for each cloud")
        })
    }

    /// The k-th odometry.
    pub fn odometry(&self, k: usize) -> Odometry {
        let OdometryRows { stamps, twists, covariances } = &self.odometry;
        let twist = &twists[3 * k..3 * k + 3];
        Odometry {
            stamp: Stamp::from_nanos(stamps[k]),
            velocity: Vector2::new(twist[0], twist[1]),
            yaw_rate: twist[2],
            covariance: covariances.as_ref().and_then(|all| matrix3(&all[9 * k..9 * k + 9])),
        }
    }

    /// The k-th rate of the heading.
    pub fn imu(&self, k: usize) -> Imu {
        let ImuRows { stamps, rates, tilts } = &self.imu;
        let tilt = tilts.as_ref().and_then(|all| all[2 * k..].first_chunk::<2>().copied());
        let tilt = tilt.filter(|tilt| !tilt.iter().all(|x| x.is_nan())).map(|[roll, pitch]| Tilt { roll, pitch });
        Imu { stamp: Stamp::from_nanos(stamps[k]), yaw_rate: rates[k], tilt }
    }

    /// The k-th cloud; its measurements go to `observations`, in place of what is there.
    pub fn cloud(&self, k: usize, observations: &mut Vec<Measurement>) -> (Stamp, MeasurementKind) {
        let FeatureRows { stamps, first, ids, values, width, kinds, covariances, labels, heights } = &self.features;
        let (w, (kind, dim)) = (*width, kinds[if kinds.len() == 1 { 0 } else { k }]);
        observations.clear();
        observations.extend((first[k]..first[k + 1]).map(|i| {
            let label = labels.as_ref().and_then(|all| all[3 * i..].first_chunk::<3>().copied());
            Measurement {
                id: ids[i],
                value: value(&values[w * i..w * i + dim]),
                covariance: covariances.as_ref().and_then(|all| noise(&all[w * w * i..w * w * (i + 1)], w, dim)),
                label: label.map_or_else(Label::default, |[class, diameter_m, diameter_std_m]| Label {
                    class: class as u32,
                    diameter_m,
                    diameter_std_m,
                }),
                height_m: heights.as_ref().and_then(|all| all.get(i).copied()).unwrap_or(0.0),
            }
        }));
        (Stamp::from_nanos(stamps[k]), kind)
    }

    /// All of them, as a recording has them.
    pub fn inputs(&self) -> Vec<Input> {
        let input = |&(kind, k): &(Kind, usize)| match kind {
            Kind::Imu => Input::Imu(self.imu(k)),
            Kind::Odometry => Input::Odometry(self.odometry(k)),
            Kind::Scan => {
                let mut observations = Vec::new();
                let (stamp, kind) = self.cloud(k, &mut observations);
                Input::Scan(Scan { stamp, kind, measurements: observations })
            }
        };
        self.order.iter().map(input).collect()
    }
}

impl OdometryRows {
    fn of(arrays: &OdometryArrays<'_>) -> PyResult<Self> {
        let stamps = stamps("odometry.stamp_ns", &arrays.stamp_ns, FASTEST_NS.0)?;
        let (n, three) = (Some(stamps.len()), Some(3));
        let twists = numbers("odometry.twist", &arrays.twist, &[n, three])?;
        let covariances = arrays.covariance.as_ref();
        let covariances = covariances.map(|c| numbers("odometry.covariance", c, &[n, three, three])).transpose()?;
        Ok(Self { stamps, twists, covariances })
    }
}

impl ImuRows {
    fn of(arrays: &ImuArrays<'_>) -> PyResult<Self> {
        let stamps = stamps("imu.stamp_ns", &arrays.stamp_ns, FASTEST_NS.1)?;
        let n = Some(stamps.len());
        let rates = numbers("imu.yaw_rate", &arrays.yaw_rate, &[n])?;
        let tilts = arrays.tilt.as_ref().map(|tilt| numbers("imu.tilt", tilt, &[n, Some(2)])).transpose()?;
        Ok(Self { stamps, rates, tilts })
    }
}

impl FeatureRows {
    fn of(arrays: &FeatureArrays<'_>) -> PyResult<Self> {
        let stamps = stamps("features.stamp_ns", &arrays.stamp_ns, FASTEST_NS.0)?;
        let first = numbers("features.first", &arrays.first, &[Some(stamps.len() + 1)])?;
        let ids = numbers("features.ids", &arrays.ids, &[None])?;
        let kinds = arrays.kind.iter().map(|name| kind_named(name)).collect::<PyResult<Vec<_>>>()?;
        let most = kinds.iter().map(|(_, numbers)| *numbers).max().unwrap_or(2);
        let n = Some(ids.len());
        let values = numbers("features.values", &arrays.values, &[n, None])?;
        let width = values.len().checked_div(ids.len()).unwrap_or(most);
        if width < most {
            return Err(wrong_call(format!("features.values has {width} columns; expected: {most} for these kinds")));
        }
        let (covariances, w) = (arrays.covariance.as_ref(), Some(width));
        let covariances = covariances.map(|c| numbers("features.covariance", c, &[n, w, w])).transpose()?;
        let labels = arrays.label.as_ref().map(|label| numbers("features.label", label, &[n, Some(3)])).transpose()?;
        let heights = arrays.height_m.as_ref().map(|height| numbers("features.height_m", height, &[n])).transpose()?;
        if kinds.len() != 1 && kinds.len() != stamps.len() {
            return Err(wrong_call(format!("features.kind has {} names for {} clouds", kinds.len(), stamps.len())));
        }
        let wrong = |(k, pair): (usize, &[i64])| {
            let (from, to) = (pair[0], pair[1]);
            let fits = from >= 0 && from <= to && usize::try_from(to).is_ok_and(|to| to <= ids.len());
            (!fits).then_some((k, from, to))
        };
        if let Some((k, from, to)) = first.windows(2).enumerate().find_map(wrong) {
            let problem = format!("features.first goes from {from} to {to} at cloud {k}");
            return Err(wrong_call(format!("{problem}; it has to increase from 0 to {}", ids.len())));
        }
        let first = first.iter().map(|&first| usize::try_from(first).unwrap_or_default()).collect();
        let ids = ids.iter().map(|&id| identity(id)).collect::<PyResult<_>>()?;
        Ok(Self { stamps, first, ids, values, width, kinds, covariances, labels, heights })
    }
}

/// What a filter did with a measurement.
pub fn decision(role: Role) -> &'static str {
    match role {
        Role::First => "initialized",
        Role::Again => "used",
        Role::Gated => "gated",
        Role::Held => "held",
    }
}
