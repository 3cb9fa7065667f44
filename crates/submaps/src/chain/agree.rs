//! The correction with which the closed submaps and a new one have the landmarks that both know in the same places.

use super::{AGREED, Corrected, ITERATIONS, Joint, SETTLED, Seen, Shared};
use crate::common::{ALIKE, lever};
use crate::near::Near;
use crate::sparse::dense::factor;
use crate::submap::Gaussian;
use lienav_slam::kernel::{self, add_columns};
use nalgebra::{DMatrix, DVector, Matrix2, Matrix2x3};

/// What the difference of a landmark that both know depends on, and where that is in a covariance.
struct Derivatives {
    /// Rows of the landmark in the closed submaps, and in the new one.
    rows: [usize; 2],
    /// On β; `None` of a landmark that is seen from the base.
    by_base: Option<Matrix2x3<f64>>,
    by_own: Matrix2<f64>,
    /// On ξ.
    by_pose: Matrix2x3<f64>,
    /// On e.
    by_new: Matrix2<f64>,
}

impl Derivatives {
    /// Cov(all, d) in the two columns `into`, where `prior` has that of all, in which ξ begins at row `pose`.
    fn crossed(&self, prior: &DMatrix<f64>, pose: usize, into: &mut [f64]) {
        let n = prior.nrows();
        let column = |j: usize| &prior.as_slice()[j * n..(j + 1) * n];
        let [own, new] = self.rows;
        for (r, into) in into.chunks_exact_mut(n).enumerate() {
            into.fill(0.0);
            add_columns(into, &[(column(own), self.by_own[(r, 0)]), (column(own + 1), self.by_own[(r, 1)])]);
            if let Some(by_base) = &self.by_base {
                add_columns(into, &[0, 1, 2].map(|k| (column(k), by_base[(r, k)])));
            }
            add_columns(into, &[0, 1].map(|k| (column(new + k), -self.by_new[(r, k)])));
            add_columns(into, &[0, 1, 2].map(|k| (column(pose + k), -self.by_pose[(r, k)])));
        }
    }

    /// Cov(d, d_k) of number `r` of this difference, where `with` has Cov(all, d_k).
    fn spread(&self, with: &[f64], pose: usize, r: usize) -> f64 {
        let [own, new] = self.rows;
        let of_two = |m: &Matrix2<f64>, at: usize| m[(r, 0)] * with[at] + m[(r, 1)] * with[at + 1];
        let of_three =
            |m: &Matrix2x3<f64>, at: usize| m[(r, 0)] * with[at] + m[(r, 1)] * with[at + 1] + m[(r, 2)] * with[at + 2];
        let of_base = self.by_base.as_ref().map_or(0.0, |by_base| of_three(by_base, 0));
        (of_base + of_two(&self.by_own, own)) - (of_three(&self.by_pose, pose) + of_two(&self.by_new, new))
    }
}

/// Both base and end, and the landmarks that both know: all that a correction of these depends on.
struct Core<'a> {
    /// Their rows among all: of the base, of landmarks of the closed submaps, of the end, and of those of the new one.
    rows: Vec<usize>,
    /// Of these rows; `None` where they are all there are, in this order.
    covariance: Option<DMatrix<f64>>,
    joint: &'a Joint,
}

impl<'a> Core<'a> {
    fn new(joint: &'a Joint, mine: usize, shared: &[Shared]) -> Self {
        let old = shared.iter().flat_map(|both| [both.row, both.row + 1]);
        let new = shared.iter().flat_map(|both| [both.new_row, both.new_row + 1]);
        let rows: Vec<usize> = (0..3).chain(old).chain(mine..mine + 3).chain(new).collect();
        let all = &joint.covariance;
        let is_all = rows.len() == all.nrows() && rows.iter().enumerate().all(|(k, row)| k == *row);
        let covariance = (!is_all).then(|| {
            let mut values = Vec::with_capacity(rows.len() * rows.len());
            for column in &rows {
                let column = &all.as_slice()[column * all.nrows()..][..all.nrows()];
                values.extend(rows.iter().map(|row| column[*row]));
            }
            DMatrix::from_vec(rows.len(), rows.len(), values)
        });
        Self { rows, covariance, joint }
    }

    fn covariance(&self) -> &DMatrix<f64> {
        self.covariance.as_ref().unwrap_or(&self.joint.covariance)
    }

