//! Where a landmark is, given where others are.
//!
//! The errors of a map that was made by a robot are hardly those of single landmarks: what is far from the start is off
//! by metres, and all that stands there is so alike. A joint covariance of all says that, and is for some thousand
//! landmarks at most. Of a larger map the covariances of near landmarks are known, and the place of a landmark k
//! *given* those of some near it (Vecchia 1988): with K these,
//!
//! ```math
//! \delta p_k = A\,\delta p_K + w, \quad A = \Sigma_{kK}\Sigma_{KK}^{-1}, \quad \mathrm{Cov}(w) = \Sigma_{kk} - A\,\Sigma_{Kk}
//! ```
//!
//! and w is independent of all that came before k. The covariance that comes of it is one, whichever pairs are known;
//! it is that of the map where the others say nothing of k that K does not say.

use super::{MapLandmark, NearCovariances};
use nalgebra::{Matrix2, SMatrix, SVector};

/// So many are looked at.
const LOOKED_AT: usize = 64;
/// What rounding adds to a variance, as a share of it: landmarks may stand still beside each other.
const ROUNDING: f64 = 1e-9;

/// A landmark that depends on others: δp = Σ A_i δp_i + w.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Conditional {
    sources: [(usize, Matrix2<f64>); MOST],
    count: usize,
    /// Cov(w), m².
    pub rest: Matrix2<f64>,
}

const MOST: usize = Conditional::MOST;

impl Conditional {
    /// So many others at most.
    pub const MOST: usize = 6;

    /// Landmark `k` given those of which `is_given` says that they are known, by their place in `landmarks`: of these
    /// the ones that it differs least from, at most six, the covariance of each with each known. `None` if there is
    /// none.
    pub fn new(
        landmarks: &[impl AsRef<MapLandmark>],
        near: &NearCovariances,
        k: usize,
        is_given: impl Fn(usize) -> bool,
    ) -> Option<Self> {
        let covariance = |place: usize| &landmarks[place].as_ref().covariance;
        let (chosen, count) = chosen(near, k, covariance, is_given);
        let chosen = &chosen[..count];
        if chosen.is_empty() {
            return None;
        }
        let mut joint = SMatrix::<f64, { 2 * MOST }, { 2 * MOST }>::identity();
        let mut crossed = SMatrix::<f64, 2, { 2 * MOST }>::zeros();
        for (a, one) in chosen.iter().enumerate() {
            crossed.fixed_view_mut::<2, 2>(0, 2 * a).copy_from(near.of(k, *one)?);
            for (b, other) in chosen.iter().enumerate() {
                let block = match a == b {
                    true => covariance(*one) + Matrix2::identity() * (ROUNDING * covariance(*one).trace()),
                    false => *near.of(*one, *other)?,
                };
                joint.fixed_view_mut::<2, 2>(2 * a, 2 * b).copy_from(&block);
            }
        }
        let factors = joint.cholesky()?.solve(&crossed.transpose()).transpose();
        let rest = positive(&(covariance(k) - factors * crossed.transpose()));
        let mut conditional = Self { sources: [(0, Matrix2::zeros()); MOST], count: chosen.len(), rest };
        for (a, (source, one)) in conditional.sources.iter_mut().zip(chosen).enumerate() {
            *source = (*one, factors.fixed_view::<2, 2>(0, 2 * a).into_owned());
        }
        Some(conditional)
    }

    /// The others, by their place, and A of each.
    pub fn sources(&self) -> &[(usize, Matrix2<f64>)] {
        &self.sources[..self.count]
    }
}

