//! The differences between landmarks that the open submap and the closed ones know, their joint covariance with the
//! error of the pose, and what follows for the pose.
//!
//! With u⁺ = (q, β) the errors of the closed submaps and v⁺ = (p, −ξ) those of the open one, the errors of the
//! differences and of the pose are u⁺ − v⁺ = (d, β + ξ), and
//!
//! ```math
//! \mathrm{Cov}(u^+ - v^+) = C^+ + V^+ - X - X^T, \quad X = \mathrm{Cov}(u^+, v^+) = P_{C,\cdot K}\, \Pi^{-1} V^+_{K\cdot}
//! ```
//!
//! Below it stands (d̂, 0). Elimination of d leaves the covariance of the pose given the differences, and below it its
//! mean. [`Near::spread`] has the same covariance, one block at a time.

use super::common::{ALIKE, Coupled};
use super::near::{Near, Shared};
use super::sparse::dense::factor;
use lienav_slam::LocalMap;
use lienav_slam::kernel::subtract_product;
use nalgebra::{Matrix2, Matrix3, Vector2, Vector3};

/// Numbers in a vector of most machines, or of two.
const LANES: usize = 8;

/// Buffers. Matrices are column by column.
#[derive(Clone, Debug, Default)]
pub struct Differences {
    /// Of each shared landmark, the first column of `with_coupled` that is its own; `None` of one that the tie has not.
    columns: Vec<Option<usize>>,
    /// P_C Π⁻¹ of the rows of u⁺, and behind it V⁺ of the columns of the tie.
    left: Vec<f64>,
    /// The two the other way round: X + Xᵀ is the product of both.
    right: Vec<f64>,
    /// The lower triangle of Cov(u⁺ − v⁺), and (d̂, 0) below it.
    front: Vec<f64>,
    strip: Vec<f64>,
    /// Landmarks that both know.
    count: usize,
}

impl Differences {
    /// Those of `shared`.
    pub fn gather(&mut self, near: &Near, local: &LocalMap<'_>, coupled: &Coupled<'_>, shared: &[Shared]) {
        self.count = shared.len();
        let (rows, stride, couplings) = (2 * self.count + 3, self.stride(), 2 * coupled.landmarks.len());
        // What was there before is overwritten, but above the diagonal, where nothing is read.
        self.front.resize(stride * stride, 0.0);
        self.front.chunks_exact_mut(stride).for_each(|column| column[rows..].fill(0.0));
        self.right.resize(stride * couplings, 0.0);
        self.right.chunks_exact_mut(stride).for_each(|column| column[rows..].fill(0.0));
        let of_coupling =
            |shared: &Shared| coupled.landmarks.iter().position(|coupled| coupled.here == shared.open.here);
        self.columns.clear();
        self.columns.extend(shared.iter().map(|shared| of_coupling(shared).map(|k| 2 * k)));
        self.gather_pairs(near, local, shared);
        self.gather_pose(near, local, shared);
        if couplings > 0 {
            self.gather_coupled(local, coupled, shared);
            coupled.gains(shared.iter().map(|shared| shared.row), stride, &mut self.left);
            self.right.extend_from_slice(&self.left);
            let (with_coupled, _) = self.right.split_at(stride * couplings);
            self.left.extend_from_slice(with_coupled);
            subtract_product(&mut self.front, stride, (stride, rows), (&self.left, &self.right), 2 * couplings);
        }
    }

    /// C⁺ + V⁺ of the shared landmarks, and the latter in the columns of the tie.
    fn gather_pairs(&mut self, near: &Near, local: &LocalMap<'_>, shared: &[Shared]) {
        let (stride, of_closed) = (self.stride(), near.covariance.nrows());
        for (k, of_column) in shared.iter().enumerate() {
            let (x, y) = self.front[2 * k * stride..][..2 * stride].split_at_mut(stride);
            let closed = &near.covariance.as_slice()[of_column.row * of_closed..][..2 * of_closed];
            let (closed_x, closed_y) = closed.split_at(of_closed);
            for (i, of_row) in shared.iter().enumerate().skip(k) {
                let own = of_row.open.with(local, &of_column.open);
                for r in 0..2 {
                    x[2 * i + r] = closed_x[of_row.row + r] + own[(r, 0)];
                    y[2 * i + r] = closed_y[of_row.row + r] + own[(r, 1)];
                }
                if let Some(column) = self.columns[i] {
                    put(&mut self.right[column * stride + 2 * k..], stride, &own.transpose());
                }
                if let Some(column) = self.columns[k] {
                    put(&mut self.right[column * stride + 2 * i..], stride, &own);
                    if i == k {
                        x[2 * k] += ALIKE * own[(0, 0)];
                        x[2 * k + 1] += ALIKE * own[(1, 0)];
                        y[2 * k + 1] += ALIKE * own[(1, 1)];
                    }
                }
            }
        }
    }