    /// Where the rows of shared landmark `k` are in it.
    fn rows_of(&self, k: usize) -> [usize; 2] {
        [3 + 2 * k, self.pose() + 3 + 2 * k]
    }

    /// Where ξ is in it.
    fn pose(&self) -> usize {
        self.rows.len() / 2
    }
}

/// Cov(all, d) of all differences.
fn crossed(prior: &DMatrix<f64>, pose: usize, derivatives: &[Derivatives]) -> DMatrix<f64> {
    let n = prior.nrows();
    let mut crossed = DMatrix::zeros(n, 2 * derivatives.len());
    for (own, columns) in derivatives.iter().zip(crossed.as_mut_slice().chunks_exact_mut(2 * n)) {
        own.crossed(prior, pose, columns);
    }
    crossed
}

/// The lower triangle of the covariance of all differences, where `crossed` has that with all.
fn spread(crossed: &DMatrix<f64>, pose: usize, derivatives: &[Derivatives]) -> DMatrix<f64> {
    let (n, rows) = crossed.shape();
    let mut spread = DMatrix::zeros(rows, rows);
    for (j, with) in crossed.as_slice().chunks_exact(n).enumerate() {
        for (k, own) in derivatives.iter().enumerate().skip(j / 2) {
            (0..2).for_each(|r| spread[(2 * k + r, j)] = own.spread(with, pose, r));
        }
    }
    spread
}

/// −Cd of the columns `crossed`, C.
fn corrected(crossed: &DMatrix<f64>, weights: &DVector<f64>) -> DVector<f64> {
    let mut sum = DVector::zeros(crossed.nrows());
    let columns = crossed.as_slice().chunks_exact(crossed.nrows());
    add_columns(sum.as_mut_slice(), &columns.zip(weights.iter().copied()).collect::<Vec<_>>());
    -sum
}

impl Near {
    /// The correction with which both agree, and Cov(all, d) L⁻ᵀ there: of d, the differences, with S = LLᵀ. What
    /// depends on the correction and is not corrected itself, landmarks of one side, is computed at the end only.
    pub(super) fn agree(
        &self,
        submap: &Gaussian,
        shared: &[Shared],
        joint: &Joint,
    ) -> Option<(Corrected, DMatrix<f64>)> {
        let (mine, all) = (self.covariance.nrows(), joint.covariance.nrows());
        let core = Core::new(joint, mine, shared);
        let mut at = Corrected::new(DVector::zeros(all), mine);
        for iteration in 1.. {
            // d is the landmark of the closed submaps less that of the new one.
            let turn = at.turned.rotation();
            let mut difference = DVector::zeros(2 * shared.len());
            let mut derivatives = Vec::with_capacity(shared.len());
            for (k, both) in shared.iter().enumerate() {
                let Seen { place, by_base, by_own } = self.seen(both.old, &at);
                let p = at.turned.transform(&(submap.places[both.new] + at.of_two(both.new_row)));
                let by_pose = lever(&p) * at.by_pose;
                let d = place - p;
                let of_near = by_base * at.all.fixed_rows::<3>(0) + by_own * at.of_two(both.row);
                let of_submap = by_pose * at.all.fixed_rows::<3>(mine) + turn * at.of_two(both.new_row);
                difference.fixed_rows_mut::<2>(2 * k).copy_from(&(d - of_near + of_submap));
                let by_base = self.is_in_map[both.old].then_some(by_base);
                derivatives.push(Derivatives { rows: core.rows_of(k), by_base, by_own, by_pose, by_new: turn });
            }
            let mut of_core = crossed(core.covariance(), core.pose(), &derivatives);
            let mut spread = spread(&of_core, core.pose(), &derivatives);
            for (k, both) in shared.iter().enumerate().filter(|(_, both)| self.is_coupled(joint, both)) {
                let first = 3 + 2 * both.new;
                let seen: Matrix2<f64> = submap.covariance.fixed_view::<2, 2>(first, first).into();
                let mut own = spread.fixed_view_mut::<2, 2>(2 * k, 2 * k);
                own += seen * ALIKE;
            }
            let rows = spread.nrows();
            factor(spread.as_mut_slice(), rows, 0..rows, rows, &mut Vec::new()).ok()?;
            spread.solve_lower_triangular_mut(&mut difference).then_some(())?;
            spread.tr_solve_lower_triangular_mut(&mut difference).then_some(())?;
            let mut next = DVector::zeros(all);
            core.rows.iter().zip(&corrected(&of_core, &difference)).for_each(|(row, value)| next[*row] = *value);
            let next = Corrected::new(next, mine);
            // What both know from the same measurements keeps a difference, for it counts as uncertain by a little: of
            // that, base and end have to stay where they are.
            let settled = |k: usize| (next.all[k] - at.all[k]).powi(2) <= SETTLED * joint.covariance[(k, k)];
            let is_settled = joint.coupled.is_empty() || (0..3).chain(mine..mine + 3).all(settled);
            at = next;
            let mut untied = shared.iter().filter(|both| !self.is_coupled(joint, both));
            if iteration == ITERATIONS || (is_settled && untied.all(|both| self.is_agreed(submap, both, &at))) {
                if core.covariance.is_some() {
                    derivatives.iter_mut().zip(shared).for_each(|(own, both)| own.rows = [both.row, both.new_row]);
                    of_core = crossed(&joint.covariance, mine, &derivatives);
                    at.all = corrected(&of_core, &difference);
                }
                return Some((at, whitened(of_core, &spread)));
            }
        }
        None
    }

