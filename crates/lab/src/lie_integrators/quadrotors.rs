//! Section 6.2: two quadrotors carry a payload along a parabola (figures 13 to 18).

use super::runs::{Convergence, advance, all, convergence_figure, doublings, time_figure};
use crate::figures::plane;
use crate::measure::largest;
use crate::{Experiment, Extent, Line, MethodResult};
use lienav_integrate::IntegrationError;
use lienav_integrate::dynamics::quadrotors::{Control, Parabola, Quadrotors, State, Vehicle};
use lienav_integrate::rkmk::{RKMK4, RKMK54};
use lienav_lie::{So3, Translation, Ts2};
use nalgebra::{Vector3, Vector6};

const ABOUT: &str = "Two quadrotors and a point mass, attitudes without moments as in section 6.2. The text gives no \
                     numbers: m_y = 0.5, mᵢ = 0.755, Jᵢ = diag(0.0820, 0.0845, 0.1377), Lᵢ = 1, g = 9.81; y_d = (t, \
                     0.5t, −2t + 0.4t²), the third axis down; links 0.5 rad to both sides of the force; gains 4 and 3 \
                     for the load, 60 and 12 for the links; y(0) = (0.3, −0.2, 0.1), v(0) = 0, links 0.3 to 0.5 rad \
                     off their directions, Ω = (2, ±3, −1.5)";

/// Where orders are taken: while the links still turn to their directions, so that their errors have not decayed.
const ORDER_END: f64 = 0.4;

fn system() -> Quadrotors {
    let vehicle = Vehicle { mass: 0.755, moments: Vector3::new(0.0820, 0.0845, 0.1377), link: 1.0 };
    let path = Parabola {
        start: Vector3::zeros(),
        velocity: Vector3::new(1.0, 0.5, -2.0),
        acceleration: Vector3::new(0.0, 0.0, 0.8),
    };
    let control = Control { path, spread: 0.5, across: Vector3::y(), load_gains: (4.0, 3.0), link_gains: (60.0, 12.0) };
    Quadrotors { load_mass: 0.5, vehicles: [vehicle; 2], gravity: 9.81, control: Some(control) }
}

fn start() -> State {
    let body = |spin: f64| (So3::identity(), Translation(Vector3::new(2.0, spin, -1.5)));
    let link = |x: f64, y: f64| Ts2 { q: Vector3::new(x, y, 1.0).normalize(), omega: Vector3::zeros() };
    let load = Translation(Vector6::new(0.3, -0.2, 0.1, 0.0, 0.0, 0.0));
    (load, ([body(3.0), body(-3.0)], [link(0.1, 0.2), link(-0.1, 0.3)]))
}

/// Figure 13.
pub(super) fn convergence(extent: Extent) -> Result<Experiment, IntegrationError> {
    let (system, start) = (system(), start());
    let reference = advance(&RKMK54, &system, &start, ORDER_END, 4_000, |_, _| ())?;
    let steps = doublings(5, if extent == Extent::Full { 11 } else { 9 });
    let test = Convergence { field: &system, start: &start, end: ORDER_END, reference: &reference, steps: &steps };
    let (methods, lines) = test.of(&all());
    Ok(Experiment {
        name: "quadrotors".into(),
        about: format!(
            "{ABOUT}. On R⁶ × (SO(3) × R³)² × (TS²)². Orders at t = {ORDER_END} against RKMK 5(4) with 4000 steps (the \
             text: four RKMK methods against ODE45)."
        ),
        methods,
        figures: vec![convergence_figure("figure-13", "Two quadrotors: error at the end (figure 13)", lines)],
        ..Experiment::default()
    })
}

