//! A recording in space as a rosbag2 bag, and back.
//!
//! The bag has `/imu`, `/features`, `/camera_info`, `/tf_static`, `/initialpose`, `/ground_truth/pose` and
//! `/ground_truth/landmarks`, so that a node can run on it, and beside it `space.json` ([`SPACE_FILE_NAME`]) with what
//! messages do not hold, or not to the last bit: noise, cameras, start and truth. Samples and frames come from the messages.

use lienav_base::stamp::Stamp;
use lienav_io::bag::metadata::Qos;
use lienav_io::bag::{BagReader, BagWriter, Existing, SPACE_FILE_NAME, TopicId, UNREADABLE, WriteError, cdr};
use lienav_io::convert::{header, space_features, space_imu, space_pose_message, stamp_of};
use lienav_io::messages::{
    Bytes, CameraInfo, Covariance6, Header, Imu, PointCloud2, PointField, PoseStamped, PoseWithCovarianceStamped,
    TfMessage, Transform, TransformStamped, Vector3 as Vector3Message,
};
use lienav_io::open as files;
use lienav_io::recording::OpenError;
use lienav_io::space::data::{
    Camera, Frame, GivenStart, Image, InertialSample, Layout, Seen, SpaceRecording, StatedNoise, TruePose,
};
use lienav_lie::Se3;
use lienav_space::lens::{Distortion, Lens};
use lienav_space::{Pinhole, Value};
use nalgebra::{Vector2, Vector3};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;

/// It is not longer, bytes: the truth of a quarter of an hour.
const LONGEST: u64 = 1 << 26;
const IMU: &str = "/imu";
const FEATURES: &str = "/features";
const MAP_FRAME: &str = "map";
const BASE_FRAME: &str = "base_link";
const IMU_FRAME: &str = "imu_link";
/// `datatype` of `sensor_msgs/PointField`: IEEE 754 double precision.
const FLOAT64: u8 = 8;
/// The same of a 32-bit integer without sign.
const UINT32: u8 = 6;
/// The filter in space has no greater numbers of sensors.
const MOST_CAMERAS: usize = 16;

/// What messages do not hold.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Notes {
    name: String,
    layout: Layout,
    cameras: Vec<Camera>,
    stated: StatedNoise,
    start: Option<GivenStart>,
    truth: Vec<TruePose>,
    gravity: Option<Vector3<f64>>,
    landmarks: BTreeMap<u64, Vector3<f64>>,
    dropped: BTreeMap<String, u64>,
    warnings: Vec<String>,
}

/// Whether a folder is a bag of a recording in space: one with a file of that name, or what is in its place.
pub fn is_bag(source: &str) -> bool {
    Path::new(source).join(SPACE_FILE_NAME).exists()
}

/// Writes a recording of an inertial sensor and cameras as a bag; gives the number of its messages.
///
/// # Errors
/// The folder exists and may not be replaced, or the disk says no; nothing is left behind then. [`WriteError::Further`]
/// of a recording with other inputs.
pub fn to_bag(recording: &SpaceRecording, folder: &Path, existing: Existing) -> Result<u64, WriteError> {
    let ids = recording.frames.iter().flat_map(|frame| &frame.seen).map(|seen| seen.id);
    let fits = ids.chain(recording.landmarks.keys().copied()).all(|id| id < u64::from(u32::MAX));
    if recording.inertial.is_empty() || !recording.twists.is_empty() || !fits {
        return Err(WriteError::Further);
    }
    let mut bag = BagWriter::create(folder, existing)?;
    let notes = Notes::of(recording);
    let text = serde_json::to_string(&notes)
        .map_err(|error| WriteError::Io { path: folder.to_owned(), error: error.into() })?;
    bag.add_file(SPACE_FILE_NAME, &text)?;
    let first = recording.inertial.first().map_or(Stamp::default(), |sample| sample.stamp);
    write_robot(&notes, first, &mut bag)?;
    let imu = bag.add_topic::<Imu>(IMU, Qos::RELIABLE)?;
    let features = bag.add_topic::<PointCloud2>(FEATURES, Qos::RELIABLE)?;
    let truth = bag.add_topic::<PoseStamped>("/ground_truth/pose", Qos::RELIABLE)?;
    let mut frames = recording.frames.iter().peekable();
    let mut poses = recording.truth.iter().peekable();
    let last = Stamp::from_nanos(i64::MAX);
    let samples = recording.inertial.iter().map(|sample| (sample.stamp, Some(sample))).chain([(last, None)]);
    for (until, sample) in samples {
        while let Some(one) = poses.next_if(|one| one.stamp <= until) {
            let message = PoseStamped { header: header(one.stamp, MAP_FRAME), pose: space_pose_message(&one.pose) };
            bag.write(truth, one.stamp, &message)?;
        }
        while let Some(frame) = frames.next_if(|frame| frame.stamp <= until) {
            write_frame(frame, &notes.cameras, features, &mut bag)?;
        }
        if let Some(sample) = sample {
            bag.write(imu, sample.stamp, &imu_message(sample))?;
        }
    }
    let messages = bag.message_count();
    bag.finish()?;
    Ok(messages)
}

