//! What is known of the time-correlated part of a sensor's noise.

/// The share of the errors that lasts, before anything is learned.
pub const STATED_SHARE: f64 = 0.9;

/// The errors of a sensor's measurements of one landmark: the correlation of each number is its share times exp(−Δt/T).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TimeCorrelatedNoise {
    /// T of each number, s; 0 for independent errors.
    pub time_s: [f64; 3],
    /// The share of the variance of each number that lasts; 0 for independent errors.
    pub share: [f64; 3],
    /// T if all of it lasted and alike in all numbers, s.
    pub whole_s: f64,
}

impl TimeCorrelatedNoise {
    /// As a setting states it.
    #[inline]
    pub fn stated(time_s: f64) -> Self {
        let share = if time_s > 0.0 { STATED_SHARE } else { 0.0 };
        Self { time_s: [time_s; 3], share: [share; 3], whole_s: time_s }
    }
}
