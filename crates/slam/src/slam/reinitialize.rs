//! The filter whose covariance has become invalid reinitializes.
//!
//! The equations of the filter keep its covariance positive semidefinite; rounding with absurd numbers and defects of
//! the program may not, and then every later estimate is wrong without a sign of it. So after each scan the filter
//! checks the covariances of the pose and of each landmark ([`State::is_valid`](lienav_planar::state::State::is_valid)), and
//! whether updates found the joint covariance indefinite. Where the covariance is invalid, the filter forgets the map
//! that it has made and what it has learned of noise, and continues at the last pose with a valid covariance. A known
//! map stays, and with `initial.mode: unknown` the filter searches for the robot in it. The scan counts as
//! [`DropReason::InvalidCovariance`].

use crate::slam::Slam;
use crate::slam::last_valid::Validity;
use lienav_associate::thresholds::CONFIRMING;
use lienav_ekf::validity::valid_covariance;
use lienav_planar::check::check_pose;
use lienav_planar::config::{MapMode, StartMode};
use lienav_planar::motion::Increment;
use lienav_planar::output::{DropReason, Processed, Step};

impl Slam {
    /// Takes note of the scan that was processed last. To be called before scans are taken in again for a comparison.
    pub(super) fn note_validity(&mut self) {
        let Validity { processed, last_valid, indefinite } = &mut self.validity;
        let Some((predicted, is_indefinite)) = processed.take() else { return };
        *indefinite = if is_indefinite { indefinite.saturating_add(1) } else { 0 };
        if valid_covariance(&predicted.covariance).is_some() {
            *last_valid = Some(predicted);
        }
    }

    /// Reinitializes the filter if its covariance is invalid after a scan. `step` is what became of the scan.
    pub(super) fn reinitialize_if_invalid(&mut self, step: Processed) -> Processed {
        let estimate = step.as_ref().ok().and_then(Option::as_ref).map(|step| step.estimate);
        // One update that finds it indefinite may be rounding, of a pose that was given with an absurdly large
        // variance.
        let is_valid = usize::from(self.validity.indefinite) < CONFIRMING
            && self.estimator.state.is_valid()
            && estimate.is_none_or(|estimate| valid_covariance(&estimate.covariance).is_some());
        if is_valid || self.search.global.is_some() {
            return step;
        }
        let last = std::mem::take(&mut self.validity).last_valid;
        let at = last.and_then(|last| Some((last.pose, check_pose(&last.pose, &last.covariance).ok()?)));
        self.tally.counts.add(DropReason::InvalidCovariance);
        self.stay();
        self.end_recovery();
        self.estimator.reinitialize(&self.config, at);
        if self.config.filter_mode() != MapMode::Mapping && self.config.initial.mode == StartMode::Unknown {
            // Where there cannot be a search, the filter goes on at the last pose.
            let _ = self.relocalize();
        }
        let Some(step) = step?.filter(|_| self.search.global.is_none()) else { return Ok(None) };
        let estimate = self.estimate(step.estimate.stamp, &Increment::none(), self.odometry.twist);
        let (accepted, added, rejected) = (0, 0, step.accepted + step.added + step.rejected);
        let landmarks = self.estimator.landmarks();
        Ok(Some(Step { estimate, nis: 0.0, dof: 0, accepted, added, rejected, landmarks }))
    }
}
