//! The batch estimate in the place of a filter: fed input by input, solved at the end.

use super::Settings;
use super::problem::Problem;
use super::solve::{Solution, solve, solve_from_afar};
use crate::run::{self, Run, RunError, Update};
use crate::study::Study;
use lienav_io::recording::{Equipment, Input};
use lienav_slam::{Config, ConfigError, LandmarkMap, MapMode, Role, Sensor, Subject, Trace};
use nalgebra::Vector2;
use std::collections::{HashMap, HashSet};
use std::time::Instant;

/// The filter that runs ahead of the batch estimate. What the default has before it, scans that are linearized again,
/// is what the batch estimate does itself.
const FRONT_END: &str = "iterated";

/// A batch estimate that is being fed.
pub struct Session {
    /// [`FRONT_END`]: it associates, gates and forgets, and its estimates are the first guess.
    filter: run::Session,
    name: String,
    config: Config,
    settings: Settings,
    sensors: Vec<Sensor>,
    /// What is known beforehand.
    map: LandmarkMap,
}

impl Session {
    /// Before any input.
    ///
    /// # Errors
    /// A configuration that cannot be used; its filter is replaced by `iterated`.
    pub fn new(study: &Study, settings: Settings, equipment: &Equipment) -> Result<Self, ConfigError> {
        let name = study.filter.clone();
        let config = Config { filter: FRONT_END.into(), ..study.config() };
        let mut filter = run::Session::new(study.composed(FRONT_END)?, &config, equipment)?;
        filter.slam.keep_trace();
        Ok(Self { filter, name, config, settings, sensors: equipment.sensors.clone(), map: LandmarkMap::default() })
    }

    /// Landmarks that are known before the run, as well as the map says. They are estimated with the rest, in every
    /// mode of the map but `mapping`.
    ///
    /// # Errors
    /// Landmarks that are no map, or that cannot be made parts of one.
    pub fn set_map(&mut self, map: &LandmarkMap) -> Result<(), RunError> {
        self.filter.set_map(map)?;
        if self.config.map.mode != MapMode::Mapping {
            self.map.clone_from(map);
        }
        Ok(())
    }

    /// Keeps what the filter ahead takes measurements for.
    pub fn keep_matches(&mut self) {
        self.filter.keep_matches();
    }

    /// Keeps what the filter ahead reads and leaves out over time.
    pub fn keep_timeline(&mut self) {
        self.filter.keep_timeline();
    }

    /// Takes in the next input.
    pub fn feed(&mut self, input: &Input) {
        self.filter.feed(input);
    }

    /// The input has ended: everything about the run but the name of its source.
    pub fn finish(self) -> Run {
        self.solve().0
    }

    /// The same with the solution itself; `None` of a run without scans.
    ///
    /// Where time was set back, only what came after it is estimated. The time of a step is that of the whole by the
    /// number of steps. The run's NIS is what is left of the whole fit, and stands at the last estimate.
    pub fn solve(mut self) -> (Run, Option<Solution>) {
        let start = Instant::now();
        self.filter.end();
        let mut trace = self.filter.slam.trace().cloned().unwrap_or_default();
        let mut run = self.filter.finish();
        if self.config.makes_submaps() {
            in_one_map(&mut trace, &run);
        }
        run.filter = self.name;
        let Some((problem, guess)) =
            Problem::new(&trace, (&self.config, &self.map), &self.settings, &self.sensors, &run.calibration)
        else {
            return (run, None);
        };
        let solution = match self.config.makes_submaps() {
            false => solve(&problem, guess),
            true => solve_from_afar(&problem, guess),
        };
        let spent_us = run.step_us.iter().sum::<f64>() + start.elapsed().as_secs_f64() * 1e6;
        take_over(&mut run, &solution, &trace);
        run.step_us = vec![spent_us / trace.steps.len() as f64; trace.steps.len()];
        if !solution.converged {
            run.dropped.insert("not_converged".into(), 1);
            run.warnings.push(format!("no minimum was found in {} iterations", solution.iterations));
        }
        (run, Some(solution))
    }
}

/// The trace of a map in parts, as one of one map: with the poses and landmarks of the whole. A landmark is new in each
/// part, and in the map once.
fn in_one_map(trace: &mut Trace, run: &Run) {
    let places: HashMap<u32, Vector2<f64>> = run.landmarks.iter().map(|known| (known.id, known.position)).collect();
    let mut begun = HashSet::new();
    let first = run.estimates.len().saturating_sub(trace.steps.len());
    for (step, estimate) in trace.steps.iter_mut().zip(&run.estimates[first..]) {
        step.pose = estimate.pose;
        step.measurements.retain_mut(|traced| {
            let Subject::Landmark((id, place)) = &mut traced.subject else { return true };
            let Some(known) = places.get(id) else { return false };
            *place = *known;
            if matches!(traced.role, Role::First | Role::Again) {
                traced.role = if begun.insert(*id) { Role::First } else { Role::Again };
            }
            true
        });
    }
}

/// Puts the solution in the place of the filter's estimates.
fn take_over(run: &mut Run, solution: &Solution, trace: &Trace) {
    run.estimates.drain(..run.estimates.len().saturating_sub(trace.steps.len()));
    for ((estimate, pose), covariance) in run.estimates.iter_mut().zip(&solution.poses).zip(&solution.covariances) {
        (estimate.pose, estimate.covariance) = (*pose, *covariance);
        estimate.update = estimate.update.map(|update| Update { nis: 0.0, dof: 0, ..update });
    }
    if let Some(update) = run.estimates.last_mut().and_then(|last| last.update.as_mut()) {
        (update.nis, update.dof) = (solution.chi_squared, solution.degrees_of_freedom);
    }
    run.calibration.clone_from(&solution.calibration);
    if let Some(timeline) = &mut run.timeline {
        // Those of the filter ahead: the estimate has one map and one calibration for all times.
        (timeline.maps, timeline.calibration) = Default::default();
    }
    for landmark in &mut run.landmarks {
        // Of a feature that came back, the map has the last life.
        if let Some((_, position, covariance)) = solution.landmarks.iter().rfind(|(id, ..)| *id == landmark.id) {
            (landmark.position, landmark.covariance) = (*position, *covariance);
        }
    }
}
