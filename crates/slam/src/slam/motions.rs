//! The motion since some seconds ago, with its covariance.

use crate::slam::Slam;
use lienav_planar::pose_clones::{Motion, motions};

impl Slam {
    /// From now on keeps what is needed to know the motion over these durations, s: some more landmarks in the state,
    /// which no measurement is compared with. Estimates stay the same up to rounding. In a map that is frozen there are
    /// no motions.
    pub fn keep_motions(&mut self, over_s: &[f64]) {
        self.estimator.model.motions_over_s = over_s.iter().copied().filter(|over_s| *over_s > 0.0).collect();
        self.stay();
    }

    /// The motions that end with the last step: for each duration about five in that time.
    pub fn motions(&self) -> impl Iterator<Item = Motion> + '_ {
        self.at.last_step.into_iter().flat_map(|stamp| motions(&self.estimator.state, stamp))
    }
}
