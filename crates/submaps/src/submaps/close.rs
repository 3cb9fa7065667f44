//! The end of a submap, and the beginning of the next one.

use super::landmark::{Inherited, Seen};
use super::{Goes, RECENT_SCANS, Submaps};
use crate::outside::Outside;
use crate::problem::Placed;
use crate::submap::{Gaussian, Submap};
use lienav_base::stamp::Stamp;
use lienav_lie::Se2;
use lienav_slam::{LocalMap, Slam};
use nalgebra::Vector2;
use std::collections::HashSet;
use std::sync::Arc;

/// As many are carried from a submap to the next, those nearest to its end, until more are asked for.
const CARRIED: usize = 48;
/// Of more submaps than this, those that know no new landmark leave nothing to the next one: they become one with
/// others.
const FREE_SUBMAPS: usize = 32;

impl Submaps {
    /// Closes the open submap; returns false if it cannot be closed yet. `goes` says what it leaves to the next one.
    pub(super) fn close(&mut self, local: &LocalMap<'_>, goes: Goes) -> bool {
        if (0..local.len()).any(|i| !local.has_given_identity(i)) {
            self.recognise_all(local);
        }
        let workspace = self.max_features.saturating_sub(self.seen.len());
        let mut news = 0;
        let chosen: Vec<usize> = (0..local.len())
            .filter(|i| local.is_landmark(*i))
            .filter(|i| {
                let id = local.id(*i);
                let is_new = !self.numbers.contains_key(&id) || self.workspace.contradicted.contains(&id);
                news += usize::from(is_new);
                !is_new || news <= workspace
            })
            .collect();
        let is_old = |i: &usize| {
            let number =
                self.numbers.get(&local.id(*i)).filter(|_| !self.workspace.contradicted.contains(&local.id(*i)));
            number.is_some_and(|number| self.seen[*number].first_submap + 2 < self.problem.closed)
        };
        let goes_on = goes == Goes::On && (self.problem.submaps.len() < FREE_SUBMAPS || !chosen.iter().all(is_old));
        let last = self.recent.len().saturating_sub(RECENT_SCANS);
        let since = self.recent.get(last).copied().filter(|_| goes_on);
        let stays = |k: &usize| since.is_some_and(|since| local.last_seen(chosen[*k]) >= since);
        let kept: Vec<usize> = (0..chosen.len()).filter(stays).collect();
        let submap = Submap::new(Gaussian::new(local, &chosen)).and_then(|submap| submap.keeping(kept.clone()));
        let Some(submap) = submap else { return false };
        // The number of each landmark; one that is not where the closed submaps have it gets a new one.
        let mut next = self.seen.len();
        let mut number_of = |id: u32| {
            let known = self.numbers.get(&id).filter(|_| !self.workspace.contradicted.contains(&id));
            known.copied().unwrap_or_else(|| {
                next += 1;
                next - 1
            })
        };
        let numbers: Vec<usize> = submap.ids.iter().map(|id| number_of(*id)).collect();
        let reach = self.near.reach(&submap, &numbers, CARRIED);
        let known = self.near.of_rows(&self.near.within(&submap, &numbers, reach));
        let Some(mut near) = known.behind(&submap, &numbers, |_, place| place.norm() <= reach) else { return false };
        self.status.without_room += news.saturating_sub(workspace) as u64;
        for (number, i) in numbers.iter().zip(&chosen) {
            if *number == self.seen.len() {
                let id = local.id(*i);
                let is_another = self.numbers.insert(id, *number).is_some();
                self.status.moved += u64::from(is_another && self.workspace.moved.contains(&id));
                let is_named = local.has_given_identity(*i);
                self.seen.push(Seen {
                    id,
                    is_named,
                    last_seen: Stamp::MIN,
                    measurements: 0,
                    class: 0,
                    first_submap: self.problem.closed,
                });
            }
            let seen = &mut self.seen[*number];
            seen.last_seen = local.last_seen(*i);
            let before = self
                .inherited
                .iter()
                .find(|inherited| inherited.number == *number)
                .map_or(0, |inherited| inherited.measurements);
            seen.measurements = seen.measurements.saturating_add(local.measurements(*i).saturating_sub(before));
            seen.class = if seen.class == 0 { local.class(*i) } else { seen.class };
        }
        self.problem.landmarks.resize(self.seen.len(), Vector2::repeat(f64::NAN));
        for (number, place) in numbers.iter().zip(&submap.places) {
            let guess = &mut self.problem.landmarks[*number];
            if guess.x.is_nan() {
                *guess = near.base.transform(&submap.exit.transform_back(place));
            }
        }
        if self.problem.tell_of_base(&self.outside, self.near.world.as_ref()) {
            self.renumbered();
            self.is_moved = true;
        }
        let exit = self.problem.bases.len();
        self.problem.bases.push(near.base);
        let (submap, landmarks) = (Arc::new(submap), Arc::new(numbers.clone()));
        let placed = Placed { submap, landmarks, base: Some(exit - 1), exit, is_outside: false, is_of_world: false };
        self.problem.push(placed);
        self.problem.closed += 1;
        near.closed = self.problem.closed;
        self.outside = Outside::none(near.seen_from_world());
        self.first_position = None;
        self.inherited.clear();
        self.inherited.extend(kept.iter().map(|k| Inherited {
            id: local.id(chosen[*k]),
            number: numbers[*k],
            measurements: local.measurements(chosen[*k]),
        }));
        self.put_near(near);
        (self.status.submaps, self.status.landmarks) = (self.problem.closed, self.seen.len());
        self.status.kept = self.problem.submaps.len();
        if self.solving.is_none() {
            self.solve();
        }
        if self.asking.is_none() {
            self.ask_at(Se2::identity(), Vec::new());
        }
        true
    }

    /// Begins the next submap with the landmarks that the last one leaves to it, and with candidates.
    pub(super) fn begin_with_the_last(&mut self, slam: &mut Slam) {
        self.forget_recognised();
        let mut ids: HashSet<u32> = self.inherited.iter().map(|inherited| inherited.id).collect();
        if let (Some(local), Some(since)) = (slam.local(), self.recent.front()) {
            let candidates = (0..local.len()).filter(|i| !local.is_landmark(*i) && local.last_seen(*i) >= *since);
            ids.extend(candidates.map(|i| local.id(i)));
        }
        slam.start_submap_with(|id| ids.contains(&id));
    }

    /// Begins the next submap with nothing.
    pub(super) fn begin_with_nothing(&mut self, slam: &mut Slam) {
        self.forget_recognised();
        slam.start_submap();
    }
}
