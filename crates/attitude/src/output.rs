//! What comes out of the filter.

use lienav_base::intake::{self, Reason};
use lienav_base::stamp::Stamp;
use nalgebra::{Matrix3, UnitQuaternion, Vector3};
use serde::Serialize;
use std::fmt;

/// What is known at the stamp of a sample.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The instant it holds for.
    pub stamp: Stamp,
    /// From the body frame to the world frame, z up.
    pub orientation: UnitQuaternion<f64>,
    /// Covariance of ξ with R = exp(ξ) R̂, rad²: of small rotations about the world's axes.
    pub orientation_covariance: Matrix3<f64>,
    /// Without its bias, rad/s, body frame.
    pub angular_velocity: Vector3<f64>,
    /// Without its bias, m/s², body frame.
    pub specific_force: Vector3<f64>,
    /// Of the gyroscope, rad/s.
    pub gyro_bias: Vector3<f64>,
    /// Its covariance, rad²/s².
    pub gyro_bias_covariance: Matrix3<f64>,
    /// Of the accelerometer, m/s².
    pub accelerometer_bias: Vector3<f64>,
    /// Whether the sensor is at rest.
    pub at_rest: bool,
    /// How far from its usual place the sensor is taken to move, standard deviation by axis, m: the less, the more
    /// gravity is believed.
    pub reach_std: f64,
}

/// Why something that came in was not used. The words are those of `/diagnostics` and of the evaluator's report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum DropReason {
    /// A number that is not finite.
    NotFinite,
    /// A value no sensor of this kind gives: beyond the limits of the configuration.
    Absurd,
    /// A stamp that was already used.
    DuplicateStamp,
    /// A stamp older than one that was used.
    TooLate,
    /// A stamp far ahead of everything else, which no run of messages has confirmed.
    FromTheFuture,
    /// A stamp far behind everything else, which no run of messages has confirmed.
    UnconfirmedJump,
    /// A stamp of a clock that runs beside the one in force.
    SecondClock,
    /// A magnetic field before any inertial sample.
    NotStarted,
    /// What looked like rest would need a gyroscope bias that is not credible: a steady turn.
    NotAtRest,
    /// A magnetic field that is not that of the earth.
    Disturbed,
    /// The innovation covariance could not be factored.
    Singular,
    /// The filter is switched off.
    Disabled,
}

impl DropReason {
    /// All reasons.
    pub const ALL: [Self; 12] = [
        Self::NotFinite,
        Self::Absurd,
        Self::DuplicateStamp,
        Self::TooLate,
        Self::FromTheFuture,
        Self::UnconfirmedJump,
        Self::SecondClock,
        Self::NotStarted,
        Self::NotAtRest,
        Self::Disturbed,
        Self::Singular,
        Self::Disabled,
    ];

    /// The reason as one word, `snake_case`.
    pub const fn word(self) -> &'static str {
        match self {
            Self::NotFinite => "not_finite",
            Self::Absurd => "absurd",
            Self::DuplicateStamp => "duplicate_stamp",
            Self::TooLate => "too_late",
            Self::FromTheFuture => "from_the_future",
            Self::UnconfirmedJump => "unconfirmed_jump",
            Self::SecondClock => "second_clock",
            Self::NotStarted => "not_started",
            Self::NotAtRest => "not_at_rest",
            Self::Disturbed => "disturbed",
            Self::Singular => "singular",
            Self::Disabled => "disabled",
        }
    }

    /// Whether input was left out; the other is a correction that the filter did without, which is its daily business.
    pub const fn is_of_input(self) -> bool {
        !matches!(self, Self::NotAtRest)
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
