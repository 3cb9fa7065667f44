//! A bag with every input that parameters can name.

use super::load::load;
use super::metadata::Qos;
use super::topics::Topics;
use super::{BagWriter, Existing, TopicId, TypeText};
use crate::recording::{Feeder, Input, Recording};
use lienav_base::stamp::Stamp;
use lienav_intake::convert::{features_message, header, twist};
use lienav_intake::messages::{
    AprilTagDetection, AprilTagDetectionArray, CameraInfo, Detection3D, Detection3DArray, ImagePoint, Message,
    Odometry, PointCloud2, Pose, PoseArray, TfMessage, TransformStamped, TwistWithCovarianceStamped,
};
use lienav_lie::Se2;
use lienav_slam::{Config, Measurement, MeasurementKind, Scan, Slam};
use nalgebra::UnitQuaternion;
use std::collections::BTreeMap;
use tempfile::TempDir;

const PARAMETERS: &str = "
/**:
  ros__parameters:
    {odom_frame: odom, base_frame: base_link, use_imu: false}
slam_node:
  ros__parameters:
    sensors: [rear, eye, finder, absent]
    rear: {x_m: -0.5, yaw_rad: 3.0, range_std_m: 0.2}
    eye: {message: detections, topic: /eye/things}
    finder: {message: apriltags}
    odometry: {fallbacks: [visual], timeout_s: 0.5}
    visual: {message: twist}
    tags.frame_patterns: ['tag36h11:{id}']
    detections.identity: post_{id}
";

fn at(millis: i64) -> Stamp {
    Stamp::from_nanos(1_000_000 * millis)
}

/// A bag that is being written: each message is received one millisecond after the one before.
struct Bag {
    bag: BagWriter,
    topics: BTreeMap<String, TopicId>,
    received: i64,
}

impl Bag {
    fn write<M: Message>(&mut self, topic: &str, message: &M) {
        self.received += 1;
        let id = self.topic::<M>(topic);
        self.bag.write(id, at(self.received), message).unwrap();
    }

    fn damage<M: Message>(&mut self, topic: &str) {
        self.received += 1;
        let id = self.topic::<M>(topic);
        self.bag.write_serialized(id, at(self.received), at(self.received), &[0, 1, 0, 0, 7]).unwrap();
    }

    fn topic<M: Message>(&mut self, name: &str) -> TopicId {
        let bag = &mut self.bag;
        let kind = TypeText { name: M::TYPE, text: "", hash: "" };
        let add = || bag.add_topic_described(name, &kind, Qos::RELIABLE).unwrap();
        *self.topics.entry(name.to_owned()).or_insert_with(add)
    }
}

/// Writes a bag and reads it.
fn read(parameters: &str, topics: &Topics, write: impl FnOnce(&mut Bag)) -> (Recording, TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("bag");
    let bag = BagWriter::create(&path, Existing::Refuse).unwrap();
    let mut bag = Bag { bag, topics: BTreeMap::new(), received: 0 };
    write(&mut bag);
    if !parameters.is_empty() {
        bag.bag.add_file("params.yaml", parameters).unwrap();
    }
    bag.bag.finish().unwrap();
    (load(&path, topics).unwrap(), folder)
}

fn transform(parent: &str, child: &str, [x, y, z]: [f64; 3], yaw: f64) -> TransformStamped {
    let mut transform =
        TransformStamped { header: header(at(5), parent), child_frame_id: child.into(), ..TransformStamped::default() };
    let q = UnitQuaternion::from_euler_angles(0.0, 0.0, yaw);
    let (t, r) = (&mut transform.transform.translation, &mut transform.transform.rotation);
    (t.x, t.y, t.z) = (x, y, z);
    (r.x, r.y, r.z, r.w) = (q.i, q.j, q.k, q.w);
    transform
}

fn odometry(millis: i64, child: &str) -> Odometry {
    let mut message =
        Odometry { header: header(at(millis), "odom"), child_frame_id: child.into(), ..Odometry::default() };
    (message.twist.twist.linear.x, message.twist.twist.angular.z) = (1.0, 0.5);
    message
}

fn velocity(millis: i64, frame: &str) -> TwistWithCovarianceStamped {
    let mut message = TwistWithCovarianceStamped { header: header(at(millis), frame), ..Default::default() };
    message.twist.twist.linear.x = 0.7;
    message
}

fn scan(millis: i64, frame: &str) -> PointCloud2 {
    let measurements = vec![Measurement::new(Some(3), [4.0, 0.1])];
    features_message(&Scan { stamp: at(millis), kind: MeasurementKind::RangeBearing, measurements }, frame)
}

fn things(millis: i64) -> Detection3DArray {
    let mut thing = Detection3D { id: "post_8".into(), ..Detection3D::default() };
    thing.bbox.center.position.x = 2.0;
    Detection3DArray { header: header(at(millis), "eye_link"), detections: vec![thing] }
}

/// A tag straight ahead of a camera, 4 m away.
fn corners(millis: i64) -> AprilTagDetectionArray {
    let at_corner = |x: f64, y: f64| ImagePoint { x: 320.0 + 600.0 * x / 4.0, y: 240.0 + 600.0 * y / 4.0 };
    let corners = [at_corner(-0.08, 0.08), at_corner(0.08, 0.08), at_corner(0.08, -0.08), at_corner(-0.08, -0.08)];
    let detection = AprilTagDetection { id: 5, corners, ..AprilTagDetection::default() };
    AprilTagDetectionArray { header: header(at(millis), "finder_link"), detections: vec![detection] }
}

fn whole_robot(bag: &mut Bag) {
    let places = [
        transform("base_footprint", "base_link", [0.0, -0.2, 0.1], 0.0),
        transform("base_link", "lidar", [0.3, 0.0, 0.2], 0.4),
        transform("base_link", "eye_link", [0.1, 0.2, 0.0], 0.0),
        transform("base_link", "finder_link", [0.0, 0.0, 0.0], 0.0),
        transform("base_link", "camera", [0.2, 0.0, 0.0], 0.0),
    ];
    bag.write("/tf_static", &TfMessage { transforms: places.to_vec() });
    let mut bad = transform("base_link", "arm", [0.0; 3], 0.0);
    bad.transform.rotation.w = 3.0;
    bag.write("/tf_static", &TfMessage { transforms: vec![bad] });
    bag.write("/odom", &odometry(0, "base_footprint"));
    bag.write("/odom", &odometry(10, "wheel"));
    bag.write("/visual/odom", &velocity(20, "base_link"));
    bag.damage::<TwistWithCovarianceStamped>("/visual/odom");
    bag.write("/features", &scan(30, "lidar"));
    bag.write("/rear/features", &scan(31, "anything"));
    bag.write("/eye/things", &things(32));
    bag.write("/finder/features", &corners(33));
    bag.write(
        "/finder/camera_info",
        &CameraInfo {
            p: [600.0, 0.0, 320.0, 0.0, 0.0, 600.0, 240.0, 0.0, 0.0, 0.0, 1.0, 0.0],
            ..CameraInfo::default()
        },
    );
    bag.write("/finder/features", &corners(34));
    let tags = [
        transform("camera", "tag36h11:6", [0.0, 0.0, 2.0], 0.0),
        transform("odom", "base_link", [1.0; 3], 0.0),
        transform("elsewhere", "tag36h11:7", [0.0, 0.0, 2.0], 0.0),
    ];
    bag.write("/tf", &TfMessage { transforms: tags.to_vec() });
}

fn counts(recording: &Recording) -> Vec<(&str, u64)> {
    recording.dropped.iter().map(|(reason, count)| (reason.as_str(), *count)).collect()
}

#[test]
fn every_input_that_parameters_name_is_read_and_counted_as_by_the_node() {
    let (recording, _folder) = read(PARAMETERS, &Topics::default(), whole_robot);
    let expected =
        [("bad_orientation", 1), ("no_camera_info", 1), ("no_transform", 1), ("unknown_frame", 1), ("unreadable", 1)];
    assert_eq!(counts(&recording), expected, "{:?}", recording.warnings);
    let mut inputs = recording.inputs.iter();
    let Some(Input::Odometry(main)) = inputs.next() else { panic!("{recording:?}") };
    // The base is to the right of the footprint: in a left turn it is on the outside.
    assert!((main.velocity.x - 1.1).abs() < 1e-12, "{main:?}");
    let fallback = twist(&velocity(20, "base_link"), &nalgebra::Isometry3::identity()).unwrap();
    assert_eq!(inputs.next(), Some(&Input::Fallback { source: 1, odometry: fallback }));
    let scans: Vec<&Scan> = inputs.map(|input| if let Input::Scan(scan) = input { scan } else { panic!() }).collect();
    let shown: Vec<_> = scans.iter().map(|scan| (scan.stamp, scan.kind, scan.measurements[0].id)).collect();
    let added = |k| MeasurementKind::added(k).unwrap();
    let expected = [
        (at(30), MeasurementKind::RangeBearing, Some(3)),
        (at(31), added(1), Some(3)),
        (at(32), added(5), Some(8)),
        (at(34), added(10), Some(5)),
        (at(5), added(20), Some(6)),
    ];
    assert_eq!(shown, expected);
    let sensor = &recording.config.as_ref().unwrap().sensor;
    assert_eq!([sensor.x_m, sensor.y_m], [0.3, 0.0]);
    assert!(
        recording.warnings.iter().any(|w| w.starts_with("eye/things sits at") || w.starts_with("/eye/things sits"))
    );
    assert!(recording.warnings.iter().any(|w| w == "no topic /absent/features of type sensor_msgs/msg/PointCloud2"));

    let equipment = &recording.equipment;
    assert_eq!((equipment.odometry.as_slice(), equipment.timeout_s), (&["odom".into(), "visual/odom".into()][..], 0.5));
    let mut slam = Slam::new(Config::default()).unwrap();
    equipment.equip(&mut slam).unwrap();
    assert_eq!(slam.mount(added(1)), Some(Se2::new(-0.5, 0.0, 3.0)));
    assert_eq!(slam.mount(added(5)), Some(Se2::new(0.1, 0.2, 0.0)));
    assert_eq!(slam.mount(added(20)), Some(Se2::identity()));
}

#[test]
fn a_file_of_the_caller_lies_over_that_of_the_bag() {
    let boxes = |bag: &mut Bag| {
        bag.write("/odom", &velocity(0, "base_link"));
        bag.write("/things", &PoseArray { header: header(at(1), "base_link"), poses: vec![Pose::default()] });
    };
    let (recording, _folder) = read("", &Topics::default(), boxes);
    assert_eq!(recording.inputs, []);
    assert!(recording.warnings.iter().any(|w| w.starts_with("no topic /odom")), "{:?}", recording.warnings);
    let stated = "{odometry.message: twist, features_message: pose_array}";
    let (recording, _folder) = read("gate.probability: 0.9", &named(stated), boxes);
    assert_eq!((recording.inputs.len(), counts(&recording)), (2, vec![]), "{:?}", recording.warnings);
    let Input::Scan(scan) = &recording.inputs[1] else { panic!("{recording:?}") };
    assert_eq!((scan.kind, scan.measurements.len()), (MeasurementKind::RelativePosition, 1));
    assert_eq!(recording.config.unwrap().gate.probability, 0.9);
}

fn named(parameters: &str) -> Topics {
    Topics { parameters: Some(parameters.to_owned()), ..Topics::default() }
}

#[test]
fn patterns_of_tags_that_fit_nothing_are_said_at_the_end() {
    let tags = |bag: &mut Bag| {
        bag.write("/odom", &odometry(0, "base_link"));
        bag.write("/tf", &TfMessage { transforms: vec![transform("camera", "tag16h5:7", [0.0, 0.0, 2.0], 0.0)] });
    };
    let (recording, _folder) = read("", &named("tags.frame_patterns: ['tag36h11:{id}']"), tags);
    let said = recording.warnings.iter().find(|warning| warning.starts_with("no frame on /tf fits"));
    assert!(said.unwrap().contains("there is 'tag16h5:7'"), "{said:?}");
    assert!(!recording.warnings.iter().any(|warning| warning.starts_with("no topic /features")));
}

#[test]
fn an_input_that_parameters_switch_off_is_left_out() {
    let imu = |bag: &mut Bag| {
        bag.write("/odom", &odometry(0, "base_link"));
        bag.write("/imu", &lienav_intake::messages::Imu { header: header(at(1), "imu_link"), ..Default::default() });
    };
    for (parameters, expected) in [("gate.probability: 0.9", 2), ("use_imu: true", 2), ("use_imu: false", 1)] {
        let (recording, _folder) = read("", &named(parameters), imu);
        assert_eq!(recording.inputs.len(), expected, "{parameters}");
    }
}

#[test]
fn a_sensor_whose_frame_changes_is_refused_as_by_the_node() {
    let two = |bag: &mut Bag| {
        let places = [("a", 0.3), ("b", 0.6)].map(|(frame, x)| transform("base_link", frame, [x, 0.0, 0.0], 0.0));
        bag.write("/tf_static", &TfMessage { transforms: places.to_vec() });
        bag.write("/odom", &odometry(0, "base_link"));
        for (k, frame) in ["a", "b", "a", "nowhere"].into_iter().enumerate() {
            bag.write("/rear/features", &scan(10 + k as i64, frame));
        }
    };
    let (recording, _folder) = read("", &named("sensors: [rear]"), two);
    assert_eq!((recording.inputs.len(), counts(&recording)), (3, vec![("unknown_frame", 2)]));
}

/// Five messages that were held up for three seconds come all at once: as for a node, no clock was set, and neither the
/// pose nor the map is lost. A clock that was really set goes on for longer.
#[test]
fn odometry_that_was_held_up_does_not_wipe_the_map() {
    let message = |millis: i64| Odometry {
        header: header(at(millis), "odom"),
        child_frame_id: "base_link".into(),
        ..Odometry::default()
    };
    // Messages with these stamps, ms, received so much later than they are stamped.
    let jumps = |messages: &[(i64, i64)]| {
        let (recording, _folder) = read("", &Topics::default(), |bag| {
            for (stamp, later) in messages {
                // The first write of a topic counts one up.
                bag.received = stamp + later - 1;
                bag.write("/odom", &message(*stamp));
            }
        });
        assert_eq!(recording.inputs.len(), messages.len());
        let (mut slam, mut feeder) = (Slam::new(Config::default()).unwrap(), Feeder::new(&recording.equipment));
        for input in &recording.inputs {
            // What is refused is counted by the filter.
            let _ = feeder.feed(&mut slam, input);
        }
        slam.time_jumps()
    };
    let before = (0..150).map(|k| (100_000 + 50 * k, 7));
    let held_up = (0..5).map(|k| (104_500 + 20 * k, 2960 - 19 * k));
    let after = (0..50).map(|k| (107_500 + 50 * k, 7));
    let set_back = (0..50).map(|k| (104_500 + 50 * k, 3007));
    assert_eq!(jumps(&before.clone().chain(held_up).chain(after).collect::<Vec<_>>()), 0);
    assert_eq!(jumps(&before.chain(set_back).collect::<Vec<_>>()), 1);
}
