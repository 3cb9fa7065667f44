//! A map in submaps that is moved as a whole, and one map that becomes the first submap.

use super::{CANDIDATE_SCANS, Goes, Submaps, empty};
use crate::common::Coupling;
use crate::near::Near;
use crate::outside::Outside;
use crate::problem::Start;
use crate::submap::Submap;
use crate::work::Worker;
use lienav_base::stamp::Stamp;
use lienav_lie::Se2;
use lienav_slam::{DropReason, LandmarkMap, MapMode, RelocalizeError, Slam, StartMode};
use nalgebra::Matrix3;

/// What a search says of a pose, it has from landmarks of the map, which are read again: that they say it once more
/// does not make the map more certain, so the least squares are told so many times the covariance.
const SEARCHED: f64 = 100.0;

/// One map of more landmarks than this is no submap.
const MOST: usize = 1000;

impl Submaps {
    /// Where the robot is in the map as of the last step, with the covariance of (x, y, θ); `None` of a filter that
    /// says nothing of it.
    pub fn pose(&mut self, slam: &Slam) -> Option<(Se2, Matrix3<f64>)> {
        let joined = self.near.join(&slam.local()?, &self.index, &self.coupling, &mut self.workspace);
        Some((joined.pose, joined.covariance))
    }

    /// Puts the robot at a pose given from outside, with the covariance of (x, y, θ). While `map.mode` is `mapping`,
    /// the map moves with it, rigidly, as of [`Slam::set_pose`], and what was known of where the map lies is forgotten;
    /// in `extend`, the map stays where it is. The filter begins another submap.
    ///
    /// # Errors
    /// Those of [`Slam::set_pose`], counted; and [`DropReason::NotInParts`] where the open submap cannot be closed. The
    /// map stays where it is then.
    pub fn set_pose(&mut self, slam: &mut Slam, pose: Se2, covariance: &Matrix3<f64>) -> Result<(), DropReason> {
        slam.check_pose(&pose, covariance)?;
        Submap::motion(pose, covariance).ok_or(DropReason::NotInParts)?;
        self.end_here(slam).ok_or(DropReason::NotInParts)?;
        slam.set_pose(pose, covariance)?;
        self.begin_with_nothing(slam);
        self.opened_at = self.scans;
        match slam.config().map.mode {
            MapMode::Extend => self.go_on_at(pose, covariance, 1.0).ok_or(DropReason::NotInParts)?,
            MapMode::Mapping | MapMode::Localization => {
                self.problem.move_all(&(pose * self.near.base.inverse()));
                self.problem.lead_to_the_end(pose, covariance).ok_or(DropReason::NotInParts)?;
                self.near.put_at(pose, &Start::new(pose, covariance).covariance(), self.problem.closed);
            }
        }
        self.solve_anew();
        Ok(())
    }

    /// Searches for the robot in the map, wherever it may be; the map stays where it is. The filter begins another
    /// submap where the robot is found. Costs what the number of landmarks says.
    ///
    /// # Errors
    /// [`RelocalizeError`]; nothing is changed then.
    pub fn relocalize(&mut self, slam: &mut Slam) -> Result<(), RelocalizeError> {
        if slam.config().map.mode != MapMode::Extend {
            return Err(RelocalizeError::Mapping);
        }
        let landmarks = self.with_classes(&self.known(slam));
        slam.relocalize_in(LandmarkMap { landmarks, joint: None, near: None })?;
        if self.end_here(slam).is_none() {
            slam.stop_search();
            return Err(RelocalizeError::NotClosed);
        }
        self.begin_with_nothing(slam);
        self.opened_at = self.scans;
        Ok(())
    }

    /// The filter was reset, and begins again. While `map.mode` is `mapping`, all submaps are forgotten; in `extend`,
    /// the closed ones stay where they lie, and the robot is at its initial pose, or is searched for.
    pub fn start_again(&mut self, slam: &mut Slam) {
        if slam.config().map.mode != MapMode::Extend || self.seen.is_empty() {
            return self.forget(slam);
        }
        self.time_jumps = slam.time_jumps();
        self.seen.iter().for_each(|seen| slam.give_identities_after(seen.id));
        // Nobody knows where what the open submap had seen is.
        self.problem.leave_nothing();
        self.begin_with_nothing(slam);
        self.inherited.clear();
        self.recent.clear();
        (self.coupling, self.elsewhere_since, self.heard_at) = (Coupling::default(), None, None);
        self.opened_at = self.scans;
        let initial = slam.config().initial.clone();
        if initial.mode == StartMode::Unknown && self.relocalize(slam).is_ok() {
            // The solution in force is shown until the robot is found, and nothing is closed until then.
            (self.solving, self.asking, self.solved, self.answer) = (None, None, None, None);
            return;
        }
        // A covariance that is none leaves the robot where it was, which measurements contradict.
        let _ = self.go_on_at(initial.pose(), &initial.covariance(), 1.0);
        self.solve_anew();
    }

