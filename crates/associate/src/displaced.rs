//! A state that is moved to where measurements say that it is, to be linearized there, and keeps the mean of its prior.
//!
//! The estimate x̂ is moved to x = x̂ ⊞ e, by a rigid motion Exp(ν) of the robot against landmarks. The errors of such
//! motions are a linear space in the coordinates of the filter, the same one at x̂ and at x, so that the covariance of
//! the prior is that of x̂; but its mean is where it was, at x ⊞ (−e). With H at x, the update is the last step of
//! Gauss–Newton on the posterior:
//!
//! ```text
//! x⁺ = x ⊞ (K(z − h(x) + H e) − e)
//! ```
//!
//! Without e, what odometry said of the motion would be forgotten, and the covariance would claim it all the same: two
//! landmarks near each other would turn a robot whose heading was known better than they tell it.
//!
//! Invariant errors alone keep the mean. Corrections of positions in the map or in the robot frame do not turn the
//! errors of rigid motions along, so that with a heading that may be any, e is not in the space that the covariance
//! spans. The other filters take the place that the measurements tell, as if the prior were wide in all directions.
//!
//! With (v, ω) = ν in the axes of the map, a landmark at p that the robot moves against has e_i = −(v + ωJp), which is
//! the same before and after the motion, up to the rotation of the axes.

use crate::associate::Associations;
use crate::wide_prior::distance_variance;
use lienav_ekf::covariance::POSE;
use lienav_ekf::mahalanobis::mahalanobis_squared;
use lienav_lie::{Se2, skew, wrap_angle};
use lienav_planar::associated::{Associated, Role, Subject};
use lienav_planar::filter::Coordinates;
use lienav_planar::linearize::{Match, Preview, innovation_covariance, relinearize};
use lienav_planar::model::Model;
use lienav_planar::output::DropReason;
use lienav_planar::propagate::Rows;
use lienav_planar::state::State;
use lienav_planar::update::{Workspace, joint_distance, numbers};
use nalgebra::{Matrix2, Matrix3, Vector2, Vector3};

/// Moves the robot by `motion` against the landmarks `members`. Every other landmark stays beside those of the two to
/// which its place is known better. If the covariance of the robot in the map does not allow for the motion, and that
/// of the members does, the robot stays and they move instead. `bounds` are on the squared Mahalanobis distance of what
/// is allowed for, for two and three degrees of freedom.
///
/// `moved_by` becomes e, row by row, in the axes that errors have after the motion; empty where
/// the prior is forgotten.
pub fn displace(state: &mut State, motion: &Se2, members: &[usize], bounds: [f64; 2], moved_by: &mut Vec<f64>) {
    moved_by.clear();
    let moved = state.pose * *motion;
    if state.is_frozen {
        (state.pose, state.predicted) = (moved, moved);
        return;
    }
    let in_map = moved * state.pose.inverse();
    let of_map = in_map.log();
    let keeps_mean = state.coordinates == Coordinates::Invariant;
    let is_robot_moved =
        may_have_moved(state, motion, bounds[1]) || !may_members_have_moved(state, motion, members, bounds[0]);
    if keeps_mean {
        moved_by.resize(state.covariance.dim(), 0.0);
    }
    for i in 0..state.landmarks.len() {
        let is_beside = is_beside(state, i, members);
        let is_moved = if state.coordinates == Coordinates::Robot { is_beside } else { is_beside != is_robot_moved };
        if is_moved {
            move_landmark(state, i, motion, &if is_robot_moved { in_map } else { in_map.inverse() });
        }
        let (row, e) = (state.covariance.row_of(i), -velocity(&of_map, &state.landmarks[i].x));
        if let Some(rows) = moved_by.get_mut(row..row + 2).filter(|_| is_beside) {
            rows.copy_from_slice(e.as_slice());
            state.landmarks[i].is_mapped = true;
        }
    }
    if !is_robot_moved {
        return;
    }
    if state.coordinates == Coordinates::Robot {
        // What is uncertain there is where the robot stood: the error of its heading turns the way from there.
        let lever = skew(&(moved.p - state.pose.p));
        let transition = Matrix3::new(1.0, 0.0, lever.x, 0.0, 1.0, lever.y, 0.0, 0.0, 1.0);
        state.covariance.move_pose(&transition, &Matrix3::zeros());
    }
    state.pose = moved;
    state.predicted = moved;
    if let Some(rows) = moved_by.get_mut(..POSE) {
        rows.copy_from_slice(of_map.as_slice());
    }
}

/// v + ωJx: how a point moves along a twist.
fn velocity(twist: &Vector3<f64>, x: &Vector2<f64>) -> Vector2<f64> {
    twist.xy() + skew(x) * twist.z
}

/// Moves a landmark by `by` in the map, or against a robot that has made `motion`.
fn move_landmark(state: &mut State, i: usize, motion: &Se2, by: &Se2) {
    let landmark = &mut state.landmarks[i];
    if state.coordinates == Coordinates::Robot {
        landmark.x = motion.transform_back(&landmark.x);
        state.covariance.change_landmark(i, &motion.rotation().transpose(), 0.0);
        return;
    }
    landmark.x = by.transform(&landmark.x);
    landmark.first = by.transform(&landmark.first);
    landmark.anchor = by.transform(&landmark.anchor);
    let weight = if state.coordinates == Coordinates::World { 1.0 } else { 0.0 };
    state.covariance.change_landmark(i, &by.rotation(), weight);
}

