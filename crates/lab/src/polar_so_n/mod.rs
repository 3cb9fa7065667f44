//! `lienav reproduce polar-so-n`: the dipole on a stick of Shen, Tran & Leok 2022, section 5, figures 1–7: polar
//! methods (VPD) against VRKMK.

mod cut_off;
mod dipole;
mod early_end;
mod equal_cost;
pub(super) mod motions;

use super::figures::{absolute, marked, of_errors, over_time, plain};
use super::measure::{order_observed, time_step};
use super::{Experiment, Extent, Figure, MethodResult, Part, Progress, Reproduction, Table, number};
use dipole::start;
use lienav_integrate::IntegrationError;
use lienav_integrate::dynamics::DipoleOnAStick;
use lienav_integrate::tableau::{GAUSS4, GAUSS6};
use motions::{Kind, LongRun, Method, advance, counts, errors, long_run, step_ns};

pub(super) const REPRODUCTION: Reproduction = Reproduction::of_parts(
    "polar-so-n",
    "Shen, Tran & Leok 2022: VPD against VRKMK on the dipole on a stick: orders, energy, orthogonality, cost",
    PARTS,
);

const DIPOLE: &str = "Dipole on a stick, section 5: m = q = β = 1, α = 0.1, z = (0, 0, −3/2), g(0) = rotation by 90° \
                      about e₁, p(0) = g(0)Jg(0)ᵀe₂";

const PARTS: &[Part] = &[
    (|extent, _| orders(extent), 0.1),
    (|extent, progress| Ok(long_time(extent, progress)), 0.5),
    (|extent, _| Ok(early_end::experiment(extent)), 0.1),
    (|extent, _| Ok(cut_off::experiment(extent)), 0.1),
    (|extent, _| equal_cost::experiment(extent), 0.1),
    (|_, _| Ok(run_time()), 0.1),
];

fn methods() -> Vec<Method> {
    [Kind::Vrkmk, Kind::Vpd].into_iter().flat_map(|kind| start().of_all_orders(kind)).collect()
}

/// Figure 1.
fn orders(extent: Extent) -> Result<Experiment, IntegrationError> {
    let end = 0.5;
    let reference = start().method(&GAUSS6, Kind::Vpd).map(|method| advance(&method, 0.001, 500)).transpose()?;
    let mut experiment = Experiment {
        name: "dipole-order".into(),
        about: format!(
            "{DIPOLE}. Figure 1: errors of attitude and body momentum at t = 0.5, ‖g − g_ref‖₂ + ‖p̃ − p̃_ref‖₂, \
             against VPD 6 with h = 0.001. The text: all have their order, VPD 2 a noticeably smaller constant."
        ),
        ..Experiment::default()
    };
    let doublings = if extent == Extent::Full { 8 } else { 6 };
    let mut lines = Vec::new();
    for (method, reference) in methods().iter().zip(std::iter::repeat(reference.as_deref())) {
        let errors = reference
            .map_or(Vec::new(), |reference| errors(method, end, &counts(8, doublings, method.order), reference));
        let at = errors.iter().find(|point| point.0 == 1.0 / 128.0);
        experiment.methods.push(MethodResult {
            name: method.name.clone(),
            values: vec![
                ("order_expected", method.order as f64),
                ("order_observed", order_observed(&errors)),
                ("error_at_step", at.map_or(f64::NAN, |point| point.1)),
                ("step", at.map_or(f64::NAN, |point| point.0)),
            ],
        });
        lines.push((method.order, marked(&method.name, errors)));
    }
    for order in [2, 3, 4, 6] {
        let of_order = lines.iter().filter(|line| line.0 == order).cloned().collect();
        let title = format!("Figure 1: dipole on a stick, error at t = 0.5, order {order}");
        let file = format!("figure-1-order-{order}");
        experiment.figures.push(of_errors(&file, &title, ("h", "‖g − g_ref‖ + |p̃ − p̃_ref|"), of_order));
    }
    Ok(experiment)
}

/// What the text says of 10⁵ steps (section 5.2): order of the method, VRKMK, VPD.
const PRINTED: [(usize, &str, &str); 4] =
    [(2, "10⁻⁴", "10⁻⁵"), (3, "10⁻⁷", "10⁻⁶"), (4, "10⁻⁹", "10⁻⁹"), (6, "increases slowly", "10⁻¹⁰, stable")];

