//! Many simulated runs through several filters: errors, and whether covariances are true.
//!
//! Run k of an experiment has the seed `seed` + k for every filter. The mean NEES of N runs at one instant lies in the
//! χ² band of N·d degrees of freedom, divided by N, in 95 % of all instants where the covariance is true.

use super::errors::Errors;
use super::run::{Options, RunError, run};
use super::settings::Settings;
use super::simulated::recording;
use super::truth::Truth;
use crate::consistency::{chi_squared_band, fraction_inside};
use lienav_sim::space::scenario::{SpaceScenario, SpaceScenarioError};
use rayon::prelude::*;
use serde::Serialize;
use std::fmt::Write as _;

/// What is asked for.
#[derive(Clone, Debug)]
pub struct Experiment {
    /// What is simulated.
    pub scenario: SpaceScenario,
    /// Names of filters.
    pub filters: Vec<String>,
    /// How many runs.
    pub runs: usize,
    /// Of the first run.
    pub seed: u64,
    /// Whether the landmarks are known.
    pub has_map: bool,
}

/// An experiment that cannot be.
#[derive(Debug, thiserror::Error)]
pub enum ExperimentError {
    /// The scenario.
    #[error(transparent)]
    Scenario(#[from] SpaceScenarioError),
    /// A run.
    #[error(transparent)]
    Run(#[from] RunError),
}

/// The numbers of an experiment.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// The name of the scenario.
    pub scenario: String,
    /// How many runs.
    pub runs: usize,
    /// Seed of the first.
    pub seed: u64,
    /// 95 % band of the mean NEES of all runs at one instant, of three degrees of freedom.
    pub band_3: [f64; 2],
    /// The same of six.
    pub band_6: [f64; 2],
    /// In the order that was asked for.
    pub filters: Vec<FilterReport>,
}

/// The numbers of one filter.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct FilterReport {
    /// Its name.
    pub filter: String,
    /// Root mean square of the distance to the true position over all instants and runs, m.
    pub position_rmse_m: f64,
    /// The same of the angle to the true orientation, degrees.
    pub orientation_rmse_deg: f64,
    /// Mean NEES of the position; 3 is right.
    pub nees_position_mean: f64,
    /// Mean NEES of the orientation; 3 is right.
    pub nees_orientation_mean: f64,
    /// Mean NEES of the pose; 6 is right.
    pub nees_pose_mean: f64,
    /// Standard error of the mean NEES of the pose, from run to run.
    pub nees_pose_error: f64,
    /// Greatest NEES of the pose in a run, in the mean over the run.
    pub nees_pose_worst_run: f64,
    /// Share of instants at which the mean NEES of position, orientation and pose is in its band; 0.95 is right.
    pub inside: [f64; 3],
    /// Runs that ended before their time.
    pub ended: usize,
    /// Share of measurements beyond the gate.
    pub gated: f64,
    /// How often a covariance was widened.
    pub widened: usize,
    /// Median time of a step, µs.
    pub step_us: Option<f64>,
}

/// One filter in one run.
#[derive(Clone, Debug, Default)]
struct Score {
    /// Squares of position, m², and orientation, rad², and NEES of position, orientation and pose, at each instant.
    instants: Vec<[f64; 5]>,
    used: usize,
    gated: usize,
    widened: usize,
    is_ended: bool,
    step_us: f64,
}

/// Runs an experiment; `done` is called after each run.
///
/// # Errors
/// [`ExperimentError`].
pub fn carry_out(experiment: &Experiment, done: impl Fn() + Sync) -> Result<Report, ExperimentError> {
    let one = |k: usize| {
        let recording = recording(&experiment.scenario, experiment.seed.wrapping_add(k as u64))?;
        let truth = Truth::of(&recording);
        let options = Options { has_map: experiment.has_map, ..Options::default() };
        let sigma = Settings::of(&recording).truth_sigma;
        let score = |name: &String| {
            let run = run(&recording, &truth, name, &options)?;
            let errors = Errors::new(&run, &truth, sigma);
            let instant = |pair: &super::errors::Pair| {
                let part = |row: usize| pair.error.fixed_rows::<3>(row).norm_squared();
                let [position, orientation, pose] = pair.nees.unwrap_or([f64::NAN; 3]);
                [part(0), part(3), position, orientation, pose]
            };
            let mut steps = run.step_us.clone();
            steps.sort_by(f64::total_cmp);
            Ok(Score {
                instants: errors.pairs.iter().map(instant).collect(),
                used: run.counts.used,
                gated: run.counts.gated,
                widened: run.counts.widened,
                is_ended: run.estimates.len() < recording.frames.len().saturating_sub(1),
                step_us: steps.get(steps.len() / 2).copied().unwrap_or(0.0),
            })
        };
        let scores = experiment.filters.iter().map(score).collect::<Result<Vec<Score>, RunError>>()?;
        done();
        Ok(scores)
    };
    let all: Result<Vec<Vec<Score>>, ExperimentError> = (0..experiment.runs).into_par_iter().map(one).collect();
    let all = all?;
    let band = |dof: usize| {
        let (low, high) = chi_squared_band(experiment.runs * dof, 0.95);
        [low / experiment.runs as f64, high / experiment.runs as f64]
    };
    let of = |(f, name): (usize, &String)| {
        let scores: Vec<&Score> = all.iter().map(|run| &run[f]).collect();
        summed(name, &scores, [band(3), band(3), band(6)])
    };
    Ok(Report {
        scenario: experiment.scenario.name.clone(),
        runs: experiment.runs,
        seed: experiment.seed,
        band_3: band(3),
        band_6: band(6),
        filters: experiment.filters.iter().enumerate().map(of).collect(),
    })
}

