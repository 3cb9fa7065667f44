//! The verdict on a method from several initial states: of a chaotic run, one is an accident.

use super::contestants::contestants;
use super::long_run::{StabilityTest, stability_test_from};
use super::maps;
use crate::measure::mean_and_interval;
use crate::report::{Experiment, Extent, MethodResult, Progress, Table};
use crate::text::number;
use lienav_integrate::dynamics::StabilityBody;
use lienav_integrate::{BodyState, RigidBody};
use lienav_lie::{LieGroup, So3};
use nalgebra::Vector3;

/// How many initial states there are, the text's first.
const STARTS: usize = 8;
const STEP: f64 = 0.125;

/// The text's state, and others near it: turned and set going by a fixed sequence of small numbers.
fn starts() -> [BodyState; STARTS] {
    std::array::from_fn(|k| {
        let text = StabilityBody::initial_state();
        let small = |j: usize| 0.05 * ((12.9898 * (k * 7 + j) as f64).sin() * 43_758.545).fract();
        if k == 0 {
            return text;
        }
        let turn = So3::exp(&Vector3::new(small(1), small(2), small(3)));
        let more = Vector3::new(small(4), small(5), small(6));
        BodyState { attitude: text.attitude.compose(&turn), angular_velocity: text.angular_velocity + more }
    })
}

/// One run of each map from each state; maps of several names once.
pub(super) fn experiment(extent: Extent, progress: Progress<'_>) -> Experiment {
    let span = if extent == Extent::Full { 10_000.0 } else { 500.0 };
    let energy = StabilityBody::default().energy(&StabilityBody::initial_state());
    let mut experiment = Experiment {
        name: "several-starts".to_owned(),
        about: format!(
            "Not in the text: the test of figure 4.1 from {STARTS} initial states, the text's and seven within 0.05 of it \
             (attitude, rad, and angular velocity), h = {STEP}, T = {span}; each map under its first name. Drifts of either \
             sign are counted where they stand out by five standard errors; drift_mean and drift_half_width are the mean \
             of the slopes and half the width of its 95 % interval (Student's t). Energy at the start: {}.",
            number(energy)
        ),
        ..Experiment::default()
    };
    let first_names: Vec<_> = maps::maps().0.iter().filter_map(|map| map.names.first().copied()).collect();
    let all: Vec<_> = contestants::<StabilityBody>().into_iter().filter(|c| first_names.contains(&c.name)).collect();
    let mut rows = Vec::new();
    for (index, contestant) in all.iter().enumerate() {
        let runs: Vec<StabilityTest> = starts()
            .iter()
            .map(|start| {
                (contestant.start)(&StabilityBody::default(), start, STEP)
                    .map_or_else(StabilityTest::not_begun, |stepper| stability_test_from(start, stepper, STEP, span))
            })
            .collect();
        let slopes: Vec<f64> = runs.iter().filter_map(|run| run.drift().map(|fit| fit.slope)).collect();
        let drifting: Vec<f64> =
            runs.iter().filter(|run| run.drifts()).filter_map(|run| run.drift().map(|fit| fit.slope)).collect();
        let (falls, rises) =
            (drifting.iter().filter(|s| **s < 0.0).count(), drifting.iter().filter(|s| **s > 0.0).count());
        let ended: Vec<f64> = runs
            .iter()
            .filter(|run| run.failed.is_some())
            .map(|run| run.energy_error.last().map_or(0.0, |e| e.0))
            .collect();
        let (mean, half) = mean_and_interval(&slopes).unwrap_or((f64::NAN, f64::NAN));
        let values = vec![
            ("starts", runs.len() as f64),
            ("ended_before_their_time", ended.len() as f64),
            ("falls", falls as f64),
            ("rises", rises as f64),
            ("drift_mean", mean),
            ("drift_half_width", half),
        ];
        experiment.methods.push(MethodResult { name: contestant.name.to_owned(), values });
        let verdict = verdict(contestant.is_symplectic, runs.len(), ended.len(), (falls, rises), (mean, half));
        let ends = match ended.iter().copied().reduce(f64::min).zip(ended.iter().copied().reduce(f64::max)) {
            Some((first, last)) => format!("{}, t = {} to {}", ended.len(), number(first), number(last)),
            None => "0".to_owned(),
        };
        let cells = [falls.to_string(), rises.to_string(), ends, number(mean), number(half), verdict.to_owned()];
        rows.push(std::iter::once(contestant.name.to_owned()).chain(cells).collect());
        progress((index + 1) as f64 / all.len() as f64);
    }
    let columns = ["method", "falls", "rises", "ended early", "mean drift", "± 95 %", "verdict"];
    let title = format!("Verdicts from {STARTS} initial states, h = {STEP}, T = {span}");
    experiment.tables.push(Table { title, columns: columns.map(str::to_owned).into(), rows });
    experiment
}

/// What the runs say together. A single drift among eight of a symplectic method is what five standard errors of a line
/// through blocks that are not quite independent leave.
fn verdict(
    is_symplectic: bool,
    runs: usize,
    ended: usize,
    (falls, rises): (usize, usize),
    (mean, half): (f64, f64),
) -> &'static str {
    if ended > 0 {
        return "cannot be run";
    }
    match (falls, rises) {
        (0, 0) => "no drift",
        (falls, _) if falls == runs => "falls",
        (_, rises) if rises == runs => "rises",
        _ if mean.abs() > half && mean < 0.0 => "falls on average",
        _ if mean.abs() > half => "rises on average",
        _ if is_symplectic => "no drift on average",
        _ => "of either sign",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_verdict_needs_all_starts_or_an_interval_without_zero() {
        assert_eq!(verdict(true, 8, 0, (0, 0), (1e-9, 1e-8)), "no drift");
        assert_eq!(verdict(false, 8, 0, (8, 0), (-1e-6, 1e-7)), "falls");
        assert_eq!(verdict(false, 8, 0, (4, 3), (1e-9, 1e-8)), "of either sign");
        assert_eq!(verdict(false, 8, 0, (1, 6), (1e-7, 1e-8)), "rises on average");
        assert_eq!(verdict(false, 8, 1, (0, 7), (1e-7, 1e-8)), "cannot be run");
        assert_eq!(verdict(true, 8, 0, (1, 0), (1e-9, 1e-8)), "no drift on average");
    }

    #[test]
    fn starts_are_near_the_texts_and_no_two_alike() {
        let starts = starts();
        let text = StabilityBody::initial_state();
        for (k, a) in starts.iter().enumerate() {
            assert!((a.angular_velocity - text.angular_velocity).norm() < 0.1);
            assert!(starts[..k].iter().all(|b| (a.angular_velocity - b.angular_velocity).norm() > 1e-4));
        }
    }
}
