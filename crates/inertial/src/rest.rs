//! Rest, found from the inertial sensor alone, with its log odds.
//!
//! Means over parts of a tenth of a second have little of the vibration of motors in them. At rest the means of the last
//! parts scatter by σ_w, σ_f; in motion by far more. With d the deviations of n parts from their mean,
//!
//! ```math
//! \ln Λ = 3(n − 1)\left(\ln\frac{s_w}{σ_w} + \ln\frac{s_f}{σ_f}\right)
//!   − \tfrac12 \sum |d_w|²(σ_w^{-2} − s_w^{-2}) − \tfrac12 \sum |d_f|²(σ_f^{-2} − s_f^{-2})
//! ```
//!
//! A body that moves evenly and does not turn cannot be distinguished from one at rest by its inertial sensor; the
//! [measurement](crate::measurement::rest) is gated by the velocity that the filter has.

use crate::imu::{Imu, ImuSample};
use crate::state::GRAVITY;
use lienav_base::stamp::Stamp;
use nalgebra::Vector3;
use serde::{Deserialize, Serialize};

/// Length of a part, s.
const PART_S: f64 = 0.1;
/// Complete parts that are compared.
const PARTS: usize = 5;
/// Between samples farther apart the window begins again, s.
const LARGEST_GAP_S: f64 = 0.1;
/// A part that goes on counts with this many samples.
const LEAST: f64 = 4.0;
/// Scatter of means at rest and in motion: rate, rad/s, by axis. A drone with its motors on that stands has 0.004, one
/// that hovers evenly 0.02.
const RATE: (f64, f64) = (0.006, 0.15);
/// The same of the specific force, m/s².
const FORCE: (f64, f64) = (0.06, 0.3);

/// At rest the mean rate is a bias, rad/s, and the mean force gravity with a bias, m/s²; neither is larger.
const LARGEST_BIAS: (f64, f64) = (0.15, 0.5);

/// Log odds beyond which a body is taken to be at rest: those of the means, less one to a million for what the two
/// densities do not describe.
pub const LEAST_LOG_ODDS: f64 = 30.0;

/// Finds rest in samples.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct RestDetector {
    parts: [Imu; PARTS],
    count: usize,
    sum: Imu,
    samples: f64,
    begin: Stamp,
    last: Option<Stamp>,
}

impl RestDetector {
    /// Takes in a sample; what is not finite is left out.
    pub fn push(&mut self, sample: &ImuSample) {
        if !sample.value.is_finite() {
            return;
        }
        let since = self.last.map_or(f64::INFINITY, |last| sample.stamp.since(last));
        if !(0.0..=LARGEST_GAP_S).contains(&since) {
            *self = Self { begin: sample.stamp, ..Self::default() };
        }
        if sample.stamp.since(self.begin) >= PART_S && self.samples > 0.0 {
            self.parts.rotate_left(1);
            self.parts[PARTS - 1] = self.mean_of_part();
            self.count = (self.count + 1).min(PARTS);
            (self.sum, self.samples, self.begin) = (Imu::default(), 0.0, sample.stamp);
        }
        self.sum.rate += sample.value.rate;
        self.sum.force += sample.value.force;
        self.samples += 1.0;
        self.last = Some(sample.stamp);
    }

    fn mean_of_part(&self) -> Imu {
        Imu::new(self.sum.rate / self.samples, self.sum.force / self.samples)
    }

    /// Whether its count fits its array, as it does unless it was read from damaged text.
    pub fn is_sound(&self) -> bool {
        self.count <= PARTS
    }

    /// Log odds that the body is at rest; `None` where the window is not full, −∞ where means are no biases.
    pub fn log_odds(&self) -> Option<f64> {
        if self.count < PARTS {
            return None;
        }
        let now = (self.samples >= LEAST).then(|| self.mean_of_part());
        let all = || self.parts.iter().copied().chain(now);
        let n = all().count() as f64;
        let rate = all().map(|part| part.rate).sum::<Vector3<f64>>() / n;
        let force = all().map(|part| part.force).sum::<Vector3<f64>>() / n;
        if rate.norm() > LARGEST_BIAS.0 || (force.norm() - GRAVITY).abs() > LARGEST_BIAS.1 {
            return Some(f64::NEG_INFINITY);
        }
        let evidence = |square: f64, (still, moving): (f64, f64)| {
            3.0 * (n - 1.0) * (moving / still).ln() - 0.5 * square * (still.powi(-2) - moving.powi(-2))
        };
        let of_rate = all().map(|part| (part.rate - rate).norm_squared()).sum::<f64>();
        let of_force = all().map(|part| (part.force - force).norm_squared()).sum::<f64>();
        Some(evidence(of_rate, RATE) + evidence(of_force, FORCE))
    }

    /// Whether the sensor is calm, as it is at rest and in an even motion; `None` where the window is not full.
    pub fn is_calm(&self) -> Option<bool> {
        self.log_odds().map(|odds| odds > LEAST_LOG_ODDS)
    }

    /// Whether the body is at rest.
    pub fn is_at_rest(&self) -> bool {
        self.is_calm() == Some(true)
    }
}