impl Notes {
    fn of(recording: &SpaceRecording) -> Self {
        Self {
            name: recording.name.clone(),
            layout: recording.layout,
            cameras: std::iter::once(recording.camera).chain(recording.further_cameras.iter().copied()).collect(),
            stated: recording.stated,
            start: recording.start,
            truth: recording.truth.clone(),
            gravity: recording.gravity,
            landmarks: recording.landmarks.clone(),
            dropped: recording.dropped.clone(),
            warnings: recording.warnings.clone(),
        }
    }

    /// A sentence about what is damaged, if anything is.
    fn problem(&self) -> Option<&'static str> {
        let is_pose =
            |pose: &Se3| pose.rotation.orthogonality_error() < 1e-3 && pose.translation.iter().all(|x| x.abs() < 1e9);
        let is_camera = |camera: &Camera| {
            let is_positive = camera.focal.iter().all(|f| *f > 0.0 && f.is_finite());
            is_positive && camera.centre.iter().all(|c| c.is_finite()) && is_pose(&camera.on_body)
        };
        if !(1..=MOST_CAMERAS).contains(&self.cameras.len()) || !self.cameras.iter().all(is_camera) {
            return Some("it needs 1 to 16 cameras, with focal lengths above 0 and poses on the body");
        }
        if !self.truth.iter().zip(self.truth.iter().skip(1)).all(|(one, next)| one.stamp < next.stamp) {
            return Some("the stamps of its truth do not increase");
        }
        if !self.truth.iter().all(|one| is_pose(&one.pose)) || !self.start.iter().all(|start| is_pose(&start.pose)) {
            return Some("a pose in it is no rigid motion");
        }
        None
    }
}

fn camera_frame(k: usize) -> String {
    format!("camera_{k}_optical")
}