    /// The same of the pose, and below it the differences.
    fn gather_pose(&mut self, near: &Near, local: &LocalMap<'_>, shared: &[Shared]) {
        let (rows, stride) = (2 * self.count + 3, self.stride());
        let columns = self.front.chunks_exact_mut(2 * stride);
        for (shared, columns) in shared.iter().zip(columns) {
            for (c, column) in columns.chunks_exact_mut(stride).enumerate() {
                for r in 0..3 {
                    column[rows - 3 + r] = near.covariance[(shared.row + c, r)] - shared.open.whole_with_pose[(c, r)];
                }
                column[rows] = shared.difference[c];
            }
        }
        let of_pose = local.of_pose();
        for c in 0..3 {
            for r in c..3 {
                self.front[(rows - 3 + c) * stride + rows - 3 + r] = near.covariance[(r, c)] + of_pose[(r, c)];
            }
        }
    }

    /// V⁺ in the columns of the tie: of its landmarks that are not shared, and of the pose.
    fn gather_coupled(&mut self, local: &LocalMap<'_>, coupled: &Coupled<'_>, shared: &[Shared]) {
        let (rows, stride) = (2 * self.count + 3, self.stride());
        for (landmark, columns) in coupled.landmarks.iter().zip(self.right.chunks_exact_mut(2 * stride)) {
            if !shared.iter().any(|shared| shared.open.here == landmark.here) {
                for (i, shared) in shared.iter().enumerate() {
                    put(&mut columns[2 * i..], stride, &landmark.with(local, &shared.open).transpose());
                }
            }
            for (c, column) in columns.chunks_exact_mut(stride).enumerate() {
                (0..3).for_each(|r| column[rows - 3 + r] = -landmark.whole_with_pose[(c, r)]);
            }
        }
    }

    /// Rows of the front: of the differences, of the pose, and the one below; and zeros, to fill vectors.
    fn stride(&self) -> usize {
        (2 * self.count + 4).next_multiple_of(LANES)
    }

    /// Cov(d_i, d_k), k ≤ i.
    #[cfg(test)]
    pub fn spread(&self, i: usize, k: usize) -> Matrix2<f64> {
        Matrix2::from_fn(|r, c| {
            let (row, column) = ((2 * i + r).max(2 * k + c), (2 * i + r).min(2 * k + c));
            self.front[column * self.stride() + row]
        })
    }

    /// dᵀ S⁻¹ d of one difference; `None` where its covariance is none.
    pub fn distance(&self, k: usize) -> Option<f64> {
        let at = |r: usize, c: usize| self.front[(2 * k + c) * self.stride() + 2 * k + r];
        let d = Vector2::new(at(2 * (self.count - k) + 3, 0), at(2 * (self.count - k) + 3, 1));
        let spread = Matrix2::new(at(0, 0), at(1, 0), at(1, 0), at(1, 1));
        spread.cholesky().map(|root| d.dot(&root.solve(&d)))
    }

    /// Whether [`Self::distance`] is there and no more than `most`.
    pub fn is_within(&self, k: usize, most: f64) -> bool {
        let at = |r: usize, c: usize| self.front[(2 * k + c) * self.stride() + 2 * k + r];
        let below = 2 * (self.count - k) + 3;
        let (a, b, c, x, y) = (at(0, 0), at(1, 0), at(1, 1), at(below, 0), at(below, 1));
        // By the determinant, where that is as sure as the factor: a tenth is more than both may differ by.
        let (determinant, square) = (a * c - b * b, c * x * x - 2.0 * b * x * y + a * y * y);
        if a > 0.0 && determinant > 1e-6 * a * c && square < 0.9 * most * determinant {
            return true;
        }
        self.distance(k).is_some_and(|distance| distance <= most)
    }

    /// Cov(β + ξ), of the differences or not.
    pub fn of_pose(&self) -> Matrix3<f64> {
        let first = 2 * self.count;
        Matrix3::from_fn(|r, c| self.front[(first + r.min(c)) * self.stride() + first + r.max(c)])
    }

