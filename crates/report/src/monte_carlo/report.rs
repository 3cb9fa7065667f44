//! What an experiment came to, in numbers.

use super::bootstrap::{Interval, interval};
use super::experiment::Outcome;
use super::metrics::{METRICS, Metric};
use super::tally::{FilterOutcome, RunAssociations, RunMean, RunSummary, StepSummary};
use crate::associations::Associations;
use crate::mean::mean;
use lienav_slam::{Coordinates, Filter};
use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};
use std::collections::BTreeMap;

/// The numbers of an experiment. Serialised, its fields are the keys of the JSON report.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// Name of the scenario.
    pub scenario: String,
    /// How many runs.
    pub runs: usize,
    /// Where their seeds come from.
    pub seed: u64,
    /// Steps of a run.
    pub steps: usize,
    /// The filters, in the order of the experiment; in JSON an object by name.
    #[serde(serialize_with = "by_name")]
    pub filters: Vec<FilterReport>,
}

/// The numbers of one filter. In JSON, the values are keys beside the other fields, with their confidence intervals
/// under `intervals`, their standard errors under `standard_errors`, and their differences from the first filter under
/// `differences`.
#[derive(Clone, Debug, PartialEq)]
pub struct FilterReport {
    /// The name of the filter.
    pub name: String,
    /// One for each of [`METRICS`], in their order.
    pub values: Vec<Value>,
    /// The part of the steps at which the mean NEES over the runs lies in its 95 % band; 0.95 is right on average, but
    /// successive steps depend on each other.
    pub nees_in_band_fraction: Option<f64>,
    /// The same in the group's coordinates.
    pub group_nees_in_band_fraction: Option<f64>,
    /// Whether the filter's own error of the pose is that of the group, X_true = Exp(ξ)X̂, and not that of (x, y, θ).
    /// In JSON, `own_nees_mean` and `own_nees_in_band_fraction` repeat the numbers in the filter's own coordinates.
    pub is_group_error: bool,
    /// The greatest change of the pose's covariance from the first to the last step of a run; see
    /// [`RunSummary::covariance_change`].
    pub pose_covariance_change_max: Option<f64>,
    /// Estimates, in all runs together, that have no NEES because their covariance was singular.
    pub nees_left_out: usize,
    /// Mean time of a step, µs, with all threads at work; `None` where times are left out, so that the report is the
    /// same every time.
    pub step_us_mean: Option<f64>,
    /// What the filter refused in all runs together, by reason.
    pub dropped: BTreeMap<String, u64>,
    /// How right the associations were, where identities were withheld; otherwise JSON has no such key.
    pub associations: Option<AssociationReport>,
}

/// How right the associations of many runs were; numbers are means over runs, but for the counts of runs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct AssociationReport {
    /// Of the pairs of measurements that went to one landmark, the part that is of one true landmark.
    pub pair_precision: Option<f64>,
    /// Of the pairs of measurements of one true landmark, the part that went to one landmark.
    pub pair_recall: Option<f64>,
    /// The same of the measurements that were used only.
    pub used_pair_recall: Option<f64>,
    /// The part of the matches that is wrong.
    pub wrong_fraction: Option<f64>,
    /// The part of the measurements of true landmarks that was used.
    pub used_fraction: Option<f64>,
    /// Landmarks of the final map that are of a true one that another one is of already.
    pub duplicates: f64,
    /// Landmarks of the final map that are of nothing.
    pub false_landmarks: f64,
    /// Landmarks of the final map by true landmarks that were read.
    pub landmarks_per_true: Option<f64>,
    /// How many runs had a loop: true landmarks came back.
    pub loops: usize,
    /// How many of them recognized most of what came back.
    pub loops_closed: usize,
    /// 99 of 100 steps of a run took no longer, µs; `None` where times are left out.
    pub step_us_p99: Option<f64>,
}

