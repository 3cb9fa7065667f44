//! What the messages of a bag mean to the filter, without checks.

use crate::cloud::{LayoutError, decode_features};
use crate::convert::{planar_block, yaw_of};
use crate::messages::{Imu, Odometry, PointCloud2, Pose, Time};
use lienav_base::stamp::Stamp;
use lienav_lie::Se2;
use lienav_slam::{FeatureKind, Features, Tilt};
use nalgebra::{UnitQuaternion, Vector3};

impl From<&Time> for Stamp {
    fn from(time: &Time) -> Self {
        Self::from_parts(time.sec, time.nanosec)
    }
}

/// The twist of an odometry message. A covariance of nothing but zeros, or one that begins with −1, is none.
pub fn odometry_of(message: &Odometry) -> lienav_slam::Odometry {
    let twist = &message.twist.twist;
    let covariance = &message.twist.covariance.0;
    let says_something = covariance[0] != -1.0 && covariance.iter().any(|&value| value != 0.0);
    lienav_slam::Odometry {
        stamp: (&message.header.stamp).into(),
        velocity: nalgebra::Vector2::new(twist.linear.x, twist.linear.y),
        yaw_rate: twist.angular.z,
        covariance: says_something.then(|| planar_block(&message.twist.covariance)),
    }
}

/// The rate of the heading in an IMU message; `None` where it says that it has no angular velocity.
pub fn imu_of(message: &Imu) -> Option<lienav_slam::Imu> {
    if message.angular_velocity_covariance[0] == -1.0 {
        return None;
    }
    let (q, w) = (&message.orientation, &message.angular_velocity);
    let orientation = (message.orientation_covariance[0] != -1.0).then_some([q.x, q.y, q.z, q.w]);
    let stamp = (&message.header.stamp).into();
    Some(lienav_slam::Imu::new(stamp, &Vector3::new(w.x, w.y, w.z), orientation.and_then(tilt_of)))
}

fn tilt_of([x, y, z, w]: [f64; 4]) -> Option<Tilt> {
    let rotation = UnitQuaternion::try_new(nalgebra::Quaternion::new(w, x, y, z), 1e-3)?;
    Tilt::of(&rotation)
}

/// Position and heading of a pose.
pub fn pose_of(pose: &Pose) -> Se2 {
    Se2::new(pose.position.x, pose.position.y, yaw_of(&pose.orientation))
}

/// The features of a cloud.
///
/// # Errors
/// Another layout.
pub fn features_of(message: &PointCloud2, preferred: FeatureKind) -> Result<Features, LayoutError> {
    let (kind, observations) = decode_features(message, preferred)?;
    Ok(Features { stamp: (&message.header.stamp).into(), kind, observations })
}
