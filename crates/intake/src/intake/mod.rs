//! The intake of a robot's messages, for a node and for a bag alike: [`Intake`] turns plain messages of topics with
//! roles into input of the filter, and refuses what cannot be used with the same sentences.
//!
//! - `settings`: the parameters; the user names sensors and sources of odometry; `file`: as a file states them;
//! - `sensors`: measurements of landmarks, of sensors that sit where `/tf_static` or a parameter says;
//! - `tags`: transforms of tags on `/tf`;
//! - `sources`: which of several sources of odometry counts;
//! - `message`: messages of whichever type;
//! - `space`: the same for the filter in space, [`SpaceIntake`]; `imu_frame`: the frame of its inertial sensor.
//!
//! There is no clock here, and no filter: the caller says whether transforms are still to be expected, and gives mounts
//! to its filter. A further type of message is a plain struct in [`messages`](crate::messages), a conversion in
//! [`convert`] that takes [`Extrinsics`](convert::Extrinsics), and a word of [`FeaturesMessage`].

mod file;
mod imu_frame;
mod message;
mod sensors;
mod settings;
mod sources;
mod space;
mod tags;

use crate::convert::{self, DetectionWords, Frame, Origin, Refusal, TagCamera, TagSizes};
use crate::messages::{CameraInfo, TfMessage};
use crate::transforms::StaticTransforms;
use lienav_lie::Se2;
use lienav_slam::{MeasurementKind, Odometry, Position, Sensor, Slam, TooManySensors};
use nalgebra::Isometry3;
use sensors::{Place, SensorInput};
use tags::{MOST_PARTS, Tags};

pub use file::{Outside, StatedInputs, Uses, stated_inputs};
pub use imu_frame::ImuFrame;
pub use message::{FeaturesOf, OdometryOf};
pub use sensors::{Placed, Seen};
pub use settings::{
    DetectionSettings, FallbackSettings, FeaturesMessage, InputSettings, MOST_FALLBACKS, MOST_SENSORS, NAMED_SPECS,
    Named, OdometryMessage, OdometrySettings, SensorSettings, TagSettings, checked_names,
};
pub use sources::{STANDBY, Sources, Switch};
pub use space::{SpaceFrames, SpaceIntake, SpaceSeen};
pub use tags::TagScan;

/// A source of odometry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OdometrySource {
    /// Its topic, before remapping.
    pub topic: String,
    /// The type of its messages.
    pub message: OdometryMessage,
}

/// All inputs of odometry and landmarks, and the static transforms that place them.
#[derive(Clone, Debug)]
pub struct Intake {
    sensors: Vec<SensorInput>,
    odometry: Vec<OdometrySource>,
    tags: Tags,
    words: DetectionWords,
    sizes: TagSizes,
    /// The filter's number of the first part of tags.
    first_part: usize,
    tree: StaticTransforms,
}

/// What a message of a feature sensor is read with.
#[derive(Clone, Copy, Debug)]
pub struct Context<'a> {
    /// The frame of the robot.
    pub base: &'a str,
    /// The frames that the sensor without a name may be in if parameters state its mount.
    pub expected: &'a [Frame<'a>],
    /// No static transform is to be expected: the sensor without a name may be taken to sit at the base.
    pub is_unstated: bool,
    /// The kind that counts where a point cloud has the fields of several, and the sensor has no kind of its own.
    pub preferred: MeasurementKind,
    /// How well tags are placed.
    pub tags: TagCamera,
}

