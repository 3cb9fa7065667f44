//! Odometry without corrections.

#[cfg(test)]
use crate::PoseEstimate;
use crate::slam::Slam;
use lienav_base::stamp::Stamp;
use lienav_planar::motion::Increment;

impl Slam {
    /// The motion from the odometry message of `stamp` to the newest one, as the filter has it now: calibrated, with
    /// the yaw rate of an inertial sensor as far as it has come. No motion where none is newer. To be asked for after
    /// each [`Slam::odometry`] and before [`Slam::poll`], which uses up what waits.
    ///
    /// What these motions add up to, each taken once, never jumps: corrections and measurements that come later change
    /// what follows and not what was.
    ///
    /// ```
    /// # use lienav_slam::{Config, Increment, Odometry, Slam, Stamp};
    /// # use nalgebra::Vector2;
    /// let mut slam = Slam::new(Config::default())?;
    /// let (mut driven, mut newest) = (Increment::none(), None);
    /// for k in 0..=10 {
    ///     let stamp = Stamp::from_nanos(100_000_000 * k);
    ///     slam.odometry(&Odometry { stamp, velocity: Vector2::new(1.0, 0.0), yaw_rate: 0.0, covariance: None })?;
    ///     if let Some(since) = newest.replace(stamp) {
    ///         driven = driven.then(&slam.motion_since(since));
    ///     }
    /// }
    /// assert!((driven.motion.p.x - 1.0).abs() < 1e-12);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn motion_since(&self, stamp: Stamp) -> Increment {
        let mut motion = Increment::none();
        let (estimator, config) = (&self.estimator, &self.config.motion);
        self.intake.inbox.segments_since(stamp, |segment| motion = motion.then(&estimator.increment(&segment, config)));
        motion
    }

    /// What [`Slam::look_ahead`] must give, from nothing.
    #[cfg(test)]
    pub(crate) fn ahead_from_nothing(&self) -> Option<PoseEstimate> {
        let (time, newest) = (self.at.time?, self.intake.inbox.newest_odometry()?);
        let mut ahead = Increment::none();
        self.intake
            .inbox
            .walk(time, newest, |s| ahead = ahead.then(&self.estimator.increment(&s, &self.config.motion)));
        Some(self.estimate(newest.max(time), &ahead, self.odometry.newest_twist))
    }
}
