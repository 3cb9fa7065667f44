//! Where a constellation can be in the map: pairs of equal length vote for rigid motions, and the rest of the
//! constellation says which of these are worth a look.

use super::constellation::Constellation;
use super::hypothesis::Evidence;
use super::index::{MapIndex, Pair};
use lienav_lie::{Se2, skew};
use nalgebra::{Matrix2, Vector2};
use std::f64::consts::TAU;

/// Lengths agree within this many standard deviations.
const LENGTH_GATE: f64 = 4.0;
/// The most pairs of the constellation that take turns.
pub const BASES: usize = 12;
/// A pair is of use only from this length on, m.
const MIN_LENGTH_M: f64 = 0.3;

/// Two landmarks of the constellation, and what their place in the map says of the others.
#[derive(Clone, Debug)]
struct Base {
    a: usize,
    b: usize,
    length: f64,
    /// Variance of the length, m².
    variance: f64,
    witnesses: Vec<Witness>,
}

/// Where a landmark of the constellation is from the middle of a base.
#[derive(Clone, Copy, Debug)]
struct Witness {
    i: usize,
    /// From the middle of the base, in the base frame.
    offset: Vector2<f64>,
    /// Covariance that follows from the constellation, m².
    covariance: Matrix2<f64>,
    /// What landmarks of the map under the base add for a variance of 1 of each.
    of_map: Matrix2<f64>,
}

/// A rigid motion that may bring the constellation onto the map.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Proposal {
    /// Of the base.
    pub pose: Se2,
    /// What brought it up.
    pub base: [(usize, u32); 2],
    /// An estimate of its log weight.
    pub score: f64,
}

/// What one sweep found.
#[derive(Clone, Debug, Default)]
pub struct Sweep {
    /// Best first.
    pub proposals: Vec<Proposal>,
    /// Which pair to go on with, if there was no time for all.
    pub rest: Option<usize>,
}

/// The pairs of the constellation that tell most of where it is, in an order that does not depend on that of
/// measurements: long ones of well-known landmarks, each landmark in three of them at most.
pub fn bases(constellation: &Constellation, index: &MapIndex) -> Vec<(usize, usize)> {
    let confirmed: Vec<usize> = constellation.confirmed().collect();
    let is_unknown = |i: usize| constellation.tracks[i].id.is_some_and(|id| index.find(id).is_none());
    let mut ranked = Vec::new();
    for (n, &a) in confirmed.iter().enumerate() {
        for &b in &confirmed[..n] {
            let length = (constellation.places[a] - constellation.places[b]).norm();
            if length < MIN_LENGTH_M || length > index.pair_reach_m || is_unknown(a) || is_unknown(b) {
                continue;
            }
            let across = constellation.block(a, b);
            let apart = constellation.block(a, a) + constellation.block(b, b) - across - across.transpose();
            let names = [a, b].iter().filter(|i| constellation.tracks[**i].id.is_some()).count();
            ranked.push((names, length * length / (apart.trace() + 2.0 * index.largest_variance + 1e-6), a, b));
        }
    }
    ranked.sort_by(|one, other| {
        other.0.cmp(&one.0).then(other.1.total_cmp(&one.1)).then((one.2, one.3).cmp(&(other.2, other.3)))
    });
    let mut uses = vec![0; constellation.len()];
    let mut chosen = Vec::new();
    for (_, _, a, b) in ranked {
        if uses[a] < 3 && uses[b] < 3 && chosen.len() < BASES {
            (uses[a], uses[b]) = (uses[a] + 1, uses[b] + 1);
            chosen.push((a, b));
        }
    }
    chosen
}

/// All rigid motions that bring a pair of the constellation onto one of the map, from pair `first` on and at most
/// `most_tried` of them, save those that most others contradict.
pub fn sweep(evidence: &Evidence, (a, b): (usize, usize), first: usize, most_tried: usize) -> Sweep {
    let mut result = Sweep::default();
    let Some(base) = Base::new(evidence, a, b) else { return result };
    let index = evidence.index;
    let tolerance = LENGTH_GATE * (base.variance + 2.0 * index.largest_variance).sqrt();
    let (low, high) = (base.length - tolerance, base.length + tolerance);
    let name = |i: usize| evidence.constellation.tracks[i].id.and_then(|id| index.find(id));
    let mut search = Search { evidence, base: &base, constant: None, found: Vec::new() };
    match (name(a), name(b)) {
        (Some(k), Some(l)) => search.try_one(k, l),
        (Some(k), None) => index.within(&index.landmark(k).position, high, |l, _| search.try_one(k, l)),
        (None, Some(l)) => index.within(&index.landmark(l).position, high, |k, _| search.try_one(k, l)),
        (None, None) => {
            let range = index.pairs_between(low, high);
            let from = range.start.saturating_add(first).min(range.end);
            let to = from.saturating_add(most_tried / 2).min(range.end);
            for &Pair { a: k, b: l, .. } in &index.pairs()[from..to] {
                search.try_one(k, l);
                search.try_one(l, k);
            }
            result.rest = (to < range.end).then(|| to - range.start);
        }
    }
    result.proposals = search.found;
    result.proposals.sort_by(|one, other| other.score.total_cmp(&one.score).then(one.base.cmp(&other.base)));
    result
}

