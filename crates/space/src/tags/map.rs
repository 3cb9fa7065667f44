//! Tags in the map, whatever the pose: those of a state, and those that are known exactly.
//!
//! With the errors (e_i, a_i) of a tag relative to the body, its place has δp_i = ξ_p + e_i − p̂_i^ ξ_R and its rotation
//! δθ_i = ξ_R + a_i.

use super::input::TagPose;
use lienav_inertial::state::State;
use lienav_inertial::state::errors::{POSITION, ROTATION};
use lienav_inertial::state::landmark::Kind;
use lienav_lie::hat;
use lienav_tags::landmark::{KnownTag, TagRows, find};
use nalgebra::{Matrix3, Matrix6, SMatrix};
use std::collections::BTreeMap;

/// The tags of a state in the order of its rows, then those that are known and have no rows.
pub fn tags_of(state: Option<&State>, known: &BTreeMap<u64, KnownTag>) -> Vec<TagPose> {
    let mut all = Vec::new();
    if let Some(state) = state {
        let places = state.landmarks.iter().filter(|one| one.kind == Kind::ClonePlace);
        for id in places.map(|one| one.id) {
            let Some(tag) = find(state, id) else { continue };
            let covariance = covariance_of(state, &tag);
            all.push(TagPose { id, pose: tag.pose, covariance, is_known: known.contains_key(&id) });
        }
    }
    let is_in_state = |id: u64| state.is_some_and(|state| find(state, id).is_some());
    for (id, tag) in known.iter().filter(|(id, _)| !is_in_state(**id)) {
        let (turn, place) = tag.sigma;
        let own = |i: usize| if i < 3 { place * place } else { turn * turn };
        let covariance = Matrix6::from_fn(|i, j| if i == j { own(i) } else { 0.0 });
        all.push(TagPose { id: *id, pose: tag.pose, covariance, is_known: true });
    }
    all
}

/// Of (δp_i, δθ_i), m and rad, about the axes of the map.
fn covariance_of(state: &State, tag: &TagRows) -> Matrix6<f64> {
    let rows = [ROTATION, POSITION, tag.rows[0], tag.rows[1]];
    let mut joint = SMatrix::<f64, 12, 12>::zeros();
    for (i, row) in rows.into_iter().enumerate() {
        for (j, column) in rows.into_iter().enumerate() {
            joint.fixed_view_mut::<3, 3>(3 * i, 3 * j).copy_from(&state.covariance.block::<3, 3>(row, column));
        }
    }
    let mut by = SMatrix::<f64, 6, 12>::zeros();
    let blocks = [
        (0, 0, -hat(&tag.pose.translation)),
        (0, 3, Matrix3::identity()),
        (0, 6, Matrix3::identity()),
        (3, 0, Matrix3::identity()),
        (3, 9, Matrix3::identity()),
    ];
    blocks.iter().for_each(|(row, column, block)| by.fixed_view_mut::<3, 3>(*row, *column).copy_from(block));
    let covariance = by * joint * by.transpose();
    0.5 * (covariance + covariance.transpose())
}
