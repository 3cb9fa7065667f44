//! `slam3d_node` among tags: live as offline to the last bit, found in a known map, as rclpy sees it.

use super::process::{Process, domain, run_peer, start};
use lienav_base::stamp::Stamp;
use lienav_eval::space::robot::{self as robot_bag, Parameters};
use lienav_eval::space::session::Estimate;
use lienav_io::bag::metadata::Qos;
use lienav_io::bag::{BagWriter, Existing, Topics, TypeText};
use lienav_io::convert::{TagSizes, covariance_message, header, quaternion_of, space_pose_message};
use lienav_io::intake::{TagIntake, TagRobot};
use lienav_io::messages::{
    AprilTagDetection, AprilTagDetectionArray, CameraInfo, ImagePoint, Imu, Message as _, Odometry, Quaternion,
    TfMessage, Time, Transform, TransformStamped, Vector3,
};
use lienav_io::space::tag_map::TagMap;
use lienav_io::space::tags::StatedTag;
use lienav_lie::{LieGroup, Se3, So3};
use lienav_space::tags::{KnownTag, TagConfig, TagSlam3d};
use lienav_space::{Config, MapMode};
use nalgebra::{Matrix3, Vector3 as V3};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::f64::consts::TAU;
use std::path::Path;
use std::time::Duration;

/// Edge of a tag, m, and noise of its corners, px.
const TAG: (f64, f64) = (0.2, 0.3);
const FOCAL: f64 = 600.0;
const SECONDS: f64 = 10.0;
/// Images and odometry a second, Hz.
const RATES_HZ: (f64, f64) = (20.0, 50.0);
const TOPICS: [&str; 2] = ["front/detections", "back/detections"];
const FRAMES: [&str; 2] = ["front_camera", "back_camera"];
/// The inertial sensor, and where it is on the robot, m.
const IMU: (&str, [f64; 3]) = ("imu_link", [0.1, 0.0, 0.2]);
/// Samples of it a second, Hz; the first message names the body, and comes before all else.
const IMU_HZ: f64 = 100.0;
const GRAVITY: f64 = 9.80665;

fn stamp(t: f64) -> Stamp {
    Stamp::from_nanos(1_000_000_000_000 + (t * 1e9).round() as i64)
}

/// The robot, on a circle of 2 m radius.
fn truth(t: f64) -> Se3 {
    let angle = 0.3 * t;
    Se3::new(So3::exp(&(V3::z() * angle)), V3::new(2.0 * angle.sin(), 2.0 * (1.0 - angle.cos()), 0.0))
}

/// Where the cameras are on the robot: one looks ahead, one back.
fn mounts() -> [Se3; 2] {
    let axes = So3::from_matrix_unchecked(Matrix3::new(0., 0., 1., -1., 0., 0., 0., -1., 0.));
    let ahead = Se3::new(axes, V3::new(0.2, 0.0, 0.5));
    [ahead, Se3::new(So3::exp(&(V3::z() * 0.5 * TAU)), V3::zeros()) * ahead]
}

/// Tags on a round wall: x to the right, y up, z into the hall.
fn tags() -> BTreeMap<u64, Se3> {
    let tag = |id: u64| {
        let angle = TAU * id as f64 / 24.0;
        let out = V3::new(-angle.cos(), -angle.sin(), 0.0);
        let axes = Matrix3::from_columns(&[V3::z().cross(&out), V3::z(), out]);
        (id, Se3::new(So3::from_matrix_unchecked(axes), V3::new(0.0, 2.0, 0.3 + 0.3 * (id % 3) as f64) - 4.0 * out))
    };
    (0..24).map(tag).collect()
}

/// Numbers that look random, of mean 0 and standard deviation 1.
struct Noise(u64);

impl Noise {
    fn next(&mut self) -> f64 {
        let mut sum = 0.0;
        for _ in 0..12 {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            sum += (self.0 >> 11) as f64 / (1_u64 << 53) as f64;
        }
        sum - 6.0
    }
}

/// A message, by the kind that the peer knows.
enum Message {
    Tags(usize, AprilTagDetectionArray),
    Odometry(Box<Odometry>),
    Imu(Box<Imu>),
}

