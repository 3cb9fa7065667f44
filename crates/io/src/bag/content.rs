//! Between the messages of a bag and what the filter takes: SI units, planar parts.

use super::cloud::{Cloud, Encoded, Field, LayoutError, decode_features, encode_features};
use super::messages::{
    Bytes, Header, Imu, Odometry, Point, PointCloud2, PointField, Pose, PoseStamped, Quaternion, Time,
};
use lienav_base::stamp::Stamp;
use lienav_lie::Se2;
use lienav_slam::{FeatureKind, Features, Tilt};
use nalgebra::{Matrix3, UnitQuaternion, Vector3};

impl From<Stamp> for Time {
    fn from(stamp: Stamp) -> Self {
        let (sec, nanosec) = stamp.parts();
        Self { sec, nanosec }
    }
}

impl From<&Time> for Stamp {
    fn from(time: &Time) -> Self {
        Self::from_parts(time.sec, time.nanosec)
    }
}

/// A header.
pub fn header(stamp: Stamp, frame: &str) -> Header {
    Header { stamp: stamp.into(), frame_id: frame.to_owned() }
}

/// Where (v_x, v_y, w) stand among (x, y, z, rotations about X, Y, Z).
const PLANAR: [usize; 3] = [0, 1, 5];

/// The twist of an odometry message. A covariance of nothing but zeros, or one that begins with −1, is none.
pub fn odometry_of(message: &Odometry) -> lienav_slam::Odometry {
    let twist = &message.twist.twist;
    let covariance = &message.twist.covariance.0;
    let says_something = covariance[0] != -1.0 && covariance.iter().any(|&value| value != 0.0);
    lienav_slam::Odometry {
        stamp: (&message.header.stamp).into(),
        velocity: nalgebra::Vector2::new(twist.linear.x, twist.linear.y),
        yaw_rate: twist.angular.z,
        covariance: says_something.then(|| Matrix3::from_fn(|i, j| covariance[6 * PLANAR[i] + PLANAR[j]])),
    }
}

