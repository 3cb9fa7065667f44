//! Landmarks that turn out to be one.
//!
//! After a long way, the place of an old landmark relative to the robot is uncertain by more than landmarks are
//! apart. Readings then begin landmarks anew, and nothing is lost by that: a landmark that two features stand for is
//! the constraint x_a − x_b = 0 on the state, at any later time. Young features against old ones are the same joint
//! search as readings against features, with the covariance that the filter has of their differences,
//!
//! ```math
//! S_{ab,cd} = P_{ac} - P_{ad} - P_{bc} + P_{bd}
//! ```
//!
//! and it is decided when many clouds have made the young ones certain: a loop is closed by all of them together, or
//! by none. What a hypothesis leaves out counts, too: an old landmark that should be in view where it has the robot,
//! and is none of the young ones.

use super::beam::{Beam, Item, Joint, Pair};
use super::memory::Memory;
use super::trial::Trial;
use crate::state::{Feature, State};
use crate::step::Model;
use crate::update::{Workspace, identify};
use lienav_lie::{Se2, rotation, skew};
use nalgebra::{Matrix2, Matrix3, Vector2, Vector3};

/// So many young landmarks are merged at once: those nearest to the robot.
const YOUNG: usize = 12;
/// They were read so often.
const SEEN: u32 = 2;
/// So many landmarks are looked at for others at the same place.
const SWEPT: usize = 16;
/// So many old landmarks one of them may be.
const RIVALS: usize = 32;
/// The least odds of a merge that nobody takes back.
pub const SURE: f64 = 3000.0;
/// Those of a loop on trial, which is taken back if it turns out wrong, and at how many places its landmarks are.
const TRIED: f64 = 50.0;
const TRIED_AT: usize = 2;
/// The odds of one pair of a merge that is sure against its young landmark being another one.
const SURE_OF_ONE: f64 = 20.0;
/// What one look without a reading tells, and all of them at most, as logarithms.
const MISSED: f64 = 0.7;
const MOST_MISSED: f64 = 6.0;
/// Of an old landmark whose place relative to the young ones is known better than this, m².
const PLACED_M2: f64 = 0.25;
/// Two landmarks are at one place if their distance is known better than this, m², and not above three standard
/// deviations.
const ONE_PLACE_M2: f64 = 0.04;
const ONE_PLACE: f64 = 9.0;
/// A loop is closed by landmarks at so many places at least: two make a rigid motion.
const CLOSING: usize = 3;
/// A merge closes a loop if a difference has a larger variance than this, m².
const WIDE_M2: f64 = 1.0;
/// A young landmark may be the old one that is so near where a hypothesis brings it, m²; old ones so near to each other
/// are at one place for a loop.
const NEAR_M2: f64 = 1.0;

/// Buffers, which keep their allocations.
#[derive(Debug, Default)]
pub struct MergeRoom {
    young: Vec<(f64, usize)>,
    pub(super) pairs: Vec<Pair>,
    /// The young and the old feature of each pair.
    pub(super) ends: Vec<(usize, usize)>,
    found: Vec<(f64, usize, Pair)>,
    pub(super) items: Vec<Item>,
    pub(super) beam: Beam,
    /// The old and the young feature of each pair that is sure.
    accepted: Vec<(usize, usize)>,
    work: Workspace,
    /// Whether somebody can take a loop back that turns out wrong.
    pub tries: bool,
    /// What was before the last loop, for who takes it back.
    pub tried: Option<Box<Before>>,
}

/// What was before a loop was closed.
#[derive(Debug)]
pub struct Before {
    pub state: State,
    pub memory: Memory,
    /// Young and old landmarks that were merged.
    pub pairs: Vec<(u32, u32)>,
    /// How the loop is judged by what comes.
    pub trial: Trial,
}

struct Differences<'a>(&'a State, &'a [(usize, usize)]);

impl Joint for Differences<'_> {
    fn covariance(&self, a: usize, b: usize) -> Matrix3<f64> {
        difference(self.0, self.1[a], self.1[b])
    }
}

/// Whether nothing speaks for two landmarks being at different places.
fn are_at_one_place(state: &State, a: usize, b: usize) -> bool {
    let apart = state.features[a].x - state.features[b].x;
    let covariance = difference(state, (a, b), (a, b));
    a == b
        || covariance.trace() < ONE_PLACE_M2
            && super::beam::distance(&Vector3::new(apart.x, apart.y, 0.0), &covariance, 2)
                .is_some_and(|(square, _)| square < ONE_PLACE)
}

