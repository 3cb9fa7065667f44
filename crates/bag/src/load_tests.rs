use super::*;
use crate::metadata::Qos;
use crate::{BagWriter, Existing};
use lienav_base::stamp::Stamp;
use lienav_intake::convert;
use lienav_intake::convert::{header, pose_message};
use lienav_intake::messages::{Imu, Odometry, PointCloud2, PoseStamped};
use lienav_lie::Se2;
use lienav_slam::MeasurementKind;

fn at(millis: i64) -> Stamp {
    Stamp::from_nanos(1_000_000 * millis)
}

fn odometry(millis: i64, odom: &str, base: &str) -> Odometry {
    Odometry { header: header(at(millis), odom), child_frame_id: base.into(), ..Odometry::default() }
}

fn imu(millis: i64, frame: &str) -> Imu {
    Imu { header: header(at(millis), frame), ..Imu::default() }
}

fn truth(millis: i64, frame: &str) -> PoseStamped {
    PoseStamped { header: header(at(millis), frame), pose: pose_message(&Se2::new(1.0, 2.0, 0.5)) }
}

/// What is read of a bag of these messages, received in this order.
fn read(odometry: &[Odometry], imu: &[Imu], truth: &[PoseStamped], parameters: &str, frames: Frames) -> Recording {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("bag");
    let mut bag = BagWriter::create(&path, Existing::Refuse).unwrap();
    let topics = [("/odom", Odometry::TYPE), ("/imu", Imu::TYPE), ("/ground_truth/pose", PoseStamped::TYPE)];
    let [odom, gyroscope, pose] = topics.map(|(name, kind)| bag.add_topic_of_type(name, kind, Qos::RELIABLE).unwrap());
    let mut received = (0..).map(at);
    let mut next = || received.next().unwrap();
    odometry.iter().for_each(|message| bag.write(odom, next(), message).unwrap());
    imu.iter().for_each(|message| bag.write(gyroscope, next(), message).unwrap());
    truth.iter().for_each(|message| bag.write(pose, next(), message).unwrap());
    bag.add_file(params::FILE_NAME, parameters).unwrap();
    bag.finish().unwrap();
    load(&path, &Topics { frames, ..Topics::default() }).unwrap()
}

fn dropped(recording: &Recording) -> Vec<(&str, u64)> {
    recording.dropped.iter().map(|(reason, count)| (reason.as_str(), *count)).collect()
}

#[test]
fn what_a_bag_states_twice_and_what_cannot_be_used_come_first() {
    let unstated = |millis: i64| {
        let mut message = odometry(millis, "odom", "base_link");
        message.twist.covariance.0[14] = 1e12;
        message
    };
    let odometry: Vec<Odometry> = (0..20).map(unstated).collect();
    let ahead: Vec<Imu> = (20..40).map(|millis| imu(37_000 + millis, "imu_link")).collect();
    let mut bad = truth(0, "map");
    bad.pose.orientation.w = 7.0;
    let said = read(&odometry, &ahead, &[bad], "", Frames::default()).contradictions;
    assert_eq!(said.len(), 3, "{said:?}");
    assert!(said[0].starts_with("none of the 1 messages of /ground_truth/pose could be used: "), "{said:?}");
    assert!(said[0].contains("dropped as bad_orientation"), "{said:?}");
    assert!(said[1].starts_with("/imu is stamped 37.0 s ahead of /odom"), "{said:?}");
    assert!(said[2].starts_with("20 of 20 messages of /odom state a variance of 0"), "{said:?}");
}

const SEEN: [(i64, &str, &str); 4] =
    [(0, "wheels", "robot"), (10, "odom", "robot"), (20, "/wheels", "robot"), (30, "wheels", "base_link")];