/// Where the sensors are, how the cameras make their images, the start, and the landmarks.
fn write_robot(notes: &Notes, first: Stamp, bag: &mut BagWriter) -> Result<(), WriteError> {
    let at = |child: &str, pose: &Se3| {
        let pose = space_pose_message(pose);
        let t = pose.position;
        let transform =
            Transform { translation: Vector3Message { x: t.x, y: t.y, z: t.z }, rotation: pose.orientation };
        TransformStamped { header: header(first, BASE_FRAME), child_frame_id: child.to_owned(), transform }
    };
    let cameras = notes.cameras.iter().enumerate();
    let mut transforms = vec![at(IMU_FRAME, &Se3::identity())];
    transforms.extend(cameras.clone().map(|(k, camera)| at(&camera_frame(k), &camera.on_body)));
    let topic = bag.add_topic::<TfMessage>("/tf_static", Qos::LATCHED)?;
    bag.write(topic, first, &TfMessage { transforms })?;
    let topic = bag.add_topic::<CameraInfo>("/camera_info", Qos::LATCHED)?;
    for (k, camera) in cameras {
        bag.write(topic, first, &camera_info(camera, header(first, &camera_frame(k))))?;
    }
    if let Some(start) = &notes.start {
        let mut message = PoseWithCovarianceStamped { header: header(start.stamp, MAP_FRAME), ..Default::default() };
        message.pose.pose = space_pose_message(&start.pose);
        let [turn, _, place, ..] = start.std;
        message.pose.covariance = Covariance6(std::array::from_fn(|k| match (k % 7 == 0, k < 18) {
            (false, _) => 0.0,
            (true, true) => place * place,
            (true, false) => turn * turn,
        }));
        let topic = bag.add_topic::<PoseWithCovarianceStamped>("/initialpose", Qos::RELIABLE)?;
        bag.write(topic, start.stamp, &message)?;
    }
    if notes.landmarks.is_empty() {
        return Ok(());
    }
    let places = (0_u32..).zip(&notes.landmarks);
    let all: Vec<(u64, u32, [f64; 3])> = places.map(|(k, (id, place))| (*id, k, (*place).into())).collect();
    let topic = bag.add_topic::<PointCloud2>("/ground_truth/landmarks", Qos::LATCHED)?;
    bag.write(topic, first, &points(header(first, MAP_FRAME), &["x", "y", "z"], &all))
}

fn camera_info(camera: &Camera, header: Header) -> CameraInfo {
    let (f, c) = (&camera.focal, &camera.centre);
    CameraInfo {
        header,
        // The principal point is in the middle.
        height: (2.0 * c.y).round() as u32,
        width: (2.0 * c.x).round() as u32,
        distortion_model: "plumb_bob".to_owned(),
        d: vec![0.0; 5],
        k: [f.x, 0.0, c.x, 0.0, f.y, c.y, 0.0, 0.0, 1.0],
        r: [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0],
        p: [f.x, 0.0, c.x, 0.0, 0.0, f.y, c.y, 0.0, 0.0, 0.0, 1.0, 0.0],
        ..CameraInfo::default()
    }
}

fn imu_message(sample: &InertialSample) -> Imu {
    let vector = |v: &Vector3<f64>| Vector3Message { x: v.x, y: v.y, z: v.z };
    let mut message = Imu { header: header(sample.stamp, IMU_FRAME), ..Imu::default() };
    message.orientation.w = 1.0;
    message.orientation_covariance[0] = -1.0;
    (message.angular_velocity, message.linear_acceleration) = (vector(&sample.rate), vector(&sample.force));
    message
}

/// One message for each camera that saw anything; an empty one of the first where none did. Measurements keep their
/// places in the frame as `order`.
fn write_frame(frame: &Frame, cameras: &[Camera], topic: TopicId, bag: &mut BagWriter) -> Result<(), WriteError> {
    for (k, camera) in cameras.iter().enumerate() {
        let own = (0_u32..).zip(&frame.seen).filter(|(_, seen)| number_of(&seen.at) == k);
        let header = header(frame.stamp, &camera_frame(k));
        let message = if camera.baseline_m > 0.0 {
            let pair = |(place, seen): (u32, &Seen)| match seen.at {
                Image::Stereo(z) => Some((seen.id, place, z.into())),
                _ => None,
            };
            let all: Vec<(u64, u32, [f64; 4])> = own.filter_map(pair).collect();
            points(header, &["u_left", "v_left", "u_right", "v_right"], &all)
        } else {
            let one = |(place, seen): (u32, &Seen)| match &seen.at {
                Image::Normalized(z) | Image::Further(_, z) => Some((seen.id, place, pixel(z, camera))),
                Image::Stereo(_) => None,
            };
            let all: Vec<(u64, u32, [f64; 2])> = own.filter_map(one).collect();
            points(header, &["u", "v"], &all)
        };
        if message.width > 0 || (k == 0 && frame.seen.is_empty()) {
            bag.write(topic, frame.stamp, &message)?;
        }
    }
    Ok(())
}

