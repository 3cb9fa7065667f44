//! The long-time stability test of G. Ortolan, "Topics on geometric integration", Padova 2011, part I: whether a
//! method for rigid bodies drifts in energy where a symplectic one, or one conjugate to it, cannot.
//!
//! [`stability_test`] is the test, open to any method; [`contestants`] is the list of those that are put to it.

mod accuracy;
mod adapters;
mod contestants;
mod long_run;
mod maps;
mod potential;
mod several_starts;
mod stepper;
mod table_2_1;

pub use contestants::{Contestant, Drift, Family, Start, contestants};
pub use long_run::{SIGNIFICANCE, StabilityTest, stability_test};
pub use stepper::{Stepper, TestBody};

use super::figures::{marked, plain};
use super::measure::time_step;
use super::parts::{Part, Reproduction};
use super::report::{Experiment, Extent, MethodResult, Table};
use super::text::number;
use lienav_eval::plot::{Figure, Line};
use lienav_integrate::BodyState;
use lienav_integrate::dynamics::{FreeBody, StabilityBody};
use lienav_lie::{LieGroup, So3};
use nalgebra::Vector3;
use std::hint::black_box;
use std::time::Duration;

pub(super) const REPRODUCTION: Reproduction = Reproduction::of_parts(
    "stability-test",
    "Ortolan 2011, part I: energy drift of rigid body integrators in the potential (3.2), figures 4.1-4.3",
    PARTS,
);

const PARTS: &[Part] = &[
    (|_, _| Ok(potential::experiment()), 0.0),
    (|_, _| Ok(maps::experiment()), 0.0),
    (|_, _| Ok(table_2_1::experiment()), 0.0),
    (|extent, progress| Ok(long_run::experiment(extent, progress)), 0.35),
    (|extent, progress| Ok(several_starts::experiment(extent, progress)), 0.35),
    (|extent, _| accuracy::experiment("accuracy", ACCURACY, potential_body(), extent), 0.1),
    (|extent, _| accuracy::experiment("free-body", FREE, free_body(), extent), 0.1),
    (|extent, _| Ok(cost(extent)), 0.1),
];

fn potential_body() -> (StabilityBody, BodyState) {
    (StabilityBody::default(), StabilityBody::initial_state())
}

const ACCURACY: &str = "Ortolan 2011, figure 4.2: the body in the potential (3.2) to T = 5, h = 1 … 2⁻⁹, against Gauss \
                        6 with h = 2⁻⁹.";
const FREE: &str = "The same for a free body, J = diag(1, 2, 2.5), for a second system to observe the order on.";

fn free_body() -> (FreeBody, BodyState) {
    let attitude = So3::exp(&Vector3::new(0.3, -0.2, 0.5));
    let state = BodyState { attitude, angular_velocity: Vector3::new(0.4, 0.9, -0.6) };
    (FreeBody { moments: Vector3::new(1.0, 2.0, 2.5) }, state)
}

/// How long a method is timed.
const BUDGET: Duration = Duration::from_millis(60);

