//! Runs added up, one after the other.

use super::trial::{Sample, Trial};
use crate::associations::Associations;
use crate::consistency::{BAND_PROBABILITY, POSE_DOF, chi_squared_band, nees};
use crate::mean::mean;
use crate::report::StepTime;
use lienav_base::stamp::Stamp;
use nalgebra::{Matrix3, Vector3};
use std::collections::BTreeMap;

/// What one filter made of all runs.
#[derive(Clone, Debug, PartialEq)]
pub struct FilterOutcome {
    /// The name of the filter.
    pub name: String,
    /// One for each run.
    pub runs: Vec<RunSummary>,
    /// One for each instant at which the filter was judged, over all runs.
    pub steps: Vec<StepSummary>,
    /// Estimates without NEES because their covariance was singular, as long as the start is known exactly.
    pub nees_left_out: usize,
    /// What the filter refused in all runs together, by reason.
    pub dropped: BTreeMap<String, u64>,
    /// Mean time of a step, µs; different every time.
    pub step_us_mean: f64,
    /// How right the associations were, one for each run in which identities were withheld.
    pub associations: Vec<RunAssociations>,
}

/// The associations of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RunAssociations {
    /// What they were worth.
    pub found: Associations,
    /// 99 of 100 steps took no longer, µs; different every time.
    pub step_us_p99: f64,
}

/// One filter in one run; means are over its steps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RunSummary {
    /// `scenario.seed` of the run.
    pub seed: u64,
    /// Mean of ‖δp‖, m.
    pub position_mean_m: f64,
    /// Mean of ‖δp‖², m².
    pub position_square_m2: f64,
    /// Mean of |δθ|, rad.
    pub yaw_mean_rad: f64,
    /// Mean of δθ², rad².
    pub yaw_square_rad2: f64,
    /// ‖δp‖ at the end, m.
    pub final_position_m: f64,
    /// |δθ| at the end, rad.
    pub final_yaw_rad: f64,
    /// Mean NEES of (x, y, θ), over the steps that have one.
    pub nees_mean: Option<f64>,
    /// The same at the end.
    pub final_nees: Option<f64>,
    /// Slope of the NEES over time by least squares, 1/s.
    pub nees_slope_per_s: Option<f64>,
    /// Mean NEES in the group's coordinates ξ, X_true = Exp(ξ)X̂.
    pub group_nees_mean: Option<f64>,
    /// The same at the end.
    pub final_group_nees: Option<f64>,
    /// Slope of the NEES in the group's coordinates over time by least squares, 1/s.
    pub group_nees_slope_per_s: Option<f64>,
    /// Normalised innovation squared by degree of freedom, over all updates.
    pub nis_per_dof: Option<f64>,
    /// Mean square of the final map's errors, m².
    pub landmark_square_m2: Option<f64>,
    /// The same as seen from the robot, m².
    pub relative_landmark_square_m2: Option<f64>,
    /// Mean NEES of the final map's features; 2 is right.
    pub landmark_nees_mean: Option<f64>,
    /// The covariance of (x, y, θ) that was claimed at the first step, (m, m, rad).
    pub first_covariance: Matrix3<f64>,
    /// That of the last step.
    pub final_covariance: Matrix3<f64>,
}

impl RunSummary {
    /// How much the covariance of the pose changes from the first step to the last: the largest entry of the change,
    /// in units of the standard deviations of the first step. `None` where that is singular, as for a start that is
    /// known exactly.
    pub fn covariance_change(&self) -> Option<f64> {
        nees(&Vector3::zeros(), &self.first_covariance)?;
        let scale = self.first_covariance.diagonal().map(|variance| variance.sqrt().recip());
        let change = (self.final_covariance - self.first_covariance).component_mul(&(scale * scale.transpose()));
        Some(change.amax())
    }
}

/// One filter at one instant; means are over the runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StepSummary {
    /// When.
    pub stamp: Stamp,
    /// Mean of ‖δp‖, m.
    pub position_mean_m: f64,
    /// Root mean square of ‖δp‖, m.
    pub position_rms_m: f64,
    /// Mean of |δθ|, rad.
    pub yaw_mean_rad: f64,
    /// Root mean square of δθ, rad.
    pub yaw_rms_rad: f64,
    /// Mean NEES of (x, y, θ).
    pub nees: RunMean,
    /// Mean NEES in the group's coordinates.
    pub group_nees: RunMean,
}

