//! The differences between landmarks that the open part and the closed ones know, their joint covariance with the error
//! of the pose, and what follows for the pose.
//!
//! With u⁺ = (q, β) the errors of the closed parts and v⁺ = (p, −ξ) those of the open one, the errors of the differences
//! and of the pose are u⁺ − v⁺ = (d, β + ξ), and
//!
//! ```math
//! \mathrm{Cov}(u^+ - v^+) = C^+ + V^+ - X - X^T, \quad X = \mathrm{Cov}(u^+, v^+) = P_{C,\cdot K}\, \Pi^{-1} V^+_{K\cdot}
//! ```
//!
//! Below it stands (d̂, 0). Elimination of d leaves the covariance of the pose given the differences, and below it its
//! mean. [`Near::spread`] has the same covariance, one block at a time.

use super::common::{ALIKE, OpenLandmark, Tied};
use super::near::{Near, Shared};
use super::sparse::dense::factor;
use lienav_slam::LocalMap;
use nalgebra::{DMatrixView, DMatrixViewMut, Matrix2, Matrix3, Vector2, Vector3};

/// Buffers. Matrices are column by column.
#[derive(Clone, Debug, Default)]
pub struct Differences {
    /// The landmarks of the open part: the shared ones, and those of the tie that are not shared.
    landmarks: Vec<OpenLandmark>,
    /// Which of these the tie is through, in its order.
    tied: Vec<usize>,
    /// V⁺, all of it.
    open: Vec<f64>,
    /// P_C Π⁻¹ of the rows of u⁺.
    gains: Vec<f64>,
    /// V⁺ of the columns of the tie.
    with_tied: Vec<f64>,
    crossed: Vec<f64>,
    /// The lower triangle of Cov(u⁺ − v⁺), and (d̂, 0) below it.
    front: Vec<f64>,
    strip: Vec<f64>,
    /// Landmarks that both know.
    count: usize,
}

impl Differences {
    /// Those of `shared`.
    pub fn gather(&mut self, near: &Near, local: &LocalMap<'_>, tied: &Tied<'_>, shared: &[Shared]) {
        self.count = shared.len();
        self.gather_open(local, tied, shared);
        self.cross(tied, shared);
        let (rows, all) = (2 * self.count + 3, 2 * self.landmarks.len() + 3);
        let stride = rows + 1;
        self.front.clear();
        self.front.resize(stride * stride, 0.0);
        for (k, of_column) in shared.iter().enumerate() {
            for (i, of_row) in shared.iter().enumerate().skip(k) {
                let closed = near.covariance.fixed_view::<2, 2>(of_row.row, of_column.row);
                for c in 0..2 {
                    for r in 0..2 {
                        let own = self.open[(2 * k + c) * all + 2 * i + r];
                        self.front[(2 * k + c) * stride + 2 * i + r] = closed[(r, c)] + own;
                    }
                }
            }
            for c in 0..2 {
                for r in 0..3 {
                    let own = self.open[(2 * k + c) * all + all - 3 + r];
                    self.front[(2 * k + c) * stride + rows - 3 + r] = near.covariance[(of_column.row + c, r)] + own;
                }
                self.front[(2 * k + c) * stride + rows] = of_column.difference[c];
            }
        }
        for c in 0..3 {
            for r in c..3 {
                let own = self.open[(all - 3 + c) * all + all - 3 + r];
                self.front[(rows - 3 + c) * stride + rows - 3 + r] = near.covariance[(r, c)] + own;
            }
        }
        for at in self.tied.iter().filter(|at| **at < self.count) {
            for c in 0..2 {
                for r in c..2 {
                    let own = self.open[(2 * at + c) * all + 2 * at + r];
                    self.front[(2 * at + c) * stride + 2 * at + r] += ALIKE * own;
                }
            }
        }
        if !self.tied.is_empty() {
            for j in 0..rows {
                for i in j..rows {
                    self.front[j * stride + i] -= self.crossed[j * rows + i] + self.crossed[i * rows + j];
                }
            }
        }
    }

    /// V⁺ of the shared landmarks, of others of the tie, and of the pose.
    fn gather_open(&mut self, local: &LocalMap<'_>, tied: &Tied<'_>, shared: &[Shared]) {
        self.landmarks.clear();
        self.landmarks.extend(shared.iter().map(|shared| shared.open));
        self.tied.clear();
        for landmark in tied.landmarks {
            let known = self.landmarks.iter().position(|other| other.here == landmark.here);
            self.tied.push(known.unwrap_or(self.landmarks.len()));
            if known.is_none() {
                self.landmarks.push(*landmark);
            }
        }
        let rows = 2 * self.landmarks.len() + 3;
        self.open.clear();
        self.open.resize(rows * rows, 0.0);
        for (k, of_column) in self.landmarks.iter().enumerate() {
            for (i, of_row) in self.landmarks.iter().enumerate().skip(k) {
                let block = of_row.with(local, of_column);
                for (r, c) in [(0, 0), (1, 0), (0, 1), (1, 1)] {
                    self.open[(2 * k + c) * rows + 2 * i + r] = block[(r, c)];
                    self.open[(2 * i + r) * rows + 2 * k + c] = block[(r, c)];
                }
            }
            for r in 0..2 {
                for c in 0..3 {
                    let with_pose = -of_column.whole_with_pose[(r, c)];
                    self.open[(2 * k + r) * rows + rows - 3 + c] = with_pose;
                    self.open[(rows - 3 + c) * rows + 2 * k + r] = with_pose;
                }
            }
        }
        let of_pose = local.of_pose();
        for c in 0..3 {
            for r in 0..3 {
                self.open[(rows - 3 + c) * rows + rows - 3 + r] = of_pose[(r, c)];
            }
        }
    }

