//! A map in parts that is moved as a whole, and one map that becomes the first part.

use super::{Goes, Parts, empty};
use crate::near::Near;
use crate::part::Part;
use crate::problem::Start;
use lienav_lie::Se2;
use lienav_slam::{DropReason, MapMode, Slam};
use nalgebra::Matrix3;

/// One map of more landmarks than this is no part.
const MOST: usize = 1000;

impl Parts {
    /// Where the robot is in the map as of the last step, with the covariance of (x, y, θ); `None` of a filter that says
    /// nothing of it.
    pub fn pose(&mut self, slam: &Slam) -> Option<(Se2, Matrix3<f64>)> {
        let joined = self.near.join(&slam.local()?, &self.index, &self.tie, &mut self.room);
        Some((joined.pose, joined.covariance))
    }

    /// Puts the robot at a pose given from outside, with the covariance of (x, y, θ). While `map.mode` is `mapping`, the
    /// map moves with it, rigidly, as of [`Slam::set_pose`], and what was known of where the map lies is forgotten; in
    /// `extend`, the map stays where it is. The filter begins another part.
    ///
    /// # Errors
    /// Those of [`Slam::set_pose`], counted; and [`DropReason::NotInParts`] where the open part cannot be closed. The
    /// map stays where it is then.
    pub fn set_pose(&mut self, slam: &mut Slam, pose: Se2, covariance: &Matrix3<f64>) -> Result<(), DropReason> {
        slam.check_pose(&pose, covariance)?;
        Part::way(pose, covariance).ok_or(DropReason::NotInParts)?;
        let local = slam.local().ok_or(DropReason::NotInParts)?;
        let is_begun = !local.is_empty() || local.pose() != Se2::identity();
        if is_begun && !self.close(&local, Goes::Nowhere) {
            return Err(DropReason::NotInParts);
        }
        slam.set_pose(pose, covariance)?;
        self.begin_with_nothing(slam);
        self.opened_at = self.clouds;
        match slam.config().map.mode {
            MapMode::Extend => {
                self.problem.lead_elsewhere(pose, covariance).ok_or(DropReason::NotInParts)?;
                let closed = self.problem.closed;
                self.put_near(Near { closed, ..Near::start(&Start::new(pose, covariance)) });
            }
            MapMode::Mapping | MapMode::Localization => {
                self.problem.move_all(&(pose * self.near.base.inverse()));
                self.problem.lead_to_the_end(pose, covariance).ok_or(DropReason::NotInParts)?;
                self.near.put_at(pose, &Start::new(pose, covariance).covariance(), self.problem.closed);
            }
        }
        self.start = self.problem.start.clone();
        // What the solution says is of where the map was.
        (self.solution, self.solving, self.asking, self.estimate) = (None, None, None, None);
        (self.solved, self.answer) = (None, None);
        self.is_moved = true;
        self.solve();
        Ok(())
    }

    /// The filter has a map, in the map's frame, as it was saved or made without parts: that becomes the first part,
    /// and the parts before are forgotten. Returns false, and changes nothing, if it has more than a thousand
    /// landmarks; false and no part at all if it cannot be closed.
    pub fn adopt(&mut self, slam: &mut Slam) -> bool {
        if slam.local().is_none_or(|local| local.len() > MOST) {
            return false;
        }
        self.forget(slam);
        self.start = Start::Known(Se2::identity());
        (self.problem, self.near) = (empty(&self.start), Near::start(&self.start));
        let is_closed = slam.local().is_some_and(|local| self.close(&local, Goes::Nowhere));
        if is_closed {
            self.opened_at = self.clouds;
            self.begin_with_nothing(slam);
        } else {
            self.forget(slam);
        }
        is_closed
    }
}
