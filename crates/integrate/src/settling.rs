//! When a fixed-point iteration is at its end.

use super::IntegrationError;

/// Watches the changes an iteration makes. It ends when what is still missing is lost in rounding, not at a tolerance:
/// of a symplectic method a systematic rest, small as it is, is a drift of the energy.
#[derive(Clone, Copy, Debug)]
pub(super) struct Settling {
    /// The last two changes, the latest first.
    last: [f64; 2],
    least: f64,
    /// Iterations since the least.
    idle: usize,
    iterations: usize,
}

/// Iterations before a step is given up.
const MOST_ITERATIONS: usize = 100;

/// What may be missing at the end, relative to the size of the variables.
const MISSING: f64 = 1e-17;

/// The change from which on an iteration that no longer gains is at its end, not lost.
const TOLERANCE: f64 = 1e-12;

impl Settling {
    pub fn new() -> Self {
        Self { last: [f64::INFINITY; 2], least: f64::INFINITY, idle: 0, iterations: 0 }
    }

    /// How many changes it was given.
    pub fn iterations(&self) -> usize {
        self.iterations
    }

    /// Takes the change of an iteration, relative to the size of its variables; how many there were, if it was the
    /// last.
    ///
    /// # Errors
    /// After a hundred iterations, or where the change is not finite.
    pub fn after(&mut self, change: f64, time: f64, step: f64) -> Result<Option<usize>, IntegrationError> {
        if !change.is_finite() {
            return Err(IntegrationError::NotFinite { time, step });
        }
        self.iterations += 1;
        // Of two rates in a row the worse: alternately large and small changes are common.
        let rate = (change / self.last[0]).max(self.last[0] / self.last[1]);
        let settled = self.last[1].is_finite() && change * rate <= MISSING;
        (self.idle, self.least) = if change < self.least { (0, change) } else { (self.idle + 1, self.least) };
        self.last = [change, self.last[0]];
        if change == 0.0 || settled || (self.least <= TOLERANCE && self.idle >= 2) {
            return Ok(Some(self.iterations));
        }
        if self.iterations == MOST_ITERATIONS {
            let (residual, tolerance, iterations) = (change, TOLERANCE, MOST_ITERATIONS);
            return Err(IntegrationError::NotConverged { time, step, residual, tolerance, iterations });
        }
        Ok(None)
    }
}
