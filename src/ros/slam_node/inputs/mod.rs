//! What `slam_node` is fed with: which topics, in which frames, and how these become input of the filter.
//!
//! - [`settings`]: the parameters; sensors and sources of odometry have names that the user gives;
//! - [`sensors`]: clouds and poses of features, of sensors that sit where `/tf_static` or a parameter says;
//! - [`tags`]: transforms of tags on `/tf`;
//! - [`sources`]: which of several sources of odometry counts.
//!
//! A further type of message belongs beside `cloud` and `poses` of [`sensors`]: a plain struct in
//! [`lienav_io::messages`], a conversion in [`lienav_io::convert`] that takes a
//! [`Extrinsics`](lienav_io::convert::Seat), and a word of [`FeaturesMessage`]. Where not every workspace has its
//! package, that is a cargo feature.

mod message;
mod sensors;
mod settings;
mod sources;
mod tags;

pub use message::{FeaturesOf, OdometryOf};
pub use settings::{
    DetectionSettings, FallbackSettings, FeaturesMessage, MOST_FALLBACKS, MOST_SENSORS, NAMED_SPECS, OdometryMessage,
    OdometrySettings, SensorSettings, TagSettings,
};
pub use sources::STANDBY;

use super::Settings;
use super::topic::Topic;
use crate::ros::diagnostics::{Received, Values};
use crate::ros::parameters::{Overrides, ParameterError, Parameters, is_placed};
use lienav_base::stamp::Stamp;
use lienav_io::convert::{self, DetectionWords, Frame, Origin, Refusal, TagPattern};
use lienav_io::messages::{CameraInfo, TfMessage};
use lienav_io::transforms::StaticTransforms;
use lienav_lie::Se2;
use lienav_slam::{Config, MeasurementKind, Odometry, Position, Sensor, Slam, TooManySensors};
use nalgebra::Isometry3;
pub use sensors::Placed;
use sensors::{Seen, SensorInput};
use settings::{Named, named};
use sources::Sources;
use std::time::{Duration, Instant};
use tags::{MOST_PARTS, TagCloud, Tags};

/// A source of odometry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OdometrySource {
    /// Its topic, before remapping.
    pub topic: String,
    /// The type of its messages.
    pub message: OdometryMessage,
}

/// All inputs, and what is known of them.
pub struct Inputs {
    sensors: Vec<SensorInput>,
    received: Vec<Received>,
    odometry: Vec<OdometrySource>,
    sources: Sources,
    tags: Tags,
    detections: DetectionWords,
    tags_received: Received,
    /// The filter's number of the first part of tags.
    first_part: usize,
    tree: StaticTransforms,
    /// Since when transforms are listened to.
    since: Instant,
}

/// A robot that has said nothing on `/tf_static` for so long has nothing to say: what is latched there comes with the
/// discovery of its publisher.
const SILENT: Duration = Duration::from_secs(1);

impl Inputs {
    /// Declares and reads the parameters of what the user has named.
    ///
    /// # Errors
    /// A parameter that cannot be used.
    pub fn declare(parameters: &mut Parameters, overrides: &Overrides) -> Result<Self, ParameterError> {
        let settings: Settings = parameters.read(super::SPECS)?;
        let config: Config = parameters.read(lienav_slam::SPECS)?;
        let list = ("odometry.fallbacks", settings.odometry.fallbacks.as_slice(), MOST_FALLBACKS);
        let fallbacks: Vec<Named<FallbackSettings>> = named(parameters, overrides, list)?;
        let list = ("sensors", settings.sensors.as_slice(), MOST_SENSORS);
        let named_sensors: Vec<Named<SensorSettings>> = named(parameters, overrides, list)?;
        let mut odometry = vec![OdometrySource { topic: "odom".into(), message: settings.odometry.message }];
        odometry.extend(fallbacks.into_iter().map(
            |Named { name, settings: FallbackSettings { topic, message }, .. }| OdometrySource {
                topic: if topic.is_empty() { format!("{name}/odom") } else { topic },
                message,
            },
        ));
        let place = Se2::new(config.sensor.x_m, config.sensor.y_m, config.sensor.yaw_rad);
        let stated = is_placed("sensor", overrides).then_some(place);
        settings.features_message.check_built("features_message")?;
        let mut sensors = vec![SensorInput::main(settings.features_message, stated)];
        let mut added = 0;
        for named in &named_sensors {
            named.settings.message.check_built(&format!("{}.message", named.name))?;
            let sensor = SensorInput::named(named, added);
            added += sensor.measurements().len();
            sensors.push(sensor);
        }
        let patterns = settings.tags.frame_patterns.iter().filter(|text| !text.is_empty()).map(|text| {
            text.parse::<TagPattern>().map_err(|e| ParameterError::Unusable(format!("tags.frame_patterns: {e}")))
        });
        Ok(Self {
            received: vec![Received::default(); sensors.len()],
            sensors,
            sources: Sources::new(odometry.len()),
            odometry,
            tags: Tags::new(patterns.collect::<Result<_, _>>()?),
            detections: settings.detections.words()?,
            tags_received: Received::default(),
            first_part: added,
            tree: StaticTransforms::default(),
            since: Instant::now(),
        })
    }

