//! The joint search: which items are of which targets, all together.
//!
//! An item (a measurement, or a recent landmark) is of one of its targets or of none, and a target is of one item at
//! most. A hypothesis says so for all items. Its weight, beside that of the hypothesis that all are of none, is
//!
//! ```math
//! \ln w = \sum_{\text{pairs}} c_p - \tfrac12\, r^T S^{-1} r - \tfrac12 \ln\det 2\pi S
//! ```
//!
//! with the residuals r of all its pairs and their joint covariance S. Both terms come from the Cholesky factor of S,
//! which grows by the rows of one pair with each item: what is added is the distance and the density of that pair
//! given those before.
//!
//! Items are taken one after the other, and all hypotheses that are not worse than the best by more than [`WINDOW`]
//! go on: branch and bound in the breadth. At most 64 go on, and pairs beyond the first twelve are compared with these
//! alone ([`bounds`](crate::bounds)), so that n items with k targets each take at most n·k·64 products with a factor of
//! 24 rows.

use crate::bounds::BOUNDS;
use crate::thresholds::TEN_TO_ONE;
use lienav_planar::measurement::value::MAX_DIM;
use nalgebra::{Matrix3, Vector3};
use std::f64::consts::TAU;

/// A hypothesis less likely than the best by this factor, as a logarithm, is left out: e⁻⁹ is one in 8,000.
pub const WINDOW: f64 = 9.0;
/// So many numbers the anchors have.
const ROWS: usize = 2 * BOUNDS.anchors;

/// An item and what it may be of.
#[derive(Clone, Copy, Debug)]
pub struct Pair {
    /// The target, which only one item is of.
    pub target: usize,
    /// How many numbers the residual has.
    pub dim: usize,
    /// What separates item and target.
    pub residual: Vector3<f64>,
    /// The covariance of that.
    pub covariance: Matrix3<f64>,
    /// What speaks for the pair beside the residual: a logarithm of a density.
    pub weight: f64,
    /// The logarithm of the weight of this pair alone.
    pub alone: f64,
}

impl Pair {
    /// Of an item and a target that `residual` separates, with its covariance. `None` where this is not positive
    /// definite.
    pub fn new(
        target: usize,
        (residual, covariance): (Vector3<f64>, Matrix3<f64>),
        dim: usize,
        weight: f64,
    ) -> Option<Self> {
        let (square, ln_det) = distance(&residual, &covariance, dim)?;
        let alone = weight - 0.5 * (square + ln_det);
        Some(Self { target, dim, residual, covariance, weight, alone })
    }
}

/// The pairs of one item, and whether it is of one of them in any case.
#[derive(Clone, Copy, Debug)]
pub struct Item {
    /// The first of its pairs.
    pub first: usize,
    /// Behind the last one.
    pub last: usize,
    /// Whether that it is of none was excluded before.
    pub is_clear: bool,
}

/// What residuals of two pairs have in common.
pub trait Joint {
    /// The covariance of the residual of pair `a` with that of pair `b`; zeros beyond their numbers.
    fn covariance(&self, a: usize, b: usize) -> Matrix3<f64>;
}

/// Of no pair.
const NONE: u32 = u32::MAX;

#[derive(Clone, Copy, Debug)]
struct Hypothesis {
    score: f64,
    /// The same with what one pair adds limited.
    guarded: f64,
    /// Its last choice, in [`Beam::choices`].
    choice: u32,
    rows: usize,
    anchors: usize,
    anchor: [u32; BOUNDS.anchors],
    /// The Cholesky factor of the joint covariance, row by row.
    factor: [f64; ROWS * (ROWS + 1) / 2],
    /// The factor's inverse times the residuals.
    whitened: [f64; ROWS],
}

#[derive(Clone, Copy, Debug)]
struct Child {
    parent: u32,
    pair: u32,
    score: f64,
    guarded: f64,
    /// How many rows it adds.
    rows: usize,
    below: [[f64; ROWS]; MAX_DIM],
    own: Matrix3<f64>,
    whitened: Vector3<f64>,
}

