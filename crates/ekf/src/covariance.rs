//! The joint covariance of pose, calibration and landmarks: a dense symmetric matrix of variable size.
//!
//! Rows 0–2 are the pose (p_x, p_y, θ), the next k the calibration parameters (often k = 0), rows 3 + k + 2i and 4 +
//! k + 2i landmark i. Only the lower triangle is stored, column by column with a fixed stride, so that landmarks can be
//! added and removed without moving the rest.

mod calibration;
mod given;
mod saved;

use crate::kernel;
use nalgebra::{Matrix2, Matrix2x3, Matrix3, Matrix3x2, Vector2};
use std::cmp::Ordering;

/// Rows that belong to the pose.
pub const POSE: usize = 3;

/// The joint covariance.
#[derive(Clone, Debug)]
pub struct Covariance {
    /// Column-major, element (i, j) with i ≥ j at `j * stride + i`; what lies above the diagonal is never read.
    data: Vec<f64>,
    stride: usize,
    calibration: usize,
    landmarks: usize,
}

impl Covariance {
    /// The covariance of a pose and of independent calibration parameters with these variances. It has room for
    /// `capacity` landmarks before it allocates again.
    pub fn new(pose: &Matrix3<f64>, calibration: &[f64], capacity: usize) -> Self {
        let stride = POSE + calibration.len() + 2 * capacity;
        let data = vec![0.0; stride * stride];
        let mut covariance = Self { data, stride, calibration: calibration.len(), landmarks: 0 };
        covariance.reset(pose, calibration);
        covariance
    }

    /// Becomes a copy of another covariance, and keeps its allocation if it is large enough.
    pub fn copy_from(&mut self, other: &Self) {
        let n = other.dim();
        (self.calibration, self.landmarks) = (other.calibration, other.landmarks);
        if self.stride < n {
            self.stride = other.stride;
            self.data.resize(other.data.len(), 0.0);
        }
        for j in 0..n {
            let column = &other.data[j * other.stride + j..j * other.stride + n];
            self.data[j * self.stride + j..j * self.stride + n].copy_from_slice(column);
        }
    }

    /// Number of rows.
    #[inline]
    pub fn dim(&self) -> usize {
        self.row_of(self.landmarks)
    }

    /// First row of landmark `i`.
    #[inline]
    pub fn row_of(&self, i: usize) -> usize {
        POSE + self.calibration + 2 * i
    }

    /// Number of landmarks.
    #[inline]
    pub fn features(&self) -> usize {
        self.landmarks
    }

    /// Element (i, j), on either side of the diagonal.
    #[inline]
    pub fn get(&self, i: usize, j: usize) -> f64 {
        let (row, column) = if i >= j { (i, j) } else { (j, i) };
        self.data[column * self.stride + row]
    }

    fn set(&mut self, i: usize, j: usize, value: f64) {
        let (row, column) = if i >= j { (i, j) } else { (j, i) };
        self.data[column * self.stride + row] = value;
    }

    /// Covariance of the pose.
    #[inline]
    pub fn pose_block(&self) -> Matrix3<f64> {
        let (first, second) = (&self.data[..POSE], &self.data[self.stride + 1..self.stride + POSE]);
        let [a, b, c, d, e] = [first[0], first[1], first[2], second[0], second[1]];
        Matrix3::new(a, b, c, b, d, e, c, e, self.data[2 * self.stride + 2])
    }

    /// Replaces the covariance of the pose.
    pub fn set_pose_block(&mut self, block: &Matrix3<f64>) {
        for j in 0..POSE {
            for i in j..POSE {
                self.set(i, j, block[(i, j)]);
            }
        }
    }

