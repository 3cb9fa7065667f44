//! A ← A − W Vᵀ.

use pulp::{Arch, Scalar, Simd, WithSimd};

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
        if self.n < S::F64_LANES { self.subtract(Scalar::new()) } else { self.subtract(simd) }
    }
}

impl<'a> SubtractProduct<'a> {
    /// With vectors of no more than `n` numbers.
    #[inline(always)]
    fn subtract<S: Simd>(self, simd: S) {
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
    let mut targets = Targets::<S, C>::new(simd, a, stride, n, from, j);
    for (four, right) in fours[0].chunks_exact(4 * n).zip(fours[1].chunks_exact(4 * n)) {
        targets.subtract_four(simd, four, right);
    }
    let (mut pairs, mut right) = (others[0].chunks_exact(2 * n), others[1].chunks_exact(2 * n));
    for (pair, right) in (&mut pairs).zip(&mut right) {
        targets.subtract_two(simd, pair, right);
    }
    let (one, right) = (pairs.remainder(), right.remainder());
    if !one.is_empty() {
        targets.subtract_one(simd, one, right);
    }
    targets.end();
}

/// So many columns of the target are changed at once: what is loaded of W serves all of them.
const TILE: usize = 4;

/// C columns of the target from column `j` on, from row `from` on, that of the first of them or a row above. What they
/// have above the diagonal is never read.
struct Targets<'a, S: Simd, const C: usize> {
    columns: [&'a mut [f64]; C],
    /// Their last rows: as many as a vector has, some of which are in a vector before, too, and come out as there. Read
    /// before anything is written, and written behind all.
    last: [S::f64s; C],
    /// Whether the rows fill no whole vectors.
    has_rest: bool,
    n: usize,
    from: usize,
    j: usize,
}

/// The last numbers of a column, as a vector.
#[inline(always)]
fn last_of<S: Simd>(column: &[f64]) -> S::f64s {
    S::as_simd_f64s(&column[column.len() - S::F64_LANES..]).0[0]
}

impl<'a, S: Simd, const C: usize> Targets<'a, S, C> {
    #[inline(always)]
    fn new(simd: S, a: &'a mut [f64], stride: usize, n: usize, from: usize, j: usize) -> Self {
        let mut given = a[j * stride..].chunks_mut(stride);
        let (mut columns, mut last) = ([(); C].map(|()| Default::default()), [simd.splat_f64s(0.0); C]);
        let has_rest = !(n - from).is_multiple_of(S::F64_LANES);
        for (column, last) in columns.iter_mut().zip(&mut last) {
            *column = &mut given.next().unwrap_or_default()[..n];
            if has_rest {
                *last = last_of::<S>(column);
            }
        }
        Self { columns, last, has_rest, n, from, j }
    }

    /// Writes the last rows.
    #[inline(always)]
    fn end(self) {
        if self.has_rest {
            for (column, last) in self.columns.into_iter().zip(self.last) {
                S::as_mut_simd_f64s(&mut column[self.n - S::F64_LANES..]).0[0] = last;
            }
        }
    }

    /// The whole vectors of the targets.
    #[inline(always)]
    fn vectors(&mut self) -> [&mut [S::f64s]; C] {
        let mut vectors = [(); C].map(|()| Default::default());
        for (vectors, column) in vectors.iter_mut().zip(&mut self.columns) {
            *vectors = S::as_mut_simd_f64s(&mut column[self.from..]).0;
        }
        vectors
    }

