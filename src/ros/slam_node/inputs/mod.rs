//! The inputs of `slam_node`: which topics, in which frames, and how these become input of the filter.
//!
//! [`lienav_io::intake`] does that for topics and for bags. Here are the parameters as the node declares them
//! ([`settings`]), the names of topics, what has come of each, and the clock.

mod settings;

use super::Settings;
use super::topic::Topic;
use crate::ros::diagnostics::{Received, Values};
use crate::ros::parameters::{Overrides, ParameterError, Parameters, is_placed};
use lienav_base::stamp::Stamp;
use lienav_io::convert::Refusal;
use lienav_io::intake::{
    Context, FallbackSettings, FeaturesMessage, FeaturesOf, InputSettings, Intake, MOST_FALLBACKS, MOST_SENSORS, Named,
    OdometryOf, OdometrySource, Placed, SensorSettings, Sources, TagScan,
};
use lienav_io::messages::{CameraInfo, TfMessage};
use lienav_lie::Se2;
use lienav_slam::{Config, MeasurementKind, Odometry, Scan, Slam, TooManySensors};
use settings::{check_built, named};
use std::time::{Duration, Instant};

/// All inputs, and what is known of them.
pub struct Inputs {
    intake: Intake,
    received: Vec<Received>,
    sources: Sources,
    tags_received: Received,
    /// Since when frames on `/tf` are compared with the patterns of tags.
    tags_since: Option<Instant>,
    /// Since when transforms are listened to.
    since: Instant,
}

/// A robot that has said nothing on `/tf_static` for so long has nothing to say: what is latched there comes with the
/// discovery of its publisher.
const SILENT: Duration = Duration::from_secs(1);

