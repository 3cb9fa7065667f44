//! What a run is asked for, and what all kinds of runs have in common.

use super::session::Session;
use super::settings::{MOST_LANDMARKS, Settings};
use super::tag_motion::Odometry;
use super::truth::Truth;
use lienav_inertial::state::State;
use lienav_io::space::data::SpaceRecording;
use lienav_space::Map3d;
use nalgebra::{Matrix3, Vector3};
use std::ops::RangeInclusive;

/// What is known of a run before it.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Whether the true landmarks are known to the filter.
    pub has_map: bool,
    /// Their standard deviation, m; `None` for what is usual for the layout.
    pub map_sigma: Option<f64>,
    /// Of a recording with steps, which of them, counted from 1.
    pub steps: Option<RangeInclusive<usize>>,
    /// Frames of the windows for which it is found out what the filter takes for observable; zero for none.
    pub window: usize,
    /// Of a recording of tags with two kinds of odometry, which of them.
    pub odometry: Odometry,
}

/// A run that cannot be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RunError {
    /// There is no filter of this name.
    #[error("there is no filter '{0}' in space; there are default, reduced, ekf, fe-ekf, oc-ekf, group and window")]
    NoFilter(String),
    /// A map was asked for that the recording does not have.
    #[error("the recording has no true landmarks to be a map")]
    NoMap,
    /// The run has nothing to begin with.
    #[error("{0}: nothing to start from: no frame lies between the samples")]
    NoStart(String),
    /// The inertial sensor is not in rad/s and m/s².
    #[error("{0}")]
    Units(String),
    /// The inertial sensor is not mounted as stated.
    #[error("{0}")]
    Mount(String),
    /// The recording states what the pipeline does not take.
    #[error("{0}")]
    Settings(String),
    /// No steps are left.
    #[error("the recording has no steps {0} to {1}; it has {2}")]
    NoSteps(usize, usize, usize),
}

/// The published interval of Starry Night, counted from 1.
pub const STARRY_STEPS: RangeInclusive<usize> = 1215..=1715;

/// What a run has in the end: what was kept, the landmarks, and sentences.
pub type Ran = (Session, Vec<(u64, Vector3<f64>)>, Vec<String>);

/// The landmarks of a state.
pub fn points(state: &State) -> Vec<(u64, Vector3<f64>)> {
    let points = state.landmarks.iter().filter(|landmark| landmark.is_point());
    points.map(|landmark| (landmark.id, landmark.position)).collect()
}

/// The true landmarks as a map.
pub fn map_of(recording: &SpaceRecording, truth: &Truth, settings: &Settings, options: &Options) -> Map3d {
    let sigma = options.map_sigma.unwrap_or(settings.map_sigma);
    let covariance = Matrix3::identity() * sigma.max(1e-4).powi(2);
    let known = recording.landmarks.iter().take(MOST_LANDMARKS);
    Map3d::independent(known.map(|(id, place)| (*id, truth.level * *place, covariance)))
}
