//! What a judged estimate comes to, in numbers. Serialised, the fields are the keys of the JSON report.

use super::alignment::{Method, Similarity};
use super::associate::Pairs;
use super::calibration::{Axis, Calibration, Sharpness};
use super::consistency::{Consistency, Verdict};
use super::contradiction::Contradiction;
use super::motions::MotionConsistency;
use super::options::Options;
use super::plausibility;
use super::relative::Relative;
use super::sample::median;
use super::space::Space;
use super::steps::{Setting, Steps};
use super::stretches::Stretch;
use lienav_io::trajectory::Trajectory;
use serde::Serialize;
use std::collections::BTreeMap;

/// The numbers of one estimate; what cannot be known is `null`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// The name of the estimate, under the key that `evaluate` has for a filter.
    pub filter: String,
    /// The name of the truth.
    pub source: String,
    /// Estimates with a truth.
    pub steps: usize,
    /// Root mean square of the distance to the true position, m; without alignment.
    pub position_rmse_m: f64,
    /// The same after the motion of `alignment`.
    pub aligned_position_rmse_m: f64,
    /// The greatest distance, m; after `--align`, as all numbers below.
    pub position_max_m: f64,
    /// Half of the distances are smaller, m.
    pub position_median_m: f64,
    /// Root mean square of the angle to the true orientation, degrees; without alignment.
    pub orientation_rmse_deg: f64,
    /// The same after the motion of `alignment`.
    pub aligned_orientation_rmse_deg: f64,
    /// The greatest angle, degrees.
    pub orientation_max_deg: f64,
    /// The position's RMSE without what the stated noise of the truth explains, m; `null` where none is stated.
    pub position_rmse_less_truth_m: Option<f64>,
    /// Mean NEES of the position.
    pub nees_position_mean: Option<f64>,
    /// Mean NEES of the orientation.
    pub nees_orientation_mean: Option<f64>,
    /// Mean NEES of the pose.
    pub nees_mean: Option<f64>,
    /// The part of the steps whose NEES of the pose lies in the 95 % band of χ²; 0.95 is right.
    pub nees_in_band_fraction: Option<f64>,
    /// Steps whose covariance is singular.
    pub nees_singular: usize,
    /// Steps that state no covariance.
    pub steps_without_covariance: usize,
    /// What is said of the covariance of the pose; of the position, where that is all there is.
    pub verdict: Option<Verdict>,
    /// Of position, orientation and pose, each with its interval.
    pub consistency: Parts,
    /// Whether plane or space is meant.
    pub space: Space,
    /// How the estimate was laid onto the truth.
    pub alignment: Alignment,
    /// What the numbers of the covariance were taken to mean.
    pub convention: Option<String>,
    /// Poses of the estimate without a truth.
    pub steps_without_truth: usize,
    /// From the first to the last pair, s.
    pub duration_s: f64,
    /// Of the true path, m.
    pub length_m: f64,
    /// Claimed quantiles against those found.
    pub calibration: Option<Calibration>,
    /// How much is claimed.
    pub sharpness: Option<Sharpness>,
    /// Axis by axis.
    pub axes: Vec<Axis>,
    /// Relative pose errors over times.
    pub relative_by_time: Vec<Relative>,
    /// Relative pose errors over lengths of the path.
    pub relative_by_distance: Vec<Relative>,
    /// Consistency of motions.
    pub motions: Vec<MotionConsistency>,
    /// Tenths of the run.
    pub stretches: Vec<Stretch>,
    /// Poses that were left out, by reason.
    pub dropped: BTreeMap<&'static str, u64>,
    /// What the reader should know.
    pub warnings: Vec<String>,
}

/// Position, orientation and pose.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Parts {
    /// Of the position.
    pub position: Option<Consistency>,
    /// Of the orientation.
    pub orientation: Option<Consistency>,
    /// Of both.
    pub pose: Option<Consistency>,
}

/// How an estimate was laid onto the truth.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Alignment {
    /// With which motions; `aligned_…` are after it.
    pub method: Method,
    /// Whether all other numbers are after it, too.
    pub is_applied: bool,
    /// The shift, m.
    pub translation_m: [f64; 3],
    /// The turn, a quaternion (x, y, z, w).
    pub rotation_xyzw: [f64; 4],
    /// The scale.
    pub scale: f64,
}