/// Figures 14 to 18.
pub(super) fn tracking(extent: Extent) -> Result<Experiment, IntegrationError> {
    let (system, start) = (system(), start());
    let (end, steps) = if extent == Extent::Full { (15.0, 3_000) } else { (5.0, 1_000) };
    let mut states = vec![(0.0, start)];
    advance(&RKMK4, &system, &start, end, steps, |t, y| states.push((t, *y)))?;
    let Some(path) = system.control.map(|control| control.path) else { return Ok(Experiment::default()) };
    let load = |state: &State| state.0.0.fixed_rows::<3>(0).into_owned();
    let line = |name: &str, value: &dyn Fn(f64, &State) -> f64| Line {
        name: name.into(),
        points: states.iter().map(|(t, state)| (*t, value(*t, state))).collect(),
        ..Line::default()
    };
    let mut components = Vec::new();
    for (k, axis) in ["x", "y", "z"].into_iter().enumerate() {
        components.push(line(&format!("load {axis}"), &|_, state| load(state)[k]));
        components.push(Line { is_guide: true, ..line(&format!("desired {axis}"), &|t, _| path.at(t).0[k]) });
    }
    let deviation = line("|y − y_d|", &|t, state| (load(state) - path.at(t).0).norm());
    let directions: Vec<_> =
        (0..2).map(|i| line(&format!("link {}", i + 1), &|t, state| system.direction_errors(t, state)[i])).collect();
    let norms: Vec<_> =
        (0..2).map(|i| line(&format!("link {}", i + 1), &|_, state| (state.1.1[i].q.norm() - 1.0).abs())).collect();
    let last = |line: &Line| line.points.last().map_or(f64::NAN, |point| point.1);
    let constraint = states.iter().flat_map(|(_, state)| state.1.1.iter().map(Ts2::constraint_error));
    let orthogonality = states.iter().flat_map(|(_, state)| state.1.0.iter().map(|body| body.0.orthogonality_error()));
    let values = vec![
        ("position_error_final", last(&deviation)),
        ("direction_error_final_rad", largest(directions.iter().map(last))),
        ("norm_error_max", largest(norms.iter().flat_map(|line| line.points.iter().map(|point| point.1)))),
        ("constraint_error_max", largest(constraint)),
        ("orthogonality_error_max", largest(orthogonality)),
    ];
    Ok(Experiment {
        name: "quadrotors-tracking".into(),
        about: format!("{ABOUT}. RKMK 4 over [0, {end}] in {steps} steps (figures 14-18)."),
        methods: vec![MethodResult { name: "RKMK RK 4".into(), values }],
        figures: vec![
            snapshots(&system, &states),
            time_figure("figure-15", "Load and desired path (figure 15)", "m", false, components),
            time_figure("figure-16", "Deviation of the load (figure 16)", "m", true, vec![deviation]),
            time_figure(
                "figure-17",
                "Directions of the links (figure 17)",
                "angle to the desired one, rad",
                true,
                directions,
            ),
            time_figure("figure-18", "Norms of the directions (figure 18)", "| |q| − 1 |", true, norms),
        ],
        ..Experiment::default()
    })
}

/// Quadrotor, load, quadrotor at each half second of the first five, from the side, up being up.
fn snapshots(system: &Quadrotors, states: &[(f64, State)]) -> crate::Figure {
    let per_second = states.iter().filter(|(t, _)| *t < 1.0).count();
    let shown = states.iter().take_while(|(t, _)| *t <= 5.0).step_by((per_second / 2).max(1));
    let lines = shown.map(|(t, (load, (_, links)))| {
        let y = load.0.fixed_rows::<3>(0).into_owned();
        let vehicle = |i: usize| y - links[i].q * system.vehicles[i].link;
        let points = [vehicle(0), y, vehicle(1)].map(|point: Vector3<f64>| (point.x, -point.z)).into();
        Line { name: format!("t = {t:.1}"), points, marked: true, ..Line::default() }
    });
    let axes = ("x, m", "height, m");
    plane("figure-14", "Both quadrotors and the load (figure 14)", axes, lines.collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use lienav_lie::HomogeneousSpace;

    #[test]
    fn the_start_is_on_the_manifold_and_not_on_the_path() {
        let start = start();
        assert!(start.1.1.iter().all(|link| link.constraint_error() < 1e-15));
        assert!(system().direction_errors(0.0, &start).iter().all(|error| (0.1..1.0).contains(error)));
        assert!(start.distance(&start) == 0.0);
    }
}
