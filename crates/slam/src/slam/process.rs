//! Scans that are due, processed in the order of their stamps.

use crate::inbox::QueuedScan;
use crate::slam::Slam;
use crate::step::Outcome;
use lienav_base::stamp::Stamp;
use lienav_planar::config::Config;
use lienav_planar::input::MeasurementKind;
use lienav_planar::level::level;
use lienav_planar::motion::Increment;
use lienav_planar::output::{DropReason, PoseEstimate, Step};
use lienav_planar::sensor::SensorSet;
use lienav_planar::tilt_noise::TiltNoise;

impl Slam {
    /// The next scan that can be processed, processed; and with it those of other sensors with the same stamp. One step
    /// a stamp, in the order of the stamps. A stamp comes again only where a scan of another sensor was late for it.
    pub fn poll(&mut self) -> Option<Step> {
        let mut joined: Option<Step> = None;
        self.of_submaps.outside.clear();
        loop {
            if joined.as_ref().is_some_and(|step| self.intake.inbox.first_scan() != Some(step.estimate.stamp)) {
                return joined;
            }
            let Some(mut scan) = self.pop_due_scan() else { return joined };
            self.keep(&scan);
            let step = self.process_first(&mut scan);
            self.note_validity();
            self.note_in_log(&scan, &step);
            self.note_scan_evidence(&step);
            let step = self.refilter_scans().unwrap_or(step);
            let step = self.judge_loop(step.as_ref().ok().and_then(Option::as_ref)).unwrap_or(step);
            let step = self.test_odometry_faults(step.as_ref().ok().and_then(Option::as_ref)).unwrap_or(step);
            self.intake.inbox.recycle(scan);
            match self.reinitialize_if_invalid(step) {
                Ok(step) => {
                    self.look_ahead();
                    joined = step.map_or(joined, |step| Some(joined.map_or(step, |before| before.joined_by(step))));
                }
                Err(reason) => self.tally.counts.add(reason),
            }
        }
    }

    /// Processes a scan that comes for the first time: where the prior is too wide to associate it by, the place in the
    /// map is searched for.
    fn process_first(&mut self, scan: &mut QueuedScan) -> Result<Option<Step>, DropReason> {
        self.move_to(scan)?;
        self.level(scan);
        self.note_in_sum(scan);
        let held = match &self.search.global {
            None if !self.passes_by(scan.kind) => self.recover(scan),
            _ => None,
        };
        let motion = *self.estimator.pending();
        let predicted = self.estimate(scan.stamp, &Increment::none(), self.odometry.twist);
        let mut outcome = held.unwrap_or_else(|| self.correct(scan));
        self.note_recovery(&motion, &mut outcome);
        self.recover_if_carried(scan);
        self.check_by_sum(scan);
        Ok(self.take(scan, predicted, outcome))
    }

    /// Moves the state to the instant of a scan, and corrects it with the scan. While the robot is searched for, the
    /// search gets the scan, and there is no step.
    pub(super) fn process(&mut self, scan: &mut QueuedScan) -> Result<Option<Step>, DropReason> {
        self.move_to(scan)?;
        self.level(scan);
        let predicted = self.estimate(scan.stamp, &Increment::none(), self.odometry.twist);
        let outcome = self.correct(scan);
        Ok(self.take(scan, predicted, outcome))
    }

    fn move_to(&mut self, scan: &QueuedScan) -> Result<(), DropReason> {
        let time = self.at.time.filter(|time| scan.stamp >= *time).ok_or(DropReason::NotStarted)?;
        self.advance(time, scan.stamp);
        Ok(())
    }

    /// Levels the measurements of a base whose roll and pitch are known, and says how uncertain these are.
    fn level(&mut self, scan: &mut QueuedScan) {
        let tilt = self.intake.inbox.tilt(scan.stamp);
        if let Some((tilt, (shape, mount))) = tilt.zip(self.estimator.levelled_as(scan.kind)) {
            level(shape, &mount, &tilt, &mut scan.measurements);
        }
        self.estimator.model.tilt = TiltNoise::of(&self.config.motion, tilt.is_some());
    }

