//! Poisson systems ẋ = J(x)∇H(x) (Shen 2019, section 1.1.4), and what keeps their structure: exact flows of the parts
//! of H, one after the other.

use crate::{IntegrationError, Tableau, fixed_point};
use nalgebra::{DMatrix, DVector};

/// ẋ = J(x)∇H(x) with a skew J that meets (1.13).
pub trait PoissonSystem {
    /// J(x).
    fn structure(&self, x: &DVector<f64>) -> DMatrix<f64>;
    /// H.
    fn energy(&self, x: &DVector<f64>) -> f64;
    /// ∇H.
    fn gradient(&self, x: &DVector<f64>) -> DVector<f64>;

    /// J(x)∇H(x).
    fn field(&self, x: &DVector<f64>) -> DVector<f64> {
        self.structure(x) * self.gradient(x)
    }
}

/// One of the two parts of a Hamiltonian.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The first.
    First,
    /// The second.
    Second,
}

/// A Poisson system with H = H₁ + H₂, whose parts have flows that can be computed.
pub trait SplitPoissonSystem: PoissonSystem {
    /// The flow of J∇Hᵢ over a time `h`.
    fn flow(&self, part: Part, x: &DVector<f64>, h: f64) -> DVector<f64>;
}

/// Strang's splitting, φ₁(h/2) ∘ φ₂(h) ∘ φ₁(h/2): symmetric, of order 2, and a Poisson map, for flows are.
///
/// # Errors
/// Numbers that are not finite.
pub fn strang(
    system: &dyn SplitPoissonSystem,
    x: &DVector<f64>,
    time: f64,
    h: f64,
) -> Result<DVector<f64>, IntegrationError> {
    let half = system.flow(Part::First, x, 0.5 * h);
    let end = system.flow(Part::First, &system.flow(Part::Second, &half, h), 0.5 * h);
    if end.iter().all(|x| x.is_finite()) { Ok(end) } else { Err(IntegrationError::NotFinite { time, step: h }) }
}

/// A step of a Runge–Kutta method (1.28).
///
/// # Errors
/// An implicit step that does not converge, or numbers that are not finite.
pub fn runge_kutta<const S: usize>(
    tableau: &Tableau<S>,
    system: &dyn PoissonSystem,
    x: &DVector<f64>,
    time: f64,
    h: f64,
) -> Result<DVector<f64>, IntegrationError> {
    let n = x.len();
    let stage =
        |slopes: &DVector<f64>, row: &[f64; S]| (0..S).fold(x.clone(), |y, j| y + slopes.rows(j * n, n) * (h * row[j]));
    let slopes_of = |slopes: &DVector<f64>| {
        let all =
            tableau.a.iter().flat_map(|row| system.field(&stage(slopes, row)).iter().copied().collect::<Vec<_>>());
        DVector::from_iterator(S * n, all)
    };
    let zero = DVector::zeros(S * n);
    let slopes = if tableau.is_explicit() {
        (0..S).fold(zero, |slopes, _| slopes_of(&slopes))
    } else {
        fixed_point::solve(slopes_of(&zero), time, h, slopes_of)?.0
    };
    let end = stage(&slopes, &tableau.b);
    if end.iter().all(|x| x.is_finite()) { Ok(end) } else { Err(IntegrationError::NotFinite { time, step: h }) }
}

/// The greatest violation of (1.13) at x, skewness and Jacobi's identity, the derivatives of J by differences.
pub fn jacobi_defect(system: &dyn PoissonSystem, x: &DVector<f64>) -> f64 {
    let (n, d) = (x.len(), 1e-5);
    let j = system.structure(x);
    let derivatives: Vec<DMatrix<f64>> = (0..n)
        .map(|l| {
            let moved = |by: f64| {
                let mut moved = x.clone();
                moved[l] += by;
                system.structure(&moved)
            };
            (moved(d) - moved(-d)) / (2.0 * d)
        })
        .collect();
    let cyclic = |i: usize, k: usize, m: usize| -> f64 {
        (0..n)
            .map(|l| {
                derivatives[l][(i, k)] * j[(l, m)]
                    + derivatives[l][(k, m)] * j[(l, i)]
                    + derivatives[l][(m, i)] * j[(l, k)]
            })
            .sum()
    };
    let indices = || (0..n).flat_map(move |i| (0..n).flat_map(move |k| (0..n).map(move |m| (i, k, m))));
    let jacobi = indices().map(|(i, k, m)| cyclic(i, k, m).abs()).fold(0.0, f64::max);
    jacobi.max((&j + j.transpose()).amax())
}
