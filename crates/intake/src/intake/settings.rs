//! The parameters of the inputs: odometry, tags, and sensors that the user names.

use crate::convert::{DetectionWords, TagCamera, TagPattern, TagSizes};
use lienav_base::settings::{Described, Spec};
use lienav_base::{settings, words};
use lienav_slam::MeasurementKind;
use std::f64::consts::{FRAC_PI_2, TAU};

/// The most sensors that can be named.
pub const MOST_SENSORS: usize = 8;
/// The most sources of odometry beside `odom`.
pub const MOST_FALLBACKS: usize = 3;

words! {
    /// The type of the messages with features.
    #[derive(Default)]
    pub enum FeaturesMessage {
        /// sensor_msgs/PointCloud2, whose fields say what they are.
        #[default]
        PointCloud = "cloud",
        /// geometry_msgs/PoseArray: positions without identity.
        PoseArray = "pose_array",
        /// vision_msgs/Detection3DArray.
        Detections = "detections",
        /// apriltag_msgs/AprilTagDetectionArray: corners in an image, placed by sensor_msgs/CameraInfo.
        AprilTags = "apriltags",
    }
}

words! {
    /// The type of the messages with odometry.
    pub enum OdometryMessage {
        /// nav_msgs/Odometry.
        Odometry = "odometry",
        /// geometry_msgs/TwistWithCovarianceStamped.
        Twist = "twist",
    }
}

settings! {
    /// Where odometry comes from.
    pub struct OdometrySettings {
        /// Type of the messages on odom: nav_msgs/Odometry (odometry), or geometry_msgs/TwistWithCovarianceStamped
        /// (twist).
        message: OdometryMessage = OdometryMessage::Odometry, one_of OdometryMessage::WORDS;
        /// Names of further sources, the best first: one is used while odom and those before it are silent.
        ///
        /// Each has parameters of its own, `<name>.topic` and `<name>.message`.
        fallbacks: Vec<String> = Vec::new(), names;
        /// A source whose last message is older than this, by the stamps, is silent, s.
        timeout_s: f64 = 0.2, within 0.01..=60.0, unit "s", runtime;
    }
}

settings! {
    /// A further source of odometry.
    pub struct FallbackSettings {
        /// Topic of a further source of odometry; empty: <name>/odom.
        topic: String = String::new();
        /// Type of its messages: nav_msgs/Odometry (odometry), or geometry_msgs/TwistWithCovarianceStamped (twist).
        message: OdometryMessage = OdometryMessage::Odometry, one_of OdometryMessage::WORDS;
    }
}

settings! {
    /// A feature sensor beside that of `features`.
    pub struct SensorSettings {
        /// Topic of a further sensor; empty: <name>/features.
        topic: String = String::new();
        /// Type of its messages: PointCloud2 (cloud), PoseArray (pose_array); where built in, detections or apriltags.
        ///
        /// These are vision_msgs/Detection3DArray and apriltag_msgs/AprilTagDetectionArray, of the features with the
        /// names of these packages.
        message: FeaturesMessage = FeaturesMessage::PointCloud, one_of FeaturesMessage::WORDS;
        /// How a feature is measured if the fields of the cloud allow more than one kind.
        kind: MeasurementKind = MeasurementKind::RangeBearing, one_of MeasurementKind::WORDS;
        /// Position of the sensor in the base frame, forward, m; taken from /tf_static if no part of the place is
        /// given.
        x_m: f64 = 0.0, within -100.0..=100.0, unit "m";
        /// Position of the sensor in the base frame, left, m.
        y_m: f64 = 0.0, within -100.0..=100.0, unit "m";
        /// Heading of the sensor in the base frame, rad.
        yaw_rad: f64 = 0.0, within -TAU..=TAU, unit "rad";
        /// Standard deviation of each coordinate of a relative position, m.
        position_std_m: f64 = 0.1, within 1e-9..=100.0, unit "m";
        /// Standard deviation of a range, m.
        range_std_m: f64 = 0.05, within 1e-9..=100.0, unit "m";
        /// Standard deviation of a bearing, also of each camera of a stereo pair, rad.
        bearing_std_rad: f64 = 0.02, within 1e-9..=100.0, unit "rad";
        /// Distance between the cameras of a stereo pair, m.
        baseline_m: f64 = 0.5, within 1e-3..=10.0, unit "m";
        /// Probability that a range alone is too long, because something stands in the line of sight.
        late_probability: f64 = 0.0, within 0.0..=0.9;
        /// By how much such a range is too long at most, m.
        late_max_m: f64 = 5.0, within 0.0..=1000.0, unit "m";
        /// Features nearer than this are ignored, m.
        min_range_m: f64 = 0.05, within 0.0..=1000.0, unit "m";
        /// Features farther than this are ignored, m.
        max_range_m: f64 = 100.0, within 0.0..=10_000.0, unit "m";
    }
}

