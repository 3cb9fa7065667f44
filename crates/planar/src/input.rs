//! The input of the filter.

use crate::measurement::value::{Noise, Value};
use crate::tilt::Tilt;
use lienav_base::stamp::Stamp;
use nalgebra::{Matrix3, Vector2, Vector3};
use serde::{Deserialize, Serialize};

/// The velocity of the base, as wheels or a drive model measure it, in the base frame (REP 103).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Odometry {
    /// When it was measured; [`MotionConfig::hold`](crate::config::MotionConfig::hold) says for which interval the
    /// velocities hold.
    pub stamp: Stamp,
    /// Forward and leftward velocity, m/s (v of Shen 2019, eq. (5.3)).
    pub velocity: Vector2<f64>,
    /// Angular velocity about the vertical, rad/s (w of eq. (5.3)).
    pub yaw_rate: f64,
    /// Covariance of (v_x, v_y, w) of this one sample; `None` leaves it to
    /// [`MotionConfig`](crate::config::MotionConfig).
    pub covariance: Option<Matrix3<f64>>,
}

impl Odometry {
    /// (v_x, v_y, w).
    #[inline]
    pub fn twist(&self) -> Vector3<f64> {
        Vector3::new(self.velocity.x, self.velocity.y, self.yaw_rate)
    }
}

/// A sample of an inertial sensor: its yaw rate replaces that of the odometry while it is fresh.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Imu {
    /// When it was sampled.
    pub stamp: Stamp,
    /// Rate of the heading, rad/s: already projected onto the vertical.
    pub yaw_rate: f64,
    /// How the base leans, if known; used if [`MotionConfig::use_tilt`](crate::config::MotionConfig::use_tilt) is set.
    pub tilt: Option<Tilt>,
}

impl Imu {
    /// From `angular_velocity` in the sensor's own frame, rad/s; without a tilt, the sensor is taken to be level.
    #[inline]
    pub fn new(stamp: Stamp, angular_velocity: &Vector3<f64>, tilt: Option<Tilt>) -> Self {
        let yaw_rate = tilt.map_or(angular_velocity.z, |tilt| tilt.heading_rate(angular_velocity));
        Self { stamp, yaw_rate, tilt }
    }
}

/// How the numbers of an [`Measurement`] are to be read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MeasurementKind {
    /// (x, y) of the landmark in the sensor frame, m.
    RelativePosition,
    /// (range in m, bearing in rad, counterclockwise from the sensor's x axis).
    #[default]
    RangeBearing,
    /// (bearing of the left camera, bearing of the right camera), rad, counterclockwise from straight ahead. The
    /// cameras sit at (0, ±baseline/2) in the sensor frame.
    StereoBearings,
    /// (range in m) alone.
    Range,
    /// (bearing in rad) alone, counterclockwise from the sensor's x axis.
    Bearing,
    /// (x, y) of the sensor in the world, m, as a satellite receiver or another device outside has it; the world's
    /// frame is tied to the map's by `calibration.world.frame`.
    #[serde(skip)]
    WorldPosition,
    /// (x, y, yaw) of the sensor in the world, m and rad.
    #[serde(skip)]
    WorldPose,
    /// As the sensor that a program added reads them, by its number: `Slam::add_sensor`.
    #[serde(skip)]
    Added(u8),
}

/// The most sensors that a program can add to a filter.
const MAX_ADDED_SENSORS: u8 = 249;
/// How many kinds are built in.
pub(crate) const BUILT_IN: usize = 7;

/// One sensor more than a filter can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there are {MAX_ADDED_SENSORS} added sensors already, and a filter cannot have more")]
pub struct TooManySensors;

impl MeasurementKind {
    /// The kind of the sensor that is added when there are `others` added sensors already.
    ///
    /// # Errors
    /// [`TooManySensors`]: there are 249 already.
    #[inline]
    pub fn added(others: usize) -> Result<Self, TooManySensors> {
        let number = u8::try_from(others).ok().filter(|k| *k < MAX_ADDED_SENSORS);
        number.map(Self::Added).ok_or(TooManySensors)
    }

    /// The inverse of [`MeasurementKind::index`].
    pub fn at(index: usize) -> Option<Self> {
        match index {
            0 => Some(Self::RelativePosition),
            1 => Some(Self::RangeBearing),
            2 => Some(Self::StereoBearings),
            3 => Some(Self::Range),
            4 => Some(Self::Bearing),
            5 => Some(Self::WorldPosition),
            6 => Some(Self::WorldPose),
            _ => Self::added(index - BUILT_IN).ok(),
        }
    }

    /// Place among all sensors: those above, then those that were added.
    pub fn index(self) -> usize {
        match self {
            Self::RelativePosition => 0,
            Self::RangeBearing => 1,
            Self::StereoBearings => 2,
            Self::Range => 3,
            Self::Bearing => 4,
            Self::WorldPosition => 5,
            Self::WorldPose => 6,
            Self::Added(k) => BUILT_IN + usize::from(k),
        }
    }
}

/// What a front end knows of a landmark besides its identity and its place. The default says nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Label {
    /// What kind of thing it is, as the front end numbers them; 0 = unknown.
    pub class: u32,
    /// Diameter, m; 0 = unknown.
    pub diameter_m: f64,
    /// Standard deviation of the diameter, m.
    pub diameter_std_m: f64,
}

/// A thicker landmark is a fault of the front end, m.
const MAX_DIAMETER_M: f64 = 100.0;

impl Label {
    /// The label without a diameter that cannot be: the measurement counts all the same.
    pub(crate) fn checked(self) -> Self {
        let Self { class, diameter_m, diameter_std_m } = self;
        let is_within = |x: f64| (0.0..=MAX_DIAMETER_M).contains(&x);
        if is_within(diameter_m) && is_within(diameter_std_m) { self } else { Self { class, ..Self::default() } }
    }
}

/// One measurement of a landmark, or of the pose.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measurement {
    /// Which landmark, where the front end knows.
    pub id: Option<u32>,
    /// One to three numbers, read as [`MeasurementKind`] says: `[range, bearing].into()`.
    pub value: Value,
    /// Their covariance; `None` leaves it to the sensor.
    pub covariance: Option<Noise>,
    /// Class and diameter, where the front end knows.
    #[serde(default)]
    pub label: Label,
    /// Height of the point that was measured above the origin of the base, along the axis of the base, m; 0 where it is
    /// not known. A base that leans puts a landmark off by this height times roll and pitch, which the filter takes
    /// into account ([`MotionConfig::tilt_std_rad`](crate::config::MotionConfig::tilt_std_rad)).
    #[serde(default)]
    pub height_m: f64,
}

impl Measurement {
    /// A measurement whose covariance is left to the sensor, without label.
    #[inline]
    pub fn new(id: Option<u32>, value: impl Into<Value>) -> Self {
        Self { id, value: value.into(), covariance: None, label: Label::default(), height_m: 0.0 }
    }
}

/// All measurements of one sensor at one instant.
#[derive(Clone, Debug, PartialEq)]
pub struct Scan {
    /// When they were seen.
    pub stamp: Stamp,
    /// How the measurements are to be read.
    pub kind: MeasurementKind,
    /// The measurements; may be empty.
    pub measurements: Vec<Measurement>,
}

/// A scan of more measurements than this holds no landmarks: it is a raw scan. It is refused as a whole, before it
/// takes memory.
pub const MAX_POINTS: usize = 10_000;
