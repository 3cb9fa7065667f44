//! The projection of a track's rows on the left null space of its landmark's Jacobian.
//!
//! With r = H x + F f + n, n white of variance one, x the errors of the clones and f that of the landmark, and F = Q U with
//! orthonormal columns Q, the rows Nᵀ of the left null space have Nᵀ F = 0 and N Nᵀ = I − Q Qᵀ. So
//!
//! ```math
//! Nᵀ r = Nᵀ H x + Nᵀ n,\qquad (NᵀH)ᵀ NᵀH = HᵀH - (QᵀH)ᵀ QᵀH,\qquad f = U^{-1}(Qᵀ r - Qᵀ H x - Qᵀ n)
//! ```
//!
//! and N itself is not needed: HᵀH is block diagonal, and the rest has rank three.

use crate::clone::PoseClone;
use crate::sight::Sight;
use crate::state::State;
use crate::update::Workspace;
use crate::window::information::Information;
use crate::window::track::MOST_VIEWS;
use lienav_lie::hat;
use nalgebra::{Matrix2x3, Matrix2x6, Matrix3, Matrix3x6, Vector2, Vector3};

const ROWS: usize = 2 * MOST_VIEWS;

/// The rows of a track.
#[derive(Clone, Debug)]
pub struct Projection {
    count: usize,
    /// Of each view: the clone by its place in the window, H by its six errors, and the residual.
    slots: [usize; MOST_VIEWS],
    pub(super) h: [Matrix2x6<f64>; MOST_VIEWS],
    pub(super) residual: [Vector2<f64>; MOST_VIEWS],
    /// F, then Q.
    pub(super) q: [Matrix2x3<f64>; MOST_VIEWS],
    upper: Matrix3<f64>,
    /// F and the residual, whitened by the covariance of all rows.
    white: [[f64; 4]; ROWS],
    factor: Box<[[f64; ROWS]; ROWS]>,
    sparse: Vec<(usize, f64)>,
}

impl Default for Projection {
    fn default() -> Self {
        Self {
            count: 0,
            slots: [0; MOST_VIEWS],
            h: [Matrix2x6::zeros(); MOST_VIEWS],
            residual: [Vector2::zeros(); MOST_VIEWS],
            q: [Matrix2x3::zeros(); MOST_VIEWS],
            upper: Matrix3::zeros(),
            white: [[0.0; 4]; ROWS],
            factor: Box::new([[0.0; ROWS]; ROWS]),
            sparse: Vec::with_capacity(3 * 6 * MOST_VIEWS),
        }
    }
}

impl Projection {
    /// Rows of these views of a landmark, by errors in these axes. Returns false where a view does not see it, or where F
    /// has no rank of three.
    pub fn fill(&mut self, sights: &[Sight], slots: &[usize], place: &Vector3<f64>, axes: &Matrix3<f64>) -> bool {
        self.count = sights.len();
        self.slots[..self.count].copy_from_slice(slots);
        for (k, sight) in sights.iter().enumerate() {
            let (Some((residual, _)), Some(by_place)) = (sight.see(place), sight.derivative(place)) else {
                return false;
            };
            let by_turn = by_place * hat(&(place - sight.at.0)) * axes;
            let by_place = by_place * axes;
            self.residual[k] = residual;
            self.h[k].fixed_columns_mut::<3>(0).copy_from(&-by_place);
            self.h[k].fixed_columns_mut::<3>(3).copy_from(&by_turn);
            self.q[k] = by_place;
        }
        for k in 0..self.count {
            for a in 0..2 {
                let f = self.q[k].row(a);
                self.white[2 * k + a] = [f[0], f[1], f[2], self.residual[k][a]];
            }
        }
        self.orthogonalize()
    }

    /// F = Q U by Gram and Schmidt, each column twice.
    fn orthogonalize(&mut self) -> bool {
        /// Less than this part of a column beside the others is rounding.
        const LEAST: f64 = 1e-9;
        let q = &mut self.q[..self.count];
        self.upper = Matrix3::zeros();
        for c in 0..3 {
            let whole = q.iter().map(|q| q.column(c).norm_squared()).sum::<f64>().sqrt();
            for _ in 0..2 {
                for b in 0..c {
                    let along: f64 = q.iter().map(|q| q.column(b).dot(&q.column(c))).sum();
                    self.upper[(b, c)] += along;
                    for q in q.iter_mut() {
                        let aside = q.column(c) - q.column(b) * along;
                        q.set_column(c, &aside);
                    }
                }
            }
            let norm = q.iter().map(|q| q.column(c).norm_squared()).sum::<f64>().sqrt();
            if norm.is_nan() || norm <= LEAST * whole {
                return false;
            }
            self.upper[(c, c)] = norm;
            for q in q.iter_mut() {
                let unit = q.column(c) / norm;
                q.set_column(c, &unit);
            }
        }
        true
    }

