//! The feature sensors: what each sends, and where it sits.

use super::message::FeaturesOf;
use super::settings::{FeaturesMessage, Named, SensorSettings};
use lienav_io::convert::{
    DetectionWords, Extrinsics, Frame, Origin, Pinhole, Refusal, TagCamera, april_tags, check_frame, detections,
    features_from, pose_array,
};
use lienav_io::messages::CameraInfo;
use lienav_io::transforms::StaticTransforms;
use lienav_lie::Se2;
use lienav_slam::{Bearing, MeasurementKind, Position, Range, RangeBearing, Scan, Sensor, Slam, StereoBearings};

/// The kinds that a cloud can be of.
const KINDS: [MeasurementKind; 5] = [
    MeasurementKind::RelativePosition,
    MeasurementKind::RangeBearing,
    MeasurementKind::StereoBearings,
    MeasurementKind::Range,
    MeasurementKind::Bearing,
];

/// A sensor of the node.
#[derive(Clone, Debug)]
pub struct SensorInput {
    /// Its topic, before remapping.
    pub topic: String,
    /// The type of its messages.
    pub message: FeaturesMessage,
    /// The kind that counts where a cloud has the fields of several; `None` for that of the filter's configuration.
    kind: Option<MeasurementKind>,
    /// Where it sits, if the user has said so.
    stated: Option<Se2>,
    /// Nobody says where anything sits, and nobody will: a robot without `/tf_static`.
    pub is_unstated: bool,
    /// The frame of its first message.
    frame: Option<String>,
    extrinsics: Option<Extrinsics>,
    /// The camera whose images tags are found in, if that has been told.
    camera: Option<Pinhole>,
    /// For each of [`KINDS`], the filter's number for it.
    sensors: [MeasurementKind; 5],
    /// What it measures, for a filter that has not heard of it.
    noise: Option<SensorSettings>,
}

/// The features of a message, and what somebody should know about where the sensor sits.
#[derive(Debug)]
pub struct Seen {
    /// The features, of a kind that the filter knows.
    pub features: Scan,
    /// Where the sensor sits, if that is new.
    pub placed: Option<Placed>,
}

/// What is said about where a sensor sits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Placed {
    /// Somebody has told.
    Stated(String),
    /// Nobody has.
    Assumed(String),
}

impl SensorInput {
    /// That of `features`, which the filter's configuration describes. It has a stated place if the user has given one.
    pub fn main(message: FeaturesMessage, stated: Option<Se2>) -> Self {
        Self {
            topic: "features".into(),
            message,
            kind: None,
            stated,
            is_unstated: false,
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
            is_unstated: false,
            frame: None,
            extrinsics: None,
            camera: None,
            sensors,
            noise: Some(settings.clone()),
        }
    }

