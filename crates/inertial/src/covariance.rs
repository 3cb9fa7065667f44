//! The joint covariance of navigation state, calibration and landmarks: a dense symmetric matrix of variable size.
//!
//! Rows 0–14 are the navigation state, the next k the calibration, then three for each landmark. Only the lower
//! triangle is stored, column by column with a fixed stride, so that landmarks are added and removed without moving
//! the rest. This type knows no geometry; the block covariance of the planar filters can take its place.

use crate::kernel;
use nalgebra::{Matrix3, Matrix3x6, Matrix6, Matrix6x3, SMatrix, Vector3};
use serde::{Deserialize, Serialize};

/// Rows of the navigation state: rotation, velocity, position, bias of the gyroscope, bias of the accelerometer.
pub const NAV: usize = 15;

/// A square matrix over the navigation state.
pub type NavMatrix = SMatrix<f64, NAV, NAV>;

/// The joint covariance. Serialised, it is the lower triangle bit by bit.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(into = "Saved", try_from = "Saved")]
pub struct Covariance {
    /// Column-major, element (i, j) with i ≥ j at `j * stride + i`; what lies above the diagonal is never read.
    data: Vec<f64>,
    stride: usize,
    calibration: usize,
    landmarks: usize,
    /// A buffer of [`Covariance::move_nav`].
    columns: Vec<f64>,
    /// A buffer of [`Covariance::shift_landmarks`].
    factors: Vec<(Lever, Matrix6x3<f64>)>,
}

impl Covariance {
    /// Of a navigation state, and of calibration parameters that are independent of it and of each other. It has room
    /// for `capacity` landmarks before it allocates again.
    pub fn new(nav: &NavMatrix, calibration: &[f64], capacity: usize) -> Self {
        let stride = NAV + calibration.len() + 3 * capacity;
        let mut covariance = Self {
            data: vec![0.0; stride * stride],
            stride,
            calibration: calibration.len(),
            landmarks: 0,
            columns: vec![0.0; stride * NAV],
            factors: Vec::with_capacity(capacity),
        };
        covariance.set(0, 0, nav);
        for (k, variance) in calibration.iter().enumerate() {
            *covariance.at(NAV + k, NAV + k) = *variance;
        }
        covariance
    }

    /// Number of rows.
    pub fn dim(&self) -> usize {
        self.row_of(self.landmarks)
    }

    /// Rows before the landmarks.
    pub fn head(&self) -> usize {
        NAV + self.calibration
    }

    /// First row of landmark `i`.
    pub fn row_of(&self, i: usize) -> usize {
        NAV + self.calibration + 3 * i
    }

    /// Number of landmarks.
    pub fn landmarks(&self) -> usize {
        self.landmarks
    }

    /// Element (i, j), on either side of the diagonal.
    pub fn get(&self, i: usize, j: usize) -> f64 {
        let (row, column) = if i >= j { (i, j) } else { (j, i) };
        self.data[column * self.stride + row]
    }

    fn at(&mut self, i: usize, j: usize) -> &mut f64 {
        let (row, column) = if i >= j { (i, j) } else { (j, i) };
        &mut self.data[column * self.stride + row]
    }

    /// The block whose first element is (i, j).
    pub fn block<const R: usize, const C: usize>(&self, i: usize, j: usize) -> SMatrix<f64, R, C> {
        SMatrix::from_fn(|a, b| self.get(i + a, j + b))
    }

    /// Sets the block whose first element is (i, j), and its mirror image.
    pub fn set<const R: usize, const C: usize>(&mut self, i: usize, j: usize, block: &SMatrix<f64, R, C>) {
        for b in 0..C {
            for a in 0..R {
                *self.at(i + a, j + b) = block[(a, b)];
            }
        }
    }

    /// The navigation state's own.
    pub fn nav(&self) -> NavMatrix {
        self.block(0, 0)
    }