fn number_of(at: &Image) -> usize {
    if let Image::Further(k, _) = at { k + 1 } else { 0 }
}

/// (u, v) of a normalized pixel. Of the doubles next to f x + c that one is taken of which (u − c)/f is x again, to the
/// last bit, so that a bag keeps pixels as they were measured; without one, x was no pixel before.
fn pixel(normalized: &Vector2<f64>, camera: &Camera) -> [f64; 2] {
    let Camera { focal, centre, .. } = camera;
    [(normalized.x, focal.x, centre.x), (normalized.y, focal.y, centre.y)].map(|(x, f, c)| {
        let middle = x * f + c;
        let (mut below, mut above) = (middle, middle);
        for _ in 0..8 {
            for candidate in [above, below] {
                if (candidate - c) / f == x {
                    return candidate;
                }
            }
            (below, above) = (below.next_down(), above.next_up());
        }
        middle
    })
}

/// Values of FLOAT64, so that they are read bit by bit, an `id`, and the `order`.
fn points<const N: usize>(header: Header, names: &[&str; N], all: &[(u64, u32, [f64; N])]) -> PointCloud2 {
    let field = |name: &str, offset: usize, datatype: u8| PointField {
        name: name.to_owned(),
        offset: offset as u32,
        datatype,
        count: 1,
    };
    let mut fields: Vec<PointField> = names.iter().enumerate().map(|(k, name)| field(name, 8 * k, FLOAT64)).collect();
    fields.push(field("id", 8 * N, UINT32));
    fields.push(field("order", 8 * N + 4, UINT32));
    let point_step = 8 * N + 8;
    let mut data = Vec::with_capacity(point_step * all.len());
    for (id, place, values) in all {
        data.extend(values.iter().flat_map(|x| x.to_le_bytes()));
        data.extend((*id as u32).to_le_bytes());
        data.extend(place.to_le_bytes());
    }
    PointCloud2 {
        header,
        height: 1,
        width: all.len() as u32,
        fields,
        is_bigendian: false,
        point_step: point_step as u32,
        row_step: data.len() as u32,
        data: Bytes(data),
        is_dense: true,
    }
}

/// Reads a bag that [`to_bag`] has written.
///
/// # Errors
/// A file is missing or damaged, with its name. Single messages that cannot be read are counted.
pub fn open(folder: &Path) -> Result<SpaceRecording, OpenError> {
    let path = folder.join(SPACE_FILE_NAME);
    let text = files::regular(&path).and_then(|file| files::text(file, LONGEST));
    let text = text.map_err(|error| OpenError::Io { path: path.clone(), error })?;
    let notes: Notes = serde_json::from_str(&text).map_err(|error| damaged(&path, error.to_string()))?;
    if let Some(problem) = notes.problem() {
        return Err(damaged(&path, problem.to_owned()));
    }
    let mut bag = BagReader::open(folder)?;
    let wanted: Vec<bool> = bag.topics().iter().map(|topic| [IMU, FEATURES].contains(&topic.name.as_str())).collect();
    let is_imu: Vec<bool> = bag.topics().iter().map(|topic| topic.name == IMU).collect();
    if wanted.iter().filter(|is_wanted| **is_wanted).count() < 2 {
        return Err(damaged(folder, format!("it has no {IMU} or no {FEATURES}")));
    }
    bag.select(&wanted);
    let mut recording = SpaceRecording {
        name: notes.name,
        layout: notes.layout,
        camera: notes.cameras.first().copied().unwrap_or_default(),
        further_cameras: notes.cameras.get(1..).unwrap_or_default().to_vec(),
        stated: notes.stated,
        start: notes.start,
        truth: notes.truth,
        gravity: notes.gravity,
        landmarks: notes.landmarks,
        dropped: notes.dropped,
        warnings: notes.warnings,
        ..SpaceRecording::default()
    };
    let lenses: Vec<Lens> = notes.cameras.iter().map(lens).collect();
    let mut taken = Vec::new();
    for record in bag.by_ref() {
        let taken = if is_imu.get(record.topic) == Some(&true) {
            take_imu(&record.data, &mut recording)
        } else {
            take_features(&record.data, &lenses, &mut recording, &mut taken)
        };
        if let Err(reason) = taken {
            *recording.dropped.entry(reason.to_owned()).or_default() += 1;
        }
    }
    recording.warnings.extend(bag.warnings().iter().cloned());
    Ok(recording)
}

