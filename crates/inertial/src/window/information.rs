//! The rows of all tracks of a frame, added up: A = Σ HᵀH and b = Σ Hᵀr by the errors of the clones.
//!
//! An update by rows of any number is one by a factor of A, A = LLᵀ: rows Lᵀ with residuals L⁻¹b, no more of them than A
//! has columns. Tracks do not show how all clones are moved and turned together, nor their scale: A is singular, and
//! directions that it does not have are left out.

use crate::clone::PoseClone;
use nalgebra::{Matrix3x6, Matrix6, Vector3, Vector6};

/// What is left of a pivot that is less than this part of what it was is rounding: pivots of information in m⁻² are some
/// 10⁶, and 10⁻⁶ m⁻² says nothing.
const LEAST: f64 = 1e-12;

/// The sums.
#[derive(Clone, Debug)]
pub struct Information {
    n: usize,
    /// Upper triangle, row by row.
    a: Vec<f64>,
    b: Vec<f64>,
    /// The diagonal of A.
    whole: Vec<f64>,
    /// QᵀH of one track, three rows of n.
    along: Vec<f64>,
    sparse: Vec<(usize, f64)>,
    ends: Vec<usize>,
    residual: Vec<f64>,
}

impl Information {
    /// With room for so many clones.
    pub fn new(clones: usize) -> Self {
        let n = 6 * clones;
        Self {
            n: 0,
            a: Vec::with_capacity(n * n),
            b: Vec::with_capacity(n),
            whole: Vec::with_capacity(n),
            along: Vec::with_capacity(3 * n),
            sparse: Vec::with_capacity(n * n),
            ends: Vec::with_capacity(n + 1),
            residual: Vec::with_capacity(n),
        }
    }

    /// Nothing of so many clones.
    pub fn begin(&mut self, clones: usize) {
        self.n = 6 * clones;
        self.a.clear();
        self.a.resize(self.n * self.n, 0.0);
        self.b.clear();
        self.b.resize(self.n, 0.0);
        self.along.clear();
        self.along.resize(3 * self.n, 0.0);
        self.sparse.clear();
        self.ends.clear();
        self.residual.clear();
    }

    /// Adds to the block of one clone.
    pub fn add(&mut self, clone: usize, block: &Matrix6<f64>, vector: &Vector6<f64>) {
        let first = 6 * clone;
        for i in 0..6 {
            let row = &mut self.a[(first + i) * self.n + first..(first + i) * self.n + first + 6];
            (i..6).for_each(|j| row[j] += block[(i, j)]);
            self.b[first + i] += vector[i];
        }
    }

    /// Subtracts (QᵀH)ᵀQᵀH and (QᵀH)ᵀQᵀr of one track, QᵀH in the columns of its clones.
    pub fn subtract<'a>(
        &mut self,
        along: impl Iterator<Item = (&'a usize, Matrix3x6<f64>)>,
        residual: &Vector3<f64>,
    ) {
        let n = self.n;
        self.along.fill(0.0);
        let (mut first, mut end) = (n, 0);
        for (slot, block) in along {
            (first, end) = (first.min(6 * slot), end.max(6 * slot + 6));
            for a in 0..3 {
                let row = &mut self.along[a * n + 6 * slot..a * n + 6 * slot + 6];
                row.iter_mut().zip(block.row(a).iter()).for_each(|(x, y)| *x += y);
            }
        }
        let (x, rest) = self.along.split_at(n);
        let (y, z) = rest.split_at(n);
        for i in first..end {
            let (p, q, r) = (x[i], y[i], z[i]);
            self.b[i] -= p * residual.x + q * residual.y + r * residual.z;
            let row = &mut self.a[i * n + i..i * n + end];
            let others = x[i..end].iter().zip(&y[i..end]).zip(&z[i..end]);
            row.iter_mut().zip(others).for_each(|(a, ((x, y), z))| *a -= p * x + q * y + r * z);
        }
    }

    /// Makes rows of the sums, in the columns of the state; says how many.
    pub fn solve(&mut self, clones: &[PoseClone]) -> usize {
        let n = self.n;
        self.whole.clear();
        self.whole.extend((0..n).map(|i| self.a[i * n + i]));
        self.ends.push(0);
        for k in 0..n {
            let pivot = self.a[k * n + k];
            if pivot.is_nan() || pivot <= LEAST * self.whole[k] || pivot <= f64::MIN_POSITIVE {
                continue;
            }
            let scale = 1.0 / pivot.sqrt();
            let (above, below) = self.a.split_at_mut((k + 1) * n);
            let row = &mut above[k * n..];
            row[k..].iter_mut().for_each(|x| *x *= scale);
            self.b[k] *= scale;
            let y = self.b[k];
            for i in k + 1..n {
                let factor = row[i];
                if factor == 0.0 {
                    continue;
                }
                self.b[i] -= factor * y;
                let own = &mut below[(i - k - 1) * n + i..(i - k - 1) * n + n];
                own.iter_mut().zip(&row[i..]).for_each(|(a, x)| *a -= factor * x);
            }
            // All rows have the same columns, which the update copies once.
            for (slot, clone) in clones.iter().enumerate() {
                for c in 0..6 {
                    let column = 6 * slot + c;
                    let value = if column < k { 0.0 } else { row[column] };
                    self.sparse.push((clone.rows[c / 3] + c % 3, value));
                }
            }
            self.ends.push(self.sparse.len());
            self.residual.push(y);
        }
        self.residual.len()
    }

    /// The rows, sparse: row k is `sparse[ends[k]..ends[k + 1]]`; and their residuals.
    pub fn rows(&self) -> (&[(usize, f64)], &[usize], &[f64]) {
        (&self.sparse, &self.ends, &self.residual)
    }
}