impl AssociationReport {
    /// `None` of no runs.
    fn new(runs: &[RunAssociations]) -> Option<Self> {
        let over = |value: fn(&Associations) -> Option<f64>| mean(runs.iter().filter_map(|run| value(&run.found)));
        let count = |is: fn(&Associations) -> bool| runs.iter().filter(|run| is(&run.found)).count();
        Some(Self {
            pair_precision: over(|found| found.pair_precision),
            pair_recall: over(|found| found.pair_recall),
            used_pair_recall: over(|found| found.used_pair_recall),
            wrong_fraction: over(Associations::wrong_fraction),
            used_fraction: over(|found| {
                (found.measurements > 0).then(|| found.used as f64 / found.measurements as f64)
            }),
            duplicates: over(|found| Some(found.duplicates as f64))?,
            false_landmarks: over(|found| Some(found.false_landmarks as f64))?,
            landmarks_per_true: over(Associations::landmarks_per_true),
            loops: count(|found| found.is_loop_closed().is_some()),
            loops_closed: count(|found| found.is_loop_closed() == Some(true)),
            step_us_p99: mean(runs.iter().map(|run| run.step_us_p99)),
        })
    }
}

/// A number with what is known about it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Value {
    /// What it is.
    pub key: &'static str,
    /// The number; `None` where no run has one.
    pub value: Option<f64>,
    /// Its 95 % confidence interval.
    pub interval: Option<Interval>,
    /// Standard error of a mean over runs, as their spread tells it; `None` of root mean squares and of less than two
    /// runs.
    pub standard_error: Option<f64>,
    /// This filter's number less that of the first filter, over the same runs; `None` for the first filter itself.
    pub difference: Option<Difference>,
}

/// A difference between two filters.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Difference {
    /// Less than 0 where this filter's number is the smaller one.
    pub value: f64,
    /// Its 95 % confidence interval: runs are drawn in pairs.
    pub interval: Interval,
    /// This filter's number by that of the first filter.
    pub ratio: f64,
    /// Its 95 % confidence interval, from the same pairs.
    pub ratio_interval: Interval,
}

impl Report {
    /// The numbers of an experiment.
    pub fn new(outcome: &Outcome) -> Self {
        let experiment = &outcome.experiment;
        let first = outcome.filters.first();
        let report = |(index, filter)| {
            let base = first.filter(|_| index > 0);
            FilterReport::new(filter, base, experiment.seed)
        };
        Self {
            scenario: experiment.scenario.name.clone(),
            runs: experiment.runs,
            seed: experiment.seed,
            steps: first.map_or(0, |filter| filter.steps.len()),
            filters: outcome.filters.iter().enumerate().map(report).collect(),
        }
    }

    /// Leaves out what is different every time: the times of steps.
    pub fn without_times(mut self) -> Self {
        for filter in &mut self.filters {
            filter.step_us_mean = None;
            if let Some(associations) = &mut filter.associations {
                associations.step_us_p99 = None;
            }
        }
        self
    }

    /// As JSON, indented.
    ///
    /// # Errors
    /// None in practice; serde's, should a report ever hold what JSON cannot say.
    pub fn to_json(&self) -> serde_json::Result<String> {
        serde_json::to_string_pretty(self)
    }
}

impl FilterReport {
    fn new(filter: &FilterOutcome, base: Option<&FilterOutcome>, seed: u64) -> Self {
        let value = |metric: &Metric| Value {
            key: metric.key,
            value: metric.over(filter.runs.iter().filter_map(metric.of_run)),
            interval: interval_of(metric, &filter.runs, seed),
            standard_error: standard_error(metric, &filter.runs),
            difference: base.and_then(|base| difference(metric, &filter.runs, &base.runs, seed)),
        };
        Self {
            name: filter.name.clone(),
            values: METRICS.iter().map(value).collect(),
            nees_in_band_fraction: in_band(&filter.steps, |step| step.nees),
            group_nees_in_band_fraction: in_band(&filter.steps, |step| step.group_nees),
            is_group_error: is_group_error(&filter.name),
            pose_covariance_change_max: filter.runs.iter().filter_map(RunSummary::covariance_change).reduce(f64::max),
            nees_left_out: filter.nees_left_out,
            step_us_mean: Some(filter.step_us_mean),
            dropped: filter.dropped.clone(),
            associations: AssociationReport::new(&filter.associations),
        }
    }

    /// The part of the steps in the band, in the coordinates of the filter's own errors.
    pub fn own_nees_in_band_fraction(&self) -> Option<f64> {
        if self.is_group_error { self.group_nees_in_band_fraction } else { self.nees_in_band_fraction }
    }

