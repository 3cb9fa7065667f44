//! The update: all matches of an instant at once, by the Kalman gain.

use super::covariance::{Covariance, POSE};
use super::kernel;
use super::measure::Match;
use super::retract::retract;
use super::state::State;
use super::{Coordinates, Retraction};
use nalgebra::{Matrix2, Vector2, Vector3};

/// Room for the products of an update; keeps its allocation.
#[derive(Clone, Debug, Default)]
pub struct Workspace {
    /// P Hᵀ, then P Hᵀ L⁻ᵀ; column by column, a column as long as the state.
    w: Vec<f64>,
    /// H P Hᵀ + R, then its Cholesky factor L, lower triangle, row by row.
    s: Vec<f64>,
    /// Residual, then L⁻¹ times it.
    y: Vec<f64>,
    /// Two columns of P.
    columns: Vec<f64>,
    /// P Hᵀ L⁻ᵀ L⁻¹ r.
    delta: Vec<f64>,
    /// Of `delta`, what makes good the noise of the last motion.
    rigid: Vec<f64>,
    /// What the correction did to the error of each feature.
    blocks: Vec<Matrix2<f64>>,
}

/// The innovation covariance is not positive definite: nothing was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Singular;

/// What an update did.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Updated {
    /// Normalised innovation squared of all matches together.
    pub nis: f64,
    /// The noise n of the last motion that the correction made good; zero where nothing was split off.
    pub noise: [f64; 3],
}

/// Updates the state by `matches`. `noise_rows` is what the noise of the last
/// motion did to every error, G L with noise L n, n ~ N(0, I); only [`Retraction::Split`] reads it.
///
/// With S = H P Hᵀ + R = L Lᵀ and W = P Hᵀ L⁻ᵀ: x ← x + W L⁻¹ r, P ← P − W Wᵀ. In robot coordinates H = [0 | H_O], and this is
/// the reduced Bayesian update (Shen 2019, eq. (5.24)) in covariance form: where Σ_NO = 0 the rows of W that belong to the
/// pose are exactly zero.
///
/// # Errors
/// [`Singular`].
pub fn update(
    state: &mut State,
    matches: &[Match],
    retraction: Retraction,
    noise_rows: &[[f64; 3]],
    work: &mut Workspace,
) -> Result<Updated, Singular> {
    if matches.is_empty() {
        return Ok(Updated::default());
    }
    let (n, m) = (state.covariance.dim(), 2 * matches.len());
    gather(state, matches, work);
    innovation(state, matches, work);
    factor(&mut work.s, m)?;
    solve(work, n, m);
    let nis = work.y.iter().map(|y| y * y).sum::<f64>();
    if !nis.is_finite() {
        return Err(Singular);
    }

    work.delta.clear();
    work.delta.resize(n, 0.0);
    for (column, y) in work.w.chunks_exact(n).zip(&work.y) {
        for (d, w) in work.delta.iter_mut().zip(column) {
            *d += w * y;
        }
    }
    state.covariance.subtract_outer(&work.w, m);
    work.rigid.clear();
    work.rigid.resize(n, 0.0);
    let mut noise = [0.0; 3];
    if matches!(retraction, Retraction::Split(_)) {
        weigh(work, m);
        noise = noise_of_motion(state, matches, noise_rows, work);
        for (part, row) in work.rigid.iter_mut().zip(noise_rows) {
            *part = along(row, &noise);
        }
    }
    retract(state, &work.delta, &work.rigid, retraction, &mut work.blocks);
    Ok(Updated { nis, noise })
}

/// The correction that [`update`] would make to each matched feature, in `corrections`, and to the pose for the noise of
/// the last motion, ν, which is given back; nothing is changed.
///
/// # Errors
/// [`Singular`].
pub fn preview(
    state: &State,
    matches: &[Match],
    noise_rows: &[[f64; 3]],
    rests: &mut Vec<Vector2<f64>>,
    work: &mut Workspace,
) -> Result<[f64; 3], Singular> {
    let (n, m) = (state.covariance.dim(), 2 * matches.len());
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
    rests.clear();
    rests.extend(matches.iter().map(|matched| {
        let row = state.covariance.row_of(matched.feature);
        let mut whole = Vector2::zeros();
        for (w, y) in work.w.chunks_exact(n).zip(&work.y) {
            whole += Vector2::new(w[row], w[row + 1]) * *y;
        }
        whole - Vector2::new(rigid(row), rigid(row + 1))
    }));
    Ok(noise)
}

/// y ← L⁻ᵀ y: of L⁻¹ r it makes S⁻¹ r.
fn weigh(work: &mut Workspace, m: usize) {
    for k in (0..m).rev() {
        let sum: f64 = (k + 1..m).map(|l| work.s[l * m + k] * work.y[l]).sum();
        work.y[k] = (work.y[k] - sum) / work.s[k * m + k];
    }
}

