//! A recording through the filter, just as the node feeds it: each input in its order of arrival, then every step that
//! is due.

use super::method::Method;
use super::motions::Motions;
use super::study::Study;
use super::timeline::Timeline;
use lienav_base::stamp::Stamp;
use lienav_io::recording::{Input, Recording};
use lienav_lie::Se2;
use lienav_parts::{Parts, Status, Worker};
use lienav_slam::{
    CalibrationEstimate, Config, ConfigError, DropReason, FeatureKind, Filter, InitialConfig, Landmark, LandmarkMap,
    LandmarkMapError, LearnedNoise, MapLandmark, Role, SavedState, Sensor, Slam, StartMode, Step, Subject,
};
use nalgebra::{Matrix2, Matrix3, Vector3};
use serde::Serialize;
use std::collections::BTreeMap;
use std::time::Instant;

/// What a filter made of a recording, or what was heard of one that runs elsewhere.
#[derive(Clone, Debug, Default)]
pub struct Run {
    /// Where the input came from.
    pub source: String,
    /// The name of the filter.
    pub filter: String,
    /// One for each cloud of features that was processed.
    pub estimates: Vec<Estimate>,
    /// Time of each step, µs: the odometry since the last step, and the step itself. Empty where it was not measured.
    pub step_us: Vec<f64>,
    /// What the readings of each cloud were taken for; empty where it was not asked for.
    pub matches: Vec<CloudMatches>,
    /// Landmarks that turned out to be one, in the order of the merges: the identity that is gone, and the one that was
    /// kept. Empty where matches are not kept.
    pub merged: Vec<(u32, u32)>,
    /// What the filter was told of the start; `None` where it is not known.
    pub start: Option<StartBelief>,
    /// The map at the end.
    pub landmarks: Vec<Landmark>,
    /// What was calibrated while running, as known at the end.
    pub calibration: Vec<CalibrationEstimate>,
    /// What was learned of the noise, as known at the end.
    pub noise: Option<LearnedNoise>,
    /// How often the gate was opened because it had starved the filter; 0 where it is not known.
    pub gate_openings: u64,
    /// What was left out, by reason: unreadable input, and what the filter refused.
    pub dropped: BTreeMap<String, u64>,
    /// What the reader of the report should know.
    pub warnings: Vec<String>,
    /// What the filter did over time; `None` where it was not asked for.
    pub timeline: Option<Timeline>,
    /// Of a map in parts: what became of them, and the time that was spent beside the filter, s.
    pub parts: Option<(Status, f64)>,
    /// Motions with their covariance, at the stamps where they end; empty where they were not asked for.
    pub motions: Motions,
}

/// What a filter was told of the start. A start that is believed more than it is right is in every error and in the NEES
/// of the pose from then on.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct StartBelief {
    /// Whether a pose was given; otherwise the robot was searched for.
    pub is_given: bool,
    /// The standard deviation of each coordinate, m; 0 is exact.
    pub position_std_m: f64,
    /// That of the heading, rad.
    pub yaw_std_rad: f64,
}

impl StartBelief {
    /// As configured.
    pub fn of(initial: &InitialConfig) -> Self {
        let &InitialConfig { mode, position_std_m, yaw_std_rad, .. } = initial;
        Self { is_given: mode != StartMode::Unknown, position_std_m, yaw_std_rad }
    }
}

/// The pose after one cloud of features.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// When.
    pub stamp: Stamp,
    /// Pose of the base in the map frame.
    pub pose: Se2,
    /// Covariance of (x, y, θ) in the map frame, (m, m, rad).
    pub covariance: Matrix3<f64>,
    /// What the cloud did; `None` where it is not known.
    pub update: Option<Update>,
}

/// What the readings of a cloud were taken for.
#[derive(Clone, Debug, PartialEq)]
pub struct CloudMatches {
    /// When.
    pub stamp: Stamp,
    /// Those that were associated at all.
    pub readings: Vec<MatchedReading>,
}

/// What a reading was taken for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MatchedReading {
    /// What was read; zeros beyond the sensor's dimension.
    pub value: Vector3<f64>,
    /// The landmark, by the number that the filter gave it.
    pub landmark: u32,
    /// What the filter did with it.
    pub role: Role,
}

/// What a cloud of features did to the filter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Update {
    /// Normalised innovation squared of all accepted observations together.
    pub nis: f64,
    /// Its degrees of freedom.
    pub dof: usize,
    /// Observations used.
    pub accepted: usize,
    /// Observations of new features.
    pub added: usize,
    /// Observations left out.
    pub rejected: usize,
}