    /// Covariance of landmark `i` with landmark `k`.
    #[inline]
    pub fn landmark_block(&self, i: usize, k: usize) -> Matrix2<f64> {
        let (row, column) = (self.row_of(i.max(k)), self.row_of(i.min(k)));
        // Two numbers each of two columns: below the diagonal, they follow each other.
        let first = column * self.stride + row;
        let (below, right) = (&self.data[first..first + 2], &self.data[first + self.stride..first + self.stride + 2]);
        match i.cmp(&k) {
            Ordering::Greater => Matrix2::new(below[0], right[0], below[1], right[1]),
            Ordering::Equal => Matrix2::new(below[0], below[1], below[1], right[1]),
            Ordering::Less => Matrix2::new(below[0], below[1], right[0], right[1]),
        }
    }

    /// Adds to the covariance of landmark `i` with another landmark `k`.
    pub fn add_to_landmark_block(&mut self, i: usize, k: usize, block: &Matrix2<f64>) {
        let sum = self.landmark_block(i, k) + block;
        for a in 0..2 {
            for b in 0..2 {
                self.set(self.row_of(i) + a, self.row_of(k) + b, sum[(a, b)]);
            }
        }
    }

    /// Covariance of landmark `i` with the pose.
    pub fn cross_block(&self, i: usize) -> Matrix2x3<f64> {
        let row = self.row_of(i);
        let of_column = |b: usize| &self.data[b * self.stride + row..b * self.stride + row + 2];
        let [x, y, turn] = [of_column(0), of_column(1), of_column(2)];
        Matrix2x3::new(x[0], y[0], turn[0], x[1], y[1], turn[1])
    }

    fn set_cross_block(&mut self, i: usize, block: &Matrix2x3<f64>) {
        for a in 0..2 {
            for b in 0..POSE {
                self.set(self.row_of(i) + a, b, block[(a, b)]);
            }
        }
    }

    /// Writes the whole column `j` to `out` (`dim()` long).
    pub fn copy_column(&self, j: usize, out: &mut [f64]) {
        let n = self.dim();
        for (i, slot) in out[..j].iter_mut().enumerate() {
            *slot = self.data[i * self.stride + j];
        }
        out[j..n].copy_from_slice(&self.data[j * self.stride + j..j * self.stride + n]);
    }

    /// Writes the two columns of landmark `i` to `x` and `y` (`dim()` long each).
    pub fn copy_landmark_columns(&self, i: usize, x: &mut [f64], y: &mut [f64]) {
        let (n, j) = (self.dim(), self.row_of(i));
        let rows = x[..j].iter_mut().zip(&mut y[..j]);
        for ((x, y), column) in rows.zip(self.data.chunks_exact(self.stride)) {
            (*x, *y) = (column[j], column[j + 1]);
        }
        let (first, second) = (&self.data[j * self.stride..], &self.data[(j + 1) * self.stride..]);
        x[j..n].copy_from_slice(&first[j..n]);
        y[j] = first[j + 1];
        y[j + 1..n].copy_from_slice(&second[j + 1..n]);
    }

    /// Appends a landmark x = C·pose + e with Cov(e) = `own`: C = 0 makes it independent of everything.
    pub fn append(&mut self, from_pose: &Matrix2x3<f64>, own: &Matrix2<f64>) {
        let new = self.landmarks;
        if self.row_of(new + 1) > self.stride {
            self.grow(2 * new + 8);
        }
        self.landmarks += 1;
        for k in 0..new {
            let cross: Matrix2<f64> = from_pose * self.cross_block(k).transpose();
            for a in 0..2 {
                for b in 0..2 {
                    self.set(self.row_of(new) + a, self.row_of(k) + b, cross[(a, b)]);
                }
            }
        }
        let pose = self.pose_block();
        self.set_cross_block(new, &(from_pose * pose));
        self.append_calibration(new, from_pose);
        let block = from_pose * pose * from_pose.transpose() + own;
        let row = self.row_of(new);
        self.set(row, row, block[(0, 0)]);
        self.set(row + 1, row, 0.5 * (block[(0, 1)] + block[(1, 0)]));
        self.set(row + 1, row + 1, block[(1, 1)]);
    }

    fn grow(&mut self, capacity: usize) {
        let stride = self.row_of(capacity);
        let mut data = vec![0.0; stride * stride];
        for j in 0..self.dim() {
            let n = self.dim();
            data[j * stride + j..j * stride + n].copy_from_slice(&self.data[j * self.stride + j..j * self.stride + n]);
        }
        (self.data, self.stride) = (data, stride);
    }

