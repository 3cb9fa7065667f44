//! The update: all matches of an instant at once, by the Kalman gain.

use crate::associated::Subject;
use crate::filter::Filter;
use crate::linearize::Match;
use crate::propagate::along;
use crate::retract::retract;
use crate::state::State;
use lienav_ekf::covariance::{Covariance, POSE};
use lienav_ekf::kernel;
use nalgebra::{Matrix2, Vector2, Vector3};

/// Buffers of an update, which keep their allocations.
#[derive(Clone, Debug, Default)]
pub struct Workspace {
    /// P Hᵀ, then P Hᵀ L⁻ᵀ; column by column, a column as long as the state.
    w: Vec<f64>,
    /// H P Hᵀ + R, then its Cholesky factor L, lower triangle, row by row.
    s: Vec<f64>,
    /// Residual, then L⁻¹ times it.
    y: Vec<f64>,
    /// Columns of P: those of the pose, and two of a landmark.
    columns: Vec<f64>,
    /// P Hᵀ L⁻ᵀ L⁻¹ r.
    delta: Vec<f64>,
    /// The part of `delta` that corrects the noise of the last motion.
    rigid: Vec<f64>,
    /// How the correction transforms the error of each landmark.
    blocks: Vec<Matrix2<f64>>,
}

impl Workspace {
    /// How many numbers the last update had.
    #[inline]
    pub fn numbers(&self) -> usize {
        self.y.len()
    }

    /// The Cholesky factor of the innovation covariance of the last update, lower triangle, row by row.
    #[inline]
    pub fn factor_of_innovation(&self) -> &[f64] {
        &self.s
    }
}

/// The innovation covariance is not positive definite: nothing was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Singular {
    /// Whether it has a variance that is negative beyond rounding, or no number. It is the sum of H P Hᵀ and of the
    /// covariances of the measurements, which are valid: then P is not.
    pub is_indefinite: bool,
}

/// A pivot below zero by more than this part of its variance is no rounding error.
const INDEFINITE: f64 = 1e-6;

/// What an update did.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Updated {
    /// Normalised innovation squared of all matches together.
    pub nis: f64,
    /// The estimated noise n of the last motion; zero if the filter does not split corrections.
    pub noise: [f64; 3],
}

/// Updates the state by `matches`. `noise_rows` is the effect of the last motion's noise on every error, G L with
/// noise L n, n ~ N(0, I); only a filter that splits corrections uses it. `moved_by` is how far the state is from the
/// mean of its prior, where it was moved since, and empty otherwise.
///
/// With S = H P Hᵀ + R = L Lᵀ and W = P Hᵀ L⁻ᵀ: x ← x + W L⁻¹ r, P ← P − W Wᵀ. In robot coordinates H = [0 | H_O], and
/// this is the reduced Bayesian update (Shen 2019, eq. (5.24)) in covariance form: where Σ_NO = 0 the rows of W that
/// belong to the pose are exactly zero.
///
/// Of a frozen map this is the Schmidt–Kalman update: with the rows of the gain that belong to landmarks set to zero,
/// P ← P − W Wᵀ in the rows and columns of pose and calibration alone, and the covariance of the map stays.
///
/// # Errors
/// [`Singular`].
pub fn update(
    state: &mut State,
    matches: &[Match],
    filter: &Filter,
    (noise_rows, moved_by): (&[[f64; 3]], &[f64]),
    work: &mut Workspace,
) -> Result<Updated, Singular> {
    if matches.is_empty() {
        return Ok(Updated::default());
    }
    let (n, m) = (state.covariance.dim(), numbers(matches));
    gather(state, matches, work);
    innovation(state, matches, work);
    factor(&mut work.s, m)?;
    solve(work, n, m);
    let nis = work.y.iter().map(|y| y * y).sum::<f64>();
    if !nis.is_finite() {
        return Err(Singular { is_indefinite: false });
    }

    begin_correction(work, moved_by, n);
    let open = state.open_rows();
    for (column, y) in work.w.chunks_exact(n).zip(&work.y) {
        for (d, w) in work.delta[..open].iter_mut().zip(column) {
            *d += w * y;
        }
    }
    state.covariance.subtract_outer(&work.w, m, open);
    work.rigid.clear();
    work.rigid.resize(n, 0.0);
    let mut noise = [0.0; 3];
    if filter.is_split() {
        weigh(work, m);
        noise = noise_of_motion(state, matches, noise_rows, work);
        for (part, row) in work.rigid.iter_mut().zip(noise_rows) {
            *part = along(row, &noise);
        }
    }
    retract(state, &work.delta, &work.rigid, filter.errors, &mut work.blocks);
    Ok(Updated { nis, noise })
}

