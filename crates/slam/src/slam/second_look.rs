//! A second look at the last clouds, where they have taught that the noise is another than they were taken in with.
//!
//! Who is told a wrong noise takes in readings and odometry with wrong weights until it has learned better, and a map
//! keeps what it was made of: with a sensor that is told four times too bad and odometry four times too good it is bent
//! to what the wheels say, for ever. So the filter keeps where it was up to 100 clouds ago, and what came since. After
//! the 10th, the 30th and the 100th cloud it compares what it knows of the noise with what it knew then. Where a
//! variance has changed, it goes back, and takes in the same clouds with what it knows now. They have taught what they
//! can: nothing is learned from them again. Then it keeps where it is, and counts anew.
//!
//! The cost is bounded: up to 100 steps are made again after one cloud, and 140 for each 100 clouds, while the map is
//! small; a noise that stays as it is known costs a copy of the state every 100 clouds.
//!
//! It is not saved with the filter: one that goes on from what was saved counts anew.

use super::Slam;
use super::point::Point;
use crate::inbox::Cloud;
use crate::{Config, DropReason, MapMode, Step};

/// After so many clouds it may be looked again. Early, because what is learned first changes most; the last one ends.
const LOOKS: [usize; 3] = [10, 30, 100];

/// A variance is another one if it has changed by this factor: ten clouds of five landmarks know it to one of 1.2.
const CHANGED: f64 = 1.5;

/// With more features, the steps that are made again would take longer than a robot should wait.
const MOST_FEATURES: usize = 64;

/// As many messages of odometry and inertial samples are kept that were used. With more between so few clouds, nobody
/// looks again.
const MOST_MESSAGES: usize = 4096;

/// A cloud with more readings is not kept: in a map this small, most of them are of no landmark.
const MOST_READINGS: usize = 256;

/// Where the filter was, and the clouds that have come since, in the order of their places.
#[derive(Default)]
pub(super) struct SecondLook {
    point: Option<Point>,
    clouds: Vec<Cloud>,
    /// How often it was looked again.
    looks: u64,
}

impl Slam {
    /// How often the last clouds were taken in again, because the noise turned out to be another than they were taken
    /// in with.
    pub fn second_looks(&self) -> u64 {
        self.second_look.looks
    }

    /// Keeps what a second look at this cloud needs; to be called before it is processed.
    pub(super) fn keep_for_second_look(&mut self, cloud: &Cloud) {
        let Some(time) = self.time.filter(|time| *time <= cloud.stamp) else { return };
        if cloud.observations.len() > MOST_READINGS {
            return self.end_second_look();
        }
        if self.second_look.point.is_none() {
            if !self.looks_twice() || !self.is_quick() {
                return;
            }
            self.inbox.keep_past(true);
            self.second_look.point = Some(self.point(time));
        }
        let copy = self.inbox.copy(cloud);
        self.second_look.clouds.push(copy);
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
            && self.estimator.state.features.len() <= MOST_FEATURES
            && self.inbox.past_messages() <= MOST_MESSAGES
    }

    /// Nobody looks again at the clouds that have come.
    pub(super) fn end_second_look(&mut self) {
        if self.second_look.point.take().is_some() {
            self.second_look.clouds.drain(..).for_each(|cloud| self.inbox.recycle(cloud));
            self.keep_past_as_needed();
        }
    }

    /// Forgets what was used where nobody goes back any more.
    pub(super) fn keep_past_as_needed(&mut self) {
        let is_needed = self.second_look.point.is_some() || self.take_back.is_open();
        self.inbox.keep_past(is_needed || self.config.timing.rewind_s > 0.0);
    }

    /// Takes in the last clouds again, where that is due and the noise is known to be another. Gives what became of the
    /// last one.
    pub(super) fn look_again(&mut self) -> Option<Result<Option<Step>, DropReason>> {
        let point = self.second_look.point.as_ref()?;
        if !self.is_quick() {
            self.end_second_look();
            return None;
        }
        let clouds = self.second_look.clouds.len();
        let is_due = LOOKS.contains(&clouds) && point.estimator.has_other_noise(&self.estimator, CHANGED);
        let last = is_due.then(|| self.take_in_again()).flatten();
        if clouds >= LOOKS[LOOKS.len() - 1] {
            self.end_second_look();
        }
        last
    }

    fn take_in_again(&mut self) -> Option<Result<Option<Step>, DropReason>> {
        self.believe_loop();
        self.estimator.try_loops(false);
        let point = self.second_look.point.take()?;
        let clouds = std::mem::take(&mut self.second_look.clouds);
        let noise = self.estimator.noise().cloned();
        self.go_back(point);
        self.estimator.take_noise_for_known(noise);
        self.second_look.point = self.time.map(|time| self.point(time));
        let mut last = None;
        // What was read of the pose in a map in parts was told when it came.
        let outside = std::mem::take(&mut self.outside);
        for cloud in &clouds {
            let mut copy = self.inbox.copy(cloud);
            // What is left out of it was counted when it was processed first.
            let counted = (self.counts, self.begun_anew);
            last = Some(self.process(&mut copy));
            (self.counts, self.begun_anew) = counted;
            self.inbox.recycle(copy);
        }
        self.outside = outside;
        self.second_look.clouds = clouds;
        self.second_look.looks += 1;
        self.estimator.learn_noise_again();
        self.commit();
        self.look_ahead();
        last
    }
}
