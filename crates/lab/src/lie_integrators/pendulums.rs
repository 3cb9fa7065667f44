//! Section 5.3 on two pendulums: orders (figure 5) and the preservation of TS² (figures 6 and 7).

use super::runs::{Convergence, advance, all, convergence_figure, doublings, time_figure};
use crate::measure::largest;
use crate::{Experiment, Extent, Line, MethodResult};
use lienav_integrate::adaptive::{StepControl, integrate};
use lienav_integrate::dynamics::pendulum_chain::{PendulumChain, flatten, unflatten};
use lienav_integrate::rkmk::{RKMK4, RKMK54};
use lienav_integrate::{IntegrationError, VectorField};
use lienav_lie::Ts2;
use nalgebra::Vector3;

/// The chain of `N` links of length 1 and its start, without allocation.
pub(super) fn unit_chain<const N: usize>() -> Option<(PendulumChain, [Ts2; N])> {
    let chain = PendulumChain::of_equal_links(N, 1.0).ok()?;
    let start = chain.start_of_celledoni().try_into().ok()?;
    Some((chain, start))
}

/// The start of the runs that the text gives no initial data for: the first pendulum as in figure 8, the second one so
/// that the motion is not in a plane.
fn start_in_space() -> [Ts2; 2] {
    let half = std::f64::consts::FRAC_1_SQRT_2;
    [
        Ts2 { q: Vector3::new(half, 0.0, half), omega: Vector3::y() },
        Ts2 { q: Vector3::new(0.0, 0.6, 0.8), omega: Vector3::new(1.0, -0.8, 0.6) },
    ]
}

/// The solution at `end` as the text has its reference, by the pair 5(4) in the vector space around TS², with this
/// tolerance.
pub(super) fn classical(
    chain: &PendulumChain,
    start: &[Ts2],
    end: f64,
    tolerance: f64,
    mut observe: impl FnMut(f64, f64, &[Ts2]),
) -> Result<Vec<Ts2>, IntegrationError> {
    let control = StepControl::new(tolerance);
    let (y, _) =
        integrate(&RKMK54, chain, &flatten(start), (0.0, end), 0.01, &control, |t, h, y| observe(t, h, &unflatten(y)))?;
    Ok(unflatten(&y))
}

/// Figure 5.
pub(super) fn convergence(extent: Extent) -> Result<Experiment, IntegrationError> {
    let mut experiment = Experiment {
        name: "double-pendulum".into(),
        about:
            "Two pendulums of mass 1 and length 1, g = 9.81, on (TS²)² by SE(3)². For figures 5-7 the text gives no \
                initial data, and those of figure 8 would stay in a plane: q₁ = (√2/2, 0, √2/2), ω₁ = (0, 1, 0), q₂ = \
                (0, 0.6, 0.8), ω₂ = (1, −0.8, 0.6). Orders at t = 1 against the pair 5(4) of Dormand \
                and Prince in R¹² with tolerance 1e-13 (the text: ODE45)."
                .into(),
        ..Experiment::default()
    };
    let Some((chain, _)) = unit_chain::<2>() else { return Ok(experiment) };
    let start = start_in_space();
    let reference = classical(&chain, &start, 1.0, 1e-13, |_, _, _| ())?;
    let reference = std::array::from_fn(|i| reference[i]);
    let steps = doublings(20, if extent == Extent::Full { 10 } else { 8 });
    let test = Convergence { field: &chain, start: &start, end: 1.0, reference: &reference, steps: &steps };
    let (results, lines) = test.of(&all());
    experiment.methods = results;
    experiment.figures = vec![convergence_figure("figure-5", "Two pendulums: error at t = 1 (figure 5)", lines)];
    Ok(experiment)
}

/// Figures 6 and 7.
pub(super) fn constraints(extent: Extent) -> Result<Experiment, IntegrationError> {
    let (end, steps) = if extent == Extent::Full { (5.0, 1000) } else { (1.0, 200) };
    let mut experiment = Experiment {
        name: "double-pendulum-constraints".into(),
        about: format!(
            "The same over [0, {end}], {steps} steps: the largest |1 − qᵢᵀqᵢ| (figure 6) and |qᵢᵀωᵢ| (figure 7; the \
             text has 1e-14 to 1e-15 for the Lie group methods). Classical methods work in R¹²; ODE45 stands for the \
             pair 5(4) of Dormand and Prince with tolerance 1e-6."
        ),
        ..Experiment::default()
    };
    let Some((chain, _)) = unit_chain::<2>() else { return Ok(experiment) };
    let start = start_in_space();
    let (mut lengths, mut tangents) = (Vec::new(), Vec::new());
    let energy = chain.energy(&start);
    let mut record = |name: String, trace: Vec<(f64, f64, f64, f64)>, failed: Option<IntegrationError>| {
        let line = |points| Line { name: name.clone(), points, ..Line::default() };
        let of_whole = |x: f64| if failed.is_none() { x } else { f64::NAN };
        lengths.push(line(trace.iter().map(|at| (at.0, at.1)).collect()));
        tangents.push(line(trace.iter().map(|at| (at.0, at.2)).collect()));
        experiment.methods.push(MethodResult {
            name: name.clone(),
            values: vec![
                ("length_error_max", of_whole(largest(trace.iter().map(|at| at.1)))),
                ("tangency_error_max", of_whole(largest(trace.iter().map(|at| at.2)))),
                ("energy_error_max", of_whole(largest(trace.iter().map(|at| at.3)))),
            ],
        });
        experiment.note(&name, "steps of one size", failed);
    };
    let at = |t: f64, state: &[Ts2]| {
        let length = largest(state.iter().map(|rod| 1.0 - rod.q.norm_squared()));
        (t, length, largest(state.iter().map(|rod| rod.q.dot(&rod.omega))), chain.energy(state) - energy)
    };
    for method in all::<[Ts2; 2], PendulumChain>() {
        let mut trace = Vec::new();
        let run = advance(&*method, &chain, &start, end, steps, |t, y| trace.push(at(t, y)));
        record(method.name(), trace, run.err());
    }
    let mut trace = Vec::new();
    let run = advance(&RKMK4, &chain, &flatten(&start), end, steps, |t, y| trace.push(at(t, &unflatten(y))));
    record("classical RK 4".into(), trace, run.err());
    let mut trace = Vec::new();
    let run = classical(&chain, &start, end, 1e-6, |t, _, y| trace.push(at(t, y)));
    record("ODE45".into(), trace, run.err());
    experiment.figures = vec![
        time_figure("figure-6", "Two pendulums: the spheres (figure 6)", "largest |1 − qᵢᵀqᵢ|", true, lengths),
        time_figure("figure-7", "Two pendulums: the tangent spaces (figure 7)", "largest |qᵢᵀωᵢ|", true, tangents),
    ];
    Ok(experiment)
}

/// ω̇ of the second components, as figure 11 (c) draws them.
pub(super) fn second_angular_accelerations(chain: &PendulumChain, state: &[Ts2]) -> Vec<f64> {
    let twists = VectorField::<Vec<Ts2>>::generator(chain, 0.0, &state.to_vec());
    // The twist is q × ω̇ with ω̇ ⊥ q, so ω̇ = (q × ω̇) × q.
    twists.iter().zip(state).map(|(twist, rod)| twist.fixed_rows::<3>(3).cross(&rod.q).y).collect()
}
