//! The record of linearizations.

use crate::slam::Slam;
use lienav_planar::linearized::LinearizedStep;
impl Slam {
    /// Keeps what every step is linearized as from now on; meant to be called before the first input.
    pub fn keep_linearization(&mut self) {
        self.estimator.keep_linearization();
    }

    /// What was kept since [`Slam::keep_linearization`] was called.
    pub fn linearization(&self) -> &[LinearizedStep] {
        self.estimator.linearization()
    }
}
