//! `slam3d_node`: live as offline to the last bit, as rclpy sees it, and how it starts and ends.

use super::process::{Process, domain, run_peer, simulator_node, start};
use lienav_base::stamp::Stamp;
use lienav_io::convert::header;
use lienav_io::intake::{SpaceFrames, SpaceIntake};
use lienav_io::messages::{
    self, CameraInfo, Imu, PointCloud2, PointField, Quaternion, TfMessage, Transform, TransformStamped, Vector3,
};
use lienav_sim::space::camera::Pixels;
use lienav_sim::space::run::{SpaceRun, simulate};
use lienav_sim::space::scenario::SpaceScenario;
use lienav_space::config::Between;
use lienav_space::{Config, Slam3d};
use serde_json::{Value, json};
use std::time::Duration;

const END: Duration = Duration::from_secs(1);
const SOON: Duration = Duration::from_secs(20);
/// Types of fields of sensor_msgs/PointField.
const UINT32: u8 = 6;
const FLOAT64: u8 = 8;
/// Frames arrive so many samples of the inertial sensor after their stamps.
const LATE: usize = 12;

/// `slam3d_node` with ROS arguments (after `--ros-args`).
fn slam3d_node(domain: &str, arguments: &[&str]) -> Process {
    start(env!("CARGO_BIN_EXE_slam3d_node"), domain, &[&["--ros-args"], arguments].concat())
}

/// As `-p` parameters.
fn listed<'a>(parameters: &[&'a str]) -> Vec<&'a str> {
    parameters.iter().flat_map(|parameter| ["-p", parameter]).collect()
}

fn end(mut node: Process) {
    node.signal("INT");
    let (status, log, took) = node.wait(Duration::from_secs(5));
    assert_eq!(status.code(), Some(0), "{log}");
    assert!(took < END && !log.contains("panicked"), "{took:?} {log}");
}

/// The noise of the simulation, as parameters and as settings.
const PARAMETERS: [&str; 6] = [
    "imu.gyro_noise:=0.00017",
    "imu.accelerometer_noise:=0.002",
    "imu.gyro_walk:=0.000019",
    "imu.accelerometer_walk:=0.003",
    "imu.interpolation:=cubic",
    "sensor.baseline_m:=0.12",
];

fn config() -> Config {
    let mut config = Config::default();
    (config.imu.gyro_noise, config.imu.accelerometer_noise) = (1.7e-4, 2e-3);
    (config.imu.gyro_walk, config.imu.accelerometer_walk) = (1.9e-5, 3e-3);
    (config.imu.interpolation, config.sensor.baseline_m) = (Between::Cubic, 0.12);
    config
}

/// A message, by the kind that the peer knows.
enum Message {
    Imu(Box<Imu>),
    Features(PointCloud2),
}

/// Simulated stamps begin at 0, which is no time to ROS.
fn shifted(stamp: Stamp) -> Stamp {
    Stamp::from_nanos(stamp.nanos() + 1_000_000_000_000)
}

fn robot(run: &SpaceRun) -> (TfMessage, CameraInfo) {
    let camera = &run.cameras[0];
    let at = |child: &str, pose: &lienav_lie::Se3| {
        let (t, q) = (&pose.translation, lienav_io::convert::quaternion_of(&pose.rotation));
        let mut message = TransformStamped { child_frame_id: child.into(), ..TransformStamped::default() };
        message.header.frame_id = "base_link".into();
        message.transform = Transform {
            translation: Vector3 { x: t.x, y: t.y, z: t.z },
            rotation: Quaternion { x: q.i, y: q.j, z: q.k, w: q.w },
        };
        message
    };
    // The inertial sensor is not where the robot's frame is.
    let lever = lienav_lie::Se3::new(lienav_lie::So3::default(), nalgebra::Vector3::new(0.1, -0.05, 0.2));
    let transforms = vec![at("imu_link", &lever), at("camera", &(lever * camera.on_body))];
    let (f, c) = (camera.focal, camera.centre);
    let mut info = CameraInfo { distortion_model: "plumb_bob".into(), d: vec![0.0; 5], ..CameraInfo::default() };
    info.k = [f, 0.0, c.x, 0.0, f, c.y, 0.0, 0.0, 1.0];
    info.p = [f, 0.0, c.x, 0.0, 0.0, f, c.y, 0.0, 0.0, 0.0, 1.0, 0.0];
    (TfMessage { transforms }, info)
}

