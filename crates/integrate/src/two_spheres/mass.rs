//! Kinetic energies of directions: without and with coupling.

use crate::IntegrationError;
use nalgebra::{Const, DimMin, SMatrix, SVector, Vector3};

/// The mass matrix M, n × n: each entry stands for a multiple of the identity of ℝ³.
pub trait SphereMass<const N: usize> {
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
    /// The ω with ωᵢ = middleᵢ + (h/2) qᵢ × q̈ᵢ(ω), q̈ = free + M⁻¹(λq), qᵢ·q̈ᵢ = −|ωᵢ|², near `guess`: the second
    /// half of a trapezoidal kick.
    ///
    /// # Errors
    /// No solution near; `time` is for the message, whose residual is the last change of |ω|².
    fn kicked(
        &self,
        kick: &ImplicitKick<'_, N>,
        guess: &[Vector3<f64>; N],
        time: f64,
        h: f64,
    ) -> Result<[Vector3<f64>; N], IntegrationError>;
}

/// What an implicit kick starts from.
pub struct ImplicitKick<'a, const N: usize> {
    /// The directions.
    pub q: &'a [Vector3<f64>; N],
    /// M⁻¹(−∂V) there.
    pub free: &'a [Vector3<f64>; N],
    /// The angular velocities before the kick.
    pub middle: &'a [Vector3<f64>; N],
}

/// Directions that only the potential couples: everything is explicit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Diagonal<const N: usize>(
    /// Mᵢᵢ.
    pub [f64; N],
);

impl<const N: usize> SphereMass<N> for Diagonal<N> {
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
    /// Nothing is implicit: what is along q has no part in the kick.
    #[inline]
    fn kicked(
        &self,
        kick: &ImplicitKick<'_, N>,
        _: &[Vector3<f64>; N],
        _: f64,
        h: f64,
    ) -> Result<[Vector3<f64>; N], IntegrationError> {
        Ok(std::array::from_fn(|i| kick.middle[i] + 0.5 * h * kick.q[i].cross(&kick.free[i])))
    }
}

/// Directions whose velocities are coupled, as of pendulums that hang on each other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Coupled<const N: usize> {
    matrix: SMatrix<f64, N, N>,
    inverse: SMatrix<f64, N, N>,
}

impl<const N: usize> Coupled<N> {
    /// From M and M⁻¹, which are taken at their word: positive definite, and inverse to each other.
    pub fn from_inverse_unchecked(matrix: SMatrix<f64, N, N>, inverse: SMatrix<f64, N, N>) -> Self {
        Self { matrix, inverse }
    }

    const ITERATIONS: usize = 20;
    /// Newton's iteration squares the error, so a correction of this length leaves one below rounding.
    const TOLERANCE: f64 = 1e-8;
}

impl<const N: usize> SphereMass<N> for Coupled<N>
where
    Const<N>: DimMin<Const<N>, Output = Const<N>>,
{
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
    /// ω depends on itself by the squares wⱼ = |ωⱼ|² only, ω = ω(0) + Cw; Newton's iteration is for these.
    #[inline]
    fn kicked(
        &self,
        ImplicitKick { q, free, middle }: &ImplicitKick<'_, N>,
        guess: &[Vector3<f64>; N],
        time: f64,
        h: f64,
    ) -> Result<[Vector3<f64>; N], IntegrationError> {
        let gram = SMatrix::<f64, N, N>::from_fn(|i, j| self.inverse[(i, j)] * q[i].dot(&q[j]));
        let Some(factor) = gram.cholesky() else { return Err(no_root(f64::NAN, 0, time, h)) };
        let turned = |lambda: &SVector<f64, N>, i: usize| -> Vector3<f64> {
            let push: Vector3<f64> = (0..N).map(|j| q[j] * (self.inverse[(i, j)] * lambda[j])).sum();
            0.5 * h * q[i].cross(&push)
        };
        let lambda = factor.solve(&SVector::<f64, N>::from_fn(|i, _| -q[i].dot(&free[i])));
        let at_zero: [Vector3<f64>; N] =
            std::array::from_fn(|i| middle[i] + 0.5 * h * q[i].cross(&free[i]) + turned(&lambda, i));
        let inverse = factor.inverse();
        let change: [[Vector3<f64>; N]; N] =
            std::array::from_fn(|i| std::array::from_fn(|j| -turned(&inverse.column(j).into_owned(), i)));
        let omega_at = |w: &SVector<f64, N>| -> [Vector3<f64>; N] {
            std::array::from_fn(|i| at_zero[i] + (0..N).map(|j| change[i][j] * w[j]).sum::<Vector3<f64>>())
        };
        let mut w = SVector::<f64, N>::from_fn(|i, _| guess[i].norm_squared());
        let scale = w.amax();
        let mut last = f64::NAN;
        for _ in 0..Self::ITERATIONS {
            let omega = omega_at(&w);
            let excess = SVector::<f64, N>::from_fn(|i, _| omega[i].norm_squared() - w[i]);
            let tangent =
                SMatrix::<f64, N, N>::from_fn(|i, j| 2.0 * omega[i].dot(&change[i][j]) - f64::from(u8::from(i == j)));
            let Some(correction) = tangent.lu().solve(&excess) else { break };
            w -= correction;
            last = correction.amax();
            if last <= Self::TOLERANCE * (scale + w.amax()) {
                return Ok(omega_at(&w));
            }
        }
        Err(no_root(last, Self::ITERATIONS, time, h))
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
