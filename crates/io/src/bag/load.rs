//! A bag as a recording.

use super::bounds;
use super::cdr::{self, CdrError};
use super::metadata;
use super::params;
use super::read::{BagReader, CDR};
use super::record::Topic;
use super::static_mount::{StatedExtrinsics, extrinsics_of};
use super::topics::{Role, Topics, candidates, listed, not_one, roles_of, unread_encoding};
use crate::convert::{self, Expected, Extrinsics, Frame, Frames, Refusal, pose_of, stamp_of};
use crate::files::folder_of;
use crate::geodesy::Datum;
use crate::messages::{
    Imu, Message, NavSatFix, Odometry, PointCloud2, PoseStamped, PoseWithCovarianceStamped, TfMessage,
};
use crate::open;
use crate::recording::{Input, OpenError, Recording};
use crate::statements::{ClockCheck, FixCheck, OdometryCheck};
use lienav_slam::MeasurementKind;
use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// `custom_data` under which a converted bag keeps the name of its source.
pub const NAME_KEY: &str = "lienav.name";
/// Prefix of `custom_data` under which a converted bag keeps what its source left out, by reason.
pub const DROPPED_KEY: &str = "lienav.dropped.";

/// The word under which a message that cannot be decoded is counted. A node never counts any: the middleware keeps
/// such messages from it.
pub const UNREADABLE: &str = "unreadable";
/// The word under which a true pose that is not finite is counted.
pub const BAD_TRUTH: &str = "bad_truth";

/// Reads a bag: a folder, or a single storage file. A `params.yaml` in the bag's folder gives [`Recording::config`].
///
/// Messages pass the checks of [`crate::convert`], as those of a node do, and are counted in [`Recording::dropped`]
/// under the same words. Frames are those that [`Topics::frames`] states, else those of `params.yaml`, else those of
/// the first message of each topic: a frame that changes within the bag is refused. Where `params.yaml` does not say
/// where the sensor sits, `/tf_static` does, as for a node.
///
/// # Errors
/// Nothing can be read, or a topic that was asked for is not there.
pub fn load(path: &Path, topics: &Topics) -> Result<Recording, OpenError> {
    let mut loading = Loading::open(path, topics)?;
    let inputs: Vec<Input> = loading.by_ref().collect();
    Ok(Recording { inputs, ..loading.finish() })
}

/// A bag on its way to a recording: its input one by one, in order of arrival, so that no more of it is in memory than
/// is asked for.
pub(crate) struct Loading {
    path: PathBuf,
    bag: BagReader,
    roles: Vec<Option<Role>>,
    intake: Intake,
    problems: Problems,
    clocks: ClockCheck,
    /// How many messages of each topic were there, and how many were taken.
    counts: Vec<[u64; 2]>,
}

impl Loading {
    /// Opens a bag, as [`load`] does.
    pub fn open(path: &Path, topics: &Topics) -> Result<Self, OpenError> {
        let mut bag = BagReader::open(path)?;
        let roles = roles_of(bag.topics(), topics).map_err(|problem| OpenError::bag(path, problem))?;
        if let Some(first) = bag.topics().first().filter(|_| bag.topics().iter().all(|topic| topic.encoding != CDR)) {
            return Err(OpenError::bag(path, unread_encoding(first)));
        }
        if bag.topics().is_empty() && bag.message_count() == 0 && bag.metadata().is_none() {
            let warnings = bag.warnings().join("; ");
            let problem =
                format!("there is no message in it; where it is still being recorded, end that first ({warnings})");
            return Err(OpenError::bag(path, problem));
        }
        let name = if path.is_dir() { path.file_name() } else { path.file_stem() };
        let name = name.map_or_else(|| path.display().to_string(), |name| name.to_string_lossy().into_owned());
        let mut recording = Recording { name, ..Recording::default() };
        let Notes { frames, states_mount } = read_notes(path, &bag, &mut recording)?;
        warn_of_topics(bag.topics(), &roles, &mut recording);

        let frames = topics.frames.clone().or(frames);
        let stated = if states_mount {
            StatedExtrinsics::Nothing { sentence: None }
        } else {
            extrinsics_of(&mut bag, &roles, &frames)
        };
        bag.select(&roles.iter().map(Option::is_some).collect::<Vec<_>>());
        let intake = Intake::new(recording, frames, stated);
        let odometry = roles.iter().position(|&role| role == Some(Role::Odometry));
        let clocks = ClockCheck::new(odometry.map_or("", |topic| bag.topics()[topic].name.as_str()));
        let (counts, problems) = (vec![[0; 2]; roles.len()], Problems::default());
        Ok(Self { path: path.to_owned(), bag, roles, intake, problems, clocks, counts })
    }