fn features(frame: &lienav_sim::space::run::Frame) -> PointCloud2 {
    let names = ["u_left", "v_left", "u_right", "v_right"];
    let field = |(k, name): (usize, &&str)| PointField {
        name: (*name).into(),
        offset: 8 * k as u32,
        datatype: FLOAT64,
        count: 1,
    };
    let mut fields: Vec<PointField> = names.iter().enumerate().map(field).collect();
    fields.push(PointField { name: "id".into(), offset: 32, datatype: UINT32, count: 1 });
    let mut data = Vec::new();
    for seen in &frame.seen {
        let Pixels::Pair(z) = seen.at else { continue };
        data.extend(z.iter().flat_map(|x| x.to_le_bytes()));
        data.extend((seen.id as u32).to_le_bytes());
    }
    PointCloud2 {
        header: header(shifted(frame.stamp), "camera"),
        height: 1,
        width: (data.len() / 36) as u32,
        fields,
        point_step: 36,
        row_step: data.len() as u32,
        data: messages::Bytes(data),
        is_dense: true,
        ..PointCloud2::default()
    }
}

/// Everything in the order of arrival, without what is silent: from, to, and whether the inertial sensor is.
fn stream(run: &SpaceRun, silent: Option<(f64, f64, bool)>) -> Vec<Message> {
    let is_silent = |stamp: Stamp, imu: bool| {
        silent.is_some_and(|(from, to, of_imu)| of_imu == imu && (from..to).contains(&stamp.secs()))
    };
    let mut frames = run.frames.iter().peekable();
    let mut all = Vec::new();
    for (k, sample) in run.samples.iter().enumerate() {
        if !is_silent(sample.stamp, true) {
            let mut message = Imu { header: header(shifted(sample.stamp), "imu_link"), ..Imu::default() };
            message.orientation_covariance[0] = -1.0;
            let vector = |v: &nalgebra::Vector3<f64>| Vector3 { x: v.x, y: v.y, z: v.z };
            message.angular_velocity = vector(&sample.rate);
            message.linear_acceleration = vector(&sample.force);
            all.push(Message::Imu(Box::new(message)));
        }
        let late = run.samples[k.saturating_sub(LATE)].stamp;
        while let Some(frame) = frames.next_if(|frame| frame.stamp <= late && k >= LATE) {
            if !is_silent(frame.stamp, false) {
                all.push(Message::Features(features(frame)));
            }
        }
    }
    all
}

/// Stamp, ns, the pose in seven numbers, and the covariance.
type Row = (i64, Vec<f64>);

/// What the node has to publish on `pose`.
fn offline(run: &SpaceRun, stream: &[Message]) -> Vec<Row> {
    let frames = SpaceFrames {
        map: "map".into(),
        odom: String::new(),
        base: "base_link".into(),
        pixel_std_px: 1.0,
        baseline_m: 0.12,
    };
    let (mut intake, mut slam) = (SpaceIntake::new(frames), Slam3d::new(config()).unwrap());
    let (transforms, info) = robot(run);
    assert!(intake.transforms(&transforms).is_empty());
    intake.camera_info(&info).unwrap();
    let mut rows = Vec::new();
    for message in stream {
        match message {
            Message::Imu(message) => {
                let sample = intake.imu(message).unwrap();
                slam.set_base(intake.base().unwrap());
                slam.push_imu(&sample).unwrap();
            }
            Message::Features(message) => {
                let seen = intake.features(message).unwrap();
                if let Some((number, sensor)) = seen.sensor {
                    slam.set_sensor(number, sensor).unwrap();
                }
                let _ = slam.push_frame(&seen.frame);
            }
        }
        while let Some(step) = slam.poll() {
            let (pose, covariance) = intake.to_base(&step.estimate.pose, &step.estimate.covariance);
            let message = lienav_io::convert::space_pose_message(&pose);
            let (p, q) = (message.position, message.orientation);
            let mut numbers = vec![p.x, p.y, p.z, q.x, q.y, q.z, q.w];
            numbers.extend(lienav_io::convert::covariance_message(&covariance).0);
            rows.push((step.estimate.stamp.nanos(), numbers));
        }
    }
    rows
}

/// As the peer reads it.
fn written(run: &SpaceRun, stream: &[Message]) -> Value {
    let (transforms, info) = robot(run);
    let transform = |one: &TransformStamped| {
        let (t, q) = (&one.transform.translation, &one.transform.rotation);
        json!({"child": one.child_frame_id, "numbers": [t.x, t.y, t.z, q.x, q.y, q.z, q.w]})
    };
    let nanos = |stamp: &messages::Time| i64::from(stamp.sec) * 1_000_000_000 + i64::from(stamp.nanosec);
    let message = |message: &Message| match message {
        Message::Imu(message) => {
            let (w, f) = (&message.angular_velocity, &message.linear_acceleration);
            json!({"ns": nanos(&message.header.stamp), "imu": [w.x, w.y, w.z, f.x, f.y, f.z]})
        }
        Message::Features(message) => {
            json!({"ns": nanos(&message.header.stamp), "features": message.data.0})
        }
    };
    json!({
        "transforms": transforms.transforms.iter().map(transform).collect::<Vec<_>>(),
        "k": info.k,
        "p": info.p,
        "messages": stream.iter().map(message).collect::<Vec<_>>(),
    })
}

