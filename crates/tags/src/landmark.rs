//! Tags as landmarks with a pose: six rows each behind the navigation state.
//!
//! A tag is at (p_i, R_i) in the world, with errors relative to the robot as a pose clone has them:
//!
//! ```math
//! e_i = ξ_i - ξ_p,  a_i = ξ_{R_i} - ξ_R,  p_i - p = \hat r_i + e_i + ξ_R × \hat r_i,  R_i = \mathrm{Exp}(ξ_R + a_i) \hat R_i
//! ```
//!
//! so that the pose of the tag relative to the body, z = Rᵀ(p_i − p) and RᵀR_i, has δz = R̂ᵀe_i and the rotation R̂ᵀa_i
//! whatever the error of the body's pose: the four directions that cannot be seen have no column.

use crate::mounted::{Term, mount_term};
use lienav_inertial::chart::Chart;
use lienav_inertial::clone::remove_clone;
use lienav_inertial::covariance::NAV;
use lienav_inertial::state::State;
use lienav_inertial::state::errors::{POSITION, ROTATION};
use lienav_inertial::state::landmark::{Kind, Landmark};
use lienav_inertial::state::retract::about_body;
use lienav_lie::{LieGroup, Se3, hat};
use nalgebra::{Matrix3, Matrix6, SMatrix, Vector3, Vector6};

/// A tag whose place in the world is known beforehand.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KnownTag {
    /// x_world = R_i x_tag + p_i.
    pub pose: Se3,
    /// Standard deviations by axis of R_i, rad, and of p_i, m.
    pub sigma: (f64, f64),
}

impl KnownTag {
    /// Whether it is known better than corners can tell: it needs no rows in the state.
    pub fn is_exact(&self) -> bool {
        /// A corner of a tag of some decimetres moves less than a third of a millimetre by this, rad and m.
        const EXACT: (f64, f64) = (1e-3, 3e-4);
        self.sigma.0 <= EXACT.0 && self.sigma.1 <= EXACT.1
    }
}

/// Where a tag is in the state.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TagRows {
    /// First rows of e_i and of a_i.
    pub rows: [usize; 2],
    /// In the world.
    pub pose: Se3,
}

/// Looks a tag up.
pub fn find(state: &State, id: u64) -> Option<TagRows> {
    let mut found = TagRows { rows: [0; 2], pose: Se3::identity() };
    let mut count = 0;
    for (i, one) in state.landmarks.iter().enumerate().filter(|(_, one)| one.id == id) {
        match one.kind {
            Kind::Point => {}
            Kind::ClonePlace => {
                (found.rows[0], found.pose.translation) = (state.covariance.row_of(i), one.position);
                count += 1;
            }
            Kind::CloneRotation(rotation) => {
                (found.rows[1], found.pose.rotation) = (state.covariance.row_of(i), rotation);
                count += 1;
            }
        }
    }
    (count == 2).then_some(found)
}

/// Removes a tag.
pub fn remove(state: &mut State, id: u64) {
    remove_clone(state, id);
}

/// Adds a tag at this pose relative to the body, with this covariance of (δz, φ) in the axes of the body. It is
/// independent of the pose of the body; not so of a mount with errors whose camera has seen it.
pub fn append_seen(state: &mut State, id: u64, on_body: &Se3, covariance: &Matrix6<f64>, mount: Option<usize>) {
    let nav = &state.nav;
    let pose = Se3::new(nav.rotation, nav.position) * *on_body;
    let turn = *nav.rotation.matrix();
    let block = |row: usize, column: usize| turn * covariance.fixed_view::<3, 3>(row, column) * turn.transpose();
    let (own, cross, turned) = (block(0, 0), block(3, 0), block(3, 3));
    if let Some((rows, by)) = mount.and_then(|k| mounted(state, &pose, k)) {
        let mut rest = Matrix6::zeros();
        rest.fixed_view_mut::<3, 3>(0, 0).copy_from(&own);
        rest.fixed_view_mut::<3, 3>(3, 0).copy_from(&cross);
        rest.fixed_view_mut::<3, 3>(0, 3).copy_from(&cross.transpose());
        rest.fixed_view_mut::<3, 3>(3, 3).copy_from(&turned);
        let errors: [(usize, Vector6<f64>); 6] = std::array::from_fn(|k| (rows[k], by.column(k).into_owned()));
        append_from(state, id, &pose, &errors, &rest);
        return;
    }
    let none = SMatrix::<f64, 3, NAV>::zeros();
    let row = state.covariance.dim();
    state.covariance.append(&none, &own);
    state.covariance.append(&none, &turned);
    state.covariance.set(row + 3, row, &cross);
    push(state, id, &pose);
}

