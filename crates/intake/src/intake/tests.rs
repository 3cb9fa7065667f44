use super::*;
use crate::convert::header;
use crate::messages::{self, TransformStamped};
use lienav_base::stamp::Stamp;
use lienav_slam::Config;

fn named<T: Default>(name: &str) -> Named<T> {
    Named { name: name.into(), settings: T::default(), is_placed: false }
}

fn odometry(child: &str) -> OdometryOf {
    let mut message = messages::Odometry { child_frame_id: child.into(), ..Default::default() };
    message.header = header(Stamp::default(), "odom");
    message.pose.pose.orientation.w = 1.0;
    (message.twist.twist.linear.x, message.twist.twist.angular.z) = (1.0, 0.5);
    OdometryOf::Odometry(Box::new(message))
}

const ODOM: Option<Frame<'static>> = Some(Frame::parameter("odom_frame", "odom"));
const BASE: Option<Frame<'static>> = Some(Frame::parameter("base_frame", "base_link"));

#[test]
fn odometry_of_a_frame_on_the_robot_is_taken_when_its_transform_is_known() {
    let mut intake = Intake::new(&InputSettings::default(), None).unwrap();
    assert!(intake.odometry(0, &odometry("base_link"), ODOM, BASE).unwrap().1.is_some());
    let refusal = intake.odometry(0, &odometry("base_footprint"), ODOM, BASE).unwrap_err();
    let sentence = "child_frame_id is 'base_footprint', expected 'base_link' (parameter base_frame, or a frame with a";
    assert!(refusal.word() == "unknown_frame" && refusal.to_string().starts_with(sentence), "{refusal}");
    assert!(intake.odometry(0, &odometry(""), ODOM, BASE).is_err());
    let mut up = TransformStamped { child_frame_id: "base_link".into(), ..TransformStamped::default() };
    up.header.frame_id = "base_footprint".into();
    (up.transform.translation.y, up.transform.translation.z, up.transform.rotation.w) = (-0.2, 0.1, 1.0);
    assert_eq!(intake.take_static(&TfMessage { transforms: vec![up] }), []);
    let (input, pose) = intake.odometry(0, &odometry("base_footprint"), ODOM, BASE).unwrap();
    // The base is to the right of the footprint: in a left turn it is on the outside.
    assert!((input.velocity.x - 1.1).abs() < 1e-12 && (pose.unwrap().p.y + 0.2).abs() < 1e-12, "{input:?}");
}

#[test]
fn only_the_first_source_has_a_pose_and_is_in_the_frame_of_the_odometry() {
    let settings = InputSettings { fallbacks: vec![named("visual")], ..InputSettings::default() };
    let intake = Intake::new(&settings, None).unwrap();
    assert_eq!(intake.odometry_sources()[1].topic, "visual/odom");
    let elsewhere = Some(Frame::parameter("odom_frame", "world"));
    assert!(intake.odometry(0, &odometry("base_link"), elsewhere, BASE).is_err());
    assert!(intake.odometry(1, &odometry("base_link"), elsewhere, BASE).unwrap().1.is_none());
    assert!(intake.has_pose(0) && !intake.has_pose(1));
}

#[test]
fn a_filter_is_equipped_once() {
    let tags = TagSettings { frame_patterns: vec!["tag:{id}".into()], ..TagSettings::default() };
    let settings = InputSettings { sensors: vec![named("front"), named("rear")], tags, ..InputSettings::default() };
    let intake = Intake::new(&settings, None).unwrap();
    let mut slam = Slam::new(Config::default()).unwrap();
    intake.equip(&mut slam).unwrap();
    intake.equip(&mut slam).unwrap();
    let added = 10 + MOST_PARTS;
    assert_eq!(intake.added_sensors(|_| Se2::identity()).len(), added);
    assert!(slam.mount(MeasurementKind::added(added - 1).unwrap()).is_some());
    assert!(slam.mount(MeasurementKind::added(added).unwrap()).is_none());
}

#[test]
fn patterns_without_identity_are_refused_by_the_name_of_their_parameter() {
    let tags = TagSettings { frame_patterns: vec!["tag36h11".into()], ..TagSettings::default() };
    let refused = Intake::new(&InputSettings { tags, ..InputSettings::default() }, None).unwrap_err();
    assert!(refused.contains("tags.frame_patterns: 'tag36h11' is no pattern"), "{refused}");
}

#[test]
fn names_that_cannot_be_used_are_refused() {
    let refused = |names: &[&str]| {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        checked_names(("sensors", &names, 3), |name| name == "map").unwrap_err()
    };
    assert!(refused(&["left lidar"]).contains("'left lidar'"));
    assert!(refused(&["0"]).contains("a letter first"));
    assert!(refused(&["map"]).contains("choose another one"));
    assert!(refused(&["front", "front"]).contains("'front', which other parameters have"));
    assert!(refused(&["a", "b", "c", "d"]).contains("has 4 names; at most 3"));
}
