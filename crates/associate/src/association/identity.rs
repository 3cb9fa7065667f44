//! Which of some recent landmarks are which of some old ones, all together.
//!
//! After a long way, the place of an old landmark relative to the robot is uncertain by more than landmarks are apart,
//! and what is read begins landmarks anew. Which old ones these are is the same joint search as of which landmarks
//! measurements are (`docs/association.md`), with the covariance of the differences instead of that of innovations. It
//! is decided by all pairs of the likeliest hypothesis together: a loop is closed by all of them, or by none.

use crate::association::beam::{Beam, Item, Joint, Pair, distance};
use crate::bounds::BOUNDS;
use crate::thresholds::TWENTY_TO_ONE;
use lienav_lie::{Se2, rotation, skew};
use nalgebra::{Matrix2, Matrix3, Vector2, Vector3};

/// The least odds of a decision that nobody undoes.
pub const SURE: f64 = 3000.0;
/// Of an old landmark whose place relative to the recent ones is known better than this, m².
pub const PLACED_M2: f64 = 0.25;
/// Old landmarks so near to each other are one place of a loop, m²; and a recent landmark may be the old one that is so
/// near where a hypothesis brings it. A decision closes a loop if a difference has a larger variance than this.
pub const NEAR_M2: f64 = 1.0;

/// What recent and old landmarks have to do with each other. A pair is a recent one and an old one, by numbers that the
/// caller gives.
pub trait Acquaintance {
    /// The covariance of the difference of a pair, old less recent, with that of another, m².
    fn covariance(&self, one: (usize, usize), other: (usize, usize)) -> Matrix2<f64>;
    /// The difference of two old landmarks, m, and its covariance, m².
    fn apart(&self, one: usize, other: usize) -> (Vector2<f64>, Matrix2<f64>);
    /// The logarithm of the probability that old landmarks were missed that these pairs together have in view.
    fn absence(&self, pairs: &[(usize, usize)]) -> f64;
}

/// Recent landmarks and what old ones each may be. Keeps its allocations.
#[derive(Debug, Default)]
pub struct Identification {
    pub(super) pairs: Vec<Pair>,
    /// The recent and the old landmark of each pair.
    pub(super) ends: Vec<(usize, usize)>,
    pub(super) items: Vec<Item>,
    found: Vec<(usize, Pair)>,
    path: Vec<(usize, usize)>,
    pub(super) beam: Beam,
    accepted: Vec<(usize, usize)>,
    /// The largest squared distance of a pair that is at one place anyway, and of others.
    gates: [f64; 2],
}

/// What the pairs are that are accepted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Accepted {
    /// Whether they close a loop.
    pub is_loop: bool,
    /// What speaks for them: the logarithm of their odds.
    pub total_log_ratio: f64,
}

struct Ends<'a, A>(&'a A, &'a [(usize, usize)]);

impl<A: Acquaintance> Joint for Ends<'_, A> {
    fn covariance(&self, a: usize, b: usize) -> Matrix3<f64> {
        planar(&self.0.covariance(self.1[a], self.1[b]))
    }
}

fn planar(covariance: &Matrix2<f64>) -> Matrix3<f64> {
    let m = covariance;
    Matrix3::new(m.m11, m.m12, 0.0, m.m21, m.m22, 0.0, 0.0, 0.0, 0.0)
}

/// Whether nothing speaks for two old landmarks being at different places.
pub fn are_at_one_place(of: &impl Acquaintance, a: usize, b: usize) -> bool {
    /// Two landmarks are at one place if their distance is known better than this, m², and not above three standard
    /// deviations.
    const ONE_PLACE_M2: f64 = 0.04;
    const ONE_PLACE: f64 = 9.0;
    if a == b {
        return true;
    }
    let (apart, covariance) = of.apart(a, b);
    covariance.trace() < ONE_PLACE_M2
        && distance(&Vector3::new(apart.x, apart.y, 0.0), &planar(&covariance), 2)
            .is_some_and(|(square, _)| square < ONE_PLACE)
}

/// The rigid motion that brings points to others in the sense of least squares.
pub fn motion_between(pairs: impl Iterator<Item = (Vector2<f64>, Vector2<f64>)> + Clone) -> Se2 {
    let count = pairs.clone().count().max(1) as f64;
    let (from, to) = pairs.clone().fold((Vector2::zeros(), Vector2::zeros()), |sum, (a, b)| (sum.0 + a, sum.1 + b));
    let (from, to) = (from / count, to / count);
    let (mut cos, mut sin) = (0.0, 0.0);
    for (a, b) in pairs {
        let (a, b) = (a - from, b - to);
        cos += a.dot(&b);
        sin += skew(&a).dot(&b);
    }
    let turn = sin.atan2(cos);
    let shift = to - rotation(turn) * from;
    Se2::new(shift.x, shift.y, turn)
}

