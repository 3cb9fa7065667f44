//! The measurements of one scan that have no identity, associated jointly.
//!
//! First with the landmarks whose place relative to the robot is as good as it was when they were last read: those
//! read in the last scans, and those that are known as well as a measurement. What none of these explains is compared
//! with the others in a second search; where that does not decide, the measurement begins a candidate, and
//! [`merge`](super::loop_closure) joins the two when more is known.

use crate::association::beam::{Beam, Item, Joint, Pair, WINDOW};
use crate::association::identity::NEAR_M2;
use crate::association::memory::Memory;
use crate::bounds::BOUNDS;
use crate::thresholds::{LIKELY, TEN_TO_ONE, THOUSAND_TO_ONE, TWENTY_TO_ONE};
use lienav_ekf::mahalanobis::{mahalanobis_squared, relative_trace};
use lienav_planar::associated::{Ambiguity, Newcomer, Subject};
use lienav_planar::checked::CheckedMeasurement;
use lienav_planar::filter::Coordinates;
use lienav_planar::linearize::{Match, innovation_covariance, linearize, shared_covariance};
use lienav_planar::model::Model;
use lienav_planar::output::{Counts, DropReason};
use lienav_planar::state::State;
use lienav_planar::state::places::difference;
use nalgebra::{Matrix2, Matrix3, Vector2};

/// A landmark is known as well as a measurement if its covariance is larger by this factor at most.
const AS_GOOD: f64 = 4.0;

/// A measurement, and how far its association is.
#[derive(Clone, Copy, Debug)]
struct Open {
    measurement: CheckedMeasurement,
    /// Its pairs: those of the first search, then those of the second.
    pairs: [usize; 3],
    fate: Fate,
    /// Whether a landmark of the first search is so near that it begins no other one.
    is_near: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Open,
    Matched(usize),
    LeftOut,
}

/// A landmark that measurements are compared with.
#[derive(Clone, Copy, Debug)]
struct Target {
    landmark: usize,
    p: Vector2<f64>,
    /// The trace of its covariance relative to the robot, m².
    spread: f64,
    is_recent: bool,
}

/// Buffers, which keep their allocations.
#[derive(Debug, Default)]
pub struct JointWorkspace {
    /// The measurements to associate.
    pub measurements: Vec<CheckedMeasurement>,
    /// Measurements that were left out, and landmarks that each of them may be of.
    pub ambiguous: Vec<Ambiguity>,
    opens: Vec<Open>,
    targets: Vec<Target>,
    matches: Vec<Match>,
    pairs: Vec<Pair>,
    /// Of one measurement: the weight of each pair alone.
    found: Vec<(f64, Match, Pair, bool)>,
    alone: Vec<f64>,
    /// ln det of the covariance of each pair.
    ln_dets: Vec<f64>,
    /// The best claim on each landmark, of which measurement, and the best of another.
    claims: Vec<(f64, usize, f64)>,
    order: Vec<usize>,
    items: Vec<Item>,
    beam: Beam,
}

struct Pairs<'a>(&'a State, &'a [Match]);

impl Joint for Pairs<'_> {
    fn covariance(&self, a: usize, b: usize) -> Matrix3<f64> {
        shared_covariance(self.0, &self.1[a], &self.1[b])
    }
}

