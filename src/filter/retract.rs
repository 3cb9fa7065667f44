//! How a correction is applied to the estimate.

use super::covariance::POSE;
use super::state::State;
use super::{Chart, Retraction};
use crate::lie::{Se2, rotation, v_matrix};
use nalgebra::{Matrix2, Vector2, Vector3};

/// Applies δ. With a chart, the covariance is carried to the new estimate: it stays what it is in the coordinates in which
/// the correction was an addition.
pub fn retract(state: &mut State, delta: &[f64], retraction: Retraction, blocks: &mut Vec<Matrix2<f64>>) {
    state.calibration.correct(&delta[POSE..]);
    match retraction {
        Retraction::Additive => additive(state, delta),
        Retraction::Group => group(state, delta),
        Retraction::Chart(chart) => in_chart(state, delta, chart, blocks),
    }
}

fn pose_part(delta: &[f64]) -> Vector3<f64> {
    Vector3::new(delta[0], delta[1], delta[2])
}

fn feature_parts(delta: &[f64], first_row: usize) -> impl Iterator<Item = Vector2<f64>> + '_ {
    delta[first_row..].chunks_exact(2).map(|d| Vector2::new(d[0], d[1]))
}

/// x ← x + δ.
fn additive(state: &mut State, delta: &[f64]) {
    let d = pose_part(delta);
    state.pose.p += d.xy();
    state.pose.theta += d.z;
    let first_row = state.covariance.row_of(0);
    for (feature, d) in state.features.iter_mut().zip(feature_parts(delta, first_row)) {
        feature.x += d;
    }
}

/// The exponential of SE_{1+N}(2) at (ξ, ξ_i = ξ_p + e_i): X ← Exp(ξ)X, p_i ← R(ξ_θ)p_i + V(ξ_θ)ξ_i. The covariance stays.
fn group(state: &mut State, delta: &[f64]) {
    let xi = pose_part(delta);
    let (r, v) = (rotation(xi.z), v_matrix(xi.z));
    state.pose = Se2::exp(&xi) * state.pose;
    let first_row = state.covariance.row_of(0);
    for (feature, e) in state.features.iter_mut().zip(feature_parts(delta, first_row)) {
        feature.x = r * feature.x + v * (xi.xy() + e);
    }
}

/// X ← Exp(ξ)X, each z_i by its chart from δz_i = R(θ)ᵀe_i, and e_i carried along: δe⁺ = R(θ⁺) (∂z⁺/∂δz) R(θ)ᵀ δe.
fn in_chart(state: &mut State, delta: &[f64], chart: Chart, blocks: &mut Vec<Matrix2<f64>>) {
    let xi = pose_part(delta);
    let (before, after) = (state.pose, Se2::exp(&xi) * state.pose);
    let (back, forth) = (before.rotation().transpose(), after.rotation());
    let first_row = state.covariance.row_of(0);
    blocks.clear();
    for (feature, e) in state.features.iter_mut().zip(feature_parts(delta, first_row)) {
        let (z, derivative) = chart.retract(&before.transform_back(&feature.x), &(back * e));
        feature.x = after.transform(&z);
        blocks.push(forth * derivative * back);
    }
    state.pose = after;
    state.covariance.transport(&Se2::left_jacobian(&xi), blocks);
}
