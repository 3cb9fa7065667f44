//! Where the world lies in the map, from the first measurements on that tell it.

use super::Submaps;
use super::position::Position;
use super::time_correlated::TimeCorrelated;
use crate::outside::{BaseMeasurement, Outside};
use crate::problem::world_of;
use lienav_lie::Se2;
use lienav_slam::{CalibrationEstimate, CheckedMeasurement, PoseEstimate, Slam, world_of_two};
use nalgebra::{Matrix2, Matrix2x3, Vector2};

/// Where the antenna is as seen from the base, m, and its covariance, m².
fn antenna(mount: &Se2, local: &PoseEstimate) -> (Vector2<f64>, Matrix2<f64>) {
    let arm = local.pose.rotation() * mount.p;
    let by_pose = Matrix2x3::new(1.0, 0.0, -arm.y, 0.0, 1.0, arm.x);
    (local.pose.p + arm, by_pose * local.covariance * by_pose.transpose())
}

impl Submaps {
    /// Takes in a measurement while nobody knows where the world lies in the map; says whether it is known then. A pose
    /// tells it. Of positions, two of one submap do, where the robot has driven so far between them that they tell the
    /// heading.
    pub(super) fn find_world(&mut self, slam: &Slam, measurement: &CheckedMeasurement, local: &PoseEstimate) -> bool {
        let read = slam.read_outside(measurement);
        let since_s = |first: Position| local.stamp.since(first.local.stamp);
        let after_s = self.first_position.map(since_s).filter(|since_s| *since_s >= 0.0);
        let time_correlated = [None, after_s].map(|since_s| TimeCorrelated::new(slam.config(), since_s));
        let now = Position { read, measurement: *measurement, local: *local, closed: self.problem.closed };
        let (base, measured) = if read.dim == 3 {
            let sensor = Se2::new(read.value.x, read.value.y, read.value.z);
            (sensor * (local.pose * read.mount).inverse(), vec![now])
        } else {
            let Some(first) = self.first_position.filter(|first| first.closed == now.closed) else {
                self.first_position = Some(now);
                return false;
            };
            let [(from, of_from), (to, of_to)] = [first, now].map(|it| antenna(&it.read.mount, &it.local));
            let of_positions = read.covariance + first.read.covariance;
            let of_time_correlated =
                Matrix2::identity() * time_correlated.iter().map(TimeCorrelated::stated_variance).sum::<f64>();
            let covariance = of_positions.fixed_view::<2, 2>(0, 0) + of_time_correlated + of_from + of_to;
            let [was, is] = [first, now].map(|it| it.read.value.xy());
            let Some(base) = world_of_two((was, from), (is, to), &covariance) else { return false };
            (base, vec![first, now])
        };
        self.first_position = None;
        let mut outside = Outside::none(base);
        for (it, time_correlated) in measured.iter().zip(time_correlated) {
            let Some(expected) = slam.expect_outside(&it.measurement, &(base * it.local.pose)) else { return false };
            let measured =
                BaseMeasurement::new(&time_correlated.stated(&expected), &base, (&it.local.pose, &it.local.covariance));
            if outside.learn(&measured).is_none() {
                return false;
            }
        }
        let outside = outside.settled();
        if self.near.georeference(&outside).is_none() {
            return false;
        }
        (self.outside, self.heard_at) = (outside, Some(local.stamp));
        // What is asked for knows nothing of the world, until the least squares do.
        (self.asking, self.answer) = (None, None);
        self.coupling = self.current_coupling();
        true
    }

    /// Where the world is known to be in the open submap, and the least squares do not know it yet.
    pub(super) fn has_found_world(&self) -> bool {
        self.near.world.is_some() && world_of(&self.problem.submaps).is_none()
    }

    /// Whether the solution does not know where the world lies, and the open submap does.
    pub(super) fn is_world_unsolved(&self) -> bool {
        let is_solved = || self.solution.as_ref().is_some_and(|known| world_of(&known.submaps).is_some());
        self.near.world.is_some() && !is_solved()
    }

    /// What is known of the calibration: what the filter has learned of robot and sensors, and where the map lies in
    /// the world, which the submaps know.
    pub fn calibration(&self, slam: &Slam) -> Vec<CalibrationEstimate> {
        // The filter itself knows nothing of the world, and errors that last are none of what is estimated here.
        let of_filter = slam.calibration().filter(|estimate| !estimate.parameter.is_of_world());
        of_filter.chain(self.near.world_estimates().into_iter().flatten()).collect()
    }
}