/// Associates the measurements of `workspace`: matches are added to `candidates`, measurements of new landmarks to
/// `newcomers`. Landmarks that `candidates` has already are taken. Returns whether a search was needed.
///
/// The result does not depend on the order of the measurements.
pub fn associate(
    state: &State,
    (model, memory): (&Model, &Memory),
    workspace: &mut JointWorkspace,
    candidates: &mut Vec<Match>,
    newcomers: &mut Vec<Newcomer>,
    refused: &mut Counts,
) -> bool {
    let taken = candidates.len();
    workspace.measurements.sort_unstable_by(compare);
    workspace.collect_targets(state, memory, &candidates[..taken]);
    workspace.matches.clear();
    workspace.pairs.clear();
    workspace.alone.clear();
    workspace.ln_dets.clear();
    workspace.opens.clear();
    for k in 0..workspace.measurements.len() {
        workspace.open(state, model, memory, k);
    }
    let searched_near = workspace.resolve(state, (model, memory), 0);
    for open in workspace.opens.iter_mut().filter(|open| open.fate == Fate::Open && open.is_near) {
        open.fate = Fate::LeftOut;
    }
    let searched_far = workspace.resolve(state, (model, memory), 1);
    for (k, open) in workspace.opens.iter().enumerate() {
        match open.fate {
            Fate::Matched(pair) => candidates.push(workspace.matches[pair]),
            Fate::Open => newcomers.push(Newcomer { id: None, measurement: open.measurement }),
            Fate::LeftOut => {
                refused.add(DropReason::Ambiguous);
                let near = &workspace.pairs[open.pairs[0]..open.pairs[1]];
                let noise =
                    model.sensors.place(&state.mounts, &open.measurement).map_or(0.0, |(_, noise)| noise.trace());
                let of = |pair: &Pair| Ambiguity { measurement: k, noise, landmark: state.landmarks[pair.target].id };
                workspace.ambiguous.extend(near.iter().map(of));
            }
        }
    }
    searched_near || searched_far
}

/// An order of measurements that depends on what they are.
fn compare(a: &CheckedMeasurement, b: &CheckedMeasurement) -> std::cmp::Ordering {
    let numbers = |measurement: &CheckedMeasurement| {
        let (v, c, label) = (measurement.value(), measurement.noise(), measurement.label());
        let class = f64::from(label.class);
        [v.x, v.y, v.z, c.m11, c.m22, c.m33, c.m12, class, label.diameter_m, label.diameter_std_m]
    };
    let by_value = || numbers(a).iter().zip(numbers(b)).map(|(a, b)| a.total_cmp(&b)).find(|order| order.is_ne());
    a.index().cmp(&b.index()).then_with(|| by_value().unwrap_or(std::cmp::Ordering::Equal))
}

impl JointWorkspace {
    /// The landmarks that no other measurement is of, with what says how near a measurement has to be.
    fn collect_targets(&mut self, state: &State, memory: &Memory, taken: &[Match]) {
        let recent = memory.recent();
        self.targets.clear();
        for (landmark, f) in state.landmarks.iter().enumerate() {
            if f.is_anchor_point || taken.iter().any(|other| other.subject == Subject::Landmark(landmark)) {
                continue;
            }
            let p = match state.coordinates {
                Coordinates::World | Coordinates::Invariant => f.x,
                Coordinates::Robot => state.pose.transform(&f.x),
            };
            let spread = state.relative_spread(landmark);
            self.targets.push(Target { landmark, p, spread, is_recent: f.last_seen >= recent });
        }
    }

