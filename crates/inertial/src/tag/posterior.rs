//! The maximum a posteriori of six numbers by the corners of one tag, and the update of a state by it.
//!
//! With M = HᵀH = L Lᵀ (the noise is one), S = LᵀPL + I and w = L⁻¹Hᵀ(r + H y), a step of the iterated Kalman filter is
//! y⁺ = P L u with u = S⁻¹w, which costs uᵀLᵀPL u of the prior. For the whole state δ = P_·y L u and P ← P − W Wᵀ with
//! W = P_·y L C⁻ᵀ, S = C Cᵀ.

use super::joint::Joint;
use super::sight::Sight;
use crate::filter::Filter;
use crate::state::State;
use nalgebra::{Matrix3, Matrix6, Vector6};

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

/// Iterates from these numbers; `None` where the tag is not imaged, or nothing is found.
pub fn maximize(sight: &Sight, joint: &Joint, start: &Vector6<f64>) -> Option<Posterior> {
    const ITERATIONS: usize = 10;
    const CLOSE: f64 = 1e-3;
    let mut y = *start;
    let mut best: Option<Posterior> = None;
    for _ in 0..ITERATIONS {
        let (pose, by_y) = joint.pose(&y);
        let (residual, by_pose) = sight.see(&pose)?;
        let h = by_pose * by_y;
        let factor = h.tr_mul(&h).cholesky()?.l();
        let w = factor.solve_lower_triangular(&(h.tr_mul(&(residual + h * y))))?;
        let inner = factor.transpose() * joint.prior * factor;
        let spread = (inner + Matrix6::identity()).cholesky()?;
        let u = spread.solve(&w);
        let next = joint.prior * (factor * u);
        let (seen, _) = sight.see(&joint.pose(&next).0)?;
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
    w: Vec<f64>,
    delta: Vec<f64>,
    blocks: Vec<Matrix3<f64>>,
}

impl Columns {
    /// Room for states of so many rows.
    pub fn reserve(&mut self, rows: usize) {
        self.selected.reserve(6 * rows);
        self.w.reserve(6 * rows);
        self.delta.reserve(rows);
        self.blocks.reserve(rows / 3);
    }

    /// Takes a posterior in.
    pub fn apply(&mut self, state: &mut State, joint: &Joint, found: &Posterior, filter: &Filter) {
        let n = state.covariance.dim();
        state.covariance.copy_columns(&joint.rows.map(|row| (row, 1.0)), &mut self.selected);
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
