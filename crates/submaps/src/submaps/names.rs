//! Landmarks without identity: which of the open submap are landmarks that the map has already.

use super::Submaps;
use super::landmark::Inherited;
use crate::problem::Placed;
use crate::recognise::{Question, Recognised, are_others};
use lienav_base::stamp::Stamp;
use lienav_slam::LocalMap;
use lienav_slam::identity::{NEAR_M2, are_one};
use std::collections::HashSet;

/// Landmarks without identity are looked for every so many scans.
const RECOGNISE_SCANS: u64 = 2;
/// When a submap is closed, so often at most.
const LAST_LOOKS: usize = 8;
/// So many landmarks are looked at for others at the same place.
const SWEPT: usize = 16;
/// A landmark may turn out to be an older one while the submaps that are closed since it was new are no more than
/// these.
const RECENT_SUBMAPS: usize = 6;

impl Submaps {
    /// Landmarks without identity that the last step, or the end of the input, has recognised: the identity that the
    /// filter had given, and that of the landmark in the map.
    pub fn merged_landmarks(&self) -> &[(u32, u32)] {
        &self.merged
    }

    /// Looks for landmarks without identity among those of the closed submaps.
    pub(super) fn recognise(&mut self, local: &LocalMap<'_>, stamp: Stamp) {
        if !self.scans.is_multiple_of(RECOGNISE_SCANS) {
            return;
        }
        self.sweep(local);
        let recent = self.recent(local);
        let is_due = recent.iter().any(|i| local.last_seen(*i) == stamp);
        self.is_loop_open = is_due && self.identify(local, recent);
    }

    /// Features without identity that may be older landmarks, those nearest to the robot first: new ones, and those
    /// that the open submap was begun with and that the closed submaps know for a short time only.
    fn recent(&self, local: &LocalMap<'_>) -> Vec<usize> {
        let is_recent = |inherited: &&Inherited| {
            let seen = &self.seen[inherited.number];
            !seen.is_named && seen.first_submap + RECENT_SUBMAPS >= self.problem.closed
        };
        let inherited: HashSet<u32> = self.inherited.iter().filter(is_recent).map(|inherited| inherited.id).collect();
        let may_be = |i: &usize| {
            let id = local.id(*i);
            let is_new = !self.index.contains_key(&id) || inherited.contains(&id);
            is_new && !local.has_given_identity(*i) && local.is_recent(*i)
        };
        let mut recent: Vec<usize> = (0..local.len()).filter(may_be).collect();
        let robot = local.pose().p;
        let square = |i: &usize| (local.place(*i) - robot).norm_squared();
        recent.sort_unstable_by(|a, b| square(a).total_cmp(&square(b)).then(a.cmp(b)));
        recent
    }

    /// The same at the end of a submap, until nothing more is found; of landmarks only.
    pub(super) fn recognise_all(&mut self, local: &LocalMap<'_>) {
        for _ in 0..LAST_LOOKS {
            let before = self.merged.len();
            let recent = self.recent(local).into_iter().filter(|i| local.is_landmark(*i)).collect();
            self.identify(local, recent);
            if self.merged.len() == before {
                break;
            }
        }
    }

    /// Which of these features are landmarks of the closed submaps. A landmark with an identity is known by that alone:
    /// the open submap may read it by its identity, too, and has no landmark twice. Returns whether a loop is open:
    /// some may be, and none is for sure.
    fn identify(&mut self, local: &LocalMap<'_>, recent: Vec<usize>) -> bool {
        let free = (0..self.near.landmarks.len()).filter(|row| self.is_current(*row)).collect();
        let classes: Vec<u32> = self.near.landmarks.iter().map(|number| self.seen[*number].class).collect();
        // Two that one submap has are two.
        let last_submaps = self.problem.submaps.iter().rev().take(RECENT_SUBMAPS + 1);
        let last_submaps: Vec<&[usize]> = last_submaps.map(|placed| placed.landmarks.as_slice()).collect();
        let are_two = |feature: usize, row: usize| {
            let other = self.near.landmarks[row];
            let own = self.numbers.get(&local.id(feature));
            own.is_some_and(|own| last_submaps.iter().any(|submap| submap.contains(own) && submap.contains(&other)))
        };
        let (near, coupling, index) = (&self.near, &self.coupling, &self.index);
        let question = Question { near, classes: &classes, free, local, coupling, index, recent, are_two: &are_two };
        let mut workspace = std::mem::take(&mut self.identification);
        let (found, is_open) = question.answer(&mut workspace);
        self.identification = workspace;
        let before = self.inherited.len();
        for Recognised { id, row, duplicates } in found {
            let number = self.near.landmarks[row];
            // One that the submap was begun with is known by the measurements of this submap alone from now on, and
            // what was measured of it before stays in the least squares, where it counts as another one.
            self.take_for(id, row);
            let kept = self.seen[number].id;
            self.merged.push((id, kept));
            for duplicate in duplicates {
                // What was measured of it stays in the least squares, where it counts as another one.
                let gone = self.seen[self.near.landmarks[duplicate]].id;
                self.numbers.remove(&gone);
                self.index.remove(&gone);
                self.merged.push((gone, kept));
            }
        }
        if self.inherited.len() < before {
            self.coupling = self.current_coupling();
        }
        is_open
    }

