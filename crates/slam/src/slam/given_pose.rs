//! A pose of the robot that is given from outside.

use crate::slam::Slam;
use lienav_lie::Se2;
use lienav_planar::check::check_pose;
use lienav_planar::output::DropReason;
use nalgebra::Matrix3;

impl Slam {
    /// Puts the robot at a pose given from outside; the map moves with it, rigidly. A known map stays where it is.
    ///
    /// # Errors
    /// A non-finite pose or one farther than 10⁷ m from the origin, or a covariance of (x, y, θ) that is not symmetric
    /// positive semidefinite or beyond (10⁵ m)², π²: larger numbers would drown those of the map in rounding. Counted.
    pub fn set_pose(&mut self, pose: Se2, covariance: &Matrix3<f64>) -> Result<(), DropReason> {
        let checked = check_pose(&pose, covariance);
        self.count(checked.map(|_| ()))?;
        let covariance = checked?;
        self.stop_search();
        self.stay();
        self.recovery.uncertain_place = None;
        self.estimator.set_pose(pose, &covariance);
        Ok(())
    }

    /// Whether [`Slam::set_pose`] takes this pose.
    ///
    /// # Errors
    /// Those of [`Slam::set_pose`]. Counted.
    pub fn check_pose(&mut self, pose: &Se2, covariance: &Matrix3<f64>) -> Result<(), DropReason> {
        self.count(check_pose(pose, covariance).map(|_| ()))
    }
}