/// The rigid motion of the robot that brings recent landmarks to old ones. A pair is the distance of the recent one
/// from the robot, m, and both places, m; the nearest comes first. The motion is that of as many of the first pairs as
/// it brings within a metre: what was read long before is elsewhere beside the robot than where it was read. `None` of
/// one pair, and where no motion brings the first two so near.
pub fn motion_of_robot(pairs: &[(f64, Vector2<f64>, Vector2<f64>)]) -> Option<Se2> {
    let (_, first, _) = pairs.first()?;
    let motion_of = |count: usize| {
        let own = pairs[..count].iter().map(|(_, from, to)| (*from, *to));
        // Those of one place do not tell how the robot has turned.
        let is_one_place = own.clone().all(|(from, _)| (from - first).norm_squared() < NEAR_M2);
        if !is_one_place {
            return motion_between(own);
        }
        let shift = own.map(|(from, to)| to - from).sum::<Vector2<f64>>() / count as f64;
        Se2::new(shift.x, shift.y, 0.0)
    };
    let fits = |motion: &Se2, count: usize| {
        pairs[..count].iter().all(|(_, from, to)| (motion.transform(from) - to).norm_squared() < NEAR_M2)
    };
    let motions = (2..=pairs.len()).map(|count| (motion_of(count), count));
    motions.take_while(|(motion, count)| fits(motion, *count)).last().map(|(motion, _)| motion)
}

/// An old landmark and a recent one with so many measurements that `difference` separates, old less recent, m, with its
/// covariance, m², as a pair; `None` outside of the gate. `density` is that of landmarks by area, 1/m²; `gates` are the
/// squared distances of two numbers within which a measurement is of a landmark, and beyond which it is of none.
pub(super) fn pair(
    old: usize,
    (difference, covariance): (Vector2<f64>, Matrix2<f64>),
    measurements: u32,
    (density, gates): (f64, [f64; 2]),
) -> Option<Pair> {
    /// What one look without a measurement tells, and all of them at most, as logarithms.
    const MISSED: f64 = 0.7;
    const MOST_MISSED: f64 = 6.0;
    let is_placed = covariance.trace() < PLACED_M2;
    // At the same place they were in view alike: the old one was missed as often as the recent one was read.
    let missed = if is_placed { (MISSED * f64::from(measurements)).min(MOST_MISSED) } else { 0.0 };
    let residual = Vector3::new(difference.x, difference.y, 0.0);
    let covariance = planar(&covariance);
    let (square, _) = distance(&residual, &covariance, 2)?;
    // All differences of a loop share the error of the way around: what is beyond the gate of one measurement would be
    // a loop that is never closed. The search weighs what the distance says.
    let pair = Pair::new(old, (residual, covariance), 2, missed - density.ln())?;
    (square <= gates[usize::from(!is_placed)]).then_some(pair)
}

/// Whether two landmarks at one place are one for sure by themselves: their difference, m, and its covariance, m²; how
/// often each was observed, at least; and how many landmarks there are by area, 1/m², with the squared distances of two
/// numbers within which a measurement is of a landmark, and beyond which it is of none.
pub fn are_one(apart: (Vector2<f64>, Matrix2<f64>), measurements: u32, (density, gates): (f64, [f64; 2])) -> bool {
    apart.1.trace() < PLACED_M2
        && pair(0, apart, measurements, (density, gates)).is_some_and(|pair| pair.alone > SURE.ln())
}

impl Identification {
    /// Forgets all pairs. `gates` are the squared distances of two numbers within which a measurement is of a landmark,
    /// and beyond which it is of none.
    pub fn begin(&mut self, gates: [f64; 2]) {
        self.pairs.clear();
        self.ends.clear();
        self.items.clear();
        self.gates = gates;
    }

    /// Whether there is no room for another recent one.
    pub fn is_full(&self) -> bool {
        self.items.len() == BOUNDS.recently_added
    }

