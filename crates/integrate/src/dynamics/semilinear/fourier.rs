//! What both kinds of fields have in common: wave numbers, and the laws of multipliers.

use super::{PoissonError, ROUNDING};
use nalgebra::Complex;

/// J and D in Fourier space, for a list of wave numbers.
pub(super) struct Multipliers {
    pub(super) structure: Vec<Complex<f64>>,
    pub(super) stiffness: Vec<f64>,
    /// A = JD multiplies by i times this.
    pub(super) frequencies: Vec<f64>,
}

/// The wave numbers of a discrete Fourier transform of `nodes` values, in its order.
pub(super) fn wave_numbers(nodes: usize) -> impl Iterator<Item = i64> {
    let nodes = nodes as i64;
    (0..nodes).map(move |index| if 2 * index <= nodes { index } else { index - nodes })
}

/// The multipliers at these wave numbers, of `nodes` nodes; checked.
pub(super) fn multipliers(
    nodes: usize,
    wave_numbers: impl Iterator<Item = i64> + Clone,
    structure: impl Fn(i64) -> Complex<f64>,
    stiffness: impl Fn(i64) -> Complex<f64>,
) -> Result<Multipliers, PoissonError> {
    if nodes == 0 {
        return Err(PoissonError::Shape { structure: (0, 0), stiffness: (0, 0) });
    }
    // Of an even number of nodes, the highest wave is both k and −k: it gets the mean, so that odd derivatives vanish
    // on it.
    let at = |multiplier: &dyn Fn(i64) -> Complex<f64>, k: i64| {
        if 2 * k == nodes as i64 { 0.5 * (multiplier(k) + multiplier(-k)) } else { multiplier(k) }
    };
    let structure: Vec<_> = wave_numbers.clone().map(|k| at(&structure, k)).collect();
    let stiffness: Vec<_> = wave_numbers.map(|k| at(&stiffness, k)).collect();
    if structure.iter().chain(&stiffness).any(|m| !(m.re.is_finite() && m.im.is_finite())) {
        return Err(PoissonError::NotFinite);
    }
    let largest = |values: &[Complex<f64>], of: fn(&Complex<f64>) -> f64| values.iter().map(of).fold(0.0, f64::max);
    let defect = |values: &[Complex<f64>], of| {
        let (part, size) = (largest(values, of), largest(values, |m| m.norm()));
        if size > 0.0 { part / size } else { 0.0 }
    };
    let skew_defect = defect(&structure, |m| 2.0 * m.re.abs());
    if skew_defect > ROUNDING {
        return Err(PoissonError::NotSkew { defect: skew_defect });
    }
    let symmetry_defect = defect(&stiffness, |m| 2.0 * m.im.abs());
    if symmetry_defect > ROUNDING {
        return Err(PoissonError::NotSymmetric { defect: symmetry_defect });
    }
    let stiffness: Vec<f64> = stiffness.iter().map(|m| m.re).collect();
    let frequencies: Vec<f64> = structure.iter().zip(&stiffness).map(|(j, d)| j.im * d).collect();
    if frequencies.iter().any(|frequency| !frequency.is_finite()) {
        return Err(PoissonError::NotFinite);
    }
    Ok(Multipliers { structure, stiffness, frequencies })
}

impl Multipliers {
    /// f(A), and what a pair of transforms multiplies by taken out of it.
    pub(super) fn function(&self, f: &dyn Fn(f64) -> Complex<f64>, nodes: usize) -> Vec<Complex<f64>> {
        self.frequencies.iter().map(|omega| f(*omega) / nodes as f64).collect()
    }

    /// f(A)J, likewise.
    pub(super) fn function_of_structure(&self, f: &dyn Fn(f64) -> Complex<f64>, nodes: usize) -> Vec<Complex<f64>> {
        self.frequencies.iter().zip(&self.structure).map(|(omega, j)| f(*omega) * j / nodes as f64).collect()
    }
}