    /// Landmarks of the closed submaps that turn out to be one, whenever they were seen: those that a closed loop has
    /// brought together. Looks at a few in each call.
    fn sweep(&mut self, local: &LocalMap<'_>) {
        let count = self.near.landmarks.len();
        for _ in 0..SWEPT.min(count) {
            self.swept = if self.swept + 1 < count { self.swept + 1 } else { 0 };
            let row = self.swept;
            if !self.is_current(row) {
                continue;
            }
            let is_same = |older: &usize| {
                self.near.landmarks[*older] < self.near.landmarks[row] && self.are_one(local, *older, row)
            };
            if let Some(older) = (0..count).find(is_same) {
                self.unite(older, row);
            }
        }
    }

    /// Whether a landmark of the closed submaps has no identity, and is not another one by now.
    fn is_current(&self, row: usize) -> bool {
        let number = self.near.landmarks[row];
        let seen = &self.seen[number];
        !seen.is_named && self.numbers.get(&seen.id) == Some(&number)
    }

    /// Whether two landmarks of the closed submaps are one for sure.
    fn are_one(&self, local: &LocalMap<'_>, one: usize, other: usize) -> bool {
        if (self.near.places[one] - self.near.places[other]).norm_squared() > NEAR_M2 || !self.is_current(one) {
            return false;
        }
        let (a, b) = (self.near.landmarks[one], self.near.landmarks[other]);
        let (older, newer) = (&self.seen[a], &self.seen[b]);
        let measurements = newer.measurements.min(older.measurements);
        let has_both = |placed: &Placed| placed.landmarks.contains(&a) && placed.landmarks.contains(&b);
        !are_others(older.class, newer.class)
            && are_one(self.near.apart(one, other), measurements, (local.landmark_density(), local.gates()))
            && !self.problem.submaps.iter().any(has_both)
    }

    /// The landmark of row `gone` is that of row `kept`. What was measured of it stays in the least squares, where it
    /// counts as another one.
    fn unite(&mut self, kept: usize, gone: usize) {
        let (number, id) = (self.near.landmarks[gone], self.seen[self.near.landmarks[gone]].id);
        let older = self.near.landmarks[kept];
        let open: Vec<u32> = self.numbers.iter().filter(|(_, known)| **known == number).map(|(id, _)| *id).collect();
        let before = self.inherited.len();
        for open in open {
            if self.index.contains_key(&open) {
                self.take_for(open, kept);
            } else {
                self.inherited.retain(|inherited| inherited.id != open);
                self.recognised.retain(|(other, _)| *other != open);
                self.numbers.remove(&open);
            }
        }
        self.merged.push((id, self.seen[older].id));
        if self.inherited.len() < before {
            self.coupling = self.current_coupling();
        }
    }

    /// The landmark of the open submap with this identity in the filter is that of a row of the closed ones.
    fn take_for(&mut self, id: u32, row: usize) {
        let number = self.near.landmarks[row];
        self.inherited.retain(|inherited| inherited.id != id);
        self.recognised.retain(|(other, _)| *other != id);
        self.recognised.push((id, number));
        self.numbers.insert(id, number);
        self.index.insert(id, row);
    }

    /// The filter gives other identities in the next submap, but to the landmarks that it is begun with.
    pub(super) fn forget_recognised(&mut self) {
        let inherited = &self.inherited;
        let (stay, gone) =
            self.recognised.drain(..).partition(|(id, _)| inherited.iter().any(|inherited| inherited.id == *id));
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
