//! The map that an estimator knows before it begins, and what becomes of it with a mode.

use crate::estimator::Estimator;
use crate::moved_or_gone::Watch;
use lienav_associate::active_landmarks::{activate_all, most_active};
use lienav_associate::delayed_initialization;
use lienav_base::stamp::Stamp;
use lienav_map::LandmarkMap;
use lienav_planar::config::MapMode;
use lienav_planar::known_map::KnownMap;

impl Estimator {
    /// Takes over a mode of the map that was another one before.
    pub(super) fn change_mode(&mut self, before: MapMode) {
        if before == MapMode::Mapping {
            self.drop_candidates();
        }
        delayed_initialization::give_up(&mut self.state);
        if before != MapMode::Localization {
            // What was estimated is known from now on, and its errors are correlated.
            for i in 0..self.state.landmarks.len() {
                self.model.known.write(&self.state.landmark(i));
                self.model.known.correlate();
            }
        }
        match self.model.map.mode {
            MapMode::Localization => self.state.freeze(),
            MapMode::Mapping | MapMode::Extend => self.state.thaw(self.filter.coordinates()),
        }
        self.activate_whole();
    }

    /// Forgets what does not count as a landmark yet.
    fn drop_candidates(&mut self) {
        for i in (0..self.state.landmarks.len()).rev() {
            if !self.is_landmark(self.state.landmarks[i].id) {
                self.state.swap_remove(i);
            }
        }
        self.memory.clear();
    }

    /// The landmarks that are known from now on. What the filter has mapped by itself is forgotten, and the pose is
    /// taken as independent of the map.
    pub fn set_map(&mut self, map: LandmarkMap) {
        self.settle();
        self.hypotheses.clear();
        self.fixed_lag.clear();
        for i in (0..self.state.landmarks.len()).rev() {
            self.state.swap_remove(i);
        }
        self.model.known = KnownMap::new(map);
        self.watch = Watch::default();
        self.activate_whole();
    }

    /// The known map with what was learned of it, and with the joint covariance if the filter has it of all landmarks.
    pub fn known_map(&self) -> LandmarkMap {
        let mut known = self.model.known.clone();
        let is_frozen = self.model.map.mode == MapMode::Localization;
        if !is_frozen {
            let of_landmarks = |i: &usize| !self.state.landmarks[*i].is_anchor_point;
            (0..self.state.landmarks.len()).filter(of_landmarks).for_each(|i| known.write(&self.state.landmark(i)));
        }
        let mut map = known.to_map();
        let is_correlated = !is_frozen || known.is_correlated();
        if map.joint.is_none() && is_correlated && map.landmarks.len() == self.state.landmarks.len() {
            map.joint = Some(self.state.joint_of_places(map.landmarks.iter().map(|landmark| landmark.id)));
        }
        map
    }

    /// Where errors of known landmarks are correlated and all have room, all are in the state.
    pub(super) fn activate_whole(&mut self) {
        let known = &self.model.known;
        if self.model.map.mode != MapMode::Mapping && known.has_joint() && known.len() <= most_active(&self.model) {
            activate_all(&mut self.state, known, Stamp::MIN);
        }
    }
}