/// δ ← −e.
fn begin_correction(work: &mut Workspace, moved_by: &[f64], n: usize) {
    work.delta.clear();
    work.delta.extend(moved_by.iter().map(|e| -e));
    work.delta.resize(n, 0.0);
}

/// Takes a state that was moved back to the mean of its prior: an update without a measurement.
pub fn move_back(state: &mut State, moved_by: &[f64], filter: &Filter, work: &mut Workspace) {
    if moved_by.is_empty() {
        return;
    }
    let n = state.covariance.dim();
    begin_correction(work, moved_by, n);
    work.rigid.clear();
    work.rigid.resize(n, 0.0);
    retract(state, &work.delta, &work.rigid, filter.errors, &mut work.blocks);
}

/// Takes pairs of landmarks as one: x_a − x_b = 0 without noise. Errors of landmarks in the map are all relative to the
/// same frame, so that the pose has no part in it, in any coordinates. `moved_by` is how far the state is from the mean
/// of its prior, as in [`update`].
///
/// # Errors
/// [`Singular`]: nothing was changed.
pub fn identify(
    state: &mut State,
    pairs: &[(usize, usize)],
    (filter, moved_by): (&Filter, &[f64]),
    work: &mut Workspace,
) -> Result<(), Singular> {
    let (n, m) = (state.covariance.dim(), 2 * pairs.len());
    work.w.resize(m * n, 0.0);
    work.columns.resize((POSE + 2) * n, 0.0);
    work.y.clear();
    for ((a, b), rows) in pairs.iter().zip(work.w.chunks_exact_mut(2 * n)) {
        let (w0, w1) = rows.split_at_mut(n);
        let (c0, c1) = work.columns[..2 * n].split_at_mut(n);
        state.covariance.copy_landmark_columns(*a, w0, w1);
        state.covariance.copy_landmark_columns(*b, c0, c1);
        w0.iter_mut().zip(c0).for_each(|(w, c)| *w -= *c);
        w1.iter_mut().zip(c1).for_each(|(w, c)| *w -= *c);
        let apart = state.landmarks[*b].x - state.landmarks[*a].x + error_of(state, moved_by, *a)
            - error_of(state, moved_by, *b);
        work.y.extend_from_slice(apart.as_slice());
    }
    work.s.clear();
    work.s.resize(m * m, 0.0);
    for (k, (a, b)) in pairs.iter().enumerate() {
        let (a, b) = (state.covariance.row_of(*a), state.covariance.row_of(*b));
        for (column, w) in work.w.chunks_exact(n).enumerate().take(2 * k + 2) {
            for d in 0..2 {
                work.s[(2 * k + d) * m + column] = w[a + d] - w[b + d];
            }
        }
    }
    factor(&mut work.s, m)?;
    solve(work, n, m);
    begin_correction(work, moved_by, n);
    for (column, y) in work.w.chunks_exact(n).zip(&work.y) {
        work.delta.iter_mut().zip(column).for_each(|(d, w)| *d += w * y);
    }
    if !work.delta.iter().all(|d| d.is_finite()) {
        return Err(Singular { is_indefinite: false });
    }
    state.covariance.subtract_outer(&work.w, m, n);
    work.rigid.clear();
    work.rigid.resize(n, 0.0);
    retract(state, &work.delta, &work.rigid, filter.errors, &mut work.blocks);
    Ok(())
}

/// The rows of a landmark in what the state was moved by.
fn error_of(state: &State, moved_by: &[f64], i: usize) -> Vector2<f64> {
    let row = state.covariance.row_of(i);
    moved_by.get(row..row + 2).map_or_else(Vector2::zeros, Vector2::from_column_slice)
}

