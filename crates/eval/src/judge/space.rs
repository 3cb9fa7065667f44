//! Whether an estimate is of the plane or of space.

use lienav_io::trajectory::Trajectory;
use nalgebra::{Isometry3, Matrix3, Matrix6, Vector6};
use serde::Serialize;

/// Heights and tilts of a planar estimate are not greater, m and the sine of half an angle.
const FLAT: f64 = 1e-9;
/// So many poses decide, evenly taken from the run.
const LOOKED_AT: usize = 1000;

/// Which of the six numbers of an error count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Space {
    /// x, y and yaw.
    Planar,
    /// All six.
    Space,
}

impl Space {
    /// Planar is an estimate without height and tilt, or whose covariance gives these no variance.
    pub fn of(estimate: &Trajectory) -> Self {
        let step = estimate.len().div_ceil(LOOKED_AT).max(1);
        let mut places = (0..estimate.len()).step_by(step);
        let is_flat = |pose: &Isometry3<f64>| {
            pose.translation.z.abs() <= FLAT && pose.rotation.i.abs() <= FLAT && pose.rotation.j.abs() <= FLAT
        };
        // A covariance that is not stated says nothing of the plane.
        let states_none =
            |k: usize| estimate.covariance(k).is_some_and(|c| [2, 3, 4].iter().all(|&i| c[(i, i)] == 0.0));
        let is_planar = places.all(|k| is_flat(&estimate.poses[k]) || states_none(k));
        if is_planar { Self::Planar } else { Self::Space }
    }

    /// Where position and orientation stand among (x, y, z, rotations about X, Y, Z).
    pub fn parts(self) -> (&'static [usize], &'static [usize]) {
        match self {
            Self::Planar => (&[0, 1], &[5]),
            Self::Space => (&[0, 1, 2], &[3, 4, 5]),
        }
    }

    /// Where all numbers that count stand.
    pub fn all(self) -> &'static [usize] {
        match self {
            Self::Planar => &[0, 1, 5],
            Self::Space => &[0, 1, 2, 3, 4, 5],
        }
    }

    /// The error of an estimate about fixed axes: p − p̂, and the rotation vector of R R̂ᵀ. In the plane, the difference
    /// of the headings.
    pub fn error(self, truth: &Isometry3<f64>, estimate: &Isometry3<f64>) -> Vector6<f64> {
        let p = truth.translation.vector - estimate.translation.vector;
        match self {
            Self::Space => {
                let r = (truth.rotation * estimate.rotation.inverse()).scaled_axis();
                Vector6::new(p.x, p.y, p.z, r.x, r.y, r.z)
            }
            Self::Planar => {
                let yaw = lienav_lie::wrap_angle(heading(truth) - heading(estimate));
                Vector6::new(p.x, p.y, 0.0, 0.0, 0.0, yaw)
            }
        }
    }

    /// The relative pose from one to the next, without what does not count.
    pub fn relative(self, from: &Isometry3<f64>, to: &Isometry3<f64>) -> Isometry3<f64> {
        match self {
            Self::Space => from.inv_mul(to),
            Self::Planar => flat(from).inv_mul(&flat(to)),
        }
    }

    /// The rotation from fixed axes to those of a pose; in the plane, by its heading only.
    pub fn axes_of(self, pose: &Isometry3<f64>) -> Matrix3<f64> {
        let rotation = match self {
            Self::Space => pose.rotation,
            Self::Planar => flat(pose).rotation,
        };
        rotation.inverse().to_rotation_matrix().into_inner()
    }

    /// The same covariance with the numbers of the plane only.
    pub fn of_covariance(self, covariance: &Matrix6<f64>) -> Matrix6<f64> {
        match self {
            Self::Space => *covariance,
            Self::Planar => {
                let counts = |i: usize| self.all().contains(&i);
                Matrix6::from_fn(|i, j| if counts(i) && counts(j) { covariance[(i, j)] } else { 0.0 })
            }
        }
    }
}

/// The heading of a pose, rad.
fn heading(pose: &Isometry3<f64>) -> f64 {
    let q = pose.rotation;
    (2.0 * (q.w * q.k + q.i * q.j)).atan2(q.w * q.w + q.i * q.i - q.j * q.j - q.k * q.k)
}

/// The pose without height and tilt.
fn flat(pose: &Isometry3<f64>) -> Isometry3<f64> {
    let p = pose.translation.vector;
    let turn = nalgebra::UnitQuaternion::from_euler_angles(0.0, 0.0, heading(pose));
    Isometry3::from_parts(nalgebra::Translation3::new(p.x, p.y, 0.0), turn)
}
