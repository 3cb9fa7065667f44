//! A map in parts that is moved as a whole, and one map that becomes the first part.

use super::{Goes, Parts, empty};
use crate::near::Near;
use crate::part::Part;
use crate::problem::{Placed, Problem, Start};
use lienav_lie::Se2;
use lienav_slam::{DropReason, Slam};
use nalgebra::Matrix3;
use std::sync::Arc;

/// One map of more landmarks than this is no part.
const MOST: usize = 1000;

impl Parts {
    /// Puts the robot at a pose given from outside, with the covariance of (x, y, θ); the map moves with it, rigidly,
    /// as of [`Slam::set_pose`]. What was known of where the map lies is forgotten. The filter begins another part.
    ///
    /// # Errors
    /// Those of [`Slam::set_pose`], counted; and [`DropReason::NotInParts`] where the open part cannot be closed. The
    /// map stays where it is then.
    pub fn set_pose(&mut self, slam: &mut Slam, pose: Se2, covariance: &Matrix3<f64>) -> Result<(), DropReason> {
        slam.check_pose(&pose, covariance)?;
        let way = Part::way(pose, covariance).ok_or(DropReason::NotInParts)?;
        let local = slam.local().ok_or(DropReason::NotInParts)?;
        let is_begun = !local.is_empty() || local.pose() != Se2::identity();
        if is_begun && !self.close(&local, Goes::Nowhere) {
            return Err(DropReason::NotInParts);
        }
        slam.set_pose(pose, covariance)?;
        self.begin_with_nothing(slam);
        self.opened_at = self.clouds;
        let moved = pose * self.near.base.inverse();
        let problem = &mut self.problem;
        problem.bases.iter_mut().for_each(|base| *base = moved * *base);
        problem.landmarks.iter_mut().for_each(|place| *place = moved.transform(place));
        problem.lead_to_the_end(way);
        self.start = problem.start.clone();
        self.near.put_at(pose, &Start::new(pose, covariance).covariance(), problem.closed);
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

impl Problem {
    /// Begins at the origin, exactly, and knows of where the map lies what this way says, to the last pose. A way that
    /// was led there before says nothing any more, and is left out: however often a pose is given, the problem has one.
    fn lead_to_the_end(&mut self, way: Part) {
        let origin = Se2::identity();
        self.start = Start::Known(origin);
        let is_at_the_start = |placed: &Placed| placed.base == Some(0) || placed.exit == 0;
        let mut first = self.parts.iter().enumerate().filter(|(_, placed)| is_at_the_start(placed));
        let before = match (first.next(), first.next()) {
            (Some((k, placed)), None) if placed.landmarks.is_empty() => Some(k),
            _ => None,
        };
        match before {
            Some(k) => {
                self.parts.remove(k);
                self.bases[0] = origin;
            }
            None => {
                self.bases.insert(0, origin);
                for placed in &mut self.parts {
                    (placed.base, placed.exit) = (placed.base.map(|base| base + 1), placed.exit + 1);
                }
            }
        }
        let exit = self.bases.len() - 1;
        self.parts.push(Placed { part: Arc::new(way), landmarks: Arc::default(), base: Some(0), exit });
        self.closed += 1;
    }
}
