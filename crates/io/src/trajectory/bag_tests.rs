//! Topics and transforms of bags as trajectories.

use super::convention::{Axes, Convention, Meaning, Order};
use super::{Options, Trajectory, open};
use crate::bag::metadata::Qos;
use crate::bag::{BagWriter, Existing};
use crate::convert::{header, pose_message};
use crate::messages::{Message, Odometry, PoseStamped, TfMessage, TransformStamped};
use lienav_base::stamp::Stamp;
use lienav_lie::Se2;
use std::path::Path;

fn at(millis: i64) -> Stamp {
    Stamp::from_nanos(1_000_000 * millis)
}

fn transform(millis: i64, parent: &str, child: &str, x: f64) -> TransformStamped {
    let mut message = TransformStamped { header: header(at(millis), parent), ..TransformStamped::default() };
    message.child_frame_id = child.into();
    message.transform.translation.x = x;
    message.transform.rotation.w = 1.0;
    message
}

/// A bag with odometry at 10 Hz, poses, and a chain of transforms of which one is faster than the other.
fn write(folder: &Path) -> String {
    let path = folder.join("bag");
    let mut bag = BagWriter::create(&path, Existing::Refuse).unwrap();
    let kinds = [("/odom", Odometry::TYPE), ("/pose", PoseStamped::TYPE), ("/tf", TfMessage::TYPE)];
    let [odom, pose, tf] = kinds.map(|(name, kind)| bag.add_topic_of_type(name, kind, Qos::RELIABLE).unwrap());
    for k in 0..20 {
        let millis = 100 * k;
        let mut message = Odometry { header: header(at(millis), "odom"), ..Odometry::default() };
        message.pose.pose = pose_message(&Se2::new(k as f64, 0.0, 0.0));
        message.pose.covariance.0[0] = 4.0;
        message.pose.covariance.0[21] = 9.0;
        if k == 7 {
            message.header.frame_id = "elsewhere".into();
        }
        if k == 8 {
            message.pose.pose.orientation.w = 0.0;
        }
        bag.write(odom, at(millis), &message).unwrap();
        let message = PoseStamped { header: header(at(millis), "map"), pose: pose_message(&Se2::new(1.0, 2.0, 0.5)) };
        bag.write(pose, at(millis), &message).unwrap();
        let mut transforms = vec![transform(millis, "odom", "base_link", k as f64)];
        if k % 5 == 0 {
            transforms.push(transform(millis, "map", "odom", 10.0 + k as f64));
        }
        bag.write(tf, at(millis), &TfMessage { transforms }).unwrap();
    }
    bag.write_serialized(odom, at(5000), at(5000), &[0, 1, 0, 0, 7]).unwrap();
    bag.finish().unwrap();
    path.display().to_string()
}

fn read(source: &str, options: &Options) -> Result<Trajectory, String> {
    open(source, options, &mut |_| ()).map_err(|error| error.to_string())
}

#[test]
fn odometry_has_its_covariance_and_what_cannot_be_used_is_counted() {
    let folder = tempfile::tempdir().unwrap();
    let bag = write(folder.path());
    let found = read(&format!("{bag}:/odom"), &Options::default()).unwrap();
    assert_eq!((found.name.as_str(), found.len()), ("bag_odom", 18));
    assert_eq!(found.covariance(3).unwrap()[(0, 0)], 4.0);
    let dropped: Vec<_> = found.dropped.iter().map(|(reason, count)| (*reason, *count)).collect();
    assert_eq!(dropped, [("bad_orientation", 1), ("unknown_frame", 1), ("unreadable", 1)]);
    let openvins = Options { convention: Some(Convention::OpenVins), ..Options::default() };
    let meaning = Meaning { order: Order::PositionFirst, axes: Axes::BodyOrientation };
    assert_eq!(read(&format!("{bag}:/odom"), &openvins).unwrap().meaning, Some(meaning));
    let turned = Options { order: Some(Order::OrientationFirst), ..Options::default() };
    assert_eq!(read(&format!("{bag}:odom"), &turned).unwrap().covariance(0).unwrap()[(0, 0)], 9.0);
    assert!(read(&format!("{bag}:/pose"), &Options::default()).unwrap().covariances.is_empty());
}

#[test]
fn transforms_are_joined_between_those_of_the_slower_one() {
    let folder = tempfile::tempdir().unwrap();
    let bag = write(folder.path());
    let found = read(&format!("{bag}:/tf:map:base_link"), &Options::default()).unwrap();
    // After the last transform of the map, nothing is known.
    assert_eq!(found.len(), 16);
    assert!((0..16).all(|k| (found.poses[k].translation.x - (10.0 + 2.0 * k as f64)).abs() < 1e-9));
    let lost = read(&format!("{bag}:/tf:world:base_link"), &Options::default()).unwrap_err();
    assert!(lost.contains("no chain of transforms leads from world to base_link"), "{lost}");
    assert!(read(&format!("{bag}:/tf:map:map"), &Options::default()).unwrap_err().contains("give two"));
}

#[test]
fn a_topic_that_is_not_there_or_not_said_names_those_that_are() {
    let folder = tempfile::tempdir().unwrap();
    let bag = write(folder.path());
    let said = |rest: &str| read(&format!("{bag}{rest}"), &Options::default()).unwrap_err();
    assert!(said("").contains("give BAG:TOPIC") && said("").contains("/odom (nav_msgs/msg/Odometry)"));
    assert!(said(":/nothing").contains("no topic /nothing"));
    assert!(said(":/tf").contains("BAG:/tf:map:base_link"));
    assert!(said(":/tf:map").contains("neither TOPIC"));
}
