//! The loops that take most of the time of an update, compiled for the vector instructions of the machine that runs
//! them.
//!
//! The order of additions does not depend on the instructions, and no multiplication is fused with an addition.
//! Therefore every machine gives the same bits.

mod subtract;

use pulp::{Arch, NullaryFnOnce};
use std::ops::Range;
pub use subtract::{subtract_outer, subtract_product};

/// W ← W L⁻ᵀ for W of `columns` columns of `n`, and L lower triangular with positive diagonal, row by row.
pub fn solve_lower(w: &mut [f64], n: usize, l: &[f64], columns: usize) {
    Arch::new().dispatch(SolveLower { w, n, l, columns });
}

/// y ← y + Σ f x, one column x after the other.
pub fn add_columns(y: &mut [f64], columns: &[(&[f64], f64)]) {
    Arch::new().dispatch(AddColumns { y, columns });
}

/// A ← A + G Gᵀ for the lower triangle of a matrix, column by column at `stride`, and G of three columns, row by row.
/// Where a row of G is zero, its column is left alone.
pub fn add_outer3(a: &mut [f64], stride: usize, g: &[[f64; 3]]) {
    Arch::new().dispatch(AddOuter3 { a, stride, g });
}

/// Factors some columns of a symmetric matrix of `n` rows, lower triangle, column by column; what columns before them
/// explain has been subtracted. Returns false where a pivot is not positive.
pub fn factor_columns(a: &mut [f64], n: usize, columns: Range<usize>) -> bool {
    Arch::new().dispatch(FactorColumns { a, n, columns })
}

struct AddOuter3<'a> {
    a: &'a mut [f64],
    stride: usize,
    g: &'a [[f64; 3]],
}

/// Rows of G that are turned into columns at once.
const BLOCK: usize = 64;

impl NullaryFnOnce for AddOuter3<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let Self { a, stride, g } = self;
        for (block, rows) in g.chunks(BLOCK).enumerate() {
            let (first, mut turned) = (block * BLOCK, [[0.0; BLOCK]; 3]);
            let [x, y, z] = &mut turned;
            for ((([gx, gy, gz], x), y), z) in rows.iter().zip(x.iter_mut()).zip(y.iter_mut()).zip(z.iter_mut()) {
                (*x, *y, *z) = (*gx, *gy, *gz);
            }
            let last = first + rows.len();
            for (j, &[gx, gy, gz]) in g[..last].iter().enumerate().filter(|(_, gj)| **gj != [0.0; 3]) {
                let from = first.max(j);
                let column = &mut a[j * stride + from..j * stride + last];
                let own = from - first..last - first;
                let terms = x[own.clone()].iter().zip(&y[own.clone()]).zip(&z[own]);
                for (t, ((x, y), z)) in column.iter_mut().zip(terms) {
                    *t += x * gx + y * gy + z * gz;
                }
            }
        }
    }
}

struct AddColumns<'a> {
    y: &'a mut [f64],
    columns: &'a [(&'a [f64], f64)],
}

impl NullaryFnOnce for AddColumns<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        add_columns_plain(self.y, self.columns);
    }
}

#[inline(always)]
fn add_columns_plain(y: &mut [f64], columns: &[(&[f64], f64)]) {
    for (column, factor) in columns {
        for (y, x) in y.iter_mut().zip(*column) {
            *y += factor * x;
        }
    }
}

struct FactorColumns<'a> {
    a: &'a mut [f64],
    n: usize,
    columns: Range<usize>,
}

impl NullaryFnOnce for FactorColumns<'_> {
    type Output = bool;

    #[inline(always)]
    fn call(self) -> bool {
        factor_columns_plain(self.a, self.n, self.columns)
    }
}

#[inline(always)]
fn factor_columns_plain(a: &mut [f64], n: usize, columns: Range<usize>) -> bool {
    for j in columns.clone() {
        let (before, rest) = a.split_at_mut(j * n);
        let column = &mut rest[j..n];
        for earlier in before[columns.start * n..].chunks_exact(n) {
            let factor = earlier[j];
            column.iter_mut().zip(&earlier[j..]).for_each(|(value, own)| *value -= factor * own);
        }
        let pivot = column[0];
        if !(pivot > 0.0 && pivot.is_finite()) {
            return false;
        }
        let scale = 1.0 / pivot.sqrt();
        column.iter_mut().for_each(|value| *value *= scale);
    }
    true
}

