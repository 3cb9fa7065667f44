//! Landmarks without identity: which of the open part are landmarks that the map has already.

use super::Parts;
use crate::recognise::{Recognised, Search, recognise};
use lienav_base::stamp::Stamp;
use lienav_slam::LocalMap;
use serde::{Deserialize, Serialize};

/// Landmarks without identity are looked for every so many clouds.
const RECOGNISE_CLOUDS: u64 = 2;
/// So many at once, those nearest to the robot; when a part is closed, all.
const LOOKED_FOR: usize = 12;
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
        let is_new = |i: usize| local.last_seen(i) == stamp && !local.has_given_identity(i);
        let is_due = self.clouds.is_multiple_of(RECOGNISE_CLOUDS)
            && (0..local.len()).any(|i| is_new(i) && !self.index.contains_key(&local.id(i)));
        if is_due {
            let seeks = self.clouds.is_multiple_of(SEEK_CLOUDS);
            self.recognise_most(local, Search { most: LOOKED_FOR, seeks });
        }
    }

    /// The same whenever it is asked for. A landmark with an identity is known by that alone: the open part may read it
    /// by its identity, too, and has no landmark twice.
    pub(super) fn recognise_most(&mut self, local: &LocalMap<'_>, search: Search) {
        let is_current = |a: &usize| {
            let number = self.near.landmarks[*a];
            let seen = &self.seen[number];
            !seen.is_named && self.numbers.get(&seen.id) == Some(&number)
        };
        let free = (0..self.near.landmarks.len()).filter(is_current).collect();
        let classes: Vec<u32> = self.near.landmarks.iter().map(|number| self.seen[*number].class).collect();
        for Recognised { id, row, twins } in
            recognise((&self.near, &classes), (local, &self.tie), &self.index, free, search)
        {
            let number = self.near.landmarks[row];
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