impl Intake {
    /// With these parameters. `main` is the mount of the sensor without a name, if parameters state it.
    ///
    /// # Errors
    /// The sentence to show: a pattern that cannot be used.
    pub fn new(settings: &InputSettings, main: Option<Se2>) -> Result<Self, String> {
        let mut odometry = vec![OdometrySource { topic: "odom".into(), message: settings.odometry.message }];
        odometry.extend(settings.fallbacks.iter().map(|Named { name, settings, .. }| OdometrySource {
            topic: if settings.topic.is_empty() { format!("{name}/odom") } else { settings.topic.clone() },
            message: settings.message,
        }));
        let mut sensors = vec![SensorInput::main(settings.features_message, main)];
        let mut added = 0;
        for named in &settings.sensors {
            let sensor = SensorInput::named(named, added);
            added += sensor.measurements(Se2::identity()).len();
            sensors.push(sensor);
        }
        Ok(Self {
            sensors,
            odometry,
            tags: Tags::new(settings.tags.patterns()?, settings.tags.sizes()?),
            words: settings.detections.words()?,
            sizes: settings.tags.sizes()?,
            first_part: added,
            tree: StaticTransforms::default(),
        })
    }

    /// The sensors that a filter has to have beside those of its settings, in the order of their numbers. `mount` gives
    /// the mount of the sensor with this number; the filter is given others later, with [`Slam::place_sensor`].
    pub fn added_sensors(&self, mount: impl Fn(u8) -> Se2) -> Vec<Sensor> {
        let parts = if self.tags.are_wanted() { MOST_PARTS } else { 0 };
        let tags = (0..parts).map(|_| Sensor::of_landmarks(TAG_ON_BASE, Se2::identity()));
        (0..).zip(&self.sensors).flat_map(|(k, sensor)| sensor.measurements(mount(k))).chain(tags).collect()
    }