fn image(camera: usize, t: f64, noise: &mut Noise) -> AprilTagDetectionArray {
    let eye = truth(t) * mounts()[camera];
    let half = 0.5 * TAG.0;
    let mut detections = Vec::new();
    for (id, tag) in tags() {
        let points = [(-half, -half), (half, -half), (half, half), (-half, half)]
            .map(|(x, y)| eye.inverse().transform(&tag.transform(&V3::new(x, y, 0.0))));
        let pixels = points.map(|p| (FOCAL * p.x / p.z + 320.0, FOCAL * p.y / p.z + 240.0));
        let is_seen = points.iter().all(|p| p.z > 0.3)
            && pixels.iter().all(|(u, v)| (0.0..640.0).contains(u) && (0.0..480.0).contains(v));
        if is_seen {
            let corners = pixels.map(|(u, v)| {
                // The detector has the centre of the first pixel at 0.5.
                ImagePoint { x: u + 0.5 + TAG.1 * noise.next(), y: v + 0.5 + TAG.1 * noise.next() }
            });
            detections.push(AprilTagDetection { id: id as i32, corners, ..AprilTagDetection::default() });
        }
    }
    AprilTagDetectionArray { header: header(stamp(t), FRAMES[camera]), detections }
}

fn odometry(t: f64, noise: &mut Noise) -> Odometry {
    let mut message =
        Odometry { header: header(stamp(t), "odom"), child_frame_id: "base_link".into(), ..Odometry::default() };
    // It began elsewhere.
    let pose = Se3::new(So3::exp(&(V3::z() * 0.4)), V3::new(3.0, -1.0, 0.0)) * truth(t);
    message.pose.pose = space_pose_message(&pose);
    message.twist.twist.linear.x = 0.6 + 0.02 * noise.next();
    message.twist.twist.angular.z = 0.3 + 0.01 * noise.next();
    message
}

/// A sample on the circle: the sensor is ahead of the middle of the robot.
fn imu(t: f64, noise: &mut Noise) -> Imu {
    let mut message = Imu { header: header(stamp(t), IMU.0), ..Imu::default() };
    message.orientation.w = 1.0;
    let (rate, force) = (&mut message.angular_velocity, &mut message.linear_acceleration);
    // White noise of 1e-3 rad/s/√Hz and 1e-2 m/s²/√Hz.
    let mut white = |density: f64| density * IMU_HZ.sqrt() * noise.next();
    (rate.x, rate.y, rate.z) = (white(1e-3), white(1e-3), 0.3 + white(1e-3));
    force.x = -0.3 * 0.3 * IMU.1[0] + white(1e-2);
    force.y = 0.3 * 0.6 + white(1e-2);
    force.z = GRAVITY + white(1e-2);
    message
}

/// Everything in the order of its stamps.
fn stream(has_imu: bool) -> Vec<Message> {
    let mut noise = Noise(7);
    let mut all = Vec::new();
    if has_imu {
        for k in 0..((SECONDS + 1.0) * IMU_HZ) as usize {
            let t = k as f64 / IMU_HZ - 1.0;
            all.push((stamp(t), Message::Imu(Box::new(imu(t, &mut noise)))));
        }
    }
    for k in 0..(SECONDS * RATES_HZ.0) as usize {
        for camera in 0..2 {
            let t = (k as f64 + 0.5 * camera as f64) / RATES_HZ.0;
            all.push((stamp(t), Message::Tags(camera, image(camera, t, &mut noise))));
        }
    }
    for k in 0..(SECONDS * RATES_HZ.1) as usize {
        let t = k as f64 / RATES_HZ.1;
        all.push((stamp(t), Message::Odometry(Box::new(odometry(t, &mut noise)))));
    }
    all.sort_by_key(|(stamp, _)| *stamp);
    all.into_iter().map(|(_, message)| message).collect()
}

fn robot() -> (TfMessage, CameraInfo) {
    let at = |(child, pose): (&str, Se3)| {
        let (t, q) = (pose.translation, quaternion_of(&pose.rotation));
        let mut message = TransformStamped { child_frame_id: child.into(), ..TransformStamped::default() };
        message.header.frame_id = "base_link".into();
        message.transform = Transform {
            translation: Vector3 { x: t.x, y: t.y, z: t.z },
            rotation: Quaternion { x: q.i, y: q.j, z: q.k, w: q.w },
        };
        message
    };
    let mut info = CameraInfo { width: 640, height: 480, ..CameraInfo::default() };
    info.p = [FOCAL, 0.0, 320.0, 0.0, 0.0, FOCAL, 240.0, 0.0, 0.0, 0.0, 1.0, 0.0];
    let imu = Se3::new(So3::identity(), V3::from(IMU.1));
    let placed = FRAMES.into_iter().zip(mounts()).chain([(IMU.0, imu)]);
    (TfMessage { transforms: placed.map(at).collect() }, info)
}

