//! Whether errors are as large as their covariance says, with the interval that a run of this length allows.
//!
//! The mean NEES of a run is a mean of n/τ independent values ([`super::sample`]), each of which has the variance 2μ²/d
//! about its mean μ if errors are Gaussian, and more if some are outliers. The interval holds μ with 95 %: that of a χ²
//! variable with the same relative variance (Satterthwaite), widened by Student's t for a run that holds few independent
//! errors. A filter is judged only by what the interval leaves out, and not for a variance that is wrong by less than a
//! tenth.

use super::sample::{correlation_steps, median};
use super::whiten::square;
use crate::consistency::{BAND_PROBABILITY, chi_squared_band, fraction_inside};
use serde::Serialize;
use statrs::distribution::{ChiSquared, ContinuousCDF, StudentsT};

/// What is said of a covariance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// Errors are larger than the covariance says.
    Overconfident,
    /// Errors are smaller than the covariance says.
    Underconfident,
    /// The interval holds what is right, and is narrow enough to mean something.
    Consistent,
    /// The run holds too few independent errors to say anything.
    Undecided,
}

impl Verdict {
    /// The word of it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Overconfident => "overconfident",
            Self::Underconfident => "underconfident",
            Self::Consistent => "consistent",
            Self::Undecided => "undecided",
        }
    }
}

/// An interval that reaches from one end to the other by more than this factor decides nothing: a variance that is wrong
/// by half would be inside of it.
const WIDEST: f64 = 4.0;
/// A variance that is surely wrong by no more than this factor is right for any use: a long run shows every hundredth.
const CLOSE: f64 = 1.1;
/// The standard normal variable is within ± this with 95 %.
const NORMAL_95: f64 = 1.959_963_985;
/// So many times the independent errors of a run are what its correlation is known from.
const PARTS_OF_CORRELATION: f64 = 2.0;

/// The consistency of a part of the pose.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Consistency {
    /// Degrees of freedom: the mean NEES that is right.
    pub dof: usize,
    /// How many steps have a NEES.
    pub count: usize,
    /// Mean NEES.
    pub nees_mean: f64,
    /// The least mean that the estimator may have in the long run, with 95 %.
    pub interval_low: f64,
    /// The greatest.
    pub interval_high: f64,
    /// What a mean of so many independent values lies in, with 95 %, if the covariance is right.
    pub band_low: f64,
    /// Its upper end.
    pub band_high: f64,
    /// By so much the standard deviations would have to be multiplied: the root of the mean over its degrees of freedom.
    pub sigma_factor: f64,
    /// The same by the median, which a few outliers do not move.
    pub sigma_factor_median: f64,
    /// The part of the steps inside of the 95 % band of χ²; 0.95 is right.
    pub in_band_fraction: f64,
    /// How many independent errors the run holds.
    pub effective_count: f64,
    /// How long errors last, s: the time between two that count as independent.
    pub correlation_s: f64,
    /// What follows.
    pub verdict: Verdict,
}

impl Consistency {
    /// Of whitened errors, `dof` numbers a step, in the order of time, `step_s` apart. `fitted` is how many numbers an
    /// alignment has fitted to the same errors, which lowers the mean that is right. `None` of nothing.
    pub fn new(white: &[f64], dof: usize, step_s: f64, fitted: usize) -> Option<Self> {
        let count = white.len() / dof.max(1);
        if count == 0 || dof == 0 {
            return None;
        }
        let mut nees: Vec<f64> = white.chunks_exact(dof).map(square).collect();
        let mean = nees.iter().sum::<f64>() / count as f64;
        let variance = nees.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / count as f64;
        let tau = correlation_steps(white, dof);
        let effective = (count as f64 / tau).max(1.0);
        let (low, high) = interval(mean, variance, dof, effective);
        let degrees = dof as f64 * effective;
        let band = quantiles(degrees).map_or((0.0, f64::INFINITY), |(low, high)| (low / effective, high / effective));
        let right = dof as f64;
        // An alignment has taken these degrees of freedom out of the errors, at most half of all.
        let right_after_fit = (right - fitted as f64 / effective).max(0.5 * right);
        let in_band_fraction = fraction_inside(nees.iter().copied(), chi_squared_band(dof, BAND_PROBABILITY))?;
        let median_right = ChiSquared::new(right).map_or(right, |chi| chi.inverse_cdf(0.5));
        let median = median(&mut nees)?;
        let verdict = if low > right && high > right * CLOSE {
            Verdict::Overconfident
        } else if high < right_after_fit && low < right / CLOSE {
            Verdict::Underconfident
        } else if high > WIDEST * low {
            Verdict::Undecided
        } else {
            Verdict::Consistent
        };
        Some(Self {
            dof,
            count,
            nees_mean: mean,
            interval_low: low,
            interval_high: high,
            band_low: band.0,
            band_high: band.1,
            sigma_factor: (mean / right).sqrt(),
            sigma_factor_median: (median / median_right).sqrt(),
            in_band_fraction,
            effective_count: effective,
            correlation_s: tau * step_s,
            verdict,
        })
    }
}

/// The 95 % interval of the mean that values with this sample mean and variance have in the long run.
fn interval(mean: f64, variance: f64, dof: usize, effective: f64) -> (f64, f64) {
    if mean <= 0.0 {
        return (0.0, 0.0);
    }
    let variance = variance.max(2.0 * mean * mean / dof as f64);
    let parts = (effective / PARTS_OF_CORRELATION).max(1.0);
    let tail = 0.5 * (1.0 - BAND_PROBABILITY);
    let ratio = |degrees: f64| {
        let student = StudentsT::new(0.0, 1.0, degrees).map_or(f64::INFINITY, |t| t.inverse_cdf(1.0 - tail));
        student / NORMAL_95
    };
    let relative = variance / (mean * mean * effective) * ratio(parts).powi(2);
    let degrees = 2.0 / relative;
    quantiles(degrees).map_or((0.0, f64::INFINITY), |(low, high)| (mean * degrees / high, mean * degrees / low))
}

/// The 95 % interval of a χ² variable with that many degrees of freedom, which need not be whole.
fn quantiles(degrees: f64) -> Option<(f64, f64)> {
    /// From here on, Wilson and Hilferty 1931 are right to six digits.
    const MANY: f64 = 1e4;
    let tail = 0.5 * (1.0 - BAND_PROBABILITY);
    let by_cube = |z: f64| degrees * (1.0 - 2.0 / (9.0 * degrees) + z * (2.0 / (9.0 * degrees)).sqrt()).powi(3);
    let (low, high) = if degrees > MANY {
        (by_cube(-NORMAL_95), by_cube(NORMAL_95))
    } else {
        let chi = ChiSquared::new(degrees).ok()?;
        (chi.inverse_cdf(tail), chi.inverse_cdf(1.0 - tail))
    };
    (low.is_finite() && high.is_finite() && high > 0.0).then_some((low.max(f64::MIN_POSITIVE), high))
}
