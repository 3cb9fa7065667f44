//! What experiments with integrators measure: observed orders, drifts, and the time of a step.

use std::ops::Range;
use std::time::{Duration, Instant};

/// A line through points, by least squares.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fit {
    /// The slope.
    pub slope: f64,
    /// The slope's standard error; 0 of two points.
    pub standard_error: f64,
    /// The ordinate at abscissa 0.
    pub intercept: f64,
    /// How many points the line goes through.
    pub points: usize,
}

/// The line through `points` (x, y) by least squares. `None` of fewer than two different abscissae, or where a number
/// is not finite.
pub fn fit_line(points: &[(f64, f64)]) -> Option<Fit> {
    let count = points.len() as f64;
    let (x_mean, y_mean) =
        (points.iter().map(|p| p.0).sum::<f64>() / count, points.iter().map(|p| p.1).sum::<f64>() / count);
    let xx: f64 = points.iter().map(|p| (p.0 - x_mean).powi(2)).sum();
    let xy: f64 = points.iter().map(|p| (p.0 - x_mean) * (p.1 - y_mean)).sum();
    let slope = xy / xx;
    if !(xx > 0.0 && slope.is_finite()) {
        return None;
    }
    let intercept = y_mean - slope * x_mean;
    let residuals: f64 = points.iter().map(|p| (p.1 - intercept - slope * p.0).powi(2)).sum();
    let freedom = (count - 2.0).max(1.0);
    Some(Fit { slope, standard_error: (residuals / freedom / xx).sqrt(), intercept, points: points.len() })
}

/// The slope of ln y against ln x through all points that are positive and finite, as for scalings with a grid's size.
pub fn log_slope(points: &[(f64, f64)]) -> Option<Fit> {
    fit_line(&logarithms(points))
}

/// How far a slope between neighbours may lie from that of the range they are in, relative to it, and at least.
const SLOPE_SPREAD: (f64, f64) = (0.08, 0.25);

/// What is flatter than this is no convergence but the floor that rounding, tolerances or the reference leave.
const LEAST_ORDER: f64 = 0.5;

/// The order that errors over step sizes show: the slope of ln error against ln step by least squares, over the
/// longest range of neighbouring step sizes (three at least) in which all neighbours agree on it. So neither steps
/// that are too large to be asymptotic nor the floor at small ones spoil it; of ranges equally long, that of smaller
/// steps counts. `None` where there is no such range.
pub fn order(steps_and_errors: &[(f64, f64)]) -> Option<Fit> {
    converging(steps_and_errors).map(|(fit, _)| fit)
}

/// [`order`] with the range of ln step it was found in.
pub fn converging(steps_and_errors: &[(f64, f64)]) -> Option<(Fit, Range<f64>)> {
    let mut points = logarithms(steps_and_errors);
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    for length in (3..=points.len()).rev() {
        let fit = |range: &[(f64, f64)]| {
            let fit = fit_line(range).filter(|fit| agree(range, fit.slope))?;
            Some((fit, range[0].0..range[length - 1].0))
        };
        if let Some(found) = points.windows(length).find_map(fit) {
            return Some(found);
        }
    }
    None
}

/// [`order`]'s slope as a value of a report: not a number where there is none.
pub fn order_observed(steps_and_errors: &[(f64, f64)]) -> f64 {
    order(steps_and_errors).map_or(f64::NAN, |fit| fit.slope)
}

fn agree(range: &[(f64, f64)], slope: f64) -> bool {
    let spread = (SLOPE_SPREAD.0 * slope).max(SLOPE_SPREAD.1);
    slope > LEAST_ORDER
        && range.iter().zip(&range[1..]).all(|(a, b)| (((b.1 - a.1) / (b.0 - a.0)) - slope).abs() <= spread)
}

fn logarithms(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let logarithms = points.iter().map(|(x, y)| (x.ln(), y.ln()));
    logarithms.filter(|(x, y)| x.is_finite() && y.is_finite()).collect()
}

/// The mean of independent numbers and half the width of its 95 % interval, by Student's t. `None` of fewer than two,
/// or where one is not finite.
pub fn mean_and_interval(numbers: &[f64]) -> Option<(f64, f64)> {
    /// The 0.975 quantile of Student's t with 1, 2, … degrees of freedom; further ones are taken for the last.
    const T: [f64; 15] =
        [12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131];
    let count = numbers.len() as f64;
    let mean = numbers.iter().sum::<f64>() / count;
    let variance = numbers.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (count - 1.0);
    let t = T.get(numbers.len().checked_sub(2)?.min(T.len() - 1))?;
    let half = t * (variance / count).sqrt();
    (mean.is_finite() && half.is_finite()).then_some((mean, half))
}

/// Over how many blocks a drift is taken.
const BLOCKS: usize = 32;

/// The drift per unit of time of a quantity that should stay: the regression of its error on time, `points` (t, error)
/// in the order of time. The standard error holds also for errors that oscillate, as those of symplectic methods do:
/// the line goes through the means of 32 blocks, not through single points that know of each other. `None` of fewer
/// than two instants, or where a number is not finite.
pub fn drift(points: &[(f64, f64)]) -> Option<Fit> {
    if points.len() < 2 * BLOCKS {
        return fit_line(points);
    }
    let means = (0..BLOCKS).map(|block| {
        let of_block = &points[block * points.len() / BLOCKS..(block + 1) * points.len() / BLOCKS];
        let count = of_block.len() as f64;
        (of_block.iter().map(|p| p.0).sum::<f64>() / count, of_block.iter().map(|p| p.1).sum::<f64>() / count)
    });
    fit_line(&means.collect::<Vec<_>>())
}

