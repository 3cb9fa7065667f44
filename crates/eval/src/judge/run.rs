//! An estimate beside the truth: everything that the report says.

use super::alignment::{Method, Similarity};
use super::associate::Pairs;
use super::contradiction::Contradiction;
use super::options::Options;
use super::relative::{self, Relative, over_distance, over_time};
use super::report::{Report, Source};
use super::space::Space;
use super::steps::{Setting, Steps, TruthNoise};
use super::{calibration, motions, stretches};
use lienav_io::trajectory::{Meaning, Trajectory};
use nalgebra::Isometry3;
use rayon::prelude::*;

/// An estimate that cannot be judged.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum JudgeError {
    /// No estimate has a true pose.
    #[error(
        "no pose of '{estimate}' has a truth: it is from {} to {}, the truth from {} to {}, with a gap of at most \
         {max_gap_s} s between its poses; if the clocks differ, give --time-offset SECONDS, if the truth is sparse, \
         --max-gap SECONDS", times[0], times[1], times[2], times[3]
    )]
    NoPairs {
        /// Its name.
        estimate: String,
        /// The first and the last stamp of either.
        times: Box<[String; 4]>,
        /// What is bridged.
        max_gap_s: f64,
    },
    /// The positions determine no motion.
    #[error("'{0}' cannot be aligned by {1}: its positions are not finite numbers of a usual size")]
    NoAlignment(String, &'static str),
}

/// An estimate that was judged.
#[derive(Clone, Debug)]
pub struct Judged {
    /// The numbers.
    pub report: Report,
    /// With the truth of their instant.
    pub pairs: Pairs,
    /// Errors, step by step.
    pub steps: Steps,
    /// How it was laid onto the truth.
    pub alignment: Similarity,
    /// Which numbers count.
    pub space: Space,
}

impl Judged {
    /// The aligned estimates.
    pub fn poses(&self) -> impl Iterator<Item = Isometry3<f64>> + '_ {
        self.pairs.estimates.iter().map(|pose| self.alignment.apply(pose))
    }
}

/// An estimate and what was found of it.
#[derive(Clone, Copy)]
pub struct Subject<'a> {
    /// As it was read.
    pub estimate: &'a Trajectory,
    /// What was found.
    pub judged: &'a Judged,
    /// Of the truth.
    pub noise: TruthNoise,
}

impl Subject<'_> {
    /// How errors were made, for what is computed from them later.
    pub fn setting(&self) -> Setting<'_> {
        let Judged { pairs, alignment, space, .. } = self.judged;
        let meaning = self.estimate.meaning.unwrap_or(Meaning::ROS);
        Setting { estimate: self.estimate, pairs, alignment, space: *space, noise: self.noise, meaning }
    }
}

/// Judges an estimate by a truth.
///
/// # Errors
/// No estimate has a truth, or the alignment that is asked for does not exist.
pub fn judge(estimate: &Trajectory, truth: &Trajectory, options: &Options) -> Result<Judged, JudgeError> {
    let pairs = Pairs::new(estimate, truth, options.max_gap_s, options.offset_s);
    if pairs.is_empty() {
        return Err(no_pairs(estimate, truth, options));
    }
    let space = options.space.unwrap_or_else(|| Space::of(estimate));
    let no_alignment = |method: Method| JudgeError::NoAlignment(estimate.name.clone(), method.name());
    let alignment = options.align.fit(&pairs).ok_or_else(|| no_alignment(options.align))?;
    let meaning = estimate.meaning.unwrap_or(Meaning::ROS);
    let setting = Setting { estimate, pairs: &pairs, alignment: &alignment, space, noise: options.noise, meaning };
    let steps = Steps::new(&setting);
    // Beside the errors as they are, those after the best alignment: the one asked for, or a rigid one.
    let best = match (options.align, space) {
        (Method::None, Space::Planar) => Method::Se2,
        (Method::None, Space::Space) => Method::Se3,
        (method, _) => method,
    };
    let aligned = best.fit(&pairs).ok_or_else(|| no_alignment(best))?;
    let unaligned = Similarity::default();
    let path = relative::path_length(&setting);
    let length_m = path.last().copied().unwrap_or_default();
    let source = Source {
        estimate,
        truth,
        options,
        space,
        pairs: &pairs,
        steps: &steps,
        setting,
        length_m,
        raw: rms_errors(&Setting { alignment: &unaligned, ..setting }),
        aligned: (best, aligned, rms_errors(&Setting { alignment: &aligned, ..setting })),
        by_time: by_time(&setting, options),
        by_distance: by_distance(&setting, options, &path),
        motions: if steps.unstated == pairs.len() {
            Vec::new()
        } else {
            options.over_s.iter().filter_map(|&over_s| motions::judge(&setting, over_s)).collect()
        },
        axes: calibration::axes(&setting, &steps),
        stretches: stretches::judge(&pairs, &steps),
        contradiction: if steps.unstated == pairs.len() {
            None
        } else {
            Contradiction::find(&setting, estimate.is_named)
        },
    };
    let report = Report::new(&source);
    Ok(Judged { report, pairs, steps, alignment, space })
}

