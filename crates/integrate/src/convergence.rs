//! When the iteration of an implicit step has arrived, and when it never will.

use super::IntegrationError;
use nalgebra::SVector;

/// Where the iteration of an implicit step ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Convergence {
    /// The norm of the residual, in the unit of the equation's right side, that is good enough. Default: 4 ulp.
    pub tolerance: f64,
    /// Default: 50.
    pub max_iterations: usize,
}

impl Default for Convergence {
    fn default() -> Self {
        Self { tolerance: 4.0 * f64::EPSILON, max_iterations: 50 }
    }
}

/// A residual that decreases no more and is below this many tolerances is what rounding leaves of an ill-conditioned
/// equation, not a failure.
const ROUNDING: f64 = 64.0;

impl Convergence {
    /// Iterates x ← next(x), which also gives the square of the norm of a residual, until that is at most
    /// (tolerance)²·`scale`. Returns the last x and the number of iterations.
    ///
    /// # Errors
    /// `NotFinite` where `scale`, the square of the norm of the right side, is not; `NotConverged` otherwise, with the
    /// residual in the unit of the right side. (`at` is time and step size.)
    #[inline]
    pub(super) fn iterate<const N: usize>(
        self,
        mut x: SVector<f64, N>,
        scale: f64,
        at: (f64, f64),
        mut next: impl FnMut(&SVector<f64, N>) -> (SVector<f64, N>, f64),
    ) -> Result<(SVector<f64, N>, usize), IntegrationError> {
        let good = self.tolerance * self.tolerance * scale;
        let mut residual = f64::INFINITY;
        let mut iterations = 0;
        while iterations < self.max_iterations && scale.is_finite() {
            iterations += 1;
            let square;
            (x, square) = next(&x);
            let stalled = square >= residual && square <= ROUNDING * ROUNDING * good;
            if square <= good || stalled {
                return Ok((x, iterations));
            }
            if !square.is_finite() {
                break;
            }
            residual = square;
        }
        let (time, step) = at;
        let tolerance = self.tolerance;
        Err(if scale.is_finite() {
            IntegrationError::NotConverged { time, step, residual: (residual / scale).sqrt(), tolerance, iterations }
        } else {
            IntegrationError::NotFinite { time, step }
        })
    }
}