/// Figures 2–6.
fn long_time(extent: Extent, progress: Progress<'_>) -> Experiment {
    let body = DipoleOnAStick::default();
    let steps = if extent == Extent::Full { 100_000 } else { 2_000 };
    let step_of = |order: usize| if order == 6 { 1.0 / 26.0 } else { 0.01 };
    let projected = start().method(&GAUSS6, Kind::VrkmkProjected);
    let methods: Vec<Method> = methods().into_iter().chain(projected).collect();
    let mut runs: Vec<(&Method, LongRun)> = Vec::new();
    for method in &methods {
        runs.push((method, long_run(&body, method, step_of(method.order), steps)));
        progress(runs.len() as f64 / methods.len() as f64);
    }
    let mut figures: Vec<Figure> = [(2, 2), (3, 3), (4, 4), (5, 6)]
        .map(|(figure, order)| {
            let lines = runs.iter().filter(|(method, _)| method.order == order);
            let title = format!("Figure {figure}: energy error, order {order}");
            let lines = lines.map(|(method, run)| absolute(&method.name, &run.energy)).collect();
            over_time(&format!("figure-{figure}"), &title, ("t", "|H − H(0)|"), true, lines)
        })
        .into();
    let lines = runs.iter().filter(|(method, _)| method.order == 6);
    let lines = lines.map(|(method, run)| absolute(&method.name, &run.orthogonality)).collect();
    let title = "Figure 6: orthogonality, order 6";
    figures.push(over_time("figure-6", title, ("t", "‖gᵀg − I‖, Frobenius"), true, lines));
    let value = |name: String| {
        let run = runs.iter().find(|(method, _)| method.name == name);
        run.map_or("–".to_owned(), |(_, run)| number(run.values[0].1))
    };
    let rows = PRINTED.map(|(order, rival, ours)| {
        let (h, vrkmk, vpd) = (number(step_of(order)), value(format!("VRKMK {order}")), value(format!("VPD {order}")));
        vec![order.to_string(), h, rival.into(), vrkmk, ours.into(), vpd]
    });
    let mut experiment = Experiment {
        name: "dipole-long-time".into(),
        about: format!(
            "{DIPOLE}. Figures 2–6: {steps} steps of h = 0.01, of order 6 of h = 1/26. The constraint is orthogonality, \
              ‖gᵀg − I‖. The text: VPD keeps it to rounding and its energy error stays; VRKMK's orthogonality wears \
             off, and of order 6 its energy increases slowly, also when projected. Here no energy \
              drifts (see vrkmk-6-iterations)."
        ),
        methods: runs
            .iter()
            .map(|(m, run)| MethodResult { name: m.name.clone(), values: run.values.clone() })
            .collect(),
        tables: vec![Table {
            title: "Figures 2–5: order of magnitude of the energy error, text and ours (greatest)".into(),
            columns: ["order", "h", "VRKMK, text", "VRKMK", "VPD, text", "VPD"].map(Into::into).into(),
            rows: rows.into(),
        }],
        figures,
        ..Experiment::default()
    };
    for (method, run) in &runs {
        experiment.note(&method.name, "long run", run.failed);
    }
    experiment
}

/// Figure 7.
fn run_time() -> Experiment {
    let mut experiment = Experiment {
        name: "dipole-run-time".into(),
        about: format!(
            "{DIPOLE}. Figure 7: time of a run over half a unit of time, by step size. The text, in Mathematica: VPD \
             takes longer on average."
        ),
        ..Experiment::default()
    };
    let mut lines = Vec::new();
    for method in [Kind::Vrkmk, Kind::Vpd]
        .into_iter()
        .flat_map(|kind| [start().method(&GAUSS4, kind), start().method(&GAUSS6, kind)])
        .flatten()
    {
        let mut seconds = Vec::new();
        for steps in counts(8, 6, 4) {
            let h = 0.5 / steps as f64;
            if experiment.found(&method.name, &format!("h = {h}"), advance(&method, h, steps)).is_none() {
                continue;
            }
            let time = time_step(std::time::Duration::from_millis(10), || {
                // It has just been seen to converge.
                let _ = std::hint::black_box(advance(&method, h, steps));
            });
            seconds.push((h, time.least_ns * 1e-9));
        }
        let values = vec![
            ("step_ns", step_ns(&method, 0.01)),
            ("run_s_at_least_step", seconds.last().map_or(f64::NAN, |last| last.1)),
        ];
        experiment.methods.push(MethodResult { name: method.name.clone(), values });
        lines.push(marked(&method.name, seconds));
    }
    let title = "Figure 7: time of a run to t = 0.5";
    let figure = plain("figure-7", title, ("h", "time, s"), lines);
    experiment.figures.push(Figure { x_log: true, y_log: true, ..figure });
    experiment
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(experiment: &Experiment, method: &str, key: &str) -> f64 {
        let method = experiment.methods.iter().find(|m| m.name == method).unwrap();
        method.values.iter().find(|(k, _)| *k == key).unwrap().1
    }

    #[test]
    fn every_method_has_its_order() {
        let experiment = orders(Extent::Quick).unwrap();
        assert_eq!((experiment.methods.len(), experiment.figures.len()), (8, 4));
        for method in &experiment.methods {
            let difference =
                value(&experiment, &method.name, "order_observed") - value(&experiment, &method.name, "order_expected");
            assert!(difference.abs() < 0.15, "{}: {difference}", method.name);
        }
        // "A noticeable, smaller error constant in the second order method."
        let error = |name| value(&experiment, name, "error_at_step");
        assert!(error("VPD 2") < 0.5 * error("VRKMK 2"));
    }

    #[test]
    fn energy_and_orthogonality_are_as_the_text_says() {
        let experiment = long_time(Extent::Quick, &|_| ());
        let of = |name, key| value(&experiment, name, key);
        for (name, bound) in [("VPD 2", 1e-4), ("VPD 3", 1e-5), ("VPD 4", 1e-8), ("VPD 6", 1e-9)] {
            assert!(of(name, "energy_error_max") < bound, "{name} {:e}", of(name, "energy_error_max"));
            assert!(of(name, "constraint_error_max") < 2e-15, "{name}");
        }
        assert!(of("VRKMK 6", "constraint_error_max") > 2.0 * of("VPD 6", "constraint_error_max"));
        assert_eq!((experiment.figures.len(), experiment.tables[0].rows.len()), (5, 4));
    }
}
