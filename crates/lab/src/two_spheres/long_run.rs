//! The figures of energy, momentum and constraints over time.

use super::contestants::Step;
use crate::figures::{line, over_time};
use crate::measure::{drift, largest};
use crate::stability_test::SIGNIFICANCE;
use lienav_eval::plot::Figure;
use lienav_integrate::IntegrationError;
use lienav_integrate::two_spheres::SphereSystem;
use lienav_lie::Ts2;

/// The step size of the long runs, s, and their length.
pub const STEP: f64 = 0.01;
pub const SPAN: f64 = 200.0;

/// What happened to what should stay, as (t, error) after each step that could be made.
pub struct LongRun {
    energy: Vec<(f64, f64)>,
    /// Of the component about the vertical.
    momentum: Vec<(f64, f64)>,
    /// ||q| − 1| of the first direction, as the text draws it.
    norm: Vec<(f64, f64)>,
    /// |q·ω| of the last one.
    orthogonality: Vec<(f64, f64)>,
    /// The largest ||q| − 1| and |q·ω| of all directions.
    largest_norm_error: f64,
    largest_orthogonality_error: f64,
    /// Why it ended before its time, if it did; then there are no numbers of it.
    pub failed: Option<IntegrationError>,
}

impl LongRun {
    pub fn new<const N: usize, S: SphereSystem<N>>(
        system: &S,
        start: &[Ts2; N],
        step: Step<N, S>,
        steps: usize,
    ) -> Self {
        let (energy, momentum) = (system.energy(start), system.angular_momentum(start).z);
        let empty = || Vec::with_capacity(steps);
        let mut run = Self {
            energy: empty(),
            momentum: empty(),
            norm: empty(),
            orthogonality: empty(),
            largest_norm_error: 0.0,
            largest_orthogonality_error: 0.0,
            failed: None,
        };
        let mut state = *start;
        for k in 0..steps {
            match step(system, &state, k as f64 * STEP, STEP) {
                Ok(next) => state = next,
                Err(error) => {
                    run.failed = Some(error);
                    break;
                }
            }
            let time = (k + 1) as f64 * STEP;
            run.energy.push((time, system.energy(&state) - energy));
            run.momentum.push((time, system.angular_momentum(&state).z - momentum));
            let (norm, orthogonality) =
                (state.map(|s| (s.q.norm() - 1.0).abs()), state.map(|s| s.q.dot(&s.omega).abs()));
            run.norm.extend(norm.first().map(|x| (time, *x)));
            run.orthogonality.extend(orthogonality.last().map(|x| (time, *x)));
            run.largest_norm_error = run.largest_norm_error.max(largest(norm));
            run.largest_orthogonality_error = run.largest_orthogonality_error.max(largest(orthogonality));
        }
        run
    }

    /// The drift of the energy per second; `None` of a run that ended before its time.
    pub fn slope(&self) -> Option<f64> {
        drift(&self.energy).map(|fit| fit.slope).filter(|_| self.failed.is_none())
    }

    /// Whether the regression of the energy on time stands out from its oscillation.
    pub fn drifts(&self) -> bool {
        drift(&self.energy).is_some_and(|fit| fit.slope.abs() > SIGNIFICANCE * fit.standard_error)
    }

    /// Whether q·ω is as good as rounding leaves it in this many steps.
    pub fn is_orthogonal(&self) -> bool {
        self.largest_orthogonality_error < 1e-11
    }

    pub fn values(&self, has_vertical_symmetry: bool) -> Vec<(&'static str, f64)> {
        let drift = drift(&self.energy);
        let mut values = vec![
            ("energy_error_max", largest(self.energy.iter().map(|p| p.1))),
            ("energy_drift_per_time", drift.map_or(f64::NAN, |fit| fit.slope)),
            ("energy_drift_standard_error", drift.map_or(f64::NAN, |fit| fit.standard_error)),
            ("constraint_error_max", self.largest_norm_error),
            ("orthogonality_error_max", self.largest_orthogonality_error),
        ];
        if has_vertical_symmetry {
            values.push(("momentum_error_max", largest(self.momentum.iter().map(|p| p.1))));
        }
        if self.failed.is_some() {
            values.iter_mut().for_each(|value| value.1 = f64::NAN);
        }
        values
    }
}

/// How many points of a run are drawn.
const DRAWN: usize = 2_000;

/// Energies of the methods of order 2 and of those of order 4 are drawn apart, for the drift of these is lost in the
/// oscillation of those.
pub fn figures(numbers: [&str; 3], has_vertical_symmetry: bool, runs: &[(&str, u32, LongRun)]) -> Vec<Figure> {
    type Of = fn(&LongRun) -> &[(f64, f64)];
    let [energy, constraints, _] = numbers;
    let draw = |file: &str, title: String, y_label: &str, y_log: bool, orders: &[u32], of: Of| {
        let shown = runs.iter().filter(|(_, order, _)| orders.contains(order));
        let lines = shown.map(|(name, _, run)| line(name, every(of(run)))).collect();
        over_time(&format!("figure-{file}"), &title, ("t [s]", y_label), y_log, lines)
    };
    let mut figures = Vec::new();
    for order in [2, 4] {
        let title = format!("Figure {energy}: error of the energy, methods of order {order}");
        let file = format!("{energy}-energy-order-{order}");
        figures.push(draw(&file, title, "E(t) − E(0) [J]", false, &[order], |r| &r.energy));
    }
    if has_vertical_symmetry {
        let title = format!("Figure {energy}: error of the angular momentum about the vertical");
        let file = format!("{energy}-momentum");
        figures.push(draw(&file, title, "J(t) − J(0) [kg m²/s]", false, &[2, 4], |r| &r.momentum));
    }
    let parts: [(&str, &str, &str, Of); 2] = [
        ("a", "norm of the first direction", "||q| − 1|", |r| &r.norm),
        ("b", "orthogonality of the last direction", "|q·ω| [1/s]", |r| &r.orthogonality),
    ];
    for (part, what, label, of) in parts {
        figures.push(draw(&format!("{constraints}-{part}"), title(constraints, part, what), label, true, &[2, 4], of));
    }
    figures
}

/// What stands above a part of one of the text's figures.
pub fn title(number: &str, part: &str, what: &str) -> String {
    format!("Figure {number} ({part}): {what}")
}

fn every(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let stride = points.len().div_ceil(DRAWN).max(1);
    points.iter().copied().step_by(stride).collect()
}
