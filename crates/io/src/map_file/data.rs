//! A map with its state, as data.

use lienav_slam::{LandmarkMap, SavedState};
use lienav_submaps::SavedSubmaps;

/// A map with its state, and where its positions are.
#[derive(Clone, Debug, Default)]
pub struct MapFile {
    /// The frame that positions are in, if the file says so.
    pub frame: Option<String>,
    /// The landmarks, with their joint covariance if it is known.
    pub map: LandmarkMap,
    /// The filter as it was when it made this map: a run can go on from there. `map` is [`SavedState::map`], unless
    /// there are `parts`: the filter had the last one of these, then.
    pub filter: Option<SavedState>,
    /// The parts of this map, if it was made in parts: they say what a joint covariance would.
    pub parts: Option<SavedSubmaps>,
    /// What was left out, as sentences: empty where the whole of it was read.
    pub warnings: Vec<String>,
}
