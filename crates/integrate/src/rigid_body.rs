//! The problem of the attitude integrators, and what their implicit steps share.

use super::IntegrationError;
use lienav_lie::So3;
use nalgebra::{Matrix3, Vector3};

/// A rigid body that turns about a fixed point in a potential of its attitude: Ṙ = R Ω^, J Ω̇ = JΩ × Ω + τ(R), with R
/// from body to world and Ω, J, τ in the body's principal axes (Ortolan 2011, (2.14)). A consistent set of units.
pub trait RigidBody {
    /// The principal moments of inertia, the diagonal of J.
    fn moments(&self) -> Vector3<f64>;
    /// U(R).
    fn potential(&self, attitude: &So3) -> f64;
    /// τ(R) in body axes, the left-trivialized derivative of −U: U(R exp(δ)) = U(R) − τ(R)·δ + O(δ²), (2.15).
    fn torque(&self, attitude: &So3) -> Vector3<f64>;

    /// JΩ.
    fn momentum(&self, angular_velocity: &Vector3<f64>) -> Vector3<f64> {
        self.moments().component_mul(angular_velocity)
    }
    /// ½ΩᵀJΩ + U(R).
    fn energy(&self, state: &BodyState) -> f64 {
        0.5 * state.angular_velocity.dot(&self.momentum(&state.angular_velocity)) + self.potential(&state.attitude)
    }
}

/// A body whose torque can be differentiated, as methods that are implicit in the attitude want it.
pub trait TorqueGradient: RigidBody {
    /// T with τ(R exp(δ)) = τ(R) + Tδ + O(δ²).
    fn torque_gradient(&self, attitude: &So3) -> Matrix3<f64>;
}

/// Where a body is and how it turns.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BodyState {
    /// From body to world.
    pub attitude: So3,
    /// Ω, in body axes.
    pub angular_velocity: Vector3<f64>,
}

/// A one-step method for bodies `B`.
pub trait BodyMethod<B: RigidBody> {
    /// The state at `time` + `h` from that at `time`.
    ///
    /// # Errors
    /// An implicit step that does not converge, with the last increment of Newton's iteration as its residual; numbers
    /// that are not finite.
    fn step(&self, body: &B, state: &BodyState, time: f64, h: f64) -> Result<BodyState, IntegrationError>;
}

/// The step of which an implicit equation is solved, for the error message.
#[derive(Clone, Copy)]
pub(super) struct Step {
    pub time: f64,
    pub size: f64,
}

impl Step {
    const ITERATIONS: usize = 20;
    /// Newton's iteration squares the relative error, so an increment of this size leaves one below rounding.
    const TOLERANCE: f64 = 1e-8;

    /// The root of f near `guess`; `linearize` gives f and its Jacobian.
    #[inline]
    pub fn newton(
        self,
        guess: Vector3<f64>,
        linearize: impl Fn(&Vector3<f64>) -> (Vector3<f64>, Matrix3<f64>),
    ) -> Result<Vector3<f64>, IntegrationError> {
        let (mut x, mut last, mut tolerance) = (guess, f64::NAN, 0.0);
        for _ in 0..Self::ITERATIONS {
            let (f, jacobian) = linearize(&x);
            let increment = solve(&jacobian, &f);
            x -= increment;
            last = increment.norm();
            // The guess counts too: the root itself may be as good as zero.
            tolerance = Self::TOLERANCE * (x.norm() + guess.norm());
            if last <= tolerance {
                return Ok(x);
            }
        }
        let Self { time, size: step } = self;
        Err(if last.is_finite() {
            IntegrationError::NotConverged { time, step, residual: last, tolerance, iterations: Self::ITERATIONS }
        } else {
            IntegrationError::NotFinite { time, step }
        })
    }

    /// The state, if it is one.
    #[inline]
    pub fn finite(self, state: BodyState) -> Result<BodyState, IntegrationError> {
        // A rotation that is not finite comes from a velocity that is not, or shows in the next one.
        if state.angular_velocity.iter().all(|x| x.is_finite()) {
            Ok(state)
        } else {
            Err(IntegrationError::NotFinite { time: self.time, step: self.size })
        }
    }
}

/// Cramer's rule: for three unknowns faster than elimination. A singular matrix gives numbers that are not finite.
#[inline]
pub(super) fn solve(matrix: &Matrix3<f64>, rhs: &Vector3<f64>) -> Vector3<f64> {
    let (a, b, c) = (matrix.column(0), matrix.column(1), matrix.column(2));
    let (bc, ca, ab) = (b.cross(&c), c.cross(&a), a.cross(&b));
    Vector3::new(rhs.dot(&bc), rhs.dot(&ca), rhs.dot(&ab)) / a.dot(&bc)
}
