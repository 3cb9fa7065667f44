//! Readings of the pose in the map, or in the world: they tell where the open part lies.

use super::Parts;
use super::lasting::Lasting;
use crate::near::{Joined, Near};
use crate::outside::{Outside, Told, distance};
use crate::problem::world_of;
use lienav_lie::Se2;
use lienav_slam::{
    CalibrationEstimate, CalibrationParameter, OutsideReading, PoseEstimate, ReadOutside, Reading, Slam, Step,
    WorldFrame,
};
use nalgebra::{Matrix2, Matrix2x3, Vector2};

/// The world is in the map when its heading there is known to this, rad: readings are nearly linear in it then.
const HEADING_STD: f64 = 0.15;

/// A position that was read in the open part, before it is known where the world lies.
#[derive(Clone, Copy, Debug)]
pub(super) struct First {
    read: ReadOutside,
    reading: Reading,
    /// The robot as seen from the base, with the covariance of (x, y, θ).
    local: PoseEstimate,
    /// Parts that were closed before the open one.
    closed: usize,
}

/// Where the antenna is as seen from the base, m, and its covariance, m².
fn antenna(mount: &Se2, local: &PoseEstimate) -> (Vector2<f64>, Matrix2<f64>) {
    let arm = local.pose.rotation() * mount.p;
    let by_pose = Matrix2x3::new(1.0, 0.0, -arm.y, 0.0, 1.0, arm.x);
    (local.pose.p + arm, by_pose * local.covariance * by_pose.transpose())
}

impl Parts {
    /// Takes in what was read of the pose in the map at this step. `joined` is where the robot was at the last correction
    /// of the filter; the step is what the filter says, in the frame of the open part.
    pub(super) fn hear(&mut self, slam: &Slam, joined: &Joined, step: Step) -> Step {
        let local = step.estimate;
        let at = PoseEstimate { pose: joined.pose, covariance: joined.covariance, ..local };
        let here = if slam.is_between() { slam.carried_between(&at, local.stamp) } else { at };
        let is_of_world = slam.config().calibration.world.frame == WorldFrame::Estimated;
        let mut step = step;
        let mut is_elsewhere = false;
        for k in 0..slam.outside().len() {
            let reading = slam.outside()[k];
            if is_of_world && self.near.world.is_none() {
                if !self.find_world(slam, &reading, &local) {
                    (step.rejected, self.undetermined) = (step.rejected + 1, self.undetermined + 1);
                }
                continue;
            }
            let (pose, covariance) =
                if is_of_world { self.near.in_world(&local) } else { (here.pose, here.covariance) };
            let lasting = Lasting::new(slam.config(), self.heard_at.map(|at| local.stamp.since(at)));
            let expected = slam.expect_outside(&reading, &pose).map(|it| lasting.expected(&it));
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
            if let Some(reading) = slam.expect_outside(&reading, &(self.near.seen_from_world() * local.pose)) {
                self.learn(&lasting.told(&reading), &local);
                self.heard_at = Some(local.stamp);
                (step.accepted, step.nis, step.dof) = (step.accepted + 1, step.nis + square, step.dof + reading.dim);
            }
        }
        match is_elsewhere {
            true => _ = self.elsewhere_since.get_or_insert(local.stamp),
            false => self.elsewhere_since = None,
        }
        step
    }

    /// Whether readings from outside have been elsewhere than the robot is for `gate.starvation_limit_s`: then it is.
    fn is_lost(&self, slam: &Slam, local: &PoseEstimate) -> bool {
        let limit = slam.config().gate.starvation_limit_s;
        limit > 0.0 && self.elsewhere_since.is_some_and(|since| local.stamp.since(since) > limit)
    }

    fn learn(&mut self, reading: &OutsideReading, local: &PoseEstimate) {
        let told = Told::new(reading, &self.near.seen_from_world(), (&local.pose, &local.covariance));
        if self.near.tell(&told, &mut self.outside).is_some() {
            self.tie = self.tie_of_now();
        }
    }

