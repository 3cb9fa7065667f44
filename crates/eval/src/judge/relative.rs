//! Relative pose errors: the motion over a time or a distance, beside the true one.
//!
//! E = (Q₁⁻¹ Q₂)⁻¹ (P₁⁻¹ P₂) for truth Q and estimate P (Sturm et al. 2012): the length of its translation and its
//! angle. Every pose begins a motion, which ends at the pose whose time or path length is nearest to what is asked.

use super::sample::{median, quantile};
use super::steps::Setting;
use lienav_base::stamp::Stamp;
use rayon::prelude::*;
use serde::Serialize;

/// A motion may miss the asked length by this part of it.
pub const TOLERANCE: f64 = 0.1;
/// Sums of seconds differ by less than this part.
const ROUNDING: f64 = 1e-9;
/// So many motions are compared; of more, every second one, every third and so on.
pub const MOST_MOTIONS: usize = 200_000;

/// Errors of motions over one time or distance.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Relative {
    /// Over this time, s.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub over_s: Option<f64>,
    /// Over this length of the true path, m.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub over_m: Option<f64>,
    /// How many motions.
    pub count: usize,
    /// Root mean square of the translation's error, m.
    pub position_rmse_m: f64,
    /// Its mean, m.
    pub position_mean_m: f64,
    /// Its median, m.
    pub position_median_m: f64,
    /// 95 of 100 are smaller, m.
    pub position_p95_m: f64,
    /// The greatest, m.
    pub position_max_m: f64,
    /// Root mean square of the rotation's error, degrees.
    pub orientation_rmse_deg: f64,
    /// Its mean, degrees.
    pub orientation_mean_deg: f64,
    /// Its median, degrees.
    pub orientation_median_deg: f64,
    /// The mean error in percent of the distance.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub drift_percent: Option<f64>,
}

/// Begin and end of motions.
pub type Motions = Vec<(usize, usize)>;

/// The motions that last so long, by their stamps.
pub fn over_time(stamps: &[Stamp], over_s: f64) -> Motions {
    let Some(first) = stamps.first() else { return Motions::new() };
    let since: Vec<f64> = stamps.iter().map(|stamp| stamp.since(*first)).collect();
    let mut motions = over(&since, over_s);
    // A motion that the end of the run cuts short is not one over this time.
    let last = stamps.len() - 1;
    motions.retain(|&(begin, end)| end < last || since[end] - since[begin] > over_s * (1.0 - ROUNDING));
    motions
}

/// The motions over such a length of a path; `path` is the length up to each pose, m.
pub fn over_distance(path: &[f64], over_m: f64) -> Motions {
    over(path, over_m)
}

/// Of each number, the later one that is nearest to `length` more; the first of equal ones.
fn over(along: &[f64], length: f64) -> Motions {
    if !(length.is_finite() && length > 0.0) {
        return Motions::new();
    }
    let stride = along.len().div_ceil(MOST_MOTIONS).max(1);
    let mut motions = Motions::new();
    let mut after = 0;
    for begin in (0..along.len()).step_by(stride) {
        let wanted = along[begin] + length;
        while after < along.len() && along[after] < wanted {
            after += 1;
        }
        let before = after.checked_sub(1).filter(|&k| k > begin).map(|k| first_of_equal(along, k, begin + 1));
        let later = Some(after).filter(|&k| k < along.len() && k > begin);
        let miss = |k: usize| (along[k] - along[begin] - length).abs();
        let nearest = [before, later].into_iter().flatten().reduce(|a, b| if miss(b) < miss(a) { b } else { a });
        if let Some(end) = nearest.filter(|&end| miss(end) <= TOLERANCE * length) {
            motions.push((begin, end));
        }
    }
    motions
}

/// The first of the numbers up to `at` that equal it, not before `from`: a robot that stands still has many.
fn first_of_equal(along: &[f64], at: usize, from: usize) -> usize {
    if at <= from || along[at - 1] != along[at] {
        return at;
    }
    from + along[from..at].partition_point(|x| *x < along[at])
}

/// The length of the true path up to each pair, m.
pub fn path_length(setting: &Setting<'_>) -> Vec<f64> {
    let mut along = 0.0;
    let truths = &setting.pairs.truths;
    (0..truths.len())
        .map(|k| {
            if k > 0 {
                let moved = setting.space.relative(&truths[k - 1], &truths[k]);
                along += moved.translation.vector.norm();
            }
            along
        })
        .collect()
}

/// What these motions come to; `None` of none.
pub fn judge(setting: &Setting<'_>, motions: &[(usize, usize)]) -> Option<Relative> {
    let error_of = |&(begin, end): &(usize, usize)| {
        let truths = &setting.pairs.truths;
        let true_motion = setting.space.relative(&truths[begin], &truths[end]);
        let motion = setting.space.relative(&setting.pose(begin), &setting.pose(end));
        let error = true_motion.inv_mul(&motion);
        (error.translation.vector.norm(), error.rotation.angle().to_degrees())
    };
    let (mut positions, mut turns): (Vec<f64>, Vec<f64>) = motions.par_iter().map(error_of).unzip();
    let n = positions.len() as f64;
    let mean = |values: &[f64]| values.iter().sum::<f64>() / n;
    let rms = |values: &[f64]| (values.iter().map(|x| x * x).sum::<f64>() / n).sqrt();
    Some(Relative {
        over_s: None,
        over_m: None,
        count: positions.len(),
        position_rmse_m: rms(&positions),
        position_mean_m: mean(&positions),
        orientation_rmse_deg: rms(&turns),
        orientation_mean_deg: mean(&turns),
        position_max_m: positions.iter().copied().reduce(f64::max)?,
        position_p95_m: quantile(&mut positions, 0.95)?,
        position_median_m: median(&mut positions)?,
        orientation_median_deg: median(&mut turns)?,
        drift_percent: None,
    })
}
