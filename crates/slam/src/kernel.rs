//! The loops that take most of the time of an update, compiled for the vector instructions of the machine that runs
//! them.
//!
//! The order of additions does not depend on the instructions, and no multiplication is fused with an addition.
//! Therefore every machine gives the same bits.

use pulp::{Arch, NullaryFnOnce, Simd, WithSimd};

/// The first `open` columns of A ← A − W Wᵀ, for the lower triangle of an `n` × `n` matrix, column by column at
/// `stride`; W has `columns` columns of `n`.
pub fn subtract_outer(a: &mut [f64], stride: usize, (n, open): (usize, usize), w: &[f64], columns: usize) {
    Arch::new().dispatch(SubtractProduct { a, stride, n, open, w: [w, w], columns });
}

/// The same of A ← A − W Vᵀ, where that is symmetric.
pub fn subtract_product(
    a: &mut [f64],
    stride: usize,
    (n, open): (usize, usize),
    (w, v): (&[f64], &[f64]),
    columns: usize,
) {
    Arch::new().dispatch(SubtractProduct { a, stride, n, open, w: [w, v], columns });
}

/// W ← W L⁻ᵀ for W of `columns` columns of `n`, and L lower triangular with positive diagonal, row by row.
pub fn solve_lower(w: &mut [f64], n: usize, l: &[f64], columns: usize) {
    Arch::new().dispatch(SolveLower { w, n, l, columns });
}

/// This is a struct and not a closure, because the compiler does not always inline a closure that borrows mutably, and
/// a loop that is not inlined is compiled without the machine's vector instructions.
struct SubtractProduct<'a> {
    a: &'a mut [f64],
    stride: usize,
    n: usize,
    open: usize,
    /// W and V.
    w: [&'a [f64]; 2],
    columns: usize,
}

impl<'a> WithSimd for SubtractProduct<'a> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { a, stride, n, open, w, columns } = self;
        let split = |w: &'a [f64]| w[..columns * n].split_at(columns / 4 * 4 * n);
        let [(fours, others), (right_fours, right_others)] = [split(w[0]), split(w[1])];
        let (fours, others) = ([fours, right_fours], [others, right_others]);
        let whole = open / TILE * TILE;
        for j in (0..whole).step_by(TILE) {
            subtract_tile::<S, TILE>(simd, a, stride, (n, j), fours, others);
        }
        for j in whole..open {
            subtract_tile::<S, 1>(simd, a, stride, (n, j), fours, others);
        }
    }
}

/// C columns of A from j on; W and V have the columns of `fours`, and up to three `others`.
#[inline(always)]
fn subtract_tile<S: Simd, const C: usize>(
    simd: S,
    a: &mut [f64],
    stride: usize,
    (n, j): (usize, usize),
    fours: [&[f64]; 2],
    others: [&[f64]; 2],
) {
    // Where columns are whole vectors, some rows above the diagonal cost less than rows that fill no vector.
    let from = if n.is_multiple_of(S::F64_LANES) { j - j % S::F64_LANES } else { j };
    let mut targets = Targets::<S, C>::new(a, stride, n, (from, j));
    for (four, right) in fours[0].chunks_exact(4 * n).zip(fours[1].chunks_exact(4 * n)) {
        targets.subtract_four(simd, [four, right], n, (from, j));
    }
    let (mut pairs, mut right) = (others[0].chunks_exact(2 * n), others[1].chunks_exact(2 * n));
    for (pair, right) in (&mut pairs).zip(&mut right) {
        targets.subtract_two(simd, [pair, right], n, (from, j));
    }
    if let (Some(one), Some(right)) = (pairs.remainder().get(from..), right.remainder().get(j..)) {
        targets.subtract_one(simd, [one, right]);
    }
}

/// So many columns of the target are changed at once: what is loaded of W serves all of them.
const TILE: usize = 4;

