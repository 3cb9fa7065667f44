//! The update: all measurements of an instant at once, by the Kalman gain.

pub mod dense;

use crate::chi_square::survival;
use crate::covariance::NAV;
use crate::filter::Filter;
use crate::kernel;
use crate::measurement::{Linearized, MOST};
use crate::state::State;
use crate::state::calibration::Calibration;
use crate::state::landmark::Landmark;
use crate::state::nav::Nav;
use lienav_lie::Se3;
use nalgebra::{Matrix3, SMatrix, SVector};

/// What came of an update.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Updated {
    /// It was done; the normalized innovation squared of the last linearization.
    Done(f64),
    /// It was not: the measurements contradict each other.
    Contradicted(Contradicted),
}

/// Measurements that are beyond their bounds, given all others, by their places in the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Contradicted {
    /// The one that is farthest beyond.
    pub worst: usize,
    /// Another one, where the data do not decide which of the two is wrong.
    pub other: Option<usize>,
}

/// Buffers of an update, which keep their allocations.
#[derive(Clone, Debug, Default)]
pub struct Workspace {
    /// P Hᵀ, then W = P Hᵀ L⁻ᵀ; column by column, a column as long as the state.
    w: Vec<f64>,
    /// S = H P Hᵀ + R, then its Cholesky factor L; lower triangle, row by row.
    s: Vec<f64>,
    /// Residual, then L⁻¹ times it.
    y: Vec<f64>,
    /// Rows of H, one after the other, and where each begins.
    h: Vec<(usize, f64)>,
    rows: Vec<usize>,
    /// Columns of P.
    panel: Vec<f64>,
    /// Rows of W, of updates by dense rows.
    met: Vec<f64>,
    /// W y.
    delta: Vec<f64>,
    /// How the correction transforms the error of each landmark.
    blocks: Vec<Matrix3<f64>>,
    /// The mean before an update.
    mean: Mean,
    again: Vec<Linearized>,
    single: Vec<Linearized>,
}

/// A state without its covariance.
#[derive(Clone, Debug, Default)]
struct Mean {
    nav: Nav,
    calibration: Calibration,
    mounts: Vec<Se3>,
    landmarks: Vec<Landmark>,
}

impl Mean {
    fn keep(&mut self, state: &State) {
        (self.nav, self.calibration) = (state.nav, state.calibration);
        self.mounts.clone_from(&state.mounts);
        self.landmarks.clear();
        self.landmarks.extend_from_slice(&state.landmarks);
    }

    fn restore(&self, state: &mut State) {
        (state.nav, state.calibration) = (self.nav, self.calibration);
        state.mounts.copy_from_slice(&self.mounts);
        state.landmarks.copy_from_slice(&self.landmarks);
    }
}

/// The innovation covariance is not positive definite: nothing was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the covariance of the innovation is not positive definite")]
pub struct Singular;

impl Workspace {
    /// Room for states of so many rows and updates of so many numbers.
    pub fn reserve(&mut self, rows: usize, numbers: usize) {
        self.w.reserve(rows * numbers);
        self.s.reserve(numbers * numbers);
        self.y.reserve(numbers);
        self.h.reserve(rows.min(64) * numbers);
        self.rows.reserve(numbers + 1);
        self.panel.reserve(rows * rows.min(MOST_COLUMNS));
        self.delta.reserve(3 * rows);
        self.blocks.reserve(rows / 3);
        self.mean.landmarks.reserve(rows / 3);
        self.again.reserve(numbers);
        self.single.reserve(1);
    }

    /// Room for states of so many rows and updates by so many rows that have as many columns.
    pub fn reserve_rows(&mut self, rows: usize, numbers: usize) {
        self.reserve(rows, numbers);
        self.met.reserve(numbers * numbers);
        self.panel.reserve(rows * numbers);
    }