struct Search<'a> {
    evidence: &'a Evidence<'a>,
    base: &'a Base,
    /// The log weight of the base alone, up to how well its length fits.
    constant: Option<f64>,
    found: Vec<Proposal>,
}

impl Search<'_> {
    /// The motion that brings a onto k and b onto l.
    fn try_one(&mut self, k: u32, l: u32) {
        let Self { evidence, base, .. } = self;
        let index = evidence.index;
        if k == l || !evidence.can_be(base.a, k) || !evidence.can_be(base.b, l) {
            return;
        }
        let (from, to) = (index.landmark(k).position, index.landmark(l).position);
        let variance = 0.5 * index.local_covariance(k).trace() + 0.5 * index.local_covariance(l).trace();
        let residual = (to - from).norm() - base.length;
        let squared = residual * residual / (base.variance + variance);
        if squared > LENGTH_GATE * LENGTH_GATE {
            return;
        }
        let (z_a, z_b) = (evidence.constellation.places[base.a], evidence.constellation.places[base.b]);
        let (across, along) = (z_b - z_a, to - from);
        let theta = (across.perp(&along)).atan2(across.dot(&along));
        let rotation = lienav_lie::rotation(theta);
        let middle = 0.5 * (from + to);
        let (mut score, mut strangers) = (-0.5 * squared, 0);
        let unmapped = evidence.unmapped.ln();
        for (n, witness) in base.witnesses.iter().enumerate() {
            let image = middle + rotation * witness.offset;
            let covariance = witness.covariance + 0.5 * variance * witness.of_map;
            let covariance = rotation * covariance * rotation.transpose();
            let mut best: Option<(f64, u32)> = None;
            evidence.near(witness.i, &image, &covariance, |j, distance| {
                if j != k && j != l && best.is_none_or(|(least, _)| distance < least) {
                    best = Some((distance, j));
                }
            });
            let gain = best.map(|(distance, j)| evidence.log_gain(witness.i, j) - TAU.ln() - 0.5 * distance);
            if gain.is_none_or(|gain| gain < unmapped) {
                strangers += 1;
                if strangers > 1 + (n + 1) / 3 {
                    return;
                }
            }
            score += gain.unwrap_or(unmapped).max(unmapped);
        }
        let pair = [(base.a, k), (base.b, l)];
        let pose = Se2 { p: middle - rotation * (0.5 * (z_a + z_b)), theta };
        if self.constant.is_none() {
            // The length fits not quite; what it costs is in the score already.
            let log_fit = evidence.fit(&pair, &pose).map(|fit| fit.log_evidence + 0.5 * squared);
            self.constant = log_fit.map(|log| log + evidence.log_gain(base.a, k) + evidence.log_gain(base.b, l));
        }
        if let Some(constant) = self.constant {
            self.found.push(Proposal { pose, base: pair, score: score + constant });
        }
    }
}

impl Base {
    fn new(evidence: &Evidence, a: usize, b: usize) -> Option<Self> {
        let constellation = evidence.constellation;
        let (z_a, z_b) = (constellation.places[a], constellation.places[b]);
        let length = (z_b - z_a).norm();
        if length < MIN_LENGTH_M {
            return None;
        }
        let (along, across) = ((z_b - z_a) / length, skew(&(z_b - z_a)) / length);
        let blocks = [evidence.block(a), constellation.block(a, b), evidence.block(b)];
        let apart = blocks[0] + blocks[2] - blocks[1] - blocks[1].transpose();
        let variance = along.dot(&(apart * along));
        let middle = 0.5 * (z_a + z_b);
        // r_i = δ_i + W_a δ_a + W_b δ_b: the base takes the others along, as it moves and turns.
        let mut witnesses: Vec<Witness> = evidence
            .tracks()
            .filter(|i| *i != a && *i != b)
            .map(|i| {
                let offset = constellation.places[i] - middle;
                let turn: Matrix2<f64> = skew(&offset) * across.transpose() / length;
                let weights: [Matrix2<f64>; 2] = [turn - 0.5 * Matrix2::identity(), -turn - 0.5 * Matrix2::identity()];
                let (mut covariance, mut of_map) = (evidence.block(i), Matrix2::zeros());
                for (n, (w, j)) in weights.iter().zip([a, b]).enumerate() {
                    let cross: Matrix2<f64> = w * constellation.block(j, i);
                    covariance += cross + cross.transpose() + w * blocks[2 * n] * w.transpose();
                    of_map += w * w.transpose();
                }
                let cross: Matrix2<f64> = weights[0] * blocks[1] * weights[1].transpose();
                Witness { i, offset, covariance: covariance + cross + cross.transpose(), of_map }
            })
            .collect();
        witnesses.sort_by(|one, other| {
            one.covariance.trace().total_cmp(&other.covariance.trace()).then(one.i.cmp(&other.i))
        });
        Some(Self { a, b, length, variance, witnesses })
    }
}
