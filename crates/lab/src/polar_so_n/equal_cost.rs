//! VPD and VRKMK at equal cost: what an error takes of time, on the dipole and on a free body.

use super::dipole::start;
use super::motions::{Kind, Method, Start, advance, counts, errors, step_ns};
use crate::figures::{marked, plain};
use crate::measure::{order, time_step};
use crate::{Experiment, Extent, Figure, MethodResult, Table, number};
use lienav_integrate::dynamics::FreeBody;
use lienav_integrate::tableau::GAUSS6;
use lienav_integrate::{IntegrationError, RigidBody};
use lienav_lie::So3;
use nalgebra::Vector3;
use std::time::Duration;

/// Errors over step sizes, and over run times.
struct Measured {
    name: String,
    order: usize,
    errors: Vec<(f64, f64)>,
    costs: Vec<(f64, f64)>,
    step_ns: f64,
}

fn measured<B: RigidBody + Copy + 'static>(
    start: Start<B>,
    end: f64,
    first: usize,
    extent: Extent,
) -> Result<Vec<Measured>, IntegrationError> {
    let reference = start.method(&GAUSS6, Kind::Vpd).map(|method| advance(&method, end / 4000.0, 4000)).transpose()?;
    let doublings = if extent == Extent::Full { 7 } else { 5 };
    let of = |method: Method| {
        let reference = reference.as_deref()?;
        let errors = errors(&method, end, &counts(first, doublings, method.order), reference);
        let cost = |&(h, error): &(f64, f64)| {
            let steps = (end / h).round() as usize;
            advance(&method, h, steps).ok()?;
            let time = time_step(Duration::from_millis(3), || {
                // It has just been seen to converge.
                let _ = std::hint::black_box(advance(&method, h, steps));
            });
            Some((time.least_ns * 1e-9, error))
        };
        let costs = errors.iter().filter_map(cost).collect();
        let step_ns = step_ns(&method, end / 64.0);
        Some(Measured { name: method.name.clone(), order: method.order, errors, costs, step_ns })
    };
    Ok([Kind::Vrkmk, Kind::Vpd].into_iter().flat_map(|kind| start.of_all_orders(kind)).filter_map(of).collect())
}

/// The factor between errors at the same step, and between times for the same error, both by the lines through what
/// converges: c = ln error − p ln h of each.
fn ratios(vpd: &Measured, vrkmk: &Measured) -> Option<(f64, f64)> {
    // Both lines at the middle of the finer half of the steps both have.
    let (a, b) = (order(&vpd.errors)?, order(&vrkmk.errors)?);
    let at = vpd.errors.get(vpd.errors.len() / 2)?.0.ln();
    let error_ratio = (a.intercept + a.slope * at - b.intercept - b.slope * at).exp();
    let time_ratio = vpd.step_ns / vrkmk.step_ns * error_ratio.powf(1.0 / vpd.order as f64);
    Some((error_ratio, time_ratio))
}

/// Not in the text: its figures compare at equal steps.
pub(super) fn experiment(extent: Extent) -> Result<Experiment, IntegrationError> {
    let momentum = Vector3::new(0.5, -0.5, 0.5);
    let moments = Vector3::new(1.0, 2.0, 3.0);
    let free = Start {
        body: FreeBody { moments },
        attitude: So3::identity(),
        angular_velocity: momentum.component_div(&moments),
    };
    let systems = [("dipole", measured(start(), 0.5, 8, extent)?), ("free body", measured(free, 10.0, 24, extent)?)];
    let mut experiment = Experiment {
        name: "equal-cost".into(),
        about: "Not in the text: VPD and VRKMK at equal steps and at equal cost, on the dipole (to t = 0.5) and on the free \
                body of Shen 2019, section 4.5, with its attitude (to t = 10). error_ratio is VPD's error by VRKMK's at one \
                step size; time_ratio its run time by VRKMK's for one error: that of a step times error_ratio to the power \
                1/order."
            .into(),
        ..Experiment::default()
    };
    let mut rows = Vec::new();
    for order in [2, 3, 4, 6] {
        let mut values = Vec::new();
        let mut row = vec![order.to_string()];
        for ((_, all), keys) in systems.iter().zip([
            ["dipole_error_ratio", "dipole_step_time_ratio", "dipole_time_ratio"],
            ["free_body_error_ratio", "free_body_step_time_ratio", "free_body_time_ratio"],
        ]) {
            let of = |name: String| all.iter().find(|m| m.name == name);
            let pair = of(format!("VPD {order}")).zip(of(format!("VRKMK {order}")));
            let found = pair.and_then(|(vpd, vrkmk)| {
                let (error, time) = ratios(vpd, vrkmk)?;
                Some([error, vpd.step_ns / vrkmk.step_ns, time])
            });
            let found = found.unwrap_or([f64::NAN; 3]);
            values.extend(keys.into_iter().zip(found));
            row.extend(found.map(number));
        }
        experiment.methods.push(MethodResult { name: format!("VPD {order} by VRKMK {order}"), values });
        rows.push(row);
    }
    let columns = [
        "order",
        "dipole: error",
        "time of a step",
        "time for one error",
        "free body: error",
        "time of a step",
        "time for one error",
    ];
    experiment.tables.push(Table {
        title: "VPD as a multiple of VRKMK".into(),
        columns: columns.map(str::to_owned).into(),
        rows,
    });
    experiment.figures = systems
        .into_iter()
        .map(|(system, all)| {
            let lines = all.into_iter().map(|m| marked(&m.name, m.costs)).collect();
            let file = format!("figure-cost-{}", system.replace(' ', "-"));
            let figure = plain(&file, &format!("Error against run time, {system}"), ("run time, s", "error"), lines);
            Figure { x_log: true, y_log: true, ..figure }
        })
        .collect();
    Ok(experiment)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vpd_2_is_below_vrkmk_2_on_the_dipole_and_far_above_on_the_free_body() {
        let experiment = experiment(Extent::Quick).unwrap();
        let of = |order: usize, key: &str| {
            let name = format!("VPD {order} by VRKMK {order}");
            let method = experiment.methods.iter().find(|m| m.name == name).unwrap();
            method.values.iter().find(|(k, _)| *k == key).unwrap().1
        };
        assert!(of(2, "dipole_error_ratio") < 0.5, "{}", of(2, "dipole_error_ratio"));
        for (order, least) in [(2, 3.0), (4, 30.0), (6, 100.0)] {
            let ratio = of(order, "free_body_error_ratio");
            assert!(ratio > least, "{order}: {ratio}");
        }
    }
}
