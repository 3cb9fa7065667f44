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
use nalgebra::{Matrix3, Matrix6, Vector3};
use rayon::prelude::*;
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
    /// If errors only add up; of the motions where this is possible, if these are more than half.
    pub if_added: Option<Consistency>,
    /// The part of the motions where it is.
    pub added_fraction: f64,
}

/// Judges the motions over a time; `None` where no two poses with covariances are so far apart.
pub fn judge(setting: &Setting<'_>, over_s: f64) -> Option<MotionConsistency> {
    let all = setting.space.all();
    let motions = over_time(&setting.pairs.stamps, over_s);
    let white: Vec<White> = motions.par_iter().filter_map(|motion| White::of(setting, *motion)).collect();
    let count = white.len();
    let flat = |of: fn(&White) -> Option<[f64; 6]>| -> Vec<f64> {
        white.iter().filter_map(of).flat_map(|white| white.into_iter().take(all.len())).collect()
    };
    let (least, added) = (flat(|white| white.least), flat(|white| white.added));
    let (dof, step_s) = (all.len(), step_s(setting, motions.len()));
    let at_least = Consistency::new(&least, dof, step_s, 0);
    (count > 0).then(|| MotionConsistency {
        over_s,
        count,
        at_least,
        if_added: Consistency::new(&added, dof, step_s, 0).filter(|added| 2 * added.count > count),
        added_fraction: (added.len() / dof) as f64 / count as f64,
    })
}

/// The whitened error of a motion, by either covariance.
struct White {
    least: Option<[f64; 6]>,
    added: Option<[f64; 6]>,
}

impl White {
    /// `None` where one of the two poses states no covariance.
    fn of(setting: &Setting<'_>, (begin, end): (usize, usize)) -> Option<Self> {
        let (first, second) = (setting.stated(begin)?, setting.stated(end)?);
        let (from, to) = (setting.pose(begin), setting.pose(end));
        let truths = &setting.pairs.truths;
        let true_motion = setting.space.relative(&truths[begin], &truths[end]);
        let motion = setting.space.relative(&from, &to);
        // About the axes of the first pose, as the motion itself.
        let error = setting.space.error(&true_motion, &motion);
        let turn = setting.space.axes_of(&from);
        let shift = to.translation.vector - from.translation.vector;
        let noise = setting.noise.covariance(1.0);
        let earlier = carried(&setting.space.of_covariance(&first), &shift, &turn);
        let later = carried(&setting.space.of_covariance(&second), &Vector3::zeros(), &turn);
        let noise = if setting.noise.is_stated() { carried(&noise, &shift, &turn) + noise } else { Matrix6::zeros() };
        let all = setting.space.all();
        Some(Self {
            least: whiten(&error, &((earlier + later) * 2.0 + noise), all),
            added: whiten(&error, &(later - earlier + noise), all),
        })
    }
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
fn carried(covariance: &Matrix6<f64>, shift: &Vector3<f64>, turn: &Matrix3<f64>) -> Matrix6<f64> {
    let block = |i: usize, j: usize| covariance.fixed_view::<3, 3>(i, j).into_owned();
    let lever = -shift.cross_matrix();
    let (pr, rr) = (block(0, 3) + lever * block(3, 3), block(3, 3));
    let pp = block(0, 0) + block(0, 3) * lever.transpose() + lever * pr.transpose();
    let turned = |block: Matrix3<f64>| turn * block * turn.transpose();
    let mut carried = Matrix6::zeros();
    carried.fixed_view_mut::<3, 3>(0, 0).copy_from(&turned(pp));
    carried.fixed_view_mut::<3, 3>(0, 3).copy_from(&turned(pr));
    carried.fixed_view_mut::<3, 3>(3, 0).copy_from(&turned(pr.transpose()));
    carried.fixed_view_mut::<3, 3>(3, 3).copy_from(&turned(rr));
    carried
}