/// Buffers of a search, which keep their allocations, and what it has found.
#[derive(Debug, Default)]
pub struct Beam {
    now: Vec<Hypothesis>,
    next: Vec<Hypothesis>,
    children: Vec<Child>,
    order: Vec<u32>,
    /// Who comes before, the pair, and what it adds to the evidence.
    choices: Vec<(u32, u32, f64)>,
    path: Vec<usize>,
    /// The probability of each pair.
    pub shares: Vec<f64>,
    /// The pairs of the likeliest hypothesis.
    pub best: Vec<usize>,
    /// What each of them adds to the evidence.
    pub log_ratio: Vec<f64>,
    /// The logarithm of its weight beside the one that all items are of none, with what one pair adds limited to
    /// [`TEN_TO_ONE`].
    pub evidence: f64,
}

impl Beam {
    /// Weighs all ways in which `items` are of their targets. `gate` has the bounds on the squared distance of one
    /// pair given those before, by its numbers; `adjust` adds to the logarithm of the weight of a whole hypothesis.
    pub fn search(
        &mut self,
        (pairs, items): (&[Pair], &[Item]),
        joint: &impl Joint,
        gate: &[f64; MAX_DIM],
        mut adjust: impl FnMut(&[usize]) -> f64,
    ) {
        self.begin(pairs.len());
        for item in items {
            self.branch(pairs, item, joint, gate);
            self.bound();
        }
        // What hypotheses are worth as a whole, and the sums over them.
        let mut highest = f64::NEG_INFINITY;
        let mut best = NONE;
        for k in 0..self.now.len() {
            self.walk(k);
            let adjustment = adjust(&self.path);
            let hypothesis = &mut self.now[k];
            hypothesis.score += adjustment;
            hypothesis.guarded += adjustment;
            if hypothesis.score > highest {
                highest = hypothesis.score;
                self.evidence = hypothesis.guarded;
                self.best.clone_from(&self.path);
                best = hypothesis.choice;
            }
        }
        self.best.reverse();
        self.log_ratio.clear();
        while let Some(&(before, _, log_ratio)) = self.choices.get(best as usize) {
            self.log_ratio.push(log_ratio);
            best = before;
        }
        self.log_ratio.reverse();
        let mut whole = 0.0;
        for k in 0..self.now.len() {
            let weight = (self.now[k].score - highest).exp();
            whole += weight;
            self.walk(k);
            for pair in &self.path {
                self.shares[*pair] += weight;
            }
        }
        self.shares.iter_mut().for_each(|share| *share /= whole);
    }

    /// What a pair tells given those of the only hypothesis of the last search, and ln det of its covariance then;
    /// `None` outside of the gate.
    pub fn given(&self, pairs: &[Pair], index: usize, joint: &impl Joint, gate: &[f64; MAX_DIM]) -> Option<(f64, f64)> {
        let hypothesis = self.now.first()?;
        let child = extend((hypothesis, 0), pairs, index, joint, gate)?;
        let ln_det = (0..pairs[index].dim).map(|a| 2.0 * child.own[(a, a)].ln()).sum();
        Some((child.score - hypothesis.score, ln_det))
    }

