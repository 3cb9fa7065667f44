//! The parameters of the inputs of `slam_node`: odometry, tags, and sensors that the user names.

use crate::ros::parameters::{Overrides, ParameterError, Parameters, is_placed};
use lienav_base::settings::{Described, Spec};
use lienav_base::{settings, words};
use lienav_io::convert::{DetectionWords, TagCamera, TagPattern};
use lienav_slam::MeasurementKind;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::collections::BTreeSet;
use std::f64::consts::{FRAC_PI_2, TAU};

/// The most sensors that can be named.
pub const MOST_SENSORS: usize = 8;
/// The most sources of odometry beside `odom`.
pub const MOST_FALLBACKS: usize = 3;

words! {
    /// The type of the messages with features.
    pub enum FeaturesMessage {
        /// sensor_msgs/PointCloud2, whose fields say what they are.
        Cloud = "cloud",
        /// geometry_msgs/PoseArray: positions without identity.
        PoseArray = "pose_array",
        /// vision_msgs/Detection3DArray.
        Detections = "detections",
        /// apriltag_msgs/AprilTagDetectionArray: corners in an image, placed by sensor_msgs/CameraInfo.
        AprilTags = "apriltags",
    }
}

impl FeaturesMessage {
    /// Checks that this build has the type of these messages. `parameter` names them.
    ///
    /// # Errors
    /// What has to be built.
    pub fn check_built(self, parameter: &str) -> Result<(), ParameterError> {
        let (word, package, is_built) = match self {
            Self::Cloud | Self::PoseArray => return Ok(()),
            Self::Detections => ("detections", "vision_msgs", cfg!(feature = "vision_msgs")),
            Self::AprilTags => ("apriltags", "apriltag_msgs", cfg!(feature = "apriltag_msgs")),
        };
        if is_built {
            return Ok(());
        }
        Err(ParameterError::Unusable(format!(
            "parameter '{parameter}' is '{word}', whose type this build does not have: build lienav with the cargo \
             feature {package}, where the ROS package {package} is installed"
        )))
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
        message: FeaturesMessage = FeaturesMessage::Cloud, one_of FeaturesMessage::WORDS;
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
        /// Patterns of the frames of tags on /tf, such as tag36h11:{id} and marker_{id+1000}; none: no tags.
        ///
        /// See [`lienav_io::convert::TagPattern`].
        frame_patterns: Vec<String> = Vec::new(), names;
        /// Edge of a tag, m.
        size_m: f64 = 0.16, within 1e-3..=10.0, unit "m", runtime;
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
    pub fn words(&self) -> Result<DetectionWords, ParameterError> {
        let pattern = Some(self.identity.as_str()).filter(|text| !text.is_empty());
        let identity = pattern.map(str::parse::<TagPattern>).transpose();
        Ok(DetectionWords {
            classes: self.classes.iter().filter(|word| !word.is_empty()).cloned().collect(),
            identity: identity.map_err(|e| ParameterError::Unusable(format!("detections.identity: {e}")))?,
            min_score: self.min_score,
        })
    }
}

/// A group of parameters under a name of the user's.
#[derive(Clone, Debug, PartialEq)]
pub struct Named<T> {
    /// The name.
    pub name: String,
    /// The parameters.
    pub settings: T,
    /// Whether the user has said where the sensor sits.
    pub is_placed: bool,
}

/// Declares the parameters of each name in the list that the parameter `list` is, and reads them.
///
/// # Errors
/// A name that cannot be used, too many of them, or a parameter that cannot be used.
pub fn named<T: Described + Default + Serialize + DeserializeOwned>(
    parameters: &mut Parameters,
    overrides: &Overrides,
    (list, names, most): (&'static str, &[String], usize),
) -> Result<Vec<Named<T>>, ParameterError> {
    // An empty word is how ROS writes a list of nothing.
    let names: Vec<&String> = names.iter().filter(|name| !name.is_empty()).collect();
    if names.len() > most {
        let given = names.len();
        return Err(ParameterError::Unusable(format!(
            "parameter '{list}' has {given} names; at most {most} are allowed"
        )));
    }
    let mut groups = Vec::new();
    for name in names {
        check_name(list, name, parameters).map_err(ParameterError::Unusable)?;
        parameters.declare_group::<T>(name, T::SPECS, overrides)?;
        let settings = parameters.read_group(name, T::SPECS)?;
        groups.push(Named { name: name.clone(), settings, is_placed: is_placed(name, overrides) });
    }
    Ok(groups)
}

/// A name is a word of ROS, and no other group of parameters has it.
fn check_name(list: &str, name: &str, parameters: &Parameters) -> Result<(), String> {
    let is_word = name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    if !is_word {
        return Err(format!(
            "parameter '{list}' has the name '{name}': letters, digits and _ are allowed, a letter first"
        ));
    }
    let taken: BTreeSet<&str> = parameters.names().filter_map(|known| known.split('.').next()).collect();
    if taken.contains(name) {
        return Err(format!(
            "parameter '{list}' has the name '{name}', which other parameters have: choose another one"
        ));
    }
    Ok(())
}

/// Every parameter of the groups that have a name of the user's, for the documents: sensors, and sources of odometry.
pub const NAMED_SPECS: [(&str, &[Spec]); 2] =
    [("sensors", SensorSettings::SPECS), ("odometry.fallbacks", FallbackSettings::SPECS)];

#[cfg(test)]
mod tests {
    use super::*;
    use r2r::ParameterValue;

    fn declared(names: &[&str], overrides: &Overrides) -> Result<Vec<Named<SensorSettings>>, ParameterError> {
        let mut parameters = Parameters::default();
        parameters.declare(&TagSettings::default(), TagSettings::SPECS, overrides)?;
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        named(&mut parameters, overrides, ("sensors", &names, 3))
    }

    #[test]
    fn each_name_has_parameters_of_its_own() {
        let mut overrides = Overrides::new();
        overrides.insert("rear.range_std_m".into(), ParameterValue::Double(0.3));
        overrides.insert("rear.yaw_rad".into(), ParameterValue::Integer(3));
        let found = declared(&["front", "", "rear"], &overrides).unwrap();
        let shown: Vec<_> =
            found.iter().map(|n| (n.name.as_str(), n.settings.range_std_m, n.settings.yaw_rad, n.is_placed)).collect();
        assert_eq!(shown, [("front", 0.05, 0.0, false), ("rear", 0.3, 3.0, true)]);
        overrides.insert("rear.kind".into(), ParameterValue::String("smell".into()));
        let error = declared(&["rear"], &overrides).unwrap_err().to_string();
        assert!(error.contains("'rear.kind' is \"smell\""), "{error}");
    }

    #[test]
    fn names_that_cannot_be_used_are_refused() {
        let refused = |names: &[&str]| declared(names, &Overrides::new()).unwrap_err().to_string();
        assert!(refused(&["left lidar"]).contains("'left lidar'"));
        assert!(refused(&["0"]).contains("a letter first"));
        assert!(refused(&["size_m"]).contains("choose another one"));
        assert!(refused(&["front", "front"]).contains("'front', which other parameters have"));
        assert!(refused(&["a", "b", "c", "d"]).contains("has 4 names; at most 3"));
    }
}