/// Plays a stream to the node, and compares what it publishes with what it has to.
fn live_is_offline(scenario: &str, silent: Option<(f64, f64, bool)>, mode: &str) {
    let mut scenario = SpaceScenario::named(scenario).unwrap();
    scenario.duration_s = 12.0;
    let run = simulate(&scenario, 3).unwrap();
    let stream = stream(&run, silent);
    let expected = offline(&run, &stream);
    assert!(expected.len() > 100, "{}", expected.len());
    let folder = tempfile::tempdir().unwrap();
    let (input, output) = (folder.path().join("input.json"), folder.path().join("output.json"));
    std::fs::write(&input, written(&run, &stream).to_string()).unwrap();
    let domain = domain();
    let reliable = [
        "qos_overrides./imu.subscription.reliability:=reliable",
        "qos_overrides./features.subscription.reliability:=reliable",
        "qos_overrides./pose.publisher.depth:=1000",
    ];
    let node = slam3d_node(&domain, &listed(&[&PARAMETERS[..], &reliable].concat()));
    let last = expected.last().unwrap().0.to_string();
    let arguments = [input.to_str().unwrap(), output.to_str().unwrap(), &last, mode];
    let Some(said) = run_peer("space_stream.py", &domain, &arguments) else { return };
    println!("{said}");
    end(node);
    let found: Vec<Row> = serde_json::from_str(&std::fs::read_to_string(&output).unwrap()).unwrap();
    assert_eq!(found.len(), expected.len());
    for (one, other) in found.iter().zip(&expected) {
        assert_eq!(one, other);
    }
}

#[test]
fn live_is_offline_to_the_last_bit() {
    live_is_offline("drone-stereo-industrial-standing", None, "plain");
}

#[test]
fn live_is_offline_where_the_inertial_sensor_is_silent_and_damaged_messages_change_nothing() {
    live_is_offline("drone-stereo-industrial-standing", Some((6.0, 6.5, true)), "damaged");
}

#[test]
fn live_is_offline_where_frames_are_silent() {
    live_is_offline("circle-stereo-industrial-standing", Some((5.0, 9.0, false)), "plain");
}

#[test]
fn rclpy_finds_poses_transforms_landmarks_and_services_as_documented() {
    let (domain, folder) = (domain(), tempfile::tempdir().unwrap());
    let file = format!("map.file:={}", folder.path().join("map.json").display());
    let node = slam3d_node(&domain, &listed(&[&PARAMETERS[..], &[&file, "use_sim_time:=true"]].concat()));
    let simulation = [
        "scenario:=space:circle-stereo-industrial-standing:2",
        "rate:=2.0",
        "publish_clock:=true",
        "wait_for_subscribers:=1",
    ];
    let _simulator = simulator_node(&domain, &listed(&simulation));
    if let Some(said) = run_peer("space_face.py", &domain, &[]) {
        println!("{said}");
        end(node);
    }
}

#[test]
fn sigint_and_sigterm_end_it_at_once_and_well() {
    for signal in ["INT", "TERM"] {
        let mut node = slam3d_node(&domain(), &[]);
        node.wait_for_line("filter 'default' in space");
        node.signal(signal);
        let (status, log, took) = node.wait(END);
        println!("SIG{signal}: ended after {took:?}");
        assert_eq!(status.code(), Some(0), "{log}");
    }
}

#[test]
fn a_wrong_parameter_stops_it_at_start_and_says_which_what_and_what_else() {
    let refused = |parameters: &[&str], words: &[&str]| {
        let (status, log, _) = slam3d_node(&domain(), &listed(parameters)).wait(SOON);
        assert_eq!(status.code(), Some(2), "{log}");
        assert!(words.iter().all(|word| log.contains(word)) && !log.contains("panicked"), "{words:?} in {log}");
    };
    refused(&["sensor.pixel_std_px:=-1.0"], &["'sensor.pixel_std_px' is -1.0", "0.000001 … 100"]);
    refused(&["filter:=best"], &["'filter' is \"best\"", "fe-ekf"]);
    refused(&["base_frame:=map"], &["have to differ"]);
    let (status, log, _) = simulator_node(&domain(), &["-p", "scenario:=space:boat"]).wait(SOON);
    assert!(status.code() == Some(2) && log.contains("no scenario in space is called 'boat'"), "{log}");
}