    /// Drops landmark `i`; the last landmark takes its place.
    pub fn swap_remove(&mut self, i: usize) {
        let last = self.landmarks - 1;
        let (hole, from) = (self.row_of(i), self.row_of(last));
        if i != last {
            for a in 0..2 {
                for j in (0..hole).chain(hole + 2..from) {
                    self.set(hole + a, j, self.get(from + a, j));
                }
            }
            for (a, b) in [(0, 0), (1, 0), (1, 1)] {
                self.set(hole + a, hole + b, self.get(from + a, from + b));
            }
        }
        self.landmarks = last;
    }

    /// Removes all landmarks, and makes pose and calibration independent, with these variances.
    #[inline]
    pub fn reset(&mut self, pose: &Matrix3<f64>, calibration: &[f64]) {
        self.landmarks = 0;
        self.set_pose_block(pose);
        self.reset_calibration(calibration);
    }

    /// P ← P − W Wᵀ, W given column by column, `dim()` rows and `columns` columns; of rows and columns beyond `open`,
    /// only what they have in common with those before.
    #[inline]
    pub fn subtract_outer(&mut self, w: &[f64], columns: usize, open: usize) {
        let n = self.dim();
        kernel::subtract_outer(&mut self.data, self.stride, (n, open.min(n)), w, columns);
    }

    /// P ← (1 − s) P + s Q + s(1 − s) d dᵀ: the covariance of the mixture of two, whose means are d apart. Beyond the
    /// rows of d, both are the same.
    pub fn mix(&mut self, other: &Self, share: f64, apart: &[f64]) {
        let n = self.dim();
        for j in 0..apart.len() {
            for i in j..n {
                let spread = apart.get(i).zip(apart.get(j)).map_or(0.0, |(a, b)| share * (1.0 - share) * a * b);
                let mixed = (1.0 - share) * self.get(i, j) + share * other.get(i, j) + spread;
                self.set(i, j, mixed);
            }
        }
    }

    /// P ← P + g gᵀ, g of `dim()` rows of three, or of fewer where the rest is zero.
    #[inline]
    pub fn add_outer3(&mut self, g: &[[f64; 3]]) {
        let n = self.dim().min(g.len());
        // Motion does not move calibration: rows of zeros.
        kernel::add_outer3(&mut self.data, self.stride, &g[..n]);
    }

    /// Transforms each landmark by its own matrix: P ← T P Tᵀ, T = blockdiag(I, T_1, …, T_N). What two identities
    /// transform is left alone: landmarks that have been out of view have no other.
    pub fn transport(&mut self, landmarks: &[Matrix2<f64>]) {
        let identity = Matrix2::identity();
        if landmarks.iter().all(|t| *t == identity) {
            return;
        }
        for (k, tk) in landmarks.iter().enumerate().take(self.landmarks) {
            let stays = *tk == identity;
            let right = tk.transpose();
            if !stays {
                let cross = tk * self.cross_block(k);
                self.set_cross_block(k, &cross);
            }
            let (j, n) = (self.row_of(k), self.dim());
            self.data[(j + 1) * self.stride + j] = self.data[j * self.stride + j + 1];
            let (left, rest) = self.data.split_at_mut((j + 1) * self.stride);
            let first = &mut left[j * self.stride + j..j * self.stride + n];
            let second = &mut rest[j..n];
            for ((x, y), ti) in first.chunks_exact_mut(2).zip(second.chunks_exact_mut(2)).zip(&landmarks[k..]) {
                if stays && *ti == identity {
                    continue;
                }
                let block = ti * Matrix2::new(x[0], y[0], x[1], y[1]) * right;
                (x[0], x[1], y[0], y[1]) = (block[(0, 0)], block[(1, 0)], block[(0, 1)], block[(1, 1)]);
            }
        }
        self.transport_calibration(&Matrix3::identity(), landmarks);
    }

