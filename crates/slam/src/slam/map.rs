//! The map that outlives a run.

use super::{SavedState, Slam};
use crate::{LandmarkMap, MapMode};

impl Slam {
    /// The features with their joint covariance in the map frame, as of the last step. In `localization` and `extend`,
    /// the known map as it is now, with the landmarks that are not in the filter at this time; it has a joint covariance
    /// if the filter has one of all landmarks.
    pub fn map(&self) -> LandmarkMap {
        match self.config.map.mode {
            MapMode::Mapping => self.estimator.state.landmark_map(),
            MapMode::Localization | MapMode::Extend => self.estimator.known_map(),
        }
    }
}

impl SavedState {
    /// The features with their joint covariance in the map frame. For a map of 500 features this takes some ten
    /// milliseconds, which need not be those of the thread that steps the filter.
    pub fn map(&self) -> LandmarkMap {
        self.estimator.state().landmark_map()
    }
}
