//! What comes out of a run, and why there is none.

use crate::timeline::Timeline;
use lienav_base::stamp::Stamp;
use lienav_io::recording::Recording;
use lienav_lie::Se2;
use lienav_slam::{
    CalibrationEstimate, ConfigError, InitialConfig, Landmark, LandmarkMapError, LearnedNoise, Motion, Role, StartMode,
    Step,
};
use lienav_submaps::Status;
use nalgebra::{Matrix3, Vector3};
use serde::Serialize;
use std::collections::BTreeMap;

/// The motions of a run that end at a stamp.
pub type Motions = Vec<(Stamp, Motion)>;

/// What a filter made of a recording, or what was heard of one that runs elsewhere.
#[derive(Clone, Debug, Default)]
pub struct Run {
    /// Where the input came from.
    pub source: String,
    /// The name of the filter.
    pub filter: String,
    /// One for each scan of features that was processed.
    pub estimates: Vec<Estimate>,
    /// Time of each step, µs: the odometry since the last step, and the step itself. Empty where it was not measured.
    pub step_us: Vec<f64>,
    /// What the measurements of each scan were taken for; empty where it was not asked for.
    pub matches: Vec<ScanMatches>,
    /// Landmarks that turned out to be one, in the order of the merges: the identity that is gone, and the one that was
    /// kept. Empty where matches are not kept.
    pub merged: Vec<(u32, u32)>,
    /// What the filter was told of the start; `None` where it is not known.
    pub start: Option<StartBelief>,
    /// The map at the end.
    pub landmarks: Vec<Landmark>,
    /// What was calibrated while running, as known at the end.
    pub calibration: Vec<CalibrationEstimate>,
    /// What was learned of the noise, as known at the end.
    pub noise: Option<LearnedNoise>,
    /// How often the gate was opened because it had starved the filter; 0 where it is not known.
    pub gate_openings: u64,
    /// What was left out, by reason: unreadable input, and what the filter refused.
    pub dropped: BTreeMap<String, u64>,
    /// What the source states that cannot be, and that nothing of it was used: first in the report.
    pub contradictions: Vec<String>,
    /// What the reader of the report should know.
    pub warnings: Vec<String>,
    /// What the filter did over time; `None` where it was not asked for.
    pub timeline: Option<Timeline>,
    /// Of a map in parts: what became of them, and the time that was spent beside the filter, s.
    pub parts: Option<(Status, f64)>,
    /// Motions with their covariance, at the stamps where they end; empty where they were not asked for.
    pub motions: Motions,
}

/// The start as stated to a filter. A start that is believed more than it is right is in every error and in the
/// NEES of the pose from then on.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct StartBelief {
    /// Whether a pose was given; otherwise the robot was searched for.
    pub is_given: bool,
    /// The standard deviation of each coordinate, m; 0 is exact.
    pub position_std_m: f64,
    /// That of the heading, rad.
    pub yaw_std_rad: f64,
}

impl StartBelief {
    /// As configured.
    pub fn of(initial: &InitialConfig) -> Self {
        let &InitialConfig { mode, position_std_m, yaw_std_rad, .. } = initial;
        Self { is_given: mode != StartMode::Unknown, position_std_m, yaw_std_rad }
    }
}

/// The pose after one scan of features.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// When.
    pub stamp: Stamp,
    /// Pose of the base in the map frame.
    pub pose: Se2,
    /// Covariance of (x, y, θ) in the map frame, (m, m, rad).
    pub covariance: Matrix3<f64>,
    /// What the scan did; `None` where it is not known.
    pub update: Option<Update>,
}

/// What the measurements of a scan were taken for.
#[derive(Clone, Debug, PartialEq)]
pub struct ScanMatches {
    /// When.
    pub stamp: Stamp,
    /// Those that were associated at all.
    pub measurements: Vec<MatchedMeasurement>,
}

/// What a measurement was taken for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MatchedMeasurement {
    /// What was read; zeros beyond the sensor's dimension.
    pub value: Vector3<f64>,
    /// The landmark, by the number that the filter gave it.
    pub landmark: u32,
    /// What the filter did with it.
    pub role: Role,
}

/// What a scan of features did to the filter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Update {
    /// Normalised innovation squared of all accepted measurements together.
    pub nis: f64,
    /// Its degrees of freedom.
    pub dof: usize,
    /// Measurements used.
    pub accepted: usize,
    /// Measurements of new features.
    pub added: usize,
    /// Measurements left out.
    pub rejected: usize,
}

impl From<&Step> for Estimate {
    fn from(step: &Step) -> Self {
        let Step { estimate, nis, dof, accepted, added, rejected, .. } = *step;
        Self {
            stamp: estimate.stamp,
            pose: estimate.pose,
            covariance: estimate.covariance,
            update: Some(Update { nis, dof, accepted, added, rejected }),
        }
    }
}

/// Why there is no run.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum RunError {
    /// A configuration that cannot be used.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// A map that cannot be used.
    #[error("the map cannot be used: {0}")]
    Map(#[from] LandmarkMapError),
    /// A map that cannot be gone on with in parts.
    #[error("the map cannot be used: {0}")]
    Submaps(#[from] lienav_submaps::ResumeSubmapsError),
}

impl Run {
    /// Takes over what a recording says of itself: its name, what was left out of it, its warnings.
    pub fn name_source(&mut self, recording: &Recording) {
        self.source.clone_from(&recording.name);
        for (reason, count) in &recording.dropped {
            *self.dropped.entry(reason.clone()).or_default() += count;
        }
        self.contradictions.splice(0..0, recording.contradictions.iter().cloned());
        self.warnings.splice(0..0, recording.warnings.iter().cloned());
    }
}