struct SolveLower<'a> {
    w: &'a mut [f64],
    n: usize,
    l: &'a [f64],
    columns: usize,
}

impl NullaryFnOnce for SolveLower<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        solve_lower_plain(self.w, self.n, self.l, self.columns);
    }
}

#[inline(always)]
fn solve_lower_plain(w: &mut [f64], n: usize, l: &[f64], columns: usize) {
    for k in 0..columns {
        let row = &l[k * columns..k * columns + k + 1];
        let (known, rest) = w.split_at_mut(k * n);
        let column = &mut rest[..n];
        let (fours, others) = row[..k].as_chunks::<4>();
        for ([f0, f1, f2, f3], block) in fours.iter().zip(known.chunks_exact(4 * n)) {
            let (left, right) = block.split_at(2 * n);
            let ((w0, w1), (w2, w3)) = (left.split_at(n), right.split_at(n));
            for ((((c, a), b), d), e) in column.iter_mut().zip(w0).zip(w1).zip(w2).zip(w3) {
                *c = *c - f0 * a - f1 * b - f2 * d - f3 * e;
            }
        }
        for (factor, w) in others.iter().zip(known[4 * fours.len() * n..].chunks_exact(n)) {
            for (c, x) in column.iter_mut().zip(w) {
                *c -= factor * x;
            }
        }
        let scale = 1.0 / row[k];
        for c in column.iter_mut() {
            *c *= scale;
        }
    }
}

/// The inverse of the m × m matrix S = L Lᵀ from its factor `l`.
pub fn invert(l: &[f64], m: usize, inverse: &mut Vec<f64>, lower: &mut Vec<f64>) {
    // L⁻¹, row by row, lower triangle.
    lower.clear();
    lower.resize(m * m, 0.0);
    for i in 0..m {
        let pivot = 1.0 / l[i * m + i];
        let (above, row) = lower.split_at_mut(i * m);
        for k in 0..i {
            let factor = l[i * m + k];
            for (to, from) in row[..=k].iter_mut().zip(&above[k * m..=k * m + k]) {
                *to -= factor * from;
            }
        }
        row[..i].iter_mut().for_each(|x| *x *= pivot);
        row[i] = pivot;
    }
    inverse.clear();
    inverse.resize(m * m, 0.0);
    for k in 0..m {
        let row = &lower[k * m..=k * m + k];
        for (i, a) in row.iter().enumerate() {
            for (to, b) in inverse[i * m..=i * m + i].iter_mut().zip(row) {
                *to += a * b;
            }
        }
    }
    for i in 0..m {
        for j in 0..i {
            inverse[j * m + i] = inverse[i * m + j];
        }
    }
}

