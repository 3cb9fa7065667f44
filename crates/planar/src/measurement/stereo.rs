//! A pair of cameras: two bearings, or the position where they meet.

use crate::filter::NoiseAt;
use crate::measurement::position::in_range;
use crate::measurement::range_bearing::MAX_BEARING_RAD;
use crate::measurement::{Component, LandmarkMeasurement, TOO_NEAR_M};
use crate::output::DropReason;
use lienav_lie::skew;
use nalgebra::{Matrix2, Vector2};

/// The range of a new landmark is known where its inverse is at least so many standard deviations from zero.
const LEAST_PARALLAX: f64 = 0.5;

/// A new landmark is too far where its inverse range is so many standard deviations below that of the limit.
const LARGEST_EXCESS: f64 = 3.0;

/// (bearing of the left camera, bearing of the right camera), rad, counterclockwise from straight ahead, of cameras at
/// (0, ±baseline/2) in the sensor frame. The bearings themselves are the measurement.
#[derive(Clone, Debug, PartialEq)]
pub struct StereoBearings {
    /// Distance between the cameras, m.
    pub baseline_m: f64,
    /// Standard deviation of each bearing, rad.
    pub bearing_std_rad: f64,
    /// Nearer landmarks start no landmark, m.
    pub min_range_m: f64,
    /// Farther landmarks start no landmark, m.
    pub max_range_m: f64,
}

impl LandmarkMeasurement<2> for StereoBearings {
    fn components(&self) -> [Component; 2] {
        [Component::Bearing; 2]
    }

    fn noise(&self) -> Matrix2<f64> {
        let variance = self.bearing_std_rad * self.bearing_std_rad;
        Matrix2::new(variance, 0.0, 0.0, variance)
    }

    fn predict(&self, z: &Vector2<f64>) -> Vector2<f64> {
        let bearing = |camera_y: f64| (z.y - camera_y).atan2(z.x);
        Vector2::new(bearing(0.5 * self.baseline_m), bearing(-0.5 * self.baseline_m))
    }

    /// Rows (J(z − c))ᵀ/|z − c|², c = (0, ±baseline/2).
    fn jacobian(&self, z: &Vector2<f64>) -> Option<Matrix2<f64>> {
        let row = |camera_y: f64| {
            let u = z - Vector2::new(0.0, camera_y);
            let square = u.norm_squared();
            (square > TOO_NEAR_M * TOO_NEAR_M).then(|| skew(&u) / square)
        };
        let (left, right) = (row(0.5 * self.baseline_m)?, row(-0.5 * self.baseline_m)?);
        Some(Matrix2::new(left.x, left.y, right.x, right.y))
    }

    /// Whether the lines of sight meet matters for a new landmark only: [`LandmarkMeasurement::place`] says so.
    fn read(&self, observed: &Vector2<f64>) -> Result<Vector2<f64>, DropReason> {
        if observed.amax() > MAX_BEARING_RAD { Err(DropReason::Absurd) } else { Ok(*observed) }
    }

    fn place(&self, read: &Vector2<f64>, stated: &Matrix2<f64>) -> Option<(Vector2<f64>, Matrix2<f64>)> {
        let z = triangulate(read, self.baseline_m)?;
        let covariance = self.position_noise(&z, stated)?;
        let is_placed = z.norm() >= self.min_range_m && self.may_be_in_range(&z, &covariance);
        is_placed.then_some((z, covariance))
    }
}

impl StereoBearings {
    /// J Q Jᵀ, J the Jacobian of the triangulation at `z`.
    fn position_noise(&self, z: &Vector2<f64>, bearings: &Matrix2<f64>) -> Option<Matrix2<f64>> {
        let j = self.jacobian(z)?.try_inverse()?;
        Some(j * bearings * j.transpose())
    }

    /// Whether the range of a landmark triangulated at `z` is known at all, and not significantly beyond the limit. A
    /// limit on the estimate itself would let in far landmarks only where their noise makes them nearer, which biases
    /// every one of them.
    fn may_be_in_range(&self, z: &Vector2<f64>, covariance: &Matrix2<f64>) -> bool {
        let square = z.norm_squared();
        let (inverse, std) = (1.0 / square.sqrt(), (z.dot(&(covariance * z)) / square).sqrt() / square);
        inverse > LEAST_PARALLAX * std && inverse + LARGEST_EXCESS * std >= 1.0 / self.max_range_m
    }
}

/// The position that both bearings of a stereo pair meet at, with noise Q_z J Jᵀ: the measurement of the thesis (Shen
/// 2019, § 5.5). Measurements are bearings, measurements are positions in the sensor frame, m.
#[derive(Clone, Debug, PartialEq)]
pub struct Triangulated {
    /// The cameras.
    pub cameras: StereoBearings,
    /// Where the Jacobian J of the triangulation is evaluated.
    pub noise_at: NoiseAt,
}

impl LandmarkMeasurement<2> for Triangulated {
    fn components(&self) -> [Component; 2] {
        [Component::Linear; 2]
    }

    fn noise(&self) -> Matrix2<f64> {
        self.cameras.noise()
    }

    fn predict(&self, z: &Vector2<f64>) -> Vector2<f64> {
        *z
    }

    fn jacobian(&self, _: &Vector2<f64>) -> Option<Matrix2<f64>> {
        Some(Matrix2::identity())
    }

    fn read(&self, observed: &Vector2<f64>) -> Result<Vector2<f64>, DropReason> {
        let position = triangulate(observed, self.cameras.baseline_m).ok_or(DropReason::OutOfRange)?;
        in_range(position.norm(), self.cameras.min_range_m, self.cameras.max_range_m)?;
        Ok(position)
    }

    fn noise_at(&self, stated: &Matrix2<f64>, read: &Vector2<f64>, z: &Vector2<f64>) -> Option<Matrix2<f64>> {
        let at = match self.noise_at {
            NoiseAt::Measured => read,
            NoiseAt::Predicted => z,
        };
        self.cameras.position_noise(at, stated)
    }

    fn place(&self, read: &Vector2<f64>, stated: &Matrix2<f64>) -> Option<(Vector2<f64>, Matrix2<f64>)> {
        let covariance = self.cameras.position_noise(read, stated)?;
        let (distance, cameras) = (read.norm(), &self.cameras);
        (distance >= cameras.min_range_m && distance <= cameras.max_range_m).then_some((*read, covariance))
    }
}

/// Where the lines of sight of cameras at (0, ±baseline/2) meet: x = b cos β_l cos β_r / sin(β_r − β_l),
/// y = b/2 + x tan β_l, written without the tangent.
pub fn triangulate(bearings: &Vector2<f64>, baseline: f64) -> Option<Vector2<f64>> {
    let ((sl, cl), (sr, cr)) = (bearings.x.sin_cos(), bearings.y.sin_cos());
    let disparity = sr * cl - cr * sl;
    // Both cameras must look forward along their rays and the rays must converge.
    if disparity <= 1e-9 || cl <= 0.0 || cr <= 0.0 {
        return None;
    }
    Some(Vector2::new(baseline * cl * cr / disparity, 0.5 * baseline * (sl * cr + sr * cl) / disparity))
}
