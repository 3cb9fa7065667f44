//! The filter where its map is made in parts: what is published, shown and saved is of all of them.

use super::Worker;
use crate::ros::slam_node::report::REINITIALIZED;
use lienav_slam::{Config, ConfigError, DropReason, PoseEstimate, Slam, Step};
use lienav_submaps::{Submaps, Worker as Place};

/// The filter of these settings, and what joins the parts of its map where that is made in parts.
///
/// # Errors
/// Settings that cannot be used.
pub fn filter_of(config: Config) -> Result<(Slam, Option<Submaps>), ConfigError> {
    let slam = match config.makes_submaps() {
        false => Slam::new(config)?,
        true => Slam::of_submaps(config.validate()?, config)?,
    };
    let parts = Submaps::new(&slam, Place::Thread)?;
    Ok((slam, parts))
}

impl Worker {
    /// The next cloud, processed: its pose is in the map.
    pub(super) fn polled(&mut self) -> Option<Step> {
        let landmarks_before = self.slam.reinitialized_landmarks();
        let invalid = DropReason::InvalidCovariance;
        let reinitialized = self.slam.counts().get(invalid);
        // One step at a time: which measurement is of which source, and what became of it.
        self.slam.keep_trace();
        let step = self.slam.poll();
        if self.slam.counts().get(invalid) > reinitialized {
            self.log.warn_of(invalid.word(), || format!("{invalid}: {REINITIALIZED}"));
        }
        let step = step?;
        let traced = self.slam.trace().map_or(Default::default(), |trace| trace.steps.as_slice());
        self.health.processed(&step, traced);
        let count = self.slam.reinitialized_landmarks() - landmarks_before;
        if count > 0 {
            self.log.warn_of("begun_anew", || {
                format!("{count} landmarks are not where the map has them any more, and begin anew where they are seen")
            });
        }
        if self.parts.is_none() {
            self.parts = Submaps::of_outgrown(&mut self.slam, Place::Thread);
            if self.parts.is_some() {
                self.log
                    .info("the map has outgrown one covariance, and goes on in submaps (parameter 'map.when_full')");
            }
            return Some(step);
        }
        let Some(parts) = &mut self.parts else { return Some(step) };
        let before = parts.status().clone();
        let step = parts.join(&mut self.slam, step);
        let status = parts.status();
        if status.moved > before.moved {
            let count = status.moved - before.moved;
            self.log.warn(&format!("{count} landmarks are elsewhere than earlier parts of the map have them"));
        }
        if let Some(error) = status.failure.filter(|_| status.failed > before.failed) {
            self.log.error(&format!("the parts of the map were not joined, the last map stays in force: {error}"));
        }
        Some(step)
    }

    /// The pose in the map at the newest odometry.
    pub(super) fn predicted(&self) -> Option<PoseEstimate> {
        match &self.parts {
            Some(parts) => parts.predicted(&self.slam),
            None => self.slam.predicted(),
        }
    }

    /// The filter was reset, and begins another map, or goes on in the one that it extends.
    pub(super) fn restart_parts(&mut self) {
        if let Some(parts) = &mut self.parts {
            parts.start_again(&mut self.slam);
        }
    }
}
