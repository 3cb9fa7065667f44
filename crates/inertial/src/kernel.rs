//! The loops that take most of the time of an update, compiled for the vector instructions of the machine that runs
//! them. No multiplication is fused with an addition and the order of additions is fixed, so that every machine gives
//! the same bits.

use pulp::{Arch, NullaryFnOnce};

/// A ← A − W Wᵀ for the lower triangle of a matrix, column by column at `stride`; W column by column, `n` rows each.
pub fn subtract_outer(a: &mut [f64], stride: usize, n: usize, w: &[f64]) {
    Arch::new().dispatch(SubtractOuter { a, stride, n, w });
}

/// W ← W L⁻ᵀ for W column by column, `n` rows each, and L lower triangular, row by row.
pub fn solve_lower(w: &mut [f64], n: usize, l: &[f64]) {
    Arch::new().dispatch(SolveLower { w, n, l });
}

struct SubtractOuter<'a> {
    a: &'a mut [f64],
    stride: usize,
    n: usize,
    w: &'a [f64],
}

impl NullaryFnOnce for SubtractOuter<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let Self { a, stride, n, w } = self;
        for j in 0..n {
            let column = &mut a[j * stride + j..j * stride + n];
            let mut fours = w.chunks_exact(4 * n);
            for four in &mut fours {
                let [x, y, z, u] = [0, 1, 2, 3].map(|k| &four[k * n + j..(k + 1) * n]);
                let [fx, fy, fz, fu] = [x[0], y[0], z[0], u[0]];
                for ((((p, x), y), z), u) in column.iter_mut().zip(x).zip(y).zip(z).zip(u) {
                    *p -= (x * fx + y * fy) + (z * fz + u * fu);
                }
            }
            for single in fours.remainder().chunks_exact(n) {
                let factor = single[j];
                column.iter_mut().zip(&single[j..]).for_each(|(p, x)| *p -= x * factor);
            }
        }
    }
}

struct SolveLower<'a> {
    w: &'a mut [f64],
    n: usize,
    l: &'a [f64],
}

impl NullaryFnOnce for SolveLower<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let Self { w, n, l } = self;
        let m = w.len() / n;
        for i in 0..m {
            let (known, rest) = w.split_at_mut(i * n);
            let column = &mut rest[..n];
            for (earlier, factor) in known.chunks_exact(n).zip(&l[i * m..i * m + i]) {
                column.iter_mut().zip(earlier).for_each(|(x, y)| *x -= factor * y);
            }
            let scale = 1.0 / l[i * m + i];
            column.iter_mut().for_each(|x| *x *= scale);
        }
    }
}
