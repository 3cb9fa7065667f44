//! The iteration that every implicit step of this family is solved by.

use crate::IntegrationError;

/// When an iteration ends.
///
/// It has converged when the increment, in the maximum norm and relative to the iterate, comes down to
/// [`tolerance`](Self::tolerance); or when it lies below 10⁻¹² and falls no longer, for then rounding is all that is
/// left of it. What is conserved is conserved only as well as the equations are solved, so the default is to iterate
/// down to rounding.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Iteration {
    /// Relative increment that is small enough.
    pub tolerance: f64,
    /// How many iterations may be made.
    pub most: usize,
}

impl Default for Iteration {
    fn default() -> Self {
        Self { tolerance: 1e-15, most: 100 }
    }
}

/// An increment that falls no longer is that of rounding if it is smaller than this.
const ROUNDING: f64 = 1e-12;

impl Iteration {
    /// Repeats x ← `map`(x) from the guess in `x`; `next` is memory of the same size. Returns how many times, with the
    /// solution in `x`.
    ///
    /// # Errors
    /// [`IntegrationError::NotConverged`] with the last relative increment, [`IntegrationError::NotFinite`] when the
    /// iterates have run away.
    pub(super) fn solve(
        &self,
        (time, step): (f64, f64),
        x: &mut [f64],
        next: &mut [f64],
        mut map: impl FnMut(&[f64], &mut [f64]),
    ) -> Result<usize, IntegrationError> {
        let mut residual = f64::INFINITY;
        for iteration in 1..=self.most {
            map(x, next);
            let (mut increment, mut size) = (0.0_f64, 0.0_f64);
            for (old, new) in x.iter_mut().zip(&*next) {
                let change = (new - *old).abs();
                // `max` drops what is not a number; the comparison below would then take a wreck for a solution.
                if !change.is_finite() {
                    return Err(IntegrationError::NotFinite { time, step });
                }
                increment = increment.max(change);
                size = size.max(new.abs());
                *old = *new;
            }
            let last = residual;
            residual = if increment == 0.0 { 0.0 } else { increment / size };
            if residual <= self.tolerance || (residual <= ROUNDING && residual >= last) {
                return Ok(iteration);
            }
        }
        Err(IntegrationError::NotConverged { time, step, residual, tolerance: self.tolerance, iterations: self.most })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn solve(iteration: Iteration, map: impl Fn(f64) -> f64) -> (Result<usize, IntegrationError>, f64) {
        let (mut x, mut next) = ([1.0], [0.0]);
        let result = iteration.solve((2.0, 0.1), &mut x, &mut next, |x, out| out[0] = map(x[0]));
        (result, x[0])
    }

    #[test]
    fn a_contraction_is_solved_down_to_rounding() {
        let (iterations, x) = solve(Iteration::default(), f64::cos);
        assert!(iterations.is_ok_and(|count| (60..100).contains(&count)));
        assert!((x - x.cos()).abs() < 1e-15);
        // Zero is a solution like others.
        assert_eq!(solve(Iteration::default(), |_| 0.0).1, 0.0);
    }

    #[test]
    fn what_does_not_converge_says_where_and_how_far_it_is() {
        let few = Iteration { most: 5, ..Iteration::default() };
        let Err(IntegrationError::NotConverged { time, step, residual, iterations, .. }) = solve(few, f64::cos).0
        else {
            panic!("converged in five iterations");
        };
        assert!((time, step, iterations) == (2.0, 0.1, 5) && residual > 0.1 && residual < 1.0);
        let runs_away = solve(Iteration { most: 2000, ..Iteration::default() }, |x| 3.0 * x + 1.0).0;
        assert_eq!(runs_away, Err(IntegrationError::NotFinite { time: 2.0, step: 0.1 }));
    }
}
