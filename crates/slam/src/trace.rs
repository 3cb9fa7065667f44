//! What a run was made of: for estimators that take all of it at once, and must use the same information as the filter.

use super::Slam;
use super::inbox::Segment;
use super::sensor::Reading;
use super::window::Seen;
use lienav_lie::Se2;
use nalgebra::Vector2;

/// The steps of a run, since time was last set back.
#[derive(Clone, Debug, Default)]
pub struct Trace {
    /// In the order of their stamps.
    pub steps: Vec<TracedStep>,
    /// Odometry since the last step.
    pub(super) segments: Vec<Segment>,
}

/// One cloud, and how the robot came there.
#[derive(Clone, Debug)]
pub struct TracedStep {
    /// The filter's pose after the step.
    pub pose: Se2,
    /// The odometry since the step before; in the first step, since the initial pose.
    pub segments: Vec<Segment>,
    /// What was seen of known features.
    pub sightings: Vec<Sighting>,
}

/// One observation with the feature it is of.
#[derive(Clone, Copy, Debug)]
pub struct Sighting {
    /// The feature's identity. A feature that was forgotten comes back as [`Role::First`].
    pub feature: u32,
    /// What was read.
    pub reading: Reading,
    /// What the filter did with it.
    pub role: Role,
    /// Where the feature is in the map after the step, m.
    pub position: Vector2<f64>,
}

/// What the filter did with an observation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// It started the feature.
    First,
    /// It corrected the estimate.
    Again,
    /// It lay outside the feature's gate and was left out.
    Gated,
}

impl Slam {
    /// Keeps a [`Trace`] from now on; meant to be called before the first input.
    pub fn keep_trace(&mut self) {
        self.trace = Some(Trace::default());
    }

    /// What was kept, where [`Slam::keep_trace`] was called.
    pub fn trace(&self) -> Option<&Trace> {
        self.trace.as_ref()
    }

    /// Adds the step that the filter has just made.
    pub(super) fn trace_step(&mut self) {
        let Some(trace) = &mut self.trace else { return };
        let state = &self.estimator.state;
        let sighting = |&Seen { feature, reading, role, .. }: &Seen| {
            let position = state.landmark(state.find(feature)?).position;
            Some(Sighting { feature, reading, role, position })
        };
        trace.steps.push(TracedStep {
            pose: state.pose,
            segments: std::mem::take(&mut trace.segments),
            sightings: self.estimator.sightings().iter().filter_map(sighting).collect(),
        });
    }
}