    /// X of the shared landmarks and the pose.
    fn cross(&mut self, tied: &Tied<'_>, shared: &[Shared]) {
        self.crossed.clear();
        if self.tied.is_empty() {
            return;
        }
        let (rows, ties) = (2 * self.count + 3, 2 * self.tied.len());
        let of_shared = shared.iter().flat_map(|shared| [shared.row, shared.row + 1]);
        tied.gains(of_shared.chain(0..3), &mut self.gains);
        let all = 2 * self.landmarks.len() + 3;
        self.with_tied.clear();
        for column in self.tied.iter().flat_map(|at| [2 * at, 2 * at + 1]) {
            let column = &self.open[column * all..(column + 1) * all];
            self.with_tied.extend_from_slice(&column[..2 * self.count]);
            self.with_tied.extend_from_slice(&column[all - 3..]);
        }
        self.crossed.resize(rows * rows, 0.0);
        let gains = DMatrixView::from_slice(&self.gains, rows, ties);
        let with_tied = DMatrixView::from_slice(&self.with_tied, rows, ties);
        DMatrixViewMut::from_slice(&mut self.crossed, rows, rows).gemm(1.0, &gains, &with_tied.transpose(), 0.0);
    }

    /// Rows of the front.
    fn stride(&self) -> usize {
        2 * self.count + 4
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
        let d = Vector2::new(at(self.stride() - 1 - 2 * k, 0), at(self.stride() - 1 - 2 * k, 1));
        let spread = Matrix2::new(at(0, 0), at(1, 0), at(1, 0), at(1, 1));
        spread.cholesky().map(|root| d.dot(&root.solve(&d)))
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
        factor(&mut self.front, stride, 0..n, stride, &mut self.strip).ok()?;
        Some(Vector3::from_fn(|r, _| self.front[(n + r) * stride + stride - 1]))
    }
}

#[cfg(test)]
pub use tests::check;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::common::Tie;
    use nalgebra::{DMatrix, Matrix2x3, Matrix3x2};

    /// [`Near::spread`] of all pairs, the covariance of the pose, and what a solver for dense matrices makes of them.
    fn naive(
        near: &Near,
        local: &LocalMap<'_>,
        tied: &Tied<'_>,
        shared: &[Shared],
    ) -> (DMatrix<f64>, Vector3<f64>, Matrix3<f64>, Matrix3<f64>) {
        let n = 2 * shared.len();
        let meeting: Vec<Vec<Matrix2<f64>>> = shared.iter().map(|k| tied.meeting(local, &k.open).collect()).collect();
        let (mut s, mut c) = (DMatrix::zeros(n, n), DMatrix::zeros(3, n));
        let d = DMatrix::from_fn(n, 1, |i, _| shared[i / 2].difference[i % 2]);
        for (i, of_row) in shared.iter().enumerate() {
            for (k, of_column) in shared.iter().enumerate() {
                let block = near.spread(local, tied, (of_row, &meeting[i]), (of_column, &meeting[k]));
                s.fixed_view_mut::<2, 2>(2 * i, 2 * k).copy_from(&block);
            }
            let closed = near.covariance.fixed_view::<2, 3>(of_row.row, 0).into_owned();
            let with_base: Matrix3x2<f64> = tied.crossed(0, |k| meeting[i][k]);
            let with_pose: Matrix2x3<f64> = tied.crossed(of_row.row, |k| tied.landmarks[k].whole_with_pose);
            let own = closed - of_row.open.whole_with_pose - with_base.transpose() + with_pose;
            c.fixed_columns_mut::<2>(2 * i).copy_from(&own.transpose());
        }
        let crossed: Matrix3<f64> = tied.crossed(0, |k| tied.landmarks[k].whole_with_pose);
        let sum = near.covariance.fixed_view::<3, 3>(0, 0) + local.of_pose() + crossed + crossed.transpose();
        let inverse = s.clone().cholesky().unwrap().inverse();
        let mean = -(&c * &inverse * d);
        let explained = &c * inverse * c.transpose();
        (s, Vector3::new(mean[0], mean[1], mean[2]), sum, sum - explained.fixed_view::<3, 3>(0, 0))
    }

    /// What [`Differences`] has is what the formulas say, one block at a time.
    pub fn check(near: &Near, local: &LocalMap<'_>, tie: &Tie, shared: &[Shared]) {
        let mut room = Vec::new();
        let tied = tie.with(local, &mut room);
        let mut fast = Differences::default();
        fast.gather(near, local, &tied, shared);
        let (s, mean, sum, left) = naive(near, local, &tied, shared);
        let scale = s.amax();
        for (i, of_row) in shared.iter().enumerate() {
            let own = s.fixed_view::<2, 2>(2 * i, 2 * i).into_owned();
            let d = of_row.difference;
            let distance = own.cholesky().map(|root| d.dot(&root.solve(&d))).unwrap();
            assert!((fast.distance(i).unwrap() - distance).abs() < 1e-6 * (1.0 + distance));
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
