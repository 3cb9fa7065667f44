//! The map that outlives a run, and the map that is known before it.

use crate::slam::Slam;
use crate::slam::saved::SavedState;
use lienav_map::{LandmarkMap, LandmarkMapError, MapLandmark};
use lienav_planar::belief::LandmarkStatus;
use lienav_planar::config::MapMode;

impl Slam {
    /// Gives the filter a known map. It is used while `map.mode` is `localization` or `extend`, and is in the same
    /// frame as the pose. What the filter has mapped so far is forgotten; the pose stays and is taken as independent of
    /// the map.
    ///
    /// # Errors
    /// Landmarks that are no map; nothing is changed then.
    pub fn set_map(&mut self, map: LandmarkMap) -> Result<(), LandmarkMapError> {
        map.check()?;
        self.estimator.set_map(map);
        self.forget_sum();
        self.stay();
        if self.search.global.is_some() {
            self.search_again();
        } else {
            self.search_at_start();
        }
        self.look_ahead();
        Ok(())
    }

    /// Changes `map.mode`. From `mapping` on, what was mapped is the known map, with the correlations that it has; to
    /// `mapping`, the landmarks in the filter at this time are those of the map, which is made in one then. Not for the
    /// filter of a map in parts.
    pub fn set_mode(&mut self, mode: MapMode) {
        if mode != self.config.map.mode {
            if !self.config.makes_submaps() {
                self.config.map.local_features = 0;
            }
            self.config.map.mode = mode;
            self.estimator.reconfigure(&self.config);
            self.forget_sum();
            self.stay();
            self.search_again();
        }
    }

    /// The landmarks of the known map that are no longer believed, and why. [`Slam::set_map`] makes all believed again.
    pub fn lost_landmarks(&self) -> impl Iterator<Item = (u32, LandmarkStatus)> + '_ {
        self.lost_places().map(|(landmark, status)| (landmark.id, status))
    }

    /// The same with the places where the map has them.
    pub fn lost_places(&self) -> impl Iterator<Item = (&MapLandmark, LandmarkStatus)> + '_ {
        let known = self.estimator.model.known.landmarks().iter();
        known.map(|known| (&known.landmark, known.belief.status)).filter(|(_, status)| *status != LandmarkStatus::Ok)
    }

    /// The landmarks with their joint covariance in the map frame, as of the last step. In `localization` and `extend`,
    /// the known map as it is now, with the landmarks that are not in the filter at this time; it has a joint
    /// covariance if the filter has one of all landmarks.
    pub fn map(&self) -> LandmarkMap {
        match self.config.filter_mode() {
            MapMode::Mapping => self.estimator.landmark_map(),
            MapMode::Localization | MapMode::Extend => self.estimator.known_map(),
        }
    }
}

impl SavedState {
    /// The landmarks with their joint covariance in the map frame. For a map of 500 landmarks this takes some ten
    /// milliseconds, which need not be those of the thread that steps the filter.
    pub fn map(&self) -> LandmarkMap {
        self.estimator.landmark_map()
    }
}