    /// Two blocks of landmarks, i ≥ j, as they lie in memory.
    #[inline]
    fn landmark_block(&self, i: usize, j: usize) -> Matrix3<f64> {
        let (row, column) = (self.row_of(i), self.row_of(j));
        if i == j {
            return self.block(row, column);
        }
        let part = |k: usize| {
            let first = (column + k) * self.stride + row;
            &self.data[first..first + 3]
        };
        let [x, y, z] = [part(0), part(1), part(2)];
        Matrix3::new(x[0], y[0], z[0], x[1], y[1], z[1], x[2], y[2], z[2])
    }

    #[inline]
    fn set_landmark_block(&mut self, i: usize, j: usize, block: &Matrix3<f64>) {
        let (row, column) = (self.row_of(i), self.row_of(j));
        for b in 0..3 {
            let skipped = if i == j { b } else { 0 };
            let first = (column + b) * self.stride + row;
            for a in skipped..3 {
                self.data[first + a] = block[(a, b)];
            }
        }
    }

    /// Copies the columns of these numbers of P, [`dim`](Self::dim) rows each, one after the other. Columns that follow
    /// each other share the lines of memory above the diagonal.
    pub fn copy_columns(&self, numbers: &[(usize, f64)], out: &mut Vec<f64>) {
        let n = self.dim();
        out.clear();
        out.resize(numbers.len() * n, 0.0);
        let mut first = 0;
        while first < numbers.len() {
            let j = numbers[first].0;
            let follows = |k: &usize| numbers[first + k].0 == j + k;
            let count = (0..numbers.len() - first).take_while(follows).count();
            let run = &mut out[first * n..(first + count) * n];
            for i in 0..j {
                let line = &self.data[i * self.stride + j..i * self.stride + j + count];
                line.iter().enumerate().for_each(|(c, value)| run[c * n + i] = *value);
            }
            for (c, column) in run.chunks_exact_mut(n).enumerate() {
                (j..j + c).for_each(|i| column[i] = self.data[i * self.stride + j + c]);
                let own = (j + c) * self.stride;
                column[j + c..].copy_from_slice(&self.data[own + j + c..own + n]);
            }
            first += count;
        }
    }

    /// P ← P − W Wᵀ, W given column by column, [`dim`](Self::dim) rows each.
    pub fn subtract_outer(&mut self, w: &[f64]) {
        let n = self.dim();
        kernel::subtract_outer(&mut self.data, self.stride, n, w);
    }

    /// Appends a landmark x = C·nav + e with Cov(e) = `own`: C = 0 makes it independent of everything.
    pub fn append(&mut self, from_nav: &SMatrix<f64, 3, NAV>, own: &Matrix3<f64>) {
        if self.row_of(self.landmarks + 1) > self.stride {
            self.grow(2 * self.landmarks + 8);
        }
        let row = self.dim();
        for j in NAV..row {
            for a in 0..3 {
                let sum = (0..NAV).map(|c| from_nav[(a, c)] * self.data[c * self.stride + j]).sum::<f64>();
                self.data[j * self.stride + row + a] = sum;
            }
        }
        let cross = from_nav * self.nav();
        let block = cross * from_nav.transpose() + own;
        self.landmarks += 1;
        self.set(row, 0, &cross);
        self.set(row, row, &(0.5 * (block + block.transpose())));
    }

    /// Appends a landmark with these covariances with all rows before, three rows one after the other, and its own.
    pub fn append_rows(&mut self, cross: &[f64], own: &Matrix3<f64>) {
        let row = self.dim();
        self.append(&SMatrix::zeros(), own);
        for (a, values) in cross.chunks_exact(row).enumerate() {
            for (j, value) in values.iter().enumerate() {
                self.data[j * self.stride + row + a] = *value;
            }
        }
    }

    fn grow(&mut self, capacity: usize) {
        let (stride, n) = (self.row_of(capacity), self.dim());
        let mut data = vec![0.0; stride * stride];
        for j in 0..n {
            data[j * stride + j..j * stride + n].copy_from_slice(&self.data[j * self.stride + j..j * self.stride + n]);
        }
        (self.data, self.stride) = (data, stride);
        self.columns.resize(stride * NAV, 0.0);
    }

