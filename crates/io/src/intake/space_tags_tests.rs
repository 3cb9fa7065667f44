//! Tags of messages, and what is refused of them.

use super::*;
use crate::convert::header;
use crate::messages::{ImagePoint, Odometry, Quaternion, Transform, TransformStamped, Vector3 as V3};
use lienav_base::stamp::Stamp;

fn intake() -> TagIntake {
    TagIntake::new(TagRobot {
        map: "map".into(),
        odom: "odom".into(),
        base: "base_link".into(),
        camera_infos: vec!["front/camera_info".into()],
        size_m: 0.16,
        sizes: TagSizes::parse(["7:0.10"]).unwrap(),
        max_hamming: 0,
        is_rectified: true,
        uses_imu: false,
        pixel_centre_px: 0.5,
        first_corner: 0,
        is_clockwise: false,
    })
}

fn info(width: u32, height: u32) -> CameraInfo {
    let mut info = CameraInfo { width, height, d: vec![0.1, 0.0, 0.0, 0.0, 0.0], ..CameraInfo::default() };
    info.distortion_model = "plumb_bob".into();
    info.k = [610.0, 0.0, 320.0, 0.0, 610.0, 240.0, 0.0, 0.0, 1.0];
    info.p = [600.0, 0.0, 321.0, 0.0, 0.0, 600.0, 241.0, 0.0, 0.0, 0.0, 1.0, 0.0];
    info
}

fn placed(child: &str, x: f64) -> TfMessage {
    let mut one = TransformStamped { child_frame_id: child.into(), ..TransformStamped::default() };
    one.header.frame_id = "base_link".into();
    let rotation = Quaternion { x: 0.0, y: 0.0, z: 0.0, w: 1.0 };
    one.transform = Transform { translation: V3 { x, y: 0.0, z: 0.0 }, rotation };
    TfMessage { transforms: vec![one] }
}

fn tag(id: i32) -> AprilTagDetection {
    let corners = [(300.0, 260.0), (340.0, 260.0), (340.0, 220.0), (300.0, 220.0)].map(|(x, y)| ImagePoint { x, y });
    AprilTagDetection { id, corners, ..AprilTagDetection::default() }
}

fn image(detections: Vec<AprilTagDetection>) -> AprilTagDetectionArray {
    AprilTagDetectionArray { header: header(Stamp::from_secs(2.0), "camera"), detections }
}

#[test]
fn a_camera_needs_its_description_and_its_place_and_each_is_named() {
    let mut intake = intake();
    let missing = intake.detections(0, &image(vec![tag(1)])).unwrap_err();
    assert_eq!(missing.word(), "no_camera_info");
    assert!(missing.to_string().contains("front/camera_info"), "{missing}");
    assert_eq!(intake.camera_info(0, &CameraInfo::default()).unwrap_err().word(), "no_camera_info");
    intake.camera_info(0, &info(640, 480)).unwrap();
    assert_eq!(intake.detections(0, &image(vec![tag(1)])).unwrap_err().word(), "no_transform");
    assert!(intake.transforms(&placed("camera", 0.2)).is_empty());
    let seen = intake.detections(0, &image(vec![tag(1), tag(7)])).unwrap();
    let camera = seen.camera.unwrap();
    assert_eq!((camera.on_body.translation.x, camera.lens.pinhole.focal.x), (0.2, 600.0));
    assert_eq!(camera.lens.distortion, Distortion::None);
    assert_eq!(seen.frame.seen.iter().map(|tag| tag.size_m).collect::<Vec<_>>(), [0.16, 0.10]);
    assert!(intake.detections(0, &image(vec![tag(1)])).unwrap().camera.is_none(), "said once");
    assert!(intake.detections(9, &image(vec![])).is_err(), "there is no such camera");
}

#[test]
fn raw_images_are_seen_through_the_lens() {
    let mut intake = intake();
    intake.settings.is_rectified = false;
    intake.camera_info(0, &info(640, 480)).unwrap();
    intake.transforms(&placed("camera", 0.0));
    let camera = intake.detections(0, &image(vec![])).unwrap().camera.unwrap();
    assert_eq!(camera.lens.pinhole.focal.x, 610.0);
    assert_eq!(camera.lens.distortion, Distortion::PlumbBob([0.1, 0.0, 0.0, 0.0, 0.0]));
}

#[test]
fn corners_are_counted_from_the_centre_of_the_first_pixel() {
    let mut intake = intake();
    intake.camera_info(0, &info(640, 480)).unwrap();
    intake.transforms(&placed("camera", 0.0));
    let seen = intake.detections(0, &image(vec![tag(1)])).unwrap();
    assert_eq!(seen.frame.seen[0].corners[0], Vector2::new(299.5, 259.5));
}

