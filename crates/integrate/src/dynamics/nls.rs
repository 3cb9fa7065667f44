//! The nonlinear Schrödinger equation on a circle.

use super::semilinear::{ComplexFourier, LinearPart, PoissonError, Potential, Semilinear};
use nalgebra::Complex;
use std::f64::consts::TAU;

/// The defocusing nonlinear Schrödinger equation $iψ_t + ψ_{xx} - 2|ψ|^2ψ = 0$ with period 2π at equidistant nodes
/// (Shen 2019, eqs. (2.16) and (2.20)). State: real parts, then imaginary parts; $J(q, p) = (p, -q)$, $D = -D_2$.
///
/// Invariants of the discrete system are energy and [`mass`](Self::mass); [`momentum`](Self::momentum) is one of the
/// equation, and kept as well as the nodes resolve the field.
pub type Nls = Semilinear<ComplexFourier, Quartic>;

/// $V = \tfrac12\sum_j(q_j^2 + p_j^2)^2$.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Quartic;

impl Nls {
    /// With this many nodes.
    ///
    /// # Errors
    /// There is no node.
    pub fn new(nodes: usize) -> Result<Self, PoissonError> {
        let linear =
            ComplexFourier::new(nodes, |_| Complex::new(0.0, -1.0), |k| Complex::new((k as f64).powi(2), 0.0))?;
        Ok(Self { linear, potential: Quartic })
    }

    /// The state of a field ψ(x), 0 ≤ x < 2π.
    pub fn sample(&self, field: impl Fn(f64) -> Complex<f64>) -> Vec<f64> {
        let nodes = self.linear.nodes();
        let values: Vec<_> = (0..nodes).map(|j| field(TAU * j as f64 / nodes as f64)).collect();
        values.iter().map(|psi| psi.re).chain(values.iter().map(|psi| psi.im)).collect()
    }

    /// $\int|ψ|^2dx$.
    pub fn mass(&self, state: &[f64]) -> f64 {
        TAU / self.linear.nodes() as f64 * state.iter().map(|x| x * x).sum::<f64>()
    }

    /// $\int\mathrm{Im}(\barψψ_x)dx$.
    pub fn momentum(&self, state: &[f64], scratch: &mut <ComplexFourier as LinearPart>::Scratch) -> f64 {
        let nodes = self.linear.nodes();
        // The highest wave of an even number of nodes goes both ways.
        let wave_number = |k: i64| if 2 * k == nodes as i64 { 0.0 } else { k as f64 };
        TAU / nodes as f64 * self.linear.weighted_square(state, wave_number, scratch)
    }
}

/// Real parts and imaginary parts.
fn parts(state: &[f64]) -> impl Iterator<Item = (f64, f64)> {
    let (q, p) = state.split_at(state.len() / 2);
    q.iter().copied().zip(p.iter().copied())
}

fn parts_mut(state: &mut [f64]) -> impl Iterator<Item = (&mut f64, &mut f64)> {
    let (q, p) = state.split_at_mut(state.len() / 2);
    q.iter_mut().zip(p)
}

impl Potential for Quartic {
    fn value(&self, state: &[f64]) -> f64 {
        0.5 * parts(state).map(|(q, p)| (q * q + p * p).powi(2)).sum::<f64>()
    }

    fn gradient(&self, state: &[f64], out: &mut [f64]) {
        for ((q, p), (out_q, out_p)) in parts(state).zip(parts_mut(out)) {
            let factor = 2.0 * (q * q + p * p);
            (*out_q, *out_p) = (factor * q, factor * p);
        }
    }

    fn hessian_apply(&self, state: &[f64], v: &[f64], out: &mut [f64]) {
        for (((q, p), (v, w)), (out_q, out_p)) in parts(state).zip(parts(v)).zip(parts_mut(out)) {
            let (square, along) = (2.0 * (q * q + p * p), 4.0 * (q * v + p * w));
            (*out_q, *out_p) = (square * v + along * q, square * w + along * p);
        }
    }

    /// With the means (2.23) and (2.24).
    fn discrete_gradient(&self, from: &[f64], to: &[f64], out: &mut [f64]) {
        for (((q0, p0), (q1, p1)), (out_q, out_p)) in parts(from).zip(parts(to)).zip(parts_mut(out)) {
            let factor = 0.5 * (q0 * q0 + q1 * q1 + p0 * p0 + p1 * p1);
            (*out_q, *out_p) = (factor * (q0 + q1), factor * (p0 + p1));
        }
    }
}
