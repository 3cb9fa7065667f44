//! The feature sensors: what each sends, and where it sits.

use super::message::FeaturesOf;
use super::settings::{FeaturesMessage, Named, SensorSettings};
use crate::convert::{
    DetectionWords, Extrinsics, Frame, Origin, Pinhole, Refusal, TagCamera, TagSizes, april_tags, check_frame,
    detections, features_from, pose_array,
};
use crate::messages::CameraInfo;
use crate::transforms::StaticTransforms;
use lienav_lie::Se2;
use lienav_slam::{Bearing, MeasurementKind, Position, Range, RangeBearing, Scan, Sensor, StereoBearings};

/// The kinds of measurements that a message can have.
const KINDS: [MeasurementKind; 5] = [
    MeasurementKind::RelativePosition,
    MeasurementKind::RangeBearing,
    MeasurementKind::StereoBearings,
    MeasurementKind::Range,
    MeasurementKind::Bearing,
];

/// A feature sensor.
#[derive(Clone, Debug)]
pub struct SensorInput {
    /// Its topic, before remapping.
    pub topic: String,
    /// The type of its messages.
    pub message: FeaturesMessage,
    /// The kind that counts where a point cloud has the fields of several; `None` for that of the filter's settings.
    kind: Option<MeasurementKind>,
    /// Its mount, if parameters state it.
    pub stated: Option<Se2>,
    /// The frame of its first message.
    frame: Option<String>,
    extrinsics: Option<Extrinsics>,
    /// The camera whose images tags are found in, once its description has come.
    camera: Option<Pinhole>,
    /// For each of [`KINDS`], the filter's number for it.
    sensors: [MeasurementKind; 5],
    /// Its parameters, for a filter that does not have the sensor yet.
    noise: Option<SensorSettings>,
}

/// The measurements of a message, and the mount of the sensor.
#[derive(Debug)]
pub struct Seen {
    /// The features, of a kind that the filter knows.
    pub features: Scan,
    /// The mount of the sensor in the base frame, which the filter has to have.
    pub mount: Se2,
    /// The mount as a sentence, if it is new.
    pub placed: Option<Placed>,
}

/// A sentence about the mount of a sensor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Placed {
    /// Parameters or transforms state it.
    Stated(String),
    /// Nothing states it.
    Assumed(String),
}

/// What is known of the place of a sensor beside its own parameters.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    /// The frame of the robot.
    pub base: &'a str,
    /// The static transforms so far.
    pub tree: &'a StaticTransforms,
    /// The frames that a message may be in if the mount is stated by parameters.
    pub expected: &'a [Frame<'a>],
    /// No static transform has come, and none is to be expected: the sensor is taken to sit at the base if its frame is
    /// one of the expected ones.
    pub is_unstated: bool,
}

impl Placed {
    /// The sentence.
    pub fn sentence(self) -> String {
        match self {
            Self::Stated(sentence) | Self::Assumed(sentence) => sentence,
        }
    }
}

impl SensorInput {
    /// That of `features`, which the filter's configuration describes. It has a stated place if the user has given one.
    pub fn main(message: FeaturesMessage, stated: Option<Se2>) -> Self {
        Self {
            topic: "features".into(),
            message,
            kind: None,
            stated,
            frame: None,
            extrinsics: None,
            camera: None,
            sensors: KINDS,
            noise: None,
        }
    }

    /// One that the user has named; `first` is how many sensors were added to the filter before.
    pub fn named(named: &Named<SensorSettings>, first: usize) -> Self {
        let Named { name, settings, is_placed } = named;
        let topic = if settings.topic.is_empty() { format!("{name}/features") } else { settings.topic.clone() };
        let place = Se2::new(settings.x_m, settings.y_m, settings.yaw_rad);
        // There are far fewer than a filter can have.
        let sensors = [0, 1, 2, 3, 4].map(|k| MeasurementKind::added(first + k).unwrap_or_default());
        Self {
            topic,
            message: settings.message,
            kind: Some(settings.kind),
            stated: is_placed.then_some(place),
            frame: None,
            extrinsics: None,
            camera: None,
            sensors,
            noise: Some(settings.clone()),
        }
    }