    /// The pose moves, landmarks stay: P_NN ← F P_NN Fᵀ + Q, P_fN ← P_fN Fᵀ.
    pub fn move_pose(&mut self, transition: &Matrix3<f64>, noise: &Matrix3<f64>) {
        for i in 0..self.landmarks {
            let cross = self.cross_block(i) * transition.transpose();
            self.set_cross_block(i, &cross);
        }
        let pose = transition * self.pose_block() * transition.transpose() + noise;
        self.set_pose_block(&(0.5 * (pose + pose.transpose())));
        self.transport_calibration(transition, &[]);
    }

    /// Pose and landmarks move, all landmarks by the same conformal map: with F for the pose, A = [[c, −s], [s, c]] for
    /// every landmark and the noise factor g (`dim()` rows of three),
    ///
    /// P ← blockdiag(F, A, …, A) P blockdiag(F, A, …, A)ᵀ + g gᵀ.
    ///
    /// A 2 × 2 block splits into a multiple of I, one of J and a symmetric traceless part; A scales all of them by
    /// |A|² and rotates the third by twice its angle, which takes half the work of two matrix products.
    pub fn move_all(&mut self, transition: &Matrix3<f64>, c: f64, s: f64, g: &[[f64; 3]]) {
        let a = Matrix2::new(c, -s, s, c);
        for (i, rows) in g[self.row_of(0)..].chunks_exact(2).enumerate().take(self.landmarks) {
            let noise = Matrix2x3::from_fn(|r, p| dot3(&rows[r], &g[p]));
            let cross = a * self.cross_block(i) * transition.transpose() + noise;
            self.set_cross_block(i, &cross);
        }
        let noise = Matrix3::from_fn(|i, j| dot3(&g[i], &g[j]));
        let pose = transition * self.pose_block() * transition.transpose() + noise;
        self.set_pose_block(&(0.5 * (pose + pose.transpose())));
        self.transport_calibration(transition, &[]);
        self.turn_calibration(&a);

        let (half_scale, half_cos, half_sin) = (0.5 * (c * c + s * s), 0.5 * (c * c - s * s), c * s);
        let n = self.dim();
        for k in 0..self.landmarks {
            let j = self.row_of(k);
            // Mirror the one element of the diagonal block that lies above the diagonal; the loop then treats it like
            // the others.
            self.data[(j + 1) * self.stride + j] = self.data[j * self.stride + j + 1];
            let (left, right) = self.data.split_at_mut((j + 1) * self.stride);
            let first = &mut left[j * self.stride + j..j * self.stride + n];
            let second = &mut right[j..n];
            let (g0, g1) = (g[j], g[j + 1]);
            for ((x, y), h) in first.chunks_exact_mut(2).zip(second.chunks_exact_mut(2)).zip(g[j..n].chunks_exact(2)) {
                let (m00, m10, m01, m11) = (x[0], x[1], y[0], y[1]);
                let (sum, turn) = (half_scale * (m00 + m11), half_scale * (m10 - m01));
                let (u, w) = (m00 - m11, m10 + m01);
                let (u, w) = (half_cos * u - half_sin * w, half_sin * u + half_cos * w);
                x[0] = sum + u + dot3(&h[0], &g0);
                x[1] = w + turn + dot3(&h[1], &g0);
                y[0] = w - turn + dot3(&h[0], &g1);
                y[1] = sum - u + dot3(&h[1], &g1);
            }
        }
    }

