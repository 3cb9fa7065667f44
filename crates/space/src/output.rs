//! The output of the filter.

use lienav_base::intake::{self, Reason};
use lienav_base::stamp::Stamp;
use lienav_inertial::imu::Biases;
use lienav_lie::Se3;
use nalgebra::{Matrix3, Matrix6, Vector3};
use std::fmt;

/// A pose with its covariance.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PoseEstimate {
    /// The instant that it holds for.
    pub stamp: Stamp,
    /// The body, the frame of the inertial sensor, in the map.
    pub pose: Se3,
    /// Covariance of the position, m², and of a small rotation about the axes of the map, rad², as
    /// geometry_msgs/PoseWithCovariance has it.
    pub covariance: Matrix6<f64>,
    /// Velocity, m/s, in the map.
    pub velocity: Vector3<f64>,
    /// Covariance of the velocity in the map, (m/s)².
    pub velocity_covariance: Matrix3<f64>,
    /// Angular rate without its bias, rad/s, in the axes of the body.
    pub rate: Vector3<f64>,
    /// Biases of the inertial sensor.
    pub biases: Biases,
}

/// The result of an instant: a frame, a pose, a velocity, or an instant that was asked for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    /// The estimate after the update.
    pub estimate: PoseEstimate,
    /// Whether measurements of landmarks came in.
    pub has_frame: bool,
    /// Whether the body was taken to be at rest.
    pub is_at_rest: bool,
    /// Normalized innovation squared of all accepted measurements together.
    pub nis: f64,
    /// Its degrees of freedom.
    pub dof: usize,
    /// Measurements used for the update.
    pub accepted: usize,
    /// Measurements beyond the gate.
    pub gated: usize,
    /// Landmarks that were initialized.
    pub initialized: usize,
    /// Landmarks that were removed, because their measurements failed the gate again and again.
    pub removed: usize,
    /// Whether the covariance was widened, because most measurements were beyond the gate.
    pub is_widened: bool,
    /// Landmarks in the state after the step.
    pub landmarks: usize,
}

/// A landmark of the map.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Landmark {
    /// Its identity.
    pub id: u64,
    /// m, in the map.
    pub position: Vector3<f64>,
    /// Covariance in the map, m².
    pub covariance: Matrix3<f64>,
}

/// How good the pose is, in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Quality {
    /// As good as its covariance says.
    Ok,
    /// Worse than usual: no landmark was used lately, or many measurements were beyond the gate.
    Wide,
    /// Not to be used: its covariance is as wide as the place.
    Lost,
    /// There is no pose yet.
    Starting,
}

impl Quality {
    /// The word of `~/pose_quality`.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Wide => "wide",
            Self::Lost => "lost",
            Self::Starting => "starting",
        }
    }
}

/// Why something that came in was not used. The words are those of `/diagnostics`; they mean what they mean on the plane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DropReason {
    /// A number that is not finite.
    NotFinite,
    /// A value beyond what a sensor can measure.
    Absurd,
    /// A covariance that is not symmetric positive definite.
    BadCovariance,
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
    /// The queue of frames was full.
    BufferFull,
    /// A frame from before the start.
    NotStarted,
    /// The same landmark twice in one frame.
    DuplicateFeature,
    /// A measurement outside of the gate.
    Gated,
    /// A measurement beyond the most that a frame may have.
    TooManyPoints,
    /// A new landmark for which the state has no room.
    MapFull,
    /// The innovation covariance could not be factored.
    Singular,
    /// The filter is switched off.
    Disabled,
    /// A measurement of a sensor that was not set.
    UnknownSensor,
    /// A measurement of a landmark that is not in the known map.
    UnknownLandmark,
    /// A step after which the state was invalid: the filter was reinitialized.
    InvalidCovariance,
    /// Corners that cannot be those of a tag: not finite, or no convex quadrangle.
    BadCorners,
    /// An identity that an image has twice: none of the two is used.
    RepeatedTag,
    /// A tag both of whose poses explain its corners: it is used by its place, or not at all.
    AmbiguousTag,
    /// A tag whose corners no pose explains.
    UnexplainedTag,
}

impl DropReason {
    /// All reasons.
    pub const ALL: [Self; 23] = [
        Self::NotFinite,
        Self::Absurd,
        Self::BadCovariance,
        Self::DuplicateStamp,
        Self::TooLate,
        Self::FromTheFuture,
        Self::UnconfirmedJump,
        Self::SecondClock,
        Self::BufferFull,
        Self::NotStarted,
        Self::DuplicateFeature,
        Self::Gated,
        Self::TooManyPoints,
        Self::MapFull,
        Self::Singular,
        Self::Disabled,
        Self::UnknownSensor,
        Self::UnknownLandmark,
        Self::InvalidCovariance,
        Self::BadCorners,
        Self::RepeatedTag,
        Self::AmbiguousTag,
        Self::UnexplainedTag,
    ];

    /// The reason as one word, `snake_case`.
    pub const fn word(self) -> &'static str {
        match self {
            Self::NotFinite => "not_finite",
            Self::Absurd => "absurd",
            Self::BadCovariance => "bad_covariance",
            Self::DuplicateStamp => "duplicate_stamp",
            Self::TooLate => "too_late",
            Self::FromTheFuture => "from_the_future",
            Self::UnconfirmedJump => "unconfirmed_jump",
            Self::SecondClock => "second_clock",
            Self::BufferFull => "buffer_full",
            Self::NotStarted => "not_started",
            Self::DuplicateFeature => "duplicate_feature",
            Self::Gated => "gated",
            Self::TooManyPoints => "too_many_points",
            Self::MapFull => "map_full",
            Self::Singular => "singular",
            Self::Disabled => "disabled",
            Self::UnknownSensor => "unknown_sensor",
            Self::UnknownLandmark => "unknown_landmark",
            Self::InvalidCovariance => "invalid_covariance",
            Self::BadCorners => "bad_corners",
            Self::RepeatedTag => "repeated_tag",
            Self::AmbiguousTag => "ambiguous_tag",
            Self::UnexplainedTag => "unexplained_tag",
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
