//! What a filter takes for observable along its linearization points.

use crate::filter::{Filter, Linearization};
use crate::state::State;
use crate::state::errors::{Errors, POSITION, ROTATION, VELOCITY};
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
            let place = if filter.linearization == Linearization::Current { landmark.position } else { landmark.first };
            n.view_mut((state.covariance.row_of(i), 0), (3, 1)).copy_from(&up.cross(&place));
            n.view_mut((state.covariance.row_of(i), 1), (3, 3)).fill_with_identity();
        }
    }
    n
}
