//! Confidence intervals without a distribution assumed: the percentile bootstrap (Efron 1979).

use rand::RngExt;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use serde::Serialize;

/// Probability that an interval holds what it is about.
const CONFIDENCE: f64 = 0.95;

/// Resamples an interval is made of: its ends are then the 50th from either side.
const RESAMPLES: usize = 2000;

/// A 95 % confidence interval. Serialised, an array of its two ends.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(into = "[f64; 2]")]
pub struct Interval {
    /// Its lower end.
    pub low: f64,
    /// Its upper end.
    pub high: f64,
}

impl From<Interval> for [f64; 2] {
    fn from(interval: Interval) -> Self {
        [interval.low, interval.high]
    }
}

impl Interval {
    /// Whether a value lies in it, ends included.
    pub fn contains(&self, value: f64) -> bool {
        (self.low..=self.high).contains(&value)
    }
}

/// The 95 % interval of a statistic of `count` independent runs: `statistic` is told which runs a resample consists
/// of, by index, `count` of them with repetition. One seed gives the same resamples for every statistic. `None`
/// without runs.
pub fn interval(count: usize, seed: u64, mut statistic: impl FnMut(&[usize]) -> f64) -> Option<Interval> {
    if count == 0 {
        return None;
    }
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut resample = vec![0; count];
    let mut values: Vec<f64> = (0..RESAMPLES)
        .map(|_| {
            resample.iter_mut().for_each(|index| *index = random.random_range(0..count));
            statistic(&resample)
        })
        .collect();
    values.sort_by(f64::total_cmp);
    let outside = (0.5 * (1.0 - CONFIDENCE) * RESAMPLES as f64).round() as usize;
    Some(Interval { low: *values.get(outside)?, high: *values.get(RESAMPLES - 1 - outside)? })
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_distr::{Distribution, Normal};

    fn mean_interval(values: &[f64], seed: u64) -> Interval {
        let mean = |of: &[usize]| of.iter().map(|&index| values[index]).sum::<f64>() / of.len() as f64;
        interval(values.len(), seed, mean).unwrap()
    }

    /// Of 400 intervals, 95 % hold the mean; the percentile interval of 40 values is a little narrow: 94 %.
    #[test]
    fn the_interval_holds_a_known_mean_as_often_as_it_says() {
        let mut random = ChaCha8Rng::seed_from_u64(1);
        let normal = Normal::new(5.0, 2.0).unwrap();
        let held = (0..400).filter(|&seed| {
            let values: Vec<f64> = (0..40).map(|_| normal.sample(&mut random)).collect();
            mean_interval(&values, seed).contains(5.0)
        });
        let fraction = held.count() as f64 / 400.0;
        assert!((0.90..0.98).contains(&fraction), "{fraction}");
    }

    #[test]
    fn it_is_as_wide_as_theory_says_and_the_same_every_time() {
        let values: Vec<f64> = (0..100).map(f64::from).collect();
        let interval = mean_interval(&values, 7);
        // The standard deviation of 0 … 99 is 28.87.
        let half = 1.96 * 28.87 / 10.0;
        assert!(
            (interval.low - (49.5 - half)).abs() < 0.6 && (interval.high - (49.5 + half)).abs() < 0.6,
            "{interval:?}"
        );
        assert_eq!(interval, mean_interval(&values, 7));
        assert_ne!(interval, mean_interval(&values, 8));
    }

    #[test]
    fn one_run_has_an_interval_without_width_and_none_has_none() {
        assert_eq!(mean_interval(&[3.0], 1), Interval { low: 3.0, high: 3.0 });
        assert_eq!(interval(0, 1, |_| 0.0), None);
    }
}
