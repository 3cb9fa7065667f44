//! The joint covariance of the tags of a map.
//!
//! A map that a filter has made has errors that tags share: of a whole wall, of a whole hall. Taken for independent
//! ones, they would be averaged away. A tag that comes into the state is therefore conditioned on those of its map that
//! are there: n_i = B n_A + w, B = Σ_iA Σ_AA⁻¹, where n = (δp, δθ) are errors about the axes of the map.

use crate::landmark::{self, KnownTag, TagRows};
use lienav_inertial::state::State;
use lienav_inertial::state::errors::{POSITION, ROTATION};
use lienav_lie::{LieGroup, Se3, So3, hat};
use nalgebra::{DMatrix, Matrix6, Vector3, Vector6};

/// A tag is conditioned on so many others at most, those with which it has most in common.
const MOST_OTHERS: usize = 8;

/// The covariance of the errors of some tags, six numbers each, in the order of the tags: place, m, and rotation, rad.
#[derive(Clone, Debug, PartialEq)]
pub struct JointMap {
    tags: Vec<u64>,
    covariance: DMatrix<f64>,
}

impl Default for JointMap {
    fn default() -> Self {
        Self { tags: Vec::new(), covariance: DMatrix::zeros(0, 0) }
    }
}

impl JointMap {
    /// `None` where sizes do not fit, a number is not finite or a variance is not positive.
    pub fn new(tags: Vec<u64>, covariance: DMatrix<f64>) -> Option<Self> {
        let n = 6 * tags.len();
        let is_sound = covariance.nrows() == n
            && covariance.ncols() == n
            && covariance.iter().all(|x| x.is_finite())
            && covariance.diagonal().iter().all(|variance| *variance > 0.0);
        is_sound.then_some(Self { tags, covariance })
    }

    /// Of all tags of a state, about the axes of the world.
    pub fn of_state(state: &State) -> Self {
        let ids = state.landmarks.iter().filter(|one| one.kind == lienav_inertial::state::landmark::Kind::ClonePlace);
        let found: Vec<(u64, TagRows)> = ids.filter_map(|one| Some((one.id, landmark::find(state, one.id)?))).collect();
        let errors: Vec<Vec<(usize, Vector6<f64>)>> = found.iter().map(|(_, tag)| error_of(tag)).collect();
        let mut covariance = DMatrix::zeros(6 * found.len(), 6 * found.len());
        for (i, one) in errors.iter().enumerate() {
            for (j, other) in errors.iter().enumerate().take(i + 1) {
                let mut block = Matrix6::zeros();
                for (row, by) in one {
                    for (column, also) in other {
                        block += by * also.transpose() * state.covariance.get(*row, *column);
                    }
                }
                covariance.fixed_view_mut::<6, 6>(6 * i, 6 * j).copy_from(&block);
                covariance.fixed_view_mut::<6, 6>(6 * j, 6 * i).copy_from(&block.transpose());
            }
        }
        Self { tags: found.into_iter().map(|(id, _)| id).collect(), covariance }
    }

    /// The tags, in order.
    pub fn tags(&self) -> &[u64] {
        &self.tags
    }

    /// Their covariance.
    pub fn covariance(&self) -> &DMatrix<f64> {
        &self.covariance
    }

    fn block(&self, i: usize, j: usize) -> Matrix6<f64> {
        self.covariance.fixed_view::<6, 6>(6 * i, 6 * j).into_owned()
    }