    /// Inserts so many rows behind those of the calibration, of which they are a part then: zeros. It allocates.
    pub fn insert_before_landmarks(&mut self, rows: usize) {
        let (before, n) = (self.head(), self.dim());
        let capacity = (self.stride - before) / 3;
        let mut wider = Self::new(&self.nav(), &vec![0.0; self.calibration + rows], capacity);
        wider.landmarks = self.landmarks;
        let moved = |i: usize| if i < before { i } else { i + rows };
        for j in 0..n {
            (j..n).for_each(|i| *wider.at(moved(i), moved(j)) = self.get(i, j));
        }
        *self = wider;
    }

    /// Removes landmark `i`; the last one takes its place.
    pub fn swap_remove(&mut self, i: usize) {
        let last = self.landmarks - 1;
        let (hole, from) = (self.row_of(i), self.row_of(last));
        if i != last {
            for a in 0..3 {
                for j in (0..hole).chain(hole + 3..from) {
                    *self.at(hole + a, j) = self.get(from + a, j);
                }
            }
            let own = self.landmark_block(last, last);
            self.set_landmark_block(i, i, &own);
        }
        self.landmarks = last;
    }

    /// Linear map of the navigation state with noise: P_NN ← F P_NN Fᵀ + Q, P_·N ← P_·N Fᵀ.
    pub fn move_nav(&mut self, transition: &NavMatrix, noise: &NavMatrix) {
        let nav = transition * self.nav() * transition.transpose() + noise;
        let (n, stride) = (self.dim(), self.stride);
        let rows = n - NAV;
        for a in 0..NAV {
            let (mut is_first, out) = (true, &mut self.columns[a * rows..(a + 1) * rows]);
            for b in 0..NAV {
                let factor = transition[(a, b)];
                if factor == 0.0 {
                    continue;
                }
                let column = &self.data[b * stride + NAV..b * stride + n];
                if is_first {
                    out.iter_mut().zip(column).for_each(|(x, y)| *x = factor * y);
                } else {
                    out.iter_mut().zip(column).for_each(|(x, y)| *x += factor * y);
                }
                is_first = false;
            }
            if is_first {
                out.fill(0.0);
            }
        }
        for a in 0..NAV {
            self.data[a * stride + NAV..a * stride + n].copy_from_slice(&self.columns[a * rows..(a + 1) * rows]);
        }
        self.set(0, 0, &(0.5 * (nav + nav.transpose())));
    }

    /// Every landmark is moved by six common numbers u = (a, b), x_i ← x_i + D_i u, with u = G nav + noise. Call it
    /// before [`move_nav`](Self::move_nav), and [`shift_cross`](Self::shift_cross) after that.
    pub fn shift_landmarks(&mut self, shift: &Shift, lever: impl Fn(usize) -> Lever) {
        self.factors.clear();
        let half = shift.own * 0.5;
        for j in 0..self.landmarks {
            let row = self.row_of(j);
            let cross = SMatrix::<f64, NAV, 3>::from_fn(|c, a| self.data[c * self.stride + row + a]);
            let own = lever(j);
            // Cov(u, x_j) + ½ Cov(u) D_jᵀ.
            let factor: Matrix6x3<f64> = shift.by_nav * cross + half * own.matrix().transpose();
            self.factors.push((own, factor));
        }
        let factors = std::mem::take(&mut self.factors);
        for (j, (lever_j, zj)) in factors.iter().enumerate() {
            for (i, (lever_i, zi)) in factors.iter().enumerate().skip(j) {
                let block = self.landmark_block(i, j) + lever_i.of(zj) + lever_j.of(zi).transpose();
                self.set_landmark_block(i, j, &block);
            }
        }
        self.factors = factors;
    }