    /// The robot was searched for, and is at this pose, with the covariance of (x, y, θ). The filter has begun another
    /// submap there.
    pub(super) fn begin_where_found(&mut self, pose: Se2, covariance: &Matrix3<f64>) {
        self.opened_at = self.scans;
        // A covariance that is none leaves the robot at the end of the last submap, which measurements contradict.
        if self.go_on_at(pose, covariance, SEARCHED).is_some() {
            self.solve_anew();
        }
    }

    /// Closes the open submap if there is something in it. `None` if it cannot be closed.
    fn end_here(&mut self, slam: &Slam) -> Option<()> {
        let local = slam.local()?;
        let is_started = !local.is_empty() || local.pose() != Se2::identity();
        (!is_started || self.close(&local, Goes::Nowhere)).then_some(())
    }

    /// The robot is elsewhere in the map, which stays where it is; of the covariance of its pose, the least squares are
    /// told `factor` times as much.
    fn go_on_at(&mut self, pose: Se2, covariance: &Matrix3<f64>, factor: f64) -> Option<()> {
        self.problem.lead_elsewhere(pose, &(covariance * factor))?;
        let closed = self.problem.closed;
        self.put_near(Near { closed, ..Near::start(&Start::new(pose, covariance)) });
        Some(())
    }

    /// What the solution says is of where the map, or the robot, was.
    fn solve_anew(&mut self) {
        self.start = self.problem.start.clone();
        (self.solution, self.solving, self.asking, self.estimate) = (None, None, None, None);
        (self.solved, self.answer) = (None, None);
        (self.outside, self.first_position) = (Outside::none(self.near.seen_from_world()), None);
        self.is_moved = true;
        self.solve();
    }

    /// The filter has a map, in the map's frame, as it was saved or made without submaps: that becomes the first
    /// submap, and the submaps before are forgotten. Returns false, and changes nothing, if it has more than a thousand
    /// landmarks; false and no submap at all if it cannot be closed.
    pub fn adopt(&mut self, slam: &mut Slam) -> bool {
        if slam.local().is_none_or(|local| local.len() > MOST) {
            return false;
        }
        self.forget(slam);
        self.start = Start::Known(Se2::identity());
        (self.problem, self.near) = (empty(&self.start), Near::start(&self.start));
        let is_closed = slam.local().is_some_and(|local| self.close(&local, Goes::Nowhere));
        if is_closed {
            self.opened_at = self.scans;
            self.begin_with_nothing(slam);
        } else {
            self.forget(slam);
        }
        is_closed
    }

    /// For a filter of one map that has not begun yet, and that may go on in submaps (`map.when_full`): in submaps from
    /// the start, to take up a map that was saved so. `None`, and nothing is changed, where it may not.
    pub fn in_place_of_one(slam: &mut Slam, worker: Worker) -> Option<Self> {
        if !slam.may_outgrow_one() {
            return None;
        }
        slam.continue_in_submaps();
        slam.start_submap();
        Self::new(slam, worker).ok()?
    }

    /// The map of a filter that is [outgrown](Slam::is_outgrown), in submaps from now on: what it has is the first one, and
    /// the next one begins with the landmarks of the last scans. `None`, and nothing is changed, where the map is not
    /// outgrown or has more than a thousand landmarks.
    pub fn of_outgrown(slam: &mut Slam, worker: Worker) -> Option<Self> {
        let goes_on = slam.is_outgrown() && slam.local().is_some_and(|local| local.len() <= MOST);
        if goes_on { Self::of_one(slam, worker) } else { None }
    }

    /// The map of a filter that has made one so far, in submaps from now on.
    pub(crate) fn of_one(slam: &mut Slam, worker: Worker) -> Option<Self> {
        slam.continue_in_submaps();
        let mut submaps = Self::new(slam, worker).ok()??;
        submaps.start = Start::Known(Se2::identity());
        (submaps.problem, submaps.near) = (empty(&submaps.start), Near::start(&submaps.start));
        let mut stamps: Vec<Stamp> =
            slam.local().map_or_else(Vec::new, |l| (0..l.len()).map(|i| l.last_seen(i)).collect());
        stamps.sort_unstable();
        stamps.dedup();
        submaps.recent = stamps.split_off(stamps.len().saturating_sub(CANDIDATE_SCANS)).into();
        if slam.local().is_some_and(|local| submaps.close(&local, Goes::On)) {
            submaps.begin_with_the_last(slam);
        }
        Some(submaps)
    }
}