    /// Squared Mahalanobis distance of the residual of one measurement; `None` where S is not positive definite.
    pub fn distance(&mut self, state: &State, one: &Linearized) -> Option<f64> {
        self.begin(state, std::slice::from_ref(one));
        let m = one.dim;
        self.s.clear();
        self.s.resize(m * m, 0.0);
        for i in 0..m {
            for j in 0..=i {
                let [a, b] = [i, j].map(|k| &self.h[self.rows[k]..self.rows[k + 1]]);
                let along = |p: usize| b.iter().map(|(q, f)| f * state.covariance.get(p, *q)).sum::<f64>();
                self.s[i * m + j] = a.iter().map(|(p, f)| f * along(*p)).sum::<f64>() + one.noise[(i, j)];
            }
        }
        self.factor().ok()?;
        self.residual(std::slice::from_ref(one));
        Some(self.y.iter().map(|y| y * y).sum())
    }

    /// Rows of H, and P Hᵀ.
    fn gather(&mut self, state: &State, all: &[Linearized]) {
        self.begin(state, all);
        self.multiply(state);
    }

    /// Rows of H.
    fn begin(&mut self, state: &State, all: &[Linearized]) {
        self.h.clear();
        self.rows.clear();
        for one in all {
            let first = one.landmark.map_or(0, |i| state.covariance.row_of(i));
            for a in 0..one.dim {
                self.rows.push(self.h.len());
                let nav = (0..NAV).map(|c| (c, one.by_nav[(a, c)]));
                let calibrated = state.calibration.columns().enumerate();
                let calibration = calibrated.map(|(c, column)| (NAV + c, one.by_calibration[(a, column)]));
                let landmark = (0..3).map(|c| (first + c, one.by_landmark[(a, c)]));
                self.h.extend(nav.chain(calibration).chain(landmark).filter(|(_, factor)| *factor != 0.0));
            }
        }
        self.rows.push(self.h.len());
    }

    /// P Hᵀ. Rows of one measurement have the same columns of P, which are copied once.
    fn multiply(&mut self, state: &State) {
        let n = state.covariance.dim();
        let m = self.rows.len() - 1;
        self.w.resize(m * n, 0.0);
        let mut known: &[(usize, f64)] = &[];
        for (column, ends) in self.w.chunks_exact_mut(n).zip(self.rows.windows(2)) {
            let h = &self.h[ends[0]..ends[1]];
            let is_known = h.len() == known.len() && h.iter().zip(known).all(|(a, b)| a.0 == b.0);
            if !is_known {
                state.covariance.copy_columns(h, &mut self.panel);
                known = h;
            }
            column.fill(0.0);
            for ((_, factor), part) in h.iter().zip(self.panel.chunks_exact(n)) {
                column.iter_mut().zip(part).for_each(|(x, p)| *x += factor * p);
            }
        }
    }

    /// S = H P Hᵀ + R.
    fn innovation(&mut self, n: usize, all: &[Linearized]) {
        let m = self.rows.len() - 1;
        self.s.clear();
        self.s.resize(m * m, 0.0);
        for i in 0..m {
            let h = &self.h[self.rows[i]..self.rows[i + 1]];
            for j in 0..=i {
                let column = &self.w[j * n..(j + 1) * n];
                self.s[i * m + j] = h.iter().map(|(row, factor)| factor * column[*row]).sum();
            }
        }
        let mut first = 0;
        for one in all {
            for a in 0..one.dim {
                for b in 0..=a {
                    self.s[(first + a) * m + first + b] += one.noise[(a, b)];
                }
            }
            first += one.dim;
        }
    }

    /// S = L Lᵀ.
    fn factor(&mut self) -> Result<(), Singular> {
        let m = self.rows.len() - 1;
        for i in 0..m {
            for j in 0..=i {
                let (row, other) = (&self.s[i * m..i * m + j], &self.s[j * m..j * m + j]);
                let sum = self.s[i * m + j] - row.iter().zip(other).map(|(a, b)| a * b).sum::<f64>();
                if i > j {
                    self.s[i * m + j] = sum / self.s[j * m + j];
                } else if sum > 0.0 && sum.is_finite() {
                    self.s[i * m + i] = sum.sqrt();
                } else {
                    return Err(Singular);
                }
            }
        }
        Ok(())
    }

    /// y = L⁻¹ r.
    fn residual(&mut self, all: &[Linearized]) {
        self.y.clear();
        self.y.extend(all.iter().flat_map(|one| one.residual.iter().take(one.dim).copied()));
        self.whiten();
    }