    /// What a filter has to have for this sensor, in the order of its numbers; nothing for that of `features`.
    pub fn measurements(&self, mount: Se2) -> Vec<Sensor> {
        let Some(noise) = &self.noise else { return Vec::new() };
        let SensorSettings { position_std_m, range_std_m, bearing_std_rad, .. } = *noise;
        let SensorSettings { baseline_m, min_range_m, max_range_m, late_probability, late_max_m, .. } = *noise;
        let range = Range { std_m: range_std_m, min_range_m, max_range_m, late_probability, late_max_m };
        vec![
            Sensor::of_landmarks(Position { std_m: position_std_m, min_range_m, max_range_m }, mount),
            Sensor::of_landmarks(
                RangeBearing { range_std_m, bearing_std_rad, min_range_m, max_range_m, ..RangeBearing::default() },
                mount,
            ),
            Sensor::of_landmarks(StereoBearings { baseline_m, bearing_std_rad, min_range_m, max_range_m }, mount),
            Sensor::of_landmarks(range, mount),
            Sensor::of_landmarks(Bearing { std_rad: bearing_std_rad, min_range_m, max_range_m }, mount),
        ]
    }

    /// The measurements of a message. `preferred` decides where the fields of a point cloud are those of several kinds
    /// and the sensor has no kind of its own.
    ///
    /// # Errors
    /// Why it cannot be used.
    pub fn read(
        &mut self,
        message: &FeaturesOf,
        (words, tags, sizes): (&DetectionWords, &TagCamera, &TagSizes),
        preferred: MeasurementKind,
        place: &Place<'_>,
    ) -> Result<Seen, Refusal> {
        let before = self.extrinsics;
        let (extrinsics, placed) = self.extrinsics(&message.header().frame_id, place)?;
        let preferred = self.kind.unwrap_or(preferred);
        let features = match message {
            FeaturesOf::PointCloud(message) => features_from(message, preferred, &extrinsics),
            FeaturesOf::Poses(message) => pose_array(message, &extrinsics),
            FeaturesOf::Detections(message) => detections(message, &extrinsics, words),
            FeaturesOf::AprilTags(message) => {
                let unknown = || Refusal::NoCameraInfo { topic: self.camera_topic().unwrap_or_default() };
                let camera = self.camera.ok_or_else(unknown);
                camera.and_then(|camera| april_tags(message, &extrinsics, (tags, sizes, &camera)))
            }
        };
        if features.is_err() {
            // The extrinsics are reported with the first message that is used.
            self.extrinsics = before;
        }
        let mut features = features?;
        if let Some((_, own)) = KINDS.iter().zip(self.sensors).find(|(kind, _)| **kind == features.kind) {
            features.kind = own;
        }
        Ok(Seen { features, mount: extrinsics.mount, placed })
    }

    /// The topic of the camera's description, beside that of the features; `None` where none is needed.
    pub fn camera_topic(&self) -> Option<String> {
        let beside = self.topic.rsplit_once('/').map_or("camera_info".into(), |(of, _)| format!("{of}/camera_info"));
        (self.message == FeaturesMessage::AprilTags).then_some(beside)
    }

    /// Takes the camera's description; without a focal length it says nothing.
    pub fn take_camera(&mut self, info: &CameraInfo) {
        self.camera = Pinhole::of(info).or(self.camera);
    }

