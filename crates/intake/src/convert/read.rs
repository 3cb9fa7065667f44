//! Messages as input of the filters: SI units, planar parts.

use super::PLANAR;
use super::frame::{Frame, check_frame};
use super::refusal::Refusal;
use crate::cloud::{decode_features, decode_landmarks};
use crate::messages::{
    self, Covariance6, Header, PointCloud2, Pose, PoseWithCovarianceStamped, Quaternion, Time, Twist,
};
use lienav_attitude::{ImuSample, MagneticField, Torque};
use lienav_base::stamp::Stamp;
use lienav_lie::{Se2, wrap_angle};
use lienav_slam::{Imu, MeasurementKind, Odometry, Scan, Tilt};
use nalgebra::{Matrix3, Matrix6, UnitQuaternion, Vector2, Vector3};

/// The instant of a message.
///
/// # Errors
/// [`Refusal::BadStamp`] for a second or more of nanoseconds, which no valid message has.
pub fn stamp_of(time: &Time) -> Result<Stamp, Refusal> {
    if time.nanosec >= 1_000_000_000 {
        return Err(Refusal::BadStamp(time.nanosec));
    }
    Ok(Stamp::from_parts(time.sec, time.nanosec))
}

pub(super) fn check_header(header: &Header, allowed: &[Frame<'_>]) -> Result<Stamp, Refusal> {
    check_frame("frame_id", &header.frame_id, allowed)?;
    stamp_of(&header.stamp)
}

/// The twist of an odometry message, in the base frame, and its pose if it has a usable one: a source of twists alone
/// may leave the pose empty. `odom` lists the frames that `frame_id` may name, `base` those that `child_frame_id` may
/// name.
///
/// # Errors
/// [`Refusal::UnknownFrame`], [`Refusal::BadStamp`].
pub fn odometry(
    message: &messages::Odometry,
    odom: &[Frame<'_>],
    base: &[Frame<'_>],
) -> Result<(Odometry, Option<Se2>), Refusal> {
    let stamp = check_header(&message.header, odom)?;
    check_frame("child_frame_id", &message.child_frame_id, base)?;
    let twist = &message.twist.twist;
    let input = Odometry {
        stamp,
        velocity: Vector2::new(twist.linear.x, twist.linear.y),
        yaw_rate: twist.angular.z,
        covariance: stated_covariance(&message.twist.covariance, twist),
    };
    Ok((input, usable_pose(&message.pose.pose)))
}

/// Slower motion is rest, m/s and rad/s: drivers state smaller variances while the robot stands, rightly.
pub(crate) const MOVING: [f64; 2] = [0.1, 0.1];

/// No wheel in motion is so exact, (m/s)² and (rad/s)²: a tenth of a millimetre a second.
pub(crate) const ABSURDLY_SMALL: f64 = 1e-8;

/// The covariance of (v_x, v_y, ω); `None` where the message states none in the plane: −1 first, a variance of 0
/// forward or of the turning, which no wheel has, or of a robot in motion one of [`ABSURDLY_SMALL`]: drivers fill in
/// 1e-9 for "nothing". A leftward variance of 0 beside others is a drive that cannot slide.
pub(super) fn stated_covariance(covariance: &Covariance6, twist: &Twist) -> Option<Matrix3<f64>> {
    let block = planar_block(covariance);
    let is_moving = twist.linear.x.hypot(twist.linear.y) >= MOVING[0] || twist.angular.z.abs() >= MOVING[1];
    let is_placeholder = |variance: f64| variance == 0.0 || (is_moving && (0.0..=ABSURDLY_SMALL).contains(&variance));
    (covariance.0[0] != -1.0 && !is_placeholder(block.m11) && !is_placeholder(block.m33)).then_some(block)
}

/// The block of (x, y, z) of a 6×6 covariance; `None` where it states nothing.
pub(super) fn position_covariance(covariance: &Covariance6) -> Option<Matrix3<f64>> {
    let block = Matrix6::from_row_slice(&covariance.0).fixed_view::<3, 3>(0, 0).into_owned();
    (block.m11 != -1.0 && block.iter().any(|&x| x != 0.0)).then_some(block)
}

/// The block of (x, y, θ) of a 6×6 covariance.
#[allow(clippy::indexing_slicing, reason = "PLANAR has three rows of the 6×6 matrix")]
pub fn planar_block(covariance: &Covariance6) -> Matrix3<f64> {
    Matrix3::from_fn(|i, j| covariance.0[6 * PLANAR[i] + PLANAR[j]])
}

/// Position and heading of a pose, the heading in (−π, π]; `None` if it is not finite or its quaternion is not of
/// length 1.
fn usable_pose(pose: &Pose) -> Option<Se2> {
    let pose = pose_of(pose).ok()?;
    (pose.p.x.is_finite() && pose.p.y.is_finite()).then(|| Se2::new(pose.p.x, pose.p.y, wrap_angle(pose.theta)))
}

/// Position (m) and heading (rad, as of [`yaw_of`]) of a pose. The position may be anything.
///
/// # Errors
/// [`Refusal::BadOrientation`].
pub fn pose_of(pose: &Pose) -> Result<Se2, Refusal> {
    check_orientation(&pose.orientation)?;
    Ok(Se2::new(pose.position.x, pose.position.y, yaw_of(&pose.orientation)))
}

/// How far the square of a quaternion's length may be from 1, as for tf2 (`QUATERNION_NORMALIZATION_TOLERANCE`):
/// drivers send rounded ones.
const SQUARE_TOLERANCE: f64 = 0.01;

/// Checks that a quaternion is one of a rotation but for rounding. Who takes its rotation normalizes it.
pub(super) fn check_orientation(q: &Quaternion) -> Result<(), Refusal> {
    let q = nalgebra::Quaternion::new(q.w, q.x, q.y, q.z);
    // Not-a-number is farther than everything.
    let is_near = (q.norm_squared() - 1.0).abs() < SQUARE_TOLERANCE;
    if is_near { Ok(()) } else { Err(Refusal::BadOrientation { norm: q.norm() }) }
}

/// The heading of an orientation, rad: the angle from the X axis of the parent to the horizontal part of the X axis of
/// the body. In (−π, π]; of a rotation about the vertical in (−2π, 2π], so that no bit is lost.
pub fn yaw_of(q: &Quaternion) -> f64 {
    if q.x == 0.0 && q.y == 0.0 {
        return 2.0 * q.z.atan2(q.w);
    }
    (2.0 * (q.w * q.z + q.x * q.y)).atan2(q.w * q.w + q.x * q.x - q.y * q.y - q.z * q.z)
}

/// A cloud of features. `frames` are those it may be in; `preferred` decides where its fields are those of several
/// kinds.
///
/// # Errors
/// [`Refusal::UnknownFrame`], [`Refusal::BadStamp`], [`Refusal::BadLayout`].
pub fn features(message: &PointCloud2, frames: &[Frame<'_>], preferred: MeasurementKind) -> Result<Scan, Refusal> {
    let stamp = check_header(&message.header, frames)?;
    let (kind, measurements) = decode_features(message, preferred)?;
    Ok(Scan { stamp, kind, measurements })
}

/// Positions of landmarks, m, by identity.
///
/// # Errors
/// [`Refusal::BadLayout`].
pub fn landmarks(message: &PointCloud2) -> Result<Vec<(u32, Vector2<f64>)>, Refusal> {
    Ok(decode_landmarks(message)?)
}

/// The rate of the heading that a gyroscope measures, and its tilt if the message has an orientation: the covariance
/// of the orientation does not begin with −1, and the quaternion is not all zeros. Otherwise the sensor is taken to
/// stand upright.
///
/// # Errors
/// [`Refusal::UnknownFrame`], [`Refusal::BadStamp`], [`Refusal::NoAngularVelocity`], [`Refusal::BadOrientation`].
pub fn imu(message: &messages::Imu, frames: &[Frame<'_>]) -> Result<Imu, Refusal> {
    let stamp = check_header(&message.header, frames)?;
    check_angular_velocity(message)?;
    let q = &message.orientation;
    let has_orientation = message.orientation_covariance[0] != -1.0 && [q.x, q.y, q.z, q.w] != [0.0; 4];
    let tilt = if has_orientation { tilt_of(q)? } else { None };
    Ok(Imu::new(stamp, &vector(&message.angular_velocity), tilt))
}

/// Roll and pitch; `None` near the vertical, where the heading is not defined.
fn tilt_of(q: &Quaternion) -> Result<Option<Tilt>, Refusal> {
    check_orientation(q)?;
    Ok(Tilt::of(&UnitQuaternion::new_normalize(nalgebra::Quaternion::new(q.w, q.x, q.y, q.z))))
}

fn check_angular_velocity(message: &messages::Imu) -> Result<(), Refusal> {
    if message.angular_velocity_covariance[0] == -1.0 { Err(Refusal::NoAngularVelocity) } else { Ok(()) }
}

/// A pose given from outside, in the map, with the covariance of (x, y, θ). Its stamp is not read.
///
/// # Errors
/// [`Refusal::UnknownFrame`], [`Refusal::BadOrientation`].
pub fn initial_pose(message: &PoseWithCovarianceStamped, map: &[Frame<'_>]) -> Result<(Se2, Matrix3<f64>), Refusal> {
    check_frame("frame_id", &message.header.frame_id, map)?;
    let pose = pose_of(&message.pose.pose)?;
    Ok((Se2::new(pose.p.x, pose.p.y, wrap_angle(pose.theta)), planar_block(&message.pose.covariance)))
}

/// Angular velocity and specific force of an inertial message; its orientation is not read.
///
/// # Errors
/// [`Refusal::UnknownFrame`], [`Refusal::BadStamp`], [`Refusal::NoAngularVelocity`],
/// [`Refusal::NoLinearAcceleration`].
pub fn imu_sample(message: &messages::Imu, frames: &[Frame<'_>]) -> Result<ImuSample, Refusal> {
    let stamp = check_header(&message.header, frames)?;
    check_angular_velocity(message)?;
    if message.linear_acceleration_covariance[0] == -1.0 {
        return Err(Refusal::NoLinearAcceleration);
    }
    Ok(ImuSample {
        stamp,
        angular_velocity: vector(&message.angular_velocity),
        specific_force: vector(&message.linear_acceleration),
    })
}

/// The magnetic field, in the frame of the sensor.
///
/// # Errors
/// [`Refusal::UnknownFrame`], [`Refusal::BadStamp`].
pub fn magnetic_field(message: &messages::MagneticField, frames: &[Frame<'_>]) -> Result<MagneticField, Refusal> {
    let stamp = check_header(&message.header, frames)?;
    Ok(MagneticField { stamp, field: vector(&message.magnetic_field) })
}

/// The torque of a wrench, in the frame of the body.
///
/// # Errors
/// [`Refusal::UnknownFrame`], [`Refusal::BadStamp`].
pub fn torque(message: &messages::WrenchStamped, frames: &[Frame<'_>]) -> Result<Torque, Refusal> {
    let stamp = check_header(&message.header, frames)?;
    Ok(Torque { stamp, torque: vector(&message.wrench.torque) })
}

fn vector(v: &messages::Vector3) -> Vector3<f64> {
    Vector3::new(v.x, v.y, v.z)
}