    /// A linear change of the landmarks' coordinates that involves the pose: x_i ← B x_i + C_i·pose, hence
    ///
    /// P_ik ← B P_ik Bᵀ + B P_iN C_kᵀ + C_i P_Nk Bᵀ + C_i P_NN C_kᵀ, P_iN ← B P_iN + C_i P_NN.
    pub fn change_landmarks(&mut self, b: &Matrix2<f64>, from_pose: impl Fn(usize) -> Matrix2x3<f64>) {
        let pose = self.pose_block();
        for k in 0..self.landmarks {
            let (ck, pk): (_, Matrix3x2<f64>) = (from_pose(k), self.cross_block(k).transpose());
            for i in k..self.landmarks {
                let (ci, pi) = (from_pose(i), self.cross_block(i));
                let block = b * self.landmark_block(i, k) * b.transpose()
                    + b * pi * ck.transpose()
                    + ci * pk * b.transpose()
                    + ci * pose * ck.transpose();
                for q in 0..2 {
                    for p in 0..2 {
                        if self.row_of(i) + p >= self.row_of(k) + q {
                            self.set(self.row_of(i) + p, self.row_of(k) + q, block[(p, q)]);
                        }
                    }
                }
            }
        }
        for i in 0..self.landmarks {
            let cross = b * self.cross_block(i) + from_pose(i) * pose;
            self.set_cross_block(i, &cross);
        }
        self.change_calibration(b, from_pose);
    }

    /// A linear change of one landmark's coordinates, x ← B x + w (I − B) p, p the position of the robot: with w = 1,
    /// what B turns is the place of the landmark relative to the robot.
    pub fn change_landmark(&mut self, i: usize, b: &Matrix2<f64>, weight: f64) {
        let (row, n) = (self.row_of(i), self.dim());
        let of_pose = (Matrix2::identity() - b) * weight;
        let change = |x: Vector2<f64>, p: Vector2<f64>| b * x + of_pose * p;
        // First the columns of the landmark, then its rows; elements of its own block are changed twice, as they
        // should.
        let column = |covariance: &Self, j: usize| {
            let x = Vector2::new(covariance.get(row, j), covariance.get(row + 1, j));
            change(x, Vector2::new(covariance.get(0, j), covariance.get(1, j)))
        };
        let (first, second) = (column(self, row), column(self, row + 1));
        for j in (0..n).filter(|j| *j != row && *j != row + 1) {
            let changed = column(self, j);
            self.set(row, j, changed.x);
            self.set(row + 1, j, changed.y);
        }
        // The cross block with the position is changed by now: (B P_ii + w(I − B) P_pi) Bᵀ + P⁺_ip w(I − B)ᵀ.
        let half = Matrix2::from_columns(&[first, second]);
        let cross = Matrix2::from_fn(|a, c| self.get(row + a, c));
        let own = half * b.transpose() + cross * of_pose.transpose();
        self.set(row, row, own[(0, 0)]);
        self.set(row + 1, row, 0.5 * (own[(0, 1)] + own[(1, 0)]));
        self.set(row + 1, row + 1, own[(1, 1)]);
    }

    /// Replaces the covariance of the pose, and removes its correlation with the rest of the state.
    pub fn replace_pose(&mut self, block: &Matrix3<f64>) {
        self.set_pose_block(block);
        for i in 0..self.landmarks {
            self.set_cross_block(i, &Matrix2x3::zeros());
        }
        self.transport_calibration(&Matrix3::zeros(), &[]);
    }

    /// As a full matrix.
    #[inline]
    pub fn to_matrix(&self) -> nalgebra::DMatrix<f64> {
        nalgebra::DMatrix::from_fn(self.dim(), self.dim(), |i, j| self.get(i, j))
    }
}

fn dot3(a: &[f64; 3], b: &[f64; 3]) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

/// L with L Lᵀ = Q for a symmetric positive semidefinite Q; a direction without noise gets a zero column.
pub fn factor3(q: &Matrix3<f64>) -> Matrix3<f64> {
    let mut l = Matrix3::zeros();
    for j in 0..3 {
        let pivot = q[(j, j)] - (0..j).map(|k| l[(j, k)] * l[(j, k)]).sum::<f64>();
        if pivot <= 1e-14 * q[(j, j)] {
            continue;
        }
        let root = pivot.sqrt();
        l[(j, j)] = root;
        for i in j + 1..3 {
            l[(i, j)] = (q[(i, j)] - (0..j).map(|k| l[(i, k)] * l[(j, k)]).sum::<f64>()) / root;
        }
    }
    l
}

#[cfg(test)]
#[path = "covariance_tests.rs"]
mod tests;
