//! Serialised messages, their conversion, and clouds of features.

use super::bytes::Bytes;
use lienav_base::stamp::Stamp;
use lienav_io::bag::cdr;
use lienav_io::cloud::MAX_POINTS;
use lienav_io::convert::{self, DetectionWords, Extrinsics, Frame, Pinhole, TagCamera, TagPattern};
use lienav_io::messages::{
    AprilTagDetection, AprilTagDetectionArray, CameraInfo, Clock, Detection3D, Detection3DArray, Imu, MagneticField,
    Message, Odometry, Path, PointCloud2, PointField, PoseArray, PoseStamped, PoseWithCovarianceStamped, TfMessage,
    TransformStamped, TwistWithCovarianceStamped, WrenchStamped,
};
use lienav_io::transforms::StaticTransforms;
use lienav_slam::{Measurement, MeasurementKind, Scan};
use nalgebra::Matrix2;

const KINDS: [MeasurementKind; 3] =
    [MeasurementKind::RelativePosition, MeasurementKind::RangeBearing, MeasurementKind::StereoBearings];

const CAMERA: TagCamera = TagCamera {
    size_m: 0.16,
    focal_px: 600.0,
    pixel_std: 0.5,
    scale_std: 0.01,
    max_range_m: 10.0,
    max_view_angle_rad: 1.3,
};

/// The bytes as a message of each kind. What is decoded takes no more memory than a few times the bytes, and is the
/// same after it is written and read again.
pub fn cdr(data: &[u8]) {
    again::<Odometry>(data);
    again::<PointCloud2>(data);
    again::<Imu>(data);
    again::<MagneticField>(data);
    again::<WrenchStamped>(data);
    again::<PoseStamped>(data);
    again::<PoseWithCovarianceStamped>(data);
    again::<TfMessage>(data);
    again::<PoseArray>(data);
    again::<TwistWithCovarianceStamped>(data);
    again::<Path>(data);
    again::<Clock>(data);
    again::<CameraInfo>(data);
    again::<Detection3DArray>(data);
    again::<AprilTagDetectionArray>(data);
}

fn again<M: Message + std::fmt::Debug>(data: &[u8]) {
    let Ok(message) = cdr::decode::<M>(data) else { return };
    let bytes = cdr::encode(&message).unwrap();
    assert!(bytes.len() <= 8 * data.len() + 4096, "{} bytes became {}", data.len(), bytes.len());
    let second = cdr::encode(&cdr::decode::<M>(&bytes).unwrap()).unwrap();
    assert_eq!(second, bytes);
}

/// The bytes as a message of each kind, converted into input of a filter.
pub fn conversion(data: &[u8]) {
    transforms(data);
    images(data);
    let frames = [Frame::parameter("odom_frame", "odom")];
    for frames in [&frames[..], &[]] {
        if let Ok(message) = cdr::decode::<Odometry>(data) {
            let _ = convert::odometry(&message, frames, frames);
        }
        if let Ok(message) = cdr::decode::<Imu>(data) {
            let _ = convert::imu(&message, frames);
            let _ = convert::imu_sample(&message, frames);
        }
        if let Ok(message) = cdr::decode::<MagneticField>(data) {
            let _ = convert::magnetic_field(&message, frames);
        }
        if let Ok(message) = cdr::decode::<WrenchStamped>(data) {
            let _ = convert::torque(&message, frames);
        }
        if let Ok(message) = cdr::decode::<PoseStamped>(data) {
            let _ = convert::pose_of(&message.pose);
        }
        if let Ok(message) = cdr::decode::<PointCloud2>(data) {
            convert_cloud(&message, frames);
        }
    }
}