    /// Finds what reading `k` may be of.
    fn open(&mut self, state: &State, model: &Model, memory: &Memory, k: usize) {
        let measurement = self.measurements[k];
        let dim = model.sensors.dim(&measurement);
        let [gate, new] = model.gate.associated(dim);
        let by_calibration = if state.calibration.sensor().next().is_some() {
            state.calibration_estimates().map(|estimate| estimate.std).sum::<f64>()
        } else {
            0.0
        };
        let place = model.sensors.place(&state.mounts, &measurement).map(|(z, noise)| {
            let by_calibration = by_calibration * z.norm().max(1.0);
            (state.pose.transform(&z), noise.trace().max(0.0) + by_calibration * by_calibration)
        });
        let mut is_near = false;
        self.found.clear();
        for target in &self.targets {
            // D² ≤ G is possible only within √(G tr S) of the place.
            if let Some((p, noise)) = place
                && (target.p - p).norm_squared() > MARGIN * new * (target.spread + noise)
            {
                continue;
            }
            let mut candidate = Match::new(Subject::Landmark(target.landmark), &measurement);
            if !linearize(state, &model.sensors, &mut candidate, model.filter.linearization()) {
                continue;
            }
            let covariance = innovation_covariance(state, &candidate);
            let Some(distance) = mahalanobis_squared(&candidate.residual, &covariance, dim) else { continue };
            let is_good = place.is_none_or(|(_, noise)| target.spread <= AS_GOOD * noise);
            let is_local = target.is_recent || is_good;
            // A candidate that is likelier clutter stands in nobody's way.
            is_near |= is_local
                && distance <= new
                && memory.existence_probability(state.landmarks[target.landmark].id) >= LIKELY;
            if distance > gate {
                continue;
            }
            candidate.distance = Some(distance);
            // Nobody knows whether the place that a measurement is at was seen before, where this is not known so well.
            let density = memory.rates.extraneous_density();
            let density = if is_local { density } else { density.max(memory.rates.landmark_density()) };
            candidate.prior = relative_trace(&covariance, &candidate.stated_noise(), dim) - dim as f64;
            let weight = memory.weight(
                state.landmarks[target.landmark].id,
                &state.in_robot(target.landmark),
                measurement.label(),
            ) + surprise(&candidate, gate, density);
            if let Some(pair) = Pair::new(target.landmark, (candidate.residual, covariance), dim, weight) {
                self.found.push((pair.alone, candidate, pair, is_local));
            }
        }
        self.found.sort_unstable_by(|a, b| {
            let by_weight = || b.0.total_cmp(&a.0).then(a.2.target.cmp(&b.2.target));
            b.3.cmp(&a.3).then_with(by_weight)
        });
        let first = self.pairs.len();
        let mut pairs = [first; 3];
        for (k, local) in [true, false].into_iter().enumerate() {
            for (alone, candidate, pair, _) in
                self.found.iter().filter(|found| found.3 == local).take(BOUNDS.candidates)
            {
                self.alone.push(*alone);
                self.ln_dets.push(ln_det(&pair.covariance, pair.dim));
                self.matches.push(*candidate);
                self.pairs.push(*pair);
            }
            pairs[k + 1] = self.pairs.len();
        }
        self.opens.push(Open { measurement, pairs, fate: Fate::Open, is_near });
    }

