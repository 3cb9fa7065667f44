//! Variable steps by embedded pairs (Celledoni et al. 2021, section 4).

use super::IntegrationError;
use super::field::{EmbeddedMethod, VectorField};
use crate::lie::HomogeneousSpace;

/// How the step follows the error estimate e: h ← θ (tol/e)^(1/(p̃+1)) h, (33), within bounds; a step with e > tol is
/// made again.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StepControl {
    /// tol, in the unit of the estimate.
    pub tolerance: f64,
    /// θ.
    pub safety: f64,
    /// By how much a step may be shorter, and longer, than the one before.
    pub change: (f64, f64),
    /// Below this there is an error, except for the last step to the end.
    pub least_step: f64,
}

/// What steps were taken.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StepCounts {
    /// Made and kept.
    pub accepted: usize,
    /// Made again with a smaller size.
    pub rejected: usize,
}

impl StepControl {
    /// With θ = 0.85, steps that change by factors of 0.2 to 5, and 10⁻¹² as the least step.
    pub fn new(tolerance: f64) -> Self {
        Self { tolerance, safety: 0.85, change: (0.2, 5.0), least_step: 1e-12 }
    }

    /// By what the step is multiplied after an error of `error` in a method with an auxiliary one of this order.
    fn factor(&self, error: f64, auxiliary_order: usize) -> f64 {
        let (least, most) = self.change;
        let exponent = 1.0 / (auxiliary_order + 1) as f64;
        // The quotient is infinite without an error, and then the factor the largest.
        (self.safety * (self.tolerance / error).powf(exponent)).clamp(least, most)
    }
}

/// Integrates from time `span.0` to `span.1` ≥ `span.0` with steps of controlled size, the first one tried `first_step`.
/// `observe` is given each accepted time, the step to it, and the point.
///
/// # Errors
/// [`IntegrationError::StepTooSmall`] where the tolerance cannot be met. A step that ends in numbers that are not finite, or
/// does not converge, counts as rejected.
pub fn integrate<M: HomogeneousSpace, F: VectorField<M>>(
    method: &(impl EmbeddedMethod<M, F> + ?Sized),
    field: &F,
    start: &M,
    span: (f64, f64),
    first_step: f64,
    control: &StepControl,
    mut observe: impl FnMut(f64, f64, &M),
) -> Result<(M, StepCounts), IntegrationError> {
    let (mut time, end) = span;
    let (mut y, mut h, mut counts) = (start.clone(), first_step, StepCounts::default());
    while time < end {
        // A remainder that rounding leaves joins the last step.
        let is_last = h >= (end - time) * (1.0 - 1e-12);
        let step = if is_last { end - time } else { h };
        match method.step_with_error(field, &y, time, step) {
            Ok((next, error)) if error <= control.tolerance => {
                y = next;
                time = if is_last { end } else { time + step };
                h = step * control.factor(error, method.auxiliary_order());
                counts.accepted += 1;
                observe(time, step, &y);
                continue;
            }
            Ok((_, error)) if error.is_finite() => h = step * control.factor(error, method.auxiliary_order()),
            _ => h = step * control.change.0,
        }
        counts.rejected += 1;
        if h < control.least_step {
            return Err(IntegrationError::StepTooSmall { time, least: control.least_step });
        }
    }
    Ok((y, counts))
}