impl From<&Step> for Estimate {
    fn from(step: &Step) -> Self {
        let Step { estimate, nis, dof, accepted, added, rejected, .. } = *step;
        Self {
            stamp: estimate.stamp,
            pose: estimate.pose,
            covariance: estimate.covariance,
            update: Some(Update { nis, dof, accepted, added, rejected }),
        }
    }
}

/// Runs the filter or batch estimate that `config` names over a recording. `observer` is told after each input how
/// many are done.
///
/// # Errors
/// A configuration that cannot be used.
pub fn run(recording: &Recording, config: &Config, observer: impl FnMut(usize)) -> Result<Run, ConfigError> {
    run_study(recording, &Study::from(config.clone()), observer)
}

/// The same with the choices of a study.
///
/// # Errors
/// A configuration that cannot be used, or choices without effect on the filter.
pub fn run_study(recording: &Recording, study: &Study, observer: impl FnMut(usize)) -> Result<Run, ConfigError> {
    Ok(feed_all(Method::of_study(study, &[])?, recording, always(observer)))
}

/// The same in a known map; `map.mode` says how it is used.
///
/// # Errors
/// A configuration that cannot be used, choices without effect on the filter, or landmarks that are no map.
pub fn run_in_map(
    recording: &Recording,
    study: &Study,
    map: &LandmarkMap,
    observer: impl FnMut(usize),
) -> Result<Run, RunError> {
    run_while(recording, study, Some(map), always(observer))
}

/// The same, with or without a map, for as long as `goes_on` is true, which is told after each input how many are done.
///
/// # Errors
/// As [`run_in_map`].
pub fn run_while(
    recording: &Recording,
    study: &Study,
    map: Option<&LandmarkMap>,
    goes_on: impl FnMut(usize) -> bool,
) -> Result<Run, RunError> {
    let mut method = Method::of_study(study, &[])?;
    map.map_or(Ok(()), |map| method.set_map(map))?;
    Ok(feed_all(method, recording, goes_on))
}

/// The same, with or without a known map, and with a [`Timeline`] for a page.
///
/// # Errors
/// As [`run_in_map`].
pub fn run_watched(
    recording: &Recording,
    study: &Study,
    map: Option<&LandmarkMap>,
    observer: impl FnMut(usize),
) -> Result<Run, RunError> {
    let mut method = Method::of_study(study, &[])?;
    map.map_or(Ok(()), |map| method.set_map(map))?;
    method.keep_timeline();
    Ok(feed_all(method, recording, always(observer)))
}

/// An observer that never ends a run.
fn always(mut observer: impl FnMut(usize)) -> impl FnMut(usize) -> bool {
    move |done| {
        observer(done);
        true
    }
}

fn feed_all(mut method: Method, recording: &Recording, mut goes_on: impl FnMut(usize) -> bool) -> Run {
    if recording.identities.is_some() {
        method.keep_matches();
    }
    for (index, input) in recording.inputs.iter().enumerate() {
        method.feed(input);
        if !goes_on(index + 1) {
            break;
        }
    }
    let mut run = method.finish();
    run.name_source(recording);
    run
}

/// Why there is no run.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum RunError {
    /// A configuration that cannot be used.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// A map that cannot be used.
    #[error("the map cannot be used: {0}")]
    Map(#[from] LandmarkMapError),
}

/// The true landmarks of a recording as a map with errors of this standard deviation, m, in either coordinate. It is not
/// wrong by that much: the truth is.
pub fn true_map(recording: &Recording, std_m: f64) -> LandmarkMap {
    let covariance = Matrix2::identity() * (std_m * std_m);
    let landmark = |&(id, position): &(u32, _)| MapLandmark { id, class: 0, position, covariance };
    LandmarkMap { landmarks: recording.true_landmarks.iter().map(landmark).collect(), joint: None }
}

/// Runs several filters side by side over input that comes one by one, and is not kept. Of its source, the runs know
/// nothing yet: [`Run::name_source`]. They have a [`Timeline`].
///
/// # Errors
/// A configuration that cannot be used, or choices without effect on the filter.
pub fn run_stream(inputs: impl Iterator<Item = Input>, studies: &[Study]) -> Result<Vec<Run>, ConfigError> {
    let mut sessions =
        studies.iter().map(|study| Method::of_study(study, &[])).collect::<Result<Vec<_>, ConfigError>>()?;
    sessions.iter_mut().for_each(Method::keep_timeline);
    for input in inputs {
        sessions.iter_mut().for_each(|session| session.feed(&input));
    }
    Ok(sessions.into_iter().map(Method::finish).collect())
}

impl Run {
    /// Takes over what a recording says of itself: its name, what was left out of it, its warnings.
    pub fn name_source(&mut self, recording: &Recording) {
        self.source.clone_from(&recording.name);
        for (reason, count) in &recording.dropped {
            *self.dropped.entry(reason.clone()).or_default() += count;
        }
        self.warnings.splice(0..0, recording.warnings.iter().cloned());
    }
}

