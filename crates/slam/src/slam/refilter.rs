//! Refiltering: the last scans are processed again when the learned noise differs from that of their first processing.
//!
//! With wrong noise parameters, the filter misweights measurements and odometry until its noise estimate has converged,
//! and the map keeps that error: with a sensor stated four times too noisy and odometry four times too accurate, the
//! map stays bent as the wheels say. So the filter keeps a checkpoint of up to 100 scans ago and the input since. After
//! the 10th, the 30th and the 100th scan it compares the noise estimate with that of the checkpoint. Where a variance
//! has changed, it rewinds and processes the same scans with the present estimate, which learns nothing from them
//! again. If the evidence of landmarks without identity ([`EvidenceTally`]) is lower then, the filter keeps the first
//! result. It takes its next checkpoint afterwards.
//!
//! The cost is bounded: up to 100 steps are made again after one scan, and 140 for each 100 scans, while the map is
//! small; a noise that stays as it is known costs a copy of the state every 100 scans.
//!
//! It is not saved with the filter: one that goes on from what was saved counts anew.

use crate::config::{Config, MapMode};
use crate::inbox::QueuedScan;
use crate::output::{DropReason, Step};
use crate::slam::Slam;
use crate::without::Mechanism;

/// After so many scans it may be looked again. Early, because what is learned first changes most; the last one ends.
const AFTER_SCANS: [usize; 3] = [10, 30, 100];

/// A variance is another one if it has changed by this factor: ten scans of five landmarks know it to one of 1.2.
const CHANGED: f64 = 1.5;

/// Scans are not taken in again where that is less likely than what the filter has made of them, by odds of which this
/// is the logarithm.
const WORSE: f64 = 2.3;

/// With more landmarks, the steps that are made again would take longer than a robot should wait.
const MOST_LANDMARKS: usize = 64;

/// As many messages of odometry and inertial samples are kept that were used. With more between so few scans, nobody
/// looks again.
const MOST_MESSAGES: usize = 4096;

/// A scan with more measurements is not kept: in a map this small, most of them are of no landmark.
const MAX_MEASUREMENTS: usize = 256;

impl Slam {
    /// How often the last scans were taken in again, because the noise turned out to be another than they were taken
    /// in with.
    pub fn refilters(&self) -> u64 {
        self.history.refilter.count
    }

    /// Keeps what a refilter at this scan needs; to be called before it is processed.
    pub(super) fn keep_for_refilter(&mut self, scan: &QueuedScan) {
        let Some(time) = self.at.time.filter(|time| *time <= scan.stamp) else { return };
        if scan.measurements.len() > MAX_MEASUREMENTS {
            return self.end_refilter();
        }
        if self.history.refilter.point.is_none() {
            if !self.is_refiltering() || !self.is_quick() {
                return;
            }
            self.intake.inbox.keep_past(true);
            self.history.refilter.point = Some(self.point(time));
            self.history.refilter.evidence_tally = Some(self.estimator.evidence_tally());
        }
        let copy = self.intake.inbox.copy(scan);
        self.history.refilter.scans.push(copy);
    }

    /// Whether somebody looks again: where noise is learned and a map is made, which keeps what it was made of. Scans
    /// that come late (`timing.rewind_s`) are promised to give to the last bit what they would have given in time, and
    /// a look between would be another one.
    fn is_refiltering(&self) -> bool {
        let Config { learning, timing, .. } = &self.config;
        !self.estimator.model.without.has(Mechanism::Refilter)
            && learning.enabled
            && self.config.filter_mode() == MapMode::Mapping
            && timing.rewind_s == 0.0
    }

    /// Whether steps can be made again quickly.
    fn is_quick(&self) -> bool {
        self.search.global.is_none()
            && self.estimator.state.landmarks.len() <= MOST_LANDMARKS
            && self.intake.inbox.past_messages() <= MOST_MESSAGES
    }

    /// Nobody looks again at the scans that have come.
    pub(super) fn end_refilter(&mut self) {
        if self.history.refilter.point.take().is_some() {
            self.history.refilter.merged.clear();
            self.history.refilter.scans.drain(..).for_each(|scan| self.intake.inbox.recycle(scan));
            self.keep_past_as_needed();
        }
    }

