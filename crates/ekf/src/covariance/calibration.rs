//! What the calibration parameters add to each operation on the covariance: their rows come right after the pose, and
//! where pose and landmarks are transformed, their columns are so from one side only.

use crate::covariance::{Covariance, POSE};
use nalgebra::{Matrix2, Matrix2x3, Matrix3, Vector2, Vector3};

impl Covariance {
    /// How many parameters there are.
    #[inline]
    pub fn calibration(&self) -> usize {
        self.calibration
    }

    /// Row of parameter `k`.
    #[inline]
    pub const fn calibration_row(k: usize) -> usize {
        POSE + k
    }

    /// Independent parameters with these variances.
    pub(super) fn reset_calibration(&mut self, variances: &[f64]) {
        for (k, variance) in variances.iter().enumerate() {
            let row = Self::calibration_row(k);
            (0..row).for_each(|j| self.set(row, j, 0.0));
            self.set(row, row, *variance);
        }
    }

    /// Two independent parameters with these variances come before parameter `k`.
    pub fn insert_calibration(&mut self, k: usize, variances: [f64; 2]) {
        let (n, at, stride) = (self.dim(), Self::calibration_row(k), self.stride + 2);
        let moved = |row: usize| if row < at { row } else { row + 2 };
        let mut data = vec![0.0; stride * stride];
        for j in 0..n {
            for i in j..n {
                data[moved(j) * stride + moved(i)] = self.data[j * self.stride + i];
            }
        }
        (self.data, self.stride, self.calibration) = (data, stride, self.calibration + 2);
        for (row, variance) in (at..).zip(variances) {
            self.set(row, row, variance);
        }
    }

    /// Covariance of the pose with parameter `k`.
    #[inline]
    pub fn pose_calibration(&self, k: usize) -> Vector3<f64> {
        Vector3::from_fn(|i, _| self.get(Self::calibration_row(k), i))
    }

    /// Covariance of landmark `i` with parameter `k`.
    #[inline]
    pub fn landmark_calibration(&self, i: usize, k: usize) -> Vector2<f64> {
        let (row, column) = (self.row_of(i), Self::calibration_row(k));
        Vector2::new(self.get(row, column), self.get(row + 1, column))
    }

    fn set_landmark_calibration(&mut self, i: usize, k: usize, value: &Vector2<f64>) {
        let (row, column) = (self.row_of(i), Self::calibration_row(k));
        self.set(row, column, value.x);
        self.set(row + 1, column, value.y);
    }

    /// P_Nk ← T_N P_Nk, P_ik ← T_i P_ik for as many landmarks as there are matrices.
    pub(super) fn transport_calibration(&mut self, pose: &Matrix3<f64>, landmarks: &[Matrix2<f64>]) {
        for k in 0..self.calibration {
            let moved = pose * self.pose_calibration(k);
            (0..POSE).for_each(|i| self.set(Self::calibration_row(k), i, moved[i]));
            for (i, t) in landmarks.iter().enumerate().take(self.landmarks) {
                let moved = t * self.landmark_calibration(i, k);
                self.set_landmark_calibration(i, k, &moved);
            }
        }
    }

    /// P_ik ← A P_ik for every landmark.
    pub(super) fn turn_calibration(&mut self, a: &Matrix2<f64>) {
        self.change_calibration(a, |_| Matrix2x3::zeros());
    }

    /// P_ik ← B P_ik + C_i P_Nk for every landmark.
    pub(super) fn change_calibration(&mut self, b: &Matrix2<f64>, from_pose: impl Fn(usize) -> Matrix2x3<f64>) {
        for k in 0..self.calibration {
            let pose = self.pose_calibration(k);
            for i in 0..self.landmarks {
                let changed = b * self.landmark_calibration(i, k) + from_pose(i) * pose;
                self.set_landmark_calibration(i, k, &changed);
            }
        }
    }

    /// P_ik = C P_Nk for a new landmark.
    pub(super) fn append_calibration(&mut self, i: usize, from_pose: &Matrix2x3<f64>) {
        for k in 0..self.calibration {
            let cross = from_pose * self.pose_calibration(k);
            self.set_landmark_calibration(i, k, &cross);
        }
    }

    /// Landmark `i` turns out to depend on parameters as well: x_i ← x_i + Σ c_k·(parameter k), c as (k, c_k).
    pub fn add_to_landmark(&mut self, i: usize, from_calibration: impl Iterator<Item = (usize, Vector2<f64>)>) {
        let own = self.row_of(i);
        for (k, c) in from_calibration {
            let parameter = Self::calibration_row(k);
            let cross = self.landmark_calibration(i, k);
            let shared = c * cross.transpose();
            let block = self.landmark_block(i, i)
                + shared
                + shared.transpose()
                + c * c.transpose() * self.get(parameter, parameter);
            for j in (0..own).chain(own + 2..self.dim()) {
                let with_parameter = self.get(parameter, j);
                for a in 0..2 {
                    let sum = self.get(own + a, j) + c[a] * with_parameter;
                    self.set(own + a, j, sum);
                }
            }
            for (a, b) in [(0, 0), (1, 0), (1, 1)] {
                self.set(own + a, own + b, block[(a, b)]);
            }
        }
    }