/// A filter at work: it is fed input by input, and what comes out is kept.
pub struct Session {
    pub(super) slam: Slam,
    /// Of a map in parts.
    parts: Option<Parts>,
    /// What is done beside the filter, in place here, s.
    beside_s: f64,
    estimates: Vec<Estimate>,
    step_us: Vec<f64>,
    since_last_step_us: f64,
    /// What the readings were taken for, where it is asked for.
    matches: Option<Vec<CloudMatches>>,
    merged: Vec<(u32, u32)>,
    timeline: Option<Timeline>,
    motions: Motions,
    /// What kinds of readings came.
    kinds: Vec<FeatureKind>,
}

impl Session {
    /// A filter with these settings and with sensors that a program has added, before any input.
    ///
    /// # Errors
    /// A configuration that cannot be used.
    pub fn new(filter: Filter, config: &Config, sensors: &[Sensor]) -> Result<Self, ConfigError> {
        let mut slam = match config.map.local_features {
            0 => Slam::with_filter(filter, config.clone())?,
            _ => Slam::of_parts(filter, config.clone())?,
        };
        for sensor in sensors {
            slam.add_sensor(sensor.clone())?;
        }
        let parts = Parts::new(&slam, Worker::InPlace)?;
        Ok(Self {
            slam,
            parts,
            beside_s: 0.0,
            estimates: Vec::new(),
            step_us: Vec::new(),
            since_last_step_us: 0.0,
            matches: None,
            merged: Vec::new(),
            timeline: None,
            motions: Motions::new(),
            kinds: Vec::new(),
        })
    }

    /// Keeps what readings are taken for from now on; meant to be called before the first input.
    pub fn keep_matches(&mut self) {
        self.slam.keep_trace();
        self.matches = Some(Vec::new());
    }

    /// Keeps what the filter does over time from now on, for [`Run::timeline`].
    pub fn keep_timeline(&mut self) {
        self.timeline = Some(Timeline::default());
    }

    /// Keeps motions over these durations, s, from now on, for [`Run::motions`]; not of a map in parts.
    pub fn keep_motions(&mut self, over_s: &[f64]) {
        if self.parts.is_none() {
            self.slam.keep_motions(over_s);
        }
    }

    /// Takes in the next input and every step that is due then. What the filter refuses it counts itself.
    pub fn feed(&mut self, input: &Input) {
        if let Input::Features(cloud) = input
            && !self.kinds.contains(&cloud.kind)
        {
            self.kinds.push(cloud.kind);
        }
        self.timed(|slam| match input {
            Input::Odometry(odometry) => slam.odometry(odometry),
            Input::Imu(imu) => slam.imu(imu),
            Input::Features(cloud) => slam.features(cloud.stamp, cloud.kind, &cloud.observations),
        });
        self.collect_steps();
    }

    /// The input has ended: the steps that still wait, and everything about the run but the name of its source.
    pub fn finish(mut self) -> Run {
        self.end();
        let landmarks = match &mut self.parts {
            Some(parts) => {
                let start = Instant::now();
                parts.finish(&mut self.slam);
                self.beside_s += start.elapsed().as_secs_f64();
                parts.landmarks()
            }
            None => self.slam.landmarks().collect(),
        };
        let slam = &self.slam;
        let set_back = (slam.time_jumps() > 0).then(|| format!("time was set back {} times", slam.time_jumps()));
        let opened = (slam.gate_openings() > 0).then(|| {
            format!(
                "the gate left out most of what was seen for too long, {} times: it was opened",
                slam.gate_openings()
            )
        });
        let late = (slam.late_clouds() > 0)
            .then(|| format!("{} clouds came late, and were taken in by going back", slam.late_clouds()));
        let full = self.full_map();
        let free = slam.config().free_scale(self.kinds.iter().copied()).map(str::to_owned);
        let of_parts = self.parts.as_ref().map(|parts| of_parts(parts.status())).unwrap_or_default();
        Run {
            source: String::new(),
            filter: slam.config().filter.clone(),
            start: Some(StartBelief::of(&slam.config().initial)),
            landmarks,
            calibration: slam.calibration().collect(),
            noise: slam.learned_noise(),
            gate_openings: slam.gate_openings(),
            dropped: slam.counts().by_word().into_iter().map(|(reason, count)| (reason.to_owned(), count)).collect(),
            warnings: set_back.into_iter().chain(opened).chain(late).chain(full).chain(free).chain(of_parts).collect(),
            estimates: self.estimates,
            step_us: self.step_us,
            matches: self.matches.unwrap_or_default(),
            merged: self.merged,
            timeline: self.timeline,
            parts: self.parts.map(|parts| (parts.status().clone(), self.beside_s)),
            motions: self.motions,
        }
    }

