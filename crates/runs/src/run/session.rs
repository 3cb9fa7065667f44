//! A filter at work, of which a run keeps what comes out.

use super::nothing_used::Given;
use super::result::{Estimate, MatchedMeasurement, Motions, Run, RunError, ScanMatches, StartBelief, Update};
use crate::timeline::Timeline;
use lienav_io::map_file::MapFile;
use lienav_io::recording::{Equipment, Feeder, Input};
use lienav_slam::{
    Config, ConfigError, DropReason, Filter, LandmarkMap, MapMode, MeasurementKind, Slam, StartMode, Step, Subject,
    Without,
};
use lienav_submaps::{Status, Submaps, Worker};
use std::time::Instant;

/// A filter at work: it is fed input by input, and what comes out is kept.
pub struct Session {
    /// The filter.
    pub slam: Slam,
    /// Which odometry counts.
    feeder: Feeder,
    /// Of a map in parts.
    parts: Option<Submaps>,
    /// What is done beside the filter, in place here, s.
    beside_s: f64,
    estimates: Vec<Estimate>,
    step_us: Vec<f64>,
    since_last_step_us: f64,
    /// What the measurements were taken for, where it is asked for.
    matches: Option<Vec<ScanMatches>>,
    merged: Vec<(u32, u32)>,
    timeline: Option<Timeline>,
    motions: Motions,
    /// What kinds of measurements came.
    kinds: Vec<MeasurementKind>,
    given: Given,
}

impl Session {
    /// A filter with these settings and with what its input needs beside them, before any input.
    ///
    /// # Errors
    /// A configuration that cannot be used.
    pub fn new(filter: Filter, config: &Config, equipment: &Equipment) -> Result<Self, ConfigError> {
        let mut slam = match config.makes_submaps() {
            false => Slam::with_filter(filter, config.clone())?,
            true => Slam::of_submaps(filter, config.clone())?,
        };
        equipment.equip(&mut slam)?;
        let parts = Submaps::new(&slam, Worker::InPlace)?;
        Ok(Self {
            slam,
            feeder: Feeder::new(equipment),
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
            given: Given::default(),
        })
    }

    /// Leaves mechanisms out; meant to be called before the first input.
    pub fn leave_out(&mut self, without: Without) {
        self.slam.leave_out(without);
    }

    /// Gives it a map that is known before the run.
    ///
    /// # Errors
    /// Landmarks that are no map, or that cannot be made parts of one.
    pub fn set_map(&mut self, map: &LandmarkMap) -> Result<(), RunError> {
        match &mut self.parts {
            Some(parts) if self.slam.config().map.mode == MapMode::Extend => {
                map.check()?;
                parts.take_map(&mut self.slam, map)?;
                if self.slam.config().initial.mode == StartMode::Unknown {
                    // In a map without landmarks there is nothing to search in.
                    let _ = parts.relocalize(&mut self.slam);
                }
                Ok(())
            }
            _ => Ok(self.slam.set_map(map.clone())?),
        }
    }

    /// Keeps what measurements are taken for from now on; meant to be called before the first input.
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
        if let Input::Scan(scan) = input
            && !self.kinds.contains(&scan.kind)
        {
            self.kinds.push(scan.kind);
        }
        self.given.add(input);
        let start = Instant::now();
        let _counted = self.feeder.feed(&mut self.slam, input);
        self.since_last_step_us += start.elapsed().as_secs_f64() * 1e6;
        self.collect_steps();
    }

    /// The input has ended: the steps that still wait, and everything about the run but the name of its source.
    pub fn finish(mut self) -> Run {
        self.end();
        let landmarks = match &mut self.parts {
            Some(parts) => {
                let start = Instant::now();
                parts.finish(&mut self.slam);
                self.merged.extend_from_slice(parts.merged_landmarks());
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
        let invalid = slam.counts().get(DropReason::InvalidCovariance);
        let invalid = (invalid > 0).then(|| {
            format!("the covariance was not positive semidefinite, {invalid} times: the filter was reinitialized")
        });
        let late = (slam.late_scans() > 0)
            .then(|| format!("{} clouds came late, and were taken in by going back", slam.late_scans()));
        let full = self.full_map();
        let free = slam.config().free_scale(self.kinds.iter().copied()).map(str::to_owned);
        let calibration = match &self.parts {
            Some(parts) => parts.calibration(slam),
            None => slam.calibration().collect(),
        };
        let updates: Vec<Update> = self.estimates.iter().filter_map(|estimate| estimate.update).collect();
        let nothing_used = self.given.nothing_used(&updates, slam.counts());
        let of_submaps = self.parts.as_ref().map(|parts| of_submaps(parts.status())).unwrap_or_default();
        Run {
            source: String::new(),
            filter: slam.config().filter.clone(),
            start: Some(StartBelief::of(&slam.config().initial)),
            landmarks,
            calibration,
            noise: slam.learned_noise(),
            gate_openings: slam.gate_openings(),
            dropped: slam
                .counts()
                .by_word()
                .into_iter()
                .chain(self.feeder.dropped())
                .map(|(reason, count)| (reason.to_owned(), count))
                .collect(),
            contradictions: nothing_used.into_iter().collect(),
            warnings: set_back
                .into_iter()
                .chain(opened)
                .chain(invalid)
                .chain(late)
                .chain(full)
                .chain(free)
                .chain(of_submaps)
                .chain(self.feeder.switches())
                .collect(),
            estimates: self.estimates,
            step_us: self.step_us,
            matches: self.matches.unwrap_or_default(),
            merged: self.merged,
            timeline: self.timeline,
            parts: self.parts.map(|parts| (parts.status().clone(), self.beside_s)),
            motions: self.motions,
        }
    }

    /// The same, and its map with the filter as it is at the end, for a run that goes on from there. `None` of a map in
    /// parts that cannot be joined.
    pub fn finish_saving(mut self) -> (Run, Option<MapFile>) {
        self.end();
        let saved = self.slam.save();
        let file = match &self.parts {
            None => Some(MapFile::from(saved)),
            Some(parts) => parts.snapshot(&self.slam).solve().ok().map(|whole| MapFile::from((whole, saved))),
        };
        (self.finish(), file)
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
                 'submaps' or 'drop_oldest'",
                self.estimates.len()
            )
        })
    }

    /// Takes the steps that still wait.
    pub fn end(&mut self) {
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
            self.parts = self.parts.take().or_else(|| Submaps::of_outgrown(&mut self.slam, Worker::InPlace));
            self.estimates.push(Estimate::from(&step));
            if let Some(matches) = &mut self.matches {
                matches.push(ScanMatches { stamp: step.estimate.stamp, measurements: last_matches(&self.slam) });
                self.merged.retain(|merge| !self.slam.split_landmarks().contains(merge));
                self.merged.extend_from_slice(self.slam.merged_landmarks());
                self.merged.extend_from_slice(self.parts.as_ref().map_or(&[], Submaps::merged_landmarks));
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
fn of_submaps(status: &Status) -> Vec<String> {
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

/// What the measurements of the last step were taken for.
fn last_matches(slam: &Slam) -> Vec<MatchedMeasurement> {
    let checked_measurements =
        slam.trace().and_then(|trace| trace.steps.last()).map(|step| step.measurements.as_slice());
    let matched = |traced: &lienav_slam::TracedMeasurement| match traced.subject {
        Subject::Landmark((landmark, _)) => {
            Some(MatchedMeasurement { value: *traced.measurement.value(), landmark, role: traced.role })
        }
        Subject::Pose => None,
    };
    checked_measurements.unwrap_or_default().iter().filter_map(matched).collect()
}