fn map() -> TagMap {
    let known = tags().into_iter().map(|(id, pose)| (id, StatedTag { pose, sigma: (1e-3, 1e-3) })).collect();
    TagMap { known, usual_size_m: Some(TAG.0), ..TagMap::default() }
}

/// On a busy machine a topic may be behind the others by more than the usual window, s.
const WINDOW_S: f64 = 5.0;

/// Stamp, ns, the pose in seven numbers, and the covariance.
type Row = (i64, Vec<f64>);

/// What the node has to publish on `pose`, and how far it is off in the end, m.
fn offline(stream: &[Message], file: Option<&Path>, uses_imu: bool) -> (Vec<Row>, f64) {
    let settings = TagRobot {
        map: "map".into(),
        odom: "odom".into(),
        base: "base_link".into(),
        camera_infos: vec![String::new(); 2],
        size_m: TAG.0,
        sizes: TagSizes::default(),
        max_hamming: 0,
        is_rectified: true,
        uses_imu,
        pixel_centre_px: 0.5,
        first_corner: 0,
        is_clockwise: false,
    };
    let mut config = Config::default();
    config.timing.reorder_window_s = WINDOW_S;
    let mut own = TagConfig::default();
    (own.tags.corner_std_px, own.tags.use_imu) = (TAG.1, uses_imu);
    if file.is_some() {
        config.map.mode = MapMode::Localization;
    }
    let (mut intake, mut slam) = (TagIntake::new(settings), TagSlam3d::new(config, own).unwrap());
    slam.expect(2, true);
    if let Some(file) = file {
        let map = TagMap::read(file).unwrap();
        intake.set_map(&map);
        let known = map.known.iter().map(|(id, tag)| (*id, KnownTag { pose: tag.pose, sigma: tag.sigma }));
        slam.set_known(known.collect(), BTreeMap::new());
    }
    let (transforms, info) = robot();
    assert!(intake.transforms(&transforms).is_empty());
    (0..2).for_each(|camera| intake.camera_info(camera, &info).unwrap());
    let (mut rows, mut off) = (Vec::new(), f64::INFINITY);
    for message in stream {
        match message {
            Message::Tags(camera, message) => {
                let seen = intake.detections(*camera, message).unwrap();
                seen.camera.into_iter().for_each(|new| slam.set_camera(*camera, new).unwrap());
                let _ = slam.push_frame(&seen.frame);
            }
            Message::Odometry(message) => slam.push_twist(&intake.odometry(message).unwrap().0).unwrap(),
            Message::Imu(message) => slam.push_imu(&intake.imu(message).unwrap()).unwrap(),
        }
        // Odometry beside an inertial sensor is a step without a frame, which is not published.
        for step in std::iter::from_fn(|| slam.poll()).filter(|step| step.has_frame) {
            let (pose, covariance) = intake.to_base(&step.estimate.pose, &step.estimate.covariance);
            let message = space_pose_message(&pose);
            let (p, q) = (message.position, message.orientation);
            let mut numbers = vec![p.x, p.y, p.z, q.x, q.y, q.z, q.w];
            numbers.extend(covariance_message(&covariance).0);
            rows.push((step.estimate.stamp.nanos(), numbers));
            let t = step.estimate.stamp.secs() - 1000.0;
            off = (pose.translation - truth(t).translation).norm();
        }
    }
    (rows, off)
}