    /// Gives a filter the sensors that it does not have by its settings; a filter that has them is left alone.
    ///
    /// # Errors
    /// There are too many, which the bounds on their number exclude.
    pub fn equip(&self, slam: &mut Slam) -> Result<(), TooManySensors> {
        let parts = if self.tags.are_wanted() { MOST_PARTS } else { 0 };
        let Some(last) = (self.first_part + parts).checked_sub(1) else { return Ok(()) };
        if slam.mount(MeasurementKind::added(last)?).is_some() {
            return Ok(());
        }
        for (k, sensor) in self.added_sensors(|_| Se2::identity()).into_iter().enumerate() {
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

    /// The number of each sensor that needs the description of its camera, and the topic of that.
    pub fn camera_topics(&self) -> impl Iterator<Item = (u8, String)> {
        (0..).zip(&self.sensors).filter_map(|(k, sensor)| Some((k, sensor.camera_topic()?)))
    }

    /// Whether tags are looked for on `/tf`.
    pub fn wants_tags(&self) -> bool {
        self.tags.are_wanted()
    }

    /// The mount of the sensor with this number, if parameters state it.
    pub fn stated_mount(&self, sensor: u8) -> Option<Se2> {
        self.sensors.get(usize::from(sensor))?.stated
    }

    /// States the mount of the sensor without a name.
    pub fn state_mount(&mut self, mount: Se2) {
        if let Some(main) = self.sensors.first_mut() {
            main.stated = Some(mount);
        }
    }

    /// The static transforms so far.
    pub fn tree(&self) -> &StaticTransforms {
        &self.tree
    }

    /// Time starts again.
    pub fn restart(&mut self) {
        self.tags.restart();
    }

    /// Takes static transforms. Gives the refusals of those that cannot be used.
    pub fn take_static(&mut self, message: &TfMessage) -> Vec<Refusal> {
        message.transforms.iter().filter_map(|transform| self.tree.insert(transform).err()).collect()
    }

    /// Takes the description of the camera of this sensor.
    pub fn take_camera(&mut self, sensor: u8, info: &CameraInfo) {
        if let Some(input) = self.sensors.get_mut(usize::from(sensor)) {
            input.take_camera(info);
        }
    }

    /// The measurements of a message of the sensor with this number.
    ///
    /// # Errors
    /// Why it cannot be used.
    pub fn features(&mut self, sensor: u8, message: &FeaturesOf, context: &Context<'_>) -> Result<Seen, Refusal> {
        let Context { base, expected, is_unstated, preferred, tags } = context;
        let Some(input) = self.sensors.get_mut(usize::from(sensor)) else {
            return Err(unknown_sensor(base));
        };
        // Only the sensor without a name has frames that parameters state.
        let expected = if sensor == 0 { expected } else { &[][..] };
        let place = Place { base, tree: &self.tree, expected, is_unstated: *is_unstated };
        input.read(message, (&self.words, tags, &self.sizes), *preferred, &place)
    }

    /// Odometry of the source with this number, and the pose of the base in the frame of the odometry: of the first
    /// source alone, for each has a frame of its own that drifts. `odom` and `base` are the frames that the message may
    /// be in, any where one is not known.
    ///
    /// # Errors
    /// Why it cannot be used.
    pub fn odometry(
        &self,
        source: u8,
        message: &OdometryOf,
        odom: Option<Frame<'_>>,
        base: Option<Frame<'_>>,
    ) -> Result<(Odometry, Option<Se2>), Refusal> {
        let is_main = source == 0;
        match message {
            OdometryOf::Odometry(message) => {
                let odom = odom.filter(|_| is_main);
                let (input, base_in_odom) = match self.on_robot("child_frame_id", &message.child_frame_id, base)? {
                    None => convert::odometry(message, odom.as_slice(), base.as_slice())?,
                    Some(pose) => convert::placed_odometry(message, odom.as_slice(), &pose)?,
                };
                Ok((input, base_in_odom.filter(|_| is_main)))
            }
            OdometryOf::Twist(message) => {
                let pose = self.on_robot("frame_id", &message.header.frame_id, base)?;
                Ok((convert::twist(message, &pose.unwrap_or_default())?, None))
            }
        }
    }

    /// The pose of a frame of the robot in its base; `None` for the base itself.
    fn on_robot(
        &self,
        field: &'static str,
        frame: &str,
        base: Option<Frame<'_>>,
    ) -> Result<Option<Isometry3<f64>>, Refusal> {
        let Some(base) = base else { return Ok(None) };
        let origin = match base.origin {
            Origin::Parameter(parameter) => Origin::OnRobot(parameter),
            other => other,
        };
        match convert::check_frame(field, frame, &[Frame { origin, ..base }]) {
            Ok(()) => Ok(None),
            Err(unknown) => self.tree.between(base.name, frame).map(Some).ok_or(unknown),
        }
    }

    /// Whether messages of this source have a pose in the frame of the odometry.
    pub fn has_pose(&self, source: u8) -> bool {
        source == 0 && self.odometry.first().is_some_and(|source| source.message == OdometryMessage::Odometry)
    }

    /// The scans of tags in a message of `/tf`, under the filter's numbers; beside them, why some cannot be used.
    pub fn tags(
        &mut self,
        message: &TfMessage,
        base: &str,
        settings: &TagSettings,
    ) -> (Vec<(MeasurementKind, TagScan)>, Vec<Refusal>) {
        let (scans, refusals) = self.tags.scans(message, (base, &self.tree), settings);
        let numbered = |scan: TagScan| {
            let part = MeasurementKind::added(self.first_part + scan.part.min(MOST_PARTS - 1)).ok()?;
            Some((part, scan))
        };
        (scans.into_iter().filter_map(numbered).collect(), refusals)
    }

    /// A sentence, once, where no frame on `/tf` fits a pattern of tags. `own` are the frames of the robot itself. A
    /// detector needs time: a node asks after ten seconds, a bag at its end.
    pub fn tags_missed(&mut self, own: &[&str], patterns: &[String]) -> Option<String> {
        self.tags.misses(own, patterns)
    }
}

/// Tags come with their covariance and are cut to their range before: these numbers are not used.
const TAG_ON_BASE: Position = Position { std_m: 0.1, min_range_m: 0.0, max_range_m: 1e4 };

/// Messages come from the topics of sensors only.
fn unknown_sensor(base: &str) -> Refusal {
    Refusal::NoTransform { base: base.to_owned(), frame: String::new(), otherwise: "report a defect of lienav" }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