    /// Gives a filter the sensors that it does not have by its configuration; a filter that has them is left alone.
    ///
    /// # Errors
    /// There are too many, which the bounds on their number exclude.
    pub fn equip(&self, slam: &mut Slam) -> Result<(), TooManySensors> {
        let parts = if self.tags.are_wanted() { MOST_PARTS } else { 0 };
        let Some(last) = (self.first_part + parts).checked_sub(1) else { return Ok(()) };
        if slam.mount(MeasurementKind::added(last)?).is_some() {
            return Ok(());
        }
        let tags = (0..parts).map(|_| Sensor::of_landmarks(TAG_ON_BASE, Se2::identity()));
        let all = self.sensors.iter().flat_map(SensorInput::measurements).chain(tags);
        for (k, sensor) in all.enumerate() {
            if slam.mount(MeasurementKind::added(k)?).is_none() {
                slam.add_sensor(sensor)?;
            }
        }
        Ok(())
    }

    /// The sources of odometry, in the order of their priority.
    pub fn odometry_sources(&self) -> &[OdometrySource] {
        &self.odometry
    }

    /// Topic and type of the messages of each sensor.
    pub fn feature_topics(&self) -> impl Iterator<Item = (&str, FeaturesMessage)> {
        self.sensors.iter().map(|sensor| (sensor.topic.as_str(), sensor.message))
    }

    /// The topics that the user has named, or asked for, beside `odom` and `features`: messages are to come there.
    pub fn expected(&self, settings: &Settings) -> impl Iterator<Item = Topic> + use<> {
        let outside = [(Topic::AbsolutePose, settings.gnss.use_absolute_pose), (Topic::Fix, settings.gnss.use_fix)];
        let named = 1..u8::try_from(self.sensors.len()).unwrap_or(u8::MAX);
        let outside = outside.into_iter().filter(|(_, is_used)| *is_used).map(|(topic, _)| topic);
        named.map(Topic::Scan).chain(outside)
    }

    /// Whether tags are looked for on `/tf`.
    pub fn wants_tags(&self) -> bool {
        self.tags.are_wanted()
    }

    /// The name of a topic, before remapping.
    pub fn name(&self, topic: Topic) -> &str {
        match topic {
            Topic::Odometry(k) => self.odometry.get(usize::from(k)).map_or("odom", |source| &source.topic),
            Topic::Scan(k) => self.sensors.get(usize::from(k)).map_or("features", |sensor| &sensor.topic),
            Topic::InitialPose => "initialpose",
            Topic::Imu => "imu",
            Topic::AbsolutePose => "absolute_pose",
            Topic::Fix => "fix",
            Topic::CameraInfo(_) => "camera_info",
            Topic::StaticTransforms => "/tf_static",
            Topic::Transforms => "/tf",
        }
    }

    /// Time starts anew.
    pub fn restart(&mut self) {
        self.sources.restart();
        self.tags.restart();
    }

    /// Takes static transforms. Gives what cannot be used of them.
    pub fn take_static(&mut self, message: &TfMessage) -> Vec<Refusal> {
        message.transforms.iter().filter_map(|transform| self.tree.insert(transform).err()).collect()
    }

