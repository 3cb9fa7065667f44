//! Where the pipeline was before a scan, to go back to.

use crate::estimator::EstimatorPoint;
use crate::history::checkpoint::Point;
use crate::slam::Slam;
use lienav_base::stamp::Stamp;
use std::mem::swap;

impl Slam {
    /// Where the filter is, at the instant `time` that its state holds for.
    pub(super) fn point(&self, time: Stamp) -> Point {
        self.point_with(time, Box::new(self.estimator.point()))
    }

    /// As [`Slam::point`], in the memory of a point that is not needed any more.
    pub(super) fn point_in(&self, time: Stamp, mut point: Point) -> Point {
        self.estimator.copy_to(&mut point.estimator);
        self.point_with(time, point.estimator)
    }

    fn point_with(&self, time: Stamp, estimator: Box<EstimatorPoint>) -> Point {
        Point {
            time,
            last_step: self.at.last_step,
            last_sensors: self.at.last_sensors,
            unmatched_since: self.search.unmatched_since,
            twist: self.odometry.twist,
            steady: self.odometry.steady,
            estimator,
            inbox: self.intake.inbox.point(),
            trace: self.trace.as_ref().map(|trace| trace.point()),
        }
    }

    /// To `point`, which is where the filter was then, `now`. What was used after it waits again, but for the scans.
    pub(super) fn exchange(&mut self, now: Stamp, point: &mut Point) {
        let Point { time, last_step, last_sensors, unmatched_since, twist, steady, estimator, inbox, trace } = point;
        let used = self.intake.inbox.point();
        self.intake.inbox.go_back(*time, inbox);
        *inbox = used;
        self.estimator.exchange(estimator);
        self.at.time = Some(*time);
        *time = now;
        swap(&mut self.at.last_step, last_step);
        swap(&mut self.at.last_sensors, last_sensors);
        swap(&mut self.search.unmatched_since, unmatched_since);
        swap(&mut self.odometry.twist, twist);
        swap(&mut self.odometry.steady, steady);
        if let (Some(own), Some(then)) = (&mut self.trace, trace) {
            let cut = own.point();
            own.go_back(std::mem::replace(then, cut));
        }
        self.odometry.waiting.clear();
    }

    /// Back to `point`. What was used after it waits again, but for the scans.
    pub(super) fn go_back(&mut self, mut point: Point) {
        self.exchange(point.time, &mut point);
    }
}