/// The squared Mahalanobis distance of all matches together, rᵀ S⁻¹ r. The state is not changed.
///
/// # Errors
/// [`Singular`].
pub fn joint_distance(state: &State, matches: &[Match], work: &mut Workspace) -> Result<f64, Singular> {
    gather(state, matches, work);
    innovation(state, matches, work);
    factor(&mut work.s, numbers(matches))?;
    solve(work, state.covariance.dim(), numbers(matches));
    Ok(work.y.iter().map(|y| y * y).sum())
}

/// How many numbers all matches have together.
#[inline]
pub fn numbers(matches: &[Match]) -> usize {
    matches.iter().map(|m| m.dim).sum()
}

/// The correction of the pose that [`update`] would make.
#[derive(Clone, Copy, Debug)]
pub struct Correction {
    /// The noise n of the last motion.
    pub noise: [f64; 3],
    /// The correction of the pose without the effect of that noise, ξ − ν.
    pub rest_of_pose: Vector3<f64>,
}

/// Computes the correction that [`update`] would make to the pose and, in `rests`, to each matched landmark, without
/// the effect of the last motion's noise. The state is not changed.
///
/// # Errors
/// [`Singular`].
pub fn preview(
    state: &State,
    matches: &[Match],
    noise_rows: &[[f64; 3]],
    rests: &mut Vec<Vector2<f64>>,
    work: &mut Workspace,
) -> Result<Correction, Singular> {
    let (n, m) = (state.covariance.dim(), numbers(matches));
    gather(state, matches, work);
    innovation(state, matches, work);
    factor(&mut work.s, m)?;
    for k in 0..m {
        let sum: f64 = (0..k).map(|l| work.s[k * m + l] * work.y[l]).sum();
        work.y[k] = (work.y[k] - sum) / work.s[k * m + k];
    }
    weigh(work, m);
    let noise = noise_of_motion(state, matches, noise_rows, work);
    let rigid = |row: usize| noise_rows.get(row).map_or(0.0, |row| along(row, &noise));
    let columns = || work.w.chunks_exact(n).zip(&work.y);
    rests.clear();
    // Landmarks that are frozen are not corrected.
    let corrected = if state.is_frozen { 0 } else { matches.len() };
    rests.extend(matches[..corrected].iter().map(|matched| {
        let Subject::Landmark(i) = matched.subject else { return Vector2::zeros() };
        let row = state.covariance.row_of(i);
        let mut whole = Vector2::zeros();
        for (w, y) in columns() {
            whole += Vector2::new(w[row], w[row + 1]) * *y;
        }
        whole - Vector2::new(rigid(row), rigid(row + 1))
    }));
    let mut rest_of_pose = Vector3::zeros();
    if matches.iter().any(|m| m.subject == Subject::Pose) || state.is_frozen {
        for (w, y) in columns() {
            rest_of_pose += Vector3::new(w[0], w[1], w[2]) * *y;
        }
        rest_of_pose -= Vector3::new(rigid(0), rigid(1), rigid(2));
    }
    Ok(Correction { noise, rest_of_pose })
}

/// y ← L⁻ᵀ y: turns L⁻¹ r into S⁻¹ r.
fn weigh(work: &mut Workspace, m: usize) {
    for k in (0..m).rev() {
        let sum: f64 = (k + 1..m).map(|l| work.s[l * m + k] * work.y[l]).sum();
        work.y[k] = (work.y[k] - sum) / work.s[k * m + k];
    }
}

/// The expectation of n given the innovation, (H G L)ᵀ S⁻¹ r, with S⁻¹ r in y.
fn noise_of_motion(state: &State, matches: &[Match], noise_rows: &[[f64; 3]], work: &Workspace) -> [f64; 3] {
    let mut noise = [0.0; 3];
    let mut ys = work.y.as_slice();
    for m in matches {
        let (y, rest) = ys.split_at(m.dim);
        ys = rest;
        match m.subject {
            Subject::Landmark(i) if !state.is_frozen => {
                let row = state.covariance.row_of(i);
                let Some([first, second]) = noise_rows.get(row..row + 2) else { continue };
                let pull = |c: usize| y.iter().enumerate().map(|(d, y)| m.by_landmark[(d, c)] * y).sum::<f64>();
                let (x, y) = (pull(0), pull(1));
                for (k, sum) in noise.iter_mut().enumerate() {
                    *sum += first[k] * x + second[k] * y;
                }
            }
            Subject::Landmark(_) | Subject::Pose => {
                for (row, c) in noise_rows.iter().zip(0..POSE) {
                    let pull = y.iter().enumerate().map(|(d, y)| m.by_pose[(d, c)] * y).sum::<f64>();
                    for (k, sum) in noise.iter_mut().enumerate() {
                        *sum += row[k] * pull;
                    }
                }
            }
        }
    }
    noise
}

