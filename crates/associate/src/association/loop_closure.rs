//! Landmarks that turn out to be one.
//!
//! After a long way, the place of an old landmark relative to the robot is uncertain by more than landmarks are apart.
//! Measurements then begin landmarks anew, and nothing is lost by that: a landmark that two landmarks stand for is the
//! constraint x_a − x_b = 0 on the state, at any later time. Recent landmarks against old ones are the same joint
//! search as measurements against landmarks, with the covariance that the filter has of their differences,
//!
//! ```math
//! S_{ab,cd} = P_{ac} - P_{ad} - P_{bc} + P_{bd}
//! ```
//!
//! and it is decided when many scans have made the recent ones certain: a loop is closed by all of them together, or
//! by none. What a hypothesis leaves out counts, too: an old landmark that should be in view where it has the robot,
//! and is none of the recent ones.

use crate::association::beam::Pair;
use crate::association::field_of_view::{ViewCell, place};
use crate::association::identity;
use crate::association::identity::{Accepted, Acquaintance, Identification, NEAR_M2, PLACED_M2, SURE, motion_of_robot};
use crate::association::memory::Memory;
use crate::association::never_read::never_read;
use crate::association::trial::Trial;
use crate::bounds::BOUNDS;
use crate::displaced::displace;
use crate::thresholds::{CONFIRMING, FIFTY_TO_ONE, LIKELY};
use lienav_lie::Se2;
use lienav_planar::filter::Coordinates;
use lienav_planar::model::Model;
use lienav_planar::state::places::difference;
use lienav_planar::state::{State, StateLandmark};
use lienav_planar::update::{Workspace, identify, move_back};
use lienav_planar::without::Mechanism;
use nalgebra::{Matrix2, Vector2};

/// Buffers, which keep their allocations.
#[derive(Debug)]
pub struct MergeWorkspace {
    newer: Vec<(f64, usize)>,
    /// How uncertain each landmark is beside the robot, m²: asked for each pair.
    spreads: Vec<f64>,
    pub(super) identification: Identification,
    views: Vec<ViewCell>,
    join: JoinRoom,
    /// Whether loops are closed; not while the robot is searched for in the map from before a gap.
    pub closes_loops: bool,
    /// Whether somebody can take a loop back that turns out wrong.
    pub tries: bool,
    /// What was before the last loop, for who takes it back.
    pub tried: Option<Box<Before>>,
}

impl Default for MergeWorkspace {
    fn default() -> Self {
        Self {
            newer: Vec::new(),
            spreads: Vec::new(),
            identification: Identification::default(),
            views: Vec::new(),
            join: JoinRoom::default(),
            closes_loops: true,
            tries: false,
            tried: None,
        }
    }
}

/// Those of a merge.
#[derive(Debug, Default)]
struct JoinRoom {
    work: Workspace,
    /// Old landmarks.
    members: Vec<usize>,
    /// What the state was moved by.
    moved_by: Vec<f64>,
}

/// What was before a loop was closed.
#[derive(Debug)]
pub struct Before {
    /// The state.
    pub state: State,
    /// What association remembered.
    pub memory: Memory,
    /// Recent and old landmarks that were merged.
    pub pairs: Vec<(u32, u32)>,
    /// How the loop is judged by what comes.
    pub trial: Trial,
}

/// Landmarks of a state, by their place in it, with what is remembered of them, and from where the sensor has looked.
pub(super) struct Landmarks<'a>(pub &'a State, pub &'a Memory, pub &'a [ViewCell]);

impl Acquaintance for Landmarks<'_> {
    fn covariance(&self, one: (usize, usize), other: (usize, usize)) -> Matrix2<f64> {
        difference(self.0, one, other)
    }

    fn apart(&self, one: usize, other: usize) -> (Vector2<f64>, Matrix2<f64>) {
        let Self(state, ..) = self;
        (state.landmarks[one].x - state.landmarks[other].x, difference(state, (one, other), (one, other)))
    }

    fn absence(&self, pairs: &[(usize, usize)]) -> f64 {
        let Self(state, memory, views) = self;
        let Some(motion) = motion_of(state, pairs) else { return 0.0 };
        absence(state, memory, pairs, &motion) + novelty(state, memory, (views, pairs), &motion)
    }
}

