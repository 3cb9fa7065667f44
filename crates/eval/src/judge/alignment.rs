//! The motion that lays an estimate onto the truth, by its positions, and what it makes of a covariance.

use super::associate::Pairs;
use nalgebra::{Isometry3, Matrix3, Matrix6, Rotation3, UnitQuaternion, Vector3};
use serde::Serialize;

/// Which motions are allowed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Method {
    /// None: both are in one frame.
    #[default]
    None,
    /// A turn about the vertical and a shift in space: what an inertial estimator cannot know.
    Yaw,
    /// A turn about the vertical and a shift in the plane.
    Se2,
    /// A rigid motion.
    Se3,
    /// A rigid motion and a scale: what a single camera cannot know.
    Sim3,
}

impl Method {
    /// All names.
    pub const NAMES: [&'static str; 5] = ["none", "yaw", "se2", "se3", "sim3"];

    /// The method of a name.
    pub fn named(name: &str) -> Option<Self> {
        let all = [Self::None, Self::Yaw, Self::Se2, Self::Se3, Self::Sim3];
        Self::NAMES.iter().position(|known| *known == name).map(|at| all[at])
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }

    /// How many numbers are fitted.
    pub fn parameters(self) -> usize {
        [0, 4, 3, 6, 7][self as usize]
    }

    /// The motion of this kind that leaves the least sum of squared distances: Umeyama 1991, eqs. (40)–(42). `None`
    /// without a pair.
    pub fn fit(self, pairs: &Pairs) -> Option<Similarity> {
        if pairs.is_empty() {
            return None;
        }
        let n = pairs.len() as f64;
        let mean =
            |poses: &[Isometry3<f64>]| poses.iter().map(|pose| pose.translation.vector).sum::<Vector3<f64>>() / n;
        let (mean_a, mean_b) = (mean(&pairs.estimates), mean(&pairs.truths));
        let (mut cross, mut square) = (Matrix3::zeros(), 0.0);
        for (a, b) in pairs.estimates.iter().zip(&pairs.truths) {
            let (a, b) = (a.translation.vector - mean_a, b.translation.vector - mean_b);
            cross += b * a.transpose();
            square += a.norm_squared();
        }
        let (rotation, scale) = match self {
            Self::None => return Some(Similarity::default()),
            Self::Yaw | Self::Se2 => {
                let yaw = f64::atan2(cross.m21 - cross.m12, cross.m11 + cross.m22);
                (UnitQuaternion::from_euler_angles(0.0, 0.0, yaw), 1.0)
            }
            Self::Se3 | Self::Sim3 => {
                let (rotation, trace) = nearest_rotation(&cross)?;
                let scale = if self == Self::Sim3 && square > 0.0 { trace / square } else { 1.0 };
                (rotation, scale)
            }
        };
        let mut translation = mean_b - rotation * mean_a * scale;
        if self == Self::Se2 {
            translation.z = 0.0;
        }
        let is_finite = scale.is_finite() && translation.iter().all(|x| x.is_finite());
        is_finite.then_some(Similarity { rotation, translation, scale })
    }
}

/// The rotation R that maximises tr(Rᵀ C), and that trace.
fn nearest_rotation(cross: &Matrix3<f64>) -> Option<(UnitQuaternion<f64>, f64)> {
    /// More sweeps are never needed; not-a-number would take all.
    const SWEEPS: usize = 500;
    let svd = cross.try_svd(true, true, f64::EPSILON, SWEEPS)?;
    let (u, v_t) = (svd.u?, svd.v_t?);
    let mut signs = Vector3::repeat(1.0);
    if u.determinant() * v_t.determinant() < 0.0 {
        signs[svd.singular_values.imin()] = -1.0;
    }
    let rotation = Rotation3::from_matrix_unchecked(u * Matrix3::from_diagonal(&signs) * v_t);
    Some((UnitQuaternion::from_rotation_matrix(&rotation), svd.singular_values.dot(&signs)))
}

/// x ↦ s R x + t.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Similarity {
    /// R.
    pub rotation: UnitQuaternion<f64>,
    /// t, m.
    pub translation: Vector3<f64>,
    /// s.
    pub scale: f64,
}

impl Default for Similarity {
    fn default() -> Self {
        Self { rotation: UnitQuaternion::identity(), translation: Vector3::zeros(), scale: 1.0 }
    }
}

impl Similarity {
    /// The pose in the other frame.
    pub fn apply(&self, pose: &Isometry3<f64>) -> Isometry3<f64> {
        let position = self.rotation * pose.translation.vector * self.scale + self.translation;
        Isometry3::from_parts(position.into(), self.rotation * pose.rotation)
    }

    /// The covariance of (δp, δθ) about fixed axes in the other frame: M Σ Mᵀ with M = diag(s R, R).
    pub fn carry(&self, covariance: &Matrix6<f64>) -> Matrix6<f64> {
        if *self == Self::default() {
            return *covariance;
        }
        let turn = self.rotation.to_rotation_matrix().into_inner();
        let block =
            |i: usize, j: usize, factor: f64| turn * covariance.fixed_view::<3, 3>(i, j) * turn.transpose() * factor;
        let mut carried = Matrix6::zeros();
        carried.fixed_view_mut::<3, 3>(0, 0).copy_from(&block(0, 0, self.scale * self.scale));
        carried.fixed_view_mut::<3, 3>(0, 3).copy_from(&block(0, 3, self.scale));
        carried.fixed_view_mut::<3, 3>(3, 0).copy_from(&block(3, 0, self.scale));
        carried.fixed_view_mut::<3, 3>(3, 3).copy_from(&block(3, 3, 1.0));
        carried
    }
}
