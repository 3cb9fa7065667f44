//! The page of a Monte Carlo experiment: the numbers with their intervals, how errors grow, and every run.

use super::data::significant;
use super::rows::shown;
use crate::consistency::BAND_PROBABILITY;
use crate::monte_carlo::{FilterOutcome, METRICS, Outcome, Report, StepSummary, Value};
use lienav_base::stamp::Stamp;
use serde::Serialize;

/// The most steps of one filter, and the most runs: beyond, the extremes of the steps and the first runs.
const MOST_ROWS: usize = 2000;
const MOST_RUNS: usize = 2000;

/// All of a page.
#[derive(Serialize)]
pub(super) struct Page {
    version: &'static str,
    scenario: String,
    runs: usize,
    seed: u64,
    steps: usize,
    duration_s: f64,
    probability: f64,
    filters: Vec<Shown>,
}

/// A filter over all runs.
#[derive(Serialize)]
struct Shown {
    name: String,
    numbers: Vec<Number>,
    nees_in_band_fraction: Option<f64>,
    step_us_mean: Option<f64>,
    dropped: u64,
    rows: Rows,
    runs: Runs,
}

/// A number with the interval of its 95 %.
#[derive(Serialize)]
struct Number {
    key: &'static str,
    value: Option<f64>,
    interval: Option<[f64; 2]>,
    /// Less that of the first filter, and by it, over pairs of runs: each with the interval of its 95 %.
    difference: Option<[f64; 3]>,
    ratio: Option<[f64; 3]>,
}

/// Over time: means over the runs.
#[derive(Default, Serialize)]
struct Rows {
    t: Vec<f64>,
    position_rms: Vec<f64>,
    yaw_rms: Vec<f64>,
    nees: Vec<Option<f64>>,
    low: Vec<f64>,
    high: Vec<f64>,
}

/// Run by run, over time.
#[derive(Default, Serialize)]
struct Runs {
    seed: Vec<String>,
    position_rmse: Vec<f64>,
    nees: Vec<Option<f64>>,
}

impl Page {
    pub(super) fn new(outcome: &Outcome, report: &Report) -> Self {
        let stamps = || outcome.filters.iter().flat_map(|filter| filter.steps.iter().map(|step| step.stamp));
        let start = stamps().min().unwrap_or_default();
        Self {
            version: env!("CARGO_PKG_VERSION"),
            scenario: report.scenario.clone(),
            runs: report.runs,
            seed: report.seed,
            steps: report.steps,
            duration_s: stamps().max().map_or(0.0, |end| significant(end.since(start), 9)),
            probability: BAND_PROBABILITY,
            filters: outcome
                .filters
                .iter()
                .zip(&report.filters)
                .map(|(filter, numbers)| Shown {
                    name: filter.name.clone(),
                    numbers: METRICS
                        .iter()
                        .zip(&numbers.values)
                        .map(|(metric, value)| number(metric.key, value))
                        .collect(),
                    nees_in_band_fraction: numbers.nees_in_band_fraction,
                    step_us_mean: numbers.step_us_mean,
                    dropped: numbers.dropped.values().sum(),
                    rows: Rows::new(&filter.steps, start),
                    runs: Runs::new(filter),
                })
                .collect(),
        }
    }
}

fn number(key: &'static str, found: &Value) -> Number {
    let rounded = |value: f64| significant(value, 5);
    let interval = found.interval.map(|interval| [rounded(interval.low), rounded(interval.high)]);
    let difference = found.difference.map(|d| [d.value, d.interval.low, d.interval.high].map(rounded));
    let ratio = found.difference.map(|d| [d.ratio, d.ratio_interval.low, d.ratio_interval.high].map(rounded));
    Number { key, value: found.value.map(rounded), interval, difference, ratio }
}

impl Rows {
    fn new(steps: &[StepSummary], start: Stamp) -> Self {
        let of = |value: fn(&StepSummary) -> f64| steps.iter().map(value).collect::<Vec<_>>();
        let columns = [
            of(|step| step.position_rms_m),
            of(|step| step.yaw_rms_rad),
            of(|step| step.nees.mean().unwrap_or(f64::NAN)),
        ];
        let mut rows = Self::default();
        for step in shown(steps.len(), &columns, MOST_ROWS).into_iter().map(|index| &steps[index]) {
            let (low, high) = step.nees.band();
            rows.t.push(significant(step.stamp.since(start), 9));
            rows.position_rms.push(significant(step.position_rms_m, 4));
            rows.yaw_rms.push(significant(step.yaw_rms_rad, 4));
            rows.nees.push(step.nees.mean().map(|nees| significant(nees, 4)));
            rows.low.push(significant(low, 4));
            rows.high.push(significant(high, 4));
        }
        rows
    }
}

impl Runs {
    fn new(filter: &FilterOutcome) -> Self {
        let mut runs = Self::default();
        for run in filter.runs.iter().take(MOST_RUNS) {
            // A seed has more digits than a number of JavaScript.
            runs.seed.push(run.seed.to_string());
            runs.position_rmse.push(significant(run.position_square_m2.sqrt(), 4));
            runs.nees.push(run.nees_mean.map(|nees| significant(nees, 4)));
        }
        runs
    }
}
