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

use crate::history::MAX_LANDMARKS;
use crate::history::checkpoint::Checkpoint;
use crate::slam::Slam;
use lienav_associate::thresholds::TEN_TO_ONE;
use lienav_base::stamp::Stamp;
use lienav_planar::config::{Config, MapMode};
use lienav_planar::output::{DropReason, Step};
use lienav_planar::without::Mechanism;

/// After so many scans it may be looked again. Early, because what is learned first changes most; the last one ends.
const AFTER_SCANS: [usize; 3] = [10, 30, 100];

impl Slam {
    /// How often the last scans were taken in again, because the noise turned out to be another than they were taken
    /// in with.
    pub fn refilters(&self) -> u64 {
        self.history.refilter.count
    }

    /// Keeps a checkpoint if refilter has not got one, before the state moves from `time`.
    pub(super) fn keep_for_refilter(&mut self, time: Stamp) {
        if self.history.refilter.checkpoint.is_none() && self.is_refiltering() && self.is_quick() {
            self.intake.inbox.keep_past(true);
            let (point, evidence_tally) = match self.history.refilter.spare.take() {
                Some((point, mut evidence_tally)) => {
                    self.estimator.begin(&mut evidence_tally);
                    (self.point_in(time, point), evidence_tally)
                }
                None => (self.point(time), self.estimator.evidence_tally()),
            };
            self.history.refilter.checkpoint = Some(Checkpoint { point, scan: self.history.log.next() });
            self.history.refilter.evidence_tally = Some(evidence_tally);
        }
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
        self.search.global.is_none() && self.estimator.state.landmarks.len() <= MAX_LANDMARKS
    }

    /// The last scans are not refiltered.
    pub(super) fn end_refilter(&mut self) {
        if let Some(Checkpoint { point, .. }) = self.history.refilter.checkpoint.take() {
            self.history.refilter.spare = self.history.refilter.evidence_tally.take().map(|tally| (point, tally));
            self.forget_unneeded();
        }
    }

    /// Takes in the last scans again, where that is due and the noise is known to be another. Gives what became of the
    /// last one.
    pub(super) fn refilter_scans(&mut self) -> Option<Result<Option<Step>, DropReason>> {
        /// A variance is another one if it has changed by this factor: ten scans of five landmarks know it to one of
        /// 1.2.
        const CHANGED: f64 = 1.5;
        let Checkpoint { point, scan } = self.history.refilter.checkpoint.as_ref()?;
        if !self.is_quick() {
            self.end_refilter();
            return None;
        }
        let scans = self.history.log.count(*scan);
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
        let Checkpoint { point, scan: from } = self.history.refilter.checkpoint.take()?;
        let split = self.history.log.merged_since(from);
        let scans = self.history.log.take(from);
        let noise = self.estimator.noise().cloned();
        let mut again = self.go_back_for_good(point);
        self.estimator.take_noise_for_known(noise);
        self.history.refilter.checkpoint = self.at.time.map(|time| Checkpoint { point: self.point(time), scan: from });
        let mut evidence_tally = self.estimator.evidence_tally();
        let mut last = None;
        // What was read of the pose in a map in parts was told when it came.
        let outside = std::mem::take(&mut self.of_submaps.outside);
        for mut scan in scans {
            let step = self.take_in(&scan);
            self.note_in_tally(&step, &mut evidence_tally);
            self.note_again(&mut again, &scan);
            scan.names.take(self.estimator.measurements());
            self.history.log.push(scan);
            last = Some(step);
        }
        self.of_submaps.outside = outside;
        self.history.log.note_merges(&again.merged);
        self.end_again(again, split);
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
        let least = own.evidence() - TEN_TO_ONE.ln;
        let Some(Checkpoint { point, scan: from }) = &self.history.refilter.checkpoint else { return false };
        let (mut point, from) = (point.clone(), *from);
        let noise = self.estimator.noise().cloned();
        let log = std::mem::take(&mut self.history.log);
        let mut evidence = 0.0;
        let scan_evidence = std::mem::take(&mut self.history.odometry_faults.scan_evidence);
        self.aside(|slam| {
            slam.on(&mut point, |slam| {
                slam.estimator.take_noise_for_known(noise);
                let mut evidence_tally = slam.estimator.evidence_tally();
                for scan in log.since(from) {
                    let _ = slam.take_in_for(scan, &mut evidence_tally, false);
                }
                evidence = evidence_tally.evidence();
            });
        });
        self.history.odometry_faults.scan_evidence = scan_evidence;
        self.estimator.learn_noise_again();
        self.history.log = log;
        evidence < least
    }
}