    /// What is known so far besides the input.
    pub fn recording(&self) -> &Recording {
        &self.intake.recording
    }

    /// What is known besides the input that was taken out: the truth, what was dropped, and what is to be said.
    pub fn finish(mut self) -> Recording {
        let rest: Vec<Input> = self.by_ref().collect();
        let contradictions = self.contradictions();
        let mut recording = self.intake.recording;
        recording.contradictions = contradictions;
        recording.inputs = rest;
        recording.truth.sort_by_key(|&(stamp, _)| stamp);
        recording.truth.dedup_by_key(|&mut (stamp, _)| stamp);
        recording.warnings.extend_from_slice(self.bag.warnings());
        recording.warnings.extend(self.problems.into_sentences(&self.path));
        recording
    }
}

impl Loading {
    /// What the bag states that cannot be, and topics of which no message could be taken.
    fn contradictions(&self) -> Vec<String> {
        let name = |role| {
            let topic = self.roles.iter().position(|&found| found == Some(role));
            topic.map_or(role.usual_name(), |topic| self.bag.topics()[topic].name.as_str())
        };
        let odometry = name(Role::Odometry);
        let findings = (self.clocks.findings().into_iter())
            .chain(self.intake.odometry.findings(odometry))
            .chain(self.intake.fixes.findings(name(Role::Fix)));
        let topics = self.bag.topics().iter().zip(&self.counts);
        let unread =
            topics.filter(|&(_, &[messages, taken])| messages > 0 && taken == 0).map(|(topic, [messages, _])| {
                let why = self.problems.of(&topic.name).map_or(String::new(), |why| format!(": {why}"));
                format!("none of the {messages} messages of {} could be used{why}", topic.name)
            });
        unread.chain(findings.map(|finding| finding.sentence)).collect()
    }
}

impl Iterator for Loading {
    type Item = Input;

    fn next(&mut self) -> Option<Input> {
        loop {
            let record = self.bag.next()?;
            let Some(role) = self.roles[record.topic] else { continue };
            let topic = &self.bag.topics()[record.topic];
            let count = &mut self.counts[record.topic];
            count[0] += 1;
            match self.intake.take(role, &topic.type_name, &record.data) {
                Ok(Some(input)) => {
                    count[1] += 1;
                    self.clocks.add(&topic.name, input.stamp(), record.log_time);
                    return Some(input);
                }
                Ok(None) => count[1] += 1,
                Err(unread) => {
                    self.intake.recording.drop_one(unread.word());
                    self.problems.note(&topic.name, record.log_time, &unread);
                }
            }
        }
    }
}

/// Why a message of a bag is dropped.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unread {
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
    pub(crate) fn word(&self) -> &'static str {
        match self {
            Self::Cdr(_) => UNREADABLE,
            Self::Refused(refusal) => refusal.word(),
            Self::BadTruth => BAD_TRUTH,
        }
    }
}