/// The covariance of x_a − x_b with x_c − x_d.
pub fn difference(state: &State, (a, b): (usize, usize), (c, d): (usize, usize)) -> Matrix3<f64> {
    let p = &state.covariance;
    let block: Matrix2<f64> =
        p.feature_block(a, c) - p.feature_block(a, d) - p.feature_block(b, c) + p.feature_block(b, d);
    Matrix3::new(block.m11, block.m12, 0.0, block.m21, block.m22, 0.0, 0.0, 0.0, 0.0)
}

/// Merges landmarks where that is sure. Returns how many, with the identities that are gone in `gone`.
pub fn merge(
    state: &mut State,
    (model, memory): (&Model, &mut Memory),
    room: &mut MergeRoom,
    gone: &mut Vec<u32>,
) -> usize {
    gone.clear();
    merge_twins(state, (model, memory), room, gone);
    if !memory.is_merge_due() {
        return gone.len();
    }
    sweep(state, (model, memory), room, gone);
    merge_young(state, (model, memory), room, gone);
    gone.len()
}

/// Merges young landmarks in view with old ones.
fn merge_young(state: &mut State, (model, memory): (&Model, &mut Memory), room: &mut MergeRoom, gone: &mut Vec<u32>) {
    room.collect(state, model, memory);
    if room.pairs.is_empty() {
        return;
    }
    let gate = [1, 2, 3].map(|dim| model.gate.associated(dim)[1]);
    let MergeRoom { beam, pairs, items, ends, .. } = room;
    {
        let (state, memory, ends) = (&*state, &*memory, &*ends);
        beam.search((pairs, items), &Differences(state, ends), &gate, |path| absence(state, memory, path, ends));
    }
    // On trial only what moves the robot, and is watched: a loop.
    let tried = if room.tries { room.accept(state, TRIED, TRIED_AT).filter(|accepted| accepted.is_loop) } else { None };
    if let Some(accepted) = tried.or_else(|| room.accept(state, SURE, CLOSING)) {
        merge_accepted(state, (model, memory), room, &accepted, gone);
    }
}

/// Merges the pairs that are accepted, and keeps what was before where that closes a loop on trial. The old one of each
/// pair is kept.
fn merge_accepted(
    state: &mut State,
    (model, memory): (&Model, &mut Memory),
    room: &mut MergeRoom,
    &Accepted { is_loop, said }: &Accepted,
    gone: &mut Vec<u32>,
) {
    let before = (is_loop && room.tries).then(|| (state.clone(), memory.clone()));
    let young = room.accepted.iter().filter_map(|(_, young)| memory.life(state.features[*young].id));
    let since = young.map(|life| life.first).min().unwrap_or(0);
    if !join(state, (model, memory), &room.accepted, &mut room.work, gone) {
        return;
    }
    memory.tally.loops += u64::from(is_loop);
    if let Some((before, remembered)) = before {
        let id = |feature: usize| before.features[feature].id;
        let pairs = room.accepted.iter().map(|(old, young)| (id(*young), id(*old))).collect();
        let trial = Trial::new((state, memory), since, said.min(SURE.ln()));
        room.tried = Some(Box::new(Before { state: before, memory: remembered, pairs, trial }));
    }
}

/// Merges these young and old landmarks as a loop of the least odds.
#[cfg(test)]
pub fn force_loop(
    state: &mut State,
    (model, memory): (&Model, &mut Memory),
    room: &mut MergeRoom,
    pairs: &[(u32, u32)],
    gone: &mut Vec<u32>,
) {
    let features = pairs.iter().filter_map(|(young, old)| Some((state.find(*old)?, state.find(*young)?)));
    room.accepted = features.collect();
    let accepted = Accepted { is_loop: true, said: TRIED.ln() };
    merge_accepted(state, (model, memory), room, &accepted, gone);
}

/// What the pairs are that are merged.
pub(super) struct Accepted {
    /// Whether they close a loop.
    is_loop: bool,
    /// What speaks for them: the logarithm of their odds.
    said: f64,
}

