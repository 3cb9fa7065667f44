//! How honest a covariance is where nobody tuned: errors and NEES where standard deviations are told wrong, where noise
//! is not white, and on recordings with one configuration.

mod cases;
mod recordings;
mod text;

pub use cases::{Case, ClaimedNoise, cases};
pub use recordings::{FILTERS, RecordingRow};
pub use text::to_text;

use crate::monte_carlo::{Experiment, ExperimentError, Outcome, StepSummary};
use lienav_sim::Scenario;
use serde::Serialize;

/// How it is called, and what it is.
pub const NAME: (&str, &str) = (
    "honesty",
    "errors and NEES where noise is told wrong or is not white, with and without learning; of recordings, with one file",
);

/// A part of the steps of all runs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Span {
    /// Root mean square of the position error, m.
    pub position_rms_m: f64,
    /// Root mean square of the yaw error, rad.
    pub yaw_rms_rad: f64,
    /// Mean NEES of the pose; 3 is right.
    pub nees: Option<f64>,
}

impl Span {
    /// Of these steps; `None` without any.
    fn of(steps: &[StepSummary]) -> Option<Self> {
        if steps.is_empty() {
            return None;
        }
        let count = steps.len() as f64;
        let root =
            |value: fn(&StepSummary) -> f64| (steps.iter().map(|s| value(s).powi(2)).sum::<f64>() / count).sqrt();
        let nees: Vec<f64> = steps.iter().filter_map(|step| step.nees.mean()).collect();
        Some(Self {
            position_rms_m: root(|step| step.position_rms_m),
            yaw_rms_rad: root(|step| step.yaw_rms_rad),
            nees: (!nees.is_empty()).then(|| nees.iter().sum::<f64>() / nees.len() as f64),
        })
    }
}

/// One way to run the filter in a case.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// Which one: the settings of `truth` state the true noise, those of `claimed` and `learns` a wrong one, and
    /// `learns` estimates it.
    pub method: &'static str,
    /// All steps.
    pub whole: Option<Span>,
    /// The second half of the steps, when noise had time to be learned.
    pub second_half: Option<Span>,
    /// The position error of the second half, as a multiple of that of the filter that is told what the noise is.
    pub to_truth: Option<f64>,
}

/// A case, run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CaseRows {
    /// What is wrong in it.
    pub case: String,
    /// The scenario.
    pub scenario: String,
    /// The ways to run the filter.
    pub rows: Vec<Row>,
}

/// The tables.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Honesty {
    /// How many runs each case of a scenario has.
    pub runs: usize,
    /// Where their seeds come from.
    pub seed: u64,
    /// Simulated cases.
    pub cases: Vec<CaseRows>,
    /// Recordings, each through several filters and the batch estimate.
    pub recordings: Vec<RecordingRow>,
}

impl Honesty {
    /// Nothing yet.
    pub fn new(runs: usize, seed: u64) -> Self {
        Self { runs, seed, ..Self::default() }
    }

    /// Runs a case, on the threads of the rayon pool it is called in. `done` is called after each run.
    ///
    /// # Errors
    /// None in practice: scenarios and settings are shipped ones; otherwise those of an experiment.
    pub fn add(&mut self, case: &Case, done: impl Fn() + Sync) -> Result<(), ExperimentError> {
        let mut rows: Vec<Row> = Vec::new();
        for (method, settings) in &case.methods {
            let outcome = self.run(case, settings, &done)?;
            let steps = outcome.filters.first().map_or(&[][..], |filter| &filter.steps);
            let second_half = Span::of(&steps[steps.len() / 2..]);
            let truth = rows.first().map_or(second_half, |first| first.second_half);
            let to_truth = second_half.zip(truth).map(|(own, truth)| own.position_rms_m / truth.position_rms_m);
            rows.push(Row { method, whole: Span::of(steps), second_half, to_truth });
        }
        self.cases.push(CaseRows { case: case.name.clone(), scenario: case.scenario.clone(), rows });
        Ok(())
    }

    fn run(
        &self,
        case: &Case,
        settings: &[(String, String)],
        done: &(impl Fn() + Sync),
    ) -> Result<Outcome, ExperimentError> {
        let experiment = Experiment {
            scenario: Scenario::named(&case.scenario)?,
            filters: vec!["default".to_owned()],
            settings: settings.to_vec(),
            sensors: Vec::new(),
            runs: self.runs,
            seed: self.seed,
        };
        experiment.run(done)
    }

    /// As JSON, indented.
    ///
    /// # Errors
    /// None in practice; serde's, should a table ever hold what JSON cannot say.
    pub fn to_json(&self) -> serde_json::Result<String> {
        serde_json::to_string_pretty(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_case_runs_and_the_first_way_is_what_the_others_are_beside() {
        let all = cases();
        assert!(all.len() > 20);
        let wrong = all.iter().find(|case| case.name.contains("sensor × 0.25, odometry × 1")).unwrap();
        let mut honesty = Honesty::new(1, 1);
        honesty.add(wrong, || ()).unwrap();
        let rows = &honesty.cases[0].rows;
        assert_eq!(rows.iter().map(|row| row.method).collect::<Vec<_>>(), ["truth", "told", "learns"]);
        assert_eq!(rows[0].to_truth, Some(1.0));
        // A fourth of the standard deviation claims a sixteenth of the covariance.
        let nees = |row: &Row| row.second_half.unwrap().nees.unwrap();
        assert!(nees(&rows[1]) > 5.0 * nees(&rows[0]), "{rows:?}");
        assert!(nees(&rows[2]) < 0.5 * nees(&rows[1]), "{rows:?}");
        let text = to_text(&honesty);
        assert!(text.contains(&wrong.name) && text.contains("| learns [m] |"), "{text}");
    }

    #[test]
    fn scenarios_and_settings_of_all_cases_exist() {
        for case in cases() {
            let scenario = Scenario::named(&case.scenario).unwrap();
            let config = lienav_sim::Simulation::new(&scenario).unwrap().filter_config("default");
            for (_, settings) in &case.methods {
                let study = crate::study::Study::from(config.clone());
                let study = settings
                    .iter()
                    .try_fold(study, |study, (name, value)| lienav_io::settings_file::with(&study, name, value));
                study.unwrap().config().validate().unwrap();
            }
        }
    }
}