/// Row `d` of H G L: what the noise n of the last motion does to a number of a match.
pub fn noise_of_motion_by(state: &State, m: &Match, noise_rows: &[[f64; 3]], d: usize) -> [f64; 3] {
    let mut sum = [0.0; 3];
    let mut add = |factor: f64, row: &[f64; 3]| sum.iter_mut().zip(row).for_each(|(to, x)| *to += factor * x);
    match m.subject {
        Subject::Landmark(i) if !state.is_frozen => {
            let row = state.covariance.row_of(i);
            let Some([first, second]) = noise_rows.get(row..row + 2) else { return sum };
            add(m.by_landmark[(d, 0)], first);
            add(m.by_landmark[(d, 1)], second);
        }
        Subject::Landmark(_) | Subject::Pose => {
            noise_rows.iter().zip(0..POSE).for_each(|(row, c)| add(m.by_pose[(d, c)], row));
        }
    }
    sum
}

/// w = P Hᵀ and y = r.
fn gather(state: &State, matches: &[Match], work: &mut Workspace) {
    let p = &state.covariance;
    let n = p.dim();
    // What was there before is overwritten row by row.
    work.w.resize(numbers(matches) * n, 0.0);
    work.columns.resize((POSE + 2) * n, 0.0);
    work.y.clear();
    let (pose, columns) = work.columns.split_at_mut(POSE * n);
    if matches.iter().any(|m| m.sees_pose) {
        for (k, column) in pose.chunks_exact_mut(n).enumerate() {
            p.copy_column(k, column);
        }
    }
    let mut rest = work.w.as_mut_slice();
    for m in matches {
        let (rows, behind) = rest.split_at_mut(m.dim * n);
        rest = behind;
        let (c0, c1) = columns.split_at_mut(n);
        match m.subject {
            Subject::Landmark(i) => {
                p.copy_landmark_columns(i, c0, c1);
                for (d, row) in rows.chunks_exact_mut(n).enumerate() {
                    let (h0, h1) = (m.by_landmark[(d, 0)], m.by_landmark[(d, 1)]);
                    for ((a, x), y) in row.iter_mut().zip(c0.iter()).zip(c1.iter()) {
                        *a = h0 * x + h1 * y;
                    }
                }
            }
            Subject::Pose => rows.fill(0.0),
        }
        if m.sees_pose {
            for (k, column) in pose.chunks_exact(n).enumerate() {
                add_column(rows, column, |d| m.by_pose[(d, k)]);
            }
        }
        for (k, column) in state.calibration.sensor() {
            p.copy_column(Covariance::calibration_row(k), c0);
            let h = m.by_calibration.column(column);
            add_column(rows, c0, |d| h[d]);
        }
        if let Some(first) = m.time_correlated {
            for (k, h) in m.by_time_correlated.column_iter().enumerate() {
                p.copy_column(first + k, c0);
                add_column(rows, c0, |d| h[d]);
            }
        }
        work.y.extend_from_slice(&m.residual.as_slice()[..m.dim]);
    }
}

/// Row d of `rows` ← itself + h(d) `column`.
fn add_column(rows: &mut [f64], column: &[f64], h: impl Fn(usize) -> f64) {
    for (d, row) in rows.chunks_exact_mut(column.len()).enumerate() {
        let h = h(d);
        for (a, x) in row.iter_mut().zip(column) {
            *a += h * x;
        }
    }
}

