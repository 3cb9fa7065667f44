//! The rows of all tracks of a frame, added up: A = Σ HᵀH and b = Σ Hᵀr by the errors of the clones.
//!
//! An update by rows of any number is one by a factor of A, A = LLᵀ: rows Lᵀ with residuals L⁻¹b, no more of them than A
//! has columns. Tracks do not show how all clones are moved and turned together, nor their scale: A is singular, and
//! directions that it does not have are left out.

use crate::clone::PoseClone;
use crate::update::dense::DenseRows;
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
    /// Columns of the state, one for each of A.
    columns: Vec<(usize, f64)>,
    rows: Vec<f64>,
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
            columns: Vec::with_capacity(n),
            rows: Vec::with_capacity(n * n),
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
        self.columns.clear();
        self.rows.clear();
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
    pub fn subtract<'a>(&mut self, along: impl Iterator<Item = (&'a usize, Matrix3x6<f64>)>, residual: &Vector3<f64>) {
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

    /// Makes rows of the sums, in the columns of the state; says how many. Row k has nothing before column k, since each
    /// pivot that is left out brings the rows behind it nearer to the first.
    pub fn solve(&mut self, clones: &[PoseClone]) -> usize {
        let n = self.n;
        self.whole.clear();
        self.whole.extend((0..n).map(|i| self.a[i * n + i]));
        let column = |clone: &PoseClone, c: usize| (clone.rows[c / 3] + c % 3, 1.0);
        self.columns.extend(clones.iter().flat_map(|clone| (0..6).map(move |c| column(clone, c))));
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
            let first = self.rows.len();
            self.rows.resize(first + k, 0.0);
            self.rows.extend_from_slice(&row[k..]);
            self.residual.push(y);
        }
        self.residual.len()
    }

    /// The rows.
    pub fn rows(&self) -> DenseRows<'_> {
        DenseRows { columns: &self.columns, rows: &self.rows, residual: &self.residual }
    }
}
