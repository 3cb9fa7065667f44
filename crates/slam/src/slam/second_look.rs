//! A second look at the last clouds, where they have taught that the noise is another than they were taken in with.
//!
//! Who is told a wrong noise takes in readings and odometry with wrong weights until it has learned better, and a map
//! keeps what it was made of: with a sensor that is told four times too bad and odometry four times too good it is bent
//! to what the wheels say, for ever. So the filter keeps where it was up to 100 clouds ago, and what came since. After
//! the 10th, the 30th and the 100th cloud it compares what it knows of the noise with what it knew then. Where a
//! variance has changed, it goes back, and takes in the same clouds with what it knows now. They have taught what they
//! can: nothing is learned from them again. Landmarks without identity may be read less then, missed more, or begun anew;
//! where that makes the clouds less likely ([`Account`]), they stay as they were taken in first. Then it keeps where it
//! is, and counts anew.
//!
//! The cost is bounded: up to 100 steps are made again after one cloud, and 140 for each 100 clouds, while the map is
//! small; a noise that stays as it is known costs a copy of the state every 100 clouds.
//!
//! It is not saved with the filter: one that goes on from what was saved counts anew.

use crate::config::{Config, MapMode};
use crate::inbox::QueuedScan;
use crate::output::{DropReason, Step};
use crate::slam::Slam;

/// After so many clouds it may be looked again. Early, because what is learned first changes most; the last one ends.
const LOOKS: [usize; 3] = [10, 30, 100];

/// A variance is another one if it has changed by this factor: ten clouds of five landmarks know it to one of 1.2.
const CHANGED: f64 = 1.5;

/// Clouds are not taken in again where that is less likely than what the filter has made of them, by odds of which this is
/// the logarithm.
const WORSE: f64 = 2.3;

/// With more features, the steps that are made again would take longer than a robot should wait.
const MOST_LANDMARKS: usize = 64;

/// As many messages of odometry and inertial samples are kept that were used. With more between so few clouds, nobody
/// looks again.
const MOST_MESSAGES: usize = 4096;

/// A cloud with more readings is not kept: in a map this small, most of them are of no landmark.
const MAX_MEASUREMENTS: usize = 256;

impl Slam {
    /// How often the last clouds were taken in again, because the noise turned out to be another than they were taken
    /// in with.
    pub fn second_looks(&self) -> u64 {
        self.second_look.looks
    }

    /// Keeps what a second look at this cloud needs; to be called before it is processed.
    pub(super) fn keep_for_second_look(&mut self, scan: &QueuedScan) {
        let Some(time) = self.time.filter(|time| *time <= scan.stamp) else { return };
        if scan.measurements.len() > MAX_MEASUREMENTS {
            return self.end_second_look();
        }
        if self.second_look.point.is_none() {
            if !self.looks_twice() || !self.is_quick() {
                return;
            }
            self.inbox.keep_past(true);
            self.second_look.point = Some(self.point(time));
            self.second_look.account = Some(self.estimator.account());
        }
        let copy = self.inbox.copy(scan);
        self.second_look.scans.push(copy);
    }

    /// Whether somebody looks again: where noise is learned and a map is made, which keeps what it was made of. Clouds
    /// that come late (`timing.rewind_s`) are promised to give to the last bit what they would have given in time, and
    /// a look between would be another one.
    fn looks_twice(&self) -> bool {
        let Config { learning, timing, .. } = &self.config;
        learning.enabled && self.config.filter_mode() == MapMode::Mapping && timing.rewind_s == 0.0
    }

    /// Whether steps can be made again quickly.
    fn is_quick(&self) -> bool {
        self.search.is_none()
            && self.estimator.state.landmarks.len() <= MOST_LANDMARKS
            && self.inbox.past_messages() <= MOST_MESSAGES
    }

    /// Nobody looks again at the clouds that have come.
    pub(super) fn end_second_look(&mut self) {
        if self.second_look.point.take().is_some() {
            self.second_look.merged.clear();
            self.second_look.scans.drain(..).for_each(|scan| self.inbox.recycle(scan));
            self.keep_past_as_needed();
        }
    }