    /// Subtracts four columns of W times those of V.
    #[inline(always)]
    fn subtract_four(&mut self, simd: S, four: &[f64], right: &[f64]) {
        let Self { n, from, j, has_rest, .. } = *self;
        let (first, second) = right.split_at(2 * n);
        let ((u0, u1), (u2, u3)) = (first.split_at(n), second.split_at(n));
        let (left, right) = four.split_at(2 * n);
        let ((w0, w1), (w2, w3)) = (left.split_at(n), right.split_at(n));
        let (u0, u1, u2, u3) = (&u0[j..j + C], &u1[j..j + C], &u2[j..j + C], &u3[j..j + C]);
        // Loops and not `map` of an array, which the compiler does not always inline either.
        let mut splat = [[simd.splat_f64s(0.0); 4]; C];
        for ((((splat, u0), u1), u2), u3) in splat.iter_mut().zip(u0).zip(u1).zip(u2).zip(u3) {
            *splat = [simd.splat_f64s(*u0), simd.splat_f64s(*u1), simd.splat_f64s(*u2), simd.splat_f64s(*u3)];
        }
        let (v0, v1) = (S::as_simd_f64s(&w0[from..]).0, S::as_simd_f64s(&w1[from..]).0);
        let (v2, v3) = (S::as_simd_f64s(&w2[from..]).0, S::as_simd_f64s(&w3[from..]).0);
        let mut targets = self.vectors();
        for (i, (((x0, x1), x2), x3)) in v0.iter().zip(v1).zip(v2).zip(v3).enumerate() {
            for (vectors, f) in targets.iter_mut().zip(&splat) {
                vectors[i] = less_four(simd, vectors[i], f, [*x0, *x1, *x2, *x3]);
            }
        }
        if has_rest {
            let x = [last_of::<S>(w0), last_of::<S>(w1), last_of::<S>(w2), last_of::<S>(w3)];
            for (last, f) in self.last.iter_mut().zip(&splat) {
                *last = less_four(simd, *last, f, x);
            }
        }
    }

    /// Subtracts two columns of W times those of V, one after the other.
    #[inline(always)]
    fn subtract_two(&mut self, simd: S, pair: &[f64], right: &[f64]) {
        let Self { n, from, j, has_rest, .. } = *self;
        let ((w0, w1), (u0, u1)) = (pair.split_at(n), right.split_at(n));
        let (u0, u1) = (&u0[j..j + C], &u1[j..j + C]);
        let (v0, v1) = (S::as_simd_f64s(&w0[from..]).0, S::as_simd_f64s(&w1[from..]).0);
        for (targets, (u0, u1)) in self.vectors().into_iter().zip(u0.iter().zip(u1)) {
            let f = [simd.splat_f64s(*u0), simd.splat_f64s(*u1)];
            for ((t, x0), x1) in targets.iter_mut().zip(v0).zip(v1) {
                *t = less_two(simd, *t, f, [*x0, *x1]);
            }
        }
        if has_rest {
            let (x0, x1) = (last_of::<S>(w0), last_of::<S>(w1));
            for (last, (u0, u1)) in self.last.iter_mut().zip(u0.iter().zip(u1)) {
                *last = less_two(simd, *last, [simd.splat_f64s(*u0), simd.splat_f64s(*u1)], [x0, x1]);
            }
        }
    }

    /// Subtracts one column of W times that of V.
    #[inline(always)]
    fn subtract_one(&mut self, simd: S, one: &[f64], right: &[f64]) {
        let Self { from, j, has_rest, .. } = *self;
        let right = &right[j..j + C];
        let vectors = S::as_simd_f64s(&one[from..]).0;
        for (targets, f) in self.vectors().into_iter().zip(right) {
            let splat = simd.splat_f64s(*f);
            for (t, x) in targets.iter_mut().zip(vectors) {
                *t = simd.sub_f64s(*t, simd.mul_f64s(splat, *x));
            }
        }
        if has_rest {
            let x = last_of::<S>(one);
            for (last, f) in self.last.iter_mut().zip(right) {
                *last = simd.sub_f64s(*last, simd.mul_f64s(simd.splat_f64s(*f), x));
            }
        }
    }
}

/// t − ((f₀x₀ + f₁x₁) + (f₂x₂ + f₃x₃)).
#[inline(always)]
fn less_four<S: Simd>(simd: S, t: S::f64s, f: &[S::f64s; 4], x: [S::f64s; 4]) -> S::f64s {
    let first = simd.add_f64s(simd.mul_f64s(f[0], x[0]), simd.mul_f64s(f[1], x[1]));
    let second = simd.add_f64s(simd.mul_f64s(f[2], x[2]), simd.mul_f64s(f[3], x[3]));
    simd.sub_f64s(t, simd.add_f64s(first, second))
}

/// (t − f₀x₀) − f₁x₁.
#[inline(always)]
fn less_two<S: Simd>(simd: S, t: S::f64s, f: [S::f64s; 2], x: [S::f64s; 2]) -> S::f64s {
    simd.sub_f64s(simd.sub_f64s(t, simd.mul_f64s(f[0], x[0])), simd.mul_f64s(f[1], x[1]))
}
