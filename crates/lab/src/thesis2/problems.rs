//! The equations of this chapter with the initial values chosen for them.

use lienav_integrate::IntegrationError;
use lienav_integrate::dynamics::kdv::Kdv;
use lienav_integrate::dynamics::nls::Nls;
use lienav_integrate::dynamics::semilinear::PoissonError;
use nalgebra::Complex;
use std::f64::consts::PI;

/// ν of section 2.5.2.
const DISPERSION: f64 = 5e-4;

/// The nonlinear Schrödinger equation on `nodes` nodes, and ψ(x, 0) = 1/(2 + cos x): smooth, with Fourier coefficients
/// of all wave numbers.
pub(super) fn nls_problem(nodes: usize) -> Result<(Nls, Vec<f64>), IntegrationError> {
    let problem = Nls::new(nodes).map_err(no_problem)?;
    let start = problem.sample(|x| Complex::new(1.0 / (2.0 + x.cos()), 0.0));
    Ok((problem, start))
}

/// The equation of Korteweg and de Vries on `nodes` nodes, and u(x, 0) = sech²(5(x − π)), which breaks up into
/// solitons.
pub(super) fn kdv_problem(nodes: usize) -> Result<(Kdv, Vec<f64>), IntegrationError> {
    let problem = Kdv::new(nodes, DISPERSION).map_err(no_problem)?;
    let start = problem.sample(|x| (5.0 * (x - PI)).cosh().powi(-2));
    Ok((problem, start))
}

/// The problems of this chapter keep the laws; this is for a number of nodes of 0.
fn no_problem(_: PoissonError) -> IntegrationError {
    IntegrationError::NotFinite { time: 0.0, step: 0.0 }
}
