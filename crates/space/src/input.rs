//! The input of the filter: plain data.

use lienav_base::stamp::Stamp;
use lienav_lie::Se3;
use nalgebra::{Matrix3, Matrix4, Matrix6, Vector2, Vector3, Vector4};
use serde::{Deserialize, Serialize};

pub use lienav_inertial::imu::{Imu, ImuSample};

/// A sensor of landmarks: where it is, and what it needs to be read.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sensor {
    /// x_body = R x_sensor + t, where the body is the frame of the inertial sensor.
    pub mount: Se3,
    /// Of a camera, or the left one of a rectified pair: f_x, f_y, px; axes x right, y down, z forward.
    pub focal: Vector2<f64>,
    /// Of a camera: c_x, c_y, px.
    pub centre: Vector2<f64>,
    /// Of a pair of cameras: the right one is at (b, 0, 0), m.
    pub baseline_m: f64,
    /// Of a camera.
    pub pixels: PixelNoise,
}

/// One camera with normalized pixels at the origin of the body.
impl Default for Sensor {
    fn default() -> Self {
        Self {
            mount: Se3::identity(),
            focal: Vector2::repeat(1.0),
            centre: Vector2::zeros(),
            baseline_m: 0.0,
            pixels: PixelNoise { own: [1.0; 2], common: [0.0; 2] },
        }
    }
}

/// Noise of pixels in the left and the right image: what both have alone, and what they have in common, px.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PixelNoise {
    /// Standard deviation of each of (u, v) in one image alone.
    pub own: [f64; 2],
    /// Standard deviation of what both images have in common in (u, v).
    pub common: [f64; 2],
}

impl PixelNoise {
    /// Covariance of (u_l, v_l, u_r, v_r), px².
    pub fn covariance(&self) -> Matrix4<f64> {
        let [u, v] = [0, 1].map(|k| self.own[k].powi(2) + self.common[k].powi(2));
        let mut covariance = Matrix4::from_diagonal(&Vector4::new(u, v, u, v));
        for (k, (i, j)) in [(0, 2), (1, 3)].into_iter().enumerate() {
            covariance[(i, j)] = self.common[k].powi(2);
            covariance[(j, i)] = covariance[(i, j)];
        }
        covariance
    }
}

/// What sensors measured of landmarks at an instant.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Frame {
    /// When.
    pub stamp: Stamp,
    /// Each landmark once; may be empty.
    pub seen: Vec<Seen>,
}

/// A measurement of a landmark.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Seen {
    /// Its identity.
    pub id: u64,
    /// Which sensor measured it: the number under which [`Slam3d::set_sensor`](crate::Slam3d::set_sensor) has it.
    pub sensor: usize,
    /// What was measured.
    pub value: Value,
}

/// What is measured of a landmark.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Value {
    /// (u, v), px, in a pinhole camera without distortion.
    Pixel(Vector2<f64>),
    /// x/z and y/z in a camera; the noise is that of its pixels.
    Normalized(Vector2<f64>),
    /// (u_l, v_l, u_r, v_r), px, in a rectified pair of cameras.
    Stereo(Vector4<f64>),
    /// Its place in the frame of the sensor, m, with its covariance, m², where that is known.
    Position(Vector3<f64>, Option<Matrix3<f64>>),
    /// Its distance, m, with its standard deviation, m, where that is known.
    Range(f64, Option<f64>),
    /// Its direction, a vector of any length in the frame of the sensor, with the standard deviation of each of the two
    /// angles across it, rad, where that is known; else that of a pixel in the middle of the image.
    Bearing(Vector3<f64>, Option<f64>),
}

impl Value {
    /// Whether it has a length, and is not a direction alone.
    pub fn has_scale(&self) -> bool {
        match self {
            Self::Stereo(_) | Self::Position(..) | Self::Range(..) => true,
            Self::Pixel(_) | Self::Normalized(_) | Self::Bearing(..) => false,
        }
    }

    /// Whether all numbers are finite, those of the covariance included.
    pub fn is_finite(&self) -> bool {
        match self {
            Self::Pixel(at) | Self::Normalized(at) => at.iter().all(|x| x.is_finite()),
            Self::Stereo(at) => at.iter().all(|x| x.is_finite()),
            Self::Position(at, covariance) => {
                at.iter().chain(covariance.iter().flat_map(|c| c.iter())).all(|x| x.is_finite())
            }
            Self::Range(range, sigma) => range.is_finite() && sigma.is_none_or(f64::is_finite),
            Self::Bearing(at, sigma) => at.iter().all(|x| x.is_finite()) && sigma.is_none_or(f64::is_finite),
        }
    }

    /// Whether no number is beyond what a sensor can measure, px and m.
    pub fn is_sane(&self) -> bool {
        const LARGEST: f64 = 1e5;
        /// Shorter vectors have no direction.
        const SHORTEST: f64 = 1e-9;
        let is_small = |x: &f64| x.abs() < LARGEST;
        match self {
            Self::Pixel(at) | Self::Normalized(at) => at.iter().all(is_small),
            Self::Stereo(at) => at.iter().all(is_small),
            Self::Position(at, _) => at.iter().all(is_small),
            Self::Range(range, _) => (0.0..LARGEST).contains(range),
            Self::Bearing(at, _) => (SHORTEST..LARGEST).contains(&at.norm()),
        }
    }

    /// Whether a covariance that is stated is one: positive definite.
    pub fn has_valid_noise(&self) -> bool {
        match self {
            Self::Position(_, Some(covariance)) => covariance.cholesky().is_some(),
            Self::Range(_, Some(sigma)) | Self::Bearing(_, Some(sigma)) => *sigma > 0.0,
            _ => true,
        }
    }
}

/// The velocity of a place on the body, as wheels measure it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Odometry {
    /// When.
    pub stamp: Stamp,
    /// The frame of the wheels on the body: x_body = R x_wheels + t.
    pub mount: Se3,
    /// m/s, in the axes of that frame.
    pub velocity: Vector3<f64>,
    /// Covariance, (m/s)²; `None` leaves it to the settings.
    pub covariance: Option<Matrix3<f64>>,
}

/// A pose of the body in the map that another source measures.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Pose {
    /// When.
    pub stamp: Stamp,
    /// The body in the map.
    pub pose: Se3,
    /// Covariance of the position, m², and of the rotation about the axes of the map, rad².
    pub covariance: Matrix6<f64>,
}