    /// One of [`METRICS`] by its key, with all that is known about it.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.values.iter().find(|value| value.key == key)
    }
}

fn interval_of(metric: &Metric, runs: &[RunSummary], seed: u64) -> Option<Interval> {
    let values: Vec<f64> = runs.iter().filter_map(metric.of_run).collect();
    interval(values.len(), seed, |runs| metric.over(runs.iter().map(|&run| values[run])).unwrap_or(f64::NAN))
}

fn standard_error(metric: &Metric, runs: &[RunSummary]) -> Option<f64> {
    let values: Vec<f64> = runs.iter().filter_map(metric.of_run).filter(|_| !metric.is_rms).collect();
    let (middle, n) = (mean(values.iter().copied())?, values.len() as f64);
    let squares: f64 = values.iter().map(|value| (value - middle).powi(2)).sum();
    (n > 1.0).then(|| (squares / (n - 1.0) / n).sqrt())
}

/// `runs` against `base`, run by run. `None` where they share no run that has the number.
pub fn difference(metric: &Metric, runs: &[RunSummary], base: &[RunSummary], seed: u64) -> Option<Difference> {
    let pairs = runs.iter().zip(base);
    let pairs: Vec<(f64, f64)> =
        pairs.filter_map(|(run, base)| Some(((metric.of_run)(run)?, (metric.of_run)(base)?))).collect();
    let both = |sample: &[usize]| {
        let ours = metric.over(sample.iter().map(|&run| pairs[run].0));
        let theirs = metric.over(sample.iter().map(|&run| pairs[run].1));
        ours.zip(theirs).unwrap_or((f64::NAN, f64::NAN))
    };
    let (less, by) = (|(a, b): (f64, f64)| a - b, |(a, b): (f64, f64)| a / b);
    let all: Vec<usize> = (0..pairs.len()).collect();
    Some(Difference {
        value: less(both(&all)),
        interval: interval(pairs.len(), seed, |sample| less(both(sample)))?,
        ratio: by(both(&all)),
        ratio_interval: interval(pairs.len(), seed, |sample| by(both(sample)))?,
    })
}

fn is_group_error(name: &str) -> bool {
    Filter::named(name).is_ok_and(|filter| filter.coordinates() == Coordinates::Invariant)
}

fn in_band(steps: &[StepSummary], of: impl Fn(&StepSummary) -> RunMean) -> Option<f64> {
    mean(steps.iter().map(of).filter_map(|nees| {
        let (low, high) = nees.band();
        Some(f64::from((low..=high).contains(&nees.mean()?)))
    }))
}

fn by_name<S: Serializer>(filters: &[FilterReport], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(filters.iter().map(|filter| (&filter.name, filter)))
}

impl Serialize for FilterReport {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for value in &self.values {
            map.serialize_entry(value.key, &value.value)?;
        }
        map.serialize_entry("nees_in_band_fraction", &self.nees_in_band_fraction)?;
        map.serialize_entry("group_nees_in_band_fraction", &self.group_nees_in_band_fraction)?;
        let own = if self.is_group_error { "group_nees_mean" } else { "nees_mean" };
        map.serialize_entry("own_nees_mean", &self.get(own).and_then(|value| value.value))?;
        map.serialize_entry("own_nees_in_band_fraction", &self.own_nees_in_band_fraction())?;
        map.serialize_entry("pose_covariance_change_max", &self.pose_covariance_change_max)?;
        map.serialize_entry("nees_left_out", &self.nees_left_out)?;
        map.serialize_entry("step_us_mean", &self.step_us_mean)?;
        map.serialize_entry("dropped", &self.dropped)?;
        if let Some(associations) = &self.associations {
            map.serialize_entry("associations", associations)?;
        }
        let intervals: BTreeMap<_, _> = self.values.iter().map(|value| (value.key, value.interval)).collect();
        map.serialize_entry("intervals", &intervals)?;
        let errors: BTreeMap<_, _> =
            self.values.iter().filter_map(|value| Some((value.key, value.standard_error?))).collect();
        map.serialize_entry("standard_errors", &errors)?;
        let differences: BTreeMap<_, _> =
            self.values.iter().filter_map(|value| Some((value.key, value.difference?))).collect();
        map.serialize_entry("differences", &differences)?;
        map.end()
    }
}