/// Merges landmarks where that is sure. Returns how many, with the identities that are gone in `gone`.
pub fn merge(
    state: &mut State,
    (model, memory): (&Model, &mut Memory),
    workspace: &mut MergeWorkspace,
    gone: &mut Vec<u32>,
) -> usize {
    gone.clear();
    merge_duplicates(state, (model, memory), workspace, gone);
    sweep(state, (model, memory), workspace, gone);
    if workspace.closes_loops && !model.without.has(Mechanism::Loops) {
        merge_newer(state, (model, memory), workspace, gone);
    }
    gone.len()
}

/// Merges recent landmarks in view with old ones.
fn merge_newer(
    state: &mut State,
    (model, memory): (&Model, &mut Memory),
    workspace: &mut MergeWorkspace,
    gone: &mut Vec<u32>,
) {
    workspace.collect(state, model, memory);
    let MergeWorkspace { identification, tries, views, .. } = workspace;
    if identification.is_empty() {
        return;
    }
    views.clear();
    if !model.without.has(Mechanism::FieldOfView) {
        memory.field_of_view.view_cells(state, memory.scan, views);
    }
    let landmarks = Landmarks(state, memory, views);
    identification.search(&landmarks);
    // On trial only what moves the robot, and is watched: a loop. It is undone if it turns out wrong, so less is
    // enough.
    let tried = tries.then(|| identification.accept(&landmarks, FIFTY_TO_ONE.ratio, CONFIRMING - 1)).flatten();
    let tried = tried.filter(|accepted| accepted.is_loop);
    if let Some(accepted) = tried.or_else(|| identification.accept(&landmarks, SURE, CONFIRMING)) {
        merge_accepted(state, (model, memory), workspace, &accepted, gone);
    }
}

/// Merges the pairs that are accepted, and keeps what was before where that closes a loop on trial. The old one of each
/// pair is kept.
fn merge_accepted(
    state: &mut State,
    (model, memory): (&Model, &mut Memory),
    workspace: &mut MergeWorkspace,
    &Accepted { is_loop, total_log_ratio }: &Accepted,
    gone: &mut Vec<u32>,
) {
    let before = (is_loop && workspace.tries).then(|| (state.clone(), memory.clone()));
    let accepted = workspace.identification.accepted();
    let newer = accepted.iter().filter_map(|(newer, _)| memory.existence(state.landmarks[*newer].id));
    let since = newer.map(|existence| existence.first).min().unwrap_or(0);
    if !join(state, (model, memory), accepted, &mut workspace.join, gone) {
        return;
    }
    memory.tally.loops += u64::from(is_loop);
    if let Some((before, remembered)) = before {
        let id = |landmark: usize| before.landmarks[landmark].id;
        let pairs = accepted.iter().map(|(newer, old)| (id(*newer), id(*old))).collect();
        let trial = Trial::new((state, memory), since, total_log_ratio.min(SURE.ln()));
        workspace.tried = Some(Box::new(Before { state: before, memory: remembered, pairs, trial }));
    }
}

/// Merges these recent and old landmarks as a loop of the least odds.
#[cfg(test)]
pub fn force_loop(
    state: &mut State,
    (model, memory): (&Model, &mut Memory),
    workspace: &mut MergeWorkspace,
    pairs: &[(u32, u32)],
    gone: &mut Vec<u32>,
) {
    let landmarks = pairs.iter().filter_map(|(newer, old)| Some((state.find(*newer)?, state.find(*old)?)));
    workspace.identification.set_accepted(landmarks.collect());
    let accepted = Accepted { is_loop: true, total_log_ratio: FIFTY_TO_ONE.ratio.ln() };
    merge_accepted(state, (model, memory), workspace, &accepted, gone);
}

