//! The distance of a landmark or an anchor, as radios have it.

use super::RangePrior;
use super::point::{Mount, OfPoint, Seen, Target, measurement_of_point};
use nalgebra::{Matrix1, Matrix3, Vector3};

/// z = |x| + n, m.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Range {
    /// What is measured.
    pub target: Target,
    /// Where the antenna is on the body.
    pub mount: Mount,
    /// z, m.
    pub range_m: f64,
    /// Standard deviation, m.
    pub sigma_m: f64,
}

/// Nearer than this, the direction of a range is not known, m.
const NEAREST_M: f64 = 1e-3;

impl OfPoint<1> for Range {
    fn target(&self) -> Target {
        self.target
    }
    fn mount(&self) -> Mount {
        self.mount
    }
    fn see(&self, x: &Vector3<f64>) -> Option<Seen<1>> {
        let range = x.norm();
        if range.is_nan() || range <= NEAREST_M {
            return None;
        }
        let noise = Matrix1::new(self.sigma_m * self.sigma_m);
        Some(Seen { residual: Matrix1::new(self.range_m - range), derivative: x.transpose() / range, noise })
    }
    /// A range alone has no direction.
    fn locate(&self, _: &RangePrior) -> Option<(Vector3<f64>, Matrix3<f64>)> {
        None
    }
}

measurement_of_point!(Range);
