//! What experiments with bodies of any dimension have in common.

use crate::measure::time_step;
use lienav_integrate::Tableau;
use lienav_integrate::polar::{LeftInvariant, PolarHamiltonian, PolarVariational};
use lienav_lie::Square;
use std::time::Duration;

/// Axes of errors of attitude and momentum.
pub(super) const ERRORS: (&str, &str) = ("h", "error of attitude and momentum");

pub(super) fn reduced_step_ns<M: Square, const S: usize>(
    tableau: &Tableau<S>,
    body: &(impl PolarHamiltonian<M> + LeftInvariant),
    momentum: &M,
    h: f64,
) -> f64 {
    let Some(mut method) = PolarVariational::new(tableau, momentum) else { return f64::NAN };
    let mut momentum = momentum.clone();
    let step = || {
        // The same step has converged in the run before.
        let _ = std::hint::black_box(method.step_reduced(body, &mut momentum, 0.0, h));
    };
    time_step(Duration::from_millis(10), step).least_ns
}
