//! Independent oscillators: a linear part in modal coordinates.

use super::{LinearPart, PoissonError};
use nalgebra::Complex;

/// Modes of a mechanical system: of state $(q_1, …, q_m, p_1, …, p_m)$, with the canonical $J$ and
/// $D = \mathrm{diag}(\omega_i, \omega_i)$. A mode of displacement $\eta$ (of unit modal mass) and frequency
/// $\omega > 0$ has $q = \sqrt\omega\,\eta$ and $p = \dot\eta/\sqrt\omega$: in these coordinates $J$ and $D$ commute,
/// which in those of displacement and momentum they do not. A mode without stiffness (ω = 0) keeps its q and p; its
/// kinetic energy belongs into V.
#[derive(Clone, Debug, PartialEq)]
pub struct Oscillators {
    frequencies: Vec<f64>,
}

impl Oscillators {
    /// From the angular frequencies of the modes.
    ///
    /// # Errors
    /// There is none, or one is not finite.
    pub fn new(frequencies: Vec<f64>) -> Result<Self, PoissonError> {
        if frequencies.is_empty() {
            return Err(PoissonError::Shape { structure: (0, 0), stiffness: (0, 0) });
        }
        if frequencies.iter().any(|frequency| !frequency.is_finite()) {
            return Err(PoissonError::NotFinite);
        }
        Ok(Self { frequencies })
    }

    /// The angular frequencies.
    pub fn frequencies(&self) -> &[f64] {
        &self.frequencies
    }
}

/// J multiplies q + ip by this.
const STRUCTURE: Complex<f64> = Complex::new(0.0, -1.0);

impl LinearPart for Oscillators {
    /// What each mode's q + ip is multiplied by.
    type Operator = Vec<Complex<f64>>;
    type Scratch = ();

    fn dim(&self) -> usize {
        2 * self.frequencies.len()
    }

    fn scratch(&self) {}

    fn function(&self, f: &dyn Fn(f64) -> Complex<f64>) -> Vec<Complex<f64>> {
        self.frequencies.iter().map(|omega| f(-omega)).collect()
    }

    fn function_of_structure(&self, f: &dyn Fn(f64) -> Complex<f64>) -> Vec<Complex<f64>> {
        self.frequencies.iter().map(|omega| f(-omega) * STRUCTURE).collect()
    }

    fn apply(&self, operator: &Vec<Complex<f64>>, x: &[f64], out: &mut [f64], (): &mut ()) {
        let ((q, p), (out_q, out_p)) = (x.split_at(operator.len()), out.split_at_mut(operator.len()));
        for ((((q, p), out_q), out_p), factor) in q.iter().zip(p).zip(out_q).zip(out_p).zip(operator) {
            let z = Complex::new(*q, *p) * factor;
            (*out_q, *out_p) = (z.re, z.im);
        }
    }

    fn apply_structure(&self, x: &[f64], out: &mut [f64], (): &mut ()) {
        let modes = self.frequencies.len();
        out[..modes].copy_from_slice(&x[modes..]);
        out[modes..].iter_mut().zip(x).for_each(|(out, q)| *out = -q);
    }

    fn energy(&self, q: &[f64], (): &mut ()) -> f64 {
        0.5 * q.iter().zip(self.frequencies.iter().cycle()).map(|(x, omega)| omega * x * x).sum::<f64>()
    }
}
