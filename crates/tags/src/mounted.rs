//! What errors of a mount do to the pose of its sensor in the world.

use lienav_inertial::covariance::Covariance;
use lienav_inertial::state::State;
use lienav_inertial::state::retract::{about_body, adjoint};
use lienav_lie::Se3;
use nalgebra::Matrix6;

/// Six rows of the state, and what they are multiplied with, if it is not the identity.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Term {
    /// The rows.
    pub rows: [usize; 6],
    /// B.
    pub by: Option<Matrix6<f64>>,
}

impl Term {
    /// Covariance of two.
    pub fn with(&self, other: &Self, p: &Covariance) -> Matrix6<f64> {
        let mut block = Matrix6::from_fn(|i, j| p.get(self.rows[i], other.rows[j]));
        if let Some(by) = &self.by {
            block = by * block;
        }
        other.by.map_or(block, |by| block * by.transpose())
    }
}

/// n by (ε, τ); `None` where there is no such mount.
pub fn mount_term(state: &State, mount: usize) -> Option<Term> {
    let place = state.mounts.get(mount)?.translation;
    let first = state.mount_row(mount);
    let body = Se3::new(state.nav.rotation, state.nav.position);
    Some(Term { rows: std::array::from_fn(|k| first + k), by: Some(adjoint(&body) * about_body(&place)) })
}