    /// The logarithms of the weights of all hypotheses that the search has kept, beside the one that all items are of
    /// none.
    pub fn scores(&self) -> impl Iterator<Item = f64> + '_ {
        self.now.iter().map(|hypothesis| hypothesis.score)
    }

    /// The pairs of one of them, the last one first.
    pub fn pairs_of(&mut self, hypothesis: usize) -> &[usize] {
        self.walk(hypothesis);
        &self.path
    }

    fn begin(&mut self, pairs: usize) {
        self.now.clear();
        self.choices.clear();
        self.shares.clear();
        self.shares.resize(pairs, 0.0);
        self.best.clear();
        self.log_ratio.clear();
        self.now.push(Hypothesis {
            score: 0.0,
            guarded: 0.0,
            choice: NONE,
            rows: 0,
            anchors: 0,
            anchor: [0; BOUNDS.anchors],
            factor: [0.0; ROWS * (ROWS + 1) / 2],
            whitened: [0.0; ROWS],
        });
    }

    /// The pairs of hypothesis `k`, the last one first.
    fn walk(&mut self, k: usize) {
        self.path.clear();
        let mut choice = self.now[k].choice;
        while let Some(&(before, pair, _)) = self.choices.get(choice as usize) {
            self.path.push(pair as usize);
            choice = before;
        }
    }

    /// All ways in which the hypotheses go on.
    fn branch(&mut self, pairs: &[Pair], item: &Item, joint: &impl Joint, gate: &[f64; MAX_DIM]) {
        self.children.clear();
        for k in 0..self.now.len() {
            self.walk(k);
            let hypothesis = &self.now[k];
            let mut passed = false;
            for index in item.first..item.last {
                let pair = &pairs[index];
                if self.path.iter().any(|other| pairs[*other].target == pair.target) {
                    continue;
                }
                let Some(child) = extend((hypothesis, k), pairs, index, joint, gate) else { continue };
                passed = true;
                self.children.push(child);
            }
            if !(item.is_clear && passed) {
                self.children.push(Child {
                    parent: k as u32,
                    pair: NONE,
                    score: hypothesis.score,
                    guarded: hypothesis.guarded,
                    rows: 0,
                    below: [[0.0; ROWS]; MAX_DIM],
                    own: Matrix3::zeros(),
                    whitened: Vector3::zeros(),
                });
            }
        }
    }

    /// The children that go on become the hypotheses.
    fn bound(&mut self) {
        let children = &self.children;
        let best = children.iter().map(|child| child.score).fold(f64::NEG_INFINITY, f64::max);
        self.order.clear();
        self.order.extend((0..children.len() as u32).filter(|k| children[*k as usize].score >= best - WINDOW));
        if self.order.len() > 1 {
            let score = |k: &u32| children[*k as usize].score;
            self.order.sort_unstable_by(|a, b| score(b).total_cmp(&score(a)).then(a.cmp(b)));
        }
        self.order.truncate(BOUNDS.beam);
        self.next.clear();
        for k in &self.order {
            let child = &self.children[*k as usize];
            let parent = &self.now[child.parent as usize];
            self.next.push(*parent);
            let Some(hypothesis) = self.next.last_mut() else { continue };
            (hypothesis.score, hypothesis.guarded) = (child.score, child.guarded);
            if child.pair == NONE {
                continue;
            }
            self.choices.push((parent.choice, child.pair, child.guarded - parent.guarded));
            hypothesis.choice = self.choices.len() as u32 - 1;
            if child.rows > 0 {
                grow(hypothesis, child);
            }
        }
        std::mem::swap(&mut self.now, &mut self.next);
    }
}

/// Where row `k` of a factor begins.
fn row(k: usize) -> usize {
    k * (k + 1) / 2
}

