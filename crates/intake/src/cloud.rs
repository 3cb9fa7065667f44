//! The layout of a cloud of features: what the fields of a `sensor_msgs/PointCloud2` mean, read and written without
//! ROS.
//!
//! A point has an identity `id` (UINT32 or INT32; 0xFFFFFFFF or negative = unknown; optional), one or two values whose
//! names say how they are to be read, and optionally their covariance:
//!
//! | values | covariance |
//! |---|---|
//! | `x`, `y`, and `z` as the height (others are ignored), m | `var_x`, `var_y`, `cov_xy` |
//! | `range` m, `bearing` rad | `var_range`, `var_bearing`, `cov_range_bearing` |
//! | `bearing_left`, `bearing_right` rad | `var_bearing_left`, `var_bearing_right`, `cov_bearing_left_right` |
//! | `range` m alone | `var_range` |
//! | `bearing` rad alone | `var_bearing` |
//!
//! Optional: `class` (UINT32 or INT32; 0 or negative = unknown), `diameter` and `diameter_std` (m; 0 = unknown); of
//! other types they are ignored.
//!
//! Values are FLOAT64 or FLOAT32, at any offset, in either byte order; other fields are ignored. A bearing may be
//! called `azimuth` in every name, as drivers of radars and scanners do.
//!
//! A cloud without fields and without data is an empty scan. Where `is_dense` is false, points of which a value is not
//! finite are padding (as in organized clouds) and skipped. A covariance that is not-a-number, or has a variance of 0,
//! is not stated.

use crate::messages::{PointCloud2, PointField};
use lienav_slam::{Label, Measurement, MeasurementKind, Noise};
use nalgebra::{Matrix2, Vector2};

/// The most points of a cloud of features, and of true landmarks.
pub const MAX_POINTS: u64 = 1_000_000;

/// The identity of a feature that the front end does not know.
pub const UNKNOWN_ID: u32 = u32::MAX;

/// `datatype` of `sensor_msgs/PointField`: a 32-bit integer with sign.
pub const INT32: u8 = 5;
/// `datatype` of `sensor_msgs/PointField`: a 32-bit integer without sign.
pub const UINT32: u8 = 6;
/// `datatype` of `sensor_msgs/PointField`: IEEE 754 single precision.
pub const FLOAT32: u8 = 7;
/// `datatype` of `sensor_msgs/PointField`: IEEE 754 double precision.
pub const FLOAT64: u8 = 8;

/// A cloud that is not one of features.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LayoutError {
    /// No two fields that are the values of a feature.
    #[error("the fields are [{0}], expected x, y or range, bearing or bearing_left, bearing_right or range or bearing")]
    NoValues(String),
    /// No fields that are the values of a landmark in space.
    #[error("the fields are [{0}], expected x, y, z or u, v or u_left, v_left, u_right, v_right or range, and id")]
    NoValuesInSpace(String),
    /// No identities, without which landmarks in space are not used.
    #[error("field id is missing: landmarks in space need an identity, UINT32 or INT32")]
    NoIdentity,
    /// A needed field of a type or count that cannot be read.
    #[error("field {0} has an unsupported type or count, expected one FLOAT64 or FLOAT32, for id one UINT32")]
    BadField(String),
    /// A field that ends after its point.
    #[error("field {0} ends beyond point_step, which is {1} bytes")]
    FieldOutside(String, u32),
    /// Rows that are shorter than their points.
    #[error("row_step is {row_step} bytes, too short for {width} points of {point_step} bytes")]
    RowTooShort {
        /// Bytes of a row.
        row_step: u32,
        /// Points in a row.
        width: u32,
        /// Bytes of a point.
        point_step: u32,
    },
    /// Less data than the sizes say.
    #[error("data has {found} bytes, expected {needed} from height, width and steps")]
    DataTooShort {
        /// Bytes there are.
        found: usize,
        /// Bytes there should be.
        needed: u64,
    },
    /// More points than any cloud of features has.
    #[error("{0} points; a cloud of features has at most {MAX_POINTS}")]
    TooManyPoints(u64),
    /// Ranges beside a field that may be their bearing under a name that is not known.
    #[error(
        "field {0} stands beside range, where bearing is expected; call it bearing or azimuth if it is one (rad, \
         counterclockwise), and leave it out if the sensor measures ranges alone"
    )]
    UnnamedBearing(String),
    /// A part of the covariance without the rest.
    #[error("field {0} is missing, a covariance needs both variances and the covariance")]
    HalfCovariance(String),
}

