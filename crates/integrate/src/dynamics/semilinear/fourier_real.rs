//! Real periodic fields.

use super::fourier::{Multipliers, multipliers};
use super::{LinearPart, PoissonError};
use nalgebra::Complex;
use realfft::{ComplexToReal, RealFftPlanner, RealToComplex};
use std::sync::Arc;

/// The linear part of a real field at equidistant nodes of a period: $J$ and $D$ multiply its Fourier coefficients by
/// functions of the wave number, imaginary and odd ones of $J$, real and even ones of $D$. They always commute.
///
/// An operator takes one real transform forth and one back. $N$ may be any number, odd ones included.
///
/// An operator that is skew is so up to the rounding of the transforms, which is the same in every application: of odd
/// $N$, 10⁻¹⁶ of the energy goes or comes with every step. The same operator computed on the circle run through the
/// other way, $x \to -x$, errs by as much to the other side. So steps take turns ([`LinearPart::vary_rounding`]).
#[derive(Clone)]
pub struct RealFourier {
    nodes: usize,
    multipliers: Arc<Multipliers>,
    /// J as an operator.
    structure: Arc<[Complex<f64>]>,
    forward: Arc<dyn RealToComplex<f64>>,
    backward: Arc<dyn ComplexToReal<f64>>,
}

/// Memory for transforms.
#[derive(Clone, Debug)]
pub struct RealScratch {
    field: Vec<f64>,
    coefficients: Vec<Complex<f64>>,
    forward: Vec<Complex<f64>>,
    backward: Vec<Complex<f64>>,
    /// Whether fields are transformed as functions of −x.
    mirrored: bool,
}

impl RealFourier {
    /// `nodes` nodes, and the multipliers of $J$ and $D$ by wave number.
    ///
    /// # Errors
    /// Which law fails.
    pub fn new(
        nodes: usize,
        structure: impl Fn(i64) -> Complex<f64>,
        stiffness: impl Fn(i64) -> Complex<f64>,
    ) -> Result<Self, PoissonError> {
        let highest = nodes as i64 / 2;
        for multiplier in [&structure as &dyn Fn(i64) -> Complex<f64>, &stiffness] {
            let is_real = |k: &i64| (multiplier(-k) - multiplier(*k).conj()).norm() <= 1e-12 * multiplier(*k).norm();
            if let Some(wave_number) = (0..=highest).find(|k| !is_real(k)) {
                return Err(PoissonError::NotReal { wave_number });
            }
        }
        let multipliers = multipliers(nodes, 0..=highest, structure, stiffness)?;
        let structure = multipliers.function_of_structure(&|_| Complex::new(1.0, 0.0), nodes).into();
        let mut planner = RealFftPlanner::new();
        let (forward, backward) = (planner.plan_fft_forward(nodes), planner.plan_fft_inverse(nodes));
        Ok(Self { nodes, multipliers: Arc::new(multipliers), structure, forward, backward })
    }

    /// How many nodes there are.
    pub fn nodes(&self) -> usize {
        self.nodes
    }

    fn transform(&self, x: &[f64], scratch: &mut RealScratch) {
        let RealScratch { field, coefficients, forward, mirrored, .. } = scratch;
        field.copy_from_slice(x);
        if *mirrored {
            mirror(field);
        }
        // Fails of wrong lengths only, and these are all made by `scratch`.
        let _ = self.forward.process_with_scratch(field, coefficients, forward);
    }

    fn multiply(&self, operator: &[Complex<f64>], x: &[f64], out: &mut [f64], scratch: &mut RealScratch) {
        self.transform(x, scratch);
        let RealScratch { coefficients, backward, mirrored, .. } = scratch;
        // The wave number k of a function of −x is −k of x, whose multiplier is the conjugate.
        let sign = if *mirrored { -1.0 } else { 1.0 };
        coefficients.iter_mut().zip(operator).for_each(|(c, factor)| *c *= Complex::new(factor.re, sign * factor.im));
        // Mean and highest even wave are real; what is not finite would leave something else there, and goes into
        // `out` as it is.
        let _ = self.backward.process_with_scratch(coefficients, out, backward);
        if *mirrored {
            mirror(out);
        }
    }
}

/// A function of x as one of −x.
fn mirror(field: &mut [f64]) {
    if let Some(others) = field.get_mut(1..) {
        others.reverse();
    }
}

impl std::fmt::Debug for RealFourier {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RealFourier").field("nodes", &self.nodes).finish_non_exhaustive()
    }
}

impl LinearPart for RealFourier {
    /// By wave number from 0.
    type Operator = Vec<Complex<f64>>;
    type Scratch = RealScratch;

    fn dim(&self) -> usize {
        self.nodes
    }

    fn scratch(&self) -> RealScratch {
        RealScratch {
            field: self.forward.make_input_vec(),
            coefficients: self.forward.make_output_vec(),
            forward: self.forward.make_scratch_vec(),
            backward: self.backward.make_scratch_vec(),
            mirrored: false,
        }
    }

    fn function(&self, f: &dyn Fn(f64) -> Complex<f64>) -> Vec<Complex<f64>> {
        self.multipliers.function(f, self.nodes)
    }

    fn function_of_structure(&self, f: &dyn Fn(f64) -> Complex<f64>) -> Vec<Complex<f64>> {
        self.multipliers.function_of_structure(f, self.nodes)
    }

    fn apply(&self, operator: &Vec<Complex<f64>>, x: &[f64], out: &mut [f64], scratch: &mut RealScratch) {
        self.multiply(operator, x, out, scratch);
    }

    fn apply_structure(&self, x: &[f64], out: &mut [f64], scratch: &mut RealScratch) {
        self.multiply(&self.structure, x, out, scratch);
    }

    fn vary_rounding(&self, scratch: &mut RealScratch) {
        scratch.mirrored = !scratch.mirrored;
    }

    fn energy(&self, q: &[f64], scratch: &mut RealScratch) -> f64 {
        self.transform(q, scratch);
        let nodes = self.nodes;
        // Every wave but the mean and, of an even number of nodes, the highest stands for two.
        let twice = |k: usize| if k == 0 || 2 * k == nodes { 1.0 } else { 2.0 };
        let waves = scratch.coefficients.iter().zip(&self.multipliers.stiffness).enumerate();
        0.5 * waves.map(|(k, (c, d))| twice(k) * d * c.norm_sqr()).sum::<f64>() / nodes as f64
    }
}
