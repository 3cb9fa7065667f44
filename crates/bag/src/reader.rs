//! The messages of a bag, one by one, as input of a filter.

use super::cdr::{self, CdrError};
use super::decode::{decode_features, decode_odometry};
use super::params::NODE;
use super::plan::Part;
use super::static_mount::{Ahead, StatedExtrinsics};
use super::topics::Role;
use crate::recording::{Equipment, Input, Recording};
use lienav_intake::convert::{self, Expected, Frame, Frames, Refusal, pose_of, stamp_of};
use lienav_intake::geodesy::Datum;
use lienav_intake::intake::{Context, FeaturesMessage, Intake, OdometryMessage, OdometryOf, StatedInputs};
use lienav_intake::messages::{
    CameraInfo, Imu, Message, NavSatFix, Odometry, PoseStamped, PoseWithCovarianceStamped, TfMessage,
};
use lienav_intake::settings_file::overlay_known;
use lienav_intake::statements::{FixCheck, OdometryCheck};
use lienav_intake::transforms::StaticTransforms;
use lienav_lie::Se2;
use lienav_slam::MeasurementKind;

/// The word under which a message that cannot be decoded is counted.
pub const UNREADABLE: &str = "unreadable";
/// The word under which a true pose that is not finite is counted.
pub const BAD_TRUTH: &str = "bad_truth";

/// The frame of the robot where neither parameters nor odometry state it: the default of `base_frame`.
const BASE_FRAME: &str = "base_link";

/// Why a message of a bag is dropped.
#[derive(Debug, thiserror::Error)]
pub enum Unread {
    /// Its bytes are not a message of the topic's type.
    #[error(transparent)]
    Cdr(#[from] CdrError),
    /// It does not pass the checks.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// A true pose that is not finite.
    #[error("the true pose is not finite")]
    BadTruth,
}

impl Unread {
    /// The word it is counted under.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Cdr(_) => UNREADABLE,
            Self::Refused(refusal) => refusal.word(),
            Self::BadTruth => BAD_TRUTH,
        }
    }
}

/// What the messages of a bag are taken into.
pub(super) struct Reader {
    pub recording: Recording,
    intake: Intake,
    inputs: StatedInputs,
    preferred: MeasurementKind,
    odom: Expected,
    base: Expected,
    sensor: Expected,
    imu: Expected,
    truth: TruthReader,
    /// The frame of the robot, for transforms to it.
    robot: String,
    /// The mounts of sensors that have names, as the filter has them.
    mounts: Vec<Option<Se2>>,
    cameras: Vec<(u8, String)>,
    /// Those of the input, to count what cannot be used.
    transforms: StaticTransforms,
    /// The first fix, or the one that is stated.
    datum: Option<Datum>,
    odometry: Vec<OdometryCheck>,
    pub fixes: FixCheck,
    /// Input that was taken and not given out.
    ready: Vec<Input>,
}

impl Reader {
    /// Of a bag with these inputs, of which so much is known.
    pub fn new(
        mut recording: Recording,
        frames: Frames,
        (inputs, mut intake, cameras): (StatedInputs, Intake, Vec<(u8, String)>),
        ahead: &Ahead,
    ) -> Self {
        if !inputs.is_placed {
            match ahead.main(&intake) {
                StatedExtrinsics::At(extrinsics, sentence) => {
                    let sensor = &mut recording.config.get_or_insert_default().sensor;
                    let Se2 { p, theta } = extrinsics.mount;
                    (sensor.x_m, sensor.y_m, sensor.yaw_rad) = (p.x, p.y, theta);
                    recording.warnings.push(sentence);
                }
                StatedExtrinsics::Nothing(sentence) => {
                    recording.warnings.extend(sentence);
                    intake.state_mount(mount_of(&recording));
                }
            }
        } else {
            intake.state_mount(mount_of(&recording));
        }
        let named = intake.feature_topics().count();
        let mounts: Vec<Option<Se2>> = (0..).take(named).map(|k: u8| ahead.mount(k, &intake)).collect();
        let mount = |k: u8| mounts.get(usize::from(k)).copied().flatten().unwrap_or_default();
        let sources = intake.odometry_sources();
        recording.equipment = Equipment {
            sensors: intake.added_sensors(mount),
            odometry: match sources.len() {
                0 | 1 => Vec::new(),
                _ => sources.iter().map(|source| source.topic.clone()).collect(),
            },
            timeout_s: inputs.settings.odometry.timeout_s,
        };
        let odometry = sources.iter().map(|_| OdometryCheck::default()).collect();
        let robot = ahead.base.clone().unwrap_or_else(|| BASE_FRAME.to_owned());
        Self {
            preferred: recording.config.as_ref().map_or(MeasurementKind::default(), |config| config.sensor.kind),
            datum: inputs.uses.gnss.given(),
            recording,
            intake,
            inputs,
            odom: Expected::new("odom_frame", frames.odom_frame),
            base: Expected::new("base_frame", frames.base_frame),
            sensor: Expected::new("sensor_frame", frames.sensor_frame),
            imu: Expected::new("imu_frame", frames.imu_frame),
            truth: TruthReader::default(),
            robot,
            mounts,
            cameras,
            transforms: StaticTransforms::default(),
            odometry,
            fixes: FixCheck::default(),
            ready: Vec::new(),
        }
    }

