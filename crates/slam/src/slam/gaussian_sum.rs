//! The Gaussian sum beside the filter, for a sensor that measures a few landmarks without identity at a time: it finds
//! the robot in a known map, and checks that the filter has not lost it.
//!
//! The filter follows few hypotheses from one start, with all that is known of noise and calibration. After an odometry
//! fault none of them may be right, and measurements of other landmarks fit soon. The sum has the poses that the filter
//! does not follow. Where the filter's pose is not very likely, it is not published: the
//! robot is searched for until the sum has found it.

use super::Slam;
use crate::inbox::QueuedScan;
use crate::{Config, Discretization, MapMode};
use lienav_associate::gaussian_sum::GaussianSum;
use lienav_associate::thresholds::VERY_LIKELY;
use lienav_lie::Se2;
use lienav_planar::motion::Increment;
use lienav_planar::without::Mechanism;
use nalgebra::Matrix3;

impl Slam {
    /// Whether a scan is of the sort that the sum is for.
    fn uses_sum(&self, scan: &QueuedScan) -> bool {
        !self.estimator.model.without.has(Mechanism::GaussianSum)
            && self.config.filter_mode() == MapMode::Localization
            && self.config.timing.rewind_s == 0.0
            && GaussianSum::has_room(self.estimator.model.known.len())
            && self.filter().discretization() != Discretization::Euler
            && !self.estimator.model.sensors.reads_pose(scan.kind)
            && scan.measurements.iter().any(|measurement| measurement.id.is_none())
    }

    /// Gives a scan to the sum, which begins where the filter is, or anywhere while the robot is searched for. To be
    /// called at the instant of the scan, before it corrects the state.
    pub(super) fn note_in_sum(&mut self, scan: &QueuedScan) {
        if !self.uses_sum(scan) {
            return;
        }
        if self.search.gaussian_sum.is_none() {
            let config = Config { sensor: self.estimator.sensor(&self.config.sensor), ..self.config.clone() };
            let mut sum = GaussianSum::new(&self.map(), self.filter(), &config, self.estimator.added());
            if self.search.global.is_none() {
                let (pose, covariance) = self.estimator.carried(self.estimator.pending());
                sum.begin(&pose, &covariance);
            }
            self.search.gaussian_sum = Some(Box::new(sum));
        }
        if let Some(sum) = &mut self.search.gaussian_sum {
            sum.observe(scan.stamp, scan.kind, &scan.measurements);
        }
    }

    /// Where the robot was found. `None` if it was not, `Some(None)` if the sum is not for this sensor or this map.
    pub(super) fn found_by_sum(&self) -> Option<Option<(Se2, Matrix3<f64>)>> {
        self.search.gaussian_sum.as_ref().filter(|sum| sum.is_responsible()).map(|sum| sum.found())
    }

    /// Compares the estimate with the sum after a scan: where the sum has found the robot elsewhere, the filter goes on
    /// there, and where it has lost it, the robot is searched for.
    pub(super) fn check_by_sum(&mut self, scan: &QueuedScan) {
        if self.search.global.is_some() || !self.uses_sum(scan) {
            return;
        }
        let Some(sum) = self.search.gaussian_sum.as_ref().filter(|sum| sum.is_responsible()) else { return };
        let (pose, covariance) = self.estimator.carried(&Increment::none());
        if sum.support(&pose, &covariance) >= VERY_LIKELY {
            return;
        }
        if let Some((pose, covariance)) = sum.found() {
            self.estimator.set_pose(pose, &covariance);
            self.stay();
            return;
        }
        let sum = self.search.gaussian_sum.take();
        // In a map without landmarks there is nothing to search in, and the filter goes on as it is.
        let _ = self.relocalize();
        self.search.gaussian_sum = sum;
    }

    /// What the sum knows is of another map, of another sensor or of another time.
    pub(super) fn forget_sum(&mut self) {
        self.search.gaussian_sum = None;
    }
}
