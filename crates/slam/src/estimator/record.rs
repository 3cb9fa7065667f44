//! What the steps of an estimator were linearized as, for whoever wants to look.

use crate::estimator::Estimator;
use lienav_base::stamp::Stamp;
use lienav_planar::linearized::LinearizedStep;

impl Estimator {
    /// Keeps what every step is linearized as from now on.
    pub fn keep_linearization(&mut self) {
        self.rows.record = Some(Box::default());
        self.workspace.rows.record = Some(Box::default());
    }

    /// Whether it is kept.
    pub fn is_recorded(&self) -> bool {
        self.rows.record.is_some()
    }

    /// What was kept.
    pub fn linearization(&self) -> &[LinearizedStep] {
        &self.linearized
    }

    /// Adds the step that was made to those that are kept. Increments of Euler's method were noted before it.
    pub(super) fn record(&mut self, stamp: Stamp) {
        let (Some(motions), Some(step)) = (&mut self.rows.record, &mut self.workspace.rows.record) else { return };
        let mut step = std::mem::take(&mut **step).after(&std::mem::take(&mut **motions));
        step.stamp = stamp;
        step.landmarks.extend(self.state.landmarks.iter().map(|landmark| landmark.id));
        self.linearized.push(step);
    }
}