/// C columns of the target from the row of the first of them on, or from a row above: vectors, and the rows that fill
/// no vector. What they have above the diagonal is never read.
struct Targets<'a, S: Simd, const C: usize> {
    vectors: [&'a mut [S::f64s]; C],
    rests: [&'a mut [f64]; C],
}

impl<'a, S: Simd, const C: usize> Targets<'a, S, C> {
    #[inline(always)]
    fn new(a: &'a mut [f64], stride: usize, n: usize, (from, j): (usize, usize)) -> Self {
        let mut columns = a[j * stride..].chunks_mut(stride);
        let mut targets =
            Self { vectors: [(); C].map(|()| Default::default()), rests: [(); C].map(|()| Default::default()) };
        for (vectors, rest) in targets.vectors.iter_mut().zip(&mut targets.rests) {
            (*vectors, *rest) = S::as_mut_simd_f64s(&mut columns.next().unwrap_or_default()[from..n]);
        }
        targets
    }

    /// Subtracts four columns of W of `n` rows, from row `from` on, times the rows from `j` on of those of V.
    #[inline(always)]
    fn subtract_four(&mut self, simd: S, [four, right]: [&[f64]; 2], n: usize, (from, j): (usize, usize)) {
        let (first, second) = right.split_at(2 * n);
        let ((u0, u1), (u2, u3)) = (first.split_at(n), second.split_at(n));
        let (left, right) = four.split_at(2 * n);
        let ((w0, w1), (w2, w3)) = (left.split_at(n), right.split_at(n));
        let (v0, r0) = S::as_simd_f64s(&w0[from..]);
        let (v1, r1) = S::as_simd_f64s(&w1[from..]);
        let (v2, r2) = S::as_simd_f64s(&w2[from..]);
        let (v3, r3) = S::as_simd_f64s(&w3[from..]);
        let f: [[f64; 4]; C] = std::array::from_fn(|c| [u0[j + c], u1[j + c], u2[j + c], u3[j + c]]);
        // Loops and not `map` of an array, which the compiler does not always inline either.
        let mut splat = [[simd.splat_f64s(0.0); 4]; C];
        for (splat, f) in splat.iter_mut().zip(&f) {
            for (splat, f) in splat.iter_mut().zip(f) {
                *splat = simd.splat_f64s(*f);
            }
        }
        for (i, (((x0, x1), x2), x3)) in v0.iter().zip(v1).zip(v2).zip(v3).enumerate() {
            for (vectors, f) in self.vectors.iter_mut().zip(&splat) {
                let first = simd.add_f64s(simd.mul_f64s(f[0], *x0), simd.mul_f64s(f[1], *x1));
                let second = simd.add_f64s(simd.mul_f64s(f[2], *x2), simd.mul_f64s(f[3], *x3));
                vectors[i] = simd.sub_f64s(vectors[i], simd.add_f64s(first, second));
            }
        }
        for (i, (((x0, x1), x2), x3)) in r0.iter().zip(r1).zip(r2).zip(r3).enumerate() {
            for (rest, f) in self.rests.iter_mut().zip(&f) {
                rest[i] -= (f[0] * x0 + f[1] * x1) + (f[2] * x2 + f[3] * x3);
            }
        }
    }

    /// Subtracts two columns of W, from row `from` on, times the rows from `j` on of those of V, one after the other.
    #[inline(always)]
    fn subtract_two(&mut self, simd: S, [pair, right]: [&[f64]; 2], n: usize, (from, j): (usize, usize)) {
        let ((w0, w1), (u0, u1)) = (pair.split_at(n), right.split_at(n));
        let (v0, r0) = S::as_simd_f64s(&w0[from..]);
        let (v1, r1) = S::as_simd_f64s(&w1[from..]);
        for c in 0..C {
            let (f0, f1) = (u0[j + c], u1[j + c]);
            let (s0, s1) = (simd.splat_f64s(f0), simd.splat_f64s(f1));
            for ((t, x0), x1) in self.vectors[c].iter_mut().zip(v0).zip(v1) {
                *t = simd.sub_f64s(simd.sub_f64s(*t, simd.mul_f64s(s0, *x0)), simd.mul_f64s(s1, *x1));
            }
            for ((t, x0), x1) in self.rests[c].iter_mut().zip(r0).zip(r1) {
                *t = *t - f0 * x0 - f1 * x1;
            }
        }
    }

    /// Subtracts one column of W, given from the first row of the targets on, times that of V, given from row `j` on.
    #[inline(always)]
    fn subtract_one(&mut self, simd: S, [one, right]: [&[f64]; 2]) {
        let (vectors, rest) = S::as_simd_f64s(one);
        for ((targets, rests), f) in self.vectors.iter_mut().zip(&mut self.rests).zip(right) {
            let splat = simd.splat_f64s(*f);
            for (t, x) in targets.iter_mut().zip(vectors) {
                *t = simd.sub_f64s(*t, simd.mul_f64s(splat, *x));
            }
            for (t, x) in rests.iter_mut().zip(rest) {
                *t -= f * x;
            }
        }
    }
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
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

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
