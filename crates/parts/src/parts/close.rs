//! The end of a part, and the beginning of the next one.

use super::landmark::{Begun, Seen};
use super::{Goes, Parts, RECENT_SCANS};
use crate::outside::Outside;
use crate::part::{Gaussian, Part};
use crate::problem::Placed;
use lienav_base::stamp::Stamp;
use lienav_lie::Se2;
use lienav_slam::{LocalMap, Slam};
use nalgebra::Vector2;
use std::collections::HashSet;
use std::sync::Arc;

/// As many are carried from a part to the next, those nearest to its end, until more are asked for.
const CARRIED: usize = 48;
/// Of more parts than this, those that know no new landmark leave nothing to the next one: they become one with others.
const FREE_PARTS: usize = 32;

impl Parts {
    /// Closes the open part; returns false if it cannot be closed yet. `goes` says what it leaves to the next one.
    pub(super) fn close(&mut self, local: &LocalMap<'_>, goes: Goes) -> bool {
        if (0..local.len()).any(|i| !local.has_given_identity(i)) {
            self.recognise_all(local);
        }
        let room = self.max_features.saturating_sub(self.seen.len());
        let mut news = 0;
        let chosen: Vec<usize> = (0..local.len())
            .filter(|i| local.is_landmark(*i))
            .filter(|i| {
                let id = local.id(*i);
                let is_new = !self.numbers.contains_key(&id) || self.room.contradicted.contains(&id);
                news += usize::from(is_new);
                !is_new || news <= room
            })
            .collect();
        let is_old = |i: &usize| {
            let number = self.numbers.get(&local.id(*i)).filter(|_| !self.room.contradicted.contains(&local.id(*i)));
            number.is_some_and(|number| self.seen[*number].first_part + 2 < self.problem.closed)
        };
        let goes_on = goes == Goes::On && (self.problem.parts.len() < FREE_PARTS || !chosen.iter().all(is_old));
        let last = self.recent.len().saturating_sub(RECENT_SCANS);
        let since = self.recent.get(last).copied().filter(|_| goes_on);
        let stays = |k: &usize| since.is_some_and(|since| local.last_seen(chosen[*k]) >= since);
        let kept: Vec<usize> = (0..chosen.len()).filter(stays).collect();
        let part = Part::new(Gaussian::new(local, &chosen)).and_then(|part| part.keeping(kept.clone()));
        let Some(part) = part else { return false };
        // The number of each landmark; one that is not where the closed parts have it gets a new one.
        let mut next = self.seen.len();
        let mut number_of = |id: u32| {
            let known = self.numbers.get(&id).filter(|_| !self.room.contradicted.contains(&id));
            known.copied().unwrap_or_else(|| {
                next += 1;
                next - 1
            })
        };
        let numbers: Vec<usize> = part.ids.iter().map(|id| number_of(*id)).collect();
        let reach = self.near.reach(&part, &numbers, CARRIED);
        let known = self.near.of_rows(&self.near.within(&part, &numbers, reach));
        let Some(mut near) = known.behind(&part, &numbers, |_, place| place.norm() <= reach) else { return false };
        self.status.without_room += news.saturating_sub(room) as u64;
        for (number, i) in numbers.iter().zip(&chosen) {
            if *number == self.seen.len() {
                let id = local.id(*i);
                let is_another = self.numbers.insert(id, *number).is_some();
                self.status.moved += u64::from(is_another && self.room.moved.contains(&id));
                let is_named = local.has_given_identity(*i);
                self.seen.push(Seen {
                    id,
                    is_named,
                    last_seen: Stamp::MIN,
                    measurements: 0,
                    class: 0,
                    first_part: self.problem.closed,
                });
            }
            let seen = &mut self.seen[*number];
            seen.last_seen = local.last_seen(*i);
            let before = self.begun.iter().find(|begun| begun.number == *number).map_or(0, |begun| begun.measurements);
            seen.measurements = seen.measurements.saturating_add(local.measurements(*i).saturating_sub(before));
            seen.class = if seen.class == 0 { local.class(*i) } else { seen.class };
        }
        self.problem.landmarks.resize(self.seen.len(), Vector2::repeat(f64::NAN));
        for (number, place) in numbers.iter().zip(&part.places) {
            let guess = &mut self.problem.landmarks[*number];
            if guess.x.is_nan() {
                *guess = near.base.transform(&part.exit.transform_back(place));
            }
        }
        if self.problem.tell_of_base(&self.outside, self.near.world.as_ref()) {
            self.renumbered();
            self.is_moved = true;
        }
        let exit = self.problem.bases.len();
        self.problem.bases.push(near.base);
        let (part, landmarks) = (Arc::new(part), Arc::new(numbers.clone()));
        let placed = Placed { part, landmarks, base: Some(exit - 1), exit, is_outside: false, is_of_world: false };
        self.problem.push(placed);
        self.problem.closed += 1;
        near.closed = self.problem.closed;
        self.outside = Outside::none(near.seen_from_world());
        self.first_position = None;
        self.begun.clear();
        self.begun.extend(kept.iter().map(|k| Begun {
            id: local.id(chosen[*k]),
            number: numbers[*k],
            measurements: local.measurements(chosen[*k]),
        }));
        self.put_near(near);
        (self.status.parts, self.status.landmarks) = (self.problem.closed, self.seen.len());
        self.status.kept = self.problem.parts.len();
        if self.solving.is_none() {
            self.solve();
        }
        if self.asking.is_none() {
            self.ask_at(Se2::identity(), Vec::new());
        }
        true
    }

    /// Begins the next part with the landmarks that the last one leaves to it, and with candidates.
    pub(super) fn begin_with_the_last(&mut self, slam: &mut Slam) {
        self.forget_recognised();
        let mut ids: HashSet<u32> = self.begun.iter().map(|begun| begun.id).collect();
        if let (Some(local), Some(since)) = (slam.local(), self.recent.front()) {
            let candidates = (0..local.len()).filter(|i| !local.is_landmark(*i) && local.last_seen(*i) >= *since);
            ids.extend(candidates.map(|i| local.id(i)));
        }
        slam.begin_part_with(|id| ids.contains(&id));
    }

    /// Begins the next part with nothing.
    pub(super) fn begin_with_nothing(&mut self, slam: &mut Slam) {
        self.forget_recognised();
        slam.begin_part();
    }
}