    /// Associates what is open with the landmarks of the first search (0) or the second (1).
    fn resolve(&mut self, state: &State, (model, memory): (&Model, &Memory), stage: usize) -> bool {
        /// By how much a measurement may be astray on average that is of one of several landmarks, all of which are
        /// read: squared, beside the trace of its noise.
        const MAX_RESIDUAL: f64 = 2.0;
        let Self { opens, pairs, matches, alone, ln_dets, claims, order, items, beam, .. } = self;
        let range = |open: &Open| open.pairs[stage]..open.pairs[stage + 1];
        let gate = [1, 2, 3].map(|dim| model.gate.associated(dim)[0]);
        // What was matched in the first search tells where the rest has to be.
        items.clear();
        if stage > 0 {
            items.extend(opens.iter().filter_map(|open| match open.fate {
                Fate::Matched(pair) => Some(Item { first: pair, last: pair + 1, is_clear: true }),
                _ => None,
            }));
            items.sort_unstable_by(|a, b| alone[b.first].total_cmp(&alone[a.first]).then(a.first.cmp(&b.first)));
            items.truncate(BOUNDS.anchors);
        }
        let sure = items.len();
        if sure > 0 && opens.iter().any(|open| open.fate == Fate::Open && !range(open).is_empty()) {
            beam.search((pairs, items), &Pairs(state, matches), &gate, |_| 0.0);
            for pair in opens.iter().filter(|open| open.fate == Fate::Open).flat_map(range) {
                let given = beam.given(pairs, pair, &Pairs(state, matches), &gate);
                (alone[pair], ln_dets[pair]) = given.unwrap_or((f64::NEG_INFINITY, ln_dets[pair]));
                pairs[pair].alone = alone[pair];
            }
        }
        let is_open = |open: &Open| open.fate == Fate::Open && !range(open).is_empty();
        claims.clear();
        claims.resize(state.landmarks.len(), (f64::NEG_INFINITY, usize::MAX, f64::NEG_INFINITY));
        for (k, open) in opens.iter().enumerate().filter(|(_, open)| is_open(open)) {
            for pair in range(open) {
                let claim = &mut claims[pairs[pair].target];
                if alone[pair] > claim.0 {
                    *claim = (alone[pair], k, claim.0);
                } else {
                    claim.2 = claim.2.max(alone[pair]);
                }
            }
        }
        let is_clear = |k: usize, open: &Open| {
            let mut best = open.pairs[stage];
            let mut second = 0.0;
            for pair in range(open).skip(1) {
                if alone[pair] > alone[best] {
                    (best, second) = (pair, f64::max(second, alone[best]));
                } else {
                    second = f64::max(second, alone[pair]);
                }
            }
            let claim = claims[pairs[best].target];
            let is_clear = alone[best] >= second + WINDOW && claim.1 == k && claim.2 <= claim.0 - WINDOW;
            is_clear.then_some(best)
        };
        order.clear();
        order.extend((0..opens.len()).filter(|k| is_open(&opens[*k])));
        if order.iter().all(|k| is_clear(*k, &opens[*k]).is_some()) {
            for k in order.iter() {
                if let Some(pair) = is_clear(*k, &opens[*k]) {
                    opens[*k].fate = Fate::Matched(pair);
                }
            }
            return false;
        }
        // The surest first: they tell where the others are.
        let surest = |k: usize| range(&opens[k]).map(|pair| alone[pair]).fold(f64::NEG_INFINITY, f64::max);
        order.sort_unstable_by(|a, b| surest(*b).total_cmp(&surest(*a)).then(a.cmp(b)));
        // What is clear beside more than can be weighed together stays clear.
        for k in order.iter().skip(BOUNDS.measurements) {
            if let Some(pair) = is_clear(*k, &opens[*k]) {
                opens[*k].fate = Fate::Matched(pair);
            }
        }
        order.truncate(BOUNDS.measurements);
        items.extend(order.iter().map(|k| match is_clear(*k, &opens[*k]) {
            Some(pair) => Item { first: pair, last: pair + 1, is_clear: true },
            None => Item { first: opens[*k].pairs[stage], last: opens[*k].pairs[stage + 1], is_clear: false },
        }));
        beam.search((pairs, items), &Pairs(state, matches), &gate, |_| 0.0);
        // What all pairs say together that are not sure one by one.
        let is_sure = |pair: usize| items[..sure].iter().any(|item| item.first == pair);
        let total_log_ratio = beam
            .best
            .iter()
            .zip(&beam.log_ratio)
            .filter(|(pair, _)| alone[**pair] < THOUSAND_TO_ONE.ratio.ln() && !is_sure(**pair));
        let total_log_ratio: f64 = total_log_ratio.map(|(_, log_ratio)| log_ratio).sum();
        for k in order.iter() {
            let best = range(&opens[*k]).max_by(|a, b| beam.shares[*a].total_cmp(&beam.shares[*b]).then(b.cmp(a)));
            let Some(mut best) = best else { continue };
            let share = beam.shares[best];
            let of_others = range(&opens[*k]).map(|pair| beam.shares[pair]).sum::<f64>() - share;
            let of_none = 1.0 - share - of_others;
            let is_sure = if stage == 0 {
                let likeliest = beam.best.iter().find(|pair| range(&opens[*k]).contains(pair));
                let mut against_none = sure_of_any(ln_dets[best], &matches[best]);
                against_none = against_none.max(sure_beside_clutter(memory, state.landmarks[pairs[best].target].id));
                if share > TWENTY_TO_ONE.ratio.max(against_none) * of_others && share > against_none * of_none {
                    true
                } else if let Some(&likeliest) = likeliest {
                    // Landmarks at one place, each of which is read: whichever is which, the measurements say the same.
                    let target = |pair: usize| pairs[pair].target;
                    let (mut unread, mut residual_sum) = (0.0, 0.0);
                    for pair in range(&opens[*k]).filter(|pair| *pair != likeliest) {
                        if beam.best.iter().any(|other| target(*other) == target(pair)) {
                            residual_sum += beam.shares[pair] * apart_squared(state, target(pair), target(likeliest));
                        } else {
                            unread += beam.shares[pair];
                        }
                    }
                    let known = 1.0 - of_none - unread;
                    let noise = model
                        .sensors
                        .place(&state.mounts, &opens[*k].measurement)
                        .map_or(0.0, |(_, noise)| noise.trace());
                    best = likeliest;
                    residual_sum < MAX_RESIDUAL * noise
                        && known > TWENTY_TO_ONE.ratio.max(against_none) * unread
                        && known > against_none * of_none
                } else {
                    false
                }
            } else {
                // Where the robot may be far from where it is taken to be, this closes a loop: it is reinitialized, and
                // what speaks for the loop and against it is weighed there.
                let is_loop = state.relative_spread(pairs[best].target) > NEAR_M2;
                let is_informative = alone[best].max(total_log_ratio) > THOUSAND_TO_ONE.ratio.ln();
                !is_loop && is_informative && share > required(ln_dets[best], &matches[best]) * (1.0 - share)
            };
            let is_free = |pair: usize| {
                !opens
                    .iter()
                    .any(|open| matches!(open.fate, Fate::Matched(other) if pairs[other].target == pairs[pair].target))
            };
            if is_sure && is_free(best) {
                opens[*k].fate = Fate::Matched(best);
            }
        }
        true
    }
}

