//! What contradicts itself between an estimate and its truth: another unit, another clock, standard deviations in the
//! place of variances, one file twice. Each finding names both numbers and the remedy.

use super::steps::Setting;
use nalgebra::{Isometry3, Vector3};

/// Positions that are spread so many times as far as those of the truth, or the truth's as theirs, have another unit.
/// Feet are 3.3 times metres; the drift of a usable estimator is far below.
const OTHER_UNIT: f64 = 3.0;
/// Errors that a delay explains to this part are due to it.
const EXPLAINED: f64 = 0.5;
/// A shorter delay is not worth a sentence, s.
const LEAST_DELAY_S: f64 = 0.002;
/// Velocities are differences of the truth over so much at most, s: over more, a robot turns.
const LONGEST_STEP_S: f64 = 0.5;
/// A mean NEES that is off by this factor is asked for its reason.
const FAR_OFF: f64 = 5.0;
/// And another reading of the covariance explains it where NEES is right but for this factor.
const NEARLY: f64 = 3.0;
/// Fewer poses show nothing.
const LEAST_POSES: usize = 20;
/// So many steps are looked at, evenly taken from the run.
const LOOKED_AT: usize = 2000;

/// Sentences about what contradicts itself; `nees_per_dof` is the mean NEES of the pose, 1 where it is right.
pub fn find(setting: &Setting<'_>, nees_per_dof: Option<f64>) -> Vec<String> {
    if setting.pairs.len() < LEAST_POSES {
        return Vec::new();
    }
    [same(setting), unit(setting), delay(setting), deviations(setting, nees_per_dof)].into_iter().flatten().collect()
}

/// Estimate and truth are the same numbers.
fn same(setting: &Setting<'_>) -> Option<String> {
    let pairs = setting.pairs;
    let is_same = pairs.estimates == pairs.truths;
    is_same.then(|| "the estimate is the truth itself, number by number: is the right file or topic named?".to_owned())
}

/// Root of the sum of squares about the mean.
fn spread(poses: &[Isometry3<f64>]) -> f64 {
    let n = poses.len().max(1) as f64;
    let mean = poses.iter().map(|pose| pose.translation.vector).sum::<Vector3<f64>>() / n;
    (poses.iter().map(|pose| (pose.translation.vector - mean).norm_squared()).sum::<f64>() / n).sqrt()
}

/// Positions are in another unit than those of the truth.
fn unit(setting: &Setting<'_>) -> Option<String> {
    let (estimate, truth) = (spread(&setting.pairs.estimates), spread(&setting.pairs.truths));
    // A robot that stands has no size.
    if !(estimate > 0.0 && truth > 0.01) {
        return None;
    }
    let ratio = estimate / truth;
    (!(1.0 / OTHER_UNIT..=OTHER_UNIT).contains(&ratio)).then(|| {
        format!(
            "the estimate's positions are spread over {estimate:.3} and the truth's over {truth:.3}, {ratio:.4} times \
             as far: are both in metres?"
        )
    })
}

/// Errors lie along the motion, as those of another clock do.
fn delay(setting: &Setting<'_>) -> Option<String> {
    let pairs = setting.pairs;
    let (mut along, mut square, mut whole) = (0.0, 0.0, 0.0);
    for k in 1..pairs.len().saturating_sub(1) {
        let step = pairs.stamps[k + 1].since(pairs.stamps[k - 1]);
        if !(step > 0.0 && step <= 2.0 * LONGEST_STEP_S) {
            continue;
        }
        let moved = pairs.truths[k + 1].translation.vector - pairs.truths[k - 1].translation.vector;
        let velocity = moved / step;
        let error = setting.pose(k).translation.vector - pairs.truths[k].translation.vector;
        along += error.dot(&velocity);
        square += velocity.norm_squared();
        whole += error.norm_squared();
    }
    if !(square > 0.0 && whole > 0.0) {
        return None;
    }
    let early_s = along / square;
    let explained = along * along / (square * whole);
    (explained > EXPLAINED && early_s.abs() > LEAST_DELAY_S).then(|| {
        format!(
            "{:.0} % of the squared position error lie along the motion, as with stamps that are {:.3} s {}: if the \
             clocks differ, give --time-offset {early_s:.3}",
            100.0 * explained,
            early_s.abs(),
            if early_s > 0.0 { "early" } else { "late" }
        )
    })
}

/// Numbers of the diagonal that fit as standard deviations, and not as variances.
fn deviations(setting: &Setting<'_>, nees_per_dof: Option<f64>) -> Option<String> {
    let found = nees_per_dof.filter(|nees| *nees > FAR_OFF || *nees < 1.0 / FAR_OFF)?;
    let of = setting.space.all();
    let stride = setting.pairs.len().div_ceil(LOOKED_AT).max(1);
    let (mut sum, mut count) = (0.0, 0.0);
    for at in (0..setting.pairs.len()).step_by(stride) {
        let (error, covariance) = setting.error(at);
        let Some(covariance) = covariance.filter(|c| of.iter().all(|&i| c[(i, i)] > 0.0)) else { continue };
        sum += of.iter().map(|&i| (error[i] / covariance[(i, i)]).powi(2)).sum::<f64>();
        count += of.len() as f64;
    }
    let squared = sum / count;
    (squared < NEARLY && squared > 1.0 / NEARLY).then(|| {
        format!(
            "NEES is {found:.3} times what is right, and {squared:.2} times if the diagonal of the covariance holds \
             standard deviations: it has to hold variances, m² and rad²"
        )
    })
}