/// The first problem of each kind, for the warnings of a recording.
#[derive(Default)]
pub(crate) struct Problems(BTreeMap<&'static str, String>);

impl Problems {
    pub(crate) fn note(&mut self, topic: &str, received: impl std::fmt::Display, unread: &Unread) {
        let word = unread.word();
        self.0.entry(word).or_insert_with(|| format!("{topic} at {received} dropped as {word}: {unread}"));
    }

    /// The first problem of a topic.
    fn of(&self, topic: &str) -> Option<&str> {
        let begins = |sentence: &&String| sentence.strip_prefix(topic).is_some_and(|rest| rest.starts_with(" at "));
        self.0.values().find(begins).map(String::as_str)
    }

    /// One sentence each, with the bag in front.
    pub(crate) fn into_sentences(self, bag: &Path) -> impl Iterator<Item = String> {
        self.0.into_values().map(move |sentence| format!("{}: {sentence}", bag.display()))
    }
}

/// Truth that is heard message by message, while a robot drives: the checks are those of [`load`], and what does not
/// pass them is left out.
pub struct HeardTruth(Intake);

impl Default for HeardTruth {
    fn default() -> Self {
        Self(Intake::new(Recording::default(), Frames::default(), StatedExtrinsics::Nothing { sentence: None }))
    }
}

impl HeardTruth {
    /// Takes a message of [`Role::Truth`] or [`Role::TrueLandmarks`]; other roles are no truth and left out.
    pub fn take(&mut self, role: Role, type_name: &str, bytes: &[u8]) {
        if matches!(role, Role::Truth | Role::TrueLandmarks) {
            // It is counted where the whole recording is read.
            let _left_out = self.0.take(role, type_name, bytes);
        }
    }

    /// What has been heard: poses and landmarks.
    pub fn recording(&self) -> &Recording {
        &self.0.recording
    }
}

/// What messages are taken into.
struct Intake {
    recording: Recording,
    preferred: MeasurementKind,
    odom: Expected,
    base: Expected,
    sensor: Expected,
    imu: Expected,
    truth: Expected,
    /// Where the sensor sits, if `/tf_static` has said so.
    extrinsics: Option<Extrinsics>,
    /// The first fix.
    datum: Option<Datum>,
    odometry: OdometryCheck,
    fixes: FixCheck,
}

impl Intake {
    fn new(mut recording: Recording, mut frames: Frames, stated: StatedExtrinsics) -> Self {
        let extrinsics = match stated {
            StatedExtrinsics::Extrinsics { extrinsics, frame, sentence } => {
                let sensor = &mut recording.config.get_or_insert_default().sensor;
                (sensor.x_m, sensor.y_m, sensor.yaw_rad) =
                    (extrinsics.mount.p.x, extrinsics.mount.p.y, extrinsics.mount.theta);
                recording.warnings.push(sentence);
                frames.sensor_frame = Some(frame);
                Some(extrinsics)
            }
            StatedExtrinsics::Nothing { sentence } => {
                recording.warnings.extend(sentence);
                None
            }
        };
        Self {
            extrinsics,
            preferred: recording.config.as_ref().map_or(MeasurementKind::default(), |config| config.sensor.kind),
            recording,
            odom: Expected::new("odom_frame", frames.odom_frame),
            base: Expected::new("base_frame", frames.base_frame),
            sensor: Expected::new("sensor_frame", frames.sensor_frame),
            imu: Expected::new("imu_frame", frames.imu_frame),
            // No node reads the truth, so no parameter names its frame.
            truth: Expected::new("", None),
            datum: None,
            odometry: OdometryCheck::default(),
            fixes: FixCheck::default(),
        }
    }

    /// The input that a message is, if it is one.
    fn take(&mut self, role: Role, type_name: &str, bytes: &[u8]) -> Result<Option<Input>, Unread> {
        match role {
            Role::Odometry => {
                let message: Odometry = cdr::decode(bytes)?;
                let (odom, base) = (self.odom.frame(), self.base.frame());
                let (odometry, _) = convert::odometry(&message, odom.as_slice(), base.as_slice())?;
                self.odom.learn(&message.header.frame_id);
                self.base.learn(&message.child_frame_id);
                self.odometry.add(&message);
                return Ok(Some(Input::Odometry(odometry)));
            }
            Role::Imu => {
                let message: Imu = cdr::decode(bytes)?;
                let imu = convert::imu(&message, &or_base(&self.imu, &self.base))?;
                self.imu.learn(&message.header.frame_id);
                return Ok(Some(Input::Imu(imu)));
            }
            Role::Scan => {
                let message: PointCloud2 = cdr::decode(bytes)?;
                let features = match &self.extrinsics {
                    Some(extrinsics) => {
                        convert::check_frame("frame_id", &message.header.frame_id, self.sensor.frame().as_slice())?;
                        convert::features_from(&message, self.preferred, extrinsics)?
                    }
                    None => convert::features(&message, &or_base(&self.sensor, &self.base), self.preferred)?,
                };
                self.sensor.learn(&message.header.frame_id);
                return Ok(Some(Input::Scan(features)));
            }
            Role::AbsolutePose => {
                let message: PoseWithCovarianceStamped = cdr::decode(bytes)?;
                return Ok(Some(Input::Scan(convert::absolute_pose(&message, &[])?)));
            }
            Role::Fix => {
                let message: NavSatFix = cdr::decode(bytes)?;
                let fix = convert::nav_sat_fix(&message, &[], &mut self.datum)?;
                self.fixes.add(&message);
                return Ok(Some(Input::Scan(fix)));
            }
            Role::Truth => self.take_truth(&true_pose(type_name, bytes)?)?,
            Role::TrueLandmarks => {
                self.recording.true_landmarks = convert::landmarks(&cdr::decode(bytes)?)?;
            }
        }
        Ok(None)
    }

    fn take_truth(&mut self, message: &PoseStamped) -> Result<(), Unread> {
        convert::check_frame("frame_id", &message.header.frame_id, self.truth.frame().as_slice())?;
        let stamp = stamp_of(&message.header.stamp)?;
        let pose = pose_of(&message.pose)?;
        if !(pose.p.x.is_finite() && pose.p.y.is_finite()) {
            return Err(Unread::BadTruth);
        }
        self.truth.learn(&message.header.frame_id);
        self.recording.truth.push((stamp, pose));
        Ok(())
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

/// What a parameter file says besides the settings.
#[derive(Default)]
struct Notes {
    frames: Frames,
    /// Whether it says where the sensor sits.
    states_mount: bool,
}

/// What is known beside the messages: the parameter file, and what a conversion has noted in `metadata.yaml`.
fn read_notes(path: &Path, bag: &BagReader, recording: &mut Recording) -> Result<Notes, OpenError> {
    for (key, value) in bag.metadata().and_then(|m| m.custom_data.as_ref()).into_iter().flatten() {
        if key == NAME_KEY {
            recording.name.clone_from(value);
        } else if let (Some(reason), Ok(count)) = (key.strip_prefix(DROPPED_KEY), value.parse()) {
            recording.dropped.insert(reason.to_owned(), count);
        }
    }
    let folder = if path.is_dir() { path } else { folder_of(path) };
    let params = folder.join(params::FILE_NAME);
    let file = match fs::symlink_metadata(&params) {
        Ok(_) => match metadata::inside(folder, &params) {
            Ok(_) => open::regular(&params),
            Err(problem) => return Err(OpenError::bag(&params, problem)),
        },
        Err(error) => Err(error),
    };
    match file.and_then(|file| open::text(file, bounds::TEXT)) {
        Ok(text) => {
            let bad = |problem| OpenError::bag(&params, problem);
            recording.config = Some(params::from_yaml(&text).map_err(bad)?);
            let frames = params::frames_from_yaml(&text, params::NODE).map_err(bad)?;
            Ok(Notes { frames, states_mount: params::states_mount(&text).map_err(bad)? })
        }
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Notes::default()),
        Err(error) => Err(OpenError::io(&params, error)),
    }
}

fn warn_of_topics(topics: &[Topic], roles: &[Option<Role>], recording: &mut Recording) {
    recording.warnings.extend(topics.iter().filter(|topic| topic.encoding != CDR).map(unread_encoding));
    for role in [Role::Odometry, Role::Scan] {
        if !roles.contains(&Some(role)) {
            recording.warnings.push(not_one(topics, roles, role));
        }
    }
    // Nobody has to have an inertial sensor; of two, none is used.
    if !roles.contains(&Some(Role::Imu)) && candidates(topics, roles, Role::Imu).count() > 1 {
        recording.warnings.push(not_one(topics, roles, Role::Imu));
    }
    // Transforms are in every bag, and nobody expects them to be read.
    let is_missed = |topic: &Topic| topic.type_name != TfMessage::TYPE;
    let unused = topics.iter().zip(roles).filter(|(topic, role)| role.is_none() && is_missed(topic));
    let unused: Vec<String> = unused.map(|(topic, _)| format!("{} ({})", topic.name, topic.type_name)).collect();
    if !unused.is_empty() {
        let unused = listed(unused.into_iter(), ", ");
        recording.warnings.push(format!("topics that were not read: {unused}"));
    }
}

#[cfg(test)]
#[path = "load_tests.rs"]
mod tests;
