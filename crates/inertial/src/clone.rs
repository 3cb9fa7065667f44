//! Pose clones: where the body was at the last frames, with the joint covariance.
//!
//! A clone is a place and a rotation, in three rows each, whose errors are relative to the body of now: e_c, as that of
//! a landmark, and a_c = ξ_Rc − ξ_R. Both are zero when the clone is made, and the unobservable directions have no part
//! in them. With r̂ = p̂_i − p̂_c, a landmark seen from a clone at z = R_cᵀ(p_i − p_c) has
//! δz = R̂_cᵀ(e_i − e_c + r̂^ a_c). In additive errors, (δp_c, θ_c) of a clone take the place of (e_c, a_c), and those of
//! the pose of now are not zero; in reduced ones all are turned into the axes of the body of now.

use crate::chart::Chart;
use crate::covariance::NAV;
use crate::filter::{Filter, Linearization};
use crate::state::State;
use crate::state::errors::{Errors, POSITION, ROTATION};
use crate::state::landmark::{Kind, Landmark};
use crate::state::nav::Nav;
use lienav_lie::{LieGroup, So3};
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
    /// Both as they were first, where filters of first estimates linearize.
    pub first: (Vector3<f64>, So3),
}

/// Clones the pose of now under this identity. In additive errors its errors are those of the pose; in the others, which
/// are relative to the body of now, they are zero.
pub fn clone_pose(state: &mut State, id: u64, filter: &Filter) {
    let (position, rotation) = (state.nav.position, state.nav.rotation);
    let first = *linearization_point(state, filter);
    for (kind, row) in [(Kind::ClonePlace, POSITION), (Kind::CloneRotation(rotation), ROTATION)] {
        let mut from_nav = SMatrix::<f64, 3, NAV>::zeros();
        if filter.errors == Errors::Additive {
            from_nav.fixed_view_mut::<3, 3>(0, row).fill_with_identity();
        }
        state.covariance.append(&from_nav, &Matrix3::zeros());
        let first = if kind == Kind::ClonePlace { first.position } else { first.rotation.log() };
        let chart = Chart::Cartesian;
        state.landmarks.push(Landmark {
            id,
            kind,
            chart,
            position,
            anchor: position,
            first,
            is_confirmed: true,
            rejected: 0,
        });
    }
}

/// Where the pose of now is linearized in views: at the prediction, for filters that keep their unobservable directions
/// there.
pub fn linearization_point<'a>(state: &'a State, filter: &Filter) -> &'a Nav {
    if filter.linearization == Linearization::Current { &state.nav } else { &state.predicted }
}

/// Removes a clone.
pub fn remove_clone(state: &mut State, id: u64) {
    while let Some(i) = state.landmarks.iter().position(|part| part.id == id && !part.is_point()) {
        state.remove(i);
    }
}

/// Looks a clone up.
pub fn find_clone(state: &State, id: u64) -> Option<PoseClone> {
    let (zero, one) = (Vector3::zeros(), So3::identity());
    let mut clone = PoseClone { rows: [0; 2], position: zero, rotation: one, first: (zero, one) };
    let mut found = 0;
    for (i, part) in state.landmarks.iter().enumerate().filter(|(_, part)| part.id == id) {
        match part.kind {
            Kind::Point => {}
            Kind::ClonePlace => {
                clone.position = part.position;
                clone.first.0 = part.first;
                clone.rows[0] = state.covariance.row_of(i);
                found += 1;
            }
            Kind::CloneRotation(rotation) => {
                clone.rotation = rotation;
                clone.first.1 = So3::exp(&part.first);
                clone.rows[1] = state.covariance.row_of(i);
                found += 1;
            }
        }
    }
    (found == 2).then_some(clone)
}
