//! Where the pipeline was before a cloud, to go back to.

use super::Slam;
use crate::estimator::EstimatorPoint;
use crate::inbox::InboxPoint;
use crate::sensor::SensorSet;
use crate::steady::SteadyTwist;
use crate::trace::TracePoint;
use lienav_base::stamp::Stamp;
use nalgebra::Vector3;

/// The filter before a cloud.
#[derive(Clone)]
pub(super) struct Point {
    /// The instant that the state holds for.
    pub time: Stamp,
    last_step: Option<Stamp>,
    last_sensors: SensorSet,
    unmatched_since: Option<Stamp>,
    twist: Vector3<f64>,
    steady: SteadyTwist,
    pub estimator: EstimatorPoint,
    inbox: InboxPoint,
    trace: Option<TracePoint>,
}

impl Point {
    /// Whether a cloud of this stamp comes after it, and after the step before it.
    pub fn is_before(&self, stamp: Stamp) -> bool {
        self.time <= stamp && self.last_step.is_none_or(|last| last < stamp)
    }
}

impl Slam {
    /// Where the filter is, at the instant `time` that its state holds for.
    pub(super) fn point(&self, time: Stamp) -> Point {
        Point {
            time,
            last_step: self.last_step,
            last_sensors: self.last_sensors,
            unmatched_since: self.unmatched_since,
            twist: self.twist,
            steady: self.steady,
            estimator: self.estimator.point(),
            inbox: self.inbox.point(),
            trace: self.trace.as_ref().map(|trace| trace.point()),
        }
    }

    /// Back to `point`. What was used after it waits again, but for the clouds.
    pub(super) fn go_back(&mut self, point: Point) {
        let Point { time, last_step, last_sensors, unmatched_since, twist, steady, estimator, inbox, trace } = point;
        self.inbox.go_back(time, &inbox);
        self.estimator.go_back(estimator);
        (self.time, self.last_step) = (Some(time), last_step);
        (self.last_sensors, self.unmatched_since) = (last_sensors, unmatched_since);
        (self.twist, self.steady) = (twist, steady);
        if let (Some(trace), Some(point)) = (&mut self.trace, trace) {
            trace.go_back(point);
        }
        self.waiting.clear();
    }
}
