//! What is run, and running it.

use super::error::ExperimentError;
use super::record::RunRecord;
use super::tally::{FilterOutcome, FilterRun, Tally};
use super::trial::trials;
use lienav_sim::Scenario;
use lienav_slam::Sensor;
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
        self.check()?;
        let mut sum = Sum::new(self);
        let seeds: Vec<(usize, u64)> = run_seeds(self.seed, self.runs).into_iter().enumerate().collect();
        for some in seeds.chunks(RUNS_AT_ONCE) {
            let one = |&(run, seed): &(usize, u64)| {
                let record = self.one(run, seed)?;
                done();
                Ok(record)
            };
            let records: Vec<RunRecord> = some.par_iter().map(one).collect::<Result<_, ExperimentError>>()?;
            records.iter().for_each(|record| sum.add(record));
        }
        Ok(sum.finish())
    }

    /// Makes some of the runs, on the threads of the rayon pool it is called in, and gives each to `take`, in any order
    /// and from any thread; numbers that are not below [`Experiment::runs`] are left out. `Sum` adds the records up.
    /// Where `take` gives an error, no more runs are begun.
    ///
    /// # Errors
    /// As [`Experiment::run`], and what `take` says.
    pub fn run_some<E: From<ExperimentError> + Send>(
        &self,
        runs: &[usize],
        take: impl Fn(RunRecord) -> Result<(), E> + Sync,
    ) -> Result<(), E> {
        self.check()?;
        let seeds = run_seeds(self.seed, self.runs);
        let one = |&run: &usize| match seeds.get(run) {
            Some(&seed) => take(self.one(run, seed)?),
            None => Ok(()),
        };
        // One at a time: runs are long, and what is taken is safe.
        runs.par_iter().with_max_len(1).try_for_each(one)
    }

    /// # Errors
    /// There is nothing to run.
    pub(super) fn check(&self) -> Result<(), ExperimentError> {
        if self.runs == 0 || self.filters.is_empty() { Err(ExperimentError::Nothing) } else { Ok(()) }
    }

    fn one(&self, run: usize, seed: u64) -> Result<RunRecord, ExperimentError> {
        let trials = trials(&Scenario { seed, ..self.scenario.clone() }, &self.filters, &self.settings, &self.sensors)?;
        if trials.iter().any(|trial| trial.samples.is_empty()) {
            return Err(ExperimentError::NoSteps(self.scenario.name.clone()));
        }
        Ok(RunRecord { run, filters: trials.iter().map(|trial| FilterRun::new(seed, trial)).collect() })
    }
}

/// The runs of an experiment, being added up.
pub(super) struct Sum<'a> {
    experiment: &'a Experiment,
    tallies: Vec<Tally>,
}

impl<'a> Sum<'a> {
    pub(super) fn new(experiment: &'a Experiment) -> Self {
        Self { experiment, tallies: experiment.filters.iter().map(|name| Tally::new(name)).collect() }
    }

    /// Adds a run. Sums depend on the order in their last bits, so runs are added in theirs.
    pub(super) fn add(&mut self, record: &RunRecord) {
        for (tally, run) in self.tallies.iter_mut().zip(&record.filters) {
            tally.add(run);
        }
    }

    pub(super) fn finish(self) -> Outcome {
        let filters = self.tallies.into_iter().map(Tally::finish).collect();
        Outcome { experiment: self.experiment.clone(), filters }
    }
}
