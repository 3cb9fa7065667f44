//! Figures 3.1 and 3.2: the potential over the ball of rotation vectors, cut through its middle.

use crate::figures::{line, plane};
use crate::report::Experiment;
use lienav_eval::plot::{Figure, Line};
use lienav_integrate::RigidBody;
use lienav_integrate::dynamics::StabilityBody;
use lienav_lie::{LieGroup, So3};
use nalgebra::Vector3;
use std::f64::consts::PI;

/// Levels that are drawn.
const LEVELS: [f64; 8] = [-0.4, -0.2, 0.05, 0.2, 0.4, 0.8, 1.6, 3.0];

/// Cells of the grid, from side to side of the ball.
const CELLS: i32 = 240;

/// The two directions from which the text looks, and the axes that are seen then: right and up.
const VIEWS: [(&str, [usize; 2], &str); 2] = [("z", [0, 1], "y"), ("y", [0, 2], "z")];

pub(super) fn experiment() -> Experiment {
    let mut experiment = Experiment {
        name: "potential".to_owned(),
        about:
            "Ortolan 2011, figures 3.1 and 3.2: U_α of (3.2), α = 0 and 0.3, over rotation vectors of length up to π, \
                as levels in the planes across the two directions from which the text looks (its figures are shaded \
                bodies)."
                .to_owned(),
        ..Experiment::default()
    };
    for (number, attraction) in [("3.1", 0.0), ("3.2", 0.3)] {
        for (axis, plane_axes, up) in VIEWS {
            experiment.figures.push(levels(number, attraction, axis, plane_axes, up));
        }
    }
    experiment
}

fn levels(number: &str, attraction: f64, axis: &str, [right, above]: [usize; 2], up: &str) -> Figure {
    let body = StabilityBody { attraction, ..StabilityBody::default() };
    let potential = |x: f64, y: f64| {
        let mut v = Vector3::zeros();
        (v[right], v[above]) = (x, y);
        if v.norm() <= PI { body.potential(&So3::exp(&v)) } else { f64::NAN }
    };
    let lines = LEVELS.iter().filter_map(|level| {
        let points = points_of_level(potential, *level);
        let named = line(&format!("U = {level}"), points);
        (!named.points.is_empty()).then_some(Line { is_scattered: true, ..named })
    });
    let rim = (0..=360).map(|k| (PI * f64::from(k).to_radians().cos(), PI * f64::from(k).to_radians().sin()));
    let lines = lines.chain([line("|v| = π", rim.collect())]).collect();
    let title = format!("Figure {number}: levels of U, α = {attraction}, seen along {axis}");
    plane(&format!("figure-{number}-along-{axis}"), &title, ("x of the rotation vector", up), lines)
}

/// Points where the function takes a value: on the edges of a grid, by linear interpolation.
fn points_of_level(f: impl Fn(f64, f64) -> f64, level: f64) -> Vec<(f64, f64)> {
    let at = |i: i32| PI * f64::from(2 * i - CELLS) / f64::from(CELLS);
    let mut points = Vec::new();
    let mut add = |a: (f64, f64), b: (f64, f64)| {
        let (below, above) = (f(a.0, a.1) - level, f(b.0, b.1) - level);
        if below * above < 0.0 {
            let s = below / (below - above);
            points.push((a.0 + s * (b.0 - a.0), a.1 + s * (b.1 - a.1)));
        }
    };
    for (i, j) in (0..CELLS).flat_map(|i| (0..CELLS).map(move |j| (i, j))) {
        add((at(i), at(j)), (at(i + 1), at(j)));
        add((at(i), at(j)), (at(i), at(j + 1)));
    }
    points
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_the_attractor_levels_are_circles_and_with_it_they_are_not() {
        let experiment = experiment();
        assert_eq!(experiment.figures.len(), 4);
        let spread = |figure: &Figure| {
            let line = figure.lines.iter().find(|line| line.name == "U = 0.4").unwrap();
            // Two circles: U falls to the shell and rises beyond it.
            let outer = line.points.iter().map(|p| p.0.hypot(p.1)).filter(|r| *r > 0.8);
            let (low, high) = outer.fold((f64::INFINITY, 0.0_f64), |(low, high), r| (low.min(r), high.max(r)));
            high - low
        };
        assert!(spread(&experiment.figures[0]) < 2e-3 && spread(&experiment.figures[1]) < 2e-3);
        assert!(spread(&experiment.figures[3]) > 0.05, "{}", spread(&experiment.figures[3]));
    }
}