/// All that a report is made of.
pub struct Source<'a> {
    /// Who estimates.
    pub estimate: &'a Trajectory,
    /// By what it is judged.
    pub truth: &'a Trajectory,
    /// How.
    pub options: &'a Options,
    /// Which numbers count.
    pub space: Space,
    /// Estimates and truth.
    pub pairs: &'a Pairs,
    /// Their errors.
    pub steps: &'a Steps,
    /// What they are made of.
    pub setting: Setting<'a>,
    /// Of the true path, m.
    pub length_m: f64,
    /// RMSE of position, m, and orientation, rad, without alignment.
    pub raw: (f64, f64),
    /// The same after an alignment.
    pub aligned: (Method, Similarity, (f64, f64)),
    /// Relative errors.
    pub by_time: Vec<Relative>,
    /// Relative errors.
    pub by_distance: Vec<Relative>,
    /// Of motions.
    pub motions: Vec<MotionConsistency>,
    /// Axis by axis.
    pub axes: (Vec<Axis>, Option<Sharpness>),
    /// Tenths of the run.
    pub stretches: Vec<Stretch>,
    /// A convention that fits better.
    pub contradiction: Option<Contradiction>,
}

impl Report {
    /// Puts the numbers together.
    pub fn new(source: &Source<'_>) -> Self {
        let Source { estimate, truth, options, space, pairs, steps, .. } = *source;
        let (method, motion, aligned) = source.aligned;
        let duration_s = match (pairs.stamps.first(), pairs.stamps.last()) {
            (Some(first), Some(last)) => last.since(*first),
            _ => 0.0,
        };
        let parts = parts_of(source, duration_s);
        let mut distances: Vec<f64> = steps.all.iter().map(|step| Steps::position_square(step).sqrt()).collect();
        let turns = steps.all.iter().map(|step| Steps::orientation_square(step).sqrt());
        let in_position = space.parts().0.len() as f64;
        let less_noise =
            |rmse: f64| (rmse * rmse - in_position * options.noise.std_m * options.noise.std_m).max(0.0).sqrt();
        let q = motion.rotation.coords;
        Self {
            filter: estimate.name.clone(),
            source: truth.name.clone(),
            steps: pairs.len(),
            position_rmse_m: source.raw.0,
            aligned_position_rmse_m: aligned.0,
            position_max_m: distances.iter().copied().fold(0.0, f64::max),
            position_median_m: median(&mut distances).unwrap_or_default(),
            orientation_rmse_deg: source.raw.1.to_degrees(),
            aligned_orientation_rmse_deg: aligned.1.to_degrees(),
            orientation_max_deg: turns.fold(0.0, f64::max).to_degrees(),
            position_rmse_less_truth_m: options
                .noise
                .is_stated()
                .then(|| less_noise(if options.align == Method::None { source.raw.0 } else { aligned.0 })),
            nees_position_mean: parts.position.map(|part| part.nees_mean),
            nees_orientation_mean: parts.orientation.map(|part| part.nees_mean),
            nees_mean: parts.pose.map(|part| part.nees_mean),
            nees_in_band_fraction: parts.pose.map(|part| part.in_band_fraction),
            nees_singular: steps.singular,
            steps_without_covariance: steps.unstated,
            verdict: parts.pose.or(parts.position).or(parts.orientation).map(|part| part.verdict),
            consistency: parts,
            space,
            alignment: Alignment {
                method,
                is_applied: options.align != Method::None,
                translation_m: motion.translation.into(),
                rotation_xyzw: [q.x, q.y, q.z, q.w],
                scale: motion.scale,
            },
            convention: estimate.meaning.filter(|_| steps.unstated < pairs.len()).map(|meaning| meaning.to_string()),
            steps_without_truth: pairs.without_truth,
            duration_s,
            length_m: source.length_m,
            calibration: Calibration::new(&steps.white[2], space.all().len()),
            sharpness: source.axes.1,
            axes: source.axes.0.clone(),
            relative_by_time: source.by_time.clone(),
            relative_by_distance: source.by_distance.clone(),
            motions: source.motions.clone(),
            stretches: source.stretches.clone(),
            dropped: estimate.dropped.clone(),
            warnings: warnings(source, &parts),
        }
    }
}

