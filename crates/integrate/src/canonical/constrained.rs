//! Methods for systems with constraints g(q) = 0 (Shen 2019, sections 1.2.3 and 1.3).

use super::{Hamiltonian, PhasePoint, newton, stack};
use crate::tableau::{LOBATTO_IIIA2, LOBATTO_IIIA4, LOBATTO_IIIB2, LOBATTO_IIIB4};
use crate::{IntegrationError, Tableau};
use nalgebra::{DMatrix, DVector};

/// Constraints of the positions.
pub trait Constraint {
    /// g(q), which is to vanish.
    fn value(&self, q: &DVector<f64>) -> DVector<f64>;
    /// G = ∂g/∂q, of full row rank: a row for each component of g.
    fn jacobian(&self, q: &DVector<f64>) -> DMatrix<f64>;
}

/// A symplectic partitioned Runge–Kutta method on T*Q, Q = {g = 0} (1.31). Its positions start with the initial value
/// (a₁ⱼ = 0) and end with the result (aₛⱼ = bⱼ), as those of Lobatto IIIA; its momenta are those of the symplectic
/// partner, Lobatto IIIB. With two stages it is RATTLE.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ConstrainedPartitioned<const S: usize> {
    positions: Tableau<S>,
    momenta: Tableau<S>,
}

impl ConstrainedPartitioned<2> {
    /// RATTLE for any Hamiltonian, of order 2 (after (1.27)).
    pub const RATTLE: Self = Self { positions: LOBATTO_IIIA2, momenta: LOBATTO_IIIB2 };
}

impl ConstrainedPartitioned<3> {
    /// The method of three stages, of order 4.
    pub const LOBATTO4: Self = Self { positions: LOBATTO_IIIA4, momenta: LOBATTO_IIIB4 };
}

impl<const S: usize> ConstrainedPartitioned<S> {
    /// Of positions by a tableau whose first stage is the initial value and whose last is the result. `None` of
    /// others, and where a weight vanishes.
    pub fn new(positions: Tableau<S>) -> Option<Self> {
        let starts = S >= 2 && positions.a[0].iter().all(|a| *a == 0.0);
        let momenta = positions.symplectic_partner().filter(|_| starts && positions.is_stiffly_accurate())?;
        Some(Self { positions, momenta })
    }

    /// The order of accuracy.
    pub fn order(&self) -> usize {
        self.positions.order
    }

    /// The point of T*Q after a step of `h`, from one that meets both constraints.
    ///
    /// # Errors
    /// A step that does not converge: it is too long, or the constraints are dependent there.
    pub fn step(
        &self,
        system: &dyn Hamiltonian,
        constraint: &dyn Constraint,
        at: &PhasePoint,
        time: f64,
        h: f64,
    ) -> Result<PhasePoint, IntegrationError> {
        let (n, k) = (at.q.len(), constraint.value(&at.q).len());
        // x = (Q₂ … Qₛ, P₁ … Pₛ, h²λ₁ … h²λₛ, p₁): the constraints know λ to 1/h² times rounding.
        let offsets = [0, (S - 1) * n, (2 * S - 1) * n, (2 * S - 1) * n + S * k];
        let position = |x: &DVector<f64>, i: usize| match i {
            0 => at.q.clone(),
            _ => x.rows((i - 1) * n, n).into_owned(),
        };
        let residual = |x: &DVector<f64>| {
            let q: Vec<_> = (0..S).map(|i| position(x, i)).collect();
            let p: Vec<_> = (0..S).map(|i| x.rows(offsets[1] + i * n, n).into_owned()).collect();
            let rates: Vec<_> = (0..S).map(|i| system.by_momentum(&q[i], &p[i])).collect();
            let forces: Vec<_> = (0..S)
                .map(|i| {
                    let multiplier = x.rows(offsets[2] + i * k, k) / (h * h);
                    -system.by_position(&q[i], &p[i]) - constraint.jacobian(&q[i]).tr_mul(&multiplier)
                })
                .collect();
            let last = x.rows(offsets[3], n).into_owned();
            let sum = |weights: &[f64; S], slopes: &[DVector<f64>]| {
                weights.iter().zip(slopes).fold(DVector::zeros(n), |sum, (weight, slope)| sum + slope * (h * *weight))
            };
            let mut parts = Vec::with_capacity(3 * S + 1);
            parts.extend((1..S).map(|i| &q[i] - &at.q - sum(&self.positions.a[i], &rates)));
            parts.extend((0..S).map(|i| &p[i] - &at.p - sum(&self.momenta.a[i], &forces)));
            parts.extend((1..S).map(|i| constraint.value(&q[i])));
            parts.push(&last - &at.p - sum(&self.momenta.b, &forces));
            parts.push(constraint.jacobian(&q[S - 1]) * system.by_momentum(&q[S - 1], &last));
            stack(&parts.iter().collect::<Vec<_>>())
        };
        let mut guess = DVector::zeros(offsets[3] + n);
        for i in 0..S {
            let ahead = &at.q + system.by_momentum(&at.q, &at.p) * (h * self.positions.c[i]);
            if i > 0 {
                guess.rows_mut((i - 1) * n, n).copy_from(&ahead);
            }
            guess.rows_mut(offsets[1] + i * n, n).copy_from(&at.p);
        }
        guess.rows_mut(offsets[3], n).copy_from(&at.p);
        let x = newton::solve(guess, (time, h), residual)?;
        PhasePoint { q: position(&x, S - 1), p: x.rows(offsets[3], n).into_owned() }.finite(time, h)
    }
}

/// SHAKE, the two-step method of Ryckaert et al. for H = |p|²/2 + V(q): the positions of
/// [`ConstrainedPartitioned::RATTLE`] without its momenta (after (1.26)).
#[derive(Clone, Copy, Debug, Default)]
pub struct Shake;

impl Shake {
    /// qₙ₊₁ = 2qₙ − qₙ₋₁ − h²(∇V(qₙ) + G(qₙ)ᵀλ) with g(qₙ₊₁) = 0. The system's ∂H/∂q at p = 0 is taken for ∇V.
    ///
    /// # Errors
    /// A step that does not converge.
    pub fn step(
        &self,
        system: &dyn Hamiltonian,
        constraint: &dyn Constraint,
        (before, now): (&DVector<f64>, &DVector<f64>),
        time: f64,
        h: f64,
    ) -> Result<DVector<f64>, IntegrationError> {
        let free = 2.0 * now - before - h * h * system.by_position(now, &DVector::zeros(now.len()));
        let directions = constraint.jacobian(now);
        let at = |multiplier: &DVector<f64>| &free - directions.tr_mul(multiplier);
        let count = constraint.value(now).len();
        let multiplier =
            newton::solve(DVector::zeros(count), (time, h), |multiplier| constraint.value(&at(multiplier)))?;
        Ok(at(&multiplier))
    }
}