impl MergeRoom {
    /// The pairs of the likeliest hypothesis that have the odds `sure`, into `accepted`; `None` where they are not to be
    /// merged: a loop is closed by landmarks at so many places as `closing`.
    pub(super) fn accept(&mut self, state: &State, sure: f64, closing: usize) -> Option<Accepted> {
        let Self { pairs, ends, items, beam, accepted, .. } = self;
        accepted.clear();
        if beam.evidence < sure.ln() {
            return None;
        }
        // Landmarks that are near anyway say nothing of where those are that are far.
        let is_wide = |pair: usize| pairs[pair].covariance.trace() > PLACED_M2;
        let of_near = beam.best.iter().zip(&beam.told).filter(|(pair, _)| !is_wide(**pair));
        let are_wide_sure = beam.evidence - of_near.map(|(_, told)| told).sum::<f64>() >= sure.ln();
        let mut widest: f64 = 0.0;
        // What the accepted pairs say, and at how many places: what stands at one place says the same twice.
        let (mut said, mut places) = (beam.evidence, 0);
        for (pair, told) in beam.best.iter().zip(&beam.told) {
            said -= told.max(0.0);
            let Some(item) = items.iter().find(|item| (item.first..item.last).contains(pair)) else { continue };
            if !are_wide_sure && is_wide(*pair) {
                continue;
            }
            let (young, old) = ends[*pair];
            let (mut share, mut of_others) = (0.0, 0.0);
            let others = item.first..item.last;
            for ((_, other), own) in ends[others.clone()].iter().zip(&beam.shares[others]) {
                if are_at_one_place(state, old, *other) {
                    share += own;
                } else {
                    of_others += own;
                }
            }
            let of_none = 1.0 - share - of_others;
            if share > sure * of_others && share > SURE_OF_ONE * of_none {
                let is_near = |other: usize| (state.features[old].x - state.features[other].x).norm_squared() < NEAR_M2;
                if !accepted.iter().any(|(other, _)| is_near(*other)) {
                    said += told.max(0.0);
                    places += 1;
                }
                accepted.push((old, young));
                widest = widest.max(pairs[*pair].covariance.trace());
            }
        }
        let is_loop = widest > WIDE_M2;
        let is_refused = accepted.is_empty() || (is_loop && (places < closing || said < sure.ln()));
        (!is_refused).then_some(Accepted { is_loop, said })
    }

    /// The young landmarks in view, and what old ones each of them may be.
    fn collect(&mut self, state: &State, model: &Model, memory: &Memory) {
        self.young.clear();
        self.pairs.clear();
        self.ends.clear();
        self.items.clear();
        for (i, feature) in state.features.iter().enumerate() {
            if memory
                .life(feature.id)
                .is_some_and(|life| memory.is_young(life) && (life.is_confirmed || feature.observations >= SEEN))
            {
                self.young.push((state.in_robot(i).norm_squared(), i));
            }
        }
        self.young.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        let gate = model.gate.associated(2)[1];
        let density = memory.rates.landmark_density();
        for (_, young) in &self.young {
            if self.items.len() == YOUNG {
                break;
            }
            let Some(life) = memory.life(state.features[*young].id) else { continue };
            let (x, spread) = (state.features[*young].x, state.relative_spread(*young));
            self.found.clear();
            for (old, feature) in state.features.iter().enumerate() {
                if memory.life(feature.id).is_none_or(|other| other.last >= life.first) {
                    continue;
                }
                if memory.is_forbidden((state.features[*young].id, feature.id)) {
                    continue;
                }
                let apart = feature.x - x;
                // Var(a − b) ≤ 2(Var a + Var b).
                if apart.norm_squared() > 2.0 * gate * (spread + state.relative_spread(old)) {
                    continue;
                }
                let (alone, pair) = match pair(state, model, (*young, old), density) {
                    Some(pair) => (pair.alone, pair),
                    None => continue,
                };
                self.found.push((alone, old, pair));
            }
            if self.found.is_empty() {
                continue;
            }
            self.found.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
            let first = self.pairs.len();
            for (_, old, pair) in self.found.iter().take(RIVALS) {
                self.pairs.push(*pair);
                self.ends.push((*young, *old));
            }
            self.items.push(Item { first, last: self.pairs.len(), is_clear: false });
        }
    }
}

/// A young and an old landmark as a pair; `None` outside of the gate.
pub(super) fn pair(state: &State, model: &Model, (young, old): (usize, usize), density: f64) -> Option<Pair> {
    let apart = state.features[old].x - state.features[young].x;
    let covariance = difference(state, (young, old), (young, old));
    let residual = Vector3::new(apart.x, apart.y, 0.0);
    // At the same place they were in view alike: the old one was missed as often as the young one was read.
    let missed = if covariance.trace() < PLACED_M2 {
        (MISSED * f64::from(state.features[young].observations)).min(MOST_MISSED)
    } else {
        0.0
    };
    let pair = Pair::new(old, (residual, covariance), 2, missed - density.ln())?;
    let (square, _) = super::beam::distance(&residual, &covariance, 2)?;
    // All differences of a loop share the error of the way around: what is beyond the gate of one reading would be a
    // loop that is never closed. The search weighs what the distance says.
    let [gate, furthest] = model.gate.associated(2);
    let gate = if covariance.trace() > PLACED_M2 { furthest } else { gate };
    (square <= gate).then_some(pair)
}

