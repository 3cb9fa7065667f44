//! Messages as input of the filter in space: six numbers of a pose, and point clouds whose fields say what was measured.
//!
//! A point has an identity `id` (UINT32 or INT32) and values whose names say how they are to be read:
//!
//! | values | covariance |
//! |---|---|
//! | `u_left`, `v_left`, `u_right`, `v_right`, px, in a rectified pair | – |
//! | `u`, `v`, px | – |
//! | `x`, `y`, `z`, m, in the frame of the sensor | `var_x`, `var_y`, `var_z`, m² |
//! | `range`, m | `var_range`, m² |

use super::frame::{Frame, check_frame};
use super::read::{check_header, check_orientation, stamp_of};
use super::refusal::{FieldReader, LayoutError, Refusal, Wanted};
use crate::messages::{CameraInfo, Covariance6, Imu, Point, PointCloud2, Pose, PoseWithCovarianceStamped, Quaternion};
use lienav_base::stamp::Stamp;
use lienav_lie::{Se3, So3, hat};
use lienav_space::lens::{Distortion, Lens};
use lienav_space::{ImuSample, Pinhole, Seen, Value};
use nalgebra::{Isometry3, Matrix3, Matrix6, Rotation3, UnitQuaternion, Vector2, Vector3, Vector4};

/// What a point cloud in space holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpaceKind {
    /// Pixels of a rectified pair.
    Stereo,
    /// Pixels of one camera.
    Pixels,
    /// Places.
    Positions,
    /// Distances.
    Ranges,
}

/// The names of the values of each kind, and of their variances.
const LAYOUTS: [(SpaceKind, &[&str], &[&str]); 4] = [
    (SpaceKind::Stereo, &["u_left", "v_left", "u_right", "v_right"], &[]),
    (SpaceKind::Pixels, &["u", "v"], &[]),
    (SpaceKind::Positions, &["x", "y", "z"], &["var_x", "var_y", "var_z"]),
    (SpaceKind::Ranges, &["range"], &["var_range"]),
];

/// The kind of a point cloud by its fields.
///
/// # Errors
/// [`Refusal::BadLayout`]: no values of any kind.
pub fn space_kind(message: &PointCloud2) -> Result<SpaceKind, Refusal> {
    layout(message).map(|(kind, ..)| *kind)
}