#[test]
fn a_frame_that_changes_within_the_bag_is_refused() {
    let odometry = SEEN.map(|(millis, odom, base)| odometry(millis, odom, base));
    let recording = read(&odometry, &[], &[], "", Frames::default());
    assert_eq!(recording.inputs.iter().map(Input::stamp).collect::<Vec<_>>(), [at(0), at(20)]);
    assert_eq!(dropped(&recording), [("unknown_frame", 2)]);
    let sentence = "/odom at 0.001000000 dropped as unknown_frame: \
                    frame_id is 'odom', expected 'wheels' (as in the first message of the topic)";
    assert!(
        recording.warnings.iter().any(|warning| warning.ends_with(&format!("bag: {sentence}"))),
        "{:?}",
        recording.warnings
    );
}

#[test]
fn frames_are_those_of_the_caller_then_those_of_the_parameter_file() {
    let odometry = SEEN.map(|(millis, odom, base)| odometry(millis, odom, base));
    let parameters = "/**: {ros__parameters: {odom_frame: odom, base_frame: robot}}";
    let stamps = |frames| {
        let recording = read(&odometry, &[], &[], parameters, frames);
        recording.inputs.iter().map(Input::stamp).collect::<Vec<_>>()
    };
    assert_eq!(stamps(Frames::default()), [at(10)]);
    let caller = Frames { odom_frame: Some("wheels".into()), ..Frames::default() };
    assert_eq!(stamps(caller), [at(0), at(20)]);
}

#[test]
fn a_sensor_may_be_in_its_own_frame_or_in_that_of_the_robot() {
    let odometry = [odometry(0, "odom", "robot")];
    let imu = [imu(0, "imu"), imu(10, "robot"), imu(20, "odom")];
    let recording = read(&odometry, &imu, &[], "", Frames::default());
    assert_eq!((recording.inputs.len(), dropped(&recording)), (3, vec![("unknown_frame", 1)]));
}

#[test]
fn a_refused_message_says_nothing_of_the_frame() {
    let mut bad = odometry(0, "world", "robot");
    bad.header.stamp.nanosec = 1_000_000_000;
    let recording = read(&[bad, odometry(10, "odom", "robot")], &[], &[], "", Frames::default());
    assert_eq!((recording.inputs.len(), dropped(&recording)), (1, vec![("bad_stamp", 1)]));
}

#[test]
fn truth_is_checked_as_input_is() {
    let changes: [fn(&mut PoseStamped); 6] = [
        |_| (),
        |m| m.header.frame_id = "odom".into(),
        |m| m.header.stamp.nanosec = u32::MAX,
        |m| m.pose.orientation.w = 2.0,
        |m| m.pose.orientation.w = f64::NAN,
        |m| m.pose.position.y = f64::INFINITY,
    ];
    let truth = changes.map(|change| {
        let mut message = truth(5, "map");
        change(&mut message);
        message
    });
    let recording = read(&[], &[], &truth, "", Frames::default());
    assert_eq!(recording.truth, [(at(5), Se2::new(1.0, 2.0, 0.5))]);
    assert_eq!(dropped(&recording), [("bad_orientation", 2), ("bad_stamp", 1), ("bad_truth", 1), ("unknown_frame", 1)]);
}

/// A bag of one odometry message, of transforms that come `after` so many clouds, and of three clouds in `lidar`, each
/// of one thing 2 m ahead of the sensor.
fn static_mount(transforms: &[(&str, &str, [f64; 3], f64)], after: usize, parameters: &str) -> Recording {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("bag");
    let mut bag = BagWriter::create(&path, Existing::Refuse).unwrap();
    let odom = bag.add_topic::<Odometry>("/odom", Qos::RELIABLE).unwrap();
    let tf = bag.add_topic::<TfMessage>("/tf_static", Qos::LATCHED).unwrap();
    let features = bag.add_topic::<PointCloud2>("/features", Qos::RELIABLE).unwrap();
    let transforms = transforms.iter().map(|(parent, child, [x, y, yaw], pitch)| {
        let rotation = nalgebra::UnitQuaternion::from_euler_angles(0.0, *pitch, *yaw);
        let mut transform = lienav_intake::messages::TransformStamped {
            header: header(Stamp::default(), parent),
            child_frame_id: (*child).into(),
            ..Default::default()
        };
        (transform.transform.translation.x, transform.transform.translation.y) = (*x, *y);
        let q = &mut transform.transform.rotation;
        (q.x, q.y, q.z, q.w) = (rotation.i, rotation.j, rotation.k, rotation.w);
        transform
    });
    let message = TfMessage { transforms: transforms.collect() };
    bag.write(odom, at(0), &odometry(0, "odom", "base_link")).unwrap();
    for k in 0..3 {
        if k == after {
            bag.write(tf, at(50 * k as i64), &message).unwrap();
        }
        let seen = lienav_slam::Scan {
            stamp: at(100 * k as i64),
            kind: MeasurementKind::RelativePosition,
            measurements: vec![lienav_slam::Measurement::new(Some(4), [2.0, 0.0])],
        };
        bag.write(features, at(100 * k as i64 + 60), &convert::features_message(&seen, "lidar")).unwrap();
    }
    if !parameters.is_empty() {
        bag.add_file(params::FILE_NAME, parameters).unwrap();
    }
    bag.finish().unwrap();
    load(&path, &Topics::default()).unwrap()
}

