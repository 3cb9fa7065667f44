//! Retraction: applying a correction to the estimate.

use crate::chart::{Chart, Charts};
use crate::filter::{Correction, Errors};
use crate::state::State;
use lienav_ekf::covariance::POSE;
use lienav_lie::{Se2, rotation, v_matrix};
use nalgebra::{Matrix2, Vector2, Vector3};

/// Applies the correction δ. `rigid`, as long as δ, is the part of it that corrects the noise of the last motion; it
/// is zero if the filter does not split corrections. With charts, the covariance of the landmarks is transported to the
/// new estimate: it is constant in the coordinates in which the correction is an addition.
pub fn retract(state: &mut State, delta: &[f64], rigid: &[f64], errors: Errors, blocks: &mut Vec<Matrix2<f64>>) {
    state.correct_calibration(&delta[POSE..]);
    if state.is_frozen {
        return robot_alone(state, delta, rigid, errors);
    }
    match errors {
        Errors::World { .. } | Errors::Robot { .. } => additive(state, delta),
        Errors::Invariant(Correction::Group) => group(state, delta),
        Errors::Invariant(Correction::Charts { charts, .. }) => in_charts(state, delta, rigid, charts, blocks),
    }
}

/// The same where landmarks stay where the map has them, to the last bit.
fn robot_alone(state: &mut State, delta: &[f64], rigid: &[f64], errors: Errors) {
    let (d, nu) = (pose_part(delta), pose_part(rigid));
    match errors {
        Errors::World { .. } | Errors::Robot { .. } => {
            state.pose.p += d.xy();
            state.pose.theta += d.z;
        }
        Errors::Invariant(_) => state.pose = Se2::exp(&(d - nu)) * Se2::exp(&nu) * state.pose,
    }
}

fn pose_part(delta: &[f64]) -> Vector3<f64> {
    Vector3::new(delta[0], delta[1], delta[2])
}

fn landmark_parts(delta: &[f64], first_row: usize) -> impl Iterator<Item = Vector2<f64>> + '_ {
    delta[first_row..].chunks_exact(2).map(|d| Vector2::new(d[0], d[1]))
}

/// x ← x + δ.
fn additive(state: &mut State, delta: &[f64]) {
    let d = pose_part(delta);
    state.pose.p += d.xy();
    state.pose.theta += d.z;
    let first_row = state.covariance.row_of(0);
    for (landmark, d) in state.landmarks.iter_mut().zip(landmark_parts(delta, first_row)) {
        landmark.x += d;
    }
}

/// The exponential of SE_{1+N}(2) at (ξ, ξ_i = ξ_p + e_i): X ← Exp(ξ)X, p_i ← R(ξ_θ)p_i + V(ξ_θ)ξ_i. The covariance
/// does not change.
fn group(state: &mut State, delta: &[f64]) {
    let xi = pose_part(delta);
    let (r, v) = (rotation(xi.z), v_matrix(xi.z));
    state.pose = Se2::exp(&xi) * state.pose;
    let first_row = state.covariance.row_of(0);
    for (landmark, e) in state.landmarks.iter_mut().zip(landmark_parts(delta, first_row)) {
        landmark.x = r * landmark.x + v * (xi.xy() + e);
    }
}

/// The error of an invariant filter is a product, χ_true = Exp(old)Exp(ν)χ̂: the error before the last motion, and the
/// noise ν of that motion, which moved the robot and left the landmarks where they are in the map. Each factor is
/// corrected where it arose. First, the rest of e_i without ν is applied in the chart of z_i = X⁻¹p_i. Second, the
/// robot moves among the landmarks, X ← Exp(ν)X. Third, robot and landmarks move together, X ← Exp(ξ − ν)X. Landmarks
/// that have been out of view follow the exponential of the group, p_i ← R(ξ_θ − ν_θ)p_i + V(ξ_θ − ν_θ)(ξ_p − ν_p +
/// e_i), and their errors do not change.
///
/// e_i is transported, δe⁺ = R(ξ_θ − ν_θ)R(θ)(∂z⁺/∂δz)R(θ)ᵀδe: the correction of ν turns no axes of the map. The error
/// of the pose is not transported by the Jacobian J_l(ξ) of the exponential. That would be right if the error were one
/// vector and the correction a part of it. But corrections consist mostly of ν, Exp(old) stands to the left of them,
/// and J_l would rotate the error of the whole path by half of each correction.
fn in_charts(state: &mut State, delta: &[f64], rigid: &[f64], charts: Charts, blocks: &mut Vec<Matrix2<f64>>) {
    let (xi, nu) = (pose_part(delta), pose_part(rigid));
    let before = state.pose;
    let old = xi - nu;
    let after = Se2::exp(&old) * Se2::exp(&nu) * before;
    let (turn, spread) = (rotation(old.z), v_matrix(old.z));
    let first_row = state.covariance.row_of(0);
    blocks.clear();
    let parts = landmark_parts(delta, first_row).zip(landmark_parts(rigid, first_row));
    for (landmark, (e, of_motion)) in state.landmarks.iter_mut().zip(parts) {
        if landmark.is_mapped {
            landmark.x = turn * landmark.x + spread * (old.xy() + e - of_motion);
            blocks.push(Matrix2::identity());
            continue;
        }
        let origin = landmark.chart_origin(charts, &before.p);
        let (place, derivative) = place(&origin, &landmark.x, &(e - of_motion), charts.kind);
        landmark.x = turn * place + spread * old.xy();
        landmark.anchor = turn * landmark.anchor + spread * old.xy();
        blocks.push(turn * derivative);
    }
    state.pose = after;
    state.covariance.transport(blocks);
}

/// Where a landmark at `p` is after the correction e, made in a chart centred at `origin`, and ∂p⁺/∂e; all in the map.
/// The orientation of the chart does not matter.
pub fn place(origin: &Vector2<f64>, p: &Vector2<f64>, e: &Vector2<f64>, chart: Chart) -> (Vector2<f64>, Matrix2<f64>) {
    let (z, derivative) = chart.retract(&(p - origin), e);
    (origin + z, derivative)
}
