//! How many independent errors a run holds.
//!
//! Successive errors of a filter share most of what makes them. For Gaussian errors, two NEES whose whitened errors have
//! the correlation matrix R(t) are correlated with ‖R(t)‖²/d (Isserlis), so that n of them are worth n/τ with
//! τ = 1 + 2 Σₜ tr(R(t)²)/d. R is taken about zero, which is the mean that a consistent filter states: an error that never
//! changes counts as one.

/// Lags are summed until they reach so many times τ (Sokal 1997 takes 5 of the errors' own, which is 2.5 of their
/// squares').
const WINDOW: f64 = 4.0;
/// Lags grow by this factor from one to the next; between them, correlation is taken as a straight line.
const GROWTH: f64 = 1.15;
/// So many products give the correlation at one lag.
const PRODUCTS: usize = 20_000;

/// The number of steps after which errors count as new: τ, at least 1. `white` has `dof` numbers a step, in order.
pub fn correlation_steps(white: &[f64], dof: usize) -> f64 {
    let dof = dof.max(1);
    let steps = white.len() / dof;
    if steps < 2 {
        return 1.0;
    }
    let row = |k: usize| &white[k * dof..(k + 1) * dof];
    // The part of the variance that is left at a lag, squared: a mean over the components.
    let squared = |lag: usize| -> f64 {
        let stride = (steps - lag).div_ceil(PRODUCTS).max(1);
        let (mut products, mut squares) = (vec![0.0; dof], vec![0.0; dof]);
        for k in (0..steps - lag).step_by(stride) {
            for (i, (a, b)) in row(k).iter().zip(row(k + lag)).enumerate() {
                products[i] += a * b;
                squares[i] += 0.5 * (a * a + b * b);
            }
        }
        let part = products.iter().zip(&squares).map(|(p, s)| if *s > 0.0 { (p / s).powi(2) } else { 1.0 });
        part.sum::<f64>() / dof as f64
    };
    let (mut tau, mut lag, mut before) = (1.0, 0_usize, 1.0);
    while lag + 1 < steps {
        let next = ((lag as f64 * GROWTH) as usize).max(lag + 1).min(steps - 1);
        let here = squared(next);
        // A sum over the lags from `lag` + 1 to `next` on a straight line.
        let width = (next - lag) as f64;
        tau += 2.0 * (width * here + 0.5 * (width - 1.0) * (before - here));
        (lag, before) = (next, here);
        if lag as f64 >= WINDOW * tau {
            break;
        }
    }
    tau.clamp(1.0, steps as f64)
}

/// The median of numbers, which are put in another order; `None` of nothing.
pub fn median(values: &mut [f64]) -> Option<f64> {
    quantile(values, 0.5)
}

/// The number below which `part` of them are, by nearest rank; they are put in another order. `None` of nothing.
pub fn quantile(values: &mut [f64], part: f64) -> Option<f64> {
    let rank = (part.clamp(0.0, 1.0) * values.len() as f64).ceil() as usize;
    let at = rank.saturating_sub(1);
    if at >= values.len() {
        return None;
    }
    Some(*values.select_nth_unstable_by(at, f64::total_cmp).1)
}
