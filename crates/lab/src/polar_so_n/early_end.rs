//! Figure 5: where the slow growth of VRKMK 6's energy error comes from.

use super::dipole::start;
use crate::figures::{absolute, over_time, thin};
use crate::measure::{drift, largest};
use crate::{Experiment, Extent, MethodResult};
use lienav_integrate::cotangent::CotangentHamiltonian;
use lienav_integrate::tableau::GAUSS6;
use lienav_integrate::vrkmk::{Spatial, Vrkmk};
use lienav_lie::{Rotation, So3};

/// Where the iterations end: at rounding, and at changes of these sizes. The text ends them at 1e-15 of each variable.
const ENDS: [Option<f64>; 5] = [None, Some(1e-15), Some(1e-12), Some(1e-10), Some(1e-8)];

pub(super) fn experiment(extent: Extent) -> Experiment {
    let steps = if extent == Extent::Full { 100_000 } else { 5_000 };
    let h = 1.0 / 26.0;
    let mut experiment = Experiment {
        name: "vrkmk-6-iterations".into(),
        about: format!(
            "Shen, Tran and Leok 2022, figure 5 and the end of section 5.2: the energy of VRKMK 6 rises slowly there, and \
             more when projected on the group; the text blames rounding of the products. Here {steps} steps of h = 1/26 \
             on the dipole with iterations that end at rounding, or as soon as no variable changes by a tolerance \
             (the text's is 1e-15), plain and projected. Up to 1e-12 nothing grows, projected or not: neither rounding of the \
             products nor the end of the iterations is the text's reason. Series that are cut off would be one: see \
             vrkmk-6-cut-off."
        ),
        ..Experiment::default()
    };
    let Some(method) = Vrkmk::new(&GAUSS6) else { return experiment };
    let system = Spatial(start().body);
    let mut lines = Vec::new();
    for projected in [false, true] {
        for end in ENDS {
            let method = end.map_or(method, |tolerance| method.ending_early(tolerance));
            let ending = end.map_or("to rounding".to_owned(), |tolerance| format!("to {tolerance:e}"));
            let name = format!("VRKMK 6{}, iterations {ending}", if projected { ", projected" } else { "" });
            let mut state = system.state(&start().attitude, &start().angular_velocity);
            let energy = system.energy(&state.0, &state.1);
            let (mut errors, mut orthogonality, mut iterations, mut failed) = (Vec::new(), 0.0_f64, 0, None);
            for k in 0..steps {
                match method.step(&system, &state, k as f64 * h, h) {
                    Ok((next, of_step)) => {
                        state = next;
                        iterations += of_step;
                    }
                    Err(error) => {
                        failed = Some(error);
                        break;
                    }
                }
                if let Some(nearest) = Rotation::nearest(state.0.matrix()).filter(|_| projected) {
                    state.0 = So3::from_matrix_unchecked(*nearest.matrix());
                }
                errors.push(((k + 1) as f64 * h, system.energy(&state.0, &state.1) - energy));
                orthogonality = orthogonality.max(state.0.orthogonality_error());
            }
            experiment.note(&name, "long run", failed);
            let trend = drift(&errors).filter(|_| failed.is_none());
            let values = vec![
                ("energy_error_max", largest(errors.iter().map(|e| e.1))),
                ("energy_drift_per_time", trend.map_or(f64::NAN, |fit| fit.slope)),
                ("energy_drift_standard_error", trend.map_or(f64::NAN, |fit| fit.standard_error)),
                ("constraint_error_max", orthogonality),
                ("iterations_mean", iterations as f64 / steps as f64),
            ];
            experiment.methods.push(MethodResult { name: name.clone(), values });
            let mut line = absolute(&name, &thin(&errors));
            let color = ENDS.iter().position(|other| *other == end).unwrap_or(0);
            line.look = Some(lienav_eval::plot::Look { color, stroke: usize::from(projected) });
            lines.push(line);
        }
    }
    let title = "Figure 5: energy error of VRKMK 6 by the end of its iterations";
    experiment.figures = vec![over_time("figure-5-iterations", title, ("t", "|H − H(0)|"), true, lines)];
    experiment
}

#[cfg(test)]
mod tests {
    use super::*;

    /// At the text's tolerance and at a thousand times it nothing grows; where the iterations are as good as left out,
    /// the energy does.
    #[test]
    fn neither_rounding_nor_the_end_of_the_iterations_makes_the_energy_grow() {
        let experiment = experiment(Extent::Quick);
        let error = |name: &str| {
            let method = experiment.methods.iter().find(|m| m.name == name).unwrap();
            method.values.iter().find(|(k, _)| *k == "energy_error_max").unwrap().1
        };
        let whole = error("VRKMK 6, iterations to rounding");
        assert!(whole < 1e-10, "{whole:e}");
        for end in
            ["VRKMK 6, iterations to 1e-15", "VRKMK 6, iterations to 1e-12", "VRKMK 6, projected, iterations to 1e-12"]
        {
            assert!(error(end) < 1.2 * whole, "{end}: {:e}", error(end));
        }
        assert!(error("VRKMK 6, iterations to 1e-8") > 2.0 * whole, "{:e}", error("VRKMK 6, iterations to 1e-8"));
    }
}