    /// P ← P + g mᵀ + m gᵀ, g and m of `dim()` rows of three; g of fewer where the rest is zero.
    pub fn add_symmetric3(&mut self, g: &[[f64; 3]], m: &[[f64; 3]]) {
        let n = self.dim();
        let given = g.len().min(n);
        let dot = |a: &[f64; 3], b: &[f64; 3]| a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
        for j in 0..given {
            let column = &mut self.data[j * self.stride + j..j * self.stride + n];
            let (target, rest) = column.split_at_mut(given - j);
            if g[j] == [0.0; 3] {
                target.iter_mut().zip(&g[j..given]).for_each(|(t, gi)| *t += dot(gi, &m[j]));
                continue;
            }
            for ((t, gi), mi) in target.iter_mut().zip(&g[j..given]).zip(&m[j..given]) {
                *t += dot(gi, &m[j]) + dot(mi, &g[j]);
            }
            for (t, mi) in rest.iter_mut().zip(&m[given..n]) {
                *t += dot(mi, &g[j]);
            }
        }
    }

    /// The same where only `rows` of G are not zero.
    pub fn add_symmetric3_in(&mut self, rows: &[usize], g: &[[f64; 3]], m: &[[f64; 3]]) {
        let n = self.dim();
        let dot = |a: &[f64; 3], b: &[f64; 3]| a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
        for &row in rows {
            let of_row = g[row];
            for (j, mj) in m[..=row].iter().enumerate() {
                self.data[j * self.stride + row] += dot(&of_row, mj);
            }
            let column = &mut self.data[row * self.stride + row..row * self.stride + n];
            for (target, mi) in column.iter_mut().zip(&m[row..n]) {
                *target += dot(mi, &of_row);
            }
        }
    }

    /// The error of a row is multiplied by a factor.
    pub fn scale_row(&mut self, row: usize, factor: f64) {
        for j in 0..self.dim() {
            let scale = if j == row { factor * factor } else { factor };
            self.set(row, j, self.get(row, j) * scale);
        }
    }

    /// Landmark `i` has this covariance with two rows of the calibration.
    #[inline]
    pub fn set_landmark_rows(&mut self, i: usize, rows: usize, block: &Matrix2<f64>) {
        for c in 0..2 {
            self.set_landmark_calibration(i, rows + c - POSE, &block.column(c).into_owned());
        }
    }

    /// A row has nothing to do with the others any more, and this variance.
    #[inline]
    pub fn separate_row(&mut self, row: usize, variance: f64) {
        (0..self.dim()).for_each(|j| self.set(row, j, 0.0));
        self.set(row, row, variance);
    }

    /// The errors of rows from `first` on are multiplied by these factors ϱ, and get independent ones of variance 1 −
    /// ϱ²: a variance of 1 stays.
    pub fn forget_rows(&mut self, first: usize, factors: &[f64]) {
        let (n, last) = (self.dim(), first + factors.len());
        for j in 0..last {
            let column = &mut self.data[j * self.stride..j * self.stride + n];
            if j < first {
                column[first..last].iter_mut().zip(factors).for_each(|(p, rho)| *p *= rho);
                continue;
            }
            let own = factors[j - first];
            column[j..last].iter_mut().zip(&factors[j - first..]).for_each(|(p, rho)| *p *= own * rho);
            column[last..].iter_mut().for_each(|p| *p *= own);
            column[j] += 1.0 - own * own;
        }
    }

    /// Three rows get errors that follow from those of other rows, x_a = Σ c_a·x_row + n with Cov(n) = `noise`.
    pub fn derive_rows(&mut self, rows: [usize; 3], sources: &[(usize, [f64; 3])], noise: &Matrix3<f64>) {
        let along = |p: &Self, a: usize, j: usize| sources.iter().map(|(row, c)| c[a] * p.get(*row, j)).sum::<f64>();
        for (a, row) in rows.into_iter().enumerate() {
            for j in (0..self.dim()).filter(|j| !rows.contains(j)) {
                let shared = along(self, a, j);
                self.set(row, j, shared);
            }
        }
        for (a, one) in rows.into_iter().enumerate() {
            for (b, other) in rows.into_iter().enumerate().take(a + 1) {
                let own = sources.iter().map(|(row, c)| c[b] * along(self, a, *row)).sum::<f64>();
                self.set(one, other, own + noise[(a, b)]);
            }
        }
    }

    /// Parameter `k` has wandered: its variance grows.
    #[inline]
    pub fn add_calibration_variance(&mut self, k: usize, variance: f64) {
        let row = Self::calibration_row(k);
        let sum = self.get(row, row) + variance;
        self.set(row, row, sum);
    }
}