/// The fields of a kind: its values, and its covariance: the variances, and behind them the covariance of two values.
struct Names {
    values: &'static [&'static str],
    covariance: &'static [&'static str],
}

/// The names of the fields of each kind; a kind of one value is what a cloud is of that has not the other one.
const LAYOUTS: [(MeasurementKind, Names); 5] = [
    (
        MeasurementKind::RangeBearing,
        Names { values: &["range", "bearing"], covariance: &["var_range", "var_bearing", "cov_range_bearing"] },
    ),
    (
        MeasurementKind::StereoBearings,
        Names {
            values: &["bearing_left", "bearing_right"],
            covariance: &["var_bearing_left", "var_bearing_right", "cov_bearing_left_right"],
        },
    ),
    (MeasurementKind::RelativePosition, Names { values: &["x", "y"], covariance: &["var_x", "var_y", "cov_xy"] }),
    (MeasurementKind::Range, Names { values: &["range"], covariance: &["var_range"] }),
    (MeasurementKind::Bearing, Names { values: &["bearing"], covariance: &["var_bearing"] }),
];

/// What a bearing is also called, within the names of fields.
const BEARING: [&str; 2] = ["bearing", "azimuth"];

/// Names under which bearings stand beside ranges, though nobody knows their sense.
const ANGLES: [&str; 7] = ["angle", "theta", "phi", "yaw", "heading", "angle_rad", "bearing_rad"];

/// Numbers of a sensor that a program added; only that program knows what they are.
const UNNAMED: Names = Names { values: &["value_0", "value_1"], covariance: &["var_0", "var_1", "cov_01"] };

fn names_of(kind: MeasurementKind) -> &'static Names {
    LAYOUTS.iter().find(|(known, _)| *known == kind).map_or(&UNNAMED, |(_, names)| names)
}

impl PointCloud2 {
    /// Where each point begins in the data.
    ///
    /// # Errors
    /// Sizes that contradict each other. Nothing is allocated for sizes that the data do not bear out.
    pub fn point_offsets(&self) -> Result<impl Iterator<Item = usize> + use<>, LayoutError> {
        let (width, height, step) = (u64::from(self.width), u64::from(self.height), u64::from(self.point_step));
        let points_in_row = width * step;
        let row_step = u64::from(self.row_step);
        if height > 1 && row_step < points_in_row {
            let Self { row_step, width, point_step, .. } = *self;
            return Err(LayoutError::RowTooShort { row_step, width, point_step });
        }
        let needed = match height {
            0 => 0,
            _ => (height - 1).checked_mul(row_step).and_then(|n| n.checked_add(points_in_row)).unwrap_or(u64::MAX),
        };
        if (self.data.0.len() as u64) < needed {
            return Err(LayoutError::DataTooShort { found: self.data.0.len(), needed });
        }
        let points = width.saturating_mul(height);
        if step > 0 && points > MAX_POINTS {
            return Err(LayoutError::TooManyPoints(points));
        }
        // Points of no bytes fit into no data, in any number: there are none.
        let width = if step == 0 { 0 } else { width };
        Ok((0..if width == 0 { 0 } else { height })
            .flat_map(move |row| (0..width).map(move |column| (row * row_step + column * step) as usize)))
    }

    /// The reader of a field, or `None` where there is no such field.
    ///
    /// # Errors
    /// A field of another type or count, or one that ends after its point.
    pub fn reader(&self, name: &str, wanted: Wanted) -> Result<Option<FieldReader>, LayoutError> {
        let Some(field) = self.field(name).or_else(|| self.field(&name.replace(BEARING[0], BEARING[1]))) else {
            return Ok(None);
        };
        let size: u64 = match (wanted, field.datatype) {
            (Wanted::Number, FLOAT32) | (Wanted::Identity, INT32 | UINT32) => 4,
            (Wanted::Number, FLOAT64) => 8,
            _ => return Err(LayoutError::BadField(name.to_owned())),
        };
        // Older drivers write 0 for a single value.
        if field.count > 1 {
            return Err(LayoutError::BadField(name.to_owned()));
        }
        if u64::from(field.offset) + size > u64::from(self.point_step) {
            return Err(LayoutError::FieldOutside(name.to_owned(), self.point_step));
        }
        Ok(Some(FieldReader {
            offset: field.offset as usize,
            datatype: field.datatype,
            is_bigendian: self.is_bigendian,
        }))
    }

