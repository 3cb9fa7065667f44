//! Variable steps by embedded pairs (Celledoni et al. 2021, section 4).

use super::IntegrationError;
use super::field::{EmbeddedMethod, VectorField};
use lienav_lie::HomogeneousSpace;

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

/// Integrates from time `span.0` to `span.1` ≥ `span.0` with steps of controlled size, the first one tried
/// `first_step`. `observe` is given each accepted time, the step to it, and the point.
///
/// # Errors
/// [`IntegrationError::StepTooSmall`] where the tolerance cannot be met. A step that ends in numbers that are not
/// finite, or does not converge, counts as rejected.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rkmk::{RKMK32, RKMK54};
    use lienav_lie::Translation;

    /// A decay with a kick of width 0.05 at t = 1, and nothing after t = 2.
    struct Kicked;

    impl VectorField<Translation<f64>> for Kicked {
        fn generator(&self, time: f64, y: &Translation<f64>) -> f64 {
            if time > 2.0 { f64::NAN } else { -y.0 + 50.0 * (-((time - 1.0) / 0.05).powi(2)).exp() }
        }
    }

    #[test]
    fn the_factor_is_that_of_33_within_its_bounds() {
        let control = StepControl::new(1e-6);
        assert!((control.factor(8e-6, 2) - 0.85 * 0.5).abs() < 1e-15);
        assert_eq!((control.factor(0.0, 4), control.factor(1e9, 4)), (5.0, 0.2));
    }

    #[test]
    fn steps_are_short_where_the_field_changes_and_the_end_is_met() {
        let mut steps = Vec::new();
        let start = Translation(1.0);
        let control = StepControl::new(1e-6);
        let (_, counts) =
            integrate(&RKMK32, &Kicked, &start, (0.0, 1.9), 0.1, &control, |t, h, _| steps.push((t, h))).unwrap();
        assert_eq!((steps.len(), steps.last().map(|step| step.0)), (counts.accepted, Some(1.9)));
        let least = |from: f64, to: f64| {
            steps
                .iter()
                .filter(|step| step.0 > from && step.0 < to)
                .fold(f64::INFINITY, |least, step| least.min(step.1))
        };
        assert!(least(0.9, 1.1) < 0.3 * least(0.2, 0.8), "{steps:?}");
    }

    #[test]
    fn what_cannot_be_passed_is_an_error_that_says_where() {
        let control = StepControl { least_step: 1e-6, ..StepControl::new(1e-6) };
        let start = Translation(1.0);
        match integrate(&RKMK54, &Kicked, &start, (0.0, 3.0), 0.1, &control, |_, _, _| ()) {
            Err(IntegrationError::StepTooSmall { time, least: 1e-6 }) => assert!((1.99..=2.0).contains(&time)),
            other => panic!("{other:?}"),
        }
    }
}