/// The mean of a NEES over runs.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RunMean {
    sum: f64,
    /// Over how many runs.
    pub runs: usize,
}

impl RunMean {
    fn add(&mut self, value: Option<f64>) {
        if let Some(value) = value {
            self.sum += value;
            self.runs += 1;
        }
    }

    /// The mean; `None` where no run has one.
    pub fn mean(&self) -> Option<f64> {
        (self.runs > 0).then(|| self.sum / self.runs as f64)
    }

    /// The interval that holds the mean of a consistent filter with 95 % probability: that of χ² with 3 degrees of
    /// freedom a run, divided by the runs (Bar-Shalom, Li, Kirubarajan 2001, section 5.4.2).
    pub fn band(&self) -> (f64, f64) {
        let runs = self.runs.max(1);
        let (low, high) = chi_squared_band(POSE_DOF * runs, BAND_PROBABILITY);
        (low / runs as f64, high / runs as f64)
    }
}

/// What one filter made of one run, as far as it is added up: what travels where runs are made on several machines.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct FilterRun {
    pub(super) summary: RunSummary,
    /// One for each step, in the order of their stamps.
    pub(super) samples: Vec<StepSample>,
    pub(super) dropped: BTreeMap<String, u64>,
    pub(super) associations: Option<RunAssociations>,
    /// Time of all steps together, µs, and how many they were.
    pub(super) step_us_sum: f64,
    pub(super) step_count: usize,
}

/// The errors of one estimate, without its covariance.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct StepSample {
    pub(super) stamp: Stamp,
    /// ‖δp‖, m.
    pub(super) position_m: f64,
    /// |δθ|, rad.
    pub(super) yaw_rad: f64,
    /// NEES in (x, y, θ); `None` where the covariance is singular.
    pub(super) nees: Option<f64>,
    /// NEES in the group's coordinates.
    pub(super) group_nees: Option<f64>,
}

impl FilterRun {
    pub(super) fn new(seed: u64, trial: &Trial) -> Self {
        let sample = |sample: &Sample| StepSample {
            stamp: sample.stamp,
            position_m: sample.position_m,
            yaw_rad: sample.yaw_rad,
            nees: sample.nees,
            group_nees: sample.group_nees,
        };
        let associations = |found| RunAssociations {
            found,
            step_us_p99: StepTime::new(&trial.step_us).map_or(f64::NAN, |time| time.p99),
        };
        Self {
            summary: RunSummary::new(seed, trial),
            samples: trial.samples.iter().map(sample).collect(),
            dropped: trial.dropped.clone(),
            associations: trial.associations.map(associations),
            step_us_sum: trial.step_us.iter().sum(),
            step_count: trial.step_us.len(),
        }
    }
}

/// Runs of one filter, being added up.
pub(super) struct Tally {
    name: String,
    runs: Vec<RunSummary>,
    steps: BTreeMap<Stamp, Sums>,
    nees_left_out: usize,
    dropped: BTreeMap<String, u64>,
    step_us_sum: f64,
    step_count: usize,
    associations: Vec<RunAssociations>,
}

#[derive(Default)]
struct Sums {
    count: f64,
    position: f64,
    position_square: f64,
    yaw: f64,
    yaw_square: f64,
    nees: RunMean,
    group_nees: RunMean,
}

impl Tally {
    pub(super) fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            runs: Vec::new(),
            steps: BTreeMap::new(),
            nees_left_out: 0,
            dropped: BTreeMap::new(),
            step_us_sum: 0.0,
            step_count: 0,
            associations: Vec::new(),
        }
    }

    /// Adds a run. Sums depend on the order in their last bits, so runs are added in theirs.
    pub(super) fn add(&mut self, run: &FilterRun) {
        self.runs.push(run.summary);
        for sample in &run.samples {
            self.steps.entry(sample.stamp).or_default().add(sample);
            self.nees_left_out += usize::from(sample.nees.is_none());
        }
        for (reason, count) in &run.dropped {
            *self.dropped.entry(reason.clone()).or_default() += count;
        }
        self.associations.extend(run.associations);
        self.step_us_sum += run.step_us_sum;
        self.step_count += run.step_count;
    }

    pub(super) fn finish(self) -> FilterOutcome {
        FilterOutcome {
            name: self.name,
            runs: self.runs,
            steps: self.steps.into_iter().map(|(stamp, sums)| sums.finish(stamp)).collect(),
            nees_left_out: self.nees_left_out,
            dropped: self.dropped,
            step_us_mean: self.step_us_sum / self.step_count.max(1) as f64,
            associations: self.associations,
        }
    }
}

