//! The map that outlives a run.

use super::{SavedState, Slam};
use crate::LandmarkMap;

impl Slam {
    /// The features with their joint covariance in the map frame, as of the last step.
    pub fn map(&self) -> LandmarkMap {
        self.estimator.state.landmark_map()
    }
}

impl SavedState {
    /// The features with their joint covariance in the map frame. For a map of 500 features this takes some ten
    /// milliseconds, which need not be those of the thread that steps the filter.
    pub fn map(&self) -> LandmarkMap {
        self.estimator.state().landmark_map()
    }
}