    fn field(&self, name: &str) -> Option<&PointField> {
        self.fields.iter().find(|field| field.name == name)
    }

    fn required(&self, name: &str, missing: impl Fn(String) -> LayoutError) -> Result<FieldReader, LayoutError> {
        self.reader(name, Wanted::Number)?.ok_or_else(|| missing(name.to_owned()))
    }
}

/// What a field is wanted for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// A value: FLOAT32 or FLOAT64.
    Number,
    /// An identity: UINT32 or INT32.
    Identity,
}

/// Reads one field of any point of a cloud.
#[derive(Clone, Copy, Debug)]
pub struct FieldReader {
    offset: usize,
    datatype: u8,
    is_bigendian: bool,
}

impl FieldReader {
    fn bytes<const N: usize>(&self, data: &[u8], point: usize) -> Option<[u8; N]> {
        let start = point.checked_add(self.offset)?;
        let mut bytes: [u8; N] = data.get(start..start.checked_add(N)?)?.try_into().ok()?;
        if self.is_bigendian {
            bytes.reverse();
        }
        Some(bytes)
    }

    /// The value of the point that begins at `point`; not-a-number where there is none.
    pub fn number(&self, data: &[u8], point: usize) -> f64 {
        let value = match self.datatype {
            FLOAT32 => self.bytes(data, point).map(|b| f64::from(f32::from_le_bytes(b))),
            _ => self.bytes(data, point).map(f64::from_le_bytes),
        };
        value.unwrap_or(f64::NAN)
    }

    /// The identity of the point that begins at `point`; `None` where it is unknown.
    pub fn identity(&self, data: &[u8], point: usize) -> Option<u32> {
        let id = u32::from_le_bytes(self.bytes(data, point)?);
        let negative = self.datatype == INT32 && id > i32::MAX as u32;
        (id != UNKNOWN_ID && !negative).then_some(id)
    }
}

/// The kind of a cloud: the preferred one if it has its fields, else the first of [`LAYOUTS`] that it has.
fn kind_of(cloud: &PointCloud2, preferred: MeasurementKind) -> Result<MeasurementKind, LayoutError> {
    let there = |name: &str| cloud.field(name).is_some();
    let has = |kind: MeasurementKind| names_of(kind).values.iter().all(|name| there(name));
    let has_renamed = |kind: MeasurementKind| {
        names_of(kind).values.iter().all(|n| there(n) || there(&n.replace(BEARING[0], BEARING[1])))
    };
    let (pairs, single): (Vec<_>, Vec<_>) =
        LAYOUTS.iter().map(|layout| layout.0).partition(|&kind| names_of(kind).values.len() > 1);
    let exactly = std::iter::once(preferred).chain(pairs.iter().copied()).find(|&kind| has(kind));
    let found = exactly
        .or_else(|| pairs.iter().copied().find(|&kind| has_renamed(kind)))
        .or_else(|| single.iter().copied().find(|&kind| has_renamed(kind)));
    let shown = || cloud.fields.iter().map(|f| f.name.as_str()).collect::<Vec<_>>().join(", ");
    let kind = found.ok_or_else(|| LayoutError::NoValues(shown()))?;
    match ANGLES.into_iter().find(|name| kind == MeasurementKind::Range && preferred != kind && there(name)) {
        Some(angle) => Err(LayoutError::UnnamedBearing(angle.to_owned())),
        None => Ok(kind),
    }
}

/// Reads the features of a cloud, with the kind that its fields say. Where the fields leave it open (a cloud with both
/// `x`, `y` and `range`, `bearing`), `preferred` decides; so it does for a cloud without fields and data.
///
/// Values are returned as they are: the filter rejects and counts what is not finite. Only points of which a value is
/// not finite in a cloud that says so (`is_dense` is false) are skipped.
///
/// # Errors
/// A cloud of another layout: nothing of it is read.
pub fn decode_features(
    cloud: &PointCloud2,
    preferred: MeasurementKind,
) -> Result<(MeasurementKind, Vec<Measurement>), LayoutError> {
    let (kind, points) = decode_points(cloud, preferred)?;
    Ok((kind, points.into_iter().map(|(_, measurement)| measurement).collect()))
}