    /// Forgets what was used where nobody goes back any more.
    pub(super) fn keep_past_as_needed(&mut self) {
        let is_needed = self.second_look.point.is_some() || self.take_back.is_open() || self.doubt.oldest().is_some();
        self.inbox.keep_past(is_needed || self.config.timing.rewind_s > 0.0);
        self.forget_past_as_needed();
    }

    /// Forgets what was used before the first time to which somebody goes back.
    pub(super) fn forget_past_as_needed(&mut self) {
        let of_look = self.second_look.point.as_ref().map(|point| point.time);
        let oldest = [of_look, self.take_back.oldest(), self.doubt.oldest()].into_iter().flatten().min();
        if let Some(oldest) = oldest.filter(|_| self.config.timing.rewind_s == 0.0) {
            self.inbox.forget_past(oldest);
        }
    }

    /// Takes in the last clouds again, where that is due and the noise is known to be another. Gives what became of the
    /// last one.
    pub(super) fn look_again(&mut self) -> Option<Result<Option<Step>, DropReason>> {
        let point = self.second_look.point.as_ref()?;
        if !self.is_quick() {
            self.end_second_look();
            return None;
        }
        self.second_look.merged.extend_from_slice(self.estimator.merged());
        let scans = self.second_look.scans.len();
        let is_due = LOOKS.contains(&scans) && point.estimator.has_other_noise(&self.estimator, CHANGED);
        let last = is_due.then(|| self.take_in_again()).flatten();
        if scans >= LOOKS[LOOKS.len() - 1] {
            self.end_second_look();
        }
        last
    }

    fn take_in_again(&mut self) -> Option<Result<Option<Step>, DropReason>> {
        if self.is_worse_again() {
            return None;
        }
        self.end_doubt();
        self.believe_loop();
        self.estimator.try_loops(false);
        let point = self.second_look.point.take()?;
        let mut scans = std::mem::take(&mut self.second_look.scans);
        let noise = self.estimator.noise().cloned();
        let mut again = self.go_back_for_good(point);
        self.estimator.take_noise_for_known(noise);
        self.second_look.point = self.time.map(|time| self.point(time));
        let mut account = self.estimator.account();
        let mut last = None;
        // What was read of the pose in a map in parts was told when it came.
        let outside = std::mem::take(&mut self.outside);
        for scan in &mut scans {
            let step = self.take_in(scan);
            self.note_account(&step, &mut account);
            self.note_again(&mut again, scan);
            scan.names.take(self.estimator.measurements());
            last = Some(step);
        }
        self.outside = outside;
        let split = std::mem::replace(&mut self.second_look.merged, again.merged.clone());
        self.end_again(again, split);
        self.second_look.scans = scans;
        self.second_look.account = Some(account);
        self.second_look.looks += 1;
        self.estimator.learn_noise_again();
        self.commit();
        self.look_ahead();
        last
    }

    /// Whether landmarks without identity are read less, missed more or begun anew where the last clouds are taken in
    /// again: what was told of the noise had taken them for what they are, and what is known of it does not.
    fn is_worse_again(&mut self) -> bool {
        if self.estimator.memory().is_idle() {
            return false;
        }
        let Some(own) = &self.second_look.account else { return false };
        let least = own.evidence() - WORSE;
        let Some(mut point) = self.second_look.point.clone() else { return false };
        let noise = self.estimator.noise().cloned();
        let scans = std::mem::take(&mut self.second_look.scans);
        let mut evidence = 0.0;
        let glances = std::mem::take(&mut self.doubt.glances);
        self.aside(|slam| {
            slam.on(&mut point, |slam| {
                slam.estimator.take_noise_for_known(noise);
                let mut account = slam.estimator.account();
                for scan in &scans {
                    let _ = slam.take_in_for(scan, &mut account, false);
                }
                evidence = account.evidence();
            });
        });
        self.doubt.glances = glances;
        self.estimator.learn_noise_again();
        self.second_look.scans = scans;
        evidence < least
    }
}