/// An odometry message that says nothing of the pose (its covariance is huge, the pose the origin).
pub fn odometry_message(odometry: &lienav_slam::Odometry, odom_frame: &str, base_frame: &str) -> Odometry {
    let mut message = Odometry {
        header: header(odometry.stamp, odom_frame),
        child_frame_id: base_frame.to_owned(),
        ..Odometry::default()
    };
    message.pose.pose.orientation.w = 1.0;
    for i in 0..6 {
        message.pose.covariance.0[7 * i] = 1e9;
    }
    message.twist.twist.linear.x = odometry.velocity.x;
    message.twist.twist.linear.y = odometry.velocity.y;
    message.twist.twist.angular.z = odometry.yaw_rate;
    if let Some(covariance) = odometry.covariance {
        for i in 0..3 {
            for j in 0..3 {
                message.twist.covariance.0[6 * PLANAR[i] + PLANAR[j]] = covariance[(i, j)];
            }
        }
    }
    message
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

/// Roll and pitch of a quaternion (x, y, z, w); `None` of one that is all zeros, which is how messages leave it empty, and
/// near the vertical, where the heading is not defined.
pub fn tilt_of([x, y, z, w]: [f64; 4]) -> Option<Tilt> {
    let rotation = UnitQuaternion::try_new(nalgebra::Quaternion::new(w, x, y, z), 1e-3)?;
    Tilt::of(&rotation)
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

/// Position and heading of a pose.
pub fn pose_of(pose: &Pose) -> Se2 {
    Se2::new(pose.position.x, pose.position.y, yaw_of(&pose.orientation))
}

/// A pose in the plane.
pub fn pose_message(pose: &Se2) -> Pose {
    let (z, w) = half_angle(pose.theta);
    Pose { position: Point { x: pose.p.x, y: pose.p.y, z: 0.0 }, orientation: Quaternion { x: 0.0, y: 0.0, z, w } }
}

/// A pose in the plane at an instant.
pub fn pose_stamped(stamp: Stamp, pose: &Se2, frame: &str) -> PoseStamped {
    PoseStamped { header: header(stamp, frame), pose: pose_message(pose) }
}

/// The heading of an orientation, rad: of a rotation about the vertical in (−2π, 2π], otherwise the yaw of roll, pitch, yaw in
/// (−π, π].
pub fn yaw_of(q: &Quaternion) -> f64 {
    if q.x == 0.0 && q.y == 0.0 {
        return 2.0 * q.z.atan2(q.w);
    }
    (2.0 * (q.w * q.z + q.x * q.y)).atan2(q.w * q.w + q.x * q.x - q.y * q.y - q.z * q.z)
}

/// (z, w) of the quaternion of a rotation about the vertical. Of the doubles next to sin(θ/2) and cos(θ/2) those are taken that
/// [`yaw_of`] makes θ again, to the last bit, so that a bag keeps the truth as it was published. Once in a million angles there are
/// none; the last bit is lost then.
fn half_angle(theta: f64) -> (f64, f64) {
    let (z, w) = (0.5 * theta).sin_cos();
    if !theta.is_finite() {
        return (z, w);
    }
    let near = |x: f64| [x, x.next_up(), x.next_down(), x.next_up().next_up(), x.next_down().next_down()];
    let candidates = near(z).into_iter().flat_map(|z| near(w).map(|w| (z, w)));
    candidates.into_iter().find(|&(z, w)| 2.0 * z.atan2(w) == theta).unwrap_or((z, w))
}

/// Runs `read` on the layout of a cloud.
pub fn with_layout<T>(message: &PointCloud2, read: impl FnOnce(&Cloud<'_>) -> T) -> T {
    let fields: Vec<Field<'_>> = message
        .fields
        .iter()
        .map(|f| Field { name: &f.name, offset: f.offset, datatype: f.datatype, count: f.count })
        .collect();
    read(&Cloud {
        fields: &fields,
        height: message.height,
        width: message.width,
        point_step: message.point_step,
        row_step: message.row_step,
        is_bigendian: message.is_bigendian,
        data: &message.data.0,
    })
}

/// The features of a cloud.
///
/// # Errors
/// Another layout.
pub fn features_of(message: &PointCloud2, preferred: FeatureKind) -> Result<Features, LayoutError> {
    let (kind, observations) = with_layout(message, |cloud| decode_features(cloud, preferred))?;
    Ok(Features { stamp: (&message.header.stamp).into(), kind, observations })
}

/// A cloud of features.
pub fn features_message(features: &Features, frame: &str) -> PointCloud2 {
    cloud_message(features.stamp, frame, encode_features(features.kind, &features.observations))
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_heading_survives_the_quaternion(theta in -6.25..6.25f64) {
            let read = yaw_of(&pose_message(&Se2::new(0.0, 0.0, theta)).orientation);
            prop_assert!((read - theta).abs() <= f64::EPSILON * theta.abs());
        }

        #[test]
        fn odometry_survives_its_message(v in -2.0..2.0f64, w in -2.0..2.0f64, c in prop::option::of(0.01..1.0f64)) {
            let odometry = lienav_slam::Odometry {
                stamp: Stamp::from_nanos(1_234_567_890_123),
                velocity: nalgebra::Vector2::new(v, -v),
                yaw_rate: w,
                covariance: c.map(|c| Matrix3::new(c, 0.1, 0.2, 0.1, 2.0 * c, 0.3, 0.2, 0.3, c * c)),
            };
            prop_assert_eq!(odometry_of(&odometry_message(&odometry, "odom", "base_link")), odometry);
        }

        #[test]
        fn the_heading_rate_is_the_derivative_of_the_yaw(
            roll in -1.0..1.0f64, pitch in -1.2..1.2f64, yaw in -3.0..3.0f64,
            w in (-1.0..1.0f64, -1.0..1.0f64, -1.0..1.0f64),
        ) {
            let w = Vector3::new(w.0, w.1, w.2);
            let q = UnitQuaternion::from_euler_angles(roll, pitch, yaw);
            let h = 1e-6;
            let yaw_at = |t: f64| {
                let moved = q * UnitQuaternion::from_scaled_axis(w * t);
                yaw_of(&Quaternion { x: moved.i, y: moved.j, z: moved.k, w: moved.w })
            };
            let difference = lienav_lie::wrap_angle(yaw_at(h) - yaw_at(-h)) / (2.0 * h);
            let tilt = tilt_of([q.i, q.j, q.k, q.w]).unwrap();
            prop_assert!((tilt.heading_rate(&w) - difference).abs() < 1e-6);
        }
    }

    #[test]
    fn an_imu_without_orientation_is_taken_as_level() {
        let imu = lienav_slam::Imu { stamp: Stamp::from_nanos(5), yaw_rate: 0.3, tilt: None };
        assert_eq!(imu_of(&imu_message(&imu, "imu")), Some(imu));
        let mut blind = imu_message(&imu, "imu");
        blind.angular_velocity_covariance[0] = -1.0;
        assert_eq!(imu_of(&blind), None);
    }
}
