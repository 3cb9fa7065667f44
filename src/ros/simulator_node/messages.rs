//! What the simulation makes, as messages. Values are not rounded: FLOAT64, so that a filter gets them bit by bit.

use crate::ros::tf;
use lienav_base::stamp::Stamp;
use lienav_io::cloud::{encode_features, encode_landmarks};
use lienav_lie::Se2;
use lienav_sim::ImuMeasurement;
use lienav_slam::{Odometry, Scan};
use nalgebra::{Matrix3, Vector2};
use r2r::geometry_msgs::msg::Vector3;
use r2r::sensor_msgs::msg::PointCloud2;
use r2r::{nav_msgs, sensor_msgs};

/// Standard gravity, m/s².
const GRAVITY: f64 = 9.806_65;

/// Where the odometry believes the robot to be, and how fast it is.
pub fn odometry(stamp: Stamp, input: &Odometry, pose: Se2, odom: &str, base: &str) -> nav_msgs::msg::Odometry {
    let mut message = nav_msgs::msg::Odometry {
        header: tf::header(stamp, odom),
        child_frame_id: base.to_owned(),
        // Dead reckoning drifts without bound: no covariance is stated for it.
        pose: tf::pose_with_covariance(pose, &Matrix3::zeros()),
        ..Default::default()
    };
    message.twist.twist.linear = Vector3 { x: input.velocity.x, y: input.velocity.y, z: 0.0 };
    message.twist.twist.angular.z = input.yaw_rate;
    if let Some(covariance) = &input.covariance {
        message.twist.covariance = tf::pose_with_covariance(Se2::identity(), covariance).covariance;
    }
    message
}

/// A cloud of features.
pub fn features(stamp: Stamp, seen: &Scan, sensor: &str) -> PointCloud2 {
    tf::cloud(tf::header(stamp, sensor), encode_features(seen.kind, &seen.measurements))
}

/// All features there are, at their true places.
pub fn landmarks(stamp: Stamp, landmarks: &[(u32, Vector2<f64>)], map: &str) -> PointCloud2 {
    tf::cloud(tf::header(stamp, map), encode_landmarks(landmarks))
}

/// An inertial reading of a sensor that has no orientation of its own.
pub fn imu(stamp: Stamp, checked: &ImuMeasurement, base: &str) -> sensor_msgs::msg::Imu {
    let mut message = sensor_msgs::msg::Imu { header: tf::header(stamp, base), ..Default::default() };
    if let Some(first) = message.orientation_covariance.first_mut() {
        *first = -1.0;
    }
    message.angular_velocity.z = checked.yaw_rate;
    message.linear_acceleration = Vector3 { x: checked.acceleration.x, y: checked.acceleration.y, z: GRAVITY };
    message
}

#[cfg(test)]
mod tests {
    use super::*;
    use lienav_io::bag::cdr;
    use lienav_io::convert::{self, Frame};
    use lienav_io::messages::Message;
    use lienav_slam::{Measurement, MeasurementKind};

    const ODOM: Frame<'static> = Frame::parameter("odom_frame", "odom");
    const BASE: Frame<'static> = Frame::parameter("base_frame", "base_link");

    /// A message as a node gets it.
    fn sent<P: Message>(message: &impl r2r::WrappedTypesupport) -> P {
        cdr::decode(&message.to_serialized_bytes().unwrap()).unwrap()
    }

    #[test]
    fn what_is_sent_is_what_is_read_bit_by_bit() {
        let stamp = Stamp::from_nanos(1_234_567_891);
        let input = Odometry {
            stamp,
            velocity: Vector2::new(1.0 / 3.0, -0.1),
            yaw_rate: 0.7f64.sin(),
            covariance: Some(Matrix3::new(0.1, 0.01, 0.0, 0.01, 0.2, 0.0, 0.0, 0.0, 0.3)),
        };
        let pose = Se2::new(1.0, 2.0, 0.3);
        let message = odometry(stamp, &input, pose, "odom", "base_link");
        let (read, read_pose) = convert::odometry(&sent(&message), &[ODOM], &[BASE]).unwrap();
        assert_eq!(read, input);
        assert!((read_pose.unwrap().theta - 0.3).abs() < 1e-15);

        let measurement = Measurement::new(Some(3), [0.1f64.exp(), 1.0 / 7.0]);
        let seen = Scan { stamp, kind: MeasurementKind::StereoBearings, measurements: vec![measurement] };
        let message = features(stamp, &seen, "base_link");
        assert_eq!(convert::features(&sent(&message), &[BASE], MeasurementKind::RangeBearing).unwrap(), seen);

        let checked = ImuMeasurement { stamp, yaw_rate: 0.1f64.cos(), acceleration: Vector2::zeros() };
        let message = imu(stamp, &checked, "base_link");
        assert_eq!(convert::imu(&sent(&message), &[BASE]).unwrap(), checked.into());
    }
}