    /// What a filter has to have for this sensor, in the order of its numbers.
    pub fn measurements(&self) -> Vec<Sensor> {
        let Some(noise) = &self.noise else { return Vec::new() };
        let SensorSettings { position_std_m, range_std_m, bearing_std_rad, .. } = *noise;
        let SensorSettings { baseline_m, min_range_m, max_range_m, late_probability, late_max_m, .. } = *noise;
        let range = Range { std_m: range_std_m, min_range_m, max_range_m, late_probability, late_max_m };
        let mount = Se2::identity();
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

    /// The features of a message. `expected` are the frames that it may be in where the place is stated.
    ///
    /// # Errors
    /// Why it cannot be used.
    pub fn read(
        &mut self,
        message: &FeaturesOf,
        (words, tags): (&DetectionWords, &TagCamera),
        slam: &mut Slam,
        place: (&str, &StaticTransforms),
        expected: &[Frame<'_>],
    ) -> Result<Seen, Refusal> {
        let before = self.extrinsics;
        let (extrinsics, placed) = self.extrinsics(&message.header().frame_id, place, expected)?;
        let preferred = self.kind.unwrap_or(slam.config().sensor.kind);
        let features = match message {
            FeaturesOf::Cloud(message) => features_from(message, preferred, &extrinsics),
            FeaturesOf::Poses(message) => pose_array(message, &extrinsics),
            FeaturesOf::Detections(message) => detections(message, &extrinsics, words),
            FeaturesOf::AprilTags(message) => {
                let unknown = || Refusal::NoCameraInfo { topic: self.camera_topic().unwrap_or_default() };
                let camera = self.camera.ok_or_else(unknown);
                camera.and_then(|camera| april_tags(message, &extrinsics, (tags, &camera)))
            }
        };
        if features.is_err() {
            // Where it sits is said with the first message that is used.
            self.extrinsics = before;
        }
        Ok(self.taken(features?, &extrinsics, placed, slam))
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

    /// Where the sensor sits whose message is in `frame`: as stated, else as `/tf_static` says. It has one frame.
    fn extrinsics(
        &mut self,
        frame: &str,
        (base, tree): (&str, &StaticTransforms),
        expected: &[Frame<'_>],
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
        if pose.is_none()
            && self.is_unstated
            && !expected.is_empty()
            && check_frame("frame_id", frame, expected).is_ok()
        {
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

    /// The same features under the filter's number for them; the filter is told where the sensor sits, if it does not
    /// know yet.
    fn taken(&self, mut features: Scan, extrinsics: &Extrinsics, placed: Option<Placed>, slam: &mut Slam) -> Seen {
        if let Some(k) = KINDS.iter().position(|kind| *kind == features.kind) {
            features.kind = self.sensors[k];
        }
        if slam.mount(features.kind).is_some_and(|mount| mount != extrinsics.mount) {
            // Transforms are finite, and the filter has the sensor.
            let _ = slam.place_sensor(features.kind, extrinsics.mount);
        }
        Seen { features, placed }
    }
}

fn shown(place: &Se2) -> String {
    format!("x {:.3} y {:.3} yaw {:.3}", place.p.x, place.p.y, place.theta)
}

#[cfg(test)]
mod tests {
    use super::*;
    use lienav_base::stamp::Stamp;
    use lienav_io::convert::{features_message, header};
    use lienav_io::messages::TransformStamped;
    use lienav_slam::{Config, Measurement};

    const EXPECTED: [Frame<'static>; 1] = [Frame::parameter("sensor_frame", "feature_sensor")];

    fn cloud(frame: &str) -> FeaturesOf {
        let raw_measurements = vec![Measurement::new(Some(3), [4.0, 0.1])];
        let features =
            Scan { stamp: Stamp::default(), kind: MeasurementKind::RangeBearing, measurements: raw_measurements };
        FeaturesOf::Cloud(Box::new(features_message(&features, frame)))
    }

    /// What a cloud does not need.
    fn other() -> (&'static DetectionWords, &'static TagCamera) {
        static WORDS: DetectionWords = DetectionWords { classes: Vec::new(), identity: None, min_score: 0.0 };
        static TAGS: TagCamera = TagCamera {
            size_m: 0.16,
            focal_px: 600.0,
            pixel_std: 0.5,
            scale_std: 0.01,
            max_range_m: 10.0,
            max_view_angle_rad: 1.3,
        };
        (&WORDS, &TAGS)
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

    #[test]
    fn without_a_stated_place_a_cloud_waits_for_its_transform_and_then_keeps_its_frame() {
        let mut slam = Slam::new(Config::default()).unwrap();
        let mut sensor = SensorInput::main(FeaturesMessage::Cloud, None);
        let none = StaticTransforms::default();
        let refusal = sensor.read(&cloud("lidar"), other(), &mut slam, ("base", &none), &EXPECTED).unwrap_err();
        assert_eq!(refusal.word(), "no_transform");
        assert!(refusal.to_string().contains("'base' to 'lidar'") && refusal.to_string().contains("sensor.x_m"));
        let tree = tree("lidar", 0.3);
        let seen = sensor.read(&cloud("lidar"), other(), &mut slam, ("base", &tree), &EXPECTED).unwrap();
        assert_eq!(
            seen.placed.unwrap(),
            Placed::Stated("features sits at x 0.300 y 0.000 yaw 0.000, as /tf_static says (base -> lidar)".into())
        );
        assert_eq!(
            (seen.features.kind, slam.mount(MeasurementKind::RangeBearing)),
            (MeasurementKind::RangeBearing, Some(Se2::new(0.3, 0.0, 0.0)))
        );
        assert!(sensor.read(&cloud("lidar"), other(), &mut slam, ("base", &tree), &EXPECTED).unwrap().placed.is_none());
        let refusal = sensor.read(&cloud("base"), other(), &mut slam, ("base", &tree), &EXPECTED).unwrap_err();
        assert_eq!(refusal.word(), "unknown_frame", "two sensors on one topic would be taken for one");
        // A filter that was made anew is told again.
        let mut fresh = Slam::new(Config::default()).unwrap();
        sensor.read(&cloud("lidar"), other(), &mut fresh, ("base", &tree), &EXPECTED).unwrap();
        assert_eq!(fresh.mount(MeasurementKind::RangeBearing), Some(Se2::new(0.3, 0.0, 0.0)));
    }

    #[test]
    fn on_a_robot_without_transforms_a_sensor_in_its_own_frame_sits_at_the_base_until_somebody_tells() {
        let mut slam = Slam::new(Config::default()).unwrap();
        let mut sensor = SensorInput::main(FeaturesMessage::Cloud, None);
        let none = StaticTransforms::default();
        sensor.is_unstated = true;
        let refusal = sensor.read(&cloud("lidar"), other(), &mut slam, ("base", &none), &EXPECTED).unwrap_err();
        assert_eq!(refusal.word(), "no_transform", "a frame that nobody has named is no guess");
        let seen = sensor.read(&cloud("feature_sensor"), other(), &mut slam, ("base", &none), &EXPECTED).unwrap();
        let Some(Placed::Assumed(said)) = seen.placed else { panic!("{:?}", seen.placed) };
        assert!(said.contains("/tf_static") && said.contains("sensor.x_m"));
        assert_eq!(slam.mount(MeasurementKind::RangeBearing), Some(Se2::identity()));
        sensor.is_unstated = false;
        let tree = tree("feature_sensor", 0.3);
        let seen = sensor.read(&cloud("feature_sensor"), other(), &mut slam, ("base", &tree), &EXPECTED).unwrap();
        assert!(matches!(seen.placed, Some(Placed::Stated(_))));
        assert_eq!(slam.mount(MeasurementKind::RangeBearing), Some(Se2::new(0.3, 0.0, 0.0)));
    }

    #[test]
    fn messages_in_the_frame_of_the_robot_need_no_transform_and_nobody_claims_one() {
        let mut slam = Slam::new(Config::default()).unwrap();
        let mut sensor = SensorInput::main(FeaturesMessage::Cloud, None);
        let none = StaticTransforms::default();
        let seen = sensor.read(&cloud("base"), other(), &mut slam, ("base", &none), &EXPECTED).unwrap();
        assert_eq!(seen.placed, Some(Placed::Stated("features sits at base, the frame of its messages".into())));
    }

    #[test]
    fn a_stated_place_overrides_transforms() {
        let mut slam = Slam::new(Config::default()).unwrap();
        let place = Se2::new(0.1, 0.2, 0.3);
        let mut sensor = SensorInput::main(FeaturesMessage::Cloud, Some(place));
        let tree = tree("feature_sensor", 0.3);
        let seen = sensor.read(&cloud("feature_sensor"), other(), &mut slam, ("base", &tree), &EXPECTED).unwrap();
        let told = "features sits at x 0.100 y 0.200 yaw 0.300, as its parameters say";
        assert_eq!(seen.placed.unwrap(), Placed::Stated(told.into()));
        assert_eq!(slam.mount(MeasurementKind::RangeBearing), Some(place));
        let refusal = sensor.read(&cloud("lidar"), other(), &mut slam, ("base", &tree), &EXPECTED).unwrap_err();
        assert_eq!(refusal.word(), "unknown_frame");
    }

    #[test]
    fn a_named_sensor_has_numbers_of_its_own() {
        let mut slam = Slam::new(Config::default()).unwrap();
        let settings = SensorSettings { x_m: 1.0, ..SensorSettings::default() };
        let named = Named { name: "rear".into(), settings, is_placed: true };
        let mut sensor = SensorInput::named(&named, 0);
        for measurement in sensor.measurements() {
            slam.add_sensor(measurement).unwrap();
        }
        let none = StaticTransforms::default();
        let seen = sensor.read(&cloud("anything"), other(), &mut slam, ("base", &none), &[]).unwrap();
        assert_eq!((sensor.topic.as_str(), seen.features.kind), ("rear/features", MeasurementKind::Added(1)));
        assert_eq!(slam.mount(MeasurementKind::Added(1)), Some(Se2::new(1.0, 0.0, 0.0)));
        assert_eq!(slam.mount(MeasurementKind::Added(9)), None);
    }
}
