//! The two loops that take most of the time of an update, compiled for the vector instructions of the machine that runs
//! them.
//!
//! The order of additions does not depend on the instructions, and no multiplication is fused with an addition.
//! Therefore every machine gives the same bits.

use pulp::{Arch, NullaryFnOnce};

/// The first `open` columns of A ← A − W Wᵀ, for the lower triangle of an `n` × `n` matrix, column by column at
/// `stride`; W has `columns` columns of `n`.
pub fn subtract_outer(a: &mut [f64], stride: usize, (n, open): (usize, usize), w: &[f64], columns: usize) {
    Arch::new().dispatch(SubtractOuter { a, stride, n, open, w, columns });
}

/// W ← W L⁻ᵀ for W of `columns` columns of `n`, and L lower triangular with positive diagonal, row by row.
pub fn solve_lower(w: &mut [f64], n: usize, l: &[f64], columns: usize) {
    Arch::new().dispatch(SolveLower { w, n, l, columns });
}

/// This is a struct and not a closure, because the compiler does not always inline a closure that borrows mutably, and
/// a loop that is not inlined is compiled without the machine's vector instructions.
struct SubtractOuter<'a> {
    a: &'a mut [f64],
    stride: usize,
    n: usize,
    open: usize,
    w: &'a [f64],
    columns: usize,
}

impl NullaryFnOnce for SubtractOuter<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        subtract_outer_plain(self.a, self.stride, (self.n, self.open), self.w, self.columns);
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
fn subtract_outer_plain(a: &mut [f64], stride: usize, (n, open): (usize, usize), w: &[f64], columns: usize) {
    for j in 0..open {
        let target = &mut a[j * stride + j..j * stride + n];
        let mut k = 0;
        // Four columns at once: the target is loaded and stored a quarter as often.
        while k + 4 <= columns {
            let [w0, w1, w2, w3] = [0, 1, 2, 3].map(|q| &w[(k + q) * n + j..(k + q + 1) * n]);
            let (f0, f1, f2, f3) = (w0[0], w1[0], w2[0], w3[0]);
            for ((((t, a), b), c), d) in target.iter_mut().zip(w0).zip(w1).zip(w2).zip(w3) {
                *t -= (f0 * a + f1 * b) + (f2 * c + f3 * d);
            }
            k += 4;
        }
        while k < columns {
            let column = &w[k * n + j..(k + 1) * n];
            let factor = column[0];
            for (t, a) in target.iter_mut().zip(column) {
                *t -= factor * a;
            }
            k += 1;
        }
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

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    fn drawn(count: usize, seed: u64) -> Vec<f64> {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        (0..count).map(|_| random.random_range(-1.0..1.0)).collect()
    }

    /// Sizes with and without remainders of any vector's length.
    #[test]
    fn vector_instructions_give_the_bits_of_plain_ones() {
        for (n, columns) in [(1, 1), (5, 3), (13, 4), (31, 7), (64, 16), (67, 21)] {
            let stride = n + 3;
            let (a, w) = (drawn(stride * n, 1), drawn(n * columns, 2));
            let (mut fast, mut plain) = (a.clone(), a);
            for open in [n, n.min(5)] {
                subtract_outer(&mut fast, stride, (n, open), &w, columns);
                subtract_outer_plain(&mut plain, stride, (n, open), &w, columns);
                assert_eq!(fast, plain);
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
