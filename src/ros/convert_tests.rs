use super::*;
use crate::ros::tf;
use nalgebra::Vector3;

const ODOM: Frame<'static> = Frame { parameter: "odom_frame", name: "odom" };
const BASE: Frame<'static> = Frame { parameter: "base_frame", name: "base_link" };

fn odometry_message() -> nav_msgs::msg::Odometry {
    let mut message = nav_msgs::msg::Odometry {
        header: tf::header(Stamp::from_secs(2.5), "odom"),
        child_frame_id: "base_link".into(),
        ..Default::default()
    };
    message.twist.twist.linear.x = 1.0;
    message.twist.twist.angular.z = 0.3;
    message.pose.pose = tf::pose(Se2::new(1.0, 2.0, 3.0));
    message
}

fn imu_message() -> sensor_msgs::msg::Imu {
    sensor_msgs::msg::Imu {
        header: tf::header(Stamp::from_secs(1.0), "base_link"),
        angular_velocity: geometry_msgs::msg::Vector3 { x: 0.1, y: 0.2, z: 0.3 },
        ..Default::default()
    }
}

#[test]
fn an_odometry_message_gives_its_twist_and_its_pose() {
    let (input, pose) = odometry(&odometry_message(), ODOM, BASE).unwrap();
    assert_eq!((input.stamp, input.velocity, input.yaw_rate), (Stamp::from_secs(2.5), Vector2::new(1.0, 0.0), 0.3));
    assert_eq!(input.covariance, None, "zeros say that there is none");
    let pose = pose.unwrap();
    assert!((pose.p - Vector2::new(1.0, 2.0)).norm() == 0.0 && (pose.theta - 3.0).abs() < 1e-15);
}

#[test]
fn a_covariance_is_passed_on_as_it_is() {
    let mut message = odometry_message();
    message.twist.covariance[0] = 0.01;
    message.twist.covariance[7] = -0.02;
    message.twist.covariance[35] = 0.03;
    let covariance = odometry(&message, ODOM, BASE).unwrap().0.covariance;
    assert_eq!(covariance, Some(Matrix3::from_diagonal(&Vector3::new(0.01, -0.02, 0.03))));
}

#[test]
fn a_source_of_twists_alone_needs_no_pose() {
    for x in [f64::NAN, f64::INFINITY] {
        let mut message = odometry_message();
        message.pose.pose.position.x = x;
        assert_eq!(odometry(&message, ODOM, BASE).unwrap().1, None);
    }
    let mut message = odometry_message();
    message.pose.pose.orientation = geometry_msgs::msg::Quaternion { x: 0.0, y: 0.0, z: 0.0, w: 0.0 };
    assert_eq!(odometry(&message, ODOM, BASE).unwrap().1, None);
}

#[test]
fn another_frame_is_refused_by_name_and_a_leading_slash_is_not() {
    let mut message = odometry_message();
    message.header.frame_id = "/odom".into();
    assert!(odometry(&message, ODOM, BASE).is_ok());
    message.child_frame_id = "base_footprint".into();
    let refusal = odometry(&message, ODOM, BASE).unwrap_err();
    assert_eq!(refusal.word(), "unknown_frame");
    assert_eq!(refusal.to_string(), "its child_frame_id is 'base_footprint', but parameter base_frame is 'base_link'");
    message.header.frame_id.clear();
    assert!(odometry(&message, ODOM, BASE).unwrap_err().to_string().contains("odom_frame"));
}

#[test]
fn a_stamp_has_less_than_a_second_of_nanoseconds() {
    let mut message = odometry_message();
    message.header.stamp.nanosec = 1_000_000_000;
    assert_eq!(odometry(&message, ODOM, BASE), Err(Refusal::BadStamp(1_000_000_000)));
}

#[test]
fn the_heading_is_that_of_the_x_axis_also_on_a_slope() {
    for yaw in [-3.0, -0.4, 0.0, 1.2, 3.1] {
        let tilted = UnitQuaternion::from_axis_angle(&Vector3::z_axis(), yaw)
            * UnitQuaternion::from_axis_angle(&Vector3::y_axis(), 0.3);
        assert!((heading(&tilted) - yaw).abs() < 1e-12);
        let flat = pose(&tf::pose(Se2::new(0.0, 0.0, yaw))).unwrap();
        assert!((flat.theta - yaw).abs() < 1e-15);
    }
}

#[test]
fn a_gyroscope_without_orientation_is_taken_for_upright() {
    let mut message = imu_message();
    message.orientation_covariance[0] = -1.0;
    assert_eq!(imu(&message, &[BASE]).unwrap().yaw_rate, 0.3);
    message.orientation_covariance[0] = 0.0;
    message.orientation.w = 0.0;
    assert_eq!(imu(&message, &[BASE]).unwrap().yaw_rate, 0.3, "all zeros are no orientation either");
}

#[test]
fn a_tilted_gyroscope_is_projected_onto_the_vertical() {
    let roll = UnitQuaternion::from_axis_angle(&Vector3::x_axis(), std::f64::consts::FRAC_PI_2);
    let mut message = imu_message();
    message.orientation = geometry_msgs::msg::Quaternion { x: roll.i, y: roll.j, z: roll.k, w: roll.w };
    // Rolled to its right side, the sensor has its Y axis along the vertical.
    assert!((imu(&message, &[BASE]).unwrap().yaw_rate - 0.2).abs() < 1e-15);
    message.orientation.w = 3.0;
    assert_eq!(imu(&message, &[BASE]), Err(Refusal::BadOrientation));
    message.angular_velocity_covariance[0] = -1.0;
    assert_eq!(imu(&message, &[BASE]), Err(Refusal::NoAngularVelocity));
}

#[test]
fn a_cloud_of_another_layout_is_refused() {
    let frames = [Frame { parameter: "sensor_frame", name: "feature_sensor" }, BASE];
    let mut message = sensor_msgs::msg::PointCloud2 {
        header: tf::header(Stamp::from_secs(1.0), "base_link"),
        height: 1,
        width: 1,
        point_step: 8,
        row_step: 8,
        data: vec![0; 8],
        ..Default::default()
    };
    let refusal = features(&message, &frames, FeatureKind::RangeBearing).unwrap_err();
    assert_eq!(refusal.word(), "bad_layout");
    message.header.frame_id = "camera".into();
    let refusal = features(&message, &frames, FeatureKind::RangeBearing).unwrap_err();
    assert!(refusal.to_string().contains("sensor_frame is 'feature_sensor'"), "{refusal}");
}

#[test]
fn a_given_pose_has_to_be_in_the_map() {
    let map = Frame { parameter: "map_frame", name: "map" };
    let mut message = geometry_msgs::msg::PoseWithCovarianceStamped {
        header: tf::header(Stamp::default(), "map"),
        pose: tf::pose_with_covariance(Se2::new(1.0, 2.0, -0.5), &Matrix3::identity()),
    };
    let (given, covariance) = initial_pose(&message, map).unwrap();
    assert!((given.theta + 0.5).abs() < 1e-15 && covariance == Matrix3::identity());
    message.pose.pose.orientation.w = f64::NAN;
    assert_eq!(initial_pose(&message, map), Err(Refusal::BadOrientation));
    message.header.frame_id = "odom".into();
    assert_eq!(initial_pose(&message, map).unwrap_err().word(), "unknown_frame");
}