/// x ← A⁻¹ x by Cholesky, A overwritten. Returns false if A is not positive definite.
pub fn solve_positive(a: &mut [f64], n: usize, x: &mut [f64]) -> bool {
    for i in 0..n {
        for j in 0..=i {
            let known: f64 = (0..j).map(|k| a[i * n + k] * a[j * n + k]).sum();
            let rest = a[i * n + j] - known;
            if i == j {
                if !rest.is_finite() || rest <= 0.0 {
                    return false;
                }
                a[i * n + i] = rest.sqrt();
            } else {
                a[i * n + j] = rest / a[j * n + j];
            }
        }
    }
    for i in 0..n {
        let known: f64 = (0..i).map(|k| a[i * n + k] * x[k]).sum();
        x[i] = (x[i] - known) / a[i * n + i];
    }
    for i in (0..n).rev() {
        let known: f64 = (i + 1..n).map(|k| a[k * n + i] * x[k]).sum();
        x[i] = (x[i] - known) / a[i * n + i];
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::rngs::ChaCha8Rng;
    use rand::{RngExt, SeedableRng};

    fn drawn(count: usize, seed: u64) -> Vec<f64> {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        (0..count).map(|_| random.random_range(-1.0..1.0)).collect()
    }

    /// Column by column, four columns of W at once: the order of additions that tiles keep.
    fn subtract_naive(
        a: &mut [f64],
        stride: usize,
        (n, open): (usize, usize),
        (w, v): (&[f64], &[f64]),
        columns: usize,
    ) {
        for j in 0..open {
            for i in j..n {
                let product = |k: usize| v[k * n + j] * w[k * n + i];
                let t = &mut a[j * stride + i];
                let fours = columns - columns % 4;
                for k in (0..fours).step_by(4) {
                    *t -= (product(k) + product(k + 1)) + (product(k + 2) + product(k + 3));
                }
                (fours..columns).for_each(|k| *t -= product(k));
            }
        }
    }

    /// Sizes with and without remainders of any vector's length.
    #[test]
    fn vector_instructions_give_the_bits_of_plain_ones() {
        for (n, columns) in [(1, 1), (5, 3), (13, 4), (31, 7), (32, 6), (40, 9), (64, 16), (67, 21)] {
            let stride = n + 3;
            let (a, w, v) = (drawn(stride * n, 1), drawn(n * columns, 2), drawn(n * columns, 6));
            let (mut fast, mut naive) = (a.clone(), a);
            for open in [n, n.min(5)] {
                subtract_outer(&mut fast, stride, (n, open), &w, columns);
                subtract_naive(&mut naive, stride, (n, open), (&w, &w), columns);
                subtract_product(&mut fast, stride, (n, open), (&w, &v), columns);
                subtract_naive(&mut naive, stride, (n, open), (&w, &v), columns);
                for j in 0..n {
                    assert_eq!(fast[j * stride + j..j * stride + n], naive[j * stride + j..j * stride + n]);
                }
            }

            let g: Vec<[f64; 3]> = drawn(3 * n, 9).as_chunks().0.to_vec();
            let (mut fast, mut naive) = (drawn(stride * n, 1), drawn(stride * n, 1));
            add_outer3(&mut fast, stride, &g);
            for (j, gj) in g.iter().enumerate() {
                for (i, gi) in g.iter().enumerate().skip(j) {
                    naive[j * stride + i] += gi[0] * gj[0] + gi[1] * gj[1] + gi[2] * gj[2];
                }
            }
            assert_eq!(fast, naive);

            let (mut fast, mut plain) = (drawn(n, 8), drawn(n, 8));
            let own: Vec<(&[f64], f64)> = w.chunks_exact(n).zip(v.iter().copied()).collect();
            add_columns(&mut fast, &own);
            add_columns_plain(&mut plain, &own);
            assert_eq!(fast, plain);

            let mut positive = drawn(n * n, 7);
            (0..n).for_each(|k| positive[k * n + k] = 2.0 * n as f64);
            let mut plain = positive.clone();
            assert!(factor_columns(&mut positive, n, 0..n) && factor_columns_plain(&mut plain, n, 0..n));
            assert_eq!(positive, plain);

            let mut l = drawn(columns * columns, 3);
            (0..columns).for_each(|k| l[k * columns + k] = 1.5);
            let (mut fast, mut plain) = (w.clone(), w);
            solve_lower(&mut fast, n, &l, columns);
            solve_lower_plain(&mut plain, n, &l, columns);
            assert_eq!(fast, plain);
        }
    }

    #[test]
    fn the_triangular_solution_times_the_factor_is_what_it_came_from() {
        let (n, columns) = (9, 11);
        let w = drawn(n * columns, 4);
        let mut l = drawn(columns * columns, 5);
        (0..columns).for_each(|k| l[k * columns + k] = 2.0);
        let mut solution = w.clone();
        solve_lower(&mut solution, n, &l, columns);
        for k in 0..columns {
            for i in 0..n {
                let product: f64 = (0..=k).map(|q| l[k * columns + q] * solution[q * n + i]).sum();
                assert!((product - w[k * n + i]).abs() < 1e-12);
            }
        }
    }
}
