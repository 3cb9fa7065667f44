//! Pose clones: where the body was at the last frames, with the joint covariance.
//!
//! A clone is a place and a rotation, in three rows each, whose errors are relative to the body of now: e_c, as that of
//! a landmark, and a_c = ξ_Rc − ξ_R. Both are zero when the clone is made, and the unobservable directions have no part
//! in them. With r̂ = p̂_i − p̂_c, a landmark seen from a clone at z = R_cᵀ(p_i − p_c) has
//! δz = R̂_cᵀ(e_i − e_c + r̂^ a_c).

use crate::chart::Chart;
use crate::filter::Filter;
use crate::state::State;
use crate::state::errors::Errors;
use crate::state::landmark::{Kind, Landmark};
use lienav_lie::So3;
use nalgebra::{Matrix3, SMatrix, Vector3};

/// Where a clone is in the state.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PoseClone {
    /// Its first row of the place, and of the rotation.
    pub rows: [usize; 2],
    /// p_c, m.
    pub position: Vector3<f64>,
    /// R_c.
    pub rotation: So3,
}

/// Whether a filter can have clones.
pub fn has_clones(filter: &Filter) -> bool {
    filter.errors == Errors::Left
}

/// Clones the pose of now under this identity.
pub fn clone_pose(state: &mut State, id: u64) {
    let position = state.nav.position;
    for kind in [Kind::ClonePlace, Kind::CloneRotation(state.nav.rotation)] {
        state.covariance.append(&SMatrix::zeros(), &Matrix3::zeros());
        state.landmarks.push(Landmark {
            id,
            kind,
            chart: Chart::Cartesian,
            position,
            anchor: position,
            first: position,
            rejected: 0,
        });
    }
}

/// Removes a clone.
pub fn remove_clone(state: &mut State, id: u64) {
    while let Some(i) = state.landmarks.iter().position(|part| part.id == id && !part.is_point()) {
        state.remove(i);
    }
}

/// Looks a clone up.
pub fn find_clone(state: &State, id: u64) -> Option<PoseClone> {
    let mut clone = PoseClone { rows: [0; 2], position: Vector3::zeros(), rotation: So3::identity() };
    let mut found = 0;
    for (i, part) in state.landmarks.iter().enumerate().filter(|(_, part)| part.id == id) {
        match part.kind {
            Kind::Point => {}
            Kind::ClonePlace => {
                clone.position = part.position;
                clone.rows[0] = state.covariance.row_of(i);
                found += 1;
            }
            Kind::CloneRotation(rotation) => {
                clone.rotation = rotation;
                clone.rows[1] = state.covariance.row_of(i);
                found += 1;
            }
        }
    }
    (found == 2).then_some(clone)
}
