//! Six numbers of the state: six of its rows, or sums of these and of the six of a mount.
//!
//! The pose of a sensor whose mount has errors is Exp(ξ + n) Ĉ, n = Ad_X (ε, τ + t_s^ ε), and that of a tag Exp(ξ + n_i) T̂_i,
//! n_i = (a_i, e_i + p̂_i^ a_i): what the one sees of the other depends on n_i − n, and on −ξ − n where the tag is known.

use crate::landmark::TagRows;
use crate::mounted::{Term, mount_term};
use lienav_inertial::covariance::Covariance;
use lienav_inertial::state::State;
use lienav_inertial::state::errors::{POSITION, ROTATION};
use lienav_inertial::state::retract::about_body;
use nalgebra::{Matrix6, SMatrix};

/// Six sums of rows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Numbers {
    /// Rows of the body or of a tag.
    pub own: Term,
    /// Those of the mount of the sensor that sees it.
    pub mount: Option<Term>,
}

impl Numbers {
    /// Rows alone.
    pub fn rows(rows: [usize; 6]) -> Self {
        Self { own: Term { rows, by: None }, mount: None }
    }

    /// n_i − n, of a tag of the state and of a mount; `None` where there is no such mount.
    pub fn of_tag_and_mount(state: &State, tag: &TagRows, mount: usize) -> Option<Self> {
        let [e, a] = tag.rows;
        let rows = [a, a + 1, a + 2, e, e + 1, e + 2];
        let own = Term { rows, by: Some(about_body(&tag.pose.translation)) };
        let Term { rows, by } = mount_term(state, mount)?;
        Some(Self { own, mount: Some(Term { rows, by: by.map(|by| -by) }) })
    }

    /// ξ + n; `None` where there is no such mount.
    pub fn of_body_and_mount(state: &State, mount: usize) -> Option<Self> {
        let rows = [ROTATION, ROTATION + 1, ROTATION + 2, POSITION, POSITION + 1, POSITION + 2];
        Some(Self { own: Term { rows, by: None }, mount: Some(mount_term(state, mount)?) })
    }

    fn terms(&self) -> impl Iterator<Item = &Term> {
        std::iter::once(&self.own).chain(&self.mount)
    }

    /// Covariance with other six numbers.
    pub fn with(&self, other: &Self, p: &Covariance) -> Matrix6<f64> {
        let mut sum = Matrix6::zeros();
        for one in self.terms() {
            other.terms().for_each(|two| sum += one.with(two, p));
        }
        sum
    }

    /// Covariance of the rotation of the body with them.
    pub fn with_rotation(&self, p: &Covariance) -> SMatrix<f64, 3, 6> {
        let mut sum = SMatrix::<f64, 3, 6>::zeros();
        for Term { rows, by } in self.terms() {
            let block = SMatrix::<f64, 3, 6>::from_fn(|i, j| p.get(ROTATION + i, rows[j]));
            sum += by.map_or(block, |by| block * by.transpose());
        }
        sum
    }

    /// Covariance of all rows with them, [`Covariance::dim`] each, one after the other.
    pub fn columns(&self, p: &Covariance, some: &mut Vec<f64>, out: &mut Vec<f64>) {
        let n = p.dim();
        if self.mount.is_none() && self.own.by.is_none() {
            p.copy_columns(&self.own.rows.map(|row| (row, 1.0)), out);
            return;
        }
        out.clear();
        out.resize(6 * n, 0.0);
        for Term { rows, by } in self.terms() {
            p.copy_columns(&rows.map(|row| (row, 1.0)), some);
            let by = by.unwrap_or_else(Matrix6::identity);
            for (i, column) in out.chunks_exact_mut(n).enumerate() {
                for (k, added) in some.chunks_exact(n).enumerate().filter(|(k, _)| by[(i, *k)] != 0.0) {
                    column.iter_mut().zip(added).for_each(|(x, p)| *x += by[(i, k)] * p);
                }
            }
        }
    }
}