    /// Adds a tag of the map to the state; `false` where nothing is stated that is a covariance. `stated` gives the
    /// other tags as the map states them.
    pub fn append(
        &self,
        state: &mut State,
        id: u64,
        known: &KnownTag,
        stated: impl Fn(u64) -> Option<KnownTag>,
    ) -> bool {
        let Some(own) = self.tags.iter().position(|tag| *tag == id) else { return false };
        let others = self.others(own, state);
        let n = 6 * others.len();
        let mut among = DMatrix::zeros(n, n);
        let mut cross = DMatrix::zeros(6, n);
        for (i, (one, ..)) in others.iter().enumerate() {
            cross.fixed_view_mut::<6, 6>(0, 6 * i).copy_from(&self.block(own, *one));
            for (j, (other, ..)) in others.iter().enumerate() {
                among.fixed_view_mut::<6, 6>(6 * i, 6 * j).copy_from(&self.block(*one, *other));
            }
        }
        let Some(factor) = among.cholesky() else { return false };
        let by = factor.solve(&cross.transpose()).transpose();
        let rest = self.block(own, own) - &by * cross.transpose();
        let rest = Matrix6::from_fn(|i, j| 0.5 * (rest[(i, j)] + rest[(j, i)]));
        if rest.cholesky().is_none() {
            return false;
        }
        // n_i = Σ B_k (how far the state has moved k, and its error) + w.
        let mut moved = Vector6::zeros();
        let mut errors: Vec<(usize, Vector6<f64>)> = Vec::new();
        for (k, (_, other, rows)) in others.iter().enumerate() {
            let by = by.fixed_view::<6, 6>(0, 6 * k).into_owned();
            let Some(before) = stated(*other) else { return false };
            let shift = rows.pose.translation - before.pose.translation;
            let turn = (rows.pose.rotation * before.pose.rotation.inverse()).log();
            moved += by * Vector6::new(shift.x, shift.y, shift.z, turn.x, turn.y, turn.z);
            errors.extend(error_of(rows).into_iter().map(|(row, own)| (row, by * own)));
        }
        let shift = Vector3::new(moved[0], moved[1], moved[2]);
        let turn = So3::exp(&Vector3::new(moved[3], moved[4], moved[5]));
        let pose = Se3::new(turn * known.pose.rotation, known.pose.translation + shift);
        // e_i = δp_i − ξ_p + p̂_i^ ξ_R and a_i = δθ_i − ξ_R.
        let lever = hat(&pose.translation);
        for axis in 0..3 {
            let mut by_turn = Vector6::zeros();
            by_turn.fixed_rows_mut::<3>(0).copy_from(&lever.column(axis));
            by_turn[3 + axis] = -1.0;
            let mut by_place = Vector6::zeros();
            by_place[axis] = -1.0;
            errors.extend([(ROTATION + axis, by_turn), (POSITION + axis, by_place)]);
        }
        landmark::append_from(state, id, &pose, &errors, &rest);
        true
    }

    /// The tags of the state that have most in common with one: where they stand here, their identity and rows.
    fn others(&self, own: usize, state: &State) -> Vec<(usize, u64, TagRows)> {
        let mut all: Vec<(f64, usize, u64, TagRows)> = Vec::new();
        for (k, id) in self.tags.iter().enumerate().filter(|(k, _)| *k != own) {
            let Some(rows) = landmark::find(state, *id) else { continue };
            let shared = (0..6)
                .map(|axis| {
                    let (i, j) = (6 * own + axis, 6 * k + axis);
                    self.covariance[(i, j)].powi(2) / (self.covariance[(i, i)] * self.covariance[(j, j)])
                })
                .sum();
            all.push((shared, k, *id, rows));
        }
        all.sort_by(|a, b| b.0.total_cmp(&a.0));
        all.into_iter().take(MOST_OTHERS).map(|(_, k, id, rows)| (k, id, rows)).collect()
    }
}

/// The error of a tag of the state about the axes of the world: δp = ξ_p + e − p̂^ ξ_R and δθ = ξ_R + a, by rows.
fn error_of(tag: &TagRows) -> Vec<(usize, Vector6<f64>)> {
    let lever = hat(&tag.pose.translation);
    let unit = |k: usize| Vector6::from_fn(|i, _| if i == k { 1.0 } else { 0.0 });
    let mut all = Vec::with_capacity(12);
    for axis in 0..3 {
        let mut by_turn = unit(3 + axis);
        by_turn.fixed_rows_mut::<3>(0).copy_from(&-lever.column(axis));
        all.extend([
            (ROTATION + axis, by_turn),
            (POSITION + axis, unit(axis)),
            (tag.rows[0] + axis, unit(axis)),
            (tag.rows[1] + axis, unit(3 + axis)),
        ]);
    }
    all
}
