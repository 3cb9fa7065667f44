//! The direction of a landmark, as fisheye cameras and microphones have it.

use super::point::{Mount, OfPoint, Seen, Target, measurement_of_point};
use super::{RangePrior, View};
use lienav_lie::{Se3, So3};
use nalgebra::{Matrix2x3, Matrix3, SMatrix, Vector2, Vector3};

/// A direction z near x/|x|, with an error that turns it by n across, n ~ N(0, σ²I₂), rad. The residual is the
/// direction's logarithm in the plane tangent to the expected one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bearing {
    /// What is measured.
    pub target: Target,
    /// Where the sensor is on the body.
    pub mount: Mount,
    /// The direction, a unit vector in the frame of the sensor.
    pub direction: Vector3<f64>,
    /// σ, rad.
    pub sigma: f64,
}

/// Points nearer than this have no direction, m.
const NEAREST_M: f64 = 1e-6;

/// Two unit vectors across a unit vector, as rows.
pub fn across(n: &Vector3<f64>) -> Matrix2x3<f64> {
    let axis = Vector3::from_fn(|i, _| if i == n.iamin() { 1.0 } else { 0.0 });
    let first = axis.cross(n).normalize();
    Matrix2x3::from_rows(&[first.transpose(), n.cross(&first).transpose()])
}

impl OfPoint<2> for Bearing {
    fn target(&self) -> Target {
        self.target
    }
    fn mount(&self) -> Mount {
        self.mount
    }
    fn see(&self, x: &Vector3<f64>) -> Option<Seen<2>> {
        let range = x.norm();
        if range.is_nan() || range <= NEAREST_M {
            return None;
        }
        let expected = x / range;
        let basis = across(&expected);
        let aside = basis * self.direction;
        let angle = aside.norm().atan2(expected.dot(&self.direction));
        let scale = if aside.norm() > 0.0 { angle / aside.norm() } else { 1.0 };
        let noise = SMatrix::from_diagonal_element(self.sigma * self.sigma);
        Some(Seen { residual: aside * scale, derivative: basis / range, noise })
    }
    /// From a camera that looks there.
    fn direction(&self, pose: &Se3) -> Option<View> {
        let basis = across(&self.direction);
        let [x, y] = [0, 1].map(|k| basis.row(k).transpose());
        let turn = So3::from_matrix_unchecked(Matrix3::from_columns(&[x, y, self.direction]));
        let camera = Se3::new(pose.rotation * turn, pose.translation);
        Some(View { camera, normalized: Vector2::zeros(), sigma: Vector2::repeat(self.sigma) })
    }
    fn locate(&self, prior: &RangePrior) -> Option<(Vector3<f64>, Matrix3<f64>)> {
        let x = self.direction * prior.range_m;
        let along = x * prior.log_sigma;
        let basis = across(&self.direction);
        let aside = basis.transpose() * basis * (prior.range_m * self.sigma).powi(2);
        Some((x, along * along.transpose() + aside))
    }
}

measurement_of_point!(Bearing);
