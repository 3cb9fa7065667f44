//! Landmarks without identity: which of the open part are landmarks that the map has already.

use super::{Begun, Parts};
use crate::recognise::{Recognised, Search, recognise};
use lienav_base::stamp::Stamp;
use lienav_slam::LocalMap;
use serde::{Deserialize, Serialize};

/// Landmarks without identity are looked for every so many clouds.
const RECOGNISE_CLOUDS: u64 = 2;
/// So many at once, those nearest to the robot; when a part is closed, all.
const LOOKED_FOR: usize = 12;
/// A landmark may turn out to be an older one while the parts that are closed since it was new are no more than these.
const YOUNG_PARTS: usize = 3;
/// After a long way every so many clouds.
const SEEK_CLOUDS: u64 = 4;

/// What is known of a landmark of the closed parts, beside its place.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Seen {
    pub id: u32,
    /// Whether the identity came with its readings.
    pub is_named: bool,
    pub last_seen: Stamp,
    pub observations: u32,
    /// Of a landmark without identity; 0 where it is not known.
    pub class: u32,
    /// How many parts were closed before it was in one, in this process.
    #[serde(skip)]
    pub first_part: usize,
}

impl Parts {
    /// Landmarks without identity that the last step, or the end of the input, has recognised: the identity that the
    /// filter had given, and that of the landmark in the map.
    pub fn merged_landmarks(&self) -> &[(u32, u32)] {
        &self.merged
    }

    /// Looks for landmarks without identity among those of the closed parts.
    pub(super) fn recognise(&mut self, local: &LocalMap<'_>, stamp: Stamp) {
        if !self.clouds.is_multiple_of(RECOGNISE_CLOUDS) {
            return;
        }
        let young = self.young();
        let is_new = |id: u32| !self.index.contains_key(&id) || young.contains(&id);
        let is_due = (0..local.len())
            .any(|i| local.last_seen(i) == stamp && !local.has_given_identity(i) && is_new(local.id(i)));
        let seeks = self.clouds.is_multiple_of(SEEK_CLOUDS);
        let is_loop_open = is_due && self.recognise_most(local, Search { most: LOOKED_FOR, seeks });
        if seeks {
            self.is_loop_open = is_loop_open;
        }
    }

    /// Landmarks without identity that the open part was begun with, and that the closed parts know for a short time only,
    /// by their identities in the filter: they may turn out to be older ones.
    fn young(&self) -> Vec<u32> {
        let is_young = |begun: &&Begun| {
            let seen = &self.seen[begun.number];
            !seen.is_named && seen.first_part + YOUNG_PARTS >= self.problem.closed
        };
        self.begun.iter().filter(is_young).map(|begun| begun.id).collect()
    }

    /// The same whenever it is asked for. A landmark with an identity is known by that alone: the open part may read it
    /// by its identity, too, and has no landmark twice. Returns whether a loop is open: pairs were supposed, and none
    /// was believed.
    pub(super) fn recognise_most(&mut self, local: &LocalMap<'_>, search: Search) -> bool {
        let is_current = |a: &usize| {
            let number = self.near.landmarks[*a];
            let seen = &self.seen[number];
            !seen.is_named && self.numbers.get(&seen.id) == Some(&number)
        };
        let free = (0..self.near.landmarks.len()).filter(is_current).collect();
        let classes: Vec<u32> = self.near.landmarks.iter().map(|number| self.seen[*number].class).collect();
        let (young, before) = (self.young(), self.begun.len());
        let (found, is_open) =
            recognise((&self.near, &classes), (local, &self.tie), (&self.index, &young), free, search);
        for Recognised { id, row, twins } in found {
            let number = self.near.landmarks[row];
            // One that the part was begun with is known by the readings of this part alone from now on, and what was
            // measured of it before stays in the least squares, where it counts as another one.
            self.begun.retain(|begun| begun.id != id);
            self.recognised.retain(|(other, _)| *other != id);
            self.recognised.push((id, number));
            self.numbers.insert(id, number);
            self.index.insert(id, row);
            let kept = self.seen[number].id;
            self.merged.push((id, kept));
            for twin in twins {
                // What was measured of it stays in the least squares, where it counts as another one.
                let gone = self.seen[self.near.landmarks[twin]].id;
                self.numbers.remove(&gone);
                self.index.remove(&gone);
                self.merged.push((gone, kept));
            }
        }
        if self.begun.len() < before {
            self.tie = self.tie_of_now();
        }
        is_open
    }

    /// The filter gives other identities in the next part, but to the landmarks that it is begun with.
    pub(super) fn forget_recognised(&mut self) {
        let begun = &self.begun;
        let (stay, gone) = self.recognised.drain(..).partition(|(id, _)| begun.iter().any(|begun| begun.id == *id));
        self.recognised = stay;
        let gone: Vec<(u32, usize)> = gone;
        for (id, number) in gone {
            if self.numbers.get(&id) == Some(&number) && self.seen[number].id != id {
                self.numbers.remove(&id);
            }
            self.index.remove(&id);
        }
    }
}
