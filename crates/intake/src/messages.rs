//! ROS 2 messages as plain data, field by field as their interfaces have them, whether they come from a topic or from
//! a bag. Units and frames are those of REP 103 and REP 105.

#![allow(missing_docs, reason = "the fields are documented where the interfaces are published")]

use serde::de::{Error, SeqAccess, Visitor};
use serde::ser::SerializeTuple;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;

/// A message type.
pub trait Message: Serialize + for<'de> Deserialize<'de> {
    /// Its full name, `package/msg/Type`.
    const TYPE: &'static str;
}

macro_rules! messages {
    ($($(#[$doc:meta])* $type:literal $name:ident { $($field:ident: $kind:ty),* $(,)? })*) => {$(
        $(#[$doc])*
        #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
        pub struct $name {
            $(pub $field: $kind,)*
        }

        impl Message for $name {
            const TYPE: &'static str = $type;
        }
    )*};
}

messages! {
    /// An instant.
    "builtin_interfaces/msg/Time" Time { sec: i32, nanosec: u32 }
    /// When, and in which frame.
    "std_msgs/msg/Header" Header { stamp: Time, frame_id: String }
    /// A position, m.
    "geometry_msgs/msg/Point" Point { x: f64, y: f64, z: f64 }
    /// A free vector.
    "geometry_msgs/msg/Vector3" Vector3 { x: f64, y: f64, z: f64 }
    /// A rotation; w is the scalar part.
    "geometry_msgs/msg/Quaternion" Quaternion { x: f64, y: f64, z: f64, w: f64 }
    /// Position and orientation.
    "geometry_msgs/msg/Pose" Pose { position: Point, orientation: Quaternion }
    /// A pose at an instant.
    "geometry_msgs/msg/PoseStamped" PoseStamped { header: Header, pose: Pose }
    /// A pose with the covariance of (x, y, z, rotations about X, Y, Z).
    "geometry_msgs/msg/PoseWithCovariance" PoseWithCovariance { pose: Pose, covariance: Covariance6 }
    /// The same at an instant.
    "geometry_msgs/msg/PoseWithCovarianceStamped" PoseWithCovarianceStamped { header: Header, pose: PoseWithCovariance }
    /// Velocities.
    "geometry_msgs/msg/Twist" Twist { linear: Vector3, angular: Vector3 }
    /// Velocities with their covariance, ordered as that of a pose.
    "geometry_msgs/msg/TwistWithCovariance" TwistWithCovariance { twist: Twist, covariance: Covariance6 }
    /// The same at an instant, in the frame of the header.
    "geometry_msgs/msg/TwistWithCovarianceStamped" TwistWithCovarianceStamped {
        header: Header,
        twist: TwistWithCovariance,
    }
    /// Poses at an instant, in one frame.
    "geometry_msgs/msg/PoseArray" PoseArray { header: Header, poses: Vec<Pose> }
    /// A frame in its parent.
    "geometry_msgs/msg/Transform" Transform { translation: Vector3, rotation: Quaternion }
    /// The same at an instant, with both names.
    "geometry_msgs/msg/TransformStamped" TransformStamped { header: Header, child_frame_id: String, transform: Transform }
    /// Pose in `header.frame_id`, twist in `child_frame_id`.
    "nav_msgs/msg/Odometry" Odometry {
        header: Header,
        child_frame_id: String,
        pose: PoseWithCovariance,
        twist: TwistWithCovariance,
    }
    /// Where something has been or shall go.
    "nav_msgs/msg/Path" Path { header: Header, poses: Vec<PoseStamped> }
    /// One field of a point of a cloud.
    "sensor_msgs/msg/PointField" PointField { name: String, offset: u32, datatype: u8, count: u32 }
    /// Points with fields of their own.
    "sensor_msgs/msg/PointCloud2" PointCloud2 {
        header: Header,
        height: u32,
        width: u32,
        fields: Vec<PointField>,
        is_bigendian: bool,
        point_step: u32,
        row_step: u32,
        data: Bytes,
        is_dense: bool,
    }
    /// Orientation, angular velocity and specific force; a covariance that begins with −1 says that there is no value.
    "sensor_msgs/msg/Imu" Imu {
        header: Header,
        orientation: Quaternion,
        orientation_covariance: [f64; 9],
        angular_velocity: Vector3,
        angular_velocity_covariance: [f64; 9],
        linear_acceleration: Vector3,
        linear_acceleration_covariance: [f64; 9],
    }
    /// Whether a satellite receiver has a fix: a negative status is none.
    "sensor_msgs/msg/NavSatStatus" NavSatStatus { status: i8, service: u16 }
    /// Where a satellite receiver is, degrees and m above the ellipsoid, with the covariance of (east, north, up), m².
    "sensor_msgs/msg/NavSatFix" NavSatFix {
        header: Header,
        status: NavSatStatus,
        latitude: f64,
        longitude: f64,
        altitude: f64,
        position_covariance: [f64; 9],
        position_covariance_type: u8,
    }
    /// A sweep of a planar laser scanner: rad, s, m.
    "sensor_msgs/msg/LaserScan" LaserScan {
        header: Header,
        angle_min: f32,
        angle_max: f32,
        angle_increment: f32,
        time_increment: f32,
        scan_time: f32,
        range_min: f32,
        range_max: f32,
        ranges: Vec<f32>,
        intensities: Vec<f32>,
    }
    /// A part of an image, pixels.
    "sensor_msgs/msg/RegionOfInterest" RegionOfInterest {
        x_offset: u32,
        y_offset: u32,
        height: u32,
        width: u32,
        do_rectify: bool,
    }
    /// How a camera makes its images: k of the raw image, p of the rectified one, both by rows, pixels.
    "sensor_msgs/msg/CameraInfo" CameraInfo {
        header: Header,
        height: u32,
        width: u32,
        distortion_model: String,
        d: Vec<f64>,
        k: [f64; 9],
        r: [f64; 9],
        p: [f64; 12],
        binning_x: u32,
        binning_y: u32,
        roi: RegionOfInterest,
    }
    /// What something is taken for, with a score from 0 to 1.
    "vision_msgs/msg/ObjectHypothesis" ObjectHypothesis { class_id: String, score: f64 }
    /// The same, and where it is.
    "vision_msgs/msg/ObjectHypothesisWithPose" ObjectHypothesisWithPose {
        hypothesis: ObjectHypothesis,
        pose: PoseWithCovariance,
    }
    /// A box, m.
    "vision_msgs/msg/BoundingBox3D" BoundingBox3D { center: Pose, size: Vector3 }
    /// Something that was detected in space.
    "vision_msgs/msg/Detection3D" Detection3D {
        header: Header,
        results: Vec<ObjectHypothesisWithPose>,
        bbox: BoundingBox3D,
        id: String,
    }
    /// What was detected at an instant.
    "vision_msgs/msg/Detection3DArray" Detection3DArray { header: Header, detections: Vec<Detection3D> }
    /// A point of an image, pixels.
    "apriltag_msgs/msg/Point" ImagePoint { x: f64, y: f64 }
    /// A tag in an image: its corners follow one another around it.
    "apriltag_msgs/msg/AprilTagDetection" AprilTagDetection {
        family: String,
        id: i32,
        hamming: i32,
        goodness: f32,
        decision_margin: f32,
        centre: ImagePoint,
        corners: [ImagePoint; 4],
        homography: [f64; 9],
    }
    /// The tags of an image, in the frame of its camera.
    "apriltag_msgs/msg/AprilTagDetectionArray" AprilTagDetectionArray {
        header: Header,
        detections: Vec<AprilTagDetection>,
    }
    /// A magnetic field, T.
    "sensor_msgs/msg/MagneticField" MagneticField {
        header: Header,
        magnetic_field: Vector3,
        magnetic_field_covariance: [f64; 9],
    }
    /// A force, N, and a torque, N m.
    "geometry_msgs/msg/Wrench" Wrench { force: Vector3, torque: Vector3 }
    /// The same at an instant.
    "geometry_msgs/msg/WrenchStamped" WrenchStamped { header: Header, wrench: Wrench }
    /// Simulated time.
    "rosgraph_msgs/msg/Clock" Clock { clock: Time }
    /// Transforms of the tree.
    "tf2_msgs/msg/TFMessage" TfMessage { transforms: Vec<TransformStamped> }
}

/// A 6×6 covariance by rows, `float64[36]`.
#[derive(Clone, Debug, PartialEq)]
pub struct Covariance6(pub [f64; 36]);

impl Default for Covariance6 {
    fn default() -> Self {
        Self([0.0; 36])
    }
}

impl Serialize for Covariance6 {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut tuple = serializer.serialize_tuple(36)?;
        for value in &self.0 {
            tuple.serialize_element(value)?;
        }
        tuple.end()
    }
}

impl<'de> Deserialize<'de> for Covariance6 {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Numbers;
        impl<'de> Visitor<'de> for Numbers {
            type Value = Covariance6;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("36 numbers")
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut numbers: A) -> Result<Self::Value, A::Error> {
                let mut out = Covariance6::default();
                for (i, value) in out.0.iter_mut().enumerate() {
                    *value = numbers.next_element()?.ok_or_else(|| A::Error::invalid_length(i, &"36 numbers"))?;
                }
                Ok(out)
            }
        }
        deserializer.deserialize_tuple(36, Numbers)
    }
}

/// `uint8[]`, copied as a whole instead of byte by byte.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bytes(pub Vec<u8>);

impl Serialize for Bytes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(&self.0)
    }
}

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Octets;
        impl Visitor<'_> for Octets {
            type Value = Bytes;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("bytes")
            }
            fn visit_byte_buf<E: Error>(self, bytes: Vec<u8>) -> Result<Bytes, E> {
                Ok(Bytes(bytes))
            }
            fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<Bytes, E> {
                Ok(Bytes(bytes.to_vec()))
            }
        }
        deserializer.deserialize_byte_buf(Octets)
    }
}