/// The bytes as transforms: of a robot, which other messages are brought to its base by, and of tags. A reading of a
/// tag is finite where it is one, with a covariance that has a root.
fn transforms(data: &[u8]) {
    let Ok(message) = cdr::decode::<TfMessage>(data) else { return };
    let mut tree = StaticTransforms::default();
    for transform in &message.transforms {
        let _ = tree.insert(transform);
    }
    let pattern: TagPattern = "*{id}".parse().unwrap();
    for transform in &message.transforms {
        let Some(pose) = tree.between(&transform.header.frame_id, &transform.child_frame_id) else { continue };
        let extrinsics = Extrinsics::of(&pose);
        for kind in KINDS {
            let measurements = vec![Measurement::new(None, [1.0, 0.5])];
            let mut features = Scan { stamp: Stamp::default(), kind, measurements };
            let _ = extrinsics.level(&mut features, &[0.3]);
        }
        let mut odometry = Odometry::default();
        odometry.pose.pose.orientation.w = 1.0;
        let _ = convert::placed_odometry(&odometry, &[], &pose);
        let id = pattern.identity(&transform.child_frame_id).unwrap_or(0);
        if let Ok(Some(seen)) = CAMERA.measurement(id, transform, &pose) {
            let c = seen.covariance.unwrap().fixed::<2>();
            assert!(seen.value.iter().all(|x| x.is_finite()) || !pose.translation.vector.iter().all(|x| x.is_finite()));
            assert!(c.m11 > 0.0 && c.determinant() > 0.0, "{c}");
        }
    }
    if let Ok(message) = cdr::decode::<PoseArray>(data) {
        let _ = convert::pose_array(&message, &Extrinsics::level_at(lienav_lie::Se2::identity()));
    }
    if let Ok(message) = cdr::decode::<TwistWithCovarianceStamped>(data) {
        let _ = convert::twist(&message, &nalgebra::Isometry3::identity());
    }
}

/// Detections in space and in images, of a camera that looks ahead.
fn images(data: &[u8]) {
    let turn = nalgebra::UnitQuaternion::from_euler_angles(-1.57, 0.0, -1.57);
    let extrinsics = Extrinsics::of(&nalgebra::Isometry3::from_parts([0.2, 0.0, 0.5].into(), turn));
    if let Ok(message) = cdr::decode::<Detection3DArray>(data) {
        let words = DetectionWords { identity: "*{id}".parse().ok(), classes: vec!["post".into()], min_score: 0.1 };
        if let Ok(seen) = convert::detections(&message, &extrinsics, &words) {
            assert!(seen.measurements.len() <= message.detections.len());
        }
    }
    if let Ok(info) = cdr::decode::<CameraInfo>(data) {
        let _ = Pinhole::of(&info);
    }
    if let Ok(message) = cdr::decode::<AprilTagDetectionArray>(data) {
        let camera = Pinhole { focal: [600.0, 610.0].into(), centre: [320.0, 240.0].into() };
        if let Ok(seen) = convert::april_tags(&message, &extrinsics, (&CAMERA, &convert::TagSizes::default(), &camera))
        {
            for seen in seen.measurements {
                let c = seen.covariance.unwrap().fixed::<2>();
                assert!(seen.value.iter().all(|x| x.is_finite()) && c.m11 > 0.0 && c.determinant() > 0.0, "{c}");
            }
        }
    }
}

fn convert_cloud(message: &PointCloud2, frames: &[Frame<'_>]) {
    for preferred in KINDS {
        let Ok(features) = convert::features(message, frames, preferred) else { continue };
        assert!(features.measurements.len() as u64 <= MAX_POINTS);
        assert!(features.measurements.len() <= message.data.0.len());
        // What is written is read back to the last bit, unless it is not-a-number.
        let written = convert::features_message(&features, "laser");
        let read = convert::features(&written, &[], features.kind).unwrap();
        assert_eq!(read.measurements.len(), features.measurements.len());
        let is_plain = features.measurements.iter().all(|seen| {
            let numbers_are = format!("{seen:?}");
            !numbers_are.contains("NaN")
        });
        if is_plain && features.measurements.iter().all(|seen| seen.id.is_some() && seen.covariance.is_some()) {
            assert_eq!(read.measurements, features.measurements);
        }
    }
    if let Ok(landmarks) = convert::landmarks(message) {
        assert!(landmarks.len() <= message.data.0.len());
    }
}

/// Clouds whose layout is read from the bytes: sizes, steps and fields that contradict each other.
pub fn cloud(data: &[u8]) {
    const NAMES: [&str; 12] = [
        "x",
        "y",
        "z",
        "id",
        "range",
        "bearing",
        "bearing_left",
        "bearing_right",
        "var_x",
        "var_y",
        "cov_xy",
        "var_range",
    ];
    let mut bytes = Bytes(data);
    let size = |bytes: &mut Bytes<'_>| match bytes.byte() {
        small @ 0..200 => u32::from(small) % 40,
        200..220 => u32::MAX - u32::from(bytes.byte()),
        _ => bytes.long() as u32,
    };
    let mut message = PointCloud2 {
        height: if bytes.byte() < 200 { 1 } else { size(&mut bytes) },
        width: size(&mut bytes),
        is_bigendian: bytes.byte() > 127,
        point_step: size(&mut bytes),
        row_step: size(&mut bytes),
        ..PointCloud2::default()
    };
    for _ in 0..bytes.byte() % 8 {
        let name = NAMES[usize::from(bytes.byte()) % NAMES.len()].to_owned();
        let (offset, datatype) = (size(&mut bytes), bytes.byte() % 10);
        message.fields.push(PointField { name, offset, datatype, count: u32::from(bytes.byte() % 3) });
    }
    message.data.0 = bytes.0.to_vec();
    convert_cloud(&message, &[]);
}

