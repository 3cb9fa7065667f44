//! Consistency of motions of an estimator that states no joint covariance of two poses.
//!
//! With D = T₁⁻¹ T₂, its error is R₁ᵀ (δ₂ − A δ₁) to first order, A = [[I, −[p₂ − p₁]×], [0, I]]. How δ₁ and δ₂ are
//! correlated is not stated. Two things can be said:
//!
//! - whatever the correlation, the covariance of the error is at most 2 (Σ₂ + A Σ₁ Aᵀ). Where even the mean NEES by this
//!   bound is above its degrees of freedom, the estimator is overconfident, whatever it assumes;
//! - where errors only add up, as in odometry, it is Σ₂ − A Σ₁ Aᵀ, if that is a covariance. A NEES by this is right for
//!   such an estimator.

use super::consistency::Consistency;
use super::relative::over_time;
use super::steps::Setting;
use super::whiten::whiten;
use nalgebra::{Matrix3, Matrix6, Vector6};
use serde::Serialize;

/// The consistency of motions over one time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct MotionConsistency {
    /// Over this time, s.
    pub over_s: f64,
    /// How many motions have two covariances.
    pub count: usize,
    /// By the greatest covariance that the stated ones allow: above its degrees of freedom, it is overconfident.
    pub at_least: Option<Consistency>,
    /// If errors only add up; of the motions where this is possible.
    pub if_added: Option<Consistency>,
    /// The part of the motions where it is.
    pub added_fraction: f64,
}

/// Judges the motions over a time; `None` where no two poses with covariances are so far apart.
pub fn judge(setting: &Setting<'_>, over_s: f64) -> Option<MotionConsistency> {
    let all = setting.space.all();
    let (mut least, mut added, mut count) = (Vec::new(), Vec::new(), 0_usize);
    let motions = over_time(&setting.pairs.stamps, over_s);
    for &(begin, end) in &motions {
        let (Some(first), Some(second)) = (setting.stated(begin), setting.stated(end)) else { continue };
        let (from, to) = (setting.pose(begin), setting.pose(end));
        let truths = &setting.pairs.truths;
        let true_motion = setting.space.relative(&truths[begin], &truths[end]);
        let motion = setting.space.relative(&from, &to);
        // About the axes of the first pose, as the motion itself.
        let error = setting.space.error(&true_motion, &motion);
        let turn = from.rotation.inverse().to_rotation_matrix().into_inner();
        let shift = to.translation.vector - from.translation.vector;
        let noise = setting.noise.covariance(1.0);
        let earlier = carried(&setting.space.of_covariance(&first), &shift, &turn);
        let later = carried(&setting.space.of_covariance(&second), &nalgebra::Vector3::zeros(), &turn);
        let noise = carried(&noise, &shift, &turn) + noise;
        count += 1;
        if let Some(white) = whitened(&error, &((earlier + later) * 2.0 + noise), all) {
            least.extend_from_slice(&white[..all.len()]);
        }
        if let Some(white) = whitened(&error, &(later - earlier + noise), all) {
            added.extend_from_slice(&white[..all.len()]);
        }
    }
    let (dof, step_s) = (all.len(), step_s(setting, motions.len()));
    let at_least = Consistency::new(&least, dof, step_s, 0);
    (count > 0).then(|| MotionConsistency {
        over_s,
        count,
        at_least,
        if_added: Consistency::new(&added, dof, step_s, 0),
        added_fraction: (added.len() / dof) as f64 / count as f64,
    })
}

fn whitened(error: &Vector6<f64>, covariance: &Matrix6<f64>, of: &[usize]) -> Option<[f64; 6]> {
    whiten(error, covariance, of)
}

/// The time between the beginnings of successive motions, s.
fn step_s(setting: &Setting<'_>, motions: usize) -> f64 {
    let stamps = &setting.pairs.stamps;
    match (stamps.first(), stamps.last()) {
        (Some(first), Some(last)) if motions > 1 => last.since(*first) / motions as f64,
        _ => 0.0,
    }
}

/// Σ in the axes of the first pose, its orientation error turning what is `shift` away: R₁ᵀ A Σ Aᵀ R₁.
fn carried(covariance: &Matrix6<f64>, shift: &nalgebra::Vector3<f64>, turn: &Matrix3<f64>) -> Matrix6<f64> {
    let mut a = Matrix6::zeros();
    a.fixed_view_mut::<3, 3>(0, 0).copy_from(turn);
    a.fixed_view_mut::<3, 3>(0, 3).copy_from(&(-turn * shift.cross_matrix()));
    a.fixed_view_mut::<3, 3>(3, 3).copy_from(turn);
    a * covariance * a.transpose()
}