/// The expectation of n given the innovation, (H G L)ᵀ S⁻¹ r, with S⁻¹ r in y.
fn noise_of_motion(state: &State, matches: &[Match], noise_rows: &[[f64; 3]], work: &Workspace) -> [f64; 3] {
    let mut noise = [0.0; 3];
    for (m, y) in matches.iter().zip(work.y.chunks_exact(2)) {
        let row = state.covariance.row_of(m.feature);
        let Some([first, second]) = noise_rows.get(row..row + 2) else { continue };
        let pull = m.feature_jacobian.transpose() * Vector2::new(y[0], y[1]);
        for (k, sum) in noise.iter_mut().enumerate() {
            *sum += first[k] * pull.x + second[k] * pull.y;
        }
    }
    noise
}

pub fn along(row: &[f64; 3], noise: &[f64; 3]) -> f64 {
    row[0] * noise[0] + row[1] * noise[1] + row[2] * noise[2]
}

/// w = P Hᵀ and y = r.
fn gather(state: &State, matches: &[Match], work: &mut Workspace) {
    let p = &state.covariance;
    let n = p.dim();
    work.w.clear();
    work.w.resize(2 * matches.len() * n, 0.0);
    work.columns.clear();
    work.columns.resize(2 * n, 0.0);
    work.y.clear();
    for (pair, m) in work.w.chunks_exact_mut(2 * n).zip(matches) {
        let (first, second) = pair.split_at_mut(n);
        let (c0, c1) = work.columns.split_at_mut(n);
        p.copy_column(p.row_of(m.feature), c0);
        p.copy_column(p.row_of(m.feature) + 1, c1);
        let h = &m.feature_jacobian;
        for (((a, b), x), y) in first.iter_mut().zip(second.iter_mut()).zip(c0.iter()).zip(c1.iter()) {
            *a = h[(0, 0)] * x + h[(0, 1)] * y;
            *b = h[(1, 0)] * x + h[(1, 1)] * y;
        }
        if state.coordinates == Coordinates::World {
            for k in 0..POSE {
                p.copy_column(k, c0);
                let (h0, h1) = (m.pose_jacobian[(0, k)], m.pose_jacobian[(1, k)]);
                for ((a, b), x) in first.iter_mut().zip(second.iter_mut()).zip(c0.iter()) {
                    *a += h0 * x;
                    *b += h1 * x;
                }
            }
        }
        for (k, column) in state.calibration.sensor() {
            p.copy_column(Covariance::calibration_row(k), c0);
            let (h0, h1) = (m.calibration_jacobian[(0, column)], m.calibration_jacobian[(1, column)]);
            for ((a, b), x) in first.iter_mut().zip(second.iter_mut()).zip(c0.iter()) {
                *a += h0 * x;
                *b += h1 * x;
            }
        }
        work.y.extend([m.residual.x, m.residual.y]);
    }
}

/// s = H w + R, lower triangle.
fn innovation(state: &State, matches: &[Match], work: &mut Workspace) {
    let (n, m) = (state.covariance.dim(), 2 * matches.len());
    work.s.clear();
    work.s.resize(m * m, 0.0);
    for (column, w) in work.w.chunks_exact(n).enumerate() {
        for (k, matched) in matches.iter().enumerate().skip(column / 2) {
            let at = state.covariance.row_of(matched.feature);
            let x = Vector2::new(w[at], w[at + 1]);
            let mut value = matched.feature_jacobian * x;
            if state.coordinates == Coordinates::World {
                value += matched.pose_jacobian * Vector3::new(w[0], w[1], w[2]);
            }
            for (parameter, c) in state.calibration.sensor() {
                value += matched.calibration_jacobian.column(c) * w[Covariance::calibration_row(parameter)];
            }
            if k == column / 2 {
                value += matched.noise.column(column % 2);
            }
            work.s[2 * k * m + column] = value.x;
            work.s[(2 * k + 1) * m + column] = value.y;
        }
    }
}

/// In-place Cholesky factor of the lower triangle of the m × m matrix s.
fn factor(s: &mut [f64], m: usize) -> Result<(), Singular> {
    for i in 0..m {
        let (above, row) = s.split_at_mut(i * m);
        for j in 0..i {
            let known: f64 = above[j * m..j * m + j].iter().zip(&row[..j]).map(|(a, b)| a * b).sum();
            row[j] = (row[j] - known) / above[j * m + j];
        }
        let pivot = row[i] - row[..i].iter().map(|a| a * a).sum::<f64>();
        // Relative to the variance itself: a pivot that is rounding only is none.
        if pivot.is_finite() && pivot > 1e-13 * row[i] {
            row[i] = pivot.sqrt();
        } else {
            return Err(Singular);
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
