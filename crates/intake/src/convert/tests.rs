use super::*;
use crate::cloud::LayoutError;
use crate::messages::{Header, Imu, Odometry, PointCloud2, PoseWithCovarianceStamped, Quaternion, Time};
use lienav_base::stamp::Stamp;
use lienav_lie::{Se2, wrap_angle};
use lienav_slam::MeasurementKind;
use nalgebra::{Matrix3, UnitQuaternion, Vector2, Vector3};
use proptest::prelude::*;

const ODOM: [Frame<'static>; 1] = [Frame::parameter("odom_frame", "odom")];
const BASE: [Frame<'static>; 1] = [Frame::parameter("base_frame", "base_link")];

fn quaternion(q: &UnitQuaternion<f64>) -> Quaternion {
    Quaternion { x: q.i, y: q.j, z: q.k, w: q.w }
}

fn odometry_at(seconds: f64) -> Odometry {
    let mut message = Odometry {
        header: header(Stamp::from_secs(seconds), "odom"),
        child_frame_id: "base_link".into(),
        ..Odometry::default()
    };
    message.twist.twist.linear.x = 1.0;
    message.twist.twist.angular.z = 0.3;
    message.pose.pose = pose_message(&Se2::new(1.0, 2.0, 3.0));
    message
}

fn imu_measurement() -> Imu {
    let mut message = Imu { header: header(Stamp::from_nanos(1_000_000_007), "base_link"), ..Imu::default() };
    message.angular_velocity = crate::messages::Vector3 { x: 0.1, y: 0.2, z: 0.3 };
    message.linear_acceleration = crate::messages::Vector3 { x: 4.0, y: 5.0, z: 6.0 };
    message
}

proptest! {
    #[test]
    fn a_heading_survives_the_quaternion(theta in -6.25..6.25f64) {
        let read = yaw_of(&pose_message(&Se2::new(0.0, 0.0, theta)).orientation);
        prop_assert!((read - theta).abs() <= f64::EPSILON * theta.abs());
    }

    #[test]
    fn odometry_survives_its_message(v in -2.0..2.0f64, w in -2.0..2.0f64, c in prop::option::of(0.01..1.0f64)) {
        let input = lienav_slam::Odometry {
            stamp: Stamp::from_nanos(1_234_567_890_123),
            velocity: Vector2::new(v, -v),
            yaw_rate: w,
            covariance: c.map(|c| Matrix3::new(c, 0.1, 0.2, 0.1, 2.0 * c, 0.3, 0.2, 0.3, c * c)),
        };
        prop_assert_eq!(odometry(&odometry_message(&input, "odom", "base_link"), &ODOM, &BASE).unwrap().0, input);
    }

    #[test]
    fn the_heading_rate_is_the_derivative_of_the_yaw(
        roll in -1.0..1.0f64, pitch in -1.2..1.2f64, yaw in -3.0..3.0f64,
        w in (-1.0..1.0f64, -1.0..1.0f64, -1.0..1.0f64),
    ) {
        let w = Vector3::new(w.0, w.1, w.2);
        let q = UnitQuaternion::from_euler_angles(roll, pitch, yaw);
        let h = 1e-6;
        let yaw_at = |t: f64| yaw_of(&quaternion(&(q * UnitQuaternion::from_scaled_axis(w * t))));
        let difference = wrap_angle(yaw_at(h) - yaw_at(-h)) / (2.0 * h);
        let mut message = imu_measurement();
        message.orientation = quaternion(&q);
        message.angular_velocity = crate::messages::Vector3 { x: w.x, y: w.y, z: w.z };
        prop_assert!((imu(&message, &BASE).unwrap().yaw_rate - difference).abs() < 1e-6);
    }
}

#[test]
fn an_odometry_message_gives_its_twist_and_its_pose() {
    let (input, pose) = odometry(&odometry_at(2.5), &ODOM, &BASE).unwrap();
    assert_eq!((input.stamp, input.velocity, input.yaw_rate), (Stamp::from_secs(2.5), Vector2::new(1.0, 0.0), 0.3));
    assert_eq!(input.covariance, None, "zeros say that there is none");
    let pose = pose.unwrap();
    assert!((pose.p - Vector2::new(1.0, 2.0)).norm() == 0.0 && (pose.theta - 3.0).abs() < 1e-15);
}

#[test]
fn a_covariance_is_passed_on_as_it_is() {
    let mut message = odometry_at(1.0);
    message.twist.covariance.0[0] = 0.01;
    message.twist.covariance.0[7] = -0.02;
    message.twist.covariance.0[35] = 0.03;
    let covariance = odometry(&message, &ODOM, &BASE).unwrap().0.covariance;
    assert_eq!(covariance, Some(Matrix3::from_diagonal(&Vector3::new(0.01, -0.02, 0.03))));
}

#[test]
fn a_variance_of_zero_in_the_plane_is_not_stated() {
    let stated = |variances: [f64; 6]| {
        let mut message = odometry_at(1.0);
        (0..6).for_each(|k| message.twist.covariance.0[7 * k] = variances[k]);
        odometry(&message, &ODOM, &BASE).unwrap().0.covariance
    };
    // As gazebo's diff drive writes it where the user leaves its covariances at 0, and others.
    for zeros in [
        [0.0, 0.0, 1e12, 1e12, 1e12, 0.0],
        [0.0, 0.0, 1e-3, 0.0, 0.0, 0.0],
        [1e-2, 1e-2, 0.0, 0.0, 0.0, 0.0],
        [0.0, 1e-2, 0.0, 0.0, 0.0, 1e-2],
    ] {
        assert_eq!(stated(zeros), None, "{zeros:?}");
    }
    assert!(stated([1e-2, 0.0, 0.0, 0.0, 0.0, 1e-2]).is_some(), "a drive that cannot slide");
}

#[test]
fn a_placeholder_of_a_moving_robot_is_not_stated() {
    let stated = |variance: [f64; 3], speed: f64| {
        let mut message = odometry_at(1.0);
        message.twist.twist.linear.x = speed;
        message.twist.twist.angular.z = 0.0;
        [0, 7, 35].into_iter().zip(variance).for_each(|(k, v)| message.twist.covariance.0[k] = v);
        let here = odometry(&message, &ODOM, &BASE).unwrap().0.covariance;
        let mounted = nalgebra::Isometry3::translation(0.1, 0.0, 0.0);
        let placed = placed_odometry(&message, &ODOM, &mounted).map(|(input, _)| input.covariance);
        assert_eq!(placed.ok().map(|c| c.is_some()), Some(here.is_some()), "{variance:?} {speed}");
        here
    };
    // As the drivers of Create and Kobuki bases write it.
    assert_eq!(stated([1e-9; 3], 0.5), None);
    assert_eq!(stated([1e-4, 1e-4, 1e-9], 0.5), None, "the turning alone");
    assert!(stated([1e-9; 3], 0.0).is_some(), "a robot that stands knows its speed");
    assert!(stated([1e-6; 3], 0.5).is_some());
    assert!(stated([-1e-3, 1e-4, 1e-4], 0.5).is_some(), "what is invalid is refused later, by its reason");
}

#[test]
fn a_quaternion_that_is_near_to_one_of_length_1_is_normalized_as_by_tf2() {
    let yaw = 1.2_f64;
    for length in [0.9951, 1.0016, 1.0041, 1.0049] {
        let rotation = Quaternion { z: length * (yaw / 2.0).sin(), w: length * (yaw / 2.0).cos(), x: 0.0, y: 0.0 };
        let pose = crate::messages::Pose { orientation: rotation.clone(), ..Default::default() };
        assert!((pose_of(&pose).unwrap().theta - yaw).abs() < 1e-12, "{length}");
        let transform = crate::messages::Transform { rotation: rotation.clone(), ..Default::default() };
        assert!((isometry_of(&transform).unwrap().rotation.angle() - yaw).abs() < 1e-12, "{length}");
        let mut message = imu_measurement();
        message.orientation = rotation;
        assert!((imu(&message, &BASE).unwrap().yaw_rate - 0.3).abs() < 1e-12, "{length}");
    }
    for length in [0.994, 1.006, f64::NAN] {
        let pose =
            crate::messages::Pose { orientation: Quaternion { w: length, ..Default::default() }, ..Default::default() };
        assert_eq!(pose_of(&pose).unwrap_err().word(), "bad_orientation", "{length}");
    }
}

#[test]
fn a_source_of_twists_alone_needs_no_pose() {
    for x in [f64::NAN, f64::INFINITY] {
        let mut message = odometry_at(1.0);
        message.pose.pose.position.x = x;
        assert_eq!(odometry(&message, &ODOM, &BASE).unwrap().1, None);
    }
    let mut message = odometry_at(1.0);
    message.pose.pose.orientation = Quaternion::default();
    assert_eq!(odometry(&message, &ODOM, &BASE).unwrap().1, None);
}

#[test]
fn another_frame_is_refused_by_name() {
    let mut message = odometry_at(1.0);
    message.header.frame_id = "/odom".into();
    assert!(odometry(&message, &ODOM, &BASE).is_ok());
    message.child_frame_id = "base_footprint".into();
    let refusal = odometry(&message, &ODOM, &BASE).unwrap_err();
    assert_eq!(refusal.word(), "unknown_frame");
    let sentence = "child_frame_id is 'base_footprint', expected 'base_link' (parameter base_frame)";
    assert_eq!(refusal.to_string(), sentence);
    message.header.frame_id.clear();
    assert!(odometry(&message, &ODOM, &BASE).unwrap_err().to_string().contains("odom_frame"));
}

#[test]
fn a_stamp_has_less_than_a_second_of_nanoseconds() {
    let mut message = odometry_at(1.0);
    message.header.stamp.nanosec = 1_000_000_000;
    assert_eq!(odometry(&message, &ODOM, &BASE), Err(Refusal::BadStamp(1_000_000_000)));
    let before_the_epoch = Time { sec: -1, nanosec: 999_999_999 };
    assert_eq!(stamp_of(&before_the_epoch), Ok(Stamp::from_nanos(-1)));
}

#[test]
fn the_heading_is_that_of_the_x_axis_also_on_a_slope() {
    for yaw in [-3.0, -0.4, 0.0, 1.2, 3.1] {
        let tilted = UnitQuaternion::from_axis_angle(&Vector3::z_axis(), yaw)
            * UnitQuaternion::from_axis_angle(&Vector3::y_axis(), 0.3);
        assert!((yaw_of(&quaternion(&tilted)) - yaw).abs() < 1e-12);
        assert!((pose_of(&pose_message(&Se2::new(0.0, 0.0, yaw))).unwrap().theta - yaw).abs() < 1e-15);
    }
}

#[test]
fn a_gyroscope_without_orientation_is_taken_for_upright() {
    let mut message = imu_measurement();
    message.orientation_covariance[0] = -1.0;
    message.orientation.w = 17.0;
    assert_eq!(imu(&message, &BASE).unwrap().yaw_rate, 0.3);
    message.orientation_covariance[0] = 0.0;
    message.orientation.w = 0.0;
    assert_eq!(imu(&message, &BASE).unwrap().yaw_rate, 0.3, "all zeros are no orientation either");
    let input = lienav_slam::Imu { stamp: Stamp::from_nanos(5), yaw_rate: 0.3, tilt: None };
    assert_eq!(imu(&imu_message(&input, "base_link"), &BASE), Ok(input));
}

#[test]
fn a_tilted_gyroscope_is_projected_onto_the_vertical() {
    let roll = UnitQuaternion::from_axis_angle(&Vector3::x_axis(), std::f64::consts::FRAC_PI_2);
    let mut message = imu_measurement();
    message.orientation = quaternion(&roll);
    // Rolled to its right side, the sensor has its Y axis along the vertical.
    assert!((imu(&message, &BASE).unwrap().yaw_rate - 0.2).abs() < 1e-15);
    message.orientation = Quaternion { w: 3.0, ..Quaternion::default() };
    let refusal = imu(&message, &BASE).unwrap_err();
    assert_eq!(refusal, Refusal::BadOrientation { norm: 3.0 });
    assert_eq!(refusal.to_string(), "the quaternion of the orientation has length 3, expected 1");
    message.angular_velocity_covariance[0] = -1.0;
    assert_eq!(imu(&message, &BASE), Err(Refusal::NoAngularVelocity));
}

#[test]
fn rates_and_forces_are_taken_as_they_are() {
    let sample = imu_sample(&imu_measurement(), &BASE).unwrap();
    assert_eq!(sample.stamp.nanos(), 1_000_000_007);
    assert_eq!(sample.angular_velocity, Vector3::new(0.1, 0.2, 0.3));
    assert_eq!(sample.specific_force, Vector3::new(4.0, 5.0, 6.0));
}

#[test]
fn what_a_message_says_it_does_not_have_is_not_taken() {
    let refused = |change: &dyn Fn(&mut Imu)| {
        let mut message = imu_measurement();
        change(&mut message);
        imu_sample(&message, &BASE).unwrap_err().word()
    };
    assert_eq!(refused(&|m| m.angular_velocity_covariance[0] = -1.0), "no_angular_velocity");
    assert_eq!(refused(&|m| m.linear_acceleration_covariance[0] = -1.0), "no_linear_acceleration");
    assert_eq!(refused(&|m| m.header.frame_id = "camera".into()), "unknown_frame");
    assert_eq!(refused(&|m| m.header.stamp.nanosec = 1_000_000_000), "bad_stamp");
}

#[test]
fn fields_and_torques_are_vectors_with_a_checked_header() {
    let wrong = Header { frame_id: "phone".into(), ..Header::default() };
    let mut field = crate::messages::MagneticField { header: imu_measurement().header, ..Default::default() };
    field.magnetic_field.z = 4e-5;
    assert_eq!(magnetic_field(&field, &BASE).unwrap().field, Vector3::new(0.0, 0.0, 4e-5));
    field.header = wrong.clone();
    assert_eq!(magnetic_field(&field, &BASE).unwrap_err().word(), "unknown_frame");
    let mut wrench = crate::messages::WrenchStamped { header: imu_measurement().header, ..Default::default() };
    wrench.wrench.torque.y = 2.0;
    assert_eq!(torque(&wrench, &BASE).unwrap().torque, Vector3::new(0.0, 2.0, 0.0));
    wrench.header = wrong;
    assert_eq!(torque(&wrench, &BASE).unwrap_err().word(), "unknown_frame");
}

#[test]
fn a_cloud_of_another_layout_is_refused() {
    let frames = [Frame::parameter("sensor_frame", "feature_sensor"), BASE[0]];
    let mut message = PointCloud2 { header: header(Stamp::from_secs(1.0), "base_link"), ..PointCloud2::default() };
    assert_eq!(features(&message, &frames, MeasurementKind::RangeBearing).unwrap().measurements, [], "an empty scan");
    message.data.0 = vec![0; 4];
    let refusal = features(&message, &frames, MeasurementKind::RangeBearing).unwrap_err();
    assert_eq!(refusal, Refusal::BadLayout(LayoutError::NoValues(String::new())));
    message.header.frame_id = "camera".into();
    let refusal = features(&message, &frames, MeasurementKind::RangeBearing).unwrap_err();
    assert_eq!(refusal.to_string(), "frame_id is 'camera', expected 'feature_sensor' (parameter sensor_frame)");
}

#[test]
fn a_given_pose_has_to_be_in_the_map() {
    let map = [Frame::parameter("map_frame", "map")];
    let mut message = PoseWithCovarianceStamped { header: header(Stamp::default(), "map"), ..Default::default() };
    message.pose.pose = pose_message(&Se2::new(1.0, 2.0, -0.5));
    message.pose.covariance.0[35] = 1.0;
    let (given, covariance) = initial_pose(&message, &map).unwrap();
    assert!((given.theta + 0.5).abs() < 1e-15 && covariance == Matrix3::from_diagonal(&Vector3::new(0.0, 0.0, 1.0)));
    message.pose.pose.orientation.w = f64::NAN;
    assert_eq!(initial_pose(&message, &map).unwrap_err().word(), "bad_orientation");
    message.header.frame_id = "odom".into();
    assert_eq!(initial_pose(&message, &map).unwrap_err().word(), "unknown_frame");
}