    /// Eliminates the differences: the mean of β + ξ given them. [`Self::of_pose`] is its covariance from then on.
    /// `None` without differences, or where their covariance has no factor.
    pub fn eliminate(&mut self) -> Option<Vector3<f64>> {
        let (n, stride) = (2 * self.count, self.stride());
        if n == 0 {
            return None;
        }
        factor(&mut self.front, stride, 0..n, n + 3, &mut self.strip).ok()?;
        Some(Vector3::from_fn(|r, _| self.front[(n + r) * stride + n + 3]))
    }
}

/// Writes a block where two columns of `rows` begin.
fn put(columns: &mut [f64], rows: usize, block: &Matrix2<f64>) {
    columns[..2].copy_from_slice(&block.as_slice()[..2]);
    columns[rows..rows + 2].copy_from_slice(&block.as_slice()[2..]);
}

#[cfg(test)]
pub use tests::check;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::common::Coupling;
    use nalgebra::{DMatrix, Matrix2x3, Matrix3x2};

    /// [`Near::spread`] of all pairs, the covariance of the pose, and what a solver for dense matrices makes of them.
    fn naive(
        near: &Near,
        local: &LocalMap<'_>,
        coupled: &Coupled<'_>,
        shared: &[Shared],
    ) -> (DMatrix<f64>, Vector3<f64>, Matrix3<f64>, Matrix3<f64>) {
        let n = 2 * shared.len();
        let meeting: Vec<Vec<Matrix2<f64>>> =
            shared.iter().map(|k| coupled.meeting(local, &k.open).collect()).collect();
        let (mut s, mut c) = (DMatrix::zeros(n, n), DMatrix::zeros(3, n));
        let d = DMatrix::from_fn(n, 1, |i, _| shared[i / 2].difference[i % 2]);
        for (i, of_row) in shared.iter().enumerate() {
            for (k, of_column) in shared.iter().enumerate() {
                let block = near.spread(local, coupled, (of_row, &meeting[i]), (of_column, &meeting[k]));
                s.fixed_view_mut::<2, 2>(2 * i, 2 * k).copy_from(&block);
            }
            let closed = near.covariance.fixed_view::<2, 3>(of_row.row, 0).into_owned();
            let with_base: Matrix3x2<f64> = coupled.crossed(0, |k| meeting[i][k]);
            let with_pose: Matrix2x3<f64> = coupled.crossed(of_row.row, |k| coupled.landmarks[k].whole_with_pose);
            let own = closed - of_row.open.whole_with_pose - with_base.transpose() + with_pose;
            c.fixed_columns_mut::<2>(2 * i).copy_from(&own.transpose());
        }
        let crossed: Matrix3<f64> = coupled.crossed(0, |k| coupled.landmarks[k].whole_with_pose);
        let sum = near.covariance.fixed_view::<3, 3>(0, 0) + local.of_pose() + crossed + crossed.transpose();
        let inverse = s.clone().cholesky().unwrap().inverse();
        let mean = -(&c * &inverse * d);
        let explained = &c * inverse * c.transpose();
        (s, Vector3::new(mean[0], mean[1], mean[2]), sum, sum - explained.fixed_view::<3, 3>(0, 0))
    }

    /// What [`Differences`] has is what the formulas say, one block at a time.
    pub fn check(near: &Near, local: &LocalMap<'_>, coupling: &Coupling, shared: &[Shared]) {
        let mut workspace = Vec::new();
        let coupled = coupling.with(local, &mut workspace);
        let mut fast = Differences::default();
        fast.gather(near, local, &coupled, shared);
        let (s, mean, sum, left) = naive(near, local, &coupled, shared);
        let scale = s.amax();
        for (i, of_row) in shared.iter().enumerate() {
            let own = s.fixed_view::<2, 2>(2 * i, 2 * i).into_owned();
            let d = of_row.difference;
            let distance = own.cholesky().map(|root| d.dot(&root.solve(&d))).unwrap();
            assert!((fast.distance(i).unwrap() - distance).abs() < 1e-6 * (1.0 + distance));
            for most in [0.5 * distance, distance, 2.0 * distance] {
                assert_eq!(fast.is_within(i, most), fast.distance(i).unwrap() <= most);
            }
            for k in 0..=i {
                let block = s.fixed_view::<2, 2>(2 * i, 2 * k).into_owned();
                assert!((fast.spread(i, k) - block).amax() < 1e-10 * scale, "{i} {k}");
            }
        }
        assert!((fast.of_pose() - sum).amax() < 1e-10 * sum.amax());
        assert!((fast.eliminate().unwrap() - mean).amax() < 1e-6 * (1e-3 + mean.amax()));
        assert!((fast.of_pose() - left).amax() < 1e-6 * sum.amax());
    }
}
