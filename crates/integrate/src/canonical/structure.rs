//! How well a map keeps a symplectic or Poisson structure, by difference quotients.

use super::newton::differences;
use crate::IntegrationError;
use nalgebra::{DMatrix, DVector};
use std::cell::Cell;

/// The canonical J of positions and momenta, (0 I; −I 0), for vectors of `2n` components.
pub fn canonical(n: usize) -> DMatrix<f64> {
    DMatrix::from_fn(2 * n, 2 * n, |i, j| f64::from(u8::from(j == i + n)) - f64::from(u8::from(i == j + n)))
}

/// The largest entry of (Dφ) J(x) (Dφ)ᵀ − J(φ(x)): zero for a Poisson map; of a constant J, (Dφ)ᵀJ(Dφ) = J says the
/// same, for J² = −I. Difference quotients leave about 1e-9 of it.
///
/// # Errors
/// What the map returns near `x`.
pub fn poisson_defect(
    map: impl Fn(&DVector<f64>) -> Result<DVector<f64>, IntegrationError>,
    x: &DVector<f64>,
    structure: impl Fn(&DVector<f64>) -> DMatrix<f64>,
) -> Result<f64, IntegrationError> {
    let end = map(x)?;
    let jacobian = jacobian(map, x)?;
    Ok((&jacobian * structure(x) * jacobian.transpose() - structure(&end)).amax())
}

/// The same for the canonical structure.
///
/// # Errors
/// What the map returns near `x`.
pub fn symplectic_defect(
    map: impl Fn(&DVector<f64>) -> Result<DVector<f64>, IntegrationError>,
    x: &DVector<f64>,
) -> Result<f64, IntegrationError> {
    poisson_defect(map, x, |x| canonical(x.len() / 2))
}

/// The largest |ω(Dφ u, Dφ v) − ω(u, v)| over pairs of `directions` u, v, where ω is the canonical form: for a map that
/// is defined on a submanifold, `at` gives its points by parameters s, and the map and its parametrization are
/// differentiated together.
///
/// # Errors
/// What the map returns near the point of s = 0.
pub fn restricted_symplectic_defect(
    map: impl Fn(&DVector<f64>) -> Result<DVector<f64>, IntegrationError>,
    at: impl Fn(&DVector<f64>) -> DVector<f64>,
    parameters: usize,
) -> Result<f64, IntegrationError> {
    let zero = DVector::zeros(parameters);
    let before = differences(&zero, &at);
    let after = jacobian(|s| map(&at(s)), &zero)?;
    let form = canonical(before.nrows() / 2);
    Ok((after.transpose() * &form * after - before.transpose() * &form * before).amax())
}

/// The Jacobian of a map that may fail.
fn jacobian(
    map: impl Fn(&DVector<f64>) -> Result<DVector<f64>, IntegrationError>,
    x: &DVector<f64>,
) -> Result<DMatrix<f64>, IntegrationError> {
    let failed = Cell::new(None);
    let jacobian = differences(x, &|x: &DVector<f64>| {
        map(x).unwrap_or_else(|error| {
            failed.set(Some(error));
            x * f64::NAN
        })
    });
    failed.get().map_or(Ok(jacobian), Err)
}