/// Makes one landmark of those that are at one place and are never read together. Where their difference is larger
/// than their covariance has it, the one with fewer readings was made of outliers, and is dropped.
fn merge_twins(state: &mut State, (model, memory): (&Model, &mut Memory), room: &mut MergeRoom, gone: &mut Vec<u32>) {
    for k in 0..memory.twins.len() {
        let (weaker, stronger) = memory.twins[k];
        let (Some(weak), Some(strong)) = (state.find(weaker), state.find(stronger)) else { continue };
        let is_within = pair(state, model, (weak, strong), 1.0).is_some();
        if !(is_within && join(state, (model, memory), &[(strong, weak)], &mut room.work, gone)) {
            state.swap_remove(weak);
            memory.merge(stronger, weaker);
            gone.push(weaker);
        }
    }
}

/// Merges landmarks that are at the same place, whenever they were seen: those that a closed loop has brought
/// together. Looks at a few in each call.
fn sweep(state: &mut State, (model, memory): (&Model, &mut Memory), room: &mut MergeRoom, gone: &mut Vec<u32>) {
    let density = memory.rates.landmark_density();
    let reach = 4.0 * model.gate.associated(2)[0] * PLACED_M2;
    for _ in 0..SWEPT.min(state.features.len()) {
        memory.swept = if memory.swept + 1 < state.features.len() { memory.swept + 1 } else { 0 };
        let young = memory.swept;
        let Some(life) = memory.life(state.features[young].id).filter(|life| life.is_confirmed).copied() else {
            continue;
        };
        let x = state.features[young].x;
        let is_near = |(_, other): &(usize, &Feature)| (other.x - x).norm_squared() < reach;
        let old = state.features.iter().enumerate().filter(is_near);
        let old = old.filter(|(_, other)| memory.life(other.id).is_some_and(|other| other.last < life.first));
        let pairs = old.filter_map(|(old, _)| pair(state, model, (young, old), density));
        let placed = pairs.filter(|pair| pair.covariance.trace() < PLACED_M2);
        let best = placed.max_by(|a, b| a.alone.total_cmp(&b.alone));
        if let Some(best) = best.filter(|best| best.alone > SURE.ln()) {
            join(state, (model, memory), &[(best.target, young)], &mut room.work, gone);
        }
    }
}

/// Makes one landmark of each pair of an old and a young one.
fn join(
    state: &mut State,
    (model, memory): (&Model, &mut Memory),
    pairs: &[(usize, usize)],
    work: &mut Workspace,
    gone: &mut Vec<u32>,
) -> bool {
    let first = gone.len();
    if identify(state, pairs, &model.filter, work).is_err() {
        return false;
    }
    for (old, young) in pairs {
        let young = state.features[*young];
        let feature = &mut state.features[*old];
        feature.last_seen = feature.last_seen.max(young.last_seen);
        feature.observations = feature.observations.saturating_add(young.observations);
        memory.merge(feature.id, young.id);
        gone.push(young.id);
    }
    for id in &gone[first..] {
        if let Some(i) = state.find(*id) {
            state.swap_remove(i);
        }
    }
    true
}

/// The logarithm of the probability that old landmarks were missed that a hypothesis has in view.
fn absence(state: &State, memory: &Memory, path: &[usize], ends: &[(usize, usize)]) -> f64 {
    if path.len() < 2 {
        return 0.0;
    }
    // The rigid motion that brings the young ones to the old ones.
    let count = path.len() as f64;
    let mean = |of: fn(&(usize, usize)) -> usize| {
        path.iter().map(|p| state.features[of(&ends[*p])].x).sum::<Vector2<f64>>() / count
    };
    let (young, old) = (mean(|ends| ends.0), mean(|ends| ends.1));
    let (mut cos, mut sin) = (0.0, 0.0);
    for p in path {
        let (a, b) = (state.features[ends[*p].0].x - young, state.features[ends[*p].1].x - old);
        cos += a.dot(&b);
        sin += skew(&a).dot(&b);
    }
    let turn = sin.atan2(cos);
    let shift = old - rotation(turn) * young;
    let motion = Se2::new(shift.x, shift.y, turn);
    let robot = motion * state.pose;
    let recent = memory.recent();
    let mut sum = 0.0;
    for (k, feature) in state.features.iter().enumerate() {
        if feature.last_seen >= recent || memory.life(feature.id).is_none_or(|life| !life.is_confirmed) {
            continue;
        }
        let z = robot.transform_back(&feature.x);
        let detection = memory.rates.detection(&z);
        if detection < 0.5 || path.iter().any(|p| ends[*p].1 == k) {
            continue;
        }
        // One that a young landmark is near may be that one.
        let is_near = |other: &Feature| {
            other.last_seen >= recent && (motion.transform(&other.x) - feature.x).norm_squared() < NEAR_M2
        };
        if !state.features.iter().any(is_near) {
            sum += (1.0 - detection).ln();
        }
    }
    sum
}