/// [`decode_features`], with the place in the data where each point begins.
pub(crate) fn decode_points(
    cloud: &PointCloud2,
    preferred: MeasurementKind,
) -> Result<(MeasurementKind, Vec<(usize, Measurement)>), LayoutError> {
    if cloud.fields.is_empty() && cloud.data.0.is_empty() {
        return Ok((preferred, Vec::new()));
    }
    let kind = kind_of(cloud, preferred)?;
    let names = names_of(kind);
    let no_values = |name: String| LayoutError::NoValues(name);
    let mut values = names.values.iter();
    let a = cloud.required(values.next().copied().unwrap_or_default(), no_values)?;
    let b = values.next().map(|name| cloud.required(name, no_values)).transpose()?;
    let there =
        |name: &str| cloud.field(name).is_some() || cloud.field(&name.replace(BEARING[0], BEARING[1])).is_some();
    let is_stated = names.covariance.iter().any(|name| there(name));
    let covariance = is_stated.then(|| {
        let field = |name: &&str| cloud.required(name, LayoutError::HalfCovariance);
        names.covariance.iter().map(field).collect::<Result<Vec<_>, _>>()
    });
    let covariance = covariance.transpose()?;
    let id = cloud.reader("id", Wanted::Identity)?;
    // Fields of these names that are of another type are somebody else's.
    let class = cloud.reader("class", Wanted::Identity).ok().flatten();
    let [diameter, diameter_std] =
        ["diameter", "diameter_std"].map(|name| cloud.reader(name, Wanted::Number).ok().flatten());
    let data = &cloud.data.0;
    let measurements = cloud
        .point_offsets()?
        .filter(|&point| {
            let is_finite = |field: &FieldReader| field.number(data, point).is_finite();
            cloud.is_dense || (is_finite(&a) && b.as_ref().is_none_or(is_finite))
        })
        .map(|point| {
            let measurement = Measurement {
                id: id.and_then(|id| id.identity(data, point)),
                value: match b {
                    Some(b) => [a.number(data, point), b.number(data, point)].into(),
                    None => [a.number(data, point)].into(),
                },
                covariance: covariance.as_deref().and_then(|fields| stated(fields, data, point)),
                label: Label {
                    class: class.and_then(|class| class.identity(data, point)).unwrap_or(0),
                    diameter_m: diameter.map_or(0.0, |f| f.number(data, point)),
                    diameter_std_m: diameter_std.map_or(0.0, |f| f.number(data, point)),
                },
                height_m: 0.0,
            };
            (point, measurement)
        })
        .collect();
    Ok((kind, measurements))
}

/// The covariance of a point; `None` where it is not stated: every number is not-a-number, or a variance is 0.
fn stated(fields: &[FieldReader], data: &[u8], point: usize) -> Option<Noise> {
    let number = |k: usize| fields.get(k).map_or(f64::NAN, |field| field.number(data, point));
    let variances = fields.len().min(2);
    if (0..fields.len()).all(|k| number(k).is_nan()) || (0..variances).any(|k| number(k) == 0.0) {
        return None;
    }
    if fields.len() == 1 {
        return Some(number(0).into());
    }
    let (aa, bb, ab) = (number(0), number(1), number(2));
    Some(Matrix2::new(aa, ab, ab, bb).into())
}

/// A cloud as it is written: little endian, one row, without gaps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Encoded {
    /// Name, offset and `datatype` of each field; each holds one value.
    pub fields: Vec<(&'static str, u32, u8)>,
    /// Points.
    pub width: u32,
    /// Bytes of a point.
    pub point_step: u32,
    /// The points.
    pub data: Vec<u8>,
}