fn summed(name: &str, scores: &[&Score], bands: [[f64; 2]; 3]) -> FilterReport {
    let all = || scores.iter().flat_map(|score| &score.instants);
    let count = all().count().max(1) as f64;
    let mean = |k: usize| all().map(|instant| instant[k]).sum::<f64>() / count;
    let n = scores.len().max(1) as f64;
    let of_run = |score: &&Score| {
        score.instants.iter().map(|instant| instant[4]).sum::<f64>() / score.instants.len().max(1) as f64
    };
    let runs: Vec<f64> = scores.iter().map(of_run).collect();
    let middle = runs.iter().sum::<f64>() / n;
    let spread = runs.iter().map(|run| (run - middle).powi(2)).sum::<f64>() / (n - 1.0).max(1.0);
    let shortest = scores.iter().map(|score| score.instants.len()).min().unwrap_or(0);
    let inside = |(k, [low, high]): (usize, [f64; 2])| {
        let at = |i: usize| scores.iter().map(|score| score.instants[i][2 + k]).sum::<f64>() / n;
        fraction_inside((0..shortest).map(at), (low, high)).unwrap_or(0.0)
    };
    let sum = |of: fn(&Score) -> usize| scores.iter().map(|score| of(score)).sum::<usize>();
    let (used, gated) = (sum(|score| score.used), sum(|score| score.gated));
    let mut steps: Vec<f64> = scores.iter().map(|score| score.step_us).collect();
    steps.sort_by(f64::total_cmp);
    FilterReport {
        filter: name.to_owned(),
        position_rmse_m: mean(0).sqrt(),
        orientation_rmse_deg: mean(1).sqrt().to_degrees(),
        nees_position_mean: mean(2),
        nees_orientation_mean: mean(3),
        nees_pose_mean: mean(4),
        nees_pose_error: (spread / n).sqrt(),
        nees_pose_worst_run: runs.iter().copied().fold(0.0, f64::max),
        inside: [0, 1, 2].map(|k| inside((k, bands[k]))),
        ended: scores.iter().filter(|score| score.is_ended).count(),
        gated: gated as f64 / (used + gated).max(1) as f64,
        widened: sum(|score| score.widened),
        step_us: steps.get(steps.len() / 2).copied(),
    }
}

impl Report {
    /// Without the times of steps: the same every time, to the last byte.
    #[must_use]
    pub fn without_times(mut self) -> Self {
        self.filters.iter_mut().for_each(|filter| filter.step_us = None);
        self
    }

    /// As JSON, indented.
    ///
    /// # Errors
    /// None in practice.
    pub fn to_json(&self) -> serde_json::Result<String> {
        serde_json::to_string_pretty(self)
    }

    /// As a table, one line a filter.
    pub fn to_text(&self) -> String {
        let ([low_3, high_3], [low_6, high_6]) = (self.band_3, self.band_6);
        let mut text = format!(
            "scenario: {}, {} runs from seed {}\n95 % of the mean NEES at an instant: {low_3:.2} to {high_3:.2} of three \
             numbers, {low_6:.2} to {high_6:.2} of six\n\n",
            self.scenario, self.runs, self.seed
        );
        // Writing to a String cannot fail.
        let _ = writeln!(
            text,
            "{:<10}{:>13}{:>16}{:>21}{:>14}{:>12}{:>12}{:>20}{:>8}{:>9}{:>7}{:>10}",
            "filter",
            "position [m]",
            "orientation [°]",
            "NEES: pose",
            "worst run",
            "position",
            "orientation",
            "inside p/o/pose [%]",
            "ended",
            "gated",
            "wider",
            "step [µs]"
        );
        for one in &self.filters {
            let nees = format!("{:.2} ± {:.2}", one.nees_pose_mean, one.nees_pose_error);
            let inside = one.inside.map(|share| format!("{:.0}", 100.0 * share)).join(" / ");
            let time = one.step_us.map_or("–".to_owned(), |time| format!("{time:.0}"));
            let _ = writeln!(
                text,
                "{:<10}{:>13.4}{:>16.3}{:>21}{:>14.2}{:>12.2}{:>12.2}{:>20}{:>8}{:>8.2}%{:>7}{:>10}",
                one.filter,
                one.position_rmse_m,
                one.orientation_rmse_deg,
                nees,
                one.nees_pose_worst_run,
                one.nees_position_mean,
                one.nees_orientation_mean,
                inside,
                one.ended,
                100.0 * one.gated,
                one.widened,
                time
            );
        }
        text
    }
}
