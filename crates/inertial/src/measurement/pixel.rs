//! A pixel of a pinhole camera.

use super::point::{Mount, OfPoint, Seen, Target, measurement_of_point};
use super::{RangePrior, View};
use lienav_lie::Se3;
use nalgebra::{Matrix2x3, Matrix3, SMatrix, Vector2, Vector3};

/// A pinhole camera without distortion, axes x right, y down, z forward. With f = 1 and c = 0 pixels are normalized
/// image coordinates.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pinhole {
    /// f_x, f_y, px.
    pub focal: Vector2<f64>,
    /// c_x, c_y, px.
    pub centre: Vector2<f64>,
}

/// Points nearer to the plane of the camera than this cannot be seen, m.
pub const NEAREST_M: f64 = 0.01;

impl Pinhole {
    /// (f_x x/z + c_x, f_y y/z + c_y), and its derivative by (x, y, z); `None` behind the camera.
    pub fn project(&self, x: &Vector3<f64>) -> Option<(Vector2<f64>, Matrix2x3<f64>)> {
        if x.z.is_nan() || x.z <= NEAREST_M {
            return None;
        }
        let normalized = x.xy() / x.z;
        let f = self.focal / x.z;
        let derivative = Matrix2x3::new(f.x, 0.0, -f.x * normalized.x, 0.0, f.y, -f.y * normalized.y);
        Some((self.focal.component_mul(&normalized) + self.centre, derivative))
    }

    /// (x/z, y/z, 1) of a pixel.
    pub fn ray(&self, pixel: &Vector2<f64>) -> Vector3<f64> {
        (pixel - self.centre).component_div(&self.focal).push(1.0)
    }
}

/// z = project(x) + n.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pixel {
    /// What is measured.
    pub target: Target,
    /// Where the camera is on the body.
    pub mount: Mount,
    /// The camera.
    pub camera: Pinhole,
    /// (u, v), px.
    pub pixel: Vector2<f64>,
    /// Standard deviation of each of the two, px.
    pub sigma: f64,
}

impl OfPoint<2> for Pixel {
    fn target(&self) -> Target {
        self.target
    }
    fn mount(&self) -> Mount {
        self.mount
    }
    fn see(&self, x: &Vector3<f64>) -> Option<Seen<2>> {
        let (expected, derivative) = self.camera.project(x)?;
        let noise = SMatrix::from_diagonal_element(self.sigma * self.sigma);
        Some(Seen { residual: self.pixel - expected, derivative, noise })
    }
    fn direction(&self, pose: &Se3) -> Option<View> {
        let normalized = self.camera.ray(&self.pixel).xy();
        Some(View { camera: *pose, normalized, sigma: self.camera.focal.map(|f| self.sigma / f) })
    }
    fn locate(&self, prior: &RangePrior) -> Option<(Vector3<f64>, Matrix3<f64>)> {
        let ray = self.camera.ray(&self.pixel);
        let depth = prior.range_m / ray.norm();
        let x = ray * depth;
        let along = x * prior.log_sigma;
        let across = self.camera.focal.map(|f| (depth * self.sigma / f).powi(2)).push(0.0);
        Some((x, along * along.transpose() + Matrix3::from_diagonal(&across)))
    }
}

measurement_of_point!(Pixel);