/// Lays out features: `id` and `class` UINT32, the rest FLOAT64, so that no bit is lost. The fields of the covariance
/// are written if any measurement has one, those of the label and `z`, the height, likewise; a measurement without
/// covariance gets not-a-number there, which readers take for none of its own.
pub fn encode_features(kind: MeasurementKind, measurements: &[Measurement]) -> Encoded {
    let with_covariance = measurements.iter().any(|o| o.covariance.is_some());
    let with_label = measurements.iter().any(|o| o.label != Label::default());
    let with_height = kind == MeasurementKind::RelativePosition && measurements.iter().any(|o| o.height_m != 0.0);
    let Names { values, covariance } = names_of(kind);
    let names = values.iter().chain(if with_covariance { *covariance } else { &[] });
    let mut layout = Layout::new();
    layout.field("id", UINT32);
    if with_label {
        layout.field("class", UINT32);
    }
    let of_label = if with_label { ["diameter", "diameter_std"].as_slice() } else { &[] };
    for name in names.chain(of_label).chain(if with_height { ["z"].as_slice() } else { &[] }) {
        layout.field(name, FLOAT64);
    }
    layout.encode(measurements, |measurement, out| {
        let Measurement { id, value, covariance, label, height_m } = measurement;
        out.extend(id.unwrap_or(UNKNOWN_ID).to_le_bytes());
        if with_label {
            out.extend(label.class.to_le_bytes());
        }
        let v = value.xy();
        let mut numbers = vec![v.x, v.y];
        numbers.truncate(values.len());
        if with_covariance {
            let c = covariance.map_or(Matrix2::repeat(f64::NAN), |c| c.fixed::<2>());
            numbers.extend(if values.len() == 1 { vec![c.m11] } else { vec![c.m11, c.m22, c.m12] });
        }
        if with_label {
            numbers.extend([label.diameter_m, label.diameter_std_m]);
        }
        numbers.extend(with_height.then_some(*height_m));
        out.extend(numbers.into_iter().flat_map(f64::to_le_bytes));
    })
}

/// Lays out true positions of landmarks, m: `id` UINT32; `x`, `y`, `z` FLOAT32 for rviz, which draws no doubles; and
/// `x_m`, `y_m` FLOAT64 for those who compute with them.
pub fn encode_landmarks(landmarks: &[(u32, Vector2<f64>)]) -> Encoded {
    let mut layout = Layout::new();
    layout.field("id", UINT32);
    for name in ["x", "y", "z"] {
        layout.field(name, FLOAT32);
    }
    for name in ["x_m", "y_m"] {
        layout.field(name, FLOAT64);
    }
    layout.encode(landmarks, |(id, p), out| {
        out.extend(id.to_le_bytes());
        out.extend([p.x as f32, p.y as f32, 0.0].into_iter().flat_map(f32::to_le_bytes));
        out.extend([p.x, p.y].into_iter().flat_map(f64::to_le_bytes));
    })
}

/// Reads positions of landmarks, m: from `x_m`, `y_m` where these exist, else from `x`, `y`. Points without identity
/// are left out.
///
/// # Errors
/// A cloud of another layout.
pub fn decode_landmarks(cloud: &PointCloud2) -> Result<Vec<(u32, Vector2<f64>)>, LayoutError> {
    let missing = |name: String| LayoutError::NoValues(name);
    let [x, y] = match cloud.reader("x_m", Wanted::Number)? {
        Some(x) => [x, cloud.required("y_m", missing)?],
        None => [cloud.required("x", missing)?, cloud.required("y", missing)?],
    };
    let id = cloud.reader("id", Wanted::Identity)?.ok_or_else(|| LayoutError::BadField("id".to_owned()))?;
    let data = &cloud.data.0;
    Ok(cloud
        .point_offsets()?
        .filter_map(|point| {
            let position = Vector2::new(x.number(data, point), y.number(data, point));
            Some((id.identity(data, point)?, position))
        })
        .collect())
}

/// Fields one after the other.
struct Layout {
    fields: Vec<(&'static str, u32, u8)>,
    point_step: u32,
}

impl Layout {
    fn new() -> Self {
        Self { fields: Vec::new(), point_step: 0 }
    }

    fn field(&mut self, name: &'static str, datatype: u8) {
        self.fields.push((name, self.point_step, datatype));
        self.point_step += if datatype == FLOAT64 { 8 } else { 4 };
    }

    fn encode<T>(self, points: &[T], mut write: impl FnMut(&T, &mut Vec<u8>)) -> Encoded {
        let mut data = Vec::with_capacity(points.len() * self.point_step as usize);
        for point in points {
            write(point, &mut data);
        }
        Encoded { fields: self.fields, width: points.len() as u32, point_step: self.point_step, data }
    }
}

#[cfg(test)]
#[path = "cloud_tests.rs"]
mod tests;