/// The mean squared distance of two landmarks.
fn apart_squared(state: &State, a: usize, b: usize) -> f64 {
    (state.landmarks[a].x - state.landmarks[b].x).norm_squared() + difference(state, (a, b), (a, b)).trace().max(0.0)
}

/// A linearized gate is taken to be larger by this factor, squared.
const MARGIN: f64 = 1.5;

/// The odds at which a pair is used: a match that tells much has to be surer. What it tells is ½ ln det S/det R.
fn required(ln_det_s: f64, matched: &Match) -> f64 {
    let log_ratio = 0.5 * (ln_det_s - ln_det(&matched.stated_noise(), matched.dim)).max(0.0);
    (THOUSAND_TO_ONE.ratio * log_ratio.min(1.0)).max(TEN_TO_ONE.ratio)
}

/// The odds against none at which a pair of the first search is used. Where the landmark is known as well as a
/// measurement, a wrong one does little, and it only has to be likelier. One that was read not long ago may be
/// uncertain by metres after a way without measurements; the pair has to be surer by as much as the ellipse is larger
/// than that.
fn sure_of_any(ln_det_s: f64, matched: &Match) -> f64 {
    let log_ratio = 0.5 * (ln_det_s - ln_det(&matched.stated_noise(), matched.dim));
    (log_ratio.exp() / (1.0 + AS_GOOD)).max(1.0)
}

/// The odds against none at which a measurement near this landmark is used, whatever it would tell. A measurement that
/// is left out is no loss where another one will come; a false one that is used turns the robot. So a landmark needs 20
/// to one where all measurements are false, and by their part less. Two false measurements beside each other are no
/// landmark: a candidate needs as much where most of what begins is one, because this one will be read more clearly.
/// Where most is clutter, no candidate would become one.
fn sure_beside_clutter(memory: &Memory, id: u32) -> f64 {
    if memory.is_landmark(id) {
        TWENTY_TO_ONE.ratio * memory.rates.clutter()
    } else if memory.existence_probability(id) >= LIKELY {
        TWENTY_TO_ONE.ratio
    } else {
        1.0
    }
}

/// ln det of the first rows and columns.
fn ln_det(m: &Matrix3<f64>, dim: usize) -> f64 {
    m.view((0, 0), (dim, dim)).determinant().max(f64::MIN_POSITIVE).ln()
}

/// −ln β of measurements of no known landmark, with β in the units of the measurement: that by area at the landmark,
/// `density`, over |det ∂h/∂z|. Measurements of one or of three numbers have no area; one at the edge of the gate of a
/// landmark that is known exactly is then as likely of none.
fn surprise(matched: &Match, gate: f64, density: f64) -> f64 {
    if matched.dim == 2 {
        let jacobian: Matrix2<f64> = matched.by_landmark.fixed_rows::<2>(0).into_owned();
        return jacobian.determinant().abs().max(f64::MIN_POSITIVE).ln() - density.ln();
    }
    let noise = matched.noise.view((0, 0), (matched.dim, matched.dim)).determinant().max(f64::MIN_POSITIVE);
    0.5 * (gate.min(100.0) + noise.ln() + matched.dim as f64 * std::f64::consts::TAU.ln())
}
