//! Semilinear Poisson systems $\dot q = J(Dq + \nabla V(q))$, made of a linear part $(J, D)$ and a potential $V$ (Shen
//! 2019, eq. (2.5)).
//!
//! A linear part is checked when it is made: $J$ is skew-symmetric, $D$ symmetric, and they commute; otherwise
//! [`PoissonError`] says which law fails. [`Dense`] takes matrices, [`Oscillators`] frequencies, [`ComplexFourier`]
//! and
//! [`RealFourier`] multipliers of periodic pseudo-spectral problems, whose functions of $A$ are applied by FFT.

mod dense;
mod fourier;
mod fourier_complex;
mod fourier_real;
mod oscillators;
#[cfg(test)]
mod tests;

pub use dense::Dense;
pub use fourier_complex::ComplexFourier;
pub use fourier_real::RealFourier;
pub use oscillators::Oscillators;

use crate::exponential::SemilinearPoisson;
use nalgebra::Complex;
use thiserror::Error;

/// Why $J$ and $D$ make no semilinear Poisson system. Defects are the largest entry of what should vanish, relative to
/// the largest entry of what it is made of.
#[derive(Clone, Copy, Debug, Error, PartialEq)]
pub enum PoissonError {
    /// $J^\top \neq -J$.
    #[error(
        "J is not skew-symmetric: J + Jᵀ is {defect:e} of J; take the skew part, or write the system in other variables"
    )]
    NotSkew {
        /// |J + Jᵀ| / |J|.
        defect: f64,
    },
    /// $D^\top \neq D$.
    #[error(
        "D is not symmetric: D − Dᵀ is {defect:e} of D; take the symmetric part, the Hessian of the quadratic energy"
    )]
    NotSymmetric {
        /// |D − Dᵀ| / |D|.
        defect: f64,
    },
    /// $JD \neq DJ$.
    #[error(
        "J and D do not commute: JD − DJ is {defect:e} of |J||D|; scale the variables (as to modal coordinates), or \
         move what does not commute into V"
    )]
    NotCommuting {
        /// |JD − DJ| / (|J| |D|).
        defect: f64,
    },
    /// A multiplier does not carry real functions over into real ones.
    #[error(
        "the multiplier of wave number {wave_number} is not the conjugate of that of its negative; real fields need \
        that"
    )]
    NotReal {
        /// The wave number.
        wave_number: i64,
    },
    /// Matrices that are not square, of different sizes, or empty; no node.
    #[error("J and D have to be square, of one size that is not 0; they are {structure:?} and {stiffness:?}")]
    Shape {
        /// Rows and columns of J.
        structure: (usize, usize),
        /// Rows and columns of D.
        stiffness: (usize, usize),
    },
    /// An entry is not finite, or is not in the product.
    #[error("J, D or JD has an entry that is not finite; give finite matrices, in units that keep them within 1e±150")]
    NotFinite,
}

/// The linear part $A = JD$ of a semilinear system; the functions are those of [`SemilinearPoisson`].
pub trait LinearPart {
    /// A function of $A$, ready to be applied.
    type Operator;
    /// What applying needs of memory.
    type Scratch;

    /// The number of unknowns.
    fn dim(&self) -> usize;
    /// Memory for what follows.
    fn scratch(&self) -> Self::Scratch;
    /// $f(A)$.
    fn function(&self, f: &dyn Fn(f64) -> Complex<f64>) -> Self::Operator;
    /// $f(A)J$.
    fn function_of_structure(&self, f: &dyn Fn(f64) -> Complex<f64>) -> Self::Operator;
    /// `out` ← operator · `x`.
    fn apply(&self, operator: &Self::Operator, x: &[f64], out: &mut [f64], scratch: &mut Self::Scratch);
    /// `out` ← J · `x`.
    fn apply_structure(&self, x: &[f64], out: &mut [f64], scratch: &mut Self::Scratch);
    /// Lets the rounding of what follows be another.
    fn vary_rounding(&self, _scratch: &mut Self::Scratch) {}
    /// $\tfrac12 q^\top Dq$.
    fn energy(&self, q: &[f64], scratch: &mut Self::Scratch) -> f64;
}

/// The potential $V$; the functions are those of [`SemilinearPoisson`].
pub trait Potential {
    /// $V(q)$.
    fn value(&self, q: &[f64]) -> f64;
    /// `out` ← $\nabla V(q)$.
    fn gradient(&self, q: &[f64], out: &mut [f64]);
    /// `out` ← $\nabla^2V(q)v$.
    fn hessian_apply(&self, q: &[f64], v: &[f64], out: &mut [f64]);
    /// `out` ← $\overline\nabla V(q_0, q_1)$.
    fn discrete_gradient(&self, q0: &[f64], q1: &[f64], out: &mut [f64]);
}

/// A linear part and a potential.
#[derive(Clone, Debug)]
pub struct Semilinear<L, V> {
    /// $J$ and $D$.
    pub linear: L,
    /// $V$.
    pub potential: V,
}

impl<L: LinearPart, V: Potential> SemilinearPoisson for Semilinear<L, V> {
    type Operator = L::Operator;
    type Scratch = L::Scratch;

    fn dim(&self) -> usize {
        self.linear.dim()
    }
    fn scratch(&self) -> L::Scratch {
        self.linear.scratch()
    }
    fn function(&self, f: &dyn Fn(f64) -> Complex<f64>) -> L::Operator {
        self.linear.function(f)
    }
    fn function_of_structure(&self, f: &dyn Fn(f64) -> Complex<f64>) -> L::Operator {
        self.linear.function_of_structure(f)
    }
    fn apply(&self, operator: &L::Operator, x: &[f64], out: &mut [f64], scratch: &mut L::Scratch) {
        self.linear.apply(operator, x, out, scratch);
    }
    fn apply_structure(&self, x: &[f64], out: &mut [f64], scratch: &mut L::Scratch) {
        self.linear.apply_structure(x, out, scratch);
    }
    fn vary_rounding(&self, scratch: &mut L::Scratch) {
        self.linear.vary_rounding(scratch);
    }
    fn potential(&self, q: &[f64]) -> f64 {
        self.potential.value(q)
    }
    fn gradient(&self, q: &[f64], out: &mut [f64]) {
        self.potential.gradient(q, out);
    }
    fn hessian_apply(&self, q: &[f64], v: &[f64], out: &mut [f64]) {
        self.potential.hessian_apply(q, v, out);
    }
    fn discrete_gradient(&self, q0: &[f64], q1: &[f64], out: &mut [f64]) {
        self.potential.discrete_gradient(q0, q1, out);
    }
    fn energy(&self, q: &[f64], scratch: &mut L::Scratch) -> f64 {
        self.linear.energy(q, scratch) + self.potential.value(q)
    }
}

/// What rounding may leave of a law that holds.
const ROUNDING: f64 = 1e-12;