impl MergeWorkspace {
    /// The recent landmarks in view, and what old ones each of them may be.
    fn collect(&mut self, state: &State, model: &Model, memory: &Memory) {
        self.newer.clear();
        self.identification.begin(model.gate.associated(2));
        for (i, landmark) in state.landmarks.iter().enumerate() {
            let is_recent = memory.existence(landmark.id).is_some_and(|existence| memory.is_recent(existence));
            if is_recent && memory.existence_probability(landmark.id) >= LIKELY {
                self.newer.push((state.in_robot(i).norm_squared(), i));
            }
        }
        self.spreads.clear();
        self.spreads.extend((0..state.landmarks.len()).map(|i| state.relative_spread(i)));
        self.newer.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        let gate = model.gate.associated(2)[1];
        let density = memory.rates.landmark_density();
        for (_, newer) in &self.newer {
            if self.identification.is_full() {
                break;
            }
            let Some(existence) = memory.existence(state.landmarks[*newer].id) else { continue };
            let StateLandmark { id, x, measurements, .. } = state.landmarks[*newer];
            let spread = self.spreads[*newer];
            let candidates = state.landmarks.iter().enumerate().filter_map(|(old, landmark)| {
                let apart = landmark.x - x;
                // Var(a − b) ≤ 2(Var a + Var b). Asked first: it costs least.
                if apart.norm_squared() > 2.0 * gate * (spread + self.spreads[old]) {
                    return None;
                }
                let was_in_view = memory.existence(landmark.id).is_none_or(|other| other.last >= existence.first);
                if was_in_view || memory.is_forbidden((id, landmark.id)) {
                    return None;
                }
                Some((old, apart, difference(state, (*newer, old), (*newer, old))))
            });
            // It is an old one if it is a landmark: a candidate counts by its odds.
            self.identification.add((*newer, measurements), candidates, density / memory.existence_probability(id));
        }
    }
}

/// A recent and an old landmark as a pair; `None` outside of the gate.
pub(super) fn pair(state: &State, model: &Model, (newer, old): (usize, usize), density: f64) -> Option<Pair> {
    let apart = state.landmarks[old].x - state.landmarks[newer].x;
    let covariance = difference(state, (newer, old), (newer, old));
    let measurements = state.landmarks[newer].measurements;
    identity::pair(old, (apart, covariance), measurements, (density, model.gate.associated(2)))
}

/// Makes one landmark of those that are at one place and are never read together. Where their difference is larger
/// than their covariance has it, the one with fewer measurements was made of outliers, and is dropped.
fn merge_duplicates(
    state: &mut State,
    (model, memory): (&Model, &mut Memory),
    workspace: &mut MergeWorkspace,
    gone: &mut Vec<u32>,
) {
    for k in 0..memory.duplicates.len() {
        let (weaker, stronger) = memory.duplicates[k];
        let (Some(weak), Some(strong)) = (state.find(weaker), state.find(stronger)) else { continue };
        let is_within = pair(state, model, (weak, strong), 1.0).is_some();
        if !(is_within && join(state, (model, memory), &[(weak, strong)], &mut workspace.join, gone)) {
            state.swap_remove(weak);
            memory.merge(stronger, weaker);
            gone.push(weaker);
        }
    }
}

/// Merges landmarks that are at the same place, whenever they were seen: those that a closed loop has brought
/// together. Looks at a few in each call.
fn sweep(
    state: &mut State,
    (model, memory): (&Model, &mut Memory),
    workspace: &mut MergeWorkspace,
    gone: &mut Vec<u32>,
) {
    let density = memory.rates.landmark_density();
    let reach = 4.0 * model.gate.associated(2)[0] * PLACED_M2;
    for _ in 0..BOUNDS.swept.min(state.landmarks.len()) {
        memory.swept = if memory.swept + 1 < state.landmarks.len() { memory.swept + 1 } else { 0 };
        let newer = memory.swept;
        let Some(existence) = memory.existence(state.landmarks[newer].id).copied() else { continue };
        let x = state.landmarks[newer].x;
        let is_near = |(_, other): &(usize, &StateLandmark)| (other.x - x).norm_squared() < reach;
        let old = state.landmarks.iter().enumerate().filter(is_near);
        let old = old.filter(|(_, other)| memory.existence(other.id).is_some_and(|other| other.last < existence.first));
        let pairs = old.filter_map(|(old, _)| pair(state, model, (newer, old), density));
        let placed = pairs.filter(|pair| pair.covariance.trace() < PLACED_M2);
        let best = placed.max_by(|a, b| a.alone.total_cmp(&b.alone));
        if let Some(best) = best.filter(|best| best.alone > SURE.ln()) {
            join(state, (model, memory), &[(newer, best.target)], &mut workspace.join, gone);
        }
    }
}