    /// y ← L⁻¹ y.
    fn whiten(&mut self) {
        let m = self.rows.len() - 1;
        for i in 0..m {
            let known = self.s[i * m..i * m + i].iter().zip(&self.y).map(|(l, y)| l * y).sum::<f64>();
            self.y[i] = (self.y[i] - known) / self.s[i * m + i];
        }
    }

    /// L, y = L⁻¹ r and W of linearized measurements; the normalized innovation squared.
    fn solve(&mut self, state: &State, all: &[Linearized]) -> Result<f64, Singular> {
        let n = state.covariance.dim();
        self.gather(state, all);
        self.innovation(n, all);
        self.factor()?;
        self.residual(all);
        let nis = self.y.iter().map(|y| y * y).sum::<f64>();
        if !nis.is_finite() {
            return Err(Singular);
        }
        self.gain(n);
        Ok(nis)
    }

    /// Moves the mean of the state to where all measurements agree best with its prior; W and y are those of the last
    /// linearization, of which this gives the normalized innovation squared.
    fn iterate(
        &mut self,
        state: &mut State,
        all: &mut Vec<Linearized>,
        filter: &Filter,
        again: impl Fn(usize, &State) -> Option<Linearized>,
    ) -> Result<f64, Singular> {
        let n = state.covariance.dim();
        let mut nis = self.solve(state, all)?;
        for iteration in 1.. {
            self.correction(n);
            state.move_mean(&self.delta, filter, &mut self.blocks);
            if iteration == ITERATIONS || !self.relinearize(state, all, &again) {
                break;
            }
            self.mean.restore(state);
            std::mem::swap(all, &mut self.again);
            nis = self.solve(state, all)?;
        }
        Ok(nis)
    }

    /// The squared distance of a measurement where it agrees best with the prior: the least of
    /// |δ|² in units of P plus |residual|² in units of the noise. The state is the same afterwards.
    pub fn least_distance(
        &mut self,
        state: &mut State,
        one: &Linearized,
        filter: &Filter,
        again: impl Fn(&State) -> Option<Linearized>,
    ) -> Option<f64> {
        let mut single = std::mem::take(&mut self.single);
        single.clear();
        single.push(*one);
        self.mean.keep(state);
        let distance = self.iterate(state, &mut single, filter, |_, moved| again(moved)).ok();
        self.mean.restore(state);
        self.single = single;
        distance
    }

    /// Linearizes again at the moved state, if the residuals there are not what the linearization predicts: r − H δ.
    fn relinearize(
        &mut self,
        state: &State,
        all: &[Linearized],
        again: impl Fn(usize, &State) -> Option<Linearized>,
    ) -> bool {
        self.again.clear();
        let (mut row, mut is_linear) = (0, true);
        for (k, one) in all.iter().enumerate() {
            let Some(mut new) = again(k, state) else { return false };
            if let (Some(i), false) = (new.landmark, self.blocks.is_empty()) {
                new.by_landmark *= self.blocks[i];
            }
            for a in 0..one.dim {
                let h = &self.h[self.rows[row]..self.rows[row + 1]];
                let shown = h.iter().map(|(c, factor)| factor * self.delta[*c]).sum::<f64>();
                let off = new.residual[a] - (one.residual[a] - shown);
                is_linear &= off.abs() < LINEAR * one.noise[(a, a)].sqrt();
                row += 1;
            }
            self.again.push(new);
        }
        if is_linear {
            return false;
        }
        // r + H δ with the new H.
        let (delta, calibrated) = (&self.delta, state.calibration);
        for new in &mut self.again {
            let first = new.landmark.map(|i| state.covariance.row_of(i));
            for a in 0..new.dim {
                let nav = (0..NAV).map(|c| new.by_nav[(a, c)] * delta[c]).sum::<f64>();
                let columns = calibrated.columns().enumerate();
                let calibration = columns.map(|(c, k)| new.by_calibration[(a, k)] * delta[NAV + c]).sum::<f64>();
                let landmark = first.map_or(0.0, |row| (0..3).map(|c| new.by_landmark[(a, c)] * delta[row + c]).sum());
                new.residual[a] += nav + calibration + landmark;
            }
        }
        true
    }

