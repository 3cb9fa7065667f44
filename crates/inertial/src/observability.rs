//! What a filter takes for observable along its linearization points.

use crate::covariance::NAV;
use crate::filter::{Filter, Linearization};
use crate::measurement::Linearized;
use crate::state::State;
use crate::state::errors::{Errors, POSITION, ROTATION, VELOCITY};
use crate::state::landmark::Kind;
use nalgebra::{DMatrix, Vector3};

/// The directions that landmarks and an inertial sensor cannot see, as columns in the coordinates of the filter: the
/// turn about the vertical, then three shifts.
pub fn unobservable(state: &State, filter: &Filter) -> DMatrix<f64> {
    let mut n = DMatrix::zeros(state.covariance.dim(), 4);
    let up = Vector3::z();
    // The points at which the filter has to keep them: predictions, for those that constrain themselves to them.
    let nav = if filter.linearization == Linearization::Current { state.nav } else { state.predicted };
    n.view_mut((ROTATION, 0), (3, 1)).copy_from(&up);
    n.view_mut((POSITION, 1), (3, 3)).fill_with_identity();
    if filter.errors == Errors::Left {
        return n;
    }
    n.view_mut((POSITION, 0), (3, 1)).copy_from(&up.cross(&nav.position));
    if filter.errors == Errors::Additive {
        n.view_mut((VELOCITY, 0), (3, 1)).copy_from(&up.cross(&nav.velocity));
        for (i, landmark) in state.landmarks.iter().enumerate() {
            if matches!(landmark.kind, Kind::CloneRotation(_)) {
                n.view_mut((state.covariance.row_of(i), 0), (3, 1)).copy_from(&up);
                continue;
            }
            let place = if filter.linearization == Linearization::Current { landmark.position } else { landmark.first };
            n.view_mut((state.covariance.row_of(i), 0), (3, 1)).copy_from(&up.cross(&place));
            n.view_mut((state.covariance.row_of(i), 1), (3, 3)).fill_with_identity();
        }
    }
    n
}

/// H of a linearized measurement as a full matrix.
pub fn measurement_matrix(state: &State, one: &Linearized) -> DMatrix<f64> {
    let mut h = DMatrix::zeros(one.dim, state.covariance.dim());
    for a in 0..one.dim {
        (0..NAV).for_each(|c| h[(a, c)] = one.by_nav[(a, c)]);
        state.calibration.columns().enumerate().for_each(|(c, k)| h[(a, NAV + c)] = one.by_calibration[(a, k)]);
        if let Some(i) = one.landmark {
            (0..3).for_each(|c| h[(a, state.covariance.row_of(i) + c)] = one.by_landmark[(a, c)]);
        }
    }
    h
}

/// The observability matrix of a run, as it grows: rows H_k Φ_{k−1} … Φ_0, with the information Σ OᵀO of their columns.
#[derive(Clone, Debug)]
pub struct Observability {
    /// Φ_{k−1} … Φ_0.
    transition: DMatrix<f64>,
    rows: Vec<DMatrix<f64>>,
}

impl Observability {
    /// Of a state with so many rows, before the run.
    pub fn new(dim: usize) -> Self {
        Self { transition: DMatrix::identity(dim, dim), rows: Vec::new() }
    }

    /// The state was propagated by this transition.
    pub fn propagate(&mut self, transition: &DMatrix<f64>) {
        self.transition = transition * &self.transition;
    }

    /// Something was measured, with this H.
    pub fn measure(&mut self, h: &DMatrix<f64>) {
        self.rows.push(h * &self.transition);
    }

    /// Singular values, greatest first, of the matrix with columns of length one.
    pub fn singular_values(&self) -> Vec<f64> {
        let (height, n) = (self.rows.iter().map(DMatrix::nrows).sum(), self.transition.ncols());
        let (mut all, mut first) = (DMatrix::zeros(height, n), 0);
        for rows in &self.rows {
            all.rows_mut(first, rows.nrows()).copy_from(rows);
            first += rows.nrows();
        }
        for mut column in all.column_iter_mut() {
            let norm = column.norm();
            if norm > 0.0 {
                column /= norm;
            }
        }
        let mut values: Vec<f64> = all.svd(false, false).singular_values.iter().copied().collect();
        values.sort_by(|a, b| b.total_cmp(a));
        values
    }

    /// How much each of these directions (columns) is seen: the length of its image, where the direction has length one
    /// in the scaled columns of [`singular_values`](Self::singular_values).
    pub fn seen(&self, directions: &DMatrix<f64>) -> Vec<f64> {
        let mut squares = vec![0.0; self.transition.ncols()];
        for rows in &self.rows {
            squares.iter_mut().zip(rows.column_iter()).for_each(|(sum, column)| *sum += column.norm_squared());
        }
        let seen = |direction: nalgebra::DVectorView<f64>| {
            let image: f64 = self.rows.iter().map(|rows| (rows * direction).norm_squared()).sum();
            let length: f64 =
                direction.iter().zip(&squares).map(|(x, square)| x * x * square.max(f64::MIN_POSITIVE)).sum();
            if image > 0.0 { (image / length).sqrt() } else { 0.0 }
        };
        directions.column_iter().map(seen).collect()
    }

    /// How many directions are not seen: singular values below this part of the greatest.
    pub fn rank_deficiency(&self, tolerance: f64) -> usize {
        let values = self.singular_values();
        values.iter().filter(|value| **value <= tolerance * values[0]).count()
    }
}