    /// Corrects the state with a scan of its instant.
    fn correct(&mut self, scan: &mut QueuedScan) -> Outcome {
        let most = self.config.sensor.max_points;
        let excess = self.intake.bound.choose(&mut scan.measurements, scan.kind, &self.estimator.state, most);
        self.estimator.expect(&scan.names);
        let mut outcome = match &self.search.global {
            None if self.passes_by(scan.kind) => self.pass_by(scan),
            None if excess > 0 => self.estimator.correct_without_learning(scan.stamp, scan.kind, &scan.measurements),
            None => self.estimator.correct(scan.stamp, scan.kind, &scan.measurements),
            Some(_) => self.seek(scan.kind, &scan.measurements),
        };
        outcome.refused.add_many(DropReason::TooManyPoints, excess as u64);
        outcome
    }

    /// Takes note of what became of a scan, with the estimate before it.
    fn take(&mut self, scan: &QueuedScan, predicted: PoseEstimate, outcome: Outcome) -> Option<Step> {
        self.tally.counts.add_all(&outcome.refused);
        self.tally.reinitialized += outcome.reinitialized;
        if self.search.global.is_some() {
            return None;
        }
        self.validity.processed = Some((predicted, outcome.is_indefinite));
        self.note_step(scan.stamp, scan.kind);
        self.trace_step();
        self.search_if_lost(scan.stamp, outcome.accepted, &scan.measurements);
        Some(Step {
            estimate: self.estimate(scan.stamp, &Increment::none(), self.odometry.twist),
            nis: outcome.nis,
            dof: outcome.dof,
            accepted: outcome.accepted,
            added: outcome.added,
            rejected: outcome.refused.total() as usize,
            landmarks: self.estimator.landmarks(),
        })
    }

    fn pop_due_scan(&mut self) -> Option<QueuedScan> {
        let timing = &self.config.timing;
        self.intake.inbox.pop_due_scan(self.window_s(), timing.hold_features_s.min(timing.reorder_window_s))
    }

    fn note_step(&mut self, stamp: Stamp, kind: MeasurementKind) {
        if self.at.last_step != Some(stamp) {
            self.at.last_sensors = SensorSet::default();
        }
        self.at.last_step = Some(stamp);
        self.at.last_sensors.insert(kind);
    }

    /// Takes odometry older than the reorder window into the state.
    pub(super) fn commit(&mut self) {
        while let (Some(time), Some(to)) = (self.at.time, self.intake.inbox.odometry_to_commit(self.window_s())) {
            self.keep_for_late_scans(time);
            self.advance(time, to);
        }
    }

    /// How long odometry is held back: a dead time lets it run ahead of the scans, or behind them, and scans that are
    /// stamped late are of before.
    pub(super) fn window_s(&self) -> f64 {
        let Config { timing, motion, sensor, .. } = &self.config;
        timing.reorder_window_s + motion.delay_s.abs() + sensor.delay_s
    }

    /// Moves the state from `from` to `to` along the odometry that waits.
    pub(super) fn advance(&mut self, from: Stamp, to: Stamp) {
        let (estimator, config) = (&mut self.estimator, &self.config.motion);
        let (twist, steady, trace, sum) =
            (&mut self.odometry.twist, &mut self.odometry.steady, &mut self.trace, &mut self.search.gaussian_sum);
        let mut has_gap = false;
        let used = self.intake.inbox.walk(from, to, |mut s| {
            *twist = s.odometry.twist();
            s.change = steady.follow(&s.odometry);
            has_gap |= s.duration > config.max_step_s;
            if let Some(trace) = trace {
                trace.segments.push(s);
            }
            let increment = estimator.increment(&s, config);
            if let Some(sum) = sum {
                sum.advance(&increment, &estimator.state.calibration);
            }
            estimator.advance(&increment);
        });
        self.recovery.note_gap(has_gap);
        self.intake.inbox.consume(used, to);
        self.odometry.waiting.pop_front(used);
        self.at.time = Some(to.max(from));
    }
}
