//! What is kept to go back to, before each scan, and given up again.

use crate::history::{MAX_MEASUREMENTS_OF_A_SCAN, MAX_MESSAGES, Purpose};
use crate::inbox::QueuedScan;
use crate::slam::Slam;
use lienav_planar::output::Processed;

impl Slam {
    /// Keeps what is needed to process this scan again; to be called before it is processed.
    pub(super) fn keep(&mut self, scan: &QueuedScan) {
        if let Some(time) = self.at.time.filter(|time| *time <= scan.stamp) {
            self.keep_for_late_scans(time);
            if scan.measurements.len() > MAX_MEASUREMENTS_OF_A_SCAN {
                self.end_refilter();
                self.end_odometry_faults();
            } else {
                self.keep_for_refilter(time);
                self.keep_for_odometry_faults(time);
            }
            if self.history.oldest().is_some() {
                let copy = self.intake.inbox.copy(scan);
                self.history.log.push(copy);
            }
        }
        self.prepare_loop();
    }

    /// Keeps what became of a scan with it, and no more than may be.
    pub(super) fn note_in_log(&mut self, scan: &QueuedScan, step: &Processed) {
        let mut log = std::mem::take(&mut self.history.log);
        if let Some(kept) = log.last_mut().filter(|kept| kept.place() == scan.place()) {
            self.name(kept, step);
        }
        log.note_merges(self.estimator.merged());
        self.history.log = log;
        self.bound_history();
    }

    /// There is no way back from here: what changed is more than steps change.
    pub(super) fn stay(&mut self) {
        self.history.late.checkpoints.clear();
        self.end_refilter();
        self.end_odometry_faults();
        self.believe_loop();
        self.estimator.leap();
        if let Some(time) = self.at.time {
            self.intake.inbox.forget_past(time);
        }
    }

    /// Gives up the oldest checkpoints while more is kept than may be.
    fn bound_history(&mut self) {
        while let Some((.., purpose)) = self.history.oldest()
            && (self.history.log.is_too_long() || self.intake.inbox.past_messages() > MAX_MESSAGES)
        {
            match purpose {
                Purpose::Late => {
                    self.history.late.checkpoints.pop_front();
                    self.forget_unneeded();
                }
                Purpose::Refilter => self.end_refilter(),
                Purpose::UndoLoop => self.believe_loop(),
                Purpose::OdometryFaults => self.forget_first_branch_point(),
            }
        }
    }

    /// Forgets scans and messages from before the oldest checkpoint.
    pub(super) fn forget_unneeded(&mut self) {
        let oldest = self.history.oldest();
        self.intake.inbox.keep_past(oldest.is_some() || self.config.timing.rewind_s > 0.0);
        let next = self.history.log.next();
        self.history.log.forget_before(oldest.map_or(next, |(scan, ..)| scan), &mut self.intake.inbox);
        if let Some((_, time, _)) = oldest {
            self.intake.inbox.forget_past(time);
        }
    }
}