    /// x ← x ⊞ W y, P ← P − W Wᵀ.
    fn finish(&mut self, state: &mut State, filter: &Filter) {
        let n = state.covariance.dim();
        self.gain(n);
        self.correction(n);
        state.covariance.subtract_outer(&self.w);
        state.boxplus(&self.delta, filter, &mut self.blocks);
    }

    /// δ = W y.
    fn correction(&mut self, n: usize) {
        self.delta.clear();
        self.delta.resize(n, 0.0);
        for (column, y) in self.w.chunks_exact(n).zip(&self.y) {
            self.delta.iter_mut().zip(column).for_each(|(d, w)| *d += w * y);
        }
    }

    /// Appends three rows x = M (H x_before) + e with Cov(e) = `own` to the covariance.
    pub fn append(
        &mut self,
        state: &mut State,
        (sparse, ends): (&[(usize, f64)], &[usize]),
        by: &Matrix3<f64>,
        own: &Matrix3<f64>,
    ) {
        self.h.clear();
        self.h.extend_from_slice(sparse);
        self.rows.clear();
        self.rows.extend_from_slice(ends);
        self.multiply(state);
        let n = state.covariance.dim();
        self.innovation(n, &[]);
        let s = &self.s;
        let inner = Matrix3::from_fn(|i, j| if i >= j { s[3 * i + j] } else { s[3 * j + i] });
        self.delta.clear();
        self.delta.resize(3 * n, 0.0);
        for (a, row) in self.delta.chunks_exact_mut(n).enumerate() {
            for (c, column) in self.w.chunks_exact(n).enumerate() {
                row.iter_mut().zip(column).for_each(|(x, y)| *x += by[(a, c)] * y);
            }
        }
        state.covariance.append_rows(&self.delta, &(by * inner * by.transpose() + own));
    }

    /// The measurement that is farthest beyond its bound, given the prior and all others: with λ = S⁻¹ r, its squared
    /// distance to what they predict of it is λ_kᵀ (S⁻¹)_kk⁻¹ λ_k, by which the normalized innovation squared would
    /// shrink without it.
    ///
    /// The farthest of n is beyond its bound by chance n times as often as one.
    fn contradicted(&mut self, all: &[Linearized], nis: f64, gate: f64) -> Option<Contradicted> {
        let m = self.rows.len() - 1;
        if all.len() < 2 || survival(m, nis) > 1.0 - SCREEN {
            return None;
        }
        // λ = L⁻ᵀ y.
        self.delta.clear();
        self.delta.extend_from_slice(&self.y);
        for i in (0..m).rev() {
            self.delta[i] /= self.s[i * m + i];
            let value = self.delta[i];
            (0..i).for_each(|j| self.delta[j] -= self.s[i * m + j] * value);
        }
        let (mut first, mut best, mut next) = (0, (None, 0.0), (None, 0.0));
        for (k, one) in all.iter().enumerate() {
            let distance = self.distance_to_others(first, one.dim);
            let is_beyond = survival(one.dim, distance) < (1.0 - gate) / all.len() as f64;
            if is_beyond && distance > best.1 {
                (best, next) = ((Some(k), distance), best);
            } else if is_beyond && distance > next.1 {
                next = (Some(k), distance);
            }
            first += one.dim;
        }
        let is_undecided = best.1 - next.1 < 2.0 * DECIDED;
        best.0.map(|k| Contradicted { worst: k, other: next.0.filter(|_| is_undecided) })
    }

