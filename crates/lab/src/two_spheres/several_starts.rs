//! The double pendulum is chaotic: the drift of one run says little. The same from several initial states.

use super::contestants::contestants;
use super::long_run::LongRun;
use crate::measure::mean_and_interval;
use crate::report::{Experiment, Extent, MethodResult, Progress, Table};
use crate::text::number;
use lienav_integrate::IntegrationError;
use lienav_integrate::dynamics::DoubleSphericalPendulum;
use lienav_lie::Ts2;
use nalgebra::Vector3;

const STARTS: usize = 8;

/// The text's state, and others near it.
fn starts() -> [[Ts2; 2]; STARTS] {
    std::array::from_fn(|k| {
        let mut state = DoubleSphericalPendulum::initial_state();
        if k == 0 {
            return state;
        }
        for (i, rod) in state.iter_mut().enumerate() {
            let small = |j: usize| 0.02 * ((12.9898 * (k * 13 + 6 * i + j) as f64).sin() * 43_758.545).fract();
            let q = (rod.q + Vector3::new(small(1), small(2), small(3))).normalize();
            let omega = rod.omega + Vector3::new(small(4), small(5), small(6));
            *rod = Ts2 { q, omega: omega - q * q.dot(&omega) };
        }
        state
    })
}

pub(super) fn experiment(extent: Extent, progress: Progress<'_>) -> Result<Experiment, IntegrationError> {
    let system = DoubleSphericalPendulum::new([2.0, 1.0], [1.0, 1.0], 9.81);
    let steps = if extent == Extent::Full { 20_000 } else { 500 };
    let mut experiment = Experiment {
        name: "double-pendulum-several-starts".into(),
        about: format!(
            "Not in the text: the long run of the double spherical pendulum (figure 7.4) from {STARTS} initial states, \
             the text's and seven within 0.02 of it; {steps} steps of h = 0.01. The motion is chaotic, so that two machines, \
             or two roundings, disagree on a run: counted are drifts beyond five standard errors, and the mean slope has a \
             95 % interval (Student's t)."
        ),
        ..Experiment::default()
    };
    let mut rows = Vec::new();
    let all = contestants::<2, DoubleSphericalPendulum>();
    for (index, contestant) in all.iter().enumerate() {
        let runs: Vec<LongRun> =
            starts().iter().map(|start| LongRun::new(&system, start, contestant.step, steps)).collect();
        let slopes: Vec<f64> = runs.iter().filter_map(LongRun::slope).collect();
        let drifting: Vec<f64> = runs.iter().filter(|run| run.drifts()).filter_map(LongRun::slope).collect();
        let (falls, rises) =
            (drifting.iter().filter(|s| **s < 0.0).count(), drifting.iter().filter(|s| **s > 0.0).count());
        let (mean, half) = mean_and_interval(&slopes).unwrap_or((f64::NAN, f64::NAN));
        let verdict = match () {
            () if mean.abs() <= half && falls + rises == 0 => "no drift",
            () if mean.abs() <= half => "of either sign",
            () if mean < 0.0 => "falls",
            () => "rises",
        };
        let values = vec![
            ("starts", runs.len() as f64),
            ("falls", falls as f64),
            ("rises", rises as f64),
            ("drift_mean", mean),
            ("drift_half_width", half),
        ];
        experiment.methods.push(MethodResult { name: contestant.name.to_owned(), values });
        let cells = [falls.to_string(), rises.to_string(), number(mean), number(half), verdict.to_owned()];
        rows.push(std::iter::once(contestant.name.to_owned()).chain(cells).collect());
        progress((index + 1) as f64 / all.len() as f64);
    }
    let columns = ["method", "falls", "rises", "mean drift, J/s", "± 95 %", "verdict"];
    let title = format!("Energy of the double pendulum from {STARTS} initial states");
    experiment.tables.push(Table { title, columns: columns.map(str::to_owned).into(), rows });
    Ok(experiment)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn starts_are_on_the_tangent_bundle_near_the_texts() {
        let text = DoubleSphericalPendulum::initial_state();
        for state in starts() {
            for (rod, near) in state.iter().zip(&text) {
                assert!(rod.constraint_error() < 1e-14 && (rod.omega - near.omega).norm() < 0.1);
            }
        }
    }
}