    /// Point clouds whose fields are those of several kinds are of the kind that this parameter file states, if it does.
    pub fn prefer(&mut self, parameters: &str) {
        let config = self.recording.config.clone().unwrap_or_default();
        if let Ok(config) = overlay_known(&config, parameters, NODE) {
            self.preferred = config.sensor.kind;
        }
    }

    /// The checks of each source of odometry, with the topic of its parameters.
    pub fn checks(&self) -> impl Iterator<Item = (&str, &OdometryCheck)> {
        let topics = self.intake.odometry_sources().iter().map(|source| source.topic.as_str());
        topics.zip(&self.odometry)
    }

    /// Whether the input of messages has been given out.
    pub fn next(&mut self) -> Option<Input> {
        (!self.ready.is_empty()).then(|| self.ready.remove(0))
    }

    /// The input that waits to be given out.
    pub fn ready(&mut self) -> &mut [Input] {
        &mut self.ready
    }

    /// A sentence where no frame on `/tf` was of a tag; at the end.
    pub fn tags_missed(&mut self) -> Option<String> {
        let odom = self.odom.frame().map_or("odom", |frame| frame.name);
        let own = ["map", odom, self.robot.as_str()];
        self.intake.tags_missed(&own, &self.inputs.settings.tags.frame_patterns)
    }

    /// Takes a message; gives what of it cannot be used.
    pub fn take(&mut self, part: Part, (topic, type_name): (&str, &str), bytes: &[u8]) -> Vec<Unread> {
        let taken = match part {
            Part::Odometry(source) => self.take_odometry(source, bytes),
            Part::Scan(sensor) => self.take_features(sensor, bytes),
            Part::CameraInfo => self.take_camera(topic, bytes),
            Part::StaticTransforms => match cdr::decode::<TfMessage>(bytes) {
                Ok(message) => {
                    let refused = message.transforms.iter().filter_map(|one| self.transforms.insert(one).err());
                    return refused.map(Unread::Refused).collect();
                }
                Err(error) => Err(error.into()),
            },
            Part::Transforms => match cdr::decode::<TfMessage>(bytes) {
                Ok(message) => {
                    let (scans, refused) = self.intake.tags(&message, &self.robot, &self.inputs.settings.tags);
                    self.ready.extend(scans.into_iter().map(|(kind, scan)| {
                        Input::Scan(lienav_slam::Scan { stamp: scan.stamp, kind, measurements: scan.measurements })
                    }));
                    return refused.into_iter().map(Unread::Refused).collect();
                }
                Err(error) => Err(error.into()),
            },
            Part::Other(role) => self.take_other(role, type_name, bytes),
        };
        taken.err().into_iter().collect()
    }

    fn take_odometry(&mut self, source: u8, bytes: &[u8]) -> Result<(), Unread> {
        let k = usize::from(source);
        let kind = self.intake.odometry_sources().get(k).map_or(OdometryMessage::Odometry, |source| source.message);
        let message = decode_odometry(kind, bytes)?;
        // The first source shows which frame is that of the robot.
        let known = (source > 0).then_some(Frame { name: &self.robot, origin: convert::Origin::OnRobot("base_frame") });
        let base = self.base.frame().or(known);
        let (odometry, _) = self.intake.odometry(source, &message, self.odom.frame(), base)?;
        if source == 0 {
            match &message {
                OdometryOf::Odometry(message) => {
                    self.odom.learn(&message.header.frame_id);
                    self.base.learn(&message.child_frame_id);
                }
                OdometryOf::Twist(message) => self.base.learn(&message.header.frame_id),
            }
        }
        if let (Some(check), OdometryOf::Odometry(message)) = (self.odometry.get_mut(k), &message) {
            check.add(message);
        }
        self.ready.push(match source {
            0 => Input::Odometry(odometry),
            _ => Input::Fallback { source, odometry },
        });
        Ok(())
    }

    fn take_features(&mut self, sensor: u8, bytes: &[u8]) -> Result<(), Unread> {
        let k = usize::from(sensor);
        let kind = self.intake.feature_topics().nth(k).map_or(FeaturesMessage::default(), |(_, kind)| kind);
        let message = decode_features(kind, bytes)?;
        let context = Context {
            base: &self.robot,
            expected: &or_base(&self.sensor, &self.base),
            is_unstated: false,
            preferred: self.preferred,
            tags: self.inputs.settings.tags.camera(),
        };
        let seen = self.intake.features(sensor, &message, &context)?;
        let frame = &message.header().frame_id;
        if sensor == 0 {
            self.sensor.learn(frame);
        } else {
            // The filter has the mount of the first message.
            let first = self.mounts.get(k).copied().flatten();
            if first != Some(seen.mount) {
                return Err(no_transform(&self.robot, frame).into());
            }
            self.recording.warnings.extend(seen.placed.map(|placed| placed.sentence()));
        }
        self.ready.push(Input::Scan(seen.features));
        Ok(())
    }