#[test]
fn corners_are_taken_in_the_order_that_the_detector_lists_them_in() {
    let mut intake = intake();
    intake.camera_info(0, &info(640, 480)).unwrap();
    intake.transforms(&placed("camera", 0.0));
    let expected = intake.detections(0, &image(vec![tag(1)])).unwrap().frame.seen[0].corners;
    for first in 0..4 {
        for is_clockwise in [false, true] {
            let mut other = tag(1);
            other.corners.rotate_left(first);
            if is_clockwise {
                other.corners[1..].reverse();
            }
            (intake.settings.first_corner, intake.settings.is_clockwise) = (first, is_clockwise);
            let seen = intake.detections(0, &image(vec![other])).unwrap();
            assert_eq!(seen.frame.seen[0].corners, expected, "{first} {is_clockwise}");
        }
    }
}

#[test]
fn detections_that_are_wrong_are_refused_one_by_one_under_their_words() {
    let mut intake = intake();
    intake.camera_info(0, &info(640, 480)).unwrap();
    intake.transforms(&placed("camera", 0.0));
    let map = TagMap { ignored: [4].into(), ..TagMap::default() };
    intake.set_map(&map);
    let mut bits = tag(1);
    bits.hamming = 2;
    let mut mirrored = tag(2);
    mirrored.corners.reverse();
    let mut outside = tag(3);
    outside.corners[0].x = -200.0;
    let seen = intake.detections(0, &image(vec![bits, mirrored, outside, tag(4), tag(-1), tag(5)])).unwrap();
    assert_eq!(seen.refused, [HAMMING, MIRRORED, OUTSIDE, IGNORED, UNNUMBERED]);
    assert_eq!(seen.frame.seen.len(), 1);
    // A description of another resolution: every tag at the right of the image lies outside of it.
    intake.camera_info(0, &info(200, 150)).unwrap();
    let seen = intake.detections(0, &image(vec![tag(6)])).unwrap();
    assert!(seen.frame.seen.is_empty() && seen.refused == [OUTSIDE] && seen.camera.is_some());
}

#[test]
fn with_an_inertial_sensor_its_frame_is_the_body() {
    let mut intake = intake();
    intake.settings.uses_imu = true;
    intake.camera_info(0, &info(640, 480)).unwrap();
    intake.transforms(&placed("camera", 0.5));
    intake.transforms(&placed("imu_link", 0.2));
    let refused = intake.detections(0, &image(vec![tag(1)])).unwrap_err();
    assert!(refused.to_string().contains("first message of imu"), "{refused}");
    assert_eq!(intake.base(), None);
    let mut message = crate::messages::Imu { header: header(Stamp::from_secs(1.0), "imu_link"), ..Default::default() };
    message.linear_acceleration.z = 9.81;
    assert_eq!(intake.imu(&message).unwrap().value.force.z, 9.81);
    let camera = intake.detections(0, &image(vec![tag(1)])).unwrap().camera.unwrap();
    assert!((camera.on_body.translation.x - 0.3).abs() < 1e-12);
    let (base, _) = intake.to_base(&Se3::identity(), &Matrix6::identity());
    assert!((base.translation.x + 0.2).abs() < 1e-12);
    // Another frame is refused.
    message.header.frame_id = "camera".into();
    assert!(intake.imu(&message).is_err());
}

#[test]
fn odometry_of_another_frame_is_moved_to_that_of_the_robot() {
    let mut intake = intake();
    intake.transforms(&placed("wheels", 0.5));
    let mut message = Odometry {
        header: header(Stamp::from_secs(2.0), "odom"),
        child_frame_id: "wheels".into(),
        ..Odometry::default()
    };
    message.pose.pose.orientation.w = 1.0;
    message.pose.pose.position.x = 3.0;
    message.twist.twist.linear.x = 1.0;
    message.twist.twist.angular.z = 2.0;
    message.twist.covariance.0[0] = 0.04;
    let (twist, base) = intake.odometry(&message).unwrap();
    // The origin of the robot is half a metre behind the wheels: it moves to the right in a turn to the left.
    assert_eq!((twist.velocity.x, twist.velocity.y, twist.rate.z), (1.0, -1.0, 2.0));
    assert_eq!(base.unwrap().translation.x, 2.5);
    assert!((twist.variances.unwrap().0.x - 0.04).abs() < 1e-12);
    message.child_frame_id = "elsewhere".into();
    assert_eq!(intake.odometry(&message).unwrap_err().word(), "no_transform");
}