fn place_of(recording: &Recording) -> Option<[f64; 3]> {
    let sensor = &recording.config.as_ref()?.sensor;
    Some([sensor.x_m, sensor.y_m, sensor.yaw_rad])
}

fn clouds(recording: &Recording) -> usize {
    recording.inputs.iter().filter(|input| matches!(input, Input::Scan(_))).count()
}

#[test]
fn where_the_sensor_sits_is_read_from_tf_static_also_through_frames_and_when_it_comes_late() {
    let chain = [("base_link", "mast", [0.1, 0.2, 0.0], 0.0), ("mast", "lidar", [0.2, 0.0, 0.5], 0.0)];
    for after in 0..3 {
        let recording = static_mount(&chain, after, "");
        let place = place_of(&recording).unwrap();
        assert!(place.iter().zip([0.3, 0.2, 0.5]).all(|(a, b)| (a - b).abs() < 1e-12), "{place:?}");
        assert_eq!((clouds(&recording), recording.dropped.len()), (3, 0));
        let said = "the sensor sits at x 0.300 y 0.200 yaw 0.500, as /tf_static says (base_link -> lidar)";
        assert_eq!(recording.warnings, [said]);
    }
}

#[test]
fn parameters_override_tf_static() {
    let chain = [("base_link", "lidar", [0.3, 0.2, 0.5], 0.0)];
    let recording = static_mount(&chain, 0, "/**: {ros__parameters: {sensor: {x_m: 0.7}}}");
    assert_eq!((place_of(&recording), recording.warnings.len()), (Some([0.7, 0.0, 0.0]), 0));
    let recording = static_mount(&chain, 0, "/**: {ros__parameters: {sensor: {max_range_m: 9.0}}}");
    assert_eq!(place_of(&recording), Some([0.3, 0.2, 0.5]));
    assert_eq!(recording.config.unwrap().sensor.max_range_m, 9.0);
}

#[test]
fn measurements_of_a_sensor_that_leans_are_levelled() {
    let recording = static_mount(&[("base_link", "lidar", [0.3, 0.0, 0.0], 0.5)], 0, "");
    let Some(Input::Scan(features)) = recording.inputs.iter().find(|input| matches!(input, Input::Scan(_))) else {
        panic!("{recording:?}");
    };
    let seen = features.measurements[0].value.xy();
    assert!((seen.x - 2.0 * 0.5f64.cos()).abs() < 1e-12 && seen.y.abs() < 1e-12, "{seen}");
}

#[test]
fn a_frame_that_no_transform_joins_to_the_base_is_said() {
    let recording = static_mount(&[("base_link", "camera", [0.3, 0.0, 0.0], 0.0)], 0, "");
    assert_eq!((place_of(&recording), clouds(&recording)), (None, 3));
    let said = "nothing on /tf_static joins 'base_link' to 'lidar': the sensor is taken to sit at the base; if it does \
                not, set sensor.x_m, sensor.y_m and sensor.yaw_rad";
    assert_eq!(recording.warnings, [said]);
}
