//! Measurements of the pose in the map, or in the world: they tell where the open submap lies.

use super::Submaps;
use super::time_correlated::TimeCorrelated;
use crate::join::Joined;
use crate::near::Near;
use crate::outside::{BaseMeasurement, distance};
use lienav_slam::{ExternalMeasurement, PoseEstimate, Slam, Step, WorldFrame};

impl Submaps {
    /// Takes in what was read of the pose in the map at this step. `joined` is where the robot was at the last
    /// correction of the filter; the step is what the filter says, in the frame of the open submap.
    pub(super) fn hear(&mut self, slam: &Slam, joined: &Joined, step: Step) -> Step {
        let local = step.estimate;
        let at = PoseEstimate { pose: joined.pose, covariance: joined.covariance, ..local };
        let here = if slam.is_between() { slam.carried_between(&at, local.stamp) } else { at };
        let is_of_world = slam.config().calibration.world.frame == WorldFrame::Estimated;
        let mut step = step;
        let mut is_elsewhere = false;
        for k in 0..slam.outside().len() {
            let measurement = slam.outside()[k];
            if is_of_world && self.near.world.is_none() {
                if !self.find_world(slam, &measurement, &local) {
                    (step.rejected, self.undetermined) = (step.rejected + 1, self.undetermined + 1);
                }
                continue;
            }
            let (pose, covariance) =
                if is_of_world { self.near.in_world(&local) } else { (here.pose, here.covariance) };
            let time_correlated = TimeCorrelated::new(slam.config(), self.since_heard_s(&local));
            let expected = slam.expect_outside(&measurement, &pose).map(|it| time_correlated.expected(&it));
            let Some((expected, square)) = expected.and_then(|it| Some((it, distance(&it, &covariance)?))) else {
                continue;
            };
            if square > expected.gate && !self.is_lost(slam, &local) {
                is_elsewhere = true;
                step.rejected += 1;
                self.left_out += 1;
                continue;
            }
            self.begin_in_the_map();
            if let Some(measurement) = slam.expect_outside(&measurement, &(self.near.seen_from_world() * local.pose)) {
                self.learn(&time_correlated.stated(&measurement), &local);
                self.heard_at = Some(local.stamp);
                (step.accepted, step.nis, step.dof) =
                    (step.accepted + 1, step.nis + square, step.dof + measurement.dim);
            }
        }
        match is_elsewhere {
            true => _ = self.elsewhere_since.get_or_insert(local.stamp),
            false => self.elsewhere_since = None,
        }
        step
    }

    /// How long ago the last measurement was taken in, s; `None` of none, and where time was set back since.
    fn since_heard_s(&self, local: &PoseEstimate) -> Option<f64> {
        self.heard_at.map(|at| local.stamp.since(at)).filter(|since_s| *since_s >= 0.0)
    }

    /// Whether measurements from outside have been elsewhere than the robot is for `gate.starvation_limit_s`: then it
    /// is.
    fn is_lost(&self, slam: &Slam, local: &PoseEstimate) -> bool {
        let limit = slam.config().gate.starvation_limit_s;
        limit > 0.0 && self.elsewhere_since.is_some_and(|since| local.stamp.since(since) > limit)
    }

    fn learn(&mut self, measurement: &ExternalMeasurement, local: &PoseEstimate) {
        let measured =
            BaseMeasurement::new(measurement, &self.near.seen_from_world(), (&local.pose, &local.covariance));
        if self.near.tell(&measured, &mut self.outside).is_some() {
            self.coupling = self.current_coupling();
        }
    }

    /// The map begins at its origin, and what is known of the start leads from there to the first pose.
    fn begin_in_the_map(&mut self) {
        if self.near.world.is_some() || self.problem.begin_at_the_origin() != Some(true) {
            return;
        }
        self.renumbered();
        if self.problem.submaps.iter().any(|placed| !placed.is_outside) {
            self.is_moved = true;
            self.solve();
        }
    }

    /// Poses of the problem have other numbers than in the solution.
    pub(super) fn renumbered(&mut self) {
        self.start = self.problem.start.clone();
        let near = Near { closed: self.problem.closed, ..self.near.clone() };
        self.near = near;
        (self.solution, self.solving, self.asking) = (None, None, None);
        (self.solved, self.answer) = (None, None);
    }
}