fn layout(
    message: &PointCloud2,
) -> Result<&'static (SpaceKind, &'static [&'static str], &'static [&'static str]), Refusal> {
    let has = |name: &&str| message.fields.iter().any(|field| field.name == *name);
    let found = LAYOUTS.iter().find(|(_, values, _)| values.iter().all(has));
    let shown = || message.fields.iter().map(|field| field.name.as_str()).collect::<Vec<_>>().join(", ");
    found.ok_or_else(|| LayoutError::NoValuesInSpace(shown()).into())
}

/// The measurements of a point cloud by a sensor of this number; pixels of one camera are normalized by its lens. Points
/// without identity are left out, and their number is given, too.
///
/// # Errors
/// [`Refusal::BadLayout`].
pub fn space_features(
    message: &PointCloud2,
    sensor: usize,
    lens: Option<&Lens>,
) -> Result<(Vec<Seen>, usize), Refusal> {
    let (kind, values, variances) = layout(message)?;
    let id = message.reader("id", Wanted::Identity)?.ok_or(LayoutError::NoIdentity)?;
    let reader = |name: &&str| message.reader(name, Wanted::Number);
    let values: Vec<Option<FieldReader>> = values.iter().map(reader).collect::<Result<_, _>>()?;
    let variances: Vec<Option<FieldReader>> = variances.iter().map(reader).collect::<Result<_, _>>()?;
    let data = &message.data.0;
    let (mut seen, mut unknown) = (Vec::new(), 0);
    for point in message.point_offsets()? {
        let Some(id) = id.identity(data, point) else {
            unknown += 1;
            continue;
        };
        let read = |readers: &[Option<FieldReader>], k: usize| Some(readers.get(k)?.as_ref()?.number(data, point));
        let number = |k: usize| read(&values, k).unwrap_or(f64::NAN);
        // A variance of 0 or not-a-number is not stated.
        let variance = |k: usize| read(&variances, k).filter(|x| *x > 0.0);
        let value = match *kind {
            SpaceKind::Stereo => Value::Stereo(Vector4::new(number(0), number(1), number(2), number(3))),
            SpaceKind::Pixels => {
                let pixel = Vector2::new(number(0), number(1));
                // What a lens cannot image is dropped with what is not finite.
                let normalized = lens.and_then(|lens| lens.normalized(&pixel));
                Value::Normalized(normalized.unwrap_or_else(|| Vector2::repeat(f64::NAN)))
            }
            SpaceKind::Positions => {
                let stated = [variance(0), variance(1), variance(2)];
                let covariance = match stated {
                    [Some(x), Some(y), Some(z)] => Some(Matrix3::from_diagonal(&Vector3::new(x, y, z))),
                    _ => None,
                };
                Value::Position(Vector3::new(number(0), number(1), number(2)), covariance)
            }
            SpaceKind::Ranges => Value::Range(number(0), variance(0).map(f64::sqrt)),
        };
        seen.push(Seen { id: u64::from(id), sensor, value });
    }
    Ok((seen, unknown))
}

/// The lens of a camera, and its focal length and centre after rectification, px.
///
/// # Errors
/// [`Refusal::NoCameraInfo`]: no focal length.
pub fn lens_of(message: &CameraInfo, topic: &str) -> Result<(Lens, Pinhole), Refusal> {
    let pinhole = |fx: f64, fy: f64, cx: f64, cy: f64| {
        let is_one = [fx, fy].iter().all(|f| f.is_finite() && *f > 0.0) && [cx, cy].iter().all(|c| c.is_finite());
        is_one.then(|| Pinhole { focal: Vector2::new(fx, fy), centre: Vector2::new(cx, cy) })
    };
    let (k, p) = (&message.k, &message.p);
    let raw = pinhole(k[0], k[4], k[2], k[5]);
    let rectified = pinhole(p[0], p[5], p[2], p[6]);
    let missing = || Refusal::NoCameraInfo { topic: topic.to_owned() };
    let raw = raw.or(rectified).ok_or_else(missing)?;
    let d = |n: usize| message.d.get(n).copied().filter(|x| x.is_finite()).unwrap_or(0.0);
    let distortion = match message.distortion_model.as_str() {
        _ if message.d.iter().all(|x| *x == 0.0) => Distortion::None,
        "equidistant" | "fisheye" => Distortion::Equidistant(std::array::from_fn(d)),
        _ => Distortion::PlumbBob(std::array::from_fn(d)),
    };
    Ok((Lens { pinhole: raw, distortion }, rectified.unwrap_or(raw)))
}

/// Angular rate and specific force, in the frame of the sensor. Its orientation is not read.
///
/// # Errors
/// Those of [`super::imu_sample`].
pub fn space_imu(message: &Imu, frames: &[Frame<'_>]) -> Result<ImuSample, Refusal> {
    let sample = super::imu_sample(message, frames)?;
    Ok(lienav_space::start::sample(sample.stamp, sample.angular_velocity, sample.specific_force))
}

/// A pose with the covariance of its position and of its rotation about the axes of `header.frame_id`, as stated; with
/// its stamp.
///
/// # Errors
/// [`Refusal::UnknownFrame`], [`Refusal::BadStamp`], [`Refusal::BadOrientation`].
pub fn space_pose(
    message: &PoseWithCovarianceStamped,
    frames: &[Frame<'_>],
) -> Result<(Stamp, Se3, Matrix6<f64>), Refusal> {
    let stamp = check_header(&message.header, frames)?;
    let pose = se3_of(&message.pose.pose)?;
    Ok((stamp, pose, Matrix6::from_row_slice(&message.pose.covariance.0)))
}

/// A pose. The position may be anything.
///
/// # Errors
/// [`Refusal::BadOrientation`].
pub fn se3_of(pose: &Pose) -> Result<Se3, Refusal> {
    check_orientation(&pose.orientation)?;
    let q = &pose.orientation;
    let rotation = UnitQuaternion::new_normalize(nalgebra::Quaternion::new(q.w, q.x, q.y, q.z));
    Ok(Se3::new(rotation.to_rotation_matrix().into(), Vector3::new(pose.position.x, pose.position.y, pose.position.z)))
}

/// The pose that nalgebra has as another type.
pub fn se3_of_isometry(pose: &Isometry3<f64>) -> Se3 {
    Se3::new(pose.rotation.to_rotation_matrix().into(), pose.translation.vector)
}

/// A pose as a message.
pub fn space_pose_message(pose: &Se3) -> Pose {
    let (t, q) = (&pose.translation, quaternion_of(&pose.rotation));
    let orientation = Quaternion { x: q.i, y: q.j, z: q.k, w: q.w };
    Pose { position: Point { x: t.x, y: t.y, z: t.z }, orientation }
}

/// The unit quaternion of a rotation, with w ≥ 0.
pub fn quaternion_of(rotation: &So3) -> UnitQuaternion<f64> {
    let q = UnitQuaternion::from_rotation_matrix(&Rotation3::from_matrix_unchecked(*rotation.matrix()));
    if q.w < 0.0 { UnitQuaternion::new_unchecked(-q.into_inner()) } else { q }
}

/// A covariance as a message has it.
pub fn covariance_message(covariance: &Matrix6<f64>) -> Covariance6 {
    Covariance6(std::array::from_fn(|k| 0.5 * (covariance[(k / 6, k % 6)] + covariance[(k % 6, k / 6)])))
}

/// The covariance of the pose of a place on a body, position and rotation about the axes of the map, from that of the
/// body: `lever` is the way from the body to that place in the axes of the map, m.
pub fn moved_covariance(covariance: &Matrix6<f64>, lever: &Vector3<f64>) -> Matrix6<f64> {
    // δp' = δp + δθ × l.
    let mut change = Matrix6::identity();
    change.fixed_view_mut::<3, 3>(0, 3).copy_from(&-hat(lever));
    change * covariance * change.transpose()
}

/// The velocity of odometry in the axes of its `child_frame_id` with its covariance where that is stated, and the pose
/// of that frame in the odometry frame where it is usable.
///
/// # Errors
/// [`Refusal::UnknownFrame`], [`Refusal::BadStamp`].
#[allow(clippy::type_complexity)]
pub fn space_odometry(
    message: &crate::messages::Odometry,
    odom: &[Frame<'_>],
) -> Result<(Stamp, Vector3<f64>, Option<Matrix3<f64>>, Option<Se3>), Refusal> {
    check_frame("frame_id", &message.header.frame_id, odom)?;
    let stamp = stamp_of(&message.header.stamp)?;
    let v = &message.twist.twist.linear;
    let block = Matrix6::from_row_slice(&message.twist.covariance.0).fixed_view::<3, 3>(0, 0).into_owned();
    // A variance of 0 forward, and −1, state nothing. A wheel that states nothing aside or upwards does not slide.
    let stated = (block.m11 > 0.0).then(|| {
        let mut stated = block;
        stated.set_diagonal(&block.diagonal().map(|variance| if variance <= 0.0 { block.m11 } else { variance }));
        stated
    });
    let pose = se3_of(&message.pose.pose).ok().filter(|pose| pose.translation.iter().all(|x| x.is_finite()));
    Ok((stamp, Vector3::new(v.x, v.y, v.z), stated, pose))
}

#[cfg(test)]
mod tests {
    use super::*;
    use lienav_lie::LieGroup;

    /// Up to half a turn, about many axes.
    #[test]
    fn the_quaternion_of_a_rotation_is_that_rotation() {
        for k in 0..20_000 {
            let angle = std::f64::consts::PI * f64::from(k) / 20_000.0;
            let (a, b) = (0.7 * f64::from(k), 1.3 * f64::from(k));
            let axis = Vector3::new(a.cos() * b.cos(), a.cos() * b.sin(), a.sin());
            for axis in [axis, Vector3::x(), Vector3::y(), Vector3::z()] {
                let rotation = So3::exp(&(axis * angle));
                let q = quaternion_of(&rotation);
                let off = (q.to_rotation_matrix().matrix() - rotation.matrix()).amax();
                assert!(off < 1e-13 && q.w >= 0.0, "{off} at {angle} about {axis:?}");
            }
        }
    }
}