/// What errors of a mount are of (e_i, a_i) of a tag that its sensor sees: n_i = n.
fn mounted(state: &State, tag: &Se3, mount: usize) -> Option<([usize; 6], Matrix6<f64>)> {
    let Term { rows, by } = mount_term(state, mount)?;
    let n = about_body(&-tag.translation) * by?;
    let mut swapped = Matrix6::zeros();
    swapped.fixed_view_mut::<3, 6>(0, 0).copy_from(&n.fixed_view::<3, 6>(3, 0));
    swapped.fixed_view_mut::<3, 6>(3, 0).copy_from(&n.fixed_view::<3, 6>(0, 0));
    Some((rows, swapped))
}

/// Adds a tag of a map: e_i = −ξ_p + p̂_i^ ξ_R + n and a_i = −ξ_R + n.
pub fn append_known(state: &mut State, id: u64, known: &KnownTag) {
    let mut place = SMatrix::<f64, 3, NAV>::zeros();
    place.fixed_view_mut::<3, 3>(0, ROTATION).copy_from(&hat(&known.pose.translation));
    place.fixed_view_mut::<3, 3>(0, POSITION).fill_diagonal(-1.0);
    let mut turn = SMatrix::<f64, 3, NAV>::zeros();
    turn.fixed_view_mut::<3, 3>(0, ROTATION).fill_diagonal(-1.0);
    let variance = |sigma: f64| Matrix3::from_diagonal_element(sigma * sigma);
    state.covariance.append(&place, &variance(known.sigma.1));
    state.covariance.append(&turn, &variance(known.sigma.0));
    push(state, id, &known.pose);
}

/// Adds a tag whose six errors (e_i, a_i) are sums of rows of the state, each with its weights, and of an independent
/// rest with this covariance.
pub fn append_from(state: &mut State, id: u64, pose: &Se3, by: &[(usize, Vector6<f64>)], rest: &Matrix6<f64>) {
    let n = state.covariance.dim();
    let mut cross = vec![0.0; 6 * n];
    for (row, weights) in by {
        for column in 0..n {
            let p = state.covariance.get(*row, column);
            (0..6).for_each(|k| cross[k * n + column] += weights[k] * p);
        }
    }
    let mut own = *rest;
    for (row, weights) in by {
        let with = Vector6::from_fn(|k, _| cross[k * n + row]);
        own += with * weights.transpose();
    }
    let own = 0.5 * (own + own.transpose());
    state.covariance.append_rows(&cross[..3 * n], &own.fixed_view::<3, 3>(0, 0).into_owned());
    let mut turned = Vec::with_capacity(3 * (n + 3));
    for k in 3..6 {
        turned.extend_from_slice(&cross[k * n..(k + 1) * n]);
        turned.extend((0..3).map(|place| own[(k, place)]));
    }
    state.covariance.append_rows(&turned, &own.fixed_view::<3, 3>(3, 3).into_owned());
    push(state, id, pose);
}

fn push(state: &mut State, id: u64, pose: &Se3) {
    let (position, rotation) = (pose.translation, pose.rotation);
    let parts: [(Kind, Vector3<f64>); 2] =
        [(Kind::ClonePlace, position), (Kind::CloneRotation(rotation), rotation.log())];
    for (kind, first) in parts {
        let (chart, anchor) = (Chart::Cartesian, position);
        state.landmarks.push(Landmark { id, kind, chart, position, anchor, first, is_confirmed: true, rejected: 0 });
    }
}