    /// Forgets what was used where nobody goes back any more.
    pub(super) fn keep_past_as_needed(&mut self) {
        let is_needed = self.history.refilter.point.is_some()
            || self.history.undo_loop.is_open()
            || self.history.odometry_faults.oldest().is_some();
        self.intake.inbox.keep_past(is_needed || self.config.timing.rewind_s > 0.0);
        self.forget_past_as_needed();
    }

    /// Forgets what was used before the first time to which somebody goes back.
    pub(super) fn forget_past_as_needed(&mut self) {
        let of_refilter = self.history.refilter.point.as_ref().map(|point| point.time);
        let oldest = [of_refilter, self.history.undo_loop.oldest(), self.history.odometry_faults.oldest()]
            .into_iter()
            .flatten()
            .min();
        if let Some(oldest) = oldest.filter(|_| self.config.timing.rewind_s == 0.0) {
            self.intake.inbox.forget_past(oldest);
        }
    }

    /// Takes in the last scans again, where that is due and the noise is known to be another. Gives what became of the
    /// last one.
    pub(super) fn refilter_scans(&mut self) -> Option<Result<Option<Step>, DropReason>> {
        let point = self.history.refilter.point.as_ref()?;
        if !self.is_quick() {
            self.end_refilter();
            return None;
        }
        self.history.refilter.merged.extend_from_slice(self.estimator.merged());
        let scans = self.history.refilter.scans.len();
        let is_due = AFTER_SCANS.contains(&scans) && point.estimator.has_other_noise(&self.estimator, CHANGED);
        let last = is_due.then(|| self.take_in_again()).flatten();
        if scans >= AFTER_SCANS[AFTER_SCANS.len() - 1] {
            self.end_refilter();
        }
        last
    }

    fn take_in_again(&mut self) -> Option<Result<Option<Step>, DropReason>> {
        if self.is_worse_again() {
            return None;
        }
        self.end_odometry_faults();
        self.believe_loop();
        self.estimator.try_loops(false);
        let point = self.history.refilter.point.take()?;
        let mut scans = std::mem::take(&mut self.history.refilter.scans);
        let noise = self.estimator.noise().cloned();
        let mut again = self.go_back_for_good(point);
        self.estimator.take_noise_for_known(noise);
        self.history.refilter.point = self.at.time.map(|time| self.point(time));
        let mut evidence_tally = self.estimator.evidence_tally();
        let mut last = None;
        // What was read of the pose in a map in parts was told when it came.
        let outside = std::mem::take(&mut self.outside);
        for scan in &mut scans {
            let step = self.take_in(scan);
            self.note_in_tally(&step, &mut evidence_tally);
            self.note_again(&mut again, scan);
            scan.names.take(self.estimator.measurements());
            last = Some(step);
        }
        self.outside = outside;
        let split = std::mem::replace(&mut self.history.refilter.merged, again.merged.clone());
        self.end_again(again, split);
        self.history.refilter.scans = scans;
        self.history.refilter.evidence_tally = Some(evidence_tally);
        self.history.refilter.count += 1;
        self.estimator.learn_noise_again();
        self.commit();
        self.look_ahead();
        last
    }

    /// Whether landmarks without identity are read less, missed more or reinitialized where the last scans are taken in
    /// again: what was told of the noise had taken them for what they are, and what is known of it does not.
    fn is_worse_again(&mut self) -> bool {
        if self.estimator.memory().is_idle() {
            return false;
        }
        let Some(own) = &self.history.refilter.evidence_tally else { return false };
        let least = own.evidence() - WORSE;
        let Some(mut point) = self.history.refilter.point.clone() else { return false };
        let noise = self.estimator.noise().cloned();
        let scans = std::mem::take(&mut self.history.refilter.scans);
        let mut evidence = 0.0;
        let scan_evidence = std::mem::take(&mut self.history.odometry_faults.scan_evidence);
        self.aside(|slam| {
            slam.on(&mut point, |slam| {
                slam.estimator.take_noise_for_known(noise);
                let mut evidence_tally = slam.estimator.evidence_tally();
                for scan in &scans {
                    let _ = slam.take_in_for(scan, &mut evidence_tally, false);
                }
                evidence = evidence_tally.evidence();
            });
        });
        self.history.odometry_faults.scan_evidence = scan_evidence;
        self.estimator.learn_noise_again();
        self.history.refilter.scans = scans;
        evidence < least
    }
}
