//! Pruning: dropping landmarks from the map.

use crate::config::{MapConfig, MapMode, WhenFull};
use crate::model::Model;
use crate::state::{State, StateLandmark};
use lienav_base::stamp::Stamp;

/// Drops the landmarks that were not seen for longer than `map.forget_after_s`; not those of a known map, nor those
/// that the part was begun with.
pub fn prune(state: &mut State, model: &Model, stamp: Stamp) {
    let map = &model.map;
    if map.forget_after_s <= 0.0 || map.mode == MapMode::Localization {
        return;
    }
    let mut i = 0;
    while i < state.landmarks.len() {
        let StateLandmark { id, last_seen, is_anchor_point, is_inherited, .. } = state.landmarks[i];
        let is_known = map.mode == MapMode::Extend && model.known.find(id).is_some();
        if stamp.since(last_seen) > map.forget_after_s && !is_known && !is_anchor_point && !is_inherited {
            state.swap_remove(i);
        } else {
            i += 1;
        }
    }
}

/// Whether the map has room for one more landmark. With `drop_oldest`, drops the landmark that was not seen for the
/// longest time to make room, unless it is in view now.
pub fn make_room(state: &mut State, map: &MapConfig, stamp: Stamp) -> bool {
    if state.landmarks.len() - state.points() < map.max_features {
        return true;
    }
    if map.when_full != WhenFull::DropOldest {
        return false;
    }
    let oldest = state
        .landmarks
        .iter()
        .enumerate()
        .filter(|(_, f)| !f.is_anchor_point && !f.is_inherited)
        .min_by_key(|(_, f)| (f.last_seen, f.id));
    match oldest {
        Some((i, landmark)) if landmark.last_seen < stamp => {
            state.swap_remove(i);
            true
        }
        _ => false,
    }
}
