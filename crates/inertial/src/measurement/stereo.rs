//! Pixels of a rectified pair of cameras.

use super::pixel::Pinhole;
use super::point::{Mount, OfPoint, Seen, Target, measurement_of_point};
use super::{RangePrior, View};
use lienav_lie::Se3;
use nalgebra::{Matrix3, Matrix4, Matrix4x3, Vector2, Vector3, Vector4};

/// z = (u_l, v_l, u_r, v_r) + n with u_r = f_x (x − b)/z + c_x and v_r = v_l in expectation; x in the frame of the left
/// camera.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StereoPixels {
    /// What is measured.
    pub target: Target,
    /// Where the left camera is on the body.
    pub mount: Mount,
    /// Both cameras.
    pub camera: Pinhole,
    /// b, m: the right camera is at (b, 0, 0).
    pub baseline_m: f64,
    /// (u_l, v_l, u_r, v_r), px.
    pub pixels: Vector4<f64>,
    /// Covariance, px².
    pub covariance: Matrix4<f64>,
}

/// Less disparity than this part of its standard deviation says nothing of the depth.
const LEAST_DISPARITY: f64 = 3.0;

/// What is farther apart in height, in standard deviations, is not one point.
const MOST_APART: f64 = 5.0;

/// From a disparity of so many standard deviations on, the range is known to a tenth of it.
const KNOWN_DISPARITY: f64 = 10.0;

impl StereoPixels {
    /// Standard deviation of u_l − u_r, px.
    fn disparity_sigma(&self) -> f64 {
        let c = &self.covariance;
        (c[(0, 0)] + c[(2, 2)] - 2.0 * c[(0, 2)]).max(0.0).sqrt()
    }

    fn project(&self, x: &Vector3<f64>) -> Option<(Vector4<f64>, Matrix4x3<f64>)> {
        let (left, by_left) = self.camera.project(x)?;
        let (right, by_right) = self.camera.project(&(x - Vector3::x() * self.baseline_m))?;
        let mut derivative = Matrix4x3::zeros();
        derivative.fixed_rows_mut::<2>(0).copy_from(&by_left);
        derivative.fixed_rows_mut::<2>(2).copy_from(&by_right);
        Some((Vector4::new(left.x, left.y, right.x, right.y), derivative))
    }
}

impl OfPoint<4> for StereoPixels {
    fn target(&self) -> Target {
        self.target
    }
    fn mount(&self) -> Mount {
        self.mount
    }
    fn see(&self, x: &Vector3<f64>) -> Option<Seen<4>> {
        let (expected, derivative) = self.project(x)?;
        Some(Seen { residual: self.pixels - expected, derivative, noise: self.covariance })
    }
    /// The left pixel, where the disparity does not show the range to a tenth of it.
    fn vague_direction(&self, pose: &Se3) -> Option<View> {
        let (z, c) = (&self.pixels, &self.covariance);
        if z.x - z.z > KNOWN_DISPARITY * self.disparity_sigma() {
            return None;
        }
        let sigma = Vector2::new(c[(0, 0)], c[(1, 1)]).map(f64::sqrt).component_div(&self.camera.focal);
        Some(View { camera: *pose, normalized: self.camera.ray(&z.xy()).xy(), sigma })
    }
    /// By disparity; where that is hardly different from zero, by the left pixel and the prior of the range.
    fn locate(&self, prior: &RangePrior) -> Option<(Vector3<f64>, Matrix3<f64>)> {
        let z = &self.pixels;
        // Both cameras see a point at one height.
        let c = &self.covariance;
        let apart = (c[(1, 1)] + c[(3, 3)] - 2.0 * c[(1, 3)]).max(0.0).sqrt();
        if (z.y - z.w).abs() > MOST_APART * apart {
            return None;
        }
        let disparity = z.x - z.z;
        let c = &self.covariance;
        if disparity < LEAST_DISPARITY * self.disparity_sigma() || disparity <= 0.0 {
            let (pixel, sigma) = (z.xy(), c[(0, 0)].max(c[(1, 1)]).sqrt());
            let (target, mount, camera) = (self.target, self.mount, self.camera);
            return super::pixel::Pixel { target, mount, camera, pixel, sigma }.locate(prior);
        }
        let depth = self.camera.focal.x * self.baseline_m / disparity;
        let x = self.camera.ray(&Vector2::new(z.x, 0.5 * (z.y + z.w))) * depth;
        let (_, h) = self.project(&x)?;
        let information = h.transpose() * c.try_inverse()? * h;
        Some((x, information.try_inverse()?))
    }
}

measurement_of_point!(StereoPixels);