fn parts_of(source: &Source<'_>, duration_s: f64) -> Parts {
    let (position, orientation) = source.space.parts();
    let step_s = duration_s / source.pairs.len().saturating_sub(1).max(1) as f64;
    let fitted = source.options.align.parameters();
    let [of_position, of_orientation, of_pose] = &source.steps.white;
    Parts {
        position: Consistency::new(of_position, position.len(), step_s, fitted),
        orientation: Consistency::new(of_orientation, orientation.len(), step_s, fitted),
        pose: Consistency::new(of_pose, source.space.all().len(), step_s, fitted),
    }
}

/// An alignment that leaves so much less of the error means that frames differ.
const OTHER_FRAME: f64 = 5.0;
/// A median and a mean that differ by this factor, as factors of σ, mean that outliers decide.
const OUTLIERS: f64 = 1.5;

fn warnings(source: &Source<'_>, parts: &Parts) -> Vec<String> {
    let Source { estimate, truth, options, steps, pairs, .. } = *source;
    let mut warnings: Vec<String> = source.contradiction.iter().map(Contradiction::sentence).collect();
    let (method, _, aligned) = source.aligned;
    if options.align == Method::None && source.raw.0 > OTHER_FRAME * aligned.0 && pairs.len() > 2 {
        let yaw = if source.space == Space::Planar { "se2" } else { "yaw" };
        warnings.push(format!(
            "position RMSE is {:.3} m, and {:.3} m after alignment by {}: if the frames of estimate and truth differ, \
             give --align {yaw}; NEES means nothing before that",
            source.raw.0,
            aligned.0,
            method.name()
        ));
    }
    let per_dof = parts.pose.map(|pose| pose.nees_mean / pose.dof as f64);
    warnings.extend(plausibility::find(&source.setting, per_dof));
    if 0 < steps.unstated && steps.unstated < pairs.len() {
        warnings.push(format!("{} of {} poses state no covariance", steps.unstated, pairs.len()));
    }
    let stated = pairs.len() - steps.unstated;
    let regular = steps.white[2].len() / source.space.all().len();
    if regular < stated {
        let unusable = stated - regular;
        warnings.push(format!("{unusable} of {stated} covariances of the pose are singular or not positive definite"));
    }
    let is_constant = estimate.covariances.windows(2).all(|pair| pair[0] == pair[1]);
    if estimate.covariances.len() > 10 && is_constant && estimate.stated(0).is_some() {
        warnings.push("the covariance is the same at every pose: a placeholder, and no estimate".to_owned());
    }
    let widest = [3, 4, 5].into_iter().map(|k| steps.variances[k]).fold(0.0, f64::max);
    let stated = (pairs.len() - steps.unstated).max(1) as f64;
    let half_a_turn = std::f64::consts::PI;
    if widest / stated > half_a_turn * half_a_turn {
        warnings.push(format!(
            "the standard deviation of an orientation is {:.2} rad, more than half a turn: check unit and order of the \
             covariance (--covariance, --covariance-order)",
            (widest / stated).sqrt()
        ));
    }
    if let Some(pose) = parts.pose.filter(|pose| pose.sigma_factor > OUTLIERS * pose.sigma_factor_median) {
        warnings.push(format!(
            "a few large errors decide the mean NEES: by the mean, σ is wrong by {:.2}, by the median by {:.2}",
            pose.sigma_factor, pose.sigma_factor_median
        ));
    }
    if !truth.dropped.is_empty() {
        let reasons: Vec<String> = truth.dropped.iter().map(|(reason, n)| format!("{reason} {n}")).collect();
        warnings.push(format!("left out of the truth: {}", reasons.join(", ")));
    }
    warnings.extend(estimate.warnings.iter().chain(&truth.warnings).cloned());
    warnings
}

/// Reports as JSON, indented: an object for one report, an array of such objects otherwise.
///
/// # Errors
/// None in practice; serde's, should a report ever hold what JSON cannot say.
pub fn to_json(reports: &[Report]) -> serde_json::Result<String> {
    match reports {
        [one] => serde_json::to_string_pretty(one),
        many => serde_json::to_string_pretty(many),
    }
}