settings! {
    /// Tags that a detector publishes on `/tf`.
    pub struct TagSettings {
        /// Patterns of the frames of tags on /tf, such as tag36h11:{id}, marker_{id+1000} and dock=500; none: no tags.
        ///
        /// See [`crate::convert::TagPattern`].
        frame_patterns: Vec<String> = Vec::new(), names;
        /// Edge of a tag, m.
        size_m: f64 = 0.16, within 1e-3..=10.0, unit "m", runtime;
        /// Edges of tags that are not size_m, as ID:METRES or FIRST-LAST:METRES, such as 7:0.10.
        ///
        /// See [`crate::convert::TagSizes`].
        sizes: Vec<String> = Vec::new(), names;
        /// Focal length of the camera, pixels.
        focal_px: f64 = 600.0, within 1.0..=1e6, unit "pixel", runtime;
        /// Standard deviation of each coordinate of a corner of a tag in the image, pixels.
        pixel_std: f64 = 0.5, within 1e-3..=100.0, unit "pixel", runtime;
        /// Error of focal length and tag size together, as a part of the distance.
        scale_std: f64 = 0.01, within 0.0..=1.0, runtime;
        /// Tags farther away than this are left out, m.
        max_range_m: f64 = 10.0, within 0.0..=1000.0, unit "m", runtime;
        /// Tags seen at more than this from their normal are left out, rad.
        max_view_angle_rad: f64 = 1.3, within 0.0..=FRAC_PI_2, unit "rad", runtime;
    }
}

impl TagSettings {
    /// How well tags are placed.
    pub fn camera(&self) -> TagCamera {
        let Self { size_m, focal_px, pixel_std, scale_std, max_range_m, max_view_angle_rad, .. } = *self;
        TagCamera { size_m, focal_px, pixel_std, scale_std, max_range_m, max_view_angle_rad }
    }

    /// The edges of tags that have their own.
    ///
    /// # Errors
    /// The sentence to show: an entry in another form.
    pub fn sizes(&self) -> Result<TagSizes, String> {
        TagSizes::parse(self.sizes.iter().map(String::as_str).filter(|text| !text.is_empty()))
    }

    /// The patterns of the frames of tags.
    ///
    /// # Errors
    /// The sentence to show: a pattern that names no identity.
    pub fn patterns(&self) -> Result<Vec<TagPattern>, String> {
        let given = self.frame_patterns.iter().filter(|text| !text.is_empty());
        given.map(|text| text.parse::<TagPattern>().map_err(|e| format!("tags.frame_patterns: {e}"))).collect()
    }
}

settings! {
    /// What the words of vision_msgs/Detection3DArray stand for.
    pub struct DetectionSettings {
        /// Words of class_id, for the classes 1, 2 and so on; a number is a class by itself.
        classes: Vec<String> = Vec::new(), names;
        /// Pattern of the id, or else the class_id, that is a landmark's number, such as post_{id}; empty: none is.
        identity: String = String::new();
        /// Detections with a smaller score are left out.
        min_score: f64 = 0.0, within 0.0..=1.0;
    }
}

impl DetectionSettings {
    /// The same for a conversion.
    ///
    /// # Errors
    /// A pattern that names no identity.
    pub fn words(&self) -> Result<DetectionWords, String> {
        let pattern = Some(self.identity.as_str()).filter(|text| !text.is_empty());
        let identity = pattern.map(str::parse::<TagPattern>).transpose();
        Ok(DetectionWords {
            classes: self.classes.iter().filter(|word| !word.is_empty()).cloned().collect(),
            identity: identity.map_err(|e| format!("detections.identity: {e}"))?,
            min_score: self.min_score,
        })
    }
}

/// A group of parameters under a name that the user gives.
#[derive(Clone, Debug, PartialEq)]
pub struct Named<T> {
    /// The name.
    pub name: String,
    /// The parameters.
    pub settings: T,
    /// Whether the user states the mount of the sensor.
    pub is_placed: bool,
}

/// The names in the parameter `list`, checked: words of ROS that no other parameters have, and at most `most` of them.
/// `is_taken` knows the names of other parameters. An empty word is how ROS writes an empty list.
///
/// # Errors
/// The sentence to show: a name that cannot be used, or too many of them.
pub fn checked_names<'a>(
    (list, names, most): (&str, &'a [String], usize),
    is_taken: impl Fn(&str) -> bool,
) -> Result<Vec<&'a str>, String> {
    let names: Vec<&str> = names.iter().map(String::as_str).filter(|name| !name.is_empty()).collect();
    if names.len() > most {
        let given = names.len();
        return Err(format!("parameter '{list}' has {given} names; at most {most} are allowed"));
    }
    for (k, name) in names.iter().enumerate() {
        let is_word = name.starts_with(|c: char| c.is_ascii_alphabetic())
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        if !is_word {
            return Err(format!(
                "parameter '{list}' has the name '{name}': letters, digits and _ are allowed, a letter first"
            ));
        }
        if is_taken(name) || names.iter().take(k).any(|other| other == name) {
            return Err(format!(
                "parameter '{list}' has the name '{name}', which other parameters have: choose another one"
            ));
        }
    }
    Ok(names)
}

/// The parameters of all inputs of odometry and landmarks.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct InputSettings {
    /// The type of the messages of the sensor that has no name.
    pub features_message: FeaturesMessage,
    /// Where odometry comes from.
    pub odometry: OdometrySettings,
    /// Tags on `/tf`, and in images.
    pub tags: TagSettings,
    /// What detectors call things.
    pub detections: DetectionSettings,
    /// The further sources of odometry, the best first.
    pub fallbacks: Vec<Named<FallbackSettings>>,
    /// The further feature sensors.
    pub sensors: Vec<Named<SensorSettings>>,
}

/// Every parameter of the groups that have a name of the user's, for the documents: sensors, and sources of odometry.
pub const NAMED_SPECS: [(&str, &[Spec]); 2] =
    [("sensors", SensorSettings::SPECS), ("odometry.fallbacks", FallbackSettings::SPECS)];