    /// Whether the new submap was begun with a landmark.
    fn is_coupled(&self, joint: &Joint, both: &Shared) -> bool {
        joint.coupled.contains(&self.landmarks[both.old])
    }

    /// Whether both have a landmark in the same place.
    fn is_agreed(&self, submap: &Gaussian, both: &Shared, at: &Corrected) -> bool {
        let p = at.turned.transform(&(submap.places[both.new] + at.of_two(both.new_row)));
        let d = self.seen(both.old, at).place - p;
        let own = 3 + 2 * both.new;
        let noise: Matrix2<f64> = submap.covariance.fixed_view::<2, 2>(own, own).into_owned();
        noise.try_inverse().is_some_and(|inverse| d.dot(&(inverse * d)) <= AGREED)
    }
}

/// CL⁻ᵀ of the columns `crossed`, C.
fn whitened(mut crossed: DMatrix<f64>, root: &DMatrix<f64>) -> DMatrix<f64> {
    let (all, rows) = crossed.shape();
    kernel::solve_lower(crossed.as_mut_slice(), all, root.transpose().as_slice(), rows);
    crossed
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Cov(all, d) and Cov(d) are H P and H P Hᵀ, with H of all differences.
    #[test]
    fn covariances_are_those_of_the_jacobian() {
        let (n, pose) = (14, 7);
        let root = DMatrix::from_fn(n, n, |i, j| ((3 * i + 5 * j * j) as f64).sin());
        let prior = &root * root.transpose();
        let derivatives: Vec<Derivatives> = (0..2)
            .map(|k| {
                let own = |i: usize| ((i + 10 * k) as f64).cos();
                Derivatives {
                    rows: [3 + 2 * k, pose + 3 + 2 * k],
                    by_base: (k == 1).then(|| Matrix2x3::from_fn(|i, j| own(i + 2 * j))),
                    by_own: Matrix2::from_fn(|i, j| own(7 + i + 2 * j)),
                    by_pose: Matrix2x3::from_fn(|i, j| own(20 + i + 2 * j)),
                    by_new: Matrix2::from_fn(|i, j| own(30 + i + 2 * j)),
                }
            })
            .collect();
        let mut jacobian = DMatrix::zeros(4, n);
        for (k, own) in derivatives.iter().enumerate() {
            let mut rows = jacobian.fixed_rows_mut::<2>(2 * k);
            rows.fixed_columns_mut::<3>(0).copy_from(&own.by_base.unwrap_or_default());
            rows.fixed_columns_mut::<2>(own.rows[0]).copy_from(&own.by_own);
            rows.fixed_columns_mut::<3>(pose).copy_from(&-own.by_pose);
            rows.fixed_columns_mut::<2>(own.rows[1]).copy_from(&-own.by_new);
        }
        let with_all = crossed(&prior, pose, &derivatives);
        assert!((&with_all - &prior * jacobian.transpose()).amax() < 1e-12 * prior.amax());
        let own = spread(&with_all, pose, &derivatives);
        let expected = (&jacobian * &prior * jacobian.transpose()).lower_triangle();
        assert!((own.lower_triangle() - expected).amax() < 1e-12 * prior.amax());
        let weights = DVector::from_fn(4, |i, _| 0.5 - i as f64);
        assert!((corrected(&with_all, &weights) + with_all * weights).amax() < 1e-12 * prior.amax());
    }
}