    /// The extrinsics of the sensor whose message is in `frame`: as stated, else as `/tf_static` says. A sensor has one
    /// frame.
    fn extrinsics(
        &mut self,
        frame: &str,
        &Place { base, tree, expected, is_unstated }: &Place<'_>,
    ) -> Result<(Extrinsics, Option<Placed>), Refusal> {
        if let Some(place) = self.stated {
            check_frame("frame_id", frame, expected)?;
            let said = || format!("{} sits at {}, as its parameters say", self.topic, shown(&place));
            let placed = self.extrinsics.is_none().then(|| Placed::Stated(said()));
            let extrinsics = Extrinsics::level_at(place);
            self.extrinsics = Some(extrinsics);
            return Ok((extrinsics, placed));
        }
        if let Some(first) = &self.frame {
            check_frame("frame_id", frame, &[Frame { name: first, origin: Origin::FirstMessage }])?;
        }
        let pose = tree.between(base, frame);
        if pose.is_none() && is_unstated && !expected.is_empty() && check_frame("frame_id", frame, expected).is_ok() {
            let extrinsics = Extrinsics::level_at(Se2::identity());
            let said = || {
                format!(
                    "{} is taken to sit at {base}: nothing comes on /tf_static, and no sensor.x_m, sensor.y_m or \
                     sensor.yaw_rad is given; say where it is in either way",
                    self.topic
                )
            };
            let placed = (self.extrinsics != Some(extrinsics)).then(|| Placed::Assumed(said()));
            self.extrinsics = Some(extrinsics);
            return Ok((extrinsics, placed));
        }
        let pose = pose.ok_or_else(|| Refusal::NoTransform {
            base: base.to_owned(),
            frame: frame.to_owned(),
            otherwise: "set x_m, y_m and yaw_rad of the sensor (sensor.x_m … for features)",
        })?;
        let extrinsics = Extrinsics::of(&pose);
        let is_new = self.extrinsics != Some(extrinsics);
        let over = if extrinsics.is_upside_down() { ", upside down" } else { "" };
        let said = || match frame.trim_start_matches('/') == base.trim_start_matches('/') {
            true => format!("{} sits at {base}, the frame of its messages", self.topic),
            false => {
                format!(
                    "{} sits at {}{over}, as /tf_static says ({base} -> {frame})",
                    self.topic,
                    shown(&extrinsics.mount)
                )
            }
        };
        let placed = is_new.then(|| Placed::Stated(said()));
        (self.frame, self.extrinsics) = (Some(frame.to_owned()), Some(extrinsics));
        Ok((extrinsics, placed))
    }
}

