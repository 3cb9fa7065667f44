//! The solution of implicit steps that are written as fixed points x = g(x).

use super::IntegrationError;
use lienav_lie::VectorSpace;

/// How many differences the acceleration remembers: as many as it takes to solve the linear part of the equations of a
/// body that turns and moves.
const DEPTH: usize = 6;

/// Iterations before a step is given up.
const ITERATIONS: usize = 60;

/// The residual ‖g(x) − x‖, relative to ‖x‖, from which on an iteration that no longer gains is at its end, not lost.
const TOLERANCE: f64 = 1e-11;

/// A difference of which no more than this part is new tells of rounding and curvature only.
const DEPENDENT: f64 = 1e-6;

/// What brings the iteration to an end at once.
const ROUNDING: f64 = 1e-16;

/// The x = g(x) near `guess` to rounding, by Anderson's acceleration of the iteration, which converges also where the
/// plain one does not; and how often g was evaluated.
///
/// # Errors
/// [`IntegrationError::NotConverged`] and [`IntegrationError::NotFinite`], with `time` and `step` to name the step;
/// the residual is ‖g(x) − x‖.
pub fn solve<X: VectorSpace>(
    guess: X,
    time: f64,
    step: f64,
    mut g: impl FnMut(&X) -> X,
) -> Result<(X, usize), IntegrationError> {
    let mut x = guess;
    let mut history = History::new(&x);
    let (mut best, mut least, mut tolerance) = (x.clone(), f64::INFINITY, 0.0);
    for iterations in 1..=ITERATIONS {
        let image = g(&x);
        let residual = image.plus_scaled(-1.0, &x);
        let (size, scale) = (residual.norm(), image.norm());
        if !size.is_finite() {
            return Err(IntegrationError::NotFinite { time, step });
        }
        if size <= ROUNDING * scale {
            return Ok((image, iterations));
        }
        if least <= tolerance && size > 0.5 * least {
            return Ok((best, iterations));
        }
        if size < least {
            (best, least, tolerance) = (image.clone(), size, TOLERANCE * scale);
        }
        x = history.next(image, residual);
    }
    Err(IntegrationError::NotConverged { time, step, residual: least, tolerance, iterations: ITERATIONS })
}

/// Differences of the last images and residuals, the newest at `count − 1` modulo the depth.
struct History<X> {
    last: Option<(X, X)>,
    images: [X; DEPTH],
    residuals: [X; DEPTH],
    count: usize,
}

impl<X: VectorSpace> History<X> {
    fn new(like: &X) -> Self {
        let zeros = || std::array::from_fn(|_| like.zero_like());
        Self { last: None, images: zeros(), residuals: zeros(), count: 0 }
    }

    /// The next iterate: the combination of images whose residuals, were g linear, would vanish as far as they can.
    fn next(&mut self, image: X, residual: X) -> X {
        if let Some((last_image, last_residual)) = self.last.take() {
            self.images[self.count % DEPTH] = image.plus_scaled(-1.0, &last_image);
            self.residuals[self.count % DEPTH] = residual.plus_scaled(-1.0, &last_residual);
            self.count += 1;
        }
        // Least squares by orthogonalization, the newest difference first, for it knows best; what it makes dependent
        // of the older ones is left out. The images go along with their residuals.
        let (mut next, mut rest) = (image.clone(), residual.clone());
        let mut basis: [Option<(X, X)>; DEPTH] = std::array::from_fn(|_| None);
        for back in 0..self.count.min(DEPTH) {
            let index = (self.count - 1 - back) % DEPTH;
            let (mut direction, mut change) = (self.residuals[index].clone(), self.images[index].clone());
            let size = direction.norm();
            for (other, other_change) in basis.iter().flatten() {
                let along = other.dot(&direction);
                direction.add_scaled(-along, other);
                change.add_scaled(-along, other_change);
            }
            let independent = direction.norm();
            if independent > DEPENDENT * size {
                direction.scale_by(1.0 / independent);
                change.scale_by(1.0 / independent);
                let along = direction.dot(&rest);
                rest.add_scaled(-along, &direction);
                next.add_scaled(-along, &change);
                basis[back] = Some((direction, change));
            }
        }
        self.last = Some((image, residual));
        next
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nalgebra::Vector3;

    #[test]
    fn what_the_plain_iteration_runs_away_from_is_found() {
        let map =
            |x: &Vector3<f64>| Vector3::new(1.0 - 1.5 * x.y, 2.0 * x.x + 0.1 * x.z.sin(), -1.2 * x.z + 0.3 * x.x * x.x);
        let (x, iterations) = solve(Vector3::zeros(), 0.0, 0.1, map).unwrap();
        assert!((map(&x) - x).norm() < 1e-14 && iterations < 20, "{x} {iterations}");
    }

    #[test]
    fn a_contraction_ends_at_rounding_and_what_has_no_fixed_point_is_an_error() {
        let (x, _) = solve(1.0, 0.0, 0.1, |x: &f64| x.cos()).unwrap();
        assert!((x.cos() - x).abs() < 2e-16);
        let error = solve(1.0, 2.0, 0.1, |x: &f64| x * x + 1.0).unwrap_err();
        assert!(matches!(error, IntegrationError::NotConverged { time: 2.0, .. } | IntegrationError::NotFinite { .. }));
        assert!(matches!(solve(1.0, 2.0, 0.1, |_: &f64| f64::NAN), Err(IntegrationError::NotFinite { .. })));
    }
}
