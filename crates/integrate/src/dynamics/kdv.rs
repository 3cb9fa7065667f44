//! The equation of Korteweg and de Vries on a circle.

use super::semilinear::{PoissonError, Potential, RealFourier, Semilinear};
use nalgebra::Complex;
use std::f64::consts::TAU;

/// The equation of Korteweg and de Vries $u_t + uu_x + νu_{xxx} = 0$ with period 2π at equidistant nodes (Shen 2019,
/// section 2.4.2): $J = -D_1$, $D = νD_2$, $V = \tfrac16\sum_jq_j^3$.
///
/// Invariants of the discrete system are energy and [`mass`](Self::mass); [`momentum`](Self::momentum) is one of the
/// equation, and kept as well as the nodes resolve the field.
pub type Kdv = Semilinear<RealFourier, Cubic>;

/// $V = \tfrac16\sum_jq_j^3$.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cubic;

impl Kdv {
    /// With this many nodes and this ν.
    ///
    /// # Errors
    /// There is no node, or ν is not finite.
    pub fn new(nodes: usize, dispersion: f64) -> Result<Self, PoissonError> {
        let structure = |k: i64| Complex::new(0.0, -k as f64);
        let linear = RealFourier::new(nodes, structure, |k| Complex::new(-dispersion * (k as f64).powi(2), 0.0))?;
        Ok(Self { linear, potential: Cubic })
    }

    /// The state of a field u(x), 0 ≤ x < 2π.
    pub fn sample(&self, field: impl Fn(f64) -> f64) -> Vec<f64> {
        let nodes = self.linear.nodes();
        (0..nodes).map(|j| field(TAU * j as f64 / nodes as f64)).collect()
    }

    /// $\int u\,dx$.
    pub fn mass(&self, state: &[f64]) -> f64 {
        TAU / self.linear.nodes() as f64 * state.iter().sum::<f64>()
    }

    /// $\tfrac12\int u^2dx$.
    pub fn momentum(&self, state: &[f64]) -> f64 {
        0.5 * TAU / self.linear.nodes() as f64 * state.iter().map(|u| u * u).sum::<f64>()
    }
}

impl Potential for Cubic {
    fn value(&self, state: &[f64]) -> f64 {
        state.iter().map(|u| u * u * u).sum::<f64>() / 6.0
    }

    fn gradient(&self, state: &[f64], out: &mut [f64]) {
        out.iter_mut().zip(state).for_each(|(out, u)| *out = 0.5 * u * u);
    }

    fn hessian_apply(&self, state: &[f64], v: &[f64], out: &mut [f64]) {
        out.iter_mut().zip(state).zip(v).for_each(|((out, u), v)| *out = u * v);
    }

    fn discrete_gradient(&self, from: &[f64], to: &[f64], out: &mut [f64]) {
        out.iter_mut().zip(from).zip(to).for_each(|((out, a), b)| *out = (a * a + a * b + b * b) / 6.0);
    }
}
