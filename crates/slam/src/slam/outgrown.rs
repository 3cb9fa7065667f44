//! A map in one that goes on in submaps: from how many landmarks on, and with which settings.

use lienav_planar::config::{MapConfig, MapMode, WhenFull};

/// A map that goes on in submaps has submaps of so many landmarks: four times what most robots see at once.
const IN_SUBMAP: usize = 50;
/// One covariance is good for so many: one step of a hundred takes 0.4 ms with 300 landmarks, and 6 ms with 1,000
/// (docs/submaps.md).
const GOOD_FOR_ONE: usize = 500;
/// Where `map.max_features` is at most that, submaps have room for so many, the most that it may be.
const ROOM: usize = 1_000_000;
/// Who sets `map.max_features` lower than this means a bound, and gets it.
const LEAST_OUTGROWN: usize = 2 * IN_SUBMAP;

/// Whether a map of these settings is made in one, and may go on in submaps.
pub fn may_be(map: &MapConfig) -> bool {
    map.when_full == WhenFull::Submaps
        && map.mode == MapMode::Mapping
        && map.local_features == 0
        && map.max_features >= LEAST_OUTGROWN
}

/// Whether so many landmarks are a full map, or more than one covariance is good for.
pub fn is(map: &MapConfig, landmarks: usize) -> bool {
    landmarks >= map.max_features.min(GOOD_FOR_ONE)
}

/// The settings of a map that goes on in submaps.
pub fn in_submaps(map: &MapConfig) -> MapConfig {
    let max_features = if map.max_features > GOOD_FOR_ONE { map.max_features } else { ROOM };
    MapConfig { local_features: IN_SUBMAP, max_features, ..map.clone() }
}
