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

/// W = P Uᵀ for P column by column, `n` rows each, and U row by row with as many columns as P has. U has nothing before
/// its diagonal if `is_upper`.
pub fn combine(w: &mut [f64], n: usize, p: &[f64], u: &[f64], is_upper: bool) {
    Arch::new().dispatch(Combine { w, n, p, u, is_upper });
}

struct Combine<'a> {
    w: &'a mut [f64],
    n: usize,
    p: &'a [f64],
    u: &'a [f64],
    is_upper: bool,
}

impl NullaryFnOnce for Combine<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let Self { w, n, p, u, is_upper } = self;
        let columns = p.len() / n;
        // Two columns of W at once.
        for (k, pair) in w.chunks_mut(2 * n).enumerate() {
            let first = if is_upper { 2 * k } else { 0 };
            let (x, y) = pair.split_at_mut(n);
            x.fill(0.0);
            y.fill(0.0);
            let row = |k: usize| &u[(k * columns).min(u.len())..((k + 1) * columns).min(u.len())];
            let (f, g) = (row(2 * k), row(2 * k + 1));
            let f = &f[first..];
            // Without a second column, its factors are never read.
            let g = if y.is_empty() { f } else { &g[first..] };
            let p = &p[first * n..];
            let mut fours = p.chunks_exact(4 * n);
            for ((four, f), g) in (&mut fours).zip(f.chunks_exact(4)).zip(g.chunks_exact(4)) {
                let [a, b, c, d] = [0, 1, 2, 3].map(|k| &four[k * n..(k + 1) * n]);
                let rows = a.iter().zip(b).zip(c).zip(d);
                if y.is_empty() {
                    for (x, (((a, b), c), d)) in x.iter_mut().zip(rows) {
                        *x += (a * f[0] + b * f[1]) + (c * f[2] + d * f[3]);
                    }
                    continue;
                }
                for ((x, y), (((a, b), c), d)) in x.iter_mut().zip(y.iter_mut()).zip(rows) {
                    *x += (a * f[0] + b * f[1]) + (c * f[2] + d * f[3]);
                    *y += (a * g[0] + b * g[1]) + (c * g[2] + d * g[3]);
                }
            }
            let (f, g) = (f.chunks_exact(4).remainder(), g.chunks_exact(4).remainder());
            for ((single, f), g) in fours.remainder().chunks_exact(n).zip(f).zip(g) {
                x.iter_mut().zip(single).for_each(|(x, p)| *x += p * f);
                y.iter_mut().zip(single).for_each(|(y, p)| *y += p * g);
            }
        }
    }
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
        // Two columns at once, from the row below the first's diagonal on.
        for j in (0..n).step_by(2) {
            a[j * stride + j] -= w.chunks_exact(n).map(|column| column[j] * column[j]).sum::<f64>();
            let below = j + 1;
            if below == n {
                break;
            }
            let (left, right) = a[j * stride..].split_at_mut(stride);
            let (p, q) = (&mut left[below..n], &mut right[below..n]);
            let mut fours = w.chunks_exact(4 * n);
            for four in &mut fours {
                let [x, y, z, u] = [0, 1, 2, 3].map(|k| &four[k * n..(k + 1) * n]);
                let [fx, fy, fz, fu] = [x[j], y[j], z[j], u[j]];
                let [gx, gy, gz, gu] = [x[below], y[below], z[below], u[below]];
                let rows = x[below..].iter().zip(&y[below..]).zip(&z[below..]).zip(&u[below..]);
                for ((p, q), (((x, y), z), u)) in p.iter_mut().zip(q.iter_mut()).zip(rows) {
                    *p -= (x * fx + y * fy) + (z * fz + u * fu);
                    *q -= (x * gx + y * gy) + (z * gz + u * gu);
                }
            }
            for single in fours.remainder().chunks_exact(n) {
                let (f, g) = (single[j], single[below]);
                for ((p, q), x) in p.iter_mut().zip(q.iter_mut()).zip(&single[below..]) {
                    *p -= x * f;
                    *q -= x * g;
                }
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
            let factors = &l[i * m..i * m + i];
            let mut fours = known.chunks_exact(4 * n);
            for (four, f) in (&mut fours).zip(factors.chunks_exact(4)) {
                let [x, y, z, u] = [0, 1, 2, 3].map(|k| &four[k * n..(k + 1) * n]);
                let rows = x.iter().zip(y).zip(z).zip(u);
                for (out, (((x, y), z), u)) in column.iter_mut().zip(rows) {
                    *out -= (x * f[0] + y * f[1]) + (z * f[2] + u * f[3]);
                }
            }
            let rest = factors.chunks_exact(4).remainder();
            for (earlier, factor) in fours.remainder().chunks_exact(n).zip(rest) {
                column.iter_mut().zip(earlier).for_each(|(x, y)| *x -= factor * y);
            }
            let scale = 1.0 / l[i * m + i];
            column.iter_mut().for_each(|x| *x *= scale);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{combine, solve_lower, subtract_outer};
    use nalgebra::DMatrix;

    #[test]
    fn they_are_the_products_of_matrices() {
        for (n, m) in [(1, 1), (2, 3), (7, 4), (8, 9), (15, 6)] {
            let stride = n + 3;
            let element = |i: usize, j: usize| (1.3 * i as f64 + 0.7 * j as f64).sin();
            let (a, w) = (DMatrix::from_fn(n, n, element), DMatrix::from_fn(n, m, |i, j| element(i + 2, 3 * j)));
            let mut data = vec![0.0; stride * n];
            (0..n).for_each(|j| (j..n).for_each(|i| data[j * stride + i] = a[(i, j)]));
            subtract_outer(&mut data, stride, n, w.as_slice());
            let expected = &a - &w * w.transpose();
            (0..n).for_each(|j| (j..n).for_each(|i| assert!((data[j * stride + i] - expected[(i, j)]).abs() < 1e-13)));

            let l = DMatrix::from_fn(m, m, |i, j| if i == j { 2.0 + element(i, j) } else { element(i, j) })
                .lower_triangle();
            let mut solved = w.clone();
            solve_lower(solved.as_mut_slice(), n, l.transpose().as_slice());
            assert!((solved * l.transpose() - w).amax() < 1e-12);

            let columns = m + 3;
            let p = DMatrix::from_fn(n, columns, |i, j| element(2 * i, j));
            for is_upper in [false, true] {
                let u = DMatrix::from_fn(m, columns, |i, j| if is_upper && j < i { 0.0 } else { element(i, j + 1) });
                let mut product = vec![1.0; n * m];
                combine(&mut product, n, p.as_slice(), u.transpose().as_slice(), is_upper);
                let product = DMatrix::from_column_slice(n, m, &product);
                assert!((product - &p * u.transpose()).amax() < 1e-12);
            }
        }
    }
}
