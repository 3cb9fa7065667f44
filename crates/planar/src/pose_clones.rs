//! Marks: where the base was some seconds ago, kept in the state for as long as somebody wants the motion since then.
//!
//! The pose in the map has an error that the start brought in, and that no measurement takes away. The motion since an
//! earlier instant has not: with its covariance it says how consistent a filter is whatever the start was. A mark is
//! two points that are exactly known in the robot frame when they are added, the origin of the base and one ahead of
//! it; like any landmark, they take part in what motions and corrections do from then on, and nothing reads them. With
//! z_o and z_a their places in the robot frame, the earlier base seen from the present one is at z_o, and its heading
//! is that of z_a − z_o = d, so that
//!
//! δφ = (Jd/|d|²)ᵀ(δz_a − δz_o),
//!
//! and δz is what the errors of the state say: δz in robot coordinates, R(θ)ᵀe in invariant ones, and R(θ)ᵀ(δp_i − δp −
//! J(p_i − p)δθ) in world coordinates.

use crate::filter::Coordinates;
use crate::state::State;
use crate::state::points::append_point;
use crate::state::pose_clone::PoseClone;
use lienav_base::stamp::Stamp;
use lienav_lie::{Se2, skew};
use nalgebra::{Matrix2, Matrix3, SMatrix, Vector2};

/// From the origin of a mark to the point ahead of it, m.
const ARM_M: f64 = 1.0;
/// How many marks of one duration there are at a time.
const AT_A_TIME: f64 = 5.0;
/// Parts of a duration that stamps are rounded by.
const ROUNDING: f64 = 1e-6;

/// How the base has moved, with its uncertainty.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Motion {
    /// For how long motions of this kind last at least, s: one of those that were asked for.
    pub over_s: f64,
    /// When it began.
    pub since: Stamp,
    /// The base at that time, in its present frame.
    pub earlier: Se2,
    /// Covariance of the errors of (x, y, θ) of `earlier`, (m, m, rad).
    pub covariance: Matrix3<f64>,
}

/// After a scan at `stamp`: drops the marks that were told of, says which are to be told of now, and adds new ones.
pub fn keep(state: &mut State, over_s: &[f64], stamp: Stamp) {
    if over_s.is_empty() || state.is_frozen {
        return;
    }
    let mut pose_clones = std::mem::take(&mut state.pose_clones);
    pose_clones.retain_mut(|pose_clone| {
        let is_there = pose_clone.points(state).is_some();
        if !is_there || pose_clone.reported.is_some_and(|reported| reported != stamp) {
            pose_clone.drop_points(state);
            return false;
        }
        if stamp.since(pose_clone.since) >= pose_clone.over_s * (1.0 - ROUNDING) {
            pose_clone.reported = Some(stamp);
        }
        true
    });
    for over_s in over_s {
        let last = pose_clones
            .iter()
            .filter(|pose_clone| pose_clone.over_s == *over_s)
            .map(|pose_clone| pose_clone.since)
            .max();
        if last.is_none_or(|last| stamp.since(last) >= over_s * (1.0 - ROUNDING) / AT_A_TIME) {
            let [origin, ahead] = [0.0, ARM_M].map(|x| append_point(state, &Vector2::new(x, 0.0), stamp));
            pose_clones.push(PoseClone { over_s: *over_s, since: stamp, origin, ahead, reported: None });
        }
    }
    state.pose_clones = pose_clones;
}

/// Drops all marks: the robot is elsewhere than its motion says.
pub fn clear(state: &mut State) {
    std::mem::take(&mut state.pose_clones).iter().for_each(|pose_clone| pose_clone.drop_points(state));
}

/// The motions that end at `stamp`, that of the last scan.
pub fn motions(state: &State, stamp: Stamp) -> impl Iterator<Item = Motion> {
    state
        .pose_clones
        .iter()
        .filter(move |pose_clone| pose_clone.reported == Some(stamp))
        .filter_map(|pose_clone| pose_clone.motion(state))
}

impl PoseClone {
    /// The indices of its points.
    fn points(&self, state: &State) -> Option<(usize, usize)> {
        state.find(self.origin).zip(state.find(self.ahead))
    }

    fn drop_points(&self, state: &mut State) {
        for id in [self.origin, self.ahead] {
            if let Some(i) = state.find(id) {
                state.swap_remove(i);
            }
        }
    }

    fn motion(&self, state: &State) -> Option<Motion> {
        let (origin, ahead) = self.points(state)?;
        let (z, arm) = (state.in_robot(origin), state.in_robot(ahead) - state.in_robot(origin));
        let (of_origin, of_ahead) = (by_errors(state, origin, 0), by_errors(state, ahead, 1));
        let of_heading = (skew(&arm) / arm.norm_squared()).transpose() * (of_ahead - of_origin);
        let mut rows = SMatrix::<f64, 3, 7>::zeros();
        rows.fixed_rows_mut::<2>(0).copy_from(&of_origin);
        rows.row_mut(2).copy_from(&of_heading);
        let places = [state.covariance.row_of(origin), state.covariance.row_of(ahead)];
        let index = [0, 1, 2, places[0], places[0] + 1, places[1], places[1] + 1];
        let joint = SMatrix::<f64, 7, 7>::from_fn(|i, j| state.covariance.get(index[i], index[j]));
        let earlier = Se2::new(z.x, z.y, arm.y.atan2(arm.x));
        Some(Motion { over_s: self.over_s, since: self.since, earlier, covariance: rows * joint * rows.transpose() })
    }
}

/// ∂(δz of landmark `i`)/∂(error of the pose, errors of two landmarks), of which it is the first or the second.
fn by_errors(state: &State, i: usize, which: usize) -> SMatrix<f64, 2, 7> {
    let back = state.pose.rotation().transpose();
    let mut rows = SMatrix::<f64, 2, 7>::zeros();
    let own: Matrix2<f64> = match state.coordinates {
        Coordinates::Robot => Matrix2::identity(),
        Coordinates::Invariant | Coordinates::World => back,
    };
    rows.fixed_columns_mut::<2>(3 + 2 * which).copy_from(&own);
    if state.coordinates == Coordinates::World {
        rows.fixed_columns_mut::<2>(0).copy_from(&-back);
        rows.set_column(2, &(-back * skew(&(state.landmarks[i].x - state.pose.p))));
    }
    rows
}
