//! The pipeline: stamped input in, steps out.

use super::{
    Config, ConfigError, Counts, DropReason, FeatureKind, Imu, Landmark, Observation, Odometry, PoseEstimate, Step,
};
use crate::lie::Se2;
use crate::stamp::Stamp;
use nalgebra::Matrix3;

/// The whole pipeline.
pub struct Slam {
    config: Config,
    counts: Counts,
}

impl Slam {
    /// A filter at its initial pose with an empty map.
    ///
    /// # Errors
    /// A setting out of range or an unknown filter.
    pub fn new(config: Config) -> Result<Self, ConfigError> {
        config.validate()?;
        Ok(Self { config, counts: Counts::default() })
    }

    /// The settings in force.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Changes settings that may change while running.
    ///
    /// # Errors
    /// The sentence to show the user: which setting needs a restart, or is out of range. Nothing is changed then.
    pub fn reconfigure(&mut self, _config: Config) -> Result<(), String> {
        todo!()
    }

    /// Takes in an odometry message. Call [`Slam::poll`] until it gives `None` after each input.
    ///
    /// # Errors
    /// Why it was not used; already counted.
    pub fn odometry(&mut self, _odometry: &Odometry) -> Result<(), DropReason> {
        todo!()
    }

    /// Takes in a gyroscope's yaw rate, which replaces that of the odometry in the intervals it covers.
    ///
    /// # Errors
    /// Why it was not used; already counted.
    pub fn imu(&mut self, _imu: &Imu) -> Result<(), DropReason> {
        todo!()
    }

    /// Takes in a cloud of features. It waits until odometry of its stamp or a later one is there.
    ///
    /// # Errors
    /// Why the cloud was not used; already counted. Single observations that are left out are counted in the step.
    pub fn features(
        &mut self,
        _stamp: Stamp,
        _kind: FeatureKind,
        _observations: &[Observation],
    ) -> Result<(), DropReason> {
        todo!()
    }

    /// Tells the filter what time it is, so that features do not wait for odometry that never comes longer than
    /// `timing.reorder_window_s`. Optional: without it, later input releases them.
    pub fn now(&mut self, _stamp: Stamp) {
        todo!()
    }

    /// The input has ended: features that still wait for odometry are released.
    pub fn finish(&mut self) {
        todo!()
    }

    /// The next cloud that can be processed, processed. One step a cloud, stamps strictly increasing.
    pub fn poll(&mut self) -> Option<Step> {
        todo!()
    }

    /// The pose at the newest odometry: the last step, carried on. `None` before the first odometry.
    pub fn predicted(&self) -> Option<PoseEstimate> {
        todo!()
    }

    /// The features of the map, with covariances in the map frame, as of the last step.
    pub fn landmarks(&self) -> impl Iterator<Item = Landmark> + '_ {
        std::iter::empty()
    }

    /// What was left out so far, by reason.
    pub fn counts(&self) -> &Counts {
        &self.counts
    }

    /// How often time was set back.
    pub fn time_jumps(&self) -> u64 {
        todo!()
    }

    /// Back to the initial pose and an empty map; counts stay.
    pub fn reset(&mut self) {
        todo!()
    }

    /// Puts the robot at a pose given from outside; the map moves with it, rigidly.
    ///
    /// # Errors
    /// A non-finite pose, or a covariance of (x, y, θ) that is not symmetric positive semidefinite.
    pub fn set_pose(&mut self, _pose: Se2, _covariance: &Matrix3<f64>) -> Result<(), DropReason> {
        todo!()
    }

    /// Switches the filter off (input is counted as `disabled`) or on again.
    pub fn set_enabled(&mut self, _enabled: bool) {
        todo!()
    }
}
