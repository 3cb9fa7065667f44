//! A map in parts that is moved as a whole, and one map that becomes the first part.

use super::{Parts, empty};
use crate::near::Near;
use crate::part::Part;
use crate::problem::{Placed, Start};
use lienav_lie::Se2;
use lienav_slam::{DropReason, Slam};
use nalgebra::Matrix3;
use std::sync::Arc;

/// One map of more landmarks than this is no part.
const MOST: usize = 1000;

impl Parts {
    /// Puts the robot at a pose given from outside, with the covariance of (x, y, θ); the map moves with it, rigidly, as
    /// of [`Slam::set_pose`]. What was known of where the map lies is forgotten. The filter begins another part.
    ///
    /// # Errors
    /// Those of [`Slam::set_pose`], counted; and [`DropReason::NotInParts`] where the open part cannot be closed. The map
    /// stays where it is then.
    pub fn set_pose(&mut self, slam: &mut Slam, pose: Se2, covariance: &Matrix3<f64>) -> Result<(), DropReason> {
        slam.check_pose(&pose, covariance)?;
        let way = Part::way(pose, covariance).ok_or(DropReason::NotInParts)?;
        if !slam.local().is_some_and(|local| self.close(&local)) {
            return Err(DropReason::NotInParts);
        }
        self.forget_recognised();
        slam.set_pose(pose, covariance)?;
        slam.begin_part();
        self.opened_at = self.clouds;
        let moved = pose * self.near.base.inverse();
        let problem = &mut self.problem;
        let origin = Se2::identity();
        problem.start = Start::Known(origin);
        problem.bases = std::iter::once(origin).chain(problem.bases.iter().map(|base| moved * *base)).collect();
        problem.landmarks.iter_mut().for_each(|place| *place = moved.transform(place));
        for placed in &mut problem.parts {
            (placed.base, placed.exit) = (placed.base.map(|base| base + 1), placed.exit + 1);
        }
        let exit = problem.bases.len() - 1;
        problem.parts.push(Placed { part: Arc::new(way), landmarks: Arc::default(), base: Some(0), exit });
        problem.closed += 1;
        self.start = problem.start.clone();
        self.near.put_at(pose, &Start::new(pose, covariance).covariance(), problem.closed);
        // What the solution says is of where the map was.
        (self.solution, self.solving, self.asking, self.estimate) = (None, None, None, None);
        (self.solved, self.answer) = (None, None);
        self.is_moved = true;
        self.solve();
        Ok(())
    }

    /// The filter has a map, in the map's frame, as it was saved or made without parts: that becomes the first part, and
    /// the parts before are forgotten. Returns false, and changes nothing, if it has more than a thousand landmarks; false
    /// and no part at all if it cannot be closed.
    pub fn adopt(&mut self, slam: &mut Slam) -> bool {
        if slam.local().is_none_or(|local| local.len() > MOST) {
            return false;
        }
        self.forget(slam);
        self.start = Start::Known(Se2::identity());
        (self.problem, self.near) = (empty(&self.start), Near::start(&self.start));
        let is_closed = slam.local().is_some_and(|local| self.close(&local));
        if is_closed {
            self.opened_at = self.clouds;
            slam.begin_part();
        } else {
            self.forget(slam);
        }
        is_closed
    }
}
