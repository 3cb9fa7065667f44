//! Kinetic energies of directions: without and with coupling.

use crate::integrate::IntegrationError;
use nalgebra::{Const, DimMin, SMatrix, SVector, Vector3};

/// The mass matrix M, n × n: each entry stands for a multiple of the identity of ℝ³.
pub trait SphereMass<const N: usize> {
    /// Whether the angular accelerations depend on the velocities.
    const IS_COUPLED: bool;

    /// Mx.
    fn times(&self, x: &[Vector3<f64>; N]) -> [Vector3<f64>; N];
    /// M⁻¹x.
    fn divide(&self, x: &[Vector3<f64>; N]) -> [Vector3<f64>; N];
    /// y = x + M⁻¹(λ₁q₁, …, λₙqₙ) with λ such that qᵢ·yᵢ = cᵢ; the qᵢ are unit vectors.
    fn constrained(&self, q: &[Vector3<f64>; N], x: &[Vector3<f64>; N], c: &[f64; N]) -> [Vector3<f64>; N];
    /// y = x + M⁻¹(μ₁q₁, …, μₙqₙ) with μ such that |yᵢ| = 1, the solution near x.
    ///
    /// # Errors
    /// No solution near, or none at all; `time` and `step` are for the message, whose residual is the largest
    /// ||yᵢ|² − 1|.
    fn onto_spheres(
        &self,
        q: &[Vector3<f64>; N],
        x: &[Vector3<f64>; N],
        time: f64,
        step: f64,
    ) -> Result<[Vector3<f64>; N], IntegrationError>;
}

/// Directions that only the potential couples: everything is explicit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Diagonal<const N: usize>(
    /// Mᵢᵢ.
    pub [f64; N],
);

impl<const N: usize> SphereMass<N> for Diagonal<N> {
    const IS_COUPLED: bool = false;

    #[inline]
    fn times(&self, x: &[Vector3<f64>; N]) -> [Vector3<f64>; N] {
        std::array::from_fn(|i| x[i] * self.0[i])
    }
    #[inline]
    fn divide(&self, x: &[Vector3<f64>; N]) -> [Vector3<f64>; N] {
        std::array::from_fn(|i| x[i] / self.0[i])
    }
    #[inline]
    fn constrained(&self, q: &[Vector3<f64>; N], x: &[Vector3<f64>; N], c: &[f64; N]) -> [Vector3<f64>; N] {
        std::array::from_fn(|i| x[i] + q[i] * (c[i] - q[i].dot(&x[i])))
    }
    /// |x + μq|² = 1 is a quadratic equation, whose smaller root is taken in the form that does not cancel.
    #[inline]
    fn onto_spheres(
        &self,
        q: &[Vector3<f64>; N],
        x: &[Vector3<f64>; N],
        time: f64,
        step: f64,
    ) -> Result<[Vector3<f64>; N], IntegrationError> {
        let mut y = *x;
        for (y, q) in y.iter_mut().zip(q) {
            let (b, c) = (q.dot(y), y.norm_squared() - 1.0);
            let discriminant = b * b - c;
            // Also where it is not a number.
            if !(discriminant >= 0.0 && b > 0.0) {
                return Err(no_root(c.abs(), 0, time, step));
            }
            *y -= q * (c / (b + discriminant.sqrt()));
        }
        Ok(y)
    }
}

/// Directions whose velocities are coupled, as of pendulums that hang on each other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Coupled<const N: usize> {
    matrix: SMatrix<f64, N, N>,
    inverse: SMatrix<f64, N, N>,
}

impl<const N: usize> Coupled<N> {
    /// From M; none where it is not positive definite.
    pub fn new(matrix: SMatrix<f64, N, N>) -> Option<Self> {
        Some(Self { matrix, inverse: matrix.cholesky()?.inverse() })
    }

    const ITERATIONS: usize = 20;
    /// Newton's iteration squares the error, so a correction of this length leaves one below rounding.
    const TOLERANCE: f64 = 1e-8;
}

impl<const N: usize> SphereMass<N> for Coupled<N>
where
    Const<N>: DimMin<Const<N>, Output = Const<N>>,
{
    const IS_COUPLED: bool = true;

    #[inline]
    fn times(&self, x: &[Vector3<f64>; N]) -> [Vector3<f64>; N] {
        combined(&self.matrix, x)
    }
    #[inline]
    fn divide(&self, x: &[Vector3<f64>; N]) -> [Vector3<f64>; N] {
        combined(&self.inverse, x)
    }
    #[inline]
    fn constrained(&self, q: &[Vector3<f64>; N], x: &[Vector3<f64>; N], c: &[f64; N]) -> [Vector3<f64>; N] {
        let gram = SMatrix::<f64, N, N>::from_fn(|i, j| self.inverse[(i, j)] * q[i].dot(&q[j]));
        let missing = SVector::<f64, N>::from_fn(|i, _| c[i] - q[i].dot(&x[i]));
        // The entrywise product of two positive semidefinite matrices with the diagonal of M⁻¹: positive definite.
        let lambda = gram.cholesky().map_or(missing * f64::NAN, |factor| factor.solve(&missing));
        self.pushed(x, q, &lambda)
    }
    /// By Newton's iteration.
    #[inline]
    fn onto_spheres(
        &self,
        q: &[Vector3<f64>; N],
        x: &[Vector3<f64>; N],
        time: f64,
        step: f64,
    ) -> Result<[Vector3<f64>; N], IntegrationError> {
        let mut y = *x;
        let mut residual = f64::NAN;
        for _ in 0..Self::ITERATIONS {
            let excess = SVector::<f64, N>::from_fn(|i, _| 0.5 * (1.0 - y[i].norm_squared()));
            residual = 2.0 * excess.amax();
            let tangent = SMatrix::<f64, N, N>::from_fn(|i, j| self.inverse[(i, j)] * y[i].dot(&q[j]));
            let Some(correction) = tangent.lu().solve(&excess) else { break };
            y = self.pushed(&y, q, &correction);
            let length = (correction.component_mul(&self.inverse.diagonal())).amax();
            if length <= Self::TOLERANCE {
                return Ok(y);
            }
        }
        Err(no_root(residual, Self::ITERATIONS, time, step))
    }
}

impl<const N: usize> Coupled<N> {
    /// x + M⁻¹(λ₁q₁, …, λₙqₙ).
    #[inline]
    fn pushed(&self, x: &[Vector3<f64>; N], q: &[Vector3<f64>; N], lambda: &SVector<f64, N>) -> [Vector3<f64>; N] {
        let push = combined(&self.inverse, &std::array::from_fn(|i| q[i] * lambda[i]));
        std::array::from_fn(|i| x[i] + push[i])
    }
}

#[inline]
fn combined<const N: usize>(matrix: &SMatrix<f64, N, N>, x: &[Vector3<f64>; N]) -> [Vector3<f64>; N] {
    std::array::from_fn(|i| (0..N).map(|j| x[j] * matrix[(i, j)]).sum())
}

fn no_root(residual: f64, iterations: usize, time: f64, step: f64) -> IntegrationError {
    if residual.is_finite() {
        IntegrationError::NotConverged { time, step, residual, tolerance: f64::EPSILON, iterations }
    } else {
        IntegrationError::NotFinite { time, step }
    }
}
