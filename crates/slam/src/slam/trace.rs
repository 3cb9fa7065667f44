//! Keeps a [`Trace`](crate::trace::Trace) of the run.

use crate::slam::Slam;
use crate::trace::{SeenMeasurement, Trace, TracedMeasurement, TracedStep};
use lienav_planar::associated::{Associated, Role, Subject};
impl Slam {
    /// The measurements of the last step that were associated, in the order of the scan. Those that were left out
    /// before they could be (ambiguous, out of range …) are only in [`Slam::counts`].
    pub fn seen(&self) -> impl Iterator<Item = SeenMeasurement> + '_ {
        let state = &self.estimator.state;
        self.estimator.measurements().iter().map(move |&Associated { subject, measurement, role, .. }| match subject {
            Subject::Landmark(id) => SeenMeasurement {
                landmark: Some(id),
                place: self.estimator.place(&measurement),
                in_map: state.find(id).map(|index| state.landmark(index).position),
                role,
            },
            Subject::Pose => SeenMeasurement { landmark: None, place: None, in_map: None, role },
        })
    }

    /// What the filter did with each measurement of the last step that was associated: the landmark that it was taken
    /// for, `None` for a measurement of the pose, and its role.
    pub fn decided(&self) -> impl Iterator<Item = (Option<u32>, Role)> + '_ {
        self.estimator.measurements().iter().map(|&Associated { subject, role, .. }| match subject {
            Subject::Landmark(id) => (Some(id), role),
            Subject::Pose => (None, role),
        })
    }

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
        let traced = |&Associated { subject, measurement, role, .. }: &Associated| {
            // As long as a landmark waits for its place, any place does.
            let waits = |id| state.is_waiting(id).then_some(state.pose.p);
            let (subject, is_placed) = match subject {
                Subject::Landmark(id) => {
                    let place = state.find(id).map(|i| state.landmark(i).position);
                    (Subject::Landmark((id, place.or_else(|| waits(id))?)), place.is_some())
                }
                Subject::Pose => (Subject::Pose, true),
            };
            Some(TracedMeasurement { subject, measurement, role, is_placed })
        };
        trace.steps.push(TracedStep {
            pose: state.pose * self.estimator.pending().motion,
            segments: std::mem::take(&mut trace.segments),
            measurements: self.estimator.measurements().iter().filter_map(traced).collect(),
        });
    }
}
