//! The record of a run, for estimators that process all of it at once and must use the same information as the filter.

use lienav_lie::Se2;
use lienav_planar::associated::{Role, Subject};
use lienav_planar::checked::CheckedMeasurement;
use lienav_planar::motion::Segment;
use nalgebra::Vector2;

/// The steps of a run, since time was last set back.
#[derive(Clone, Debug, Default)]
pub struct Trace {
    /// In the order of their stamps.
    pub steps: Vec<TracedStep>,
    /// Odometry since the last step.
    pub(super) segments: Vec<Segment>,
}

/// One scan, and how the robot came there.
#[derive(Clone, Debug)]
pub struct TracedStep {
    /// The filter's pose after the step.
    pub pose: Se2,
    /// The odometry since the step before; in the first step, since the initial pose.
    pub segments: Vec<Segment>,
    /// What was read.
    pub measurements: Vec<TracedMeasurement>,
}

/// One measurement with what it is of.
#[derive(Clone, Copy, Debug)]
pub struct TracedMeasurement {
    /// The landmark, by its identity, and where it is in the map after the step, m; or the pose. A landmark that was
    /// forgotten comes back as [`Role::First`].
    pub subject: Subject<(u32, Vector2<f64>)>,
    /// What was read.
    pub measurement: CheckedMeasurement,
    /// What the filter did with it.
    pub role: Role,
    /// Whether it says by itself where its landmark is, or the landmark has been placed since.
    pub is_placed: bool,
}

/// A measurement of the last step as a picture shows it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SeenMeasurement {
    /// The landmark it was taken for, by its identity; `None` for a measurement of the pose.
    pub landmark: Option<u32>,
    /// Where the measurement alone puts the landmark, in the base frame, m; `None` where it does not say, as a bearing.
    pub place: Option<Vector2<f64>>,
    /// Where the landmark is in the map after the step, m; `None` where it is not in the map any more.
    pub in_map: Option<Vector2<f64>>,
    /// What the filter did with it.
    pub role: Role,
}

/// Where a trace is cut off by going back.
#[derive(Clone)]
pub struct TracePoint {
    steps: usize,
    segments: Vec<Segment>,
}

impl Trace {
    /// Where it is now.
    pub fn point(&self) -> TracePoint {
        TracePoint { steps: self.steps.len(), segments: self.segments.clone() }
    }

    /// Forgets what was added since `point`.
    pub fn go_back(&mut self, point: TracePoint) {
        self.steps.truncate(point.steps);
        self.segments = point.segments;
    }
}