/// As the peer reads it.
fn written(stream: &[Message]) -> Value {
    let (transforms, info) = robot();
    let transform = |one: &TransformStamped| {
        let (t, q) = (&one.transform.translation, &one.transform.rotation);
        json!({"child": one.child_frame_id, "numbers": [t.x, t.y, t.z, q.x, q.y, q.z, q.w]})
    };
    let nanos = |stamp: &Time| i64::from(stamp.sec) * 1_000_000_000 + i64::from(stamp.nanosec);
    let tag = |tag: &AprilTagDetection| json!({"id": tag.id, "corners": tag.corners.iter().map(|p| [p.x, p.y]).collect::<Vec<_>>()});
    let message = |message: &Message| match message {
        Message::Tags(camera, message) => json!({
            "ns": nanos(&message.header.stamp),
            "camera": camera,
            "tags": message.detections.iter().map(tag).collect::<Vec<_>>(),
        }),
        Message::Imu(message) => {
            let (w, f) = (&message.angular_velocity, &message.linear_acceleration);
            json!({"ns": nanos(&message.header.stamp), "imu": [w.x, w.y, w.z, f.x, f.y, f.z]})
        }
        Message::Odometry(message) => {
            let (p, q) = (&message.pose.pose.position, &message.pose.pose.orientation);
            let twist = &message.twist.twist;
            json!({
                "ns": nanos(&message.header.stamp),
                "pose": [p.x, p.y, p.z, q.x, q.y, q.z, q.w],
                "twist": [twist.linear.x, twist.angular.z],
            })
        }
    };
    json!({
        "transforms": transforms.transforms.iter().map(transform).collect::<Vec<_>>(),
        "frames": FRAMES,
        "topics": TOPICS,
        "p": info.p,
        "size": [info.width, info.height],
        "messages": stream.iter().map(message).collect::<Vec<_>>(),
    })
}

/// What `ros2 bag record` would have kept of the stream.
fn write_bag(stream: &[Message], folder: &Path) {
    let mut bag = BagWriter::create(folder, Existing::Refuse).unwrap();
    let (transforms, info) = robot();
    let tree = bag.add_topic::<TfMessage>("/tf_static", Qos::LATCHED).unwrap();
    bag.write(tree, stamp(-1.0), &transforms).unwrap();
    for place in ["/front/camera_info", "/back/camera_info"] {
        let topic = bag.add_topic::<CameraInfo>(place, Qos::LATCHED).unwrap();
        bag.write(topic, stamp(-1.0), &info).unwrap();
    }
    // Only the nodes' own messages have a definition to be written.
    let kind = TypeText { name: AprilTagDetectionArray::TYPE, text: "", hash: "" };
    let tags = TOPICS.map(|topic| bag.add_topic_described(&format!("/{topic}"), &kind, Qos::RELIABLE).unwrap());
    let odom = bag.add_topic::<Odometry>("/odom", Qos::RELIABLE).unwrap();
    let imu = bag.add_topic::<Imu>("/imu", Qos::RELIABLE).unwrap();
    let at = |time: &Time| Stamp::from_nanos(i64::from(time.sec) * 1_000_000_000 + i64::from(time.nanosec));
    for message in stream {
        match message {
            Message::Tags(camera, message) => bag.write(tags[*camera], at(&message.header.stamp), message),
            Message::Odometry(message) => bag.write(odom, at(&message.header.stamp), message.as_ref()),
            Message::Imu(message) => bag.write(imu, at(&message.header.stamp), message.as_ref()),
        }
        .unwrap();
    }
    bag.finish().unwrap();
}

/// The stamp and place, m, of each estimate that `lienav evaluate` makes of the bag, with the parameters of the node.
fn from_bag(bag: &Path, file: Option<&Path>, uses_imu: bool) -> Vec<Row> {
    let mut parameters = Parameters::default();
    let mode = if file.is_some() { "localization" } else { "mapping" };
    let set = [
        ("tags.detections", "[front/detections, back/detections]".to_owned()),
        ("tags.use_imu", uses_imu.to_string()),
        ("tags.size_m", TAG.0.to_string()),
        ("tags.corner_std_px", TAG.1.to_string()),
        ("timing.reorder_window_s", WINDOW_S.to_string()),
        ("odom_frame", "odom".to_owned()),
        ("map.mode", mode.to_owned()),
        ("map.file", file.map_or_else(String::new, |file| file.display().to_string())),
    ];
    for (name, value) in set.into_iter().filter(|(_, value)| !value.is_empty()) {
        parameters = parameters.with(name, &value).unwrap();
    }
    let replay = robot_bag::run(bag, &Topics::default(), parameters).unwrap();
    let row = |one: &Estimate| (one.stamp.nanos(), one.pose.translation.iter().copied().collect());
    replay.run.estimates.iter().map(row).collect()
}