/// Figure 4.3.
fn cost(extent: Extent) -> Experiment {
    let mut experiment = Experiment { name: "cost".to_owned(), about: COST.to_owned(), ..Experiment::default() };
    let mut fastest_ns = None;
    for contestant in contestants() {
        let step_ns = experiment.found(contestant.name, "timing", accuracy::step_ns(&contestant, BUDGET));
        let step_ns = step_ns.unwrap_or(f64::NAN);
        // The first of the list is ELN, by which the text divides.
        let ratio = step_ns / *fastest_ns.get_or_insert(step_ns);
        let values = vec![("step_ns", step_ns), ("cost_ratio", ratio)];
        experiment.methods.push(MethodResult { name: contestant.name.to_owned(), values });
    }
    let times = times_of_the_text(extent);
    let ratios: Vec<_> = times.iter().map(|(name, points)| (*name, relative_to(points, &times[0].1))).collect();
    let rows = ratios.iter().map(|(name, points)| {
        let printed = match *name {
            "ELN" => "1, the fastest",
            "TLN" => "up to 12 × the others",
            _ => "",
        };
        let (low, high) = points.iter().fold((f64::INFINITY, 0.0_f64), |(low, high), p| (low.min(p.1), high.max(p.1)));
        vec![(*name).to_owned(), printed.to_owned(), number(low), number(high)]
    });
    let title = "Figure 4.3 (b): running time to T = 5 for h = 1 … 2⁻⁹, as multiples of ELN's (the text gives words, \
        not numbers)";
    let columns = ["method", "text", "ours, least", "ours, greatest"].map(str::to_owned).into();
    experiment.tables.push(Table { title: title.to_owned(), columns, rows: rows.collect() });
    let lines = |of: &[(&str, Vec<(f64, f64)>)]| of.iter().map(|(name, points)| marked(name, points.clone())).collect();
    let figure = |part: &str, what: &str, label: &str, lines: Vec<Line>| {
        let title = format!("Figure 4.3 ({part}): {what}");
        plain(&format!("figure-4.3-{part}"), &title, ("h", label), lines)
    };
    let absolute = figure("a", "running time to T = 5", "time, s", lines(&times));
    let relative = figure("b", "the same as multiples of ELN's", "time / time of ELN", lines(&ratios));
    experiment.figures = vec![Figure { x_log: true, y_log: true, ..absolute }, Figure { x_log: true, ..relative }];
    experiment
}

const COST: &str = "Ortolan 2011, figure 4.3: time of a step in the potential (3.2), h = 0.125, and of runs to T = 5 of \
                    the methods of the text; one core.";

/// A method's name, and points of a figure.
type Curve = (&'static str, Vec<(f64, f64)>);

/// (h, time of a run in s) of each of the seven methods of the text; no number where it cannot be run.
fn times_of_the_text(extent: Extent) -> Vec<Curve> {
    let (finest, budget) = match extent {
        Extent::Full => (9, Duration::from_millis(20)),
        Extent::Quick => (6, Duration::from_millis(2)),
    };
    let (body, start) = (StabilityBody::default(), StabilityBody::initial_state());
    let of_the_text = contestants().into_iter().filter(|contestant| contestant.family() == Family::OfTheText);
    let times = of_the_text.map(|contestant| {
        let time = |k: i32| {
            let h = 0.5_f64.powi(k);
            let run = || accuracy::run(&contestant, black_box(&body), &start, h);
            if run().is_err() {
                return (h, f64::NAN);
            }
            // That it can be run was just seen.
            let time = time_step(budget, || {
                let _ = black_box(run());
            });
            (h, time.least_ns * 1e-9)
        };
        (contestant.name, (0..=finest).map(time).collect())
    });
    times.collect()
}

fn relative_to(points: &[(f64, f64)], base: &[(f64, f64)]) -> Vec<(f64, f64)> {
    points.iter().zip(base).map(|((h, time), (_, base))| (*h, time / base)).collect()
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
            let test = stability_test(stepper, h, 1_500.0);
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
        let (reference, all) = (&contestants()[0], contestants());
        let end_of = |contestant: &Contestant<StabilityBody>| {
            let mut stepper = (contestant.start)(&body, &start, 0.01).unwrap();
            (0..100).fold(start, |_, k| stepper(0.01 * f64::from(k)).unwrap())
        };
        let expected = end_of(reference);
        for contestant in &all {
            let end = end_of(contestant);
            let error = (end.attitude.matrix() - expected.attitude.matrix()).norm()
                + (end.angular_velocity - expected.angular_velocity).norm();
            let bound = if contestant.order == 1 { 0.02 } else { 2e-4 };
            assert!(error < bound, "{}: {error:e}", contestant.name);
        }
        let names: std::collections::BTreeSet<_> = all.iter().map(|contestant| contestant.name).collect();
        assert_eq!(names.len(), all.len());
    }
}