    /// |Nᵀr|², which is no less than the Mahalanobis distance.
    pub fn square(&self) -> f64 {
        let along = self.along_residual();
        self.residual[..self.count].iter().map(|r| r.norm_squared()).sum::<f64>() - along.norm_squared()
    }

    /// Qᵀr.
    fn along_residual(&self) -> Vector3<f64> {
        (0..self.count).map(|k| self.q[k].transpose() * self.residual[k]).sum()
    }

    /// Squared Mahalanobis distance of Nᵀr, with the clones' joint covariance row by row; `None` where that is invalid.
    /// With V = H P Hᵀ + I it is rᵀ V⁻¹ r less what the landmark explains of it.
    pub fn distance(&mut self, prior: &[f64], clones: usize) -> Option<f64> {
        let (n, rows) = (6 * clones, 2 * self.count);
        for i in 0..self.count {
            for j in 0..=i {
                let (first, second) = (6 * self.slots[i], 6 * self.slots[j]);
                let block = nalgebra::Matrix6::from_fn(|a, b| prior[(first + a) * n + second + b]);
                let v = self.h[i] * block * self.h[j].transpose();
                for a in 0..2 {
                    for b in 0..2 {
                        let own = if i == j && a == b { 1.0 } else { 0.0 };
                        self.factor[2 * i + a][2 * j + b] = v[(a, b)] + own;
                    }
                }
            }
        }
        for i in 0..rows {
            let (known, rest) = self.factor.split_at_mut(i);
            let row = &mut rest[0];
            for (j, other) in known.iter().enumerate() {
                let sum = row[j] - row[..j].iter().zip(&other[..j]).map(|(a, b)| a * b).sum::<f64>();
                row[j] = sum / other[j];
            }
            let own = row[i] - row[..i].iter().map(|a| a * a).sum::<f64>();
            if own.is_nan() || own <= 0.0 {
                return None;
            }
            row[i] = own.sqrt();
            let (before, white) = self.white.split_at_mut(i);
            for c in 0..4 {
                let known: f64 = row[..i].iter().zip(&*before).map(|(l, x)| l * x[c]).sum();
                white[0][c] = (white[0][c] - known) / row[i];
            }
        }
        let (mut information, mut vector, mut whole) = (Matrix3::zeros(), Vector3::zeros(), 0.0);
        for [x, y, z, r] in &self.white[..rows] {
            let f = Vector3::new(*x, *y, *z);
            information += f * f.transpose();
            vector += f * *r;
            whole += r * r;
        }
        let explained = vector.dot(&information.cholesky()?.solve(&vector));
        Some(whole - explained)
    }

    /// Adds (NᵀH)ᵀNᵀH and (NᵀH)ᵀNᵀr.
    pub fn add_to(&self, sum: &mut Information) {
        for k in 0..self.count {
            sum.add(self.slots[k], &(self.h[k].transpose() * self.h[k]), &(self.h[k].transpose() * self.residual[k]));
        }
        sum.subtract(
            self.slots[..self.count].iter().zip((0..self.count).map(|k| self.along(k))),
            &self.along_residual(),
        );
    }

    /// What the rows of view k add to QᵀH in the columns of its clone.
    fn along(&self, k: usize) -> Matrix3x6<f64> {
        self.q[k].transpose() * self.h[k]
    }

    /// Appends the landmark's rows to the covariance: f = U⁻¹(Qᵀr − QᵀH x − Qᵀn). Returns false, and changes nothing,
    /// where U has no inverse.
    pub fn append_to(&mut self, state: &mut State, clones: &[PoseClone], work: &mut Workspace) -> bool {
        let Some(inverse) = self.upper.try_inverse() else { return false };
        self.sparse.clear();
        let mut ends = [0; 4];
        for a in 0..3 {
            for k in 0..self.count {
                let (along, rows) = (self.along(k), clones[self.slots[k]].rows);
                self.sparse.extend((0..6).map(|c| (rows[c / 3] + c % 3, along[(a, c)])));
            }
            ends[a + 1] = self.sparse.len();
        }
        work.append(state, (&self.sparse, &ends), &-inverse, &(inverse * inverse.transpose()));
        true
    }
}