/// A hypothesis with one more pair; `None` if it does not pass the gate.
fn extend(
    (hypothesis, parent): (&Hypothesis, usize),
    pairs: &[Pair],
    index: usize,
    joint: &impl Joint,
    gate: &[f64; MAX_DIM],
) -> Option<Child> {
    let pair = &pairs[index];
    let (rows, dim) = (hypothesis.rows, pair.dim);
    let mut below = [[0.0; ROWS]; MAX_DIM];
    let mut at = 0;
    for anchor in &hypothesis.anchor[..hypothesis.anchors] {
        let anchor = *anchor as usize;
        let shared = joint.covariance(index, anchor);
        let width = pairs[anchor].dim;
        for (d, below) in below.iter_mut().enumerate().take(dim) {
            for c in 0..width {
                below[at + c] = shared[(d, c)];
            }
        }
        at += width;
    }
    let (mut covariance, mut residual) = (pair.covariance, pair.residual);
    for below in below.iter_mut().take(dim) {
        for k in 0..rows {
            let factor = &hypothesis.factor[row(k)..row(k) + k + 1];
            let known: f64 = factor[..k].iter().zip(&below[..k]).map(|(l, w)| l * w).sum();
            below[k] = (below[k] - known) / factor[k];
        }
    }
    for a in 0..dim {
        residual[a] -= below[a][..rows].iter().zip(&hypothesis.whitened).map(|(w, y)| w * y).sum::<f64>();
        for b in 0..=a {
            let known: f64 = below[a][..rows].iter().zip(&below[b][..rows]).map(|(x, y)| x * y).sum();
            covariance[(a, b)] -= known;
        }
    }
    let own = factored(&covariance, dim)?;
    let mut whitened = residual;
    let mut ln_det = 0.0;
    for a in 0..dim {
        for b in 0..a {
            whitened[a] -= own[(a, b)] * whitened[b];
        }
        whitened[a] /= own[(a, a)];
        ln_det += 2.0 * own[(a, a)].ln() + TAU.ln();
    }
    let square: f64 = (0..dim).map(|a| whitened[a] * whitened[a]).sum();
    if square.is_nan() || square > gate[dim - 1] {
        return None;
    }
    let log_ratio = pair.weight - 0.5 * (square + ln_det);
    let score = hypothesis.score + log_ratio;
    let guarded = hypothesis.guarded + log_ratio.min(TEN_TO_ONE.ln.max(pair.alone));
    let has_room = hypothesis.anchors < BOUNDS.anchors && rows + dim <= ROWS;
    let rows = if has_room { dim } else { 0 };
    Some(Child { parent: parent as u32, pair: index as u32, score, guarded, rows, below, own, whitened })
}

/// Adds the rows of a child to the factor.
fn grow(hypothesis: &mut Hypothesis, child: &Child) {
    for a in 0..child.rows {
        let k = hypothesis.rows;
        let own = &mut hypothesis.factor[row(k)..row(k) + k + 1];
        let (before, rest) = own.split_at_mut(k - a);
        before.copy_from_slice(&child.below[a][..k - a]);
        for (b, value) in rest.iter_mut().enumerate() {
            *value = child.own[(a, b)];
        }
        hypothesis.whitened[k] = child.whitened[a];
        hypothesis.rows += 1;
    }
    hypothesis.anchor[hypothesis.anchors] = child.pair;
    hypothesis.anchors += 1;
}

/// The Cholesky factor of the first `dim` rows and columns, of which the lower triangle is read.
fn factored(s: &Matrix3<f64>, dim: usize) -> Option<Matrix3<f64>> {
    let mut l = Matrix3::zeros();
    for a in 0..dim {
        for b in 0..=a {
            let sum = s[(a, b)] - (0..b).map(|k| l[(a, k)] * l[(b, k)]).sum::<f64>();
            if a == b {
                if !(sum > 0.0 && sum.is_finite()) {
                    return None;
                }
                l[(a, a)] = sum.sqrt();
            } else {
                l[(a, b)] = sum / l[(b, b)];
            }
        }
    }
    Some(l)
}

/// rᵀ S⁻¹ r and ln det 2πS of the first `dim` numbers.
pub fn distance(r: &Vector3<f64>, s: &Matrix3<f64>, dim: usize) -> Option<(f64, f64)> {
    let l = factored(s, dim)?;
    let (mut square, mut ln_det, mut y) = (0.0, 0.0, *r);
    for a in 0..dim {
        for b in 0..a {
            y[a] -= l[(a, b)] * y[b];
        }
        y[a] /= l[(a, a)];
        square += y[a] * y[a];
        ln_det += 2.0 * l[(a, a)].ln() + TAU.ln();
    }
    square.is_finite().then_some((square, ln_det))
}

#[cfg(test)]
#[path = "beam_tests.rs"]
mod tests;
