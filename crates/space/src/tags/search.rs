//! The search for the body among known tags, in the frames that wait for a start.

use super::inbox::{Inbox, What};
use super::start::{self, EITHER, NEAR};
use crate::config::Config;
use lienav_base::stamp::Stamp;
use lienav_lie::Se3;
use lienav_tags::landmark::KnownTag;
use std::collections::BTreeMap;

/// A start in a known map waits so long for a second tag, s.
const SECOND_TAG_S: f64 = 1.0;

/// What was found so far.
#[derive(Clone, Copy, Debug, Default)]
pub struct Search {
    /// Frames up to this one were searched.
    until: Option<Stamp>,
    /// The first with a known tag.
    first: Option<Stamp>,
    /// The first that shows the body by a single tag.
    single: Option<(Stamp, Se3)>,
    /// The newest with known tags, and the better of the poses that they have.
    likely: Option<(Stamp, Se3)>,
}

impl Search {
    /// Looks for the body in the frames that wait: at the first frame with two known tags that are clear; without one for
    /// a second, where a single tag shows it, or else at the better of its two poses, with errors that reach the other.
    pub fn find(
        &mut self,
        inbox: &Inbox,
        known: &BTreeMap<u64, KnownTag>,
        is_planar: bool,
        config: &Config,
    ) -> Option<(Stamp, Se3, [f64; 2])> {
        let window_s = config.timing.reorder_window_s;
        let search = self;
        for item in inbox.items() {
            let What::Frame(images) = &item.what else { continue };
            if search.until.is_some_and(|until| item.stamp <= until) {
                continue;
            }
            if !inbox.is_due(item.stamp, window_s) {
                break;
            }
            search.until = Some(item.stamp);
            let count = start::known_in(known, &images.sights);
            if count == 0 {
                continue;
            }
            search.first.get_or_insert(item.stamp);
            match start::shown(known, &images.sights, is_planar) {
                Some(pose) if count >= 2 => return Some((item.stamp, pose, NEAR)),
                Some(pose) => _ = search.single.get_or_insert((item.stamp, pose)),
                None => {
                    let likely = start::likely(known, &images.sights, is_planar);
                    search.likely = likely.map(|pose| (item.stamp, pose)).or(search.likely);
                }
            }
        }
        let waited = |since: Option<Stamp>| since.zip(inbox.newest).map_or(0.0, |(since, newest)| newest.since(since));
        let max_wait_s = config.start.max_wait_s;
        let is_over = max_wait_s > 0.0 && waited(search.first) > max_wait_s.min(SECOND_TAG_S);
        match (search.single, search.likely) {
            // Frames that were dropped meanwhile cannot be begun with.
            (Some((at, pose)), _) if waited(Some(at)) > SECOND_TAG_S => Some((at, pose, NEAR)),
            (_, Some((at, pose))) if is_over => Some((at, pose, EITHER)),
            _ => None,
        }
    }
}