/// s = H w + R, lower triangle.
fn innovation(state: &State, matches: &[Match], work: &mut Workspace) {
    let (n, m) = (state.covariance.dim(), numbers(matches));
    work.s.clear();
    work.s.resize(m * m, 0.0);
    let mut first = 0;
    for own in matches {
        let (w, rows) = (work.w.chunks_exact(n), work.s[first * m..].chunks_exact_mut(m));
        match own.dim {
            1 => innovation_rows::<1>(state, own, first, w, rows),
            2 => innovation_rows::<2>(state, own, first, w, rows),
            _ => innovation_rows::<3>(state, own, first, w, rows),
        }
        first += own.dim;
    }
}

/// The D rows of s that belong to a match whose numbers begin at `first`, up to the diagonal block.
fn innovation_rows<'s, const D: usize>(
    state: &State,
    own: &Match,
    first: usize,
    w: impl Iterator<Item = &'s [f64]>,
    mut rows: impl Iterator<Item = &'s mut [f64]>,
) {
    let mut rows: [&mut [f64]; D] = std::array::from_fn(|_| rows.next().unwrap_or_default());
    for (column, w) in w.take(first + D).enumerate() {
        for (row, value) in rows.iter_mut().zip(product::<D>(state, own, w)) {
            row[column] = value;
        }
    }
    for (k, row) in rows.iter_mut().enumerate() {
        for (d, s) in row[first..first + D].iter_mut().enumerate() {
            *s += own.noise[(k, d)];
        }
    }
}

/// The rows of H that belong to a match of D numbers, times a column w as long as the state.
#[inline]
fn product<const D: usize>(state: &State, m: &Match, w: &[f64]) -> [f64; D] {
    let mut product = [0.0; D];
    if let Subject::Landmark(i) = m.subject {
        let at = state.covariance.row_of(i);
        let (x, y) = (w[at], w[at + 1]);
        product = std::array::from_fn(|k| m.by_landmark[(k, 0)] * x + m.by_landmark[(k, 1)] * y);
    }
    if m.sees_pose {
        let h = &m.by_pose;
        for (k, sum) in product.iter_mut().enumerate() {
            *sum += h[(k, 0)] * w[0] + h[(k, 1)] * w[1] + h[(k, 2)] * w[2];
        }
    }
    if let Some(row) = m.time_correlated {
        let (x, y) = (w[row], w[row + 1]);
        for (k, sum) in product.iter_mut().enumerate() {
            *sum += m.by_time_correlated[(k, 0)] * x + m.by_time_correlated[(k, 1)] * y;
        }
    }
    for (parameter, c) in state.calibration.sensor() {
        let (known, h) = (w[Covariance::calibration_row(parameter)], m.by_calibration.column(c));
        for (k, sum) in product.iter_mut().enumerate() {
            *sum += h[k] * known;
        }
    }
    product
}

/// In-place Cholesky factor of the lower triangle of the m × m matrix s, row by row in memory. One column after the
/// other: its sums do not wait for each other.
pub fn factor(s: &mut [f64], m: usize) -> Result<(), Singular> {
    for j in 0..m {
        let (own, below) = s[j * m..].split_at_mut(m);
        let (known, rest) = own.split_at_mut(j);
        let pivot = rest[0] - known.iter().map(|a| a * a).sum::<f64>();
        // A pivot this small, relative to the variance, is rounding error.
        if !(pivot.is_finite() && pivot > 1e-13 * rest[0]) {
            return Err(Singular { is_indefinite: !pivot.is_finite() || pivot < -INDEFINITE * rest[0].abs() });
        }
        rest[0] = pivot.sqrt();
        for row in below.chunks_exact_mut(m) {
            let sum: f64 = known.iter().zip(&row[..j]).map(|(a, b)| a * b).sum();
            row[j] = (row[j] - sum) / rest[0];
        }
    }
    Ok(())
}

/// w ← w L⁻ᵀ, y ← L⁻¹ y.
fn solve(work: &mut Workspace, n: usize, m: usize) {
    kernel::solve_lower(&mut work.w, n, &work.s, m);
    for k in 0..m {
        let row = &work.s[k * m..k * m + k + 1];
        let sum: f64 = row[..k].iter().zip(&work.y).map(|(l, y)| l * y).sum();
        work.y[k] = (work.y[k] - sum) * (1.0 / row[k]);
    }
}