/// Makes one landmark of each pair of a recent and an old one. Where that turns the robot, it is done where the robot
/// is then: the landmarks that are known in the map are on circles around it, and not on their tangents.
fn join(
    state: &mut State,
    (model, memory): (&Model, &mut Memory),
    pairs: &[(usize, usize)],
    workspace: &mut JoinRoom,
    gone: &mut Vec<u32>,
) -> bool {
    let first = gone.len();
    let JoinRoom { work, members, moved_by } = workspace;
    moved_by.clear();
    let is_wide = |(newer, old): &(usize, usize)| difference(state, (*newer, *old), (*newer, *old)).trace() > NEAR_M2;
    if state.coordinates == Coordinates::Invariant
        && pairs.iter().any(is_wide)
        && let Some(motion) = motion_of(state, pairs)
    {
        members.clear();
        members.extend(pairs.iter().map(|(_, old)| *old));
        let of_robot = state.pose.inverse() * motion * state.pose;
        displace(state, &of_robot, members, model.gate.displaced(), moved_by);
    }
    if identify(state, pairs, (&model.filter, moved_by), work).is_err() {
        move_back(state, moved_by, &model.filter, work);
        return false;
    }
    for (newer, old) in pairs {
        let newer = state.landmarks[*newer];
        let landmark = &mut state.landmarks[*old];
        landmark.last_seen = landmark.last_seen.max(newer.last_seen);
        landmark.measurements = landmark.measurements.saturating_add(newer.measurements);
        memory.merge(landmark.id, newer.id);
        gone.push(newer.id);
    }
    for id in &gone[first..] {
        if let Some(i) = state.find(*id) {
            state.swap_remove(i);
        }
    }
    true
}

/// The motion of the robot in the map that brings recent landmarks to old ones.
fn motion_of(state: &State, pairs: &[(usize, usize)]) -> Option<Se2> {
    let mut places = [(0.0, Vector2::zeros(), Vector2::zeros()); BOUNDS.recently_added];
    let places = &mut places[..pairs.len().min(BOUNDS.recently_added)];
    for (place, (newer, old)) in places.iter_mut().zip(pairs) {
        *place = (state.in_robot(*newer).norm(), state.landmarks[*newer].x, state.landmarks[*old].x);
    }
    places.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    motion_of_robot(places)
}

/// The logarithm of the probability that old landmarks were missed that a hypothesis has in view.
fn absence(state: &State, memory: &Memory, pairs: &[(usize, usize)], motion: &Se2) -> f64 {
    let robot = *motion * state.pose;
    let recent = memory.recent();
    let mut sum = 0.0;
    for (k, landmark) in state.landmarks.iter().enumerate() {
        if landmark.last_seen >= recent || memory.existence(landmark.id).is_none_or(|existence| !existence.is_confirmed)
        {
            continue;
        }
        let z = robot.transform_back(&landmark.x);
        let detection = memory.rates.detection_in_view(&z);
        if detection < 0.5 || pairs.iter().any(|(_, old)| *old == k) {
            continue;
        }
        // One that a recent landmark is near may be that one.
        let is_near = |other: &StateLandmark| {
            other.last_seen >= recent && (motion.transform(&other.x) - landmark.x).norm_squared() < NEAR_M2
        };
        if !state.landmarks.iter().any(is_near) {
            sum += (1.0 - detection).ln();
        }
    }
    sum
}

/// The logarithm of the probability that landmarks were missed whenever the sensor looked at where a hypothesis has
/// them: of those that are read now, and are no old ones.
fn novelty(state: &State, memory: &Memory, (views, pairs): (&[ViewCell], &[(usize, usize)]), motion: &Se2) -> f64 {
    let (recent, reach) = (memory.recent(), memory.rates.farthest());
    let mut sum = 0.0;
    for (k, landmark) in state.landmarks.iter().enumerate().filter(|(_, landmark)| landmark.last_seen >= recent) {
        let Some(existence) = memory.existence(landmark.id) else { continue };
        if pairs.iter().any(|(newer, _)| *newer == k) || state.in_robot(k).norm() > reach {
            continue;
        }
        let x = motion.transform(&place(state, k));
        // It may be an old one that is near.
        let is_near = |other: &StateLandmark| (other.x - x).norm_squared() < NEAR_M2;
        let is_old =
            |other: &StateLandmark| memory.existence(other.id).is_none_or(|other| other.last < existence.first);
        if !state.landmarks.iter().any(|other| is_near(other) && is_old(other)) {
            let before = views.iter().filter(|view| view.last < existence.first);
            sum += never_read(memory, before, &x, memory.existence_probability(landmark.id));
        }
    }
    sum
}
