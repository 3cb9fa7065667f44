//! The implicit equation of the step: which turn takes a body from one momentum to the next.
//!
//! With the increment q₀*q₁ = (c, v), c = √(1 − |v|²), the first half of the discrete Legendre transform of (3.16) is
//! c·Jv + v × Jv = (h/2)M, M being the momentum after the kick; the second is M' = (2/h)(c·Jv − v × Jv). M' is M
//! in the turned frame, exactly: (0, Jv)f and f(0, Jv) differ by a turn with f.

use crate::{Convergence, Inertia, IntegrationError};
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
pub(crate) struct Increment {
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

    /// π(c, v) − I = 2(c·v^ + vvᵀ − |v|²I).
    pub fn rotation_less_one(&self) -> Matrix3<f64> {
        rotation_less_one(self.w + 1.0, &self.v)
    }

    /// M − M' = (4/h) v × Jv.
    pub fn momentum_change(&self, h: f64) -> Vector3<f64> {
        self.v.cross(&self.y) * (4.0 / h)
    }
}

/// π(c, v) − I for a unit quaternion: small where the turn is, so that a product R₀π = R₀ + R₀(π − I) is rounded
/// little.
#[inline]
pub(crate) fn rotation_less_one(c: f64, v: &Vector3<f64>) -> Matrix3<f64> {
    (v.cross_matrix() * c + v * v.transpose() - Matrix3::from_diagonal_element(v.norm_squared())) * 2.0
}

/// Solves c·Jv + v × Jv = (h/2)M. The turn is less than half a revolution.
///
/// # Errors
/// Where M is not finite, or no v is found: then hJ⁻¹M is more than a radian or two, or the tolerance out of reach.
/// The residual is in units of |(h/2)M|. (`at` is time and step size.)
#[inline]
pub(crate) fn solve(
    inertia: &Inertia,
    momentum: &Vector3<f64>,
    iteration: Iteration,
    convergence: Convergence,
    at: (f64, f64),
) -> Result<Increment, IntegrationError> {
    let b = momentum * (0.5 * at.1);
    // |Jv| = |b| for the solution, so that b is a fair guess of Jv. A |v| > 1 makes the square root no number.
    let (y, iterations) = convergence.iterate(b, b.norm_squared(), at, |y| {
        let v = inertia.inverse() * y;
        let c = f64::sqrt(1.0 - v.norm_squared());
        let next = match iteration {
            Iteration::Linear => b * c - v.cross(&b) + v * (v.dot(&b) / c),
            Iteration::Cross => (b - v.cross(y)) / c,
            Iteration::Newton => return newton(inertia, &b, &v, y, c),
        };
        (next, (next - y).norm_squared())
    })?;
    let increment = Increment::new(inertia.inverse() * y, y, iterations);
    // The last iteration may have left the unit ball, if only by rounding.
    if increment.w.is_finite() { Ok(increment) } else { Err(IntegrationError::NotFinite { time: at.0, step: at.1 }) }
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