    /// What u, whose covariance with the navigation state after it moved is `with_nav`, adds to the correlation of
    /// every landmark with it.
    pub fn shift_cross(&mut self, with_nav: &SMatrix<f64, 6, NAV>) {
        for j in 0..self.landmarks {
            let row = self.row_of(j);
            for c in 0..NAV {
                let u = with_nav.column(c);
                let added = self.factors[j].0.on(&Vector3::new(u[0], u[1], u[2]), &Vector3::new(u[3], u[4], u[5]));
                let values = &mut self.data[c * self.stride + row..c * self.stride + row + 3];
                values.iter_mut().zip(added.iter()).for_each(|(x, y)| *x += y);
            }
        }
    }

    /// The same for the calibration; call it before [`move_nav`](Self::move_nav).
    pub fn shift_calibration(&mut self, by_nav: &SMatrix<f64, 6, NAV>) {
        for c in NAV..self.head() {
            let with_nav: SMatrix<f64, NAV, 1> = self.block(0, c);
            let u = by_nav * with_nav;
            for j in 0..self.landmarks {
                let row = self.row_of(j);
                let added = self.factors[j].0.on(&Vector3::new(u[0], u[1], u[2]), &Vector3::new(u[3], u[4], u[5]));
                let values = &mut self.data[c * self.stride + row..c * self.stride + row + 3];
                values.iter_mut().zip(added.iter()).for_each(|(x, y)| *x += y);
            }
        }
    }

    /// Transforms the error of each landmark by its own matrix, P ← T P Tᵀ, T = blockdiag(I, T_1, …, T_N).
    pub fn transform_landmarks(&mut self, blocks: &[Matrix3<f64>]) {
        for (j, tj) in blocks.iter().enumerate().take(self.landmarks) {
            self.turn_cross(j, tj);
            let right = tj.transpose();
            for (i, ti) in blocks.iter().enumerate().take(self.landmarks).skip(j) {
                let block = ti * self.landmark_block(i, j) * right;
                self.set_landmark_block(i, j, &block);
            }
        }
    }

    /// The rows of landmark `j` with navigation state and calibration.
    #[inline]
    fn turn_cross(&mut self, j: usize, by: &Matrix3<f64>) {
        let row = self.row_of(j);
        for c in 0..self.head() {
            let values = &mut self.data[c * self.stride + row..c * self.stride + row + 3];
            let turned = by * Vector3::new(values[0], values[1], values[2]);
            values.copy_from_slice(turned.as_slice());
        }
    }

    /// Adds to three rows three others times D.
    pub fn shear(&mut self, [to, from]: [usize; 2], d: &Matrix3<f64>) {
        let own = self.block::<3, 3>(to, to) + d * self.block::<3, 3>(from, to);
        for j in (0..to).chain(to + 3..self.dim()) {
            let sum = self.block::<3, 1>(to, j) + d * self.block::<3, 1>(from, j);
            self.set(to, j, &sum);
        }
        let own = own + self.block::<3, 3>(to, from) * d.transpose();
        self.set(to, to, &(0.5 * (own + own.transpose())));
    }

    /// Transforms six numbers of the calibration, from this row on.
    pub fn transform_head(&mut self, first: usize, by: &Matrix6<f64>) {
        for j in (0..first).chain(first + 6..self.dim()) {
            let moved = by * self.block::<6, 1>(first, j);
            self.set(first, j, &moved);
        }
        let own = by * self.block::<6, 6>(first, first) * by.transpose();
        self.set(first, first, &(0.5 * (own + own.transpose())));
    }

    /// Transforms the errors of all landmarks by the same matrix.
    pub fn turn_landmarks(&mut self, by: &Matrix3<f64>) {
        let right = by.transpose();
        for j in 0..self.landmarks {
            self.turn_cross(j, by);
            for i in j..self.landmarks {
                let block = by * self.landmark_block(i, j) * right;
                self.set_landmark_block(i, j, &block);
            }
        }
    }

    /// As a full matrix, for tests and tools.
    pub fn to_matrix(&self) -> nalgebra::DMatrix<f64> {
        nalgebra::DMatrix::from_fn(self.dim(), self.dim(), |i, j| self.get(i, j))
    }
}

/// A covariance without its buffers.
#[derive(Serialize, Deserialize)]
struct Saved {
    calibration: usize,
    landmarks: usize,
    /// Landmarks that there was room for.
    capacity: usize,
    /// Row by row.
    #[serde(with = "lienav_base::bits")]
    lower: Vec<f64>,
}