/// Adds H e to the residual of a measurement that was linearized at the moved state.
pub fn refer_to_mean(state: &State, m: &mut Match, moved_by: &[f64]) {
    let [x, y, turn, ..] = *moved_by else { return };
    if let Subject::Landmark(i) = m.subject {
        let row = state.covariance.row_of(i);
        // Landmarks that have entered the state since are where they were.
        if let Some([x, y]) = moved_by.get(row..row + 2) {
            m.residual += m.by_landmark * Vector2::new(*x, *y);
        }
    }
    if m.sees_pose {
        m.residual += m.by_pose * Vector3::new(x, y, turn);
    }
}

/// Whether what is known allows for the motion, of the robot in the map or of most members beside it. A frozen map does
/// not move.
pub fn is_allowed(state: &State, motion: &Se2, members: &[usize], [of_landmark, of_pose]: [f64; 2]) -> bool {
    may_have_moved(state, motion, of_pose)
        || !state.is_frozen && may_members_have_moved(state, motion, members, of_landmark)
}

/// Linearizes measurements of frozen landmarks for a robot that is a `motion` away from the estimate, and leaves the
/// estimate where it is, with all that is known of it. Returns false if the filter cannot, or the motion is too large.
pub fn linearize_there(state: &State, model: &Model, candidates: &mut Vec<Match>, motion: &Se2) -> bool {
    /// A robot turned by more than this is moved before the update, rad: beyond, the rotations of the prior and those
    /// of the update are not the same to first order.
    const TURNED: f64 = 0.5;
    let Some(charts) = model.filter.charts().filter(|_| state.is_frozen && motion.theta.abs() < TURNED) else {
        return false;
    };
    let rest_of_pose = (state.pose * *motion * state.pose.inverse()).log();
    let preview = Preview { noise: [0.0; 3], robot: state.pose, rest_of_pose, charts };
    let rows = &mut Rows::default();
    candidates.retain_mut(|candidate| {
        relinearize(state, &model.sensors, candidate, &preview, &Vector2::zeros(), rows);
        let covariance = innovation_covariance(state, candidate);
        candidate.distance = mahalanobis_squared(&candidate.residual, &covariance, candidate.dim);
        candidate.distance.is_some()
    });
    true
}

/// Leaves the matches out if the state does not allow for all of them together. Measurements that agree on where the
/// robot cannot be may pass one by one, because each of them tells a part of it.
pub fn pass_together(
    state: &State,
    model: &Model,
    Associations { matches, refused, .. }: &mut Associations,
    gated: &mut Vec<Associated>,
    workspace: &mut Workspace,
) {
    let bound = model.gate.together(numbers(matches).max(1));
    if joint_distance(state, matches, workspace).is_ok_and(|distance| distance <= bound) {
        return;
    }
    matches.iter().for_each(|_| refused.add(DropReason::Gated));
    gated.extend(matches.iter().map(|m| Associated::new(state.identity(m.subject), m.measurement, Role::Gated)));
    matches.clear();
}

/// Whether landmark `i` is known better beside `members` than beside the robot.
fn is_beside(state: &State, i: usize, members: &[usize]) -> bool {
    let variances = members.iter().filter(|k| **k != i).filter_map(|k| distance_variance(state, i, *k));
    members.contains(&i)
        || variances.map(|(_, variance)| variance).fold(0.0, f64::max) < state.relative_covariance(i).trace()
}

/// Whether the covariance of the robot allows for the motion, up to a squared Mahalanobis distance.
fn may_have_moved(state: &State, motion: &Se2, bound: f64) -> bool {
    let moved = state.pose * *motion;
    let shift = moved.p - state.pose.p;
    let change = Vector3::new(shift.x, shift.y, wrap_angle(moved.theta - state.pose.theta));
    let factor = state.pose_covariance().cholesky();
    factor.is_some_and(|factor| change.dot(&factor.solve(&change)) <= bound)
}

/// Whether the covariances of most members allow for their moving against the robot.
fn may_members_have_moved(state: &State, motion: &Se2, members: &[usize], bound: f64) -> bool {
    let moved = state.pose * *motion;
    let back = state.pose * moved.inverse();
    let is_uncertain = |i: &&usize| {
        let landmark = state.landmark(**i);
        let shift = back.transform(&landmark.position) - landmark.position;
        allows(&landmark.covariance, &shift, bound)
    };
    2 * members.iter().filter(is_uncertain).count() > members.len()
}

/// Whether a covariance allows for an error, up to a squared Mahalanobis distance.
fn allows(covariance: &Matrix2<f64>, error: &Vector2<f64>, bound: f64) -> bool {
    covariance.try_inverse().is_some_and(|inverse| error.dot(&(inverse * error)) <= bound)
}
