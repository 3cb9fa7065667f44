//! What the filter takes and what is known to be true, as messages. Doubles are not rounded: reading a message back
//! gives the same bits.

use super::PLANAR;
use crate::cloud::{Encoded, encode_features};
use crate::messages::{
    Bytes, Covariance6, Header, Imu, Odometry, Point, PointCloud2, PointField, Pose, PoseStamped, Quaternion,
    TfMessage, Time, Transform, TransformStamped, Vector3,
};
use lienav_base::stamp::Stamp;
use lienav_lie::Se2;
use lienav_slam::Scan;
use nalgebra::Matrix3;

impl From<Stamp> for Time {
    fn from(stamp: Stamp) -> Self {
        let (sec, nanosec) = stamp.parts();
        Self { sec, nanosec }
    }
}

/// A header.
pub fn header(stamp: Stamp, frame: &str) -> Header {
    Header { stamp: stamp.into(), frame_id: frame.to_owned() }
}

/// An odometry message that says nothing of the pose (its covariance is huge, the pose the origin).
pub fn odometry_message(odometry: &lienav_slam::Odometry, odom_frame: &str, base_frame: &str) -> Odometry {
    let mut message = Odometry {
        header: header(odometry.stamp, odom_frame),
        child_frame_id: base_frame.to_owned(),
        ..Odometry::default()
    };
    message.pose.pose.orientation.w = 1.0;
    message.pose.covariance.0.iter_mut().step_by(7).for_each(|variance| *variance = 1e9);
    message.twist.twist.linear.x = odometry.velocity.x;
    message.twist.twist.linear.y = odometry.velocity.y;
    message.twist.twist.angular.z = odometry.yaw_rate;
    if let Some(covariance) = odometry.covariance {
        set_planar_block(&mut message.twist.covariance, &covariance);
    }
    message
}

/// Writes the block of (x, y, θ) into a 6×6 covariance.
#[allow(clippy::indexing_slicing, reason = "PLANAR has rows of the 6×6 matrix, and i, j are rows of the 3×3 block")]
pub(super) fn set_planar_block(covariance: &mut Covariance6, block: &Matrix3<f64>) {
    for (i, row) in PLANAR.into_iter().enumerate() {
        for (j, column) in PLANAR.into_iter().enumerate() {
            covariance.0[6 * row + column] = block[(i, j)];
        }
    }
}

/// An IMU message of a level body, without orientation and acceleration.
pub fn imu_message(imu: &lienav_slam::Imu, frame: &str) -> Imu {
    let mut message = Imu { header: header(imu.stamp, frame), ..Imu::default() };
    message.orientation.w = 1.0;
    message.orientation_covariance[0] = -1.0;
    message.linear_acceleration_covariance[0] = -1.0;
    message.angular_velocity.z = imu.yaw_rate;
    message
}

/// A pose in the plane.
pub fn pose_message(pose: &Se2) -> Pose {
    let (z, w) = half_angle(pose.theta);
    Pose { position: Point { x: pose.p.x, y: pose.p.y, z: 0.0 }, orientation: Quaternion { x: 0.0, y: 0.0, z, w } }
}

/// The transform from a frame to one at `pose` in it, at an instant.
pub fn transform_message(stamp: Stamp, pose: &Se2, frame: &str, child: &str) -> TfMessage {
    let Pose { position: Point { x, y, z }, orientation: rotation } = pose_message(pose);
    let transform = Transform { translation: Vector3 { x, y, z }, rotation };
    let header = header(stamp, frame);
    TfMessage { transforms: vec![TransformStamped { header, child_frame_id: child.to_owned(), transform }] }
}

/// A pose in the plane at an instant.
pub fn pose_stamped(stamp: Stamp, pose: &Se2, frame: &str) -> PoseStamped {
    PoseStamped { header: header(stamp, frame), pose: pose_message(pose) }
}

/// (z, w) of the quaternion of a rotation about the vertical. Of the doubles next to sin(θ/2) and cos(θ/2) those are
/// taken that [`super::yaw_of`] makes θ again, to the last bit, so that a bag keeps the truth as it was published.
/// Once in a million angles there are none; the last bit is lost then.
fn half_angle(theta: f64) -> (f64, f64) {
    let (z, w) = (0.5 * theta).sin_cos();
    if !theta.is_finite() {
        return (z, w);
    }
    let near = |x: f64| [x, x.next_up(), x.next_down(), x.next_up().next_up(), x.next_down().next_down()];
    let candidates = near(z).into_iter().flat_map(|z| near(w).map(|w| (z, w)));
    candidates.into_iter().find(|&(z, w)| 2.0 * z.atan2(w) == theta).unwrap_or((z, w))
}

/// A cloud of features.
pub fn features_message(features: &Scan, frame: &str) -> PointCloud2 {
    cloud_message(features.stamp, frame, encode_features(features.kind, &features.measurements))
}

/// A cloud from its layout.
pub fn cloud_message(stamp: Stamp, frame: &str, encoded: Encoded) -> PointCloud2 {
    let fields = encoded.fields.iter().map(|&(name, offset, datatype)| PointField {
        name: name.to_owned(),
        offset,
        datatype,
        count: 1,
    });
    PointCloud2 {
        header: header(stamp, frame),
        height: 1,
        width: encoded.width,
        fields: fields.collect(),
        is_bigendian: false,
        point_step: encoded.point_step,
        row_step: encoded.width * encoded.point_step,
        data: Bytes(encoded.data),
        is_dense: true,
    }
}