/// Landmarks that are known, and say most of where landmark `k` is: those of which it differs least.
fn chosen<'a>(
    near: &NearCovariances,
    k: usize,
    covariance: impl Fn(usize) -> &'a Matrix2<f64>,
    is_given: impl Fn(usize) -> bool,
) -> ([usize; MOST], usize) {
    let mut found = [(f64::INFINITY, 0); LOOKED_AT];
    let mut count = 0;
    for (place, crossed) in near.around(k).iter().map(|(place, crossed)| (*place as usize, crossed)) {
        if count < LOOKED_AT && is_given(place) {
            let apart = (covariance(k) + covariance(place)).trace() - 2.0 * crossed.trace();
            found[count] = (apart, place);
            count += 1;
        }
    }
    let found = &mut found[..count];
    found.sort_unstable_by(|(a, i), (b, j)| a.total_cmp(b).then(i.cmp(j)));
    let (mut chosen, mut length) = ([0; MOST], 0);
    for (_, place) in found {
        let are_known = chosen[..length].iter().all(|other| near.of(*place, *other).is_some());
        if are_known && length < MOST {
            chosen[length] = *place;
            length += 1;
        }
    }
    (chosen, length)
}

/// The nearest covariance that is positive semidefinite.
fn positive(matrix: &Matrix2<f64>) -> Matrix2<f64> {
    let mut parts = (0.5 * (matrix + matrix.transpose())).symmetric_eigen();
    parts.eigenvalues = SVector::from_fn(|i, _| parts.eigenvalues[i].max(0.0));
    parts.recompose()
}

#[cfg(test)]
mod tests {
    use super::*;
    use nalgebra::{DMatrix, Vector2};

    /// Landmarks of a row, each off by what the one before is, and by something of its own: given the one before,
    /// nothing else says where it is.
    #[test]
    fn what_comes_of_conditionals_is_the_joint_covariance() {
        let n = 9;
        let own = |k: usize| Matrix2::new(0.02 + 0.01 * (k % 3) as f64, 0.004, 0.004, 0.03);
        let turn = |k: usize| Matrix2::new(1.0, 0.05 * (k % 4) as f64, -0.04, 0.98);
        let mut joint = DMatrix::zeros(2 * n, 2 * n);
        for k in 0..n {
            let mut block = own(k);
            if k > 0 {
                let before: Matrix2<f64> = joint.fixed_view::<2, 2>(2 * k - 2, 2 * k - 2).into_owned();
                block += turn(k) * before * turn(k).transpose();
                for j in 0..2 * k {
                    let column = turn(k) * Vector2::new(joint[(2 * k - 2, j)], joint[(2 * k - 1, j)]);
                    (joint[(2 * k, j)], joint[(2 * k + 1, j)]) = (column.x, column.y);
                    (joint[(j, 2 * k)], joint[(j, 2 * k + 1)]) = (column.x, column.y);
                }
            }
            joint.fixed_view_mut::<2, 2>(2 * k, 2 * k).copy_from(&block);
        }
        let block = |i: usize, j: usize| joint.fixed_view::<2, 2>(2 * i, 2 * j).into_owned();
        let landmark = |k: usize| MapLandmark {
            id: k as u32,
            class: 0,
            position: Vector2::new(k as f64, 0.0),
            covariance: block(k, k),
        };
        let landmarks: Vec<MapLandmark> = (0..n).map(landmark).collect();
        // Pairs of neighbours and of those behind them.
        let pairs = (0..n).flat_map(|i| (i + 1..n.min(i + 3)).map(move |j| (i as u32, j as u32, block(i, j))));
        let near = NearCovariances::new(n, pairs);
        assert_eq!(Conditional::new(&landmarks, &near, 0, |_| false), None);
        let mut made = DMatrix::zeros(2 * n, 2 * n);
        made.fixed_view_mut::<2, 2>(0, 0).copy_from(&block(0, 0));
        for k in 1..n {
            let given = Conditional::new(&landmarks, &near, k, |place| place < k).unwrap();
            let mut rows = DMatrix::zeros(2, 2 * n);
            for (place, factor) in given.sources() {
                rows += factor * made.rows(2 * place, 2);
            }
            let mut own = given.rest;
            for (place, factor) in given.sources() {
                own += rows.fixed_view::<2, 2>(0, 2 * place) * factor.transpose();
            }
            made.rows_mut(2 * k, 2).copy_from(&rows);
            made.columns_mut(2 * k, 2).copy_from(&rows.transpose());
            made.fixed_view_mut::<2, 2>(2 * k, 2 * k).copy_from(&own);
        }
        assert!((made - &joint).amax() < 1e-6 * joint.amax());
    }
}