    /// The number of each sensor that needs the description of its camera, and the topic of that.
    pub fn camera_topics(&self) -> impl Iterator<Item = (u8, String)> {
        (0..).zip(&self.sensors).filter_map(|(k, sensor)| Some((k, sensor.camera_topic()?)))
    }

    /// Takes what the camera of this sensor says of itself.
    pub fn take_camera(&mut self, sensor: u8, info: &CameraInfo) {
        if let Some(input) = self.sensors.get_mut(usize::from(sensor)) {
            input.take_camera(info);
        }
    }

    /// A message of features came from this sensor.
    pub fn features_came(&mut self, sensor: u8) {
        if let Some(received) = self.received.get_mut(usize::from(sensor)) {
            received.received += 1;
        }
    }

    /// The filter has taken the features of this sensor.
    pub fn features_used(&mut self, sensor: u8) {
        if let Some(received) = self.received.get_mut(usize::from(sensor)) {
            received.used += 1;
        }
    }

    /// The features of a message of the sensor with this number.
    ///
    /// # Errors
    /// Why it cannot be used.
    pub fn features(
        &mut self,
        sensor: u8,
        message: &FeaturesOf,
        slam: &mut Slam,
        settings: &Settings,
    ) -> Result<Seen, Refusal> {
        // Only the sensor of `features` has a frame that a parameter names.
        let expected: &[Frame<'_>] = if sensor == 0 { &settings.sensor() } else { &[] };
        let base = (settings.base_frame.as_str(), &self.tree);
        let is_unstated = self.tree.is_empty() && self.since.elapsed() > SILENT;
        let Some(input) = self.sensors.get_mut(usize::from(sensor)) else {
            return Err(unknown_sensor(settings));
        };
        input.is_unstated = is_unstated;
        input.read(message, (&self.detections, &settings.tags.camera()), slam, base, expected)
    }

    /// Odometry of the source with this number, and the pose of the base in the odometry's frame: of `odom` alone, for
    /// each source has a frame of its own that drifts.
    ///
    /// # Errors
    /// Why it cannot be used.
    pub fn odometry(
        &self,
        source: u8,
        message: &OdometryOf,
        settings: &Settings,
    ) -> Result<(Odometry, Option<Se2>), Refusal> {
        let is_main = source == 0;
        match message {
            OdometryOf::Odometry(message) => {
                let odom = if is_main { vec![settings.odom()] } else { Vec::new() };
                let (input, base_in_odom) = match self.on_robot("child_frame_id", &message.child_frame_id, settings)? {
                    None => convert::odometry(message, &odom, &[settings.base()])?,
                    Some(pose) => convert::placed_odometry(message, &odom, &pose)?,
                };
                Ok((input, base_in_odom.filter(|_| is_main)))
            }
            OdometryOf::Twist(message) => {
                let pose = self.on_robot("frame_id", &message.header.frame_id, settings)?;
                Ok((convert::twist(message, &pose.unwrap_or_default())?, None))
            }
        }
    }

    /// Where a frame of the robot is in its base; `None` for the base itself.
    fn on_robot(
        &self,
        field: &'static str,
        frame: &str,
        settings: &Settings,
    ) -> Result<Option<Isometry3<f64>>, Refusal> {
        let base = Frame { origin: Origin::OnRobot("base_frame"), ..settings.base() };
        match convert::check_frame(field, frame, &[base]) {
            Ok(()) => Ok(None),
            Err(unknown) => self.tree.between(&settings.base_frame, frame).map(Some).ok_or(unknown),
        }
    }

    /// Whether messages of this source have a pose in the frame of the odometry.
    pub fn has_pose(&self, source: u8) -> bool {
        source == 0 && self.odometry.first().is_some_and(|source| source.message == OdometryMessage::Odometry)
    }

    /// Whether odometry of this source with this stamp counts.
    pub fn counts(&self, source: u8, stamp: Stamp, settings: &Settings, config: &Config) -> bool {
        self.sources.counts(usize::from(source), stamp, settings.odometry.timeout_s, config.timing.jump_back_s)
    }

    /// Odometry of this source was used; gives a sentence where that was another source before.
    pub fn odometry_used(&mut self, source: u8, stamp: Stamp) -> Option<String> {
        let switch = self.sources.used(usize::from(source), stamp)?;
        let name = |k: usize| self.odometry.get(k).map_or("odom", |source| &source.topic);
        let (from, to) = (name(switch.from), name(switch.to));
        Some(if switch.to < switch.from {
            format!("odometry comes from {to} again, no longer from {from}")
        } else {
            format!("odometry comes from {to}, since {from} is silent (odometry.timeout_s)")
        })
    }

    /// The clouds of tags in a message of `/tf`, under the filter's numbers; beside them, why some cannot be used.
    pub fn tags(&mut self, message: &TfMessage, settings: &Settings) -> (Vec<TagsSeen>, Vec<Refusal>) {
        let (clouds, refusals) = self.tags.clouds(message, (&settings.base_frame, &self.tree), &settings.tags);
        // Tags that are too far away, or that came before, are no fault and no input.
        self.tags_received.received += u64::from(!clouds.is_empty() || !refusals.is_empty());
        let numbered = |cloud: TagCloud| {
            let part = MeasurementKind::added(self.first_part + cloud.part.min(MOST_PARTS - 1)).ok()?;
            Some((part, cloud))
        };
        (clouds.into_iter().filter_map(numbered).collect(), refusals)
    }

    /// A sentence, once, where no frame on `/tf` fits a pattern of tags.
    pub fn tags_missed(&mut self, settings: &Settings) -> Option<String> {
        let own = [&settings.map_frame, &settings.odom_frame, &settings.base_frame].map(String::as_str);
        self.tags.misses(Instant::now(), &own, &settings.tags.frame_patterns)
    }

    /// The filter has taken a cloud of tags.
    pub fn tags_used(&mut self) {
        self.tags_received.used += 1;
    }

    /// The topic that odometry comes from in the place of a better one.
    pub fn standing_in(&self) -> Option<&str> {
        self.sources.active().filter(|&k| k > 0).and_then(|k| self.odometry.get(k)).map(|source| source.topic.as_str())
    }

    /// What is worth saying of inputs beside `odom` and `features`; nothing where there are no others.
    pub fn say(&self, values: &mut Values) {
        for (sensor, received) in self.sensors.iter().zip(&self.received).skip(1) {
            values.received(&sensor.topic, *received);
        }
        if self.tags.are_wanted() {
            values.received("tags", self.tags_received);
        }
        if self.odometry.len() > 1 {
            let active = self.sources.active().and_then(|k| self.odometry.get(k));
            values.say("odom.source", active.map_or("none", |source| source.topic.as_str()));
            values.say("odom.switches", self.sources.switches());
        }
    }
}

/// A cloud of tags, and the filter's number for its sensor.
pub type TagsSeen = (MeasurementKind, TagCloud);

/// Tags come with their covariance and are cut to their range before: these numbers are not used.
const TAG_ON_BASE: Position = Position { std_m: 0.1, min_range_m: 0.0, max_range_m: 1e4 };

/// Messages come from the topics of sensors only.
fn unknown_sensor(settings: &Settings) -> Refusal {
    let base = settings.base_frame.clone();
    Refusal::NoTransform { base, frame: String::new(), otherwise: "report a defect of lienav" }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lienav_io::convert::header;
    use lienav_io::messages::{self, TransformStamped};
    use r2r::ParameterValue;

    fn declared(overrides: Overrides) -> Result<(Inputs, Settings), ParameterError> {
        let mut parameters = Parameters::default();
        parameters.declare(&Config::default(), lienav_slam::SPECS, &overrides)?;
        parameters.declare(&Settings::default(), super::super::SPECS, &overrides)?;
        Ok((Inputs::declare(&mut parameters, &overrides)?, parameters.read(super::super::SPECS)?))
    }

    fn inputs(lists: &[(&str, &[&str])]) -> Result<(Inputs, Settings), ParameterError> {
        let list = |names: &[&str]| ParameterValue::StringArray(names.iter().map(|name| (*name).to_owned()).collect());
        declared(lists.iter().map(|(name, names)| ((*name).to_owned(), list(names))).collect())
    }

    fn odometry(child: &str, ms: i64) -> OdometryOf {
        let mut message = messages::Odometry { child_frame_id: child.into(), ..Default::default() };
        message.header = header(Stamp::from_nanos(1_000_000 * ms), "odom");
        message.pose.pose.orientation.w = 1.0;
        (message.twist.twist.linear.x, message.twist.twist.angular.z) = (1.0, 0.5);
        OdometryOf::Odometry(Box::new(message))
    }

    #[test]
    fn odometry_of_a_frame_on_the_robot_is_taken_when_its_transform_is_known() {
        let (mut inputs, settings) = inputs(&[]).unwrap();
        assert!(inputs.odometry(0, &odometry("base_link", 0), &settings).unwrap().1.is_some());
        let refusal = inputs.odometry(0, &odometry("base_footprint", 0), &settings).unwrap_err();
        let sentence =
            "child_frame_id is 'base_footprint', expected 'base_link' (parameter base_frame, or a frame with a";
        assert!(refusal.word() == "unknown_frame" && refusal.to_string().starts_with(sentence), "{refusal}");
        assert!(inputs.odometry(0, &odometry("", 0), &settings).is_err());
        let mut up = TransformStamped { child_frame_id: "base_link".into(), ..TransformStamped::default() };
        up.header.frame_id = "base_footprint".into();
        (up.transform.translation.y, up.transform.translation.z, up.transform.rotation.w) = (-0.2, 0.1, 1.0);
        assert_eq!(inputs.take_static(&TfMessage { transforms: vec![up] }), []);
        let (input, pose) = inputs.odometry(0, &odometry("base_footprint", 0), &settings).unwrap();
        // The base is to the right of the footprint: in a left turn it is on the outside.
        assert!((input.velocity.x - 1.1).abs() < 1e-12 && (pose.unwrap().p.y + 0.2).abs() < 1e-12, "{input:?}");
    }

    #[test]
    fn only_odom_has_a_pose_and_others_stand_in_for_it() {
        let (mut inputs, settings) = inputs(&[("odometry.fallbacks", &["visual"])]).unwrap();
        assert_eq!(inputs.name(Topic::Odometry(1)), "visual/odom");
        assert!(inputs.odometry(1, &odometry("base_link", 0), &settings).unwrap().1.is_none());
        assert!(inputs.has_pose(0) && !inputs.has_pose(1));
        assert_eq!(inputs.odometry_used(0, Stamp::default()), None);
        assert_eq!(inputs.standing_in(), None);
        let said = inputs.odometry_used(1, Stamp::default() + 1.0).unwrap();
        assert!(said.contains("visual/odom, since odom is silent"), "{said}");
        assert_eq!(inputs.standing_in(), Some("visual/odom"));
    }

    #[test]
    fn a_filter_is_equipped_once() {
        let (inputs, _) = inputs(&[("sensors", &["front", "rear"]), ("tags.frame_patterns", &["tag:{id}"])]).unwrap();
        let mut slam = Slam::new(Config::default()).unwrap();
        inputs.equip(&mut slam).unwrap();
        inputs.equip(&mut slam).unwrap();
        let added = 10 + MOST_PARTS;
        assert!(slam.mount(MeasurementKind::added(added - 1).unwrap()).is_some());
        assert!(slam.mount(MeasurementKind::added(added).unwrap()).is_none());
    }

    #[test]
    fn a_type_that_this_build_has_not_stops_the_node_with_the_feature_to_build() {
        for (word, package, is_built) in [
            ("detections", "vision_msgs", cfg!(feature = "vision_msgs")),
            ("apriltags", "apriltag_msgs", cfg!(feature = "apriltag_msgs")),
        ] {
            let main = ("features_message".to_owned(), ParameterValue::String(word.into()));
            let said = declared([main].into_iter().collect()).err().map(|error| error.to_string());
            assert_eq!(said.is_none(), is_built, "{said:?}");
            assert!(said.is_none_or(|said| said.contains(&format!("'{word}'")) && said.contains(package)));
        }
    }

    #[test]
    fn a_pattern_without_identity_stops_the_node() {
        let refused = inputs(&[("tags.frame_patterns", &["tag36h11"])]).err().unwrap();
        assert!(refused.to_string().contains("tags.frame_patterns: 'tag36h11' is no pattern"), "{refused}");
    }
}
