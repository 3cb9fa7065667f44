//! The implicit equation of the step: which turn takes a body from one momentum to the next.
//!
//! With the increment q₀*q₁ = (c, v), c = √(1 − |v|²), the first half of the discrete Legendre transform of (3.16) is
//! c·Jv + v × Jv = (h/2)M, M being the momentum after the kick; the second is M' = (2/h)(c·Jv − v × Jv). M' is M
//! in the turned frame, exactly: (0, Jv)f and f(0, Jv) differ by a turn with f.

use super::super::{Inertia, IntegrationError};
use nalgebra::{Matrix3, Vector3};

/// How c·Jv + v × Jv = b is solved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Iteration {
    /// G(qᵏ)J Im(qᵏ⁺¹) = b: Shen 2019, (3.25), with the inverse of G in closed form.
    Linear,
    /// q_sᵏ J Im(qᵏ⁺¹) = q⃗ᵏ × J Im(qᵏ) + b: (3.26). It converges in fewer iterations than the linear one, as the text
    /// says, and each is cheaper.
    Cross,
    /// Newton's method on the vector part; for large turns, where the others converge slowly or not at all.
    Newton,
}

/// The turn of a step.
#[derive(Clone, Copy, Debug)]
pub(in crate::integrate) struct Increment {
    /// The vector part.
    pub v: Vector3<f64>,
    /// c − 1 ≤ 0 of the scalar part c, without cancellation.
    pub w: f64,
    /// Jv.
    pub y: Vector3<f64>,
    /// How many iterations it took.
    pub iterations: usize,
}

impl Increment {
    fn new(v: Vector3<f64>, y: Vector3<f64>, iterations: usize) -> Self {
        let square = v.norm_squared();
        Self { v, w: -square / (1.0 + (1.0 - square).sqrt()), y, iterations }
    }

    /// M − M' = (4/h) v × Jv.
    pub fn momentum_change(&self, h: f64) -> Vector3<f64> {
        self.v.cross(&self.y) * (4.0 / h)
    }
}

/// Where the iteration ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Convergence {
    /// The norm of the residual, in units of |b|, that is good enough. Default: 4 ulp.
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
/// inertia, not a failure.
const ROUNDING: f64 = 64.0;

/// Solves c·Jv + v × Jv = (h/2)M. The turn is less than half a revolution.
///
/// # Errors
/// Where M is not finite, or no v is found: then hJ⁻¹M is more than a radian or two, or the tolerance out of reach.
/// The residual is in units of |(h/2)M|.
#[inline]
pub(in crate::integrate) fn solve(
    inertia: &Inertia,
    momentum: &Vector3<f64>,
    iteration: Iteration,
    convergence: Convergence,
    (time, step): (f64, f64),
) -> Result<Increment, IntegrationError> {
    let b = momentum * (0.5 * step);
    let scale = b.norm_squared();
    if !scale.is_finite() {
        return Err(IntegrationError::NotFinite { time, step });
    }
    let good = convergence.tolerance * convergence.tolerance * scale;
    let mut y = b;
    let mut v = inertia.inverse() * y;
    let mut residual = f64::INFINITY;
    let mut iterations = 0;
    while iterations < convergence.max_iterations {
        iterations += 1;
        let c = (1.0 - v.norm_squared()).sqrt();
        let (next, square) = match iteration {
            Iteration::Linear => {
                let next = b * c - v.cross(&b) + v * (v.dot(&b) / c);
                (next, (next - y).norm_squared())
            }
            Iteration::Cross => {
                let next = (b - v.cross(&y)) / c;
                (next, (next - y).norm_squared())
            }
            Iteration::Newton => newton(inertia, &b, &v, &y, c),
        };
        y = next;
        v = inertia.inverse() * y;
        let stalled = square >= residual && square <= ROUNDING * ROUNDING * good;
        if square <= good || stalled {
            return Ok(Increment::new(v, y, iterations));
        }
        if !square.is_finite() {
            // |v| > 1: the square root of a negative number.
            break;
        }
        residual = square;
    }
    Err(IntegrationError::NotConverged {
        time,
        step,
        residual: (residual / scale).sqrt(),
        tolerance: convergence.tolerance,
        iterations,
    })
}

/// The next Jv, and the square of the norm of the residual at this one.
fn newton(inertia: &Inertia, b: &Vector3<f64>, v: &Vector3<f64>, y: &Vector3<f64>, c: f64) -> (Vector3<f64>, f64) {
    let residual = b - y * c - v.cross(y);
    // d(c·Jv + v × Jv) = (c·I + v^ − (Jv^ + Jv vᵀ/c)J⁻¹) d(Jv), dc = −v·dv/c.
    let by_v = y.cross_matrix() + y * (v.transpose() / c);
    let jacobian = Matrix3::from_diagonal_element(c) + v.cross_matrix() - by_v * inertia.inverse();
    let change = jacobian.try_inverse().map_or(Vector3::repeat(f64::NAN), |inverse| inverse * residual);
    (y + change, residual.norm_squared())
}
