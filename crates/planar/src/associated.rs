//! A measurement with what it was associated with, and what the filter did with it.

use crate::checked::CheckedMeasurement;
use nalgebra::Vector2;
use serde::{Deserialize, Serialize};

/// What a measurement measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Subject<F> {
    /// A landmark of the map.
    Landmark(F),
    /// The pose itself.
    Pose,
}

/// What the filter did with a measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Role {
    /// It began the landmark.
    First,
    /// It corrected the estimate.
    Again,
    /// It lay outside the landmark's gate and was left out.
    Gated,
    /// It corrected the places where the landmark may be, of which there was more than one, and nothing else.
    Held,
}

/// A measurement, and what it was associated with.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Associated {
    /// The landmark, by its identity, or the pose.
    pub subject: Subject<u32>,
    /// What was read.
    #[serde(rename = "reading")]
    pub measurement: CheckedMeasurement,
    /// What the filter did with it.
    pub role: Role,
    /// The factor that the covariance of the measurement was multiplied by.
    pub noise_scale: f64,
    /// The landmark in the robot frame at the time of the measurement, m, as the newest estimate places it.
    pub linearization_point: Option<Vector2<f64>>,
}

impl Associated {
    /// A measurement with its own covariance.
    #[inline]
    pub fn new(subject: Subject<u32>, measurement: CheckedMeasurement, role: Role) -> Self {
        Self { subject, measurement, role, noise_scale: 1.0, linearization_point: None }
    }
}

/// A measurement of a landmark that is not in the map.
#[derive(Clone, Copy, Debug)]
pub struct Newcomer {
    /// The identity that it names.
    pub id: Option<u32>,
    /// The measurement.
    pub measurement: CheckedMeasurement,
}

/// A landmark that a measurement may be of that was left out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ambiguity {
    /// Which reading.
    pub measurement: usize,
    /// The trace of its noise, m².
    pub noise: f64,
    /// The identity of the landmark.
    pub landmark: u32,
}