    /// A recent landmark with so many measurements, and the old ones that it may be with their differences, old less
    /// recent, m. `density` is that of landmarks by area, 1/m².
    pub fn add(
        &mut self,
        (recent, measurements): (usize, u32),
        candidates: impl Iterator<Item = (usize, Vector2<f64>, Matrix2<f64>)>,
        density: f64,
    ) {
        self.found.clear();
        for (old, difference, covariance) in candidates {
            let pair = pair(old, (difference, covariance), measurements, (density, self.gates));
            self.found.extend(pair.map(|pair| (old, pair)));
        }
        if self.found.is_empty() {
            return;
        }
        self.found.sort_unstable_by(|a, b| b.1.alone.total_cmp(&a.1.alone).then(a.0.cmp(&b.0)));
        let first = self.pairs.len();
        for (old, pair) in self.found.iter().take(BOUNDS.old) {
            self.pairs.push(*pair);
            self.ends.push((recent, *old));
        }
        self.items.push(Item { first, last: self.pairs.len(), is_clear: false });
    }

    /// How many recent landmarks may be an old one.
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Whether nothing is to be decided.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// Whether there are pairs whose difference is uncertain by more than landmarks at one place are apart.
    pub fn is_wide(&self) -> bool {
        self.pairs.iter().any(|pair| pair.covariance.trace() > NEAR_M2)
    }

    /// Weighs all ways in which the recent landmarks are old ones.
    pub fn search(&mut self, of: &impl Acquaintance) {
        let Self { beam, pairs, items, ends, path, .. } = self;
        beam.search((pairs, items), &Ends(of, ends), &[self.gates[1]; 3], |hypothesis| {
            path.clear();
            path.extend(hypothesis.iter().map(|pair| ends[*pair]));
            of.absence(path)
        });
    }

    /// The recent and the old landmark of each pair that was accepted.
    pub fn accepted(&self) -> &[(usize, usize)] {
        &self.accepted
    }

    /// The pairs of the likeliest hypothesis that have the odds `sure`, into [`Self::accepted`]; `None` where they are
    /// not to be believed: a loop is closed by landmarks at so many places as `closing`.
    pub fn accept(&mut self, of: &impl Acquaintance, sure: f64, closing: usize) -> Option<Accepted> {
        let Self { pairs, ends, items, beam, accepted, .. } = self;
        accepted.clear();
        if beam.evidence < sure.ln() {
            return None;
        }
        // Landmarks that are near anyway say nothing of where those are that are far.
        let is_wide = |pair: usize| pairs[pair].covariance.trace() > PLACED_M2;
        let of_near = beam.best.iter().zip(&beam.log_ratio).filter(|(pair, _)| !is_wide(**pair));
        let are_wide_sure = beam.evidence - of_near.map(|(_, log_ratio)| log_ratio).sum::<f64>() >= sure.ln();
        let mut widest: f64 = 0.0;
        // What the accepted pairs say, and at how many places: what stands at one place says the same twice.
        let (mut total_log_ratio, mut places) = (beam.evidence, 0);
        for (pair, log_ratio) in beam.best.iter().zip(&beam.log_ratio) {
            total_log_ratio -= log_ratio.max(0.0);
            let Some(item) = items.iter().find(|item| (item.first..item.last).contains(pair)) else { continue };
            if !are_wide_sure && is_wide(*pair) {
                continue;
            }
            let (recent, old) = ends[*pair];
            let (mut share, mut of_others) = (0.0, 0.0);
            let others = item.first..item.last;
            for ((_, other), own) in ends[others.clone()].iter().zip(&beam.shares[others]) {
                if are_at_one_place(of, old, *other) {
                    share += own;
                } else {
                    of_others += own;
                }
            }
            let of_none = 1.0 - share - of_others;
            if share > sure * of_others && share > TWENTY_TO_ONE.ratio * of_none {
                if !accepted.iter().any(|(_, other)| of.apart(old, *other).0.norm_squared() < NEAR_M2) {
                    total_log_ratio += log_ratio.max(0.0);
                    places += 1;
                }
                accepted.push((recent, old));
                widest = widest.max(pairs[*pair].covariance.trace());
            }
        }
        let is_loop = widest > NEAR_M2;
        let is_refused = accepted.is_empty() || (is_loop && (places < closing || total_log_ratio < sure.ln()));
        (!is_refused).then_some(Accepted { is_loop, total_log_ratio })
    }

    /// Pairs that somebody else has accepted.
    #[cfg(test)]
    pub fn set_accepted(&mut self, pairs: Vec<(usize, usize)>) {
        self.accepted = pairs;
    }
}
