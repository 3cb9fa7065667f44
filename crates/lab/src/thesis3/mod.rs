//! Shen 2019, chapter 3: the quaternion variational integrator and its hypotheses on a body of three balls, a heavy top
//! and a free body.

mod measured;
mod methods;
mod three_balls;

use super::parts::{Part, Reproduction};
use super::report::{Experiment, Extent, Progress};
use lienav_integrate::dynamics::pivoted_body::PivotedBody;
use lienav_integrate::{FloatingBodyState, Inertia, IntegrationError};
use measured::{Measured, System};
use nalgebra::{UnitQuaternion, Vector3};

pub(super) const REPRODUCTION: Reproduction = Reproduction::of_parts(
    "thesis-3",
    "Shen 2019, chapter 3: quaternion variational integrator, RATTLE, SHAKE, Störmer-Verlet; table 3.1, \
            figures 3.2-3.5",
    PARTS,
);

const PARTS: &[Part] = &[(three_balls::experiment, 0.6), (heavy_top, 0.2), (free_body, 0.2)];

/// For orders on a second system, and with a potential of the attitude alone.
fn heavy_top(extent: Extent, progress: Progress<'_>) -> Result<Experiment, IntegrationError> {
    let body = PivotedBody {
        inertia: Inertia::principal_unchecked(Vector3::new(1.0, 1.4, 0.7)),
        moment_of_mass: Vector3::new(0.1, 0.0, 0.5),
        gravity: Vector3::new(0.0, 0.0, -1.0),
    };
    let initial =
        FloatingBodyState::turning(UnitQuaternion::from_euler_angles(0.6, 0.3, 0.0), Vector3::new(0.3, -0.4, 2.0));
    let system = System { body, initial, h: 0.05, steps: 100_000, conserved: vertical_momentum };
    let measured = Measured::of(&system, extent, progress)?;
    let mut experiment = Experiment {
        name: "heavy-top".to_owned(),
        about:
            "Not in the text: a heavy top without symmetry, J = diag(1, 1.4, 0.7), mρ = (0.1, 0, 0.5), g = 1. Orders \
                at t = 5; energy, constraint and vertical angular momentum over 100,000 steps of h = 0.05."
                .to_owned(),
        figures: vec![measured::order_figure("figure-orders-heavy-top", "heavy top", &measured)],
        ..Experiment::default()
    };
    Measured::report(&measured, &mut experiment);
    Ok(experiment)
}

/// The discrete body of the quaternion method is integrable and keeps the energy; that of Störmer–Verlet is not.
fn free_body(extent: Extent, progress: Progress<'_>) -> Result<Experiment, IntegrationError> {
    let initial =
        FloatingBodyState::turning(UnitQuaternion::from_euler_angles(0.3, -0.4, 0.5), Vector3::new(0.4, -1.1, 0.9));
    let body = PivotedBody::free(Inertia::principal_unchecked(Vector3::new(1.0, 2.0, 2.5)));
    let system = System { body, initial, h: 0.1, steps: 100_000, conserved: FloatingBodyState::angular_momentum_world };
    let measured = Measured::of(&system, extent, progress)?;
    let mut experiment = Experiment {
        name: "free-rigid-body".to_owned(),
        about:
            "Not in the text: a free rigid body, J = diag(1, 2, 2.5). Orders at t = 5; energy, constraint and angular \
                momentum in the world frame over 100,000 steps of h = 0.1."
                .to_owned(),
        figures: vec![measured::order_figure("figure-orders-free-body", "free rigid body", &measured)],
        ..Experiment::default()
    };
    Measured::report(&measured, &mut experiment);
    Ok(experiment)
}

fn vertical_momentum(state: &FloatingBodyState) -> Vector3<f64> {
    Vector3::new(0.0, 0.0, state.angular_momentum_world().z)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quick_run_shows_the_orders_and_what_is_kept() {
        let report = REPRODUCTION.run(Extent::Quick, &|_| (), |_, _| Ok::<_, IntegrationError>(())).unwrap();
        let names: Vec<_> = report.experiments.iter().map(|e| e.name.as_str()).collect();
        assert_eq!(names, ["three-balls", "heavy-top", "free-rigid-body"]);
        for experiment in &report.experiments {
            assert_eq!(experiment.methods.len(), methods::COUNT);
            for method in &experiment.methods {
                let value = |key: &str| method.values.iter().find(|(k, _)| *k == key).map_or(f64::NAN, |(_, x)| *x);
                let at = format!("{} on {}", method.name, experiment.name);
                assert!((value("order_observed") - 2.0).abs() < 0.15, "{at}: {}", value("order_observed"));
                assert!(value("momentum_error_max") < 1e-11 && value("energy_error_max") < 3e-3, "{at}");
                if method.name.starts_with("quaternion") {
                    assert!(value("constraint_error_max") < 2e-15, "{at}: {:e}", value("constraint_error_max"));
                }
            }
        }
        let balls = &report.experiments[0];
        assert!(balls.tables[0].rows.iter().flatten().all(|cell| cell != "–"), "{:?}", balls.tables[0]);
        let files: Vec<_> = balls.figures.iter().map(|figure| figure.file.as_str()).collect();
        for figure in ["3.2a", "3.2b", "3.3a", "3.3b", "3.3c", "3.4a", "3.4b", "3.4c", "3.5"] {
            assert!(files.contains(&format!("figure-{figure}").as_str()), "{files:?}");
        }
    }
}
