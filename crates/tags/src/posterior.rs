//! The maximum a posteriori of six numbers by the corners of one tag, and the update of a state by it.
//!
//! With M = HᵀH = L Lᵀ (the noise is one), S = LᵀPL + I and w = L⁻¹Hᵀ(r + H y), a step of the iterated Kalman filter is
//! y⁺ = P L u with u = S⁻¹w, which costs uᵀLᵀPL u of the prior. For the whole state δ = P_·y L u and P ← P − W Wᵀ with
//! W = P_·y L C⁻ᵀ, S = C Cᵀ.

use crate::joint::Joint;
use crate::sight::{ByPose, NUMBERS, Sight};
use crate::square::Solutions;
use lienav_inertial::filter::Filter;
use lienav_inertial::state::State;
use lienav_lie::Se3;
use nalgebra::{Matrix3, Matrix6, SVector, Vector6};

/// A local maximum of the posterior.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Posterior {
    /// The six numbers.
    pub y: Vector6<f64>,
    /// |y|² in units of the prior plus |residual|² in units of the noise: χ² of 8 degrees of freedom.
    pub cost: f64,
    /// L.
    factor: Matrix6<f64>,
    /// C.
    spread: Matrix6<f64>,
    /// u.
    u: Vector6<f64>,
}

impl Posterior {
    /// L u: what a posterior of these numbers does to others is their covariance with them times this.
    pub fn weights(&self) -> Vector6<f64> {
        self.factor * self.u
    }

    /// L S⁻¹Lᵀ, by which it lessens the covariance.
    pub fn information(&self) -> Option<Matrix6<f64>> {
        let half = self.spread.solve_lower_triangular(&self.factor.transpose())?;
        Some(half.tr_mul(&half))
    }
}

/// Iterates from these numbers; `None` where the tag is not imaged, or nothing is found.
pub fn maximize(sight: &Sight, joint: &Joint, start: &Vector6<f64>) -> Option<Posterior> {
    iterate(joint, start, |pose| sight.see(pose))
}

/// The same by the place of the tag alone, which both poses of its corners have nearly in common: three numbers, with
/// the difference of the two in their noise. The cost is χ² of 3 degrees of freedom.
pub fn by_place(solutions: &Solutions, joint: &Joint) -> Option<Posterior> {
    let covariance = solutions.place_covariance()?;
    let whiten = covariance.cholesky()?.l().try_inverse()?;
    let see = |pose: &Se3| {
        let (mut residual, mut by_pose) = (SVector::<f64, NUMBERS>::zeros(), ByPose::zeros());
        let off = whiten * (solutions.best.pose.translation - pose.translation);
        residual.fixed_rows_mut::<3>(0).copy_from(&off);
        by_pose.fixed_view_mut::<3, 3>(0, 0).copy_from(&whiten);
        Some((residual, by_pose))
    };
    iterate(joint, &joint.mean, see)
}

fn iterate(
    joint: &Joint,
    start: &Vector6<f64>,
    see: impl Fn(&Se3) -> Option<(SVector<f64, NUMBERS>, ByPose)>,
) -> Option<Posterior> {
    const ITERATIONS: usize = 10;
    const CLOSE: f64 = 1e-3;
    /// What is not measured gets this part of the information, so that L exists.
    const LEAST: f64 = 1e-13;
    let mut y = *start;
    let mut best: Option<Posterior> = None;
    for _ in 0..ITERATIONS {
        let (pose, by_y) = joint.pose(&y);
        let (residual, by_pose) = see(&pose)?;
        let h = by_pose * by_y;
        let information = h.tr_mul(&h);
        let factor = (information + Matrix6::identity() * (LEAST * information.trace())).cholesky()?.l();
        let w = factor.solve_lower_triangular(&(h.tr_mul(&(residual + h * (y - joint.mean)))))?;
        let inner = factor.transpose() * joint.prior * factor;
        let spread = (inner + Matrix6::identity()).cholesky()?;
        let u = spread.solve(&w);
        let next = joint.mean + joint.prior * (factor * u);
        let (seen, _) = see(&joint.pose(&next).0)?;
        let cost = u.dot(&(inner * u)) + seen.norm_squared();
        let step = (factor.transpose() * (next - y)).norm();
        y = next;
        if !cost.is_finite() {
            return None;
        }
        let found = Posterior { y, cost, factor, spread: spread.l(), u };
        if best.is_none_or(|best| found.cost <= best.cost + CLOSE) {
            best = Some(found);
        }
        if step < CLOSE {
            break;
        }
    }
    best
}

/// Buffers of an update.
#[derive(Clone, Debug, Default)]
pub struct Columns {
    selected: Vec<f64>,
    more: Vec<f64>,
    w: Vec<f64>,
    delta: Vec<f64>,
    blocks: Vec<Matrix3<f64>>,
}

impl Columns {
    /// Room for states of so many rows.
    pub fn reserve(&mut self, rows: usize) {
        self.selected.reserve(6 * rows);
        self.more.reserve(6 * rows);
        self.w.reserve(6 * rows);
        self.delta.reserve(rows);
        self.blocks.reserve(rows / 3);
    }

    /// Takes a posterior in.
    pub fn apply(&mut self, state: &mut State, joint: &Joint, found: &Posterior, filter: &Filter) {
        let n = state.covariance.dim();
        joint.numbers.columns(&state.covariance, &mut self.more, &mut self.selected);
        let by = found.factor * found.u;
        let Some(inverse) = found.spread.transpose().try_inverse() else { return };
        let gain = found.factor * inverse;
        self.delta.clear();
        self.delta.resize(n, 0.0);
        self.w.clear();
        self.w.resize(6 * n, 0.0);
        for (k, column) in self.selected.chunks_exact(n).enumerate() {
            self.delta.iter_mut().zip(column).for_each(|(d, p)| *d += p * by[k]);
            for (c, out) in self.w.chunks_exact_mut(n).enumerate() {
                out.iter_mut().zip(column).for_each(|(x, p)| *x += p * gain[(k, c)]);
            }
        }
        state.covariance.subtract_outer(&self.w);
        state.boxplus(&self.delta, filter, &mut self.blocks);
    }
}