fn damaged(path: &Path, problem: String) -> OpenError {
    OpenError::Bag { path: path.to_owned(), problem }
}

fn lens(camera: &Camera) -> Lens {
    let pinhole = Pinhole { focal: camera.focal, centre: camera.centre };
    Lens { pinhole, distortion: Distortion::None }
}

fn take_imu(bytes: &[u8], recording: &mut SpaceRecording) -> Result<(), &'static str> {
    let message: Imu = cdr::decode(bytes).map_err(|_| UNREADABLE)?;
    let sample = space_imu(&message, &[]).map_err(|refusal| refusal.word())?;
    if recording.inertial.last().is_some_and(|last| sample.stamp <= last.stamp) {
        return Err("too_late");
    }
    let lienav_space::Imu { rate, force } = sample.value;
    recording.inertial.push(InertialSample { stamp: sample.stamp, rate, force });
    Ok(())
}

/// `taken` are the places of the measurements that the last frame has.
fn take_features(
    bytes: &[u8],
    lenses: &[Lens],
    recording: &mut SpaceRecording,
    taken: &mut Vec<u32>,
) -> Result<(), &'static str> {
    let message: PointCloud2 = cdr::decode(bytes).map_err(|_| UNREADABLE)?;
    let frame = &message.header.frame_id;
    let number = (0..lenses.len()).find(|k| camera_frame(*k) == *frame).ok_or("unknown_frame")?;
    let stamp = stamp_of(&message.header.stamp).map_err(|refusal| refusal.word())?;
    let (seen, unknown) = space_features(&message, number, lenses.get(number)).map_err(|refusal| refusal.word())?;
    if unknown > 0 {
        *recording.dropped.entry("unknown_landmark".to_owned()).or_default() += unknown as u64;
    }
    let one = |seen: lienav_space::Seen| {
        let at = match (seen.value, number.checked_sub(1)) {
            (Value::Normalized(z), None) => Some(Image::Normalized(z)),
            (Value::Normalized(z), Some(k)) => Some(Image::Further(k, z)),
            (Value::Stereo(z), _) => Some(Image::Stereo(z)),
            _ => None,
        };
        at.map(|at| Seen { id: seen.id, at })
    };
    match recording.frames.last() {
        Some(last) if last.stamp > stamp => return Err("too_late"),
        Some(last) if last.stamp == stamp => {}
        _ => {
            recording.frames.push(Frame { stamp, seen: Vec::new() });
            taken.clear();
        }
    }
    let Some(frame) = recording.frames.last_mut() else { return Ok(()) };
    // As many places as measurements, unless some have no identity: then these come behind the others.
    let places = places(&message).filter(|places| places.len() == seen.len());
    let places = places.unwrap_or_else(|| vec![u32::MAX; seen.len()]);
    for (place, seen) in places.into_iter().zip(seen.into_iter().filter_map(one)) {
        let at = taken.partition_point(|other| *other <= place);
        taken.insert(at, place);
        frame.seen.insert(at, seen);
    }
    Ok(())
}

/// The places of the measurements in their frame, in ascending order within a message.
fn places(message: &PointCloud2) -> Option<Vec<u32>> {
    let field = message.fields.iter().find(|field| field.name == "order")?;
    let step = usize::try_from(message.point_step).ok().filter(|step| *step > 0)?;
    let place = |point: &[u8]| point.get(field.offset as usize..)?.first_chunk::<4>().copied().map(u32::from_le_bytes);
    message.data.0.chunks_exact(step).map(place).collect()
}