/// Root mean squares of position, m, and orientation, rad.
fn rms_errors(setting: &Setting<'_>) -> (f64, f64) {
    /// Blocks of so many are summed one after the other, so that the sum is the same on any machine.
    const BLOCK: usize = 16_384;
    let count = setting.pairs.len();
    let starts: Vec<usize> = (0..count).step_by(BLOCK).collect();
    let sum_from = |from: usize| {
        let errors = (from..(from + BLOCK).min(count))
            .map(|at| setting.space.error(&setting.pairs.truths[at], &setting.pose(at)));
        errors.fold((0.0, 0.0), |(position, orientation), error| {
            let (p, r) = (error.fixed_rows::<3>(0).norm_squared(), error.fixed_rows::<3>(3).norm_squared());
            (position + p, orientation + r)
        })
    };
    let sums: Vec<(f64, f64)> = starts.into_par_iter().map(sum_from).collect();
    let (position, orientation) = sums.into_iter().fold((0.0, 0.0), |a, b| (a.0 + b.0, a.1 + b.1));
    let n = setting.pairs.len().max(1) as f64;
    ((position / n).sqrt(), (orientation / n).sqrt())
}

fn by_time(setting: &Setting<'_>, options: &Options) -> Vec<Relative> {
    let of = |&over_s: &f64| {
        let found = relative::judge(setting, &over_time(&setting.pairs.stamps, over_s))?;
        Some(Relative { over_s: Some(over_s), ..found })
    };
    options.over_s.iter().filter_map(of).collect()
}

fn by_distance(setting: &Setting<'_>, options: &Options, path: &[f64]) -> Vec<Relative> {
    let length = path.last().copied().unwrap_or_default();
    let parts: Vec<f64> = match options.over_m[..] {
        [] => [0.1, 0.2, 0.3, 0.4, 0.5].map(|part| part * length).to_vec(),
        _ => options.over_m.clone(),
    };
    let of = |over_m: f64| {
        let found = relative::judge(setting, &over_distance(path, over_m))?;
        let drift_percent = Some(100.0 * found.position_mean_m / over_m);
        Some(Relative { over_m: Some(over_m), drift_percent, ..found })
    };
    parts.into_iter().filter_map(of).collect()
}

fn no_pairs(estimate: &Trajectory, truth: &Trajectory, options: &Options) -> JudgeError {
    let ends = |of: &Trajectory| {
        let text = |stamp: Option<&lienav_base::stamp::Stamp>| stamp.map_or("–".to_owned(), ToString::to_string);
        [text(of.stamps.first()), text(of.stamps.last())]
    };
    let ([a, b], [c, d]) = (ends(estimate), ends(truth));
    JudgeError::NoPairs { estimate: estimate.name.clone(), times: Box::new([a, b, c, d]), max_gap_s: options.max_gap_s }
}