    fn take_camera(&mut self, topic: &str, bytes: &[u8]) -> Result<(), Unread> {
        let info: CameraInfo = cdr::decode(bytes)?;
        let of_topic = |camera: &&(u8, String)| camera.1.trim_start_matches('/') == topic.trim_start_matches('/');
        for (sensor, _) in self.cameras.iter().filter(of_topic) {
            self.intake.take_camera(*sensor, &info);
        }
        Ok(())
    }

    /// Takes a message that is neither odometry nor measurements of landmarks.
    pub fn take_other(&mut self, role: Role, type_name: &str, bytes: &[u8]) -> Result<(), Unread> {
        let input = match role {
            Role::Imu => {
                let message: Imu = cdr::decode(bytes)?;
                let imu = convert::imu(&message, &or_base(&self.imu, &self.base))?;
                self.imu.learn(&message.header.frame_id);
                Input::Imu(imu)
            }
            Role::AbsolutePose => {
                let message: PoseWithCovarianceStamped = cdr::decode(bytes)?;
                Input::Scan(convert::absolute_pose(&message, &[])?)
            }
            Role::Fix => {
                let message: NavSatFix = cdr::decode(bytes)?;
                let fix = convert::nav_sat_fix(&message, &[], &mut self.datum)?;
                self.fixes.add(&message);
                Input::Scan(fix)
            }
            Role::Truth | Role::TrueLandmarks => return self.truth.take(&mut self.recording, role, type_name, bytes),
            Role::Odometry | Role::Scan => return Ok(()),
        };
        self.ready.push(input);
        Ok(())
    }
}

/// Takes the truth of a recording.
pub(super) struct TruthReader {
    frame: Expected,
}

impl Default for TruthReader {
    fn default() -> Self {
        // No node reads the truth, so no parameter names its frame.
        Self { frame: Expected::new("", None) }
    }
}

impl TruthReader {
    /// Takes a message of [`Role::Truth`] or [`Role::TrueLandmarks`]; messages of other roles are left out.
    pub fn take(&mut self, recording: &mut Recording, role: Role, type_name: &str, bytes: &[u8]) -> Result<(), Unread> {
        match role {
            Role::Truth => self.take_pose(recording, &true_pose(type_name, bytes)?),
            Role::TrueLandmarks => {
                recording.true_landmarks = convert::landmarks(&cdr::decode(bytes)?)?;
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn take_pose(&mut self, recording: &mut Recording, message: &PoseStamped) -> Result<(), Unread> {
        convert::check_frame("frame_id", &message.header.frame_id, self.frame.frame().as_slice())?;
        let stamp = stamp_of(&message.header.stamp)?;
        let pose = pose_of(&message.pose)?;
        if !(pose.p.x.is_finite() && pose.p.y.is_finite()) {
            return Err(Unread::BadTruth);
        }
        self.frame.learn(&message.header.frame_id);
        recording.truth.push((stamp, pose));
        Ok(())
    }
}

/// Where the settings say that the sensor without a name sits.
fn mount_of(recording: &Recording) -> Se2 {
    let sensor = recording.config.as_ref().map(|config| &config.sensor);
    sensor.map_or_else(Se2::identity, |sensor| Se2::new(sensor.x_m, sensor.y_m, sensor.yaw_rad))
}

/// A frame of a named sensor that was not joined to the base when the input began.
fn no_transform(base: &str, frame: &str) -> Refusal {
    Refusal::NoTransform {
        base: base.to_owned(),
        frame: frame.to_owned(),
        otherwise: "set x_m, y_m and yaw_rad of the sensor",
    }
}

/// The frames a sensor's messages may be in, as for `slam_node`: its own, and that of the robot. Any before its own is
/// known.
fn or_base<'a>(own: &'a Expected, base: &'a Expected) -> Vec<Frame<'a>> {
    own.frame().map_or_else(Vec::new, |own| std::iter::once(own).chain(base.frame()).collect())
}

fn true_pose(type_name: &str, bytes: &[u8]) -> Result<PoseStamped, CdrError> {
    match type_name {
        PoseStamped::TYPE => cdr::decode(bytes),
        PoseWithCovarianceStamped::TYPE => {
            cdr::decode::<PoseWithCovarianceStamped>(bytes).map(|m| PoseStamped { header: m.header, pose: m.pose.pose })
        }
        _ => cdr::decode::<Odometry>(bytes).map(|m| PoseStamped { header: m.header, pose: m.pose.pose }),
    }
}
