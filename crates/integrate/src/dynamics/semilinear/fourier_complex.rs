//! Complex periodic fields.

use super::fourier::{Multipliers, multipliers, wave_numbers};
use super::{LinearPart, PoissonError};
use nalgebra::Complex;
use rustfft::{Fft, FftPlanner};
use std::sync::Arc;

/// The linear part of a complex field ψ = q + ip at equidistant nodes of a period: the state is
/// $(q_1, …, q_N, p_1, …, p_N)$, and $J$, $D$ multiply the Fourier coefficients of ψ by functions of the wave number.
/// The field being complex, $J$ is skew where its multipliers are imaginary, $D$ symmetric where its are real, and
/// they always commute.
///
/// An operator takes one complex transform forth and one back. $N$ may be any number, odd ones included; transforms
/// are fast for all, and fastest for products of small primes.
#[derive(Clone)]
pub struct ComplexFourier {
    nodes: usize,
    multipliers: Arc<Multipliers>,
    structure: Structure,
    forward: Arc<dyn Fft<f64>>,
    backward: Arc<dyn Fft<f64>>,
}

/// J, as it is quickest applied.
#[derive(Clone)]
enum Structure {
    /// The same factor i·s for all waves: point by point.
    Pointwise(f64),
    /// As an operator.
    Multiplier(Arc<[Complex<f64>]>),
}

/// Memory for transforms.
#[derive(Clone, Debug)]
pub struct ComplexScratch {
    field: Vec<Complex<f64>>,
    transform: Vec<Complex<f64>>,
}

impl ComplexFourier {
    /// `nodes` nodes, and the multipliers of $J$ and $D$ by wave number.
    ///
    /// # Errors
    /// Which law fails.
    pub fn new(
        nodes: usize,
        structure: impl Fn(i64) -> Complex<f64>,
        stiffness: impl Fn(i64) -> Complex<f64>,
    ) -> Result<Self, PoissonError> {
        let numbers = wave_numbers(nodes).collect::<Vec<_>>();
        let multipliers = multipliers(nodes, numbers.iter().copied(), structure, stiffness)?;
        let first = multipliers.structure[0];
        let structure = if multipliers.structure.iter().all(|j| *j == first) {
            Structure::Pointwise(first.im)
        } else {
            Structure::Multiplier(multipliers.function_of_structure(&|_| Complex::new(1.0, 0.0), nodes).into())
        };
        let mut planner = FftPlanner::new();
        let (forward, backward) = (planner.plan_fft_forward(nodes), planner.plan_fft_inverse(nodes));
        Ok(Self { nodes, multipliers: Arc::new(multipliers), structure, forward, backward })
    }

    /// How many nodes there are.
    pub fn nodes(&self) -> usize {
        self.nodes
    }

    /// $\sum_k w(k)|\hatψ_k|^2/N$ with unscaled transforms, so that w = 1 gives $\sum_j|ψ_j|^2$.
    pub fn weighted_square(&self, state: &[f64], weight: impl Fn(i64) -> f64, scratch: &mut ComplexScratch) -> f64 {
        self.transform(state, scratch);
        let squares = wave_numbers(self.nodes).zip(&scratch.field).map(|(k, psi)| weight(k) * psi.norm_sqr());
        squares.sum::<f64>() / self.nodes as f64
    }

    fn transform(&self, state: &[f64], scratch: &mut ComplexScratch) {
        let (q, p) = state.split_at(self.nodes);
        for ((psi, q), p) in scratch.field.iter_mut().zip(q).zip(p) {
            *psi = Complex::new(*q, *p);
        }
        self.forward.process_with_scratch(&mut scratch.field, &mut scratch.transform);
    }

    fn multiply(&self, operator: &[Complex<f64>], x: &[f64], out: &mut [f64], scratch: &mut ComplexScratch) {
        self.transform(x, scratch);
        scratch.field.iter_mut().zip(operator).for_each(|(psi, factor)| *psi *= factor);
        self.backward.process_with_scratch(&mut scratch.field, &mut scratch.transform);
        let (q, p) = out.split_at_mut(self.nodes);
        for ((psi, q), p) in scratch.field.iter().zip(q).zip(p) {
            (*q, *p) = (psi.re, psi.im);
        }
    }
}

impl std::fmt::Debug for ComplexFourier {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ComplexFourier").field("nodes", &self.nodes).finish_non_exhaustive()
    }
}

impl LinearPart for ComplexFourier {
    /// By index of the transform.
    type Operator = Vec<Complex<f64>>;
    type Scratch = ComplexScratch;

    fn dim(&self) -> usize {
        2 * self.nodes
    }

    fn scratch(&self) -> ComplexScratch {
        let zeros = |length| vec![Complex::new(0.0, 0.0); length];
        let length = self.forward.get_inplace_scratch_len().max(self.backward.get_inplace_scratch_len());
        ComplexScratch { field: zeros(self.nodes), transform: zeros(length) }
    }

    fn function(&self, f: &dyn Fn(f64) -> Complex<f64>) -> Vec<Complex<f64>> {
        self.multipliers.function(f, self.nodes)
    }

    fn function_of_structure(&self, f: &dyn Fn(f64) -> Complex<f64>) -> Vec<Complex<f64>> {
        self.multipliers.function_of_structure(f, self.nodes)
    }

    fn apply(&self, operator: &Vec<Complex<f64>>, x: &[f64], out: &mut [f64], scratch: &mut ComplexScratch) {
        self.multiply(operator, x, out, scratch);
    }

    fn apply_structure(&self, x: &[f64], out: &mut [f64], scratch: &mut ComplexScratch) {
        match &self.structure {
            Structure::Pointwise(factor) => {
                let ((q, p), (out_q, out_p)) = (x.split_at(self.nodes), out.split_at_mut(self.nodes));
                out_q.iter_mut().zip(p).for_each(|(out, p)| *out = -factor * p);
                out_p.iter_mut().zip(q).for_each(|(out, q)| *out = factor * q);
            }
            Structure::Multiplier(operator) => self.multiply(operator, x, out, scratch),
        }
    }

    fn energy(&self, q: &[f64], scratch: &mut ComplexScratch) -> f64 {
        self.transform(q, scratch);
        let squares = scratch.field.iter().zip(&self.multipliers.stiffness).map(|(psi, d)| d * psi.norm_sqr());
        0.5 * squares.sum::<f64>() / self.nodes as f64
    }
}