impl From<Covariance> for Saved {
    fn from(from: Covariance) -> Self {
        let lower = (0..from.dim()).flat_map(|i| (0..=i).map(move |j| (i, j))).map(|(i, j)| from.get(i, j)).collect();
        let capacity = (from.stride - from.head()) / 3;
        Self { calibration: from.calibration, landmarks: from.landmarks, capacity, lower }
    }
}

/// Numbers of rows that do not fit the numbers of a saved covariance.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("a covariance of {rows} rows has {numbers} numbers")]
struct WrongSize {
    rows: usize,
    numbers: usize,
}

impl TryFrom<Saved> for Covariance {
    type Error = WrongSize;

    fn try_from(saved: Saved) -> Result<Self, WrongSize> {
        /// Beyond it, sizes are damaged.
        const MOST: usize = 100_000;
        /// Of one sensor with its clock, and the mounts of sixteen others.
        const MOST_CALIBRATION: usize = 7 + 6 * 16;
        let Saved { calibration, landmarks, capacity, lower } = saved;
        let wrong = |rows| WrongSize { rows, numbers: lower.len() };
        if calibration > MOST_CALIBRATION || landmarks > MOST {
            return Err(wrong(landmarks.saturating_mul(3)));
        }
        let rows = NAV + calibration + 3 * landmarks;
        if lower.len() != rows * (rows + 1) / 2 {
            return Err(wrong(rows));
        }
        // A damaged capacity costs no memory: it is at most four times what is needed.
        let capacity = capacity.clamp(landmarks, 4 * landmarks + 100);
        let mut covariance = Self::new(&NavMatrix::zeros(), &vec![0.0; calibration], capacity);
        covariance.landmarks = landmarks;
        let places = (0..rows).flat_map(|i| (0..=i).map(move |j| (i, j)));
        places.zip(&lower).for_each(|((i, j), number)| *covariance.at(i, j) = *number);
        Ok(covariance)
    }
}

/// Six numbers u = G nav + noise that move all landmarks.
#[derive(Clone, Copy, Debug)]
pub struct Shift {
    /// G.
    pub by_nav: SMatrix<f64, 6, NAV>,
    /// Cov(u) = G P_NN Gᵀ + noise.
    pub own: SMatrix<f64, 6, 6>,
}

/// What (a, b) adds to three rows: D (a, b).
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Lever {
    /// r × a − b: a point at r, relative to the body.
    Point(Vector3<f64>),
    /// −a: a rotation.
    Rotation,
}

impl Lever {
    /// D (a, b).
    #[inline]
    pub fn on(&self, a: &Vector3<f64>, b: &Vector3<f64>) -> Vector3<f64> {
        match self {
            Self::Point(r) => r.cross(a) - b,
            Self::Rotation => -a,
        }
    }

    /// D Z.
    #[inline]
    fn of(&self, z: &Matrix6x3<f64>) -> Matrix3<f64> {
        match self {
            Self::Point(r) => {
                let column = |c: usize| {
                    let z = z.column(c);
                    [r.y * z[2] - r.z * z[1] - z[3], r.z * z[0] - r.x * z[2] - z[4], r.x * z[1] - r.y * z[0] - z[5]]
                };
                let [x, y, w] = [column(0), column(1), column(2)];
                Matrix3::new(x[0], y[0], w[0], x[1], y[1], w[1], x[2], y[2], w[2])
            }
            Self::Rotation => -z.fixed_rows::<3>(0),
        }
    }

    /// D as a matrix.
    pub fn matrix(&self) -> Matrix3x6<f64> {
        let mut d = Matrix3x6::zeros();
        for k in 0..3 {
            let axis = Vector3::from_fn(|i, _| if i == k { 1.0 } else { 0.0 });
            d.set_column(k, &self.on(&axis, &Vector3::zeros()));
            d.set_column(3 + k, &self.on(&Vector3::zeros(), &axis));
        }
        d
    }
}
