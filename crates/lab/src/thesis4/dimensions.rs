//! The same methods on free bodies of four and five dimensions.

use super::reduced::{ERRORS, reduced_step_ns};
use crate::figures::{marked, of_errors};
use crate::measure::{drift, largest, order_observed};
use crate::polar_so_n::motions::counts;
use crate::{Experiment, Extent, MethodResult};
use lienav_integrate::dynamics::FreeBodyN;
use lienav_integrate::polar::{PolarHamiltonian, PolarState, PolarVariational};
use lienav_integrate::tableau::{GAUSS4, GAUSS6, IMPLICIT_MIDPOINT, KUTTA3};
use lienav_integrate::{IntegrationError, Tableau};
use lienav_lie::{LieGroup, Rotation};
use nalgebra::{DMatrix, SMatrix};

pub(super) fn four(extent: Extent) -> Result<Experiment, IntegrationError> {
    in_dimensions::<4>(extent)
}

pub(super) fn five(extent: Extent) -> Result<Experiment, IntegrationError> {
    in_dimensions::<5>(extent)
}

/// Λ = diag(1, 2, …), momenta between −0.5 and 0.5 without symmetry.
fn body_in<const N: usize>() -> (FreeBodyN, PolarState<SMatrix<f64, N, N>>) {
    let momentum = SMatrix::from_fn(|i, j| {
        let entry = |i: usize, j: usize| 0.5 * ((3 * i + 5 * j + i * j) as f64).sin();
        match i.cmp(&j) {
            std::cmp::Ordering::Greater => entry(i, j),
            std::cmp::Ordering::Equal => 0.0,
            std::cmp::Ordering::Less => -entry(j, i),
        }
    });
    let distribution = (1..=N).map(|i| i as f64).collect();
    (FreeBodyN { distribution }, PolarState { attitude: SMatrix::identity(), momentum })
}

/// The same method in other dimensions; the text gives it for any n and shows n = 3.
fn in_dimensions<const N: usize>(extent: Extent) -> Result<Experiment, IntegrationError> {
    let (body, start) = body_in::<N>();
    let steps = if extent == Extent::Full { 20_000 } else { 100 };
    let mut experiment = Experiment {
        name: format!("free-body-so{N}"),
        about: format!(
            "Free body in {N} dimensions (Manakov), not in the text: M = ΛΩ + ΩΛ, Λ = diag(1, …, {N}), g(0) = I. Orders \
             of the error of attitude and momentum at t = 5 (4.26); energy, orthogonality and spatial momentum over \
             {steps} steps of h = 0.2; step_ns of the reduced step (4.27) with n known to the compiler, \
             step_dynamic_ns at run time."
        ),
        ..Experiment::default()
    };
    let (end, finest) = (5.0, 2000);
    let (reference, _) = run_body(&GAUSS6, &body, &start, end / f64::from(finest), finest as usize, |_| ())?;
    let doublings = if extent == Extent::Full { 8 } else { 5 };
    let at = (end, doublings);
    let measured = [
        body_method(&IMPLICIT_MIDPOINT, &body, &start, at, &reference, steps),
        body_method(&KUTTA3, &body, &start, at, &reference, steps),
        body_method(&GAUSS4, &body, &start, at, &reference, steps),
        body_method(&GAUSS6, &body, &start, at, &reference, steps),
    ];
    let mut lines = Vec::new();
    for OfMethod { order, values, errors, failed } in measured {
        experiment.note(&values.name, "long run", failed);
        lines.push((order, marked(&values.name, errors)));
        experiment.methods.push(values);
    }
    let title = format!("Free body in {N} dimensions: error at t = 5");
    experiment.figures = vec![of_errors(&format!("free-body-so{N}"), &title, ERRORS, lines)];
    Ok(experiment)
}

type State<const N: usize> = PolarState<SMatrix<f64, N, N>>;

fn run_body<const N: usize, const S: usize>(
    tableau: &Tableau<S>,
    body: &FreeBodyN,
    start: &State<N>,
    h: f64,
    steps: usize,
    mut observe: impl FnMut(&State<N>),
) -> Result<(State<N>, f64), IntegrationError> {
    let mut state = *start;
    // The weights of the four tableaux do not vanish.
    let Some(mut method) = PolarVariational::new(tableau, &start.attitude) else { return Ok((state, f64::NAN)) };
    let mut iterations = 0;
    for k in 0..steps {
        iterations += method.step(body, &mut state, k as f64 * h, h)?;
        observe(&state);
    }
    Ok((state, iterations as f64 / steps as f64))
}

struct OfMethod {
    order: usize,
    values: MethodResult,
    /// Over step sizes.
    errors: Vec<(f64, f64)>,
    /// Why the long run ended before its time, if it did; then `values` has no numbers of it.
    failed: Option<IntegrationError>,
}

fn body_method<const N: usize, const S: usize>(
    tableau: &Tableau<S>,
    body: &FreeBodyN,
    start: &State<N>,
    (end, doublings): (f64, u32),
    reference: &State<N>,
    steps: usize,
) -> OfMethod {
    let distance =
        |state: State<N>| (state.attitude - reference.attitude).norm() + (state.momentum - reference.momentum).norm();
    let errors: Vec<_> = counts(8, doublings, tableau.order)
        .into_iter()
        .map(|count| {
            let h = end / count as f64;
            (h, run_body(tableau, body, start, h, count, |_| ()).map_or(f64::NAN, |(state, _)| distance(state)))
        })
        .collect();
    let energy = |state: &State<N>| body.energy(&state.attitude, &state.momentum);
    let (h, before) = (0.2, energy(start));
    let (mut energies, mut orthogonality, mut momentum) = (Vec::new(), 0.0f64, 0.0f64);
    let long = run_body(tableau, body, start, h, steps, |state| {
        let turn = Rotation::from_matrix_unchecked(state.attitude);
        energies.push(((energies.len() + 1) as f64 * h, energy(state) - before));
        orthogonality = orthogonality.max(turn.orthogonality_error());
        momentum = momentum.max((turn.adjoint_apply(&state.momentum) - start.momentum).norm());
    });
    let of_whole = |x: f64| if long.is_ok() { x } else { f64::NAN };
    let trend = drift(&energies);
    let dynamic = DMatrix::from_column_slice(N, N, start.momentum.as_slice());
    let values = vec![
        ("order_expected", tableau.order as f64),
        ("order_observed", order_observed(&errors)),
        ("energy_error_max", of_whole(largest(energies.iter().map(|point| point.1)))),
        ("energy_drift_per_time", of_whole(trend.map_or(f64::NAN, |fit| fit.slope))),
        ("energy_drift_standard_error", of_whole(trend.map_or(f64::NAN, |fit| fit.standard_error))),
        ("constraint_error_max", of_whole(orthogonality)),
        ("momentum_error_max", of_whole(momentum)),
        ("iterations_mean", long.as_ref().map_or(f64::NAN, |(_, iterations)| *iterations)),
        ("step_ns", reduced_step_ns(tableau, body, &start.momentum, h)),
        ("step_dynamic_ns", reduced_step_ns(tableau, body, &dynamic, h)),
    ];
    let values = MethodResult { name: format!("VPD {}", tableau.order), values };
    OfMethod { order: tableau.order, values, errors, failed: long.err() }
}