impl Sums {
    fn add(&mut self, sample: &StepSample) {
        self.count += 1.0;
        self.position += sample.position_m;
        self.position_square += sample.position_m.powi(2);
        self.yaw += sample.yaw_rad;
        self.yaw_square += sample.yaw_rad.powi(2);
        self.nees.add(sample.nees);
        self.group_nees.add(sample.group_nees);
    }

    fn finish(self, stamp: Stamp) -> StepSummary {
        StepSummary {
            stamp,
            position_mean_m: self.position / self.count,
            position_rms_m: (self.position_square / self.count).sqrt(),
            yaw_mean_rad: self.yaw / self.count,
            yaw_rms_rad: (self.yaw_square / self.count).sqrt(),
            nees: self.nees,
            group_nees: self.group_nees,
        }
    }
}

impl RunSummary {
    fn new(seed: u64, trial: &Trial) -> Self {
        let samples = || trial.samples.iter();
        // A run without steps is refused before it is added up.
        let over_steps = |value: fn(&Sample) -> f64| mean(samples().map(value)).unwrap_or(f64::NAN);
        let last = trial.samples.last();
        Self {
            seed,
            position_mean_m: over_steps(|sample| sample.position_m),
            position_square_m2: over_steps(|sample| sample.position_m.powi(2)),
            yaw_mean_rad: over_steps(|sample| sample.yaw_rad),
            yaw_square_rad2: over_steps(|sample| sample.yaw_rad.powi(2)),
            final_position_m: last.map_or(f64::NAN, |sample| sample.position_m),
            final_yaw_rad: last.map_or(f64::NAN, |sample| sample.yaw_rad),
            nees_mean: mean(samples().filter_map(|sample| sample.nees)),
            final_nees: last.and_then(|sample| sample.nees),
            nees_slope_per_s: slope(samples().filter_map(|sample| Some((sample.stamp.secs(), sample.nees?)))),
            group_nees_mean: mean(samples().filter_map(|sample| sample.group_nees)),
            final_group_nees: last.and_then(|sample| sample.group_nees),
            group_nees_slope_per_s: slope(samples().filter_map(|s| Some((s.stamp.secs(), s.group_nees?)))),
            nis_per_dof: (trial.dof_sum > 0).then(|| trial.nis_sum / trial.dof_sum as f64),
            landmark_square_m2: mean(trial.landmarks.iter().map(|landmark| landmark.square_m2)),
            relative_landmark_square_m2: mean(trial.landmarks.iter().map(|landmark| landmark.relative_square_m2)),
            landmark_nees_mean: mean(trial.landmarks.iter().filter_map(|landmark| landmark.nees)),
            first_covariance: trial.samples.first().map_or_else(Matrix3::zeros, |sample| sample.covariance),
            final_covariance: last.map_or_else(Matrix3::zeros, |sample| sample.covariance),
        }
    }
}

/// The slope of the line that fits best; `None` where the points do not have two abscissas.
fn slope(points: impl Iterator<Item = (f64, f64)> + Clone) -> Option<f64> {
    let (middle_t, middle_y) = (mean(points.clone().map(|(t, _)| t))?, mean(points.clone().map(|(_, y)| y))?);
    let (mut products, mut squares) = (0.0, 0.0);
    for (t, y) in points {
        products += (t - middle_t) * (y - middle_y);
        squares += (t - middle_t).powi(2);
    }
    (squares > 0.0).then(|| products / squares)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slope_of_a_line_is_its_own() {
        assert_eq!(slope([(0.0, 1.0), (1.0, 3.0), (4.0, 9.0)].into_iter()), Some(2.0));
        assert_eq!(slope([(1.0, 1.0), (1.0, 2.0)].into_iter()), None);
        assert_eq!(slope(std::iter::empty()), None);
    }

    #[test]
    fn the_band_of_fifty_runs_is_that_of_the_tables() {
        let (low, high) = RunMean { sum: 0.0, runs: 50 }.band();
        // χ² with 150 degrees of freedom: 117.98 … 185.80.
        assert!((low - 117.98 / 50.0).abs() < 1e-3 && (high - 185.80 / 50.0).abs() < 1e-3, "{low} {high}");
    }
}
