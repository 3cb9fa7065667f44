//! The output of the filter.

use lienav_base::intake::{self, Reason};
use lienav_base::stamp::Stamp;
use lienav_lie::Se2;
use lienav_map::MapLandmark;
use nalgebra::{Matrix2, Matrix3, Vector2};
use serde::Serialize;
use std::fmt;

/// A pose with its covariance.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PoseEstimate {
    /// The instant it holds for.
    pub stamp: Stamp,
    /// Pose of the base in the map frame.
    pub pose: Se2,
    /// Covariance of (x, y, θ) − (x̂, ŷ, θ̂) in the map frame, (m, m, rad).
    pub covariance: Matrix3<f64>,
    /// Velocity (v_x, v_y) m/s and yaw rate rad/s in the base frame, as last used: calibrated.
    pub twist: nalgebra::Vector3<f64>,
}

/// The result of processing the scans of one stamp: one, where there is one sensor.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    /// The estimate after the update.
    pub estimate: PoseEstimate,
    /// Normalised innovation squared of all accepted measurements together.
    pub nis: f64,
    /// Its degrees of freedom: the numbers of all accepted measurements.
    pub dof: usize,
    /// Measurements used for the update.
    pub accepted: usize,
    /// Measurements of new landmarks.
    pub added: usize,
    /// Measurements that were left out.
    pub rejected: usize,
    /// Landmarks in the map after the step.
    pub landmarks: usize,
}

impl Step {
    /// This one, and a second one of the same stamp after it.
    pub fn joined_by(self, after: Self) -> Self {
        Self {
            nis: self.nis + after.nis,
            dof: self.dof + after.dof,
            accepted: self.accepted + after.accepted,
            added: self.added + after.added,
            rejected: self.rejected + after.rejected,
            ..after
        }
    }
}

/// A landmark of the map.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Landmark {
    /// Its identity, from the front end or given by the filter.
    pub id: u32,
    /// Position in the map frame, m.
    pub position: Vector2<f64>,
    /// Covariance of the position, m².
    pub covariance: Matrix2<f64>,
    /// When it was last seen.
    pub last_seen: Stamp,
    /// How many measurements went into it.
    pub measurements: u32,
}

impl From<&Landmark> for MapLandmark {
    /// Without class, which the map in force knows.
    fn from(landmark: &Landmark) -> Self {
        let Landmark { id, position, covariance, .. } = *landmark;
        Self { id, class: 0, position, covariance }
    }
}

/// Why something that came in was not used. The words are those of `/diagnostics` and of the evaluator's report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum DropReason {
    /// A number that is not finite.
    NotFinite,
    /// A value beyond the limits of the configuration.
    Absurd,
    /// A covariance that is not symmetric positive semidefinite.
    BadCovariance,
    /// A velocity that the platform cannot have reached from the one before.
    OdometrySpike,
    /// A stamp that was already used.
    DuplicateStamp,
    /// A stamp older than what the reorder buffer still holds.
    TooLate,
    /// A stamp far ahead of everything else, which no run of messages has confirmed.
    FromTheFuture,
    /// A stamp far behind everything else, which no run of messages has confirmed.
    UnconfirmedJump,
    /// A stamp of a clock that runs beside the one in force.
    SecondClock,
    /// The reorder buffer was full.
    BufferFull,
    /// Landmarks that came before any odometry.
    NotStarted,
    /// The same landmark twice in one scan.
    DuplicateFeature,
    /// A range outside the sensor's.
    OutOfRange,
    /// A measurement outside the gate of the landmark it names.
    Gated,
    /// A measurement without identity that fits more than one landmark, or almost fits one.
    Ambiguous,
    /// A measurement that does not tell where a robot is that may be anywhere, until others do.
    Undetermined,
    /// A measurement beyond `sensor.max_points` of its scan, or a scan that is a raw scan.
    TooManyPoints,
    /// A new landmark for which the map has no room.
    MapFull,
    /// The innovation covariance could not be factored.
    Singular,
    /// The filter is switched off.
    Disabled,
    /// The count of numbers is not the dimension of the sensor.
    WrongDimension,
    /// A measurement of a sensor that was not added to the filter.
    UnknownSensor,
    /// A measurement of a landmark that is not in the known map, or is no longer believed, while the map stays as it
    /// is.
    UnknownLandmark,
    /// A pose that was given while the open part of a map in parts cannot be closed.
    NotInParts,
    /// A scan after which the covariance of the state was invalid: the filter was reinitialized.
    InvalidCovariance,
}

impl DropReason {
    /// All reasons.
    pub const ALL: [Self; 25] = [
        Self::NotFinite,
        Self::Absurd,
        Self::BadCovariance,
        Self::OdometrySpike,
        Self::DuplicateStamp,
        Self::TooLate,
        Self::FromTheFuture,
        Self::UnconfirmedJump,
        Self::SecondClock,
        Self::BufferFull,
        Self::NotStarted,
        Self::DuplicateFeature,
        Self::OutOfRange,
        Self::Gated,
        Self::Ambiguous,
        Self::Undetermined,
        Self::TooManyPoints,
        Self::MapFull,
        Self::Singular,
        Self::Disabled,
        Self::WrongDimension,
        Self::UnknownSensor,
        Self::UnknownLandmark,
        Self::NotInParts,
        Self::InvalidCovariance,
    ];

    /// The reason as one word, `snake_case`.
    pub const fn word(self) -> &'static str {
        match self {
            Self::NotFinite => "not_finite",
            Self::Absurd => "absurd",
            Self::BadCovariance => "bad_covariance",
            Self::OdometrySpike => "odometry_spike",
            Self::DuplicateStamp => "duplicate_stamp",
            Self::TooLate => "too_late",
            Self::FromTheFuture => "from_the_future",
            Self::UnconfirmedJump => "unconfirmed_jump",
            Self::SecondClock => "second_clock",
            Self::BufferFull => "buffer_full",
            Self::NotStarted => "not_started",
            Self::DuplicateFeature => "duplicate_feature",
            Self::OutOfRange => "out_of_range",
            Self::Gated => "gated",
            Self::Ambiguous => "ambiguous",
            Self::Undetermined => "undetermined",
            Self::TooManyPoints => "too_many_points",
            Self::MapFull => "map_full",
            Self::Singular => "singular",
            Self::Disabled => "disabled",
            Self::WrongDimension => "wrong_dimension",
            Self::UnknownSensor => "unknown_sensor",
            Self::UnknownLandmark => "unknown_landmark",
            Self::NotInParts => "not_in_parts",
            Self::InvalidCovariance => "invalid_covariance",
        }
    }
}

impl fmt::Display for DropReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

impl std::error::Error for DropReason {}

impl Reason for DropReason {
    const ALL: &'static [Self] = &Self::ALL;

    fn index(self) -> usize {
        self as usize
    }

    fn word(self) -> &'static str {
        self.word()
    }
}

/// How often each [`DropReason`] happened.
pub type Counts = intake::Counts<DropReason, { DropReason::ALL.len() }>;

/// What became of a scan.
pub type Processed = Result<Option<Step>, DropReason>;
