//! What is run, and running it.

use super::tally::{FilterOutcome, Tally};
use super::trial::{Trial, trials};
use lienav_io::settings_file::SettingsError;
use lienav_sim::{Scenario, ScenarioError, UnknownScenario};
use lienav_slam::{ConfigError, Sensor, TooManySensors};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;

/// Runs that are kept until they are added up. Any number gives the same result; this one keeps all cores busy and a
/// few megabytes.
const RUNS_AT_ONCE: usize = 16;

/// A scenario, filters, and how often.
#[derive(Clone, Debug, PartialEq)]
pub struct Experiment {
    /// What is simulated; its own seed is not used.
    pub scenario: Scenario,
    /// The names of the filters; the first is the one the others are compared with.
    pub filters: Vec<String>,
    /// Settings of every filter, by name, over those that the scenario gives.
    pub settings: Vec<(String, String)>,
    /// Sensors beside those of the scenario, and how often they read, Hz: of the simulated robot and of every filter.
    pub sensors: Vec<(Sensor, f64)>,
    /// How many runs.
    pub runs: usize,
    /// Where the seeds of the runs come from, see [`run_seeds`].
    pub seed: u64,
}

/// What an experiment came to.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// What was run.
    pub experiment: Experiment,
    /// One for each filter, in the order of the experiment.
    pub filters: Vec<FilterOutcome>,
}

/// An experiment that cannot be run.
#[derive(Clone, Debug, thiserror::Error)]
pub enum ExperimentError {
    /// Of the scenario.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    /// Of a filter or its settings.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// A setting that no filter has, or of the wrong type.
    #[error(transparent)]
    Setting(#[from] SettingsError),
    /// More sensors than a filter can have.
    #[error(transparent)]
    Sensors(#[from] TooManySensors),
    /// A name that is no scenario's.
    #[error(transparent)]
    UnknownScenario(#[from] UnknownScenario),
    /// A scenario without clouds, in which there is nothing to judge.
    #[error("scenario '{0}' has no feature cloud; sensor.first_s has to be less than the duration of the trajectory")]
    NoSteps(String),
    /// No runs or no filters.
    #[error("an experiment needs at least one run and one filter")]
    Nothing,
}

/// The seeds of the runs, `scenario.seed` each: the first `runs` draws of a generator seeded with `seed`, cut to 53
/// bits. More runs have the same first ones, and runs of different seeds have none in common.
pub fn run_seeds(seed: u64, runs: usize) -> Vec<u64> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    (0..runs).map(|_| random.next_u64() >> 11).collect()
}

impl Experiment {
    /// Runs it, on the threads of the rayon pool it is called in. `done` is called after each run, by any thread.
    ///
    /// # Errors
    /// What makes a scenario or a filter unusable; nothing depends on the seed.
    pub fn run(&self, done: impl Fn() + Sync) -> Result<Outcome, ExperimentError> {
        if self.runs == 0 || self.filters.is_empty() {
            return Err(ExperimentError::Nothing);
        }
        let mut tallies: Vec<Tally> = self.filters.iter().map(|name| Tally::new(name)).collect();
        for seeds in run_seeds(self.seed, self.runs).chunks(RUNS_AT_ONCE) {
            let runs: Vec<Vec<Trial>> =
                seeds.par_iter().map(|&seed| self.one(seed, &done)).collect::<Result<_, _>>()?;
            for (&seed, trials) in seeds.iter().zip(&runs) {
                for (tally, trial) in tallies.iter_mut().zip(trials) {
                    tally.add(seed, trial);
                }
            }
        }
        let filters = tallies.into_iter().map(Tally::finish).collect();
        Ok(Outcome { experiment: self.clone(), filters })
    }

    fn one(&self, seed: u64, done: &(impl Fn() + Sync)) -> Result<Vec<Trial>, ExperimentError> {
        let trials = trials(&Scenario { seed, ..self.scenario.clone() }, &self.filters, &self.settings, &self.sensors)?;
        done();
        if trials.iter().any(|trial| trial.samples.is_empty()) {
            return Err(ExperimentError::NoSteps(self.scenario.name.clone()));
        }
        Ok(trials)
    }
}