/// Plays a stream to the node, and compares what it publishes with what it has to.
fn live_is_offline(is_known: bool, mode: &str, has_imu: bool) {
    if !cfg!(feature = "apriltag_msgs") {
        println!("skipped: built without apriltag_msgs");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let [input, output, file] = ["input.json", "output.json", "tags.yaml"].map(|name| folder.path().join(name));
    if is_known {
        std::fs::write(&file, map().to_yaml()).unwrap();
    }
    let stream = stream(has_imu);
    let (expected, off) = offline(&stream, is_known.then_some(file.as_path()), has_imu);
    println!("{} poses; off by {off:.4} m in the end", expected.len());
    let bag = folder.path().join("bag");
    write_bag(&stream, &bag);
    let found = from_bag(&bag, is_known.then_some(file.as_path()), has_imu);
    assert_eq!(found, expected.iter().map(|(stamp, numbers)| (*stamp, numbers[..3].to_vec())).collect::<Vec<_>>());
    assert!(expected.len() > 350 && off < if is_known { 0.02 } else { f64::INFINITY }, "{} {off}", expected.len());
    std::fs::write(&input, written(&stream).to_string()).unwrap();
    let file_parameter = format!("map.file:={}", file.display());
    let mode_parameter = format!("map.mode:={}", if is_known { "localization" } else { "mapping" });
    let window_parameter = format!("timing.reorder_window_s:={WINDOW_S:?}");
    let imu_parameter = format!("tags.use_imu:={has_imu}");
    let parameters = [
        "tags.detections:=[front/detections, back/detections]",
        imu_parameter.as_str(),
        window_parameter.as_str(),
        "tags.size_m:=0.2",
        "tags.corner_std_px:=0.3",
        "odom_frame:=odom",
        file_parameter.as_str(),
        mode_parameter.as_str(),
        "qos_overrides./front/detections.subscription.reliability:=reliable",
        "qos_overrides./back/detections.subscription.reliability:=reliable",
        "qos_overrides./odom.subscription.reliability:=reliable",
        "qos_overrides./imu.subscription.reliability:=reliable",
        "qos_overrides./pose.publisher.depth:=1000",
    ];
    let arguments: Vec<&str> = ["--ros-args"].into_iter().chain(parameters.iter().flat_map(|p| ["-p", *p])).collect();
    let domain = domain();
    let node = start(env!("CARGO_BIN_EXE_slam3d_node"), &domain, &arguments);
    let last = expected.last().unwrap().0.to_string();
    let arguments = [input.to_str().unwrap(), output.to_str().unwrap(), &last, mode];
    let Some(said) = run_peer("space_tags.py", &domain, &arguments) else { return };
    println!("{said}");
    end(node);
    let found: Vec<Row> = serde_json::from_str(&std::fs::read_to_string(&output).unwrap()).unwrap();
    assert_eq!(found.len(), expected.len());
    for (one, other) in found.iter().zip(&expected) {
        assert_eq!(one, other);
    }
    if !is_known {
        let saved = TagMap::read(&file).unwrap();
        assert!(saved.known.len() > 15, "{}", saved.known.len());
    }
}

pub fn end(mut node: Process) {
    node.signal("INT");
    let (status, log, took) = node.wait(Duration::from_secs(5));
    assert!(status.code() == Some(0) && !log.contains("panicked"), "{took:?} {log}");
}

#[test]
fn a_robot_with_an_inertial_sensor_is_found_among_known_tags_and_live_is_offline_to_the_last_bit() {
    live_is_offline(true, "plain", true);
}

#[test]
fn a_robot_maps_tags_live_as_offline_and_damaged_messages_change_nothing() {
    live_is_offline(false, "damaged", false);
}

#[test]
fn topics_that_do_not_fit_stop_the_node_and_say_why() {
    if !cfg!(feature = "apriltag_msgs") {
        return;
    }
    let refused = |parameters: &[&str], words: &[&str]| {
        let all: Vec<&str> = ["--ros-args"].into_iter().chain(parameters.iter().flat_map(|p| ["-p", *p])).collect();
        let node = start(env!("CARGO_BIN_EXE_slam3d_node"), &domain(), &all);
        let (status, log, _) = node.wait(Duration::from_secs(20));
        assert_eq!(status.code(), Some(2), "{log}");
        assert!(words.iter().all(|word| log.contains(word)) && !log.contains("panicked"), "{words:?} in {log}");
    };
    refused(&["tags.detections:=[a, b]", "tags.camera_infos:=[c]"], &["tags.camera_infos", "one for each"]);
    refused(&["tags.detections:=[a]", "tags.sizes:=['7']"], &["tags.sizes", "7:0.10"]);
    refused(&["tags.detections:=[a]", "tags.corner_std_px:=-1.0"], &["tags.corner_std_px", "0.001"]);
}
