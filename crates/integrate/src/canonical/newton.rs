//! Equations f(x) = 0 of implicit steps, by Newton's method with one Jacobian.

use crate::IntegrationError;
use crate::settling::Settling;
use nalgebra::{DMatrix, DVector};

/// Half the distance of two points of a difference quotient, relative to the size of a component where that is larger
/// than 1.
const DIFFERENCE: f64 = 1e-6;

/// The x with f(x) = 0 near `guess`, to rounding. The Jacobian is taken once, at the guess, by central differences; what
/// it is wrong by makes the iteration linear, with a small factor.
///
/// # Errors
/// [`IntegrationError::NotConverged`], also where the Jacobian is singular, and [`IntegrationError::NotFinite`].
pub(super) fn solve(
    guess: DVector<f64>,
    (time, step): (f64, f64),
    f: impl Fn(&DVector<f64>) -> DVector<f64>,
) -> Result<DVector<f64>, IntegrationError> {
    let jacobian = differences(&guess, &f).lu();
    let mut x = guess;
    let mut settling = Settling::new();
    loop {
        let residual = f(&x);
        let Some(change) = jacobian.solve(&residual) else {
            let (residual, tolerance) = (residual.norm(), 0.0);
            return Err(IntegrationError::NotConverged { time, step, residual, tolerance, iterations: 1 });
        };
        x -= &change;
        if settling.after(change.norm() / x.norm().max(f64::MIN_POSITIVE), time, step)?.is_some() {
            return Ok(x);
        }
    }
}

/// The Jacobian of f by central differences.
pub(super) fn differences(x: &DVector<f64>, f: &impl Fn(&DVector<f64>) -> DVector<f64>) -> DMatrix<f64> {
    let columns: Vec<DVector<f64>> = (0..x.len())
        .map(|j| {
            let d = DIFFERENCE * x[j].abs().max(1.0);
            let moved = |by: f64| {
                let mut moved = x.clone();
                moved[j] += by;
                f(&moved)
            };
            (moved(d) - moved(-d)) / (2.0 * d)
        })
        .collect();
    DMatrix::from_columns(&columns)
}