    /// The map begins at its origin, and what is known of the start leads from there to the first pose.
    fn begin_in_the_map(&mut self) {
        if self.near.world.is_some() || self.problem.begin_at_the_origin() != Some(true) {
            return;
        }
        self.renumbered();
        if self.problem.parts.iter().any(|placed| !placed.is_outside) {
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

    /// Takes in a reading while nobody knows where the world lies in the map; says whether it is known then. A pose tells
    /// it. Of positions, two of one part do, where the robot has driven so far between them that they tell the heading.
    fn find_world(&mut self, slam: &Slam, reading: &Reading, local: &PoseEstimate) -> bool {
        let read = slam.read_outside(reading);
        let after_s = self.first.map(|first| local.stamp.since(first.local.stamp));
        let lasting = [None, after_s].map(|since_s| Lasting::new(slam.config(), since_s));
        let now = First { read, reading: *reading, local: *local, closed: self.problem.closed };
        let (base, told) = if read.dim == 3 {
            let sensor = Se2::new(read.value.x, read.value.y, read.value.z);
            (sensor * (local.pose * read.mount).inverse(), vec![now])
        } else {
            let Some(first) = self.first.filter(|first| first.closed == now.closed) else {
                self.first = Some(now);
                return false;
            };
            let [(from, of_from), (to, of_to)] = [first, now].map(|it| antenna(&it.read.mount, &it.local));
            let (driven, seen) = (to - from, read.value.xy() - first.read.value.xy());
            let of_positions = read.covariance + first.read.covariance;
            let of_lasting = Matrix2::identity() * lasting.iter().map(Lasting::variance_told).sum::<f64>();
            let spread = of_positions.fixed_view::<2, 2>(0, 0) + of_lasting + of_from + of_to;
            let square = driven.norm_squared();
            if square < 1e-6 || 0.5 * spread.trace() > HEADING_STD * HEADING_STD * square {
                return false;
            }
            let turn = Se2::new(0.0, 0.0, seen.y.atan2(seen.x) - driven.y.atan2(driven.x));
            let shift = read.value.xy() - turn.rotation() * to;
            (Se2::new(shift.x, shift.y, turn.theta), vec![first, now])
        };
        self.first = None;
        let mut outside = Outside::none(base);
        for (it, lasting) in told.iter().zip(lasting) {
            let Some(expected) = slam.expect_outside(&it.reading, &(base * it.local.pose)) else { return false };
            let told = Told::new(&lasting.told(&expected), &base, (&it.local.pose, &it.local.covariance));
            if outside.learn(&told).is_none() {
                return false;
            }
        }
        let outside = outside.settled();
        if self.near.tie_to_world(&outside).is_none() {
            return false;
        }
        (self.outside, self.heard_at) = (outside, Some(local.stamp));
        // What is asked for knows nothing of the world, until the least squares do.
        (self.asking, self.answer) = (None, None);
        self.tie = self.tie_of_now();
        true
    }

    /// Where the world is known to be in the open part, and the least squares do not know it yet.
    pub(super) fn has_found_world(&self) -> bool {
        self.near.world.is_some() && world_of(&self.problem.parts).is_none()
    }

    /// Whether the solution does not know where the world lies, and the open part does.
    pub(super) fn is_world_unsolved(&self) -> bool {
        let is_solved = || self.solution.as_ref().is_some_and(|known| world_of(&known.parts).is_some());
        self.near.world.is_some() && !is_solved()
    }

    /// What is known of the calibration: what the filter has learned of robot and sensors, and where the map lies in the
    /// world, which the parts know.
    pub fn calibration(&self, slam: &Slam) -> Vec<CalibrationEstimate> {
        let of_world = self.near.world_estimates();
        let known = |estimate: CalibrationEstimate| {
            let own = of_world.iter().flatten().find(|own| own.parameter == estimate.parameter);
            own.copied().unwrap_or(estimate)
        };
        // Errors that last are none of what is estimated here.
        let is_estimated = |estimate: &CalibrationEstimate| {
            !matches!(estimate.parameter, CalibrationParameter::ErrorX | CalibrationParameter::ErrorY)
        };
        slam.calibration().filter(is_estimated).map(known).collect()
    }
}