    /// The same, and the filter as it is at the end, for a run that goes on from there; a map in parts is not saved.
    pub fn finish_saving(mut self) -> (Run, Option<SavedState>) {
        self.end();
        let saved = self.parts.is_none().then(|| self.slam.save());
        (self.finish(), saved)
    }

    /// A full map has no room for what is seen elsewhere: there the filter goes on by odometry alone.
    fn full_map(&self) -> Option<String> {
        let refused = self.slam.counts().get(DropReason::MapFull);
        let is_blind = |update: &Update| update.accepted + update.added == 0 && update.rejected > 0;
        let blind = self.estimates.iter().filter(|e| e.update.as_ref().is_some_and(is_blind)).count();
        let features = self.slam.landmarks().count();
        (refused > 0 && 10 * blind > self.estimates.len()).then(|| {
            format!(
                "the map is full ({features} features): {blind} of {} clouds had nothing that could be used, and the \
                 pose was carried on by odometry alone; raise 'map.max_features' or set 'map.when_full' to \
                 'drop_oldest'",
                self.estimates.len()
            )
        })
    }

    /// Takes the steps that still wait.
    pub(super) fn end(&mut self) {
        self.timed(|slam| {
            slam.finish();
            Ok(())
        });
        self.collect_steps();
        if let (Some(timeline), Some(last)) = (&mut self.timeline, self.estimates.last()) {
            timeline.end(last.stamp, &self.slam);
        }
    }

    fn timed(&mut self, work: impl FnOnce(&mut Slam) -> Result<(), DropReason>) {
        let start = Instant::now();
        let _counted = work(&mut self.slam);
        self.since_last_step_us += start.elapsed().as_secs_f64() * 1e6;
    }

    fn collect_steps(&mut self) {
        loop {
            let start = Instant::now();
            let step = self.slam.poll();
            self.since_last_step_us += start.elapsed().as_secs_f64() * 1e6;
            let Some(step) = step else { return };
            let step = self.joined(step);
            self.estimates.push(Estimate::from(&step));
            if let Some(matches) = &mut self.matches {
                matches.push(CloudMatches { stamp: step.estimate.stamp, readings: last_matches(&self.slam) });
                self.merged.extend_from_slice(self.slam.merged_landmarks());
            }
            if let Some(timeline) = &mut self.timeline
                && self.parts.is_none()
            {
                timeline.note(step.estimate.stamp, &self.slam);
            }
            self.motions.extend(self.slam.motions().map(|motion| (step.estimate.stamp, motion)));
            self.step_us.push(std::mem::take(&mut self.since_last_step_us));
        }
    }
}

/// What the reader should know of a map in parts.
fn of_parts(status: &Status) -> Vec<String> {
    let failed = (status.failed > 0).then(|| {
        let why = status.failure.map_or_else(String::new, |failure| format!(": {failure}"));
        format!(
            "the parts of the map were not joined {} times, and the last good map stayed in force{why}",
            status.failed
        )
    });
    let moved = (status.moved > 0).then(|| {
        format!(
            "{} landmarks were elsewhere than an earlier part of the map has them, and count as others since",
            status.moved
        )
    });
    let without_room = (status.without_room > 0).then(|| {
        format!(
            "the map had no room for landmarks of its parts, {} times; raise 'map.max_features'",
            status.without_room
        )
    });
    failed.into_iter().chain(moved).chain(without_room).collect()
}

impl Session {
    /// The step in the map, where that is made in parts. What is done beside the filter takes no time of the step.
    fn joined(&mut self, step: Step) -> Step {
        let Some(parts) = &mut self.parts else { return step };
        let start = Instant::now();
        parts.collect();
        let begun = Instant::now();
        let step = parts.join(&mut self.slam, step);
        self.beside_s += begun.duration_since(start).as_secs_f64();
        self.since_last_step_us += begun.elapsed().as_secs_f64() * 1e6;
        step
    }
}

/// What the readings of the last step were taken for.
fn last_matches(slam: &Slam) -> Vec<MatchedReading> {
    let readings = slam.trace().and_then(|trace| trace.steps.last()).map(|step| step.readings.as_slice());
    let matched = |traced: &lienav_slam::TracedReading| match traced.subject {
        Subject::Feature((landmark, _)) => {
            Some(MatchedReading { value: *traced.reading.value(), landmark, role: traced.role })
        }
        Subject::Pose => None,
    };
    readings.unwrap_or_default().iter().filter_map(matched).collect()
}

#[cfg(test)]
#[path = "run_tests.rs"]
mod tests;