    /// λ_kᵀ (S⁻¹)_kk⁻¹ λ_k of the numbers from a row on; λ is in `delta`.
    fn distance_to_others(&mut self, first: usize, dim: usize) -> f64 {
        let m = self.rows.len() - 1;
        let mut inverse = SMatrix::<f64, MOST, MOST>::identity();
        // Columns of L⁻¹ from the first row of the measurement on.
        self.panel.clear();
        self.panel.resize(dim * m, 0.0);
        for (a, column) in self.panel.chunks_exact_mut(m).enumerate() {
            column[first + a] = 1.0;
            for i in first..m {
                let row = &self.s[i * m + first..i * m + i];
                let known: f64 = row.iter().zip(&column[first..i]).map(|(l, x)| l * x).sum();
                column[i] = (column[i] - known) / self.s[i * m + i];
            }
        }
        for a in 0..dim {
            for b in 0..dim {
                let [x, y] = [a, b].map(|k| &self.panel[k * m..(k + 1) * m]);
                inverse[(a, b)] = x.iter().zip(y).map(|(x, y)| x * y).sum();
            }
        }
        let mut lambda = SVector::<f64, MOST>::zeros();
        (0..dim).for_each(|a| lambda[a] = self.delta[first + a]);
        inverse.cholesky().map_or(0.0, |factor| lambda.dot(&factor.solve(&lambda)))
    }

    /// W = P Hᵀ L⁻ᵀ.
    fn gain(&mut self, n: usize) {
        kernel::solve_lower(&mut self.w, n, &self.s);
    }
}

/// A row of H has so many columns: six for each of twelve views.
const MOST_COLUMNS: usize = 72;

/// Measurements are tested against each other where their normalized innovation squared is beyond this probability.
const SCREEN: f64 = 0.95;

/// With log odds beyond this, the data decide which of two measurements is wrong: ten to one.
const DECIDED: f64 = std::f64::consts::LN_10;

/// An update is linearized so often at most.
const ITERATIONS: usize = 5;

/// The linearization is good if it predicts each residual after the update to this part of the noise.
const LINEAR: f64 = 0.2;

/// Updates the state by linearized measurements: S = H P Hᵀ + R = L Lᵀ, W = P Hᵀ L⁻ᵀ, x ← x ⊞ W L⁻¹ r,
/// P ← P − W Wᵀ, which stays symmetric to the last bit. A row of P Hᵀ that is exactly zero leaves its row of the
/// covariance untouched.
///
/// Where the residuals after the update are not those that the linearization predicts, it is linearized again at the
/// new estimate x₀ ⊞ δ, with r + H δ for r (iterated extended Kalman filter, Bell and Cathey 1993); `again` gives the
/// k-th measurement at the moved state. Where the measurements do not agree with each other, nothing is changed, and the
/// one that contradicts prior and others most is named.
///
/// # Errors
/// [`Singular`]: nothing was changed.
pub fn update(
    state: &mut State,
    all: &mut Vec<Linearized>,
    filter: &Filter,
    work: &mut Workspace,
    again: impl Fn(usize, &State) -> Option<Linearized>,
) -> Result<Updated, Singular> {
    if all.is_empty() {
        return Ok(Updated::Done(0.0));
    }
    work.mean.keep(state);
    let nis = work.iterate(state, all, filter, again).inspect_err(|_| work.mean.restore(state))?;
    if let Some(k) = work.contradicted(all, nis, filter.gate) {
        work.mean.restore(state);
        return Ok(Updated::Contradicted(k));
    }
    state.covariance.subtract_outer(&work.w);
    if !work.blocks.is_empty() {
        state.covariance.transform_landmarks(&work.blocks);
    }
    Ok(Updated::Done(nis))
}

/// Updates the state by whitened rows of H with their residuals, given sparse: row k is `sparse[ends[k]..ends[k + 1]]`.
/// Gives the normalized innovation squared; `None`, with nothing changed, where they fail the gate.
pub fn update_rows(
    state: &mut State,
    (sparse, ends, residual): (&[(usize, f64)], &[usize], &[f64]),
    gate: f64,
    filter: &Filter,
    work: &mut Workspace,
) -> Option<f64> {
    let n = state.covariance.dim();
    work.h.clear();
    work.h.extend_from_slice(sparse);
    work.rows.clear();
    work.rows.extend_from_slice(ends);
    work.multiply(state);
    work.innovation(n, &[]);
    let m = residual.len();
    (0..m).for_each(|i| work.s[i * m + i] += 1.0);
    work.y.clear();
    work.y.extend_from_slice(residual);
    if work.factor().is_err() {
        return None;
    }
    work.whiten();
    let distance = work.y.iter().map(|y| y * y).sum::<f64>();
    if distance.is_nan() || distance > gate {
        return None;
    }
    work.finish(state, filter);
    Some(distance)
}