fn shown(place: &Se2) -> String {
    format!("x {:.3} y {:.3} yaw {:.3}", place.p.x, place.p.y, place.theta)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::convert::{features_message, header};
    use crate::messages::TransformStamped;
    use lienav_base::stamp::Stamp;
    use lienav_slam::Measurement;
    use std::sync::LazyLock;

    const EXPECTED: [Frame<'static>; 1] = [Frame::parameter("sensor_frame", "feature_sensor")];

    fn scan(frame: &str) -> FeaturesOf {
        let raw_measurements = vec![Measurement::new(Some(3), [4.0, 0.1])];
        let features =
            Scan { stamp: Stamp::default(), kind: MeasurementKind::RangeBearing, measurements: raw_measurements };
        FeaturesOf::PointCloud(Box::new(features_message(&features, frame)))
    }

    /// What a point cloud does not need.
    fn other() -> (&'static DetectionWords, &'static TagCamera, &'static TagSizes) {
        static SIZES: LazyLock<TagSizes> = LazyLock::new(TagSizes::default);
        static WORDS: DetectionWords = DetectionWords { classes: Vec::new(), identity: None, min_score: 0.0 };
        static TAGS: TagCamera = TagCamera {
            size_m: 0.16,
            focal_px: 600.0,
            pixel_std: 0.5,
            scale_std: 0.01,
            max_range_m: 10.0,
            max_view_angle_rad: 1.3,
        };
        (&WORDS, &TAGS, &SIZES)
    }

    fn tree(frame: &str, x: f64) -> StaticTransforms {
        let mut transform = TransformStamped {
            header: header(Stamp::default(), "base"),
            child_frame_id: frame.into(),
            ..Default::default()
        };
        (transform.transform.translation.x, transform.transform.rotation.w) = (x, 1.0);
        let mut tree = StaticTransforms::default();
        tree.insert(&transform).unwrap();
        tree
    }

    fn place<'a>(tree: &'a StaticTransforms, expected: &'a [Frame<'a>]) -> Place<'a> {
        Place { base: "base", tree, expected, is_unstated: false }
    }

    const KIND: MeasurementKind = MeasurementKind::RangeBearing;

    #[test]
    fn without_a_stated_place_a_scan_waits_for_its_transform_and_then_keeps_its_frame() {
        let mut sensor = SensorInput::main(FeaturesMessage::PointCloud, None);
        let none = StaticTransforms::default();
        let refusal = sensor.read(&scan("lidar"), other(), KIND, &place(&none, &EXPECTED)).unwrap_err();
        assert_eq!(refusal.word(), "no_transform");
        assert!(refusal.to_string().contains("'base' to 'lidar'") && refusal.to_string().contains("sensor.x_m"));
        let tree = tree("lidar", 0.3);
        let seen = sensor.read(&scan("lidar"), other(), KIND, &place(&tree, &EXPECTED)).unwrap();
        assert_eq!(
            seen.placed.unwrap(),
            Placed::Stated("features sits at x 0.300 y 0.000 yaw 0.000, as /tf_static says (base -> lidar)".into())
        );
        assert_eq!((seen.features.kind, seen.mount), (KIND, Se2::new(0.3, 0.0, 0.0)));
        assert!(sensor.read(&scan("lidar"), other(), KIND, &place(&tree, &EXPECTED)).unwrap().placed.is_none());
        let refusal = sensor.read(&scan("base"), other(), KIND, &place(&tree, &EXPECTED)).unwrap_err();
        assert_eq!(refusal.word(), "unknown_frame", "two sensors on one topic would be taken for one");
    }

    #[test]
    fn a_robot_without_static_transforms_has_its_sensor_at_the_base_if_its_frame_is_expected() {
        let mut sensor = SensorInput::main(FeaturesMessage::PointCloud, None);
        let none = StaticTransforms::default();
        let unstated = |expected| Place { is_unstated: true, ..place(&none, expected) };
        let refusal = sensor.read(&scan("lidar"), other(), KIND, &unstated(&EXPECTED)).unwrap_err();
        assert_eq!(refusal.word(), "no_transform");
        let seen = sensor.read(&scan("feature_sensor"), other(), KIND, &unstated(&EXPECTED)).unwrap();
        assert_eq!(seen.mount, Se2::identity());
        assert!(matches!(seen.placed, Some(Placed::Assumed(_))), "{seen:?}");
        assert!(sensor.read(&scan("feature_sensor"), other(), KIND, &unstated(&[])).is_err(), "of a named sensor");
    }

    #[test]
    fn messages_in_the_frame_of_the_robot_need_no_transform() {
        let mut sensor = SensorInput::main(FeaturesMessage::PointCloud, None);
        let none = StaticTransforms::default();
        let seen = sensor.read(&scan("base"), other(), KIND, &place(&none, &EXPECTED)).unwrap();
        assert_eq!(seen.placed, Some(Placed::Stated("features sits at base, the frame of its messages".into())));
    }

    #[test]
    fn a_stated_place_overrides_transforms() {
        let mount = Se2::new(0.1, 0.2, 0.3);
        let mut sensor = SensorInput::main(FeaturesMessage::PointCloud, Some(mount));
        let tree = tree("feature_sensor", 0.3);
        let seen = sensor.read(&scan("feature_sensor"), other(), KIND, &place(&tree, &EXPECTED)).unwrap();
        let said = "features sits at x 0.100 y 0.200 yaw 0.300, as its parameters say";
        assert_eq!((seen.placed.unwrap(), seen.mount), (Placed::Stated(said.into()), mount));
        let refusal = sensor.read(&scan("lidar"), other(), KIND, &place(&tree, &EXPECTED)).unwrap_err();
        assert_eq!(refusal.word(), "unknown_frame");
    }

    #[test]
    fn a_named_sensor_has_numbers_of_its_own() {
        let settings = SensorSettings { x_m: 1.0, ..SensorSettings::default() };
        let named = Named { name: "rear".into(), settings, is_placed: true };
        let mut sensor = SensorInput::named(&named, 0);
        assert_eq!(sensor.measurements(Se2::identity()).len(), KINDS.len());
        let none = StaticTransforms::default();
        let seen = sensor.read(&scan("anything"), other(), KIND, &place(&none, &[])).unwrap();
        assert_eq!((sensor.topic.as_str(), seen.features.kind), ("rear/features", MeasurementKind::Added(1)));
        assert_eq!(seen.mount, Se2::new(1.0, 0.0, 0.0));
    }
}
