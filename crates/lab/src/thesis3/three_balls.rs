//! Section 3.6: the body of three balls; figures 3.2 to 3.5 and table 3.1.

use super::measured::{Measured, Sample, System, order_figure};
use crate::figures::{line, marked, over_time, plain, plane};
use crate::report::{Experiment, Extent, Progress, Table};
use crate::text::number;
use lienav_eval::plot::{Figure, Line};
use lienav_integrate::dynamics::three_balls::ThreeBalls;
use lienav_integrate::{FloatingBodyState, IntegrationError};

pub(super) fn experiment(extent: Extent, progress: Progress<'_>) -> Result<Experiment, IntegrationError> {
    let system = System {
        body: ThreeBalls::default(),
        initial: ThreeBalls::initial_state(),
        h: 0.01,
        steps: 100_000,
        conserved: FloatingBodyState::angular_momentum_world,
    };
    let measured = Measured::of(&system, extent, progress)?;
    let mut figures = Vec::new();
    if let Some(quaternion) = named(&measured, LGVI) {
        figures.extend([trajectory(quaternion), motion(quaternion, &system.body)]);
        figures.extend(errors("3.3", "quaternion integrator", quaternion));
    }
    if let Some(rattle) = named(&measured, RATTLE) {
        figures.extend(errors("3.4", "RATTLE", rattle));
    }
    figures.extend([cost_figure(&measured), order_figure("figure-orders-three-balls", "three balls", &measured)]);
    let mut experiment = Experiment {
        name: "three-balls".to_owned(),
        about: "Shen 2019, section 3.6: three balls of unit mass and radius 0.1 on massless rods (corners of an \
                isosceles triangle of base and height 1; the text's lengths are lost with its figure 3.1), each in \
                −1/r. x₀ = (8, 0, 0), q₀ = 1, p₀ = (0, 1, 0), w₀ = (1, 2, 3); h = 0.01, T = 1000. Orders at t = 5."
            .to_owned(),
        tables: vec![table_3_1(&measured)],
        figures,
        ..Experiment::default()
    };
    Measured::report(&measured, &mut experiment);
    Ok(experiment)
}

const LGVI: &str = "quaternion (3.23), by (3.26)";
const RATTLE: &str = "RATTLE (3.28)";

fn named<'a>(measured: &'a [Measured], name: &str) -> Option<&'a Measured> {
    measured.iter().find(|m| m.name == name)
}

/// The three methods of the table, with the seconds that the text prints. It does not say how SHAKE's equations were
/// solved.
const PRINTED_S: [(&str, f64); 4] =
    [(LGVI, 7.46), ("Störmer–Verlet, Cayley", 7.20), ("SHAKE, |q| = 1", 11.00), ("SHAKE, |q| = 1, by Newton", 11.00)];

fn table_3_1(measured: &[Measured]) -> Table {
    let base = named(measured, LGVI).map_or(f64::NAN, |m| m.step_ns);
    let rows = PRINTED_S.iter().map(|(name, seconds)| {
        let step_ns = named(measured, name).map_or(f64::NAN, |m| m.step_ns);
        let cells = [*seconds, seconds / PRINTED_S[0].1, step_ns * 1000.0 * 1e-9, step_ns / base];
        std::iter::once((*name).to_owned()).chain(cells.map(number)).collect()
    });
    Table {
        title: "Table 3.1: run time of 1000 steps, and in multiples of the quaternion integrator's".to_owned(),
        columns: ["method", "text, s", "text, ratio", "ours, s", "ours, ratio"].map(str::to_owned).into(),
        rows: rows.collect(),
    }
}

/// How many points of a run are drawn.
const DRAWN: usize = 4_000;

fn drawn(samples: &[Sample], value: impl Fn(&Sample) -> f64) -> Vec<(f64, f64)> {
    samples.iter().step_by(samples.len().div_ceil(DRAWN).max(1)).map(|sample| (sample.time, value(sample))).collect()
}

fn trajectory(of: &Measured) -> Figure {
    let points = of.samples.iter().step_by(10).map(|sample| (sample.state.position.x, sample.state.position.y));
    plane(
        "figure-3.2a",
        "Figure 3.2 (a): trajectory of the centre of mass",
        ("x", "y"),
        vec![line("centre of mass", points.collect()), marked("origin", vec![(0.0, 0.0)])],
    )
}

/// How often the body is drawn on its way around.
const TRIANGLES: usize = 12;

/// The triangle at times evenly spaced over the first revolution about the origin.
fn motion(of: &Measured, body: &ThreeBalls) -> Figure {
    let angle = |sample: &Sample| sample.state.position.y.atan2(sample.state.position.x);
    let past_half = of.samples.iter().position(|sample| angle(sample) < 0.0).unwrap_or(of.samples.len());
    let orbit = of.samples[past_half..]
        .iter()
        .position(|sample| angle(sample) >= 0.0)
        .map_or(of.samples.len(), |k| past_half + k);
    let triangles = (0..TRIANGLES).filter_map(|k| of.samples.get(k * orbit / TRIANGLES)).map(|sample| {
        let mut corners: Vec<_> = body.balls(&sample.state).iter().map(|ball| (ball.x, ball.y)).collect();
        corners.push(corners[0]);
        marked(&format!("t = {:.0}", sample.time), corners)
    });
    plane("figure-3.2b", "Figure 3.2 (b): motion of the body over one orbit", ("x", "y"), triangles.collect())
}

fn errors(number: &str, method: &str, of: &Measured) -> [Figure; 3] {
    let draw = |part: &str, what: &str, y_label: &str, lines: Vec<Line>| {
        let title = format!("Figure {number} ({part}): error of the {what}, {method}");
        over_time(&format!("figure-{number}{part}"), &title, ("t", y_label), false, lines)
    };
    let component = |name: &str, index: usize| line(name, drawn(&of.samples, |sample| sample.momentum_error[index]));
    let energy = vec![line("H − H(0)", drawn(&of.samples, |sample| sample.energy_error))];
    let constraint = vec![line("constraint", drawn(&of.samples, |sample| sample.constraint_error))];
    let momentum = vec![component("x", 0), component("y", 1), component("z", 2)];
    [
        draw("a", "energy", "H − H(0)", energy),
        draw("b", "constraint", "defect of unit norm or orthogonality", constraint),
        draw("c", "angular momentum", "π − π(0), components", momentum),
    ]
}

fn cost_figure(measured: &[Measured]) -> Figure {
    let lines = measured.iter().map(|m| marked(m.name, m.costs.clone()));
    Figure {
        x_log: true,
        y_log: true,
        ..plain(
            "figure-3.5",
            "Figure 3.5: error at t = 5 against run time",
            ("run time, s", "error of the state"),
            lines.collect(),
        )
    }
}