pub fn clouds() -> Vec<Vec<u8>> {
    // height 1, width 3, little endian, step 24, row 72; id, range, bearing, all of them double.
    let mut one = vec![0, 3, 0, 24, 72, 3, 3, 0, 6, 1, 4, 8, 8, 1, 5, 16, 8, 1];
    one.extend((0..72).map(|k: u8| k.wrapping_mul(37)));
    let mut two = vec![0, 5, 200, 12, 60, 3, 0, 4, 7, 1, 1, 8, 7, 1, 3, 0, 6, 0];
    two.extend((0..60).map(|k: u8| k.wrapping_mul(91)));
    vec![one, two, Vec::new()]
}

pub fn corpus() -> Vec<Vec<u8>> {
    let stamp = Stamp::from_nanos(1_700_000_000_000_000_001);
    let header = convert::header(stamp, "odom");
    let mut odometry = Odometry { header: header.clone(), child_frame_id: "base_link".into(), ..Odometry::default() };
    odometry.twist.twist.linear.x = 0.5;
    odometry.pose.pose.orientation.w = 1.0;
    let seen = |k: u32| Measurement {
        covariance: Some(Matrix2::new(0.1, 0.01, 0.01, 0.2).into()),
        ..Measurement::new(Some(k), [1.0 + f64::from(k), 0.1])
    };
    let features = Scan { stamp, kind: MeasurementKind::RangeBearing, measurements: (0..4).map(seen).collect() };
    let tag = |parent: &str, child: &str, z: f64| {
        let header = convert::header(stamp, parent);
        let mut tag = TransformStamped { header, child_frame_id: child.into(), ..TransformStamped::default() };
        (tag.transform.translation.x, tag.transform.translation.z, tag.transform.rotation.w) = (0.3, z, 1.0);
        tag
    };
    let tags = TfMessage { transforms: vec![tag("base", "camera", 0.5), tag("camera", "tag36h11:5", 2.0)] };
    let of_camera = convert::header(stamp, "camera");
    let mut camera = CameraInfo { header: of_camera.clone(), ..CameraInfo::default() };
    (camera.p[0], camera.p[5]) = (600.0, 610.0);
    let mut tag_in_image = AprilTagDetection { family: "tag36h11".into(), id: 5, ..AprilTagDetection::default() };
    for (corner, (x, y)) in
        tag_in_image.corners.iter_mut().zip([(300.0, 220.0), (330.0, 222.0), (331.0, 251.0), (299.0, 249.0)])
    {
        (corner.x, corner.y) = (x, y);
    }
    let mut path = Path { header: header.clone(), ..Path::default() };
    path.poses = vec![PoseStamped { header: header.clone(), ..PoseStamped::default() }; 2];
    let mut corpus = vec![
        cdr::encode(&odometry),
        cdr::encode(&convert::features_message(&features, "laser")),
        cdr::encode(&Imu { header: header.clone(), ..Imu::default() }),
        cdr::encode(&MagneticField { header: header.clone(), ..MagneticField::default() }),
        cdr::encode(&WrenchStamped { header: header.clone(), ..WrenchStamped::default() }),
        cdr::encode(&PoseStamped { header: header.clone(), ..PoseStamped::default() }),
        cdr::encode(&PoseWithCovarianceStamped { header: header.clone(), ..PoseWithCovarianceStamped::default() }),
        cdr::encode(&TwistWithCovarianceStamped { header: header.clone(), twist: odometry.twist.clone() }),
        cdr::encode(&PoseArray { header, poses: vec![odometry.pose.pose.clone(); 2] }),
        cdr::encode(&tags),
        cdr::encode(&camera),
        cdr::encode(&Detection3DArray { header: of_camera.clone(), detections: vec![Detection3D::default(); 2] }),
        cdr::encode(&AprilTagDetectionArray { header: of_camera, detections: vec![tag_in_image; 2] }),
        cdr::encode(&path),
        cdr::encode(&TfMessage { transforms: vec![Default::default(); 2] }),
        cdr::encode(&Clock::default()),
    ]
    .into_iter()
    .collect::<Result<Vec<_>, _>>()
    .unwrap();
    corpus.push(Vec::new());
    corpus
}