/// The greatest absolute value; not a number where one is none.
pub fn largest(values: impl IntoIterator<Item = f64>) -> f64 {
    values
        .into_iter()
        .fold(0.0, |largest, x| if x.is_nan() || largest.is_nan() { f64::NAN } else { largest.max(x.abs()) })
}

/// How long a piece of work takes, ns.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StepTime {
    /// The mean of the quickest batch: what the work takes when nothing is in its way.
    pub least_ns: f64,
    /// The median over batches.
    pub median_ns: f64,
}

/// How long a batch is to last: long enough for the clock, short enough to fall between interruptions.
const BATCH: Duration = Duration::from_micros(500);

/// Times `step` in batches until `budget` is used up, after a first batch that only warms up; at least three batches.
/// What `step` computes has to reach [`std::hint::black_box`], or the compiler may leave it out.
pub fn time_step(budget: Duration, mut step: impl FnMut()) -> StepTime {
    let mut timed = |count: u32| {
        let start = Instant::now();
        (0..count).for_each(|_| step());
        start.elapsed()
    };
    let start = Instant::now();
    let mut count = 1;
    while timed(count) < BATCH && count < 1 << 24 {
        count *= 2;
    }
    let mut means_ns = Vec::new();
    while means_ns.len() < 3 || start.elapsed() < budget {
        means_ns.push(timed(count).as_secs_f64() * 1e9 / f64::from(count));
    }
    means_ns.sort_by(f64::total_cmp);
    StepTime { least_ns: means_ns[0], median_ns: means_ns[means_ns.len() / 2] }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_is_taken_where_errors_converge() {
        // Order 4 with a floor at 1e-13 and steps that are too large at the other end.
        let error = |h: f64| 3.0 * h.powi(4) * (1.0 + 20.0 * h.powi(3)) + 1e-13;
        let points: Vec<_> = (0..14).map(|k| (0.5_f64.powi(k), error(0.5_f64.powi(k)))).collect();
        let fit = order(&points).unwrap();
        assert!((fit.slope - 4.0).abs() < 0.1 && (6..12).contains(&fit.points), "{fit:?}");
        let reversed: Vec<_> = points.into_iter().rev().collect();
        assert_eq!(order(&reversed), Some(fit));
    }

    #[test]
    fn a_floor_or_chaos_has_no_order() {
        assert_eq!(order(&[(0.1, 1e-15), (0.05, 1e-15), (0.025, 1e-15), (0.0125, 1e-15)]), None);
        assert_eq!(order(&[(0.1, 1.0), (0.05, 1e-3), (0.025, 5e-1), (0.0125, 1e-7)]), None);
        assert!(order_observed(&[(0.1, f64::NAN), (0.05, 0.0)]).is_nan());
    }

    #[test]
    fn oscillation_is_no_drift_and_a_drift_under_it_is_found() {
        let error =
            |k: u32, rate: f64| (0.01 * f64::from(k), 1e-6 * (0.37 * f64::from(k)).sin() + rate * 0.01 * f64::from(k));
        let still = drift(&(0..10_000).map(|k| error(k, 0.0)).collect::<Vec<_>>()).unwrap();
        assert!(still.slope.abs() < 3.0 * still.standard_error + 1e-12, "{still:?}");
        let moving = drift(&(0..10_000).map(|k| error(k, 1e-8)).collect::<Vec<_>>()).unwrap();
        assert!((moving.slope - 1e-8).abs() < 3.0 * moving.standard_error + 1e-10, "{moving:?}");
        assert!(moving.slope > 5.0 * moving.standard_error, "{moving:?}");
    }

    #[test]
    fn an_interval_needs_two_numbers_and_widens_with_their_spread() {
        assert_eq!((mean_and_interval(&[1.0]), mean_and_interval(&[1.0, f64::NAN])), (None, None));
        let (mean, half) = mean_and_interval(&[1.0, 2.0, 3.0, 4.0]).unwrap();
        assert!((mean - 2.5).abs() < 1e-15 && (half - 3.182 * (5.0_f64 / 12.0).sqrt()).abs() < 1e-12, "{half}");
    }

    #[test]
    fn lines_need_two_abscissae_and_the_largest_of_nothing_is_zero() {
        assert_eq!(fit_line(&[(1.0, 2.0)]), None);
        assert_eq!(fit_line(&[(1.0, 2.0), (1.0, 3.0)]), None);
        assert_eq!(fit_line(&[(1.0, 2.0), (2.0, f64::NAN)]), None);
        let fit = fit_line(&[(0.0, 1.0), (1.0, 3.0), (2.0, 5.0)]).unwrap();
        assert_eq!((fit.slope, fit.intercept, fit.points), (2.0, 1.0, 3));
        assert_eq!((largest([]), largest([1.0, -3.0])), (0.0, 3.0));
        assert!(largest([1.0, f64::NAN, 2.0]).is_nan());
    }

    #[test]
    fn a_step_is_timed_by_what_it_takes() {
        let mut calls = 0_u64;
        let time = time_step(Duration::from_millis(5), || calls = std::hint::black_box(calls + 1));
        assert!(calls > 3 && time.least_ns > 0.0 && time.least_ns <= time.median_ns);
    }
}