/// A detector that runs has sent a tag by then, unless none is in view.
const PATIENCE: Duration = Duration::from_secs(10);

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
        let sensors: Vec<Named<SensorSettings>> = named(parameters, overrides, list)?;
        check_built(settings.features_message, "features_message")?;
        for sensor in &sensors {
            check_built(sensor.settings.message, &format!("{}.message", sensor.name))?;
        }
        let place = Se2::new(config.sensor.x_m, config.sensor.y_m, config.sensor.yaw_rad);
        let stated = is_placed("sensor", overrides).then_some(place);
        let Settings { features_message, odometry, tags, detections, .. } = settings;
        let inputs = InputSettings { features_message, odometry, tags, detections, fallbacks, sensors };
        let intake = Intake::new(&inputs, stated).map_err(ParameterError::Unusable)?;
        Ok(Self {
            received: vec![Received::default(); intake.feature_topics().count()],
            sources: Sources::new(intake.odometry_sources().len()),
            intake,
            tags_received: Received::default(),
            tags_since: None,
            since: Instant::now(),
        })
    }

    /// Gives a filter the sensors that it does not have by its configuration; a filter that has them is left alone.
    ///
    /// # Errors
    /// There are too many, which the bounds on their number exclude.
    pub fn equip(&self, slam: &mut Slam) -> Result<(), TooManySensors> {
        self.intake.equip(slam)
    }

    /// The sources of odometry, in the order of their priority.
    pub fn odometry_sources(&self) -> &[OdometrySource] {
        self.intake.odometry_sources()
    }

    /// Topic and type of the messages of each sensor.
    pub fn feature_topics(&self) -> impl Iterator<Item = (&str, FeaturesMessage)> {
        self.intake.feature_topics()
    }

    /// The topics that the user has named, or asked for, beside `odom` and `features`: messages are to come there.
    pub fn expected(&self, settings: &Settings) -> impl Iterator<Item = Topic> + use<> {
        let outside = [(Topic::AbsolutePose, settings.gnss.use_absolute_pose), (Topic::Fix, settings.gnss.use_fix)];
        let named = 1..u8::try_from(self.received.len()).unwrap_or(u8::MAX);
        let outside = outside.into_iter().filter(|(_, is_used)| *is_used).map(|(topic, _)| topic);
        named.map(Topic::Scan).chain(outside)
    }

    /// Whether tags are looked for on `/tf`.
    pub fn wants_tags(&self) -> bool {
        self.intake.wants_tags()
    }

    /// The name of a topic, before remapping.
    pub fn name(&self, topic: Topic) -> &str {
        match topic {
            Topic::Odometry(k) => self.source(usize::from(k)),
            Topic::Scan(k) => self.feature_topics().nth(usize::from(k)).map_or("features", |(topic, _)| topic),
            Topic::InitialPose => "initialpose",
            Topic::Imu => "imu",
            Topic::AbsolutePose => "absolute_pose",
            Topic::Fix => "fix",
            Topic::CameraInfo(_) => "camera_info",
            Topic::StaticTransforms => "/tf_static",
            Topic::Transforms => "/tf",
        }
    }

    /// The topic of a source of odometry.
    fn source(&self, k: usize) -> &str {
        self.odometry_sources().get(k).map_or("odom", |source| &source.topic)
    }

    /// Time starts anew.
    pub fn restart(&mut self) {
        self.sources.restart();
        self.intake.restart();
    }

    /// Takes static transforms. Gives what cannot be used of them.
    pub fn take_static(&mut self, message: &TfMessage) -> Vec<Refusal> {
        self.intake.take_static(message)
    }

    /// The number of each sensor that needs the description of its camera, and the topic of that.
    pub fn camera_topics(&self) -> impl Iterator<Item = (u8, String)> {
        self.intake.camera_topics()
    }

    /// Takes what the camera of this sensor says of itself.
    pub fn take_camera(&mut self, sensor: u8, info: &CameraInfo) {
        self.intake.take_camera(sensor, info);
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

    /// The features of a message of the sensor with this number, and the mount of the sensor as a sentence, if it is
    /// new. The filter is given the mount, if it has another one.
    ///
    /// # Errors
    /// Why it cannot be used.
    pub fn features(
        &mut self,
        sensor: u8,
        message: &FeaturesOf,
        slam: &mut Slam,
        settings: &Settings,
    ) -> Result<(Scan, Option<Placed>), Refusal> {
        let context = Context {
            base: &settings.base_frame,
            expected: &settings.sensor(),
            is_unstated: self.intake.tree().is_empty() && self.since.elapsed() > SILENT,
            preferred: slam.config().sensor.kind,
            tags: settings.tags.camera(),
        };
        let seen = self.intake.features(sensor, message, &context)?;
        if slam.mount(seen.features.kind).is_some_and(|mount| mount != seen.mount) {
            // Transforms are finite, and the filter has the sensor.
            let _ = slam.place_sensor(seen.features.kind, seen.mount);
        }
        Ok((seen.features, seen.placed))
    }

    /// Odometry of the source with this number, and the pose of the base in the odometry's frame, if the message has it.
    ///
    /// # Errors
    /// Why it cannot be used.
    pub fn odometry(
        &self,
        source: u8,
        message: &OdometryOf,
        settings: &Settings,
    ) -> Result<(Odometry, Option<Se2>), Refusal> {
        self.intake.odometry(source, message, Some(settings.odom()), Some(settings.base()))
    }

    /// Whether messages of this source have a pose in the frame of the odometry.
    pub fn has_pose(&self, source: u8) -> bool {
        self.intake.has_pose(source)
    }

    /// Whether odometry of this source with this stamp counts.
    pub fn counts(&self, source: u8, stamp: Stamp, settings: &Settings, config: &Config) -> bool {
        self.sources.counts(usize::from(source), stamp, settings.odometry.timeout_s, config.timing.jump_back_s)
    }

    /// Odometry of this source was used; gives a sentence where that was another source before.
    pub fn odometry_used(&mut self, source: u8, stamp: Stamp) -> Option<String> {
        let switch = self.sources.used(usize::from(source), stamp)?;
        Some(switch.sentence(|k| self.source(k)))
    }

    /// The clouds of tags in a message of `/tf`, under the filter's numbers; beside them, why some cannot be used.
    pub fn tags(&mut self, message: &TfMessage, settings: &Settings) -> (Vec<TagsSeen>, Vec<Refusal>) {
        let (scans, refusals) = self.intake.tags(message, &settings.base_frame, &settings.tags);
        // Tags that are too far away, or that came before, are no fault and no input.
        self.tags_received.received += u64::from(!scans.is_empty() || !refusals.is_empty());
        (scans, refusals)
    }

    /// A sentence, once, where no frame on `/tf` fits a pattern of tags.
    pub fn tags_missed(&mut self, settings: &Settings) -> Option<String> {
        if self.tags_since.get_or_insert_with(Instant::now).elapsed() < PATIENCE {
            return None;
        }
        let own = [&settings.map_frame, &settings.odom_frame, &settings.base_frame].map(String::as_str);
        self.intake.tags_missed(&own, &settings.tags.frame_patterns)
    }

    /// The filter has taken a cloud of tags.
    pub fn tags_used(&mut self) {
        self.tags_received.used += 1;
    }

    /// The topic that odometry comes from in the place of a better one.
    pub fn standing_in(&self) -> Option<&str> {
        self.sources.active().filter(|&k| k > 0).map(|k| self.source(k))
    }

    /// What is worth saying of inputs beside `odom` and `features`; nothing where there are no others.
    pub fn say(&self, values: &mut Values) {
        for ((topic, _), received) in self.feature_topics().zip(&self.received).skip(1) {
            values.received(topic, *received);
        }
        if self.wants_tags() {
            values.received("tags", self.tags_received);
        }
        if self.odometry_sources().len() > 1 {
            values.say("odom.source", self.sources.active().map_or("none", |k| self.source(k)));
            values.say("odom.switches", self.sources.switches());
        }
    }
}

/// A cloud of tags, and the filter's number for its sensor.
pub type TagsSeen = (MeasurementKind, TagScan);

#[cfg(test)]
mod tests {
    use super::*;
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

    #[test]
    fn others_stand_in_for_odom() {
        let (mut inputs, _) = inputs(&[("odometry.fallbacks", &["visual"])]).unwrap();
        assert_eq!(inputs.name(Topic::Odometry(1)), "visual/odom");
        assert_eq!(inputs.odometry_used(0, Stamp::default()), None);
        assert_eq!(inputs.standing_in(), None);
        let said = inputs.odometry_used(1, Stamp::default() + 1.0).unwrap();
        assert!(said.contains("visual/odom, since odom is silent"), "{said}");
        assert_eq!(inputs.standing_in(), Some("visual/odom"));
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
