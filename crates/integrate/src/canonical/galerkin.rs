//! Variational integrators: from a discrete Lagrangian of two points, and by Galerkin's method (Shen 2019, section 1.4;
//! Shen, Tran and Leok 2022, appendix A).

use super::{PhasePoint, newton, stack};
use crate::{IntegrationError, Tableau};
use nalgebra::{DMatrix, DVector};

/// A regular Lagrangian of positions and velocities.
pub trait Lagrangian {
    /// L(q, q̇).
    fn value(&self, q: &DVector<f64>, v: &DVector<f64>) -> f64;
    /// ∂L/∂q.
    fn by_position(&self, q: &DVector<f64>, v: &DVector<f64>) -> DVector<f64>;
    /// ∂L/∂q̇, the momentum.
    fn by_velocity(&self, q: &DVector<f64>, v: &DVector<f64>) -> DVector<f64>;
    /// The velocity of a momentum: ∂H/∂p.
    fn velocity(&self, q: &DVector<f64>, p: &DVector<f64>) -> DVector<f64>;
}

/// How the action of a straight line between two points is approximated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quadrature {
    /// L_d = h L((q₀+q₁)/2, (q₁−q₀)/h): the implicit midpoint rule, (1.36) and (1.37).
    Midpoint,
    /// L_d = (h/2)(L(q₀, (q₁−q₀)/h) + L(q₁, (q₁−q₀)/h)): Störmer–Verlet where L is separable.
    Trapezoidal,
}

/// The integrator of a discrete Lagrangian of two points, p₀ = −D₁L_d(q₀, q₁), p₁ = D₂L_d(q₀, q₁) (1.35).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VariationalTwoPoint(
    /// Which discrete Lagrangian.
    pub Quadrature,
);

impl VariationalTwoPoint {
    /// The point after a step of `h`.
    ///
    /// # Errors
    /// A step that does not converge.
    pub fn step(
        &self,
        system: &dyn Lagrangian,
        at: &PhasePoint,
        time: f64,
        h: f64,
    ) -> Result<PhasePoint, IntegrationError> {
        let guess = &at.q + h * system.velocity(&at.q, &at.p);
        let q = newton::solve(guess, (time, h), |q| self.momenta(system, &at.q, q, h).0 - &at.p)?;
        let p = self.momenta(system, &at.q, &q, h).1;
        PhasePoint { q, p }.finite(time, h)
    }

    /// −D₁L_d and D₂L_d.
    fn momenta(
        &self,
        system: &dyn Lagrangian,
        q0: &DVector<f64>,
        q1: &DVector<f64>,
        h: f64,
    ) -> (DVector<f64>, DVector<f64>) {
        let v = (q1 - q0) / h;
        match self.0 {
            Quadrature::Midpoint => {
                let middle = 0.5 * (q0 + q1);
                let (force, momentum) = (system.by_position(&middle, &v), system.by_velocity(&middle, &v));
                (&momentum - 0.5 * h * &force, momentum + 0.5 * h * force)
            }
            Quadrature::Trapezoidal => {
                let momentum = 0.5 * (system.by_velocity(q0, &v) + system.by_velocity(q1, &v));
                let before = &momentum - 0.5 * h * system.by_position(q0, &v);
                (before, momentum + 0.5 * h * system.by_position(q1, &v))
            }
        }
    }
}

/// bᵢ = ∫₀¹ lᵢ and aᵢⱼ = ∫₀^cᵢ lⱼ of the Lagrange polynomials lᵢ of nodes cᵢ, and the symplectic partner: the two
/// tableaux of the partitioned Runge–Kutta method that Galerkin's method with polynomials of degree `S` makes. `order`
/// is the order that it is known to have. `None` where nodes coincide or a weight vanishes.
pub fn galerkin<const S: usize>(order: usize, nodes: [f64; S]) -> Option<(Tableau<S>, Tableau<S>)> {
    // Coefficients of the polynomials: the inverse of Vandermonde's matrix.
    let vandermonde = DMatrix::from_fn(S, S, |i, k| nodes[i].powi(k as i32));
    let coefficients = vandermonde.try_inverse()?;
    let integral = |j: usize, end: f64| -> f64 {
        (0..S).map(|k| coefficients[(k, j)] * end.powi(k as i32 + 1) / (k + 1) as f64).sum()
    };
    let mut tableau = Tableau { name: "Galerkin", a: [[0.0; S]; S], b: [0.0; S], c: nodes, order, embedded: None };
    for j in 0..S {
        tableau.b[j] = integral(j, 1.0);
        for (i, node) in nodes.iter().enumerate() {
            tableau.a[i][j] = integral(j, *node);
        }
    }
    tableau.symplectic_partner().map(|partner| (tableau, partner))
}

/// The constrained Galerkin method of Shen, Tran and Leok 2022, (33): the quadrature of the action, stationary in the
/// internal velocities under q₁ = q₀ + hΣbᵢQ̇ᵢ. The same map as (32), the symplectic partitioned Runge–Kutta method of
/// its tableau.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ConstrainedGalerkin<const S: usize> {
    /// bᵢ and aᵢⱼ, of which no weight vanishes.
    pub tableau: Tableau<S>,
}

impl<const S: usize> ConstrainedGalerkin<S> {
    /// The point after a step of `h`.
    ///
    /// # Errors
    /// A step that does not converge.
    pub fn step(
        &self,
        system: &dyn Lagrangian,
        at: &PhasePoint,
        time: f64,
        h: f64,
    ) -> Result<PhasePoint, IntegrationError> {
        let (n, Tableau { a, b, .. }) = (at.q.len(), &self.tableau);
        // x = (Q̇₁ … Q̇ₛ, λ).
        let velocity = |x: &DVector<f64>, i: usize| x.rows(i * n, n).into_owned();
        let point =
            |x: &DVector<f64>, row: &[f64; S]| (0..S).fold(at.q.clone(), |q, j| q + velocity(x, j) * (h * row[j]));
        let residual = |x: &DVector<f64>| {
            let q: Vec<_> = (0..S).map(|i| point(x, &a[i])).collect();
            let forces: Vec<_> = (0..S).map(|i| system.by_position(&q[i], &velocity(x, i))).collect();
            let multiplier = x.rows(S * n, n).into_owned();
            // ∂F/∂Q̇ₖ = 0, divided by h bₖ.
            let stationary = (0..S).map(|k| {
                let momentum = system.by_velocity(&q[k], &velocity(x, k)) - &multiplier;
                (0..S).fold(momentum, |sum, i| sum + &forces[i] * (h * b[i] * a[i][k] / b[k]))
            });
            let mut parts: Vec<_> = stationary.collect();
            // −p₀ = ∂F/∂q₀.
            parts.push((0..S).fold(&at.p - &multiplier, |sum, i| sum + &forces[i] * (h * b[i])));
            stack(&parts.iter().collect::<Vec<_>>())
        };
        let start = system.velocity(&at.q, &at.p);
        let parts: Vec<_> = (0..S).map(|_| &start).chain([&at.p]).collect();
        let x = newton::solve(stack(&parts), (time, h), residual)?;
        // p₁ = ∂F/∂q₁ = λ.
        PhasePoint { q: point(&x, b), p: x.rows(S * n, n).into_owned() }.finite(time, h)
    }
}
