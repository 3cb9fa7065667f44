//! The long-time stability test of G. Ortolan, "Topics on geometric integration", Padova 2011, part I: whether a method
//! for rigid bodies drifts in energy where a symplectic one, or one conjugate to it, cannot.
//!
//! [`stability_test`] is the test, open to any method; [`contestants`] is the list of those that are put to it.

mod accuracy;
mod adapters;
mod contestants;
mod long_run;

pub use contestants::{Contestant, Drift, Start, Stepper, TestBody, contestants};
pub use long_run::{SIGNIFICANCE, StabilityTest, stability_test};

use super::report::{Experiment, Extent, MethodResult, Progress, Report, Reproduction, Table};
use super::text::number;
use crate::dynamics::{FreeBody, StabilityBody};
use crate::integrate::{BodyState, IntegrationError};
use crate::lie::{LieGroup, So3};
use nalgebra::Vector3;
use std::time::Duration;

pub(super) const REPRODUCTION: Reproduction = Reproduction {
    name: "stability-test",
    about: "Ortolan 2011, part I: energy drift of rigid body integrators in the potential (3.2), figures 4.1-4.3",
    run,
};

fn run(extent: Extent, progress: Progress<'_>) -> Result<Report, IntegrationError> {
    let long_time = long_run::experiment(extent, &|done| progress(0.7 * done))?;
    let body = (StabilityBody::default(), StabilityBody::initial_state());
    let accuracy = accuracy::experiment("accuracy", ACCURACY, body, extent)?;
    progress(0.8);
    let free = accuracy::experiment("free-body", FREE, free_body(), extent)?;
    progress(0.9);
    let cost = cost()?;
    progress(1.0);
    Ok(Report { experiments: vec![long_time, accuracy, free, cost] })
}

const ACCURACY: &str = "Ortolan 2011, figure 4.2: the body in the potential (3.2) to T = 5, h = 1 … 2⁻⁹, against Gauss 6 \
                        with h = 2⁻⁹.";
const FREE: &str = "The same for a free body, J = diag(1, 2, 2.5), for a second system to observe the order on.";

fn free_body() -> (FreeBody, BodyState) {
    let attitude = So3::exp(&Vector3::new(0.3, -0.2, 0.5));
    let state = BodyState { attitude, angular_velocity: Vector3::new(0.4, 0.9, -0.6) };
    (FreeBody { moments: Vector3::new(1.0, 2.0, 2.5) }, state)
}

/// How long a method is timed.
const BUDGET: Duration = Duration::from_millis(60);

/// Figure 4.3.
fn cost() -> Result<Experiment, IntegrationError> {
    let mut methods = Vec::new();
    let mut rows = Vec::new();
    let mut fastest_ns = None;
    for contestant in contestants() {
        let step_ns = accuracy::step_ns(&contestant, BUDGET)?;
        // The first of the list is ELN, by which the text divides.
        let ratio = step_ns / *fastest_ns.get_or_insert(step_ns);
        methods.push(MethodResult {
            name: contestant.name.to_owned(),
            values: vec![("step_ns", step_ns), ("cost_ratio", ratio)],
        });
        let printed = match contestant.name {
            "ELN" => "1, the fastest",
            "TLN" => "up to 12 × the others",
            _ => "",
        };
        rows.push(vec![contestant.name.to_owned(), printed.to_owned(), number(ratio)]);
    }
    let columns = ["method", "text", "ours"].map(str::to_owned).into();
    let title = "Figure 4.3 (b): running time, as multiples of ELN's (the text gives words, not numbers)".to_owned();
    Ok(Experiment {
        name: "cost".to_owned(),
        about: "Ortolan 2011, figure 4.3: time of a step in the potential (3.2), h = 0.125; one core.".to_owned(),
        methods,
        tables: vec![Table { title, columns, rows }],
        figures: Vec::new(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The signs of figure 4.1, and none where there is none, in a tenth of its time.
    #[test]
    fn every_method_of_the_text_drifts_as_the_text_says() {
        let of_the_text = contestants::<StabilityBody>().into_iter().filter(|contestant| contestant.printed.is_some());
        for contestant in of_the_text {
            let (body, h) = (StabilityBody::default(), 0.125);
            let stepper = (contestant.start)(&body, &StabilityBody::initial_state(), h).unwrap();
            let test = stability_test(stepper, h, 1_500.0).unwrap();
            let slope = test.drift().unwrap().slope;
            let found = match test.drifts() {
                false => Drift::None,
                true if slope < 0.0 => Drift::Falls,
                true => Drift::Rises,
            };
            assert_eq!(Some(found), contestant.printed, "{}: {slope:e}", contestant.name);
        }
    }

    #[test]
    fn all_methods_come_to_the_same_state() {
        let (body, start) = (StabilityBody::default(), StabilityBody::initial_state());
        let ends: Vec<_> = contestants()
            .iter()
            .map(|contestant| {
                let mut stepper = (contestant.start)(&body, &start, 0.01).unwrap();
                (contestant.name, (0..100).fold(start, |_, k| stepper(0.01 * f64::from(k)).unwrap()))
            })
            .collect();
        for (name, end) in &ends {
            let error = (end.attitude.matrix() - ends[0].1.attitude.matrix()).norm()
                + (end.angular_velocity - ends[0].1.angular_velocity).norm();
            assert!(error < 2e-4, "{name}: {error:e}");
        }
    }
}
