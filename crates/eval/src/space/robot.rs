//! A bag of a robot in space: what `slam3d_node` makes of its messages, by the same intake and the same pipeline, and the
//! truth that the bag has.

use super::run::SpaceRun;
use super::session::Session;
use super::truth::Truth;
use lienav_base::settings::Described;
use lienav_base::stamp::Stamp;
use lienav_io::bag::{BagReader, Record, Role, Topic, Topics, UNREADABLE, cdr, roles_of};
use lienav_io::convert::{SpaceKind, se3_of, space_kind, stamp_of};
use lienav_io::messages::{
    AprilTagDetectionArray, CameraInfo, Imu, Message, Odometry, PointCloud2, Pose, PoseStamped,
    PoseWithCovarianceStamped, TfMessage,
};
use lienav_io::open::read_text;
use lienav_io::recording::OpenError;
use lienav_io::settings_file::{overlay_known, stated_names, with};
use lienav_io::space::data::{SpaceRecording, TruePose};
use lienav_io::space::robot::filter::{Filter, Unused};
use lienav_io::space::robot::settings::Settings;
use lienav_io::space::robot::{filter_of, map};
use lienav_lie::{LieGroup, Se3, So3};
use lienav_space::tags::TagConfig;
use lienav_space::{Config, DropReason};
use nalgebra::Vector3;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Instant;

/// The node whose parameters these are.
pub const NODE: &str = "slam3d_node";
/// What a source begins with that names such a bag, whatever is in it.
pub const PREFIX: &str = "space-bag:";
/// Parameters that were recorded with the bag, in its folder.
const PARAMETERS: &str = "params.yaml";
/// They are not longer, bytes.
const LONGEST: u64 = 1 << 20;
const TF_STATIC: &str = "/tf_static";
const INITIAL_POSE: &str = "/initialpose";

/// The parameters of the robot: those of the filter, of tags, and of the node.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Parameters {
    /// Of the filter.
    pub config: Config,
    /// Of tags.
    pub tags: TagConfig,
    /// Of the node.
    pub node: Settings,
}

impl Parameters {
    /// The parameters in a bag's folder, if it has any; over these a parameter file or YAML.
    ///
    /// # Errors
    /// The sentence to show.
    pub fn of(bag: &Path, file: Option<&str>) -> Result<Self, String> {
        let mut all = Self::default();
        let recorded = bag.join(PARAMETERS);
        if recorded.exists() {
            let text = read_text(&recorded, LONGEST).map_err(|error| format!("{}: {error}", recorded.display()))?;
            if text.contains(NODE) {
                all = all.under(&text).map_err(|error| format!("{}: {error}", recorded.display()))?;
            }
        }
        file.map_or(Ok(all.clone()), |text| all.under(text))
    }

    fn under(&self, yaml: &str) -> Result<Self, String> {
        /// Parameters that every node has.
        const OF_ALL: [&str; 2] = ["use_sim_time", "autostart"];
        let names = stated_names(yaml, NODE).map_err(|error| error.to_string())?;
        let is_known = |name: &String| {
            let theirs = [Config::SPECS, TagConfig::SPECS, Settings::SPECS].concat();
            let is_other = OF_ALL.contains(&name.as_str()) || name.starts_with("qos_overrides.");
            is_other || theirs.iter().any(|spec| spec.name == name)
        };
        if let Some(unknown) = names.iter().find(|name| !is_known(name)) {
            return Err(format!("{NODE} has no parameter '{unknown}'"));
        }
        fn over<T: Serialize + DeserializeOwned + Described>(base: &T, yaml: &str) -> Result<T, String> {
            overlay_known(base, yaml, NODE).map_err(|error| error.to_string())
        }
        Ok(Self { config: over(&self.config, yaml)?, tags: over(&self.tags, yaml)?, node: over(&self.node, yaml)? })
    }

    /// With one of them as it is said.
    ///
    /// # Errors
    /// The sentence to show.
    pub fn with(mut self, name: &str, value: &str) -> Result<Self, String> {
        let is_of = |specs: &[lienav_base::settings::Spec]| specs.iter().any(|spec| spec.name == name);
        if is_of(TagConfig::SPECS) {
            self.tags = with(&self.tags, name, value).map_err(|error| error.to_string())?;
        } else if is_of(Settings::SPECS) {
            self.node = with(&self.node, name, value).map_err(|error| error.to_string())?;
        } else {
            self.config = with(&self.config, name, value).map_err(|error| error.to_string())?;
        }
        Ok(self)
    }
}

/// What the messages of a topic are to the robot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Input {
    Transforms,
    CameraInfo(usize),
    Imu,
    Features,
    Detections(usize),
    Odometry,
    AbsolutePose,
    InitialPose,
    Truth,
}

impl Input {
    /// Whether it says how the robot is built: it is read before all others.
    fn is_of_robot(self) -> bool {
        matches!(self, Self::Transforms | Self::CameraInfo(_))
    }
}

/// Whether a source is a bag of a robot in space: one that is named so, or whose features are pixels.
pub fn is_bag(source: &str, topics: &Topics) -> bool {
    if source.starts_with(PREFIX) {
        return true;
    }
    let Ok(mut bag) = BagReader::open(Path::new(source)) else { return false };
    let Ok(roles) = roles_of(bag.topics(), topics) else { return false };
    let wanted: Vec<bool> = roles.iter().map(|role| *role == Some(Role::Scan)).collect();
    bag.select(&wanted);
    let first = bag.by_ref().find_map(|record| cdr::decode::<PointCloud2>(&record.data).ok());
    let kind = first.and_then(|message| space_kind(&message).ok());
    matches!(kind, Some(SpaceKind::Pixels | SpaceKind::Stereo))
}

/// Topics with the types of tags, and those of their cameras, are taken from the bag where no parameter names them and it has
/// no features.
fn find_tags(found: &[Topic], roles: &[Option<Role>], parameters: &mut Parameters) {
    let has_features = roles.contains(&Some(Role::Scan));
    if has_features || parameters.node.tags.is_used() {
        return;
    }
    let of_type = |type_name: &'static str| found.iter().filter(move |topic| topic.type_name == type_name);
    parameters.node.tags.detections = of_type(AprilTagDetectionArray::TYPE).map(|topic| topic.name.clone()).collect();
}

/// What each topic is to the robot.
fn inputs_of(found: &[Topic], roles: &[Option<Role>], parameters: &Parameters) -> Vec<Option<Input>> {
    let same = |name: &str, other: &str| name.trim_start_matches('/') == other.trim_start_matches('/');
    let (tags, infos) = (parameters.node.tags.topics(), parameters.node.tags.camera_infos());
    let cameras = found.iter().filter(|topic| topic.type_name == CameraInfo::TYPE).count();
    let input = |(topic, role): (&Topic, &Option<Role>)| {
        if tags.is_empty() && *role == Some(Role::Scan) {
            return Some(Input::Features);
        }
        match topic.type_name.as_str() {
            AprilTagDetectionArray::TYPE => tags.iter().position(|name| same(name, &topic.name)).map(Input::Detections),
            CameraInfo::TYPE if tags.is_empty() => {
                (cameras == 1 || same(&topic.name, "camera_info")).then_some(Input::CameraInfo(0))
            }
            CameraInfo::TYPE => infos.iter().position(|name| same(name, &topic.name)).map(Input::CameraInfo),
            TfMessage::TYPE => (topic.name == TF_STATIC).then_some(Input::Transforms),
            PoseWithCovarianceStamped::TYPE if topic.name == INITIAL_POSE => Some(Input::InitialPose),
            _ => match role {
                Some(Role::Imu) if tags.is_empty() || parameters.tags.tags.use_imu => Some(Input::Imu),
                Some(Role::Odometry) if parameters.node.uses_odometry() => Some(Input::Odometry),
                Some(Role::AbsolutePose) => Some(Input::AbsolutePose),
                Some(Role::Truth) => Some(Input::Truth),
                _ => None,
            },
        }
    };
    found.iter().zip(roles).map(input).collect()
}

/// A bag that was run.
#[derive(Clone, Debug, Default)]
pub struct Replay {
    /// Its name, the truth, what was left out, and sentences; no input.
    pub recording: SpaceRecording,
    /// What was estimated: poses of the robot's frame in the map.
    pub run: SpaceRun,
    /// A pose from outside, or a map, has said where the robot is.
    pub is_placed: bool,
}

impl Replay {
    /// The truth of the bag, which is level by REP 103. Where nothing has put the robot into a map, the map is that of its
    /// start, and the truth is moved there.
    pub fn truth(&self) -> Truth {
        let mut recording = self.recording.clone();
        recording.gravity = Some(-9.81 * Vector3::z());
        let truth = Truth::of(&recording);
        if self.is_placed {
            return truth;
        }
        let first = self.run.estimates.iter().find_map(|one| Some((one.pose, truth.at(one.stamp)?)));
        let Some((own, at)) = first else { return truth };
        let yaw = |pose: &Se3| {
            let ahead = pose.rotation * Vector3::x();
            ahead.y.atan2(ahead.x)
        };
        let turn = So3::exp(&(Vector3::z() * (yaw(&own) - yaw(&at))));
        let moved = Se3::new(turn, own.translation - turn * at.translation);
        recording.truth.iter_mut().for_each(|one| one.pose = moved * one.pose);
        Truth::of(&recording)
    }
}

/// Runs the filter that the parameters name over a bag.
///
/// # Errors
/// The bag cannot be read, has not what the filter takes, or a parameter is wrong.
pub fn run(folder: &Path, topics: &Topics, mut parameters: Parameters) -> Result<Replay, OpenError> {
    let wrong = |problem: String| OpenError::Bag { path: folder.to_owned(), problem };
    let found = BagReader::open(folder)?.topics().to_vec();
    let roles = roles_of(&found, topics).map_err(wrong)?;
    find_tags(&found, &roles, &mut parameters);
    let inputs = inputs_of(&found, &roles, &parameters);
    let has = |wanted: fn(&Input) -> bool| inputs.iter().flatten().any(wanted);
    let has_features = has(|input| matches!(input, Input::Features | Input::Detections(_)));
    if !has_features || (!parameters.node.tags.is_used() && !has(|input| *input == Input::Imu)) {
        let there = found.iter().map(|topic| format!("{} ({})", topic.name, topic.type_name)).collect::<Vec<_>>();
        return Err(wrong(format!(
            "a robot in space has imu and features, or tags.detections; there are: {}",
            there.join(", ")
        )));
    }
    let (name, file) = (parameters.config.filter.clone(), parameters.node.map.file.clone());
    let filter = filter_of(&parameters.node, parameters.config, parameters.tags).map_err(wrong)?;
    let mut robot = Robot::new(filter);
    if !file.is_empty() && Path::new(&file).exists() {
        let sentence = map::load(&mut robot.filter, Path::new(&file)).map_err(|why| wrong(format!("{file}: {why}")))?;
        robot.recording.warnings.push(format!("{file}: {sentence}"));
        robot.is_placed = true;
    }
    for is_of_robot in [true, false] {
        let mut bag = BagReader::open(folder)?;
        let is_wanted = |input: &Option<Input>| input.is_some_and(|input| input.is_of_robot() == is_of_robot);
        bag.select(&inputs.iter().map(is_wanted).collect::<Vec<_>>());
        for record in bag.by_ref() {
            if let (Some(Some(input)), Some(topic)) = (inputs.get(record.topic), found.get(record.topic)) {
                robot.take(*input, topic, &record);
            }
        }
        robot.recording.warnings.extend(bag.warnings().iter().cloned());
    }
    Ok(robot.end(name, folder))
}

/// A filter, and what it has given.
struct Robot {
    filter: Filter,
    session: Session,
    recording: SpaceRecording,
    is_placed: bool,
}

impl Robot {
    fn new(filter: Filter) -> Self {
        Self { filter, session: Session::default(), recording: SpaceRecording::default(), is_placed: false }
    }

    fn take(&mut self, input: Input, topic: &Topic, record: &Record) {
        let begun = Instant::now();
        self.filter.arrived(record.log_time.secs());
        if let Err(word) = self.pass(input, topic, &record.data) {
            *self.recording.dropped.entry(word.to_owned()).or_default() += 1;
        }
        self.session.spent_s += begun.elapsed().as_secs_f64();
        self.take_steps();
    }

    /// A word for why a message was refused; what the filter drops it counts itself.
    fn pass(&mut self, input: Input, topic: &Topic, bytes: &[u8]) -> Result<(), &'static str> {
        fn read<M: Message>(bytes: &[u8]) -> Result<M, &'static str> {
            cdr::decode(bytes).map_err(|_| UNREADABLE)
        }
        fn used<T>(taken: Result<T, Unused>) -> Result<Option<T>, &'static str> {
            match taken {
                Ok(taken) => Ok(Some(taken)),
                Err(Unused::Refused(refusal)) => Err(refusal.word()),
                Err(Unused::Dropped(_) | Unused::Idle) => Ok(None),
            }
        }
        let filter = &mut self.filter;
        match input {
            Input::Transforms => {
                let refused = filter.transforms(&read::<TfMessage>(bytes)?);
                return refused.first().map_or(Ok(()), |refusal| Err(refusal.word()));
            }
            Input::CameraInfo(number) => {
                return filter.camera_info(number, &read::<CameraInfo>(bytes)?).map_err(|refusal| refusal.word());
            }
            Input::Imu => {
                used(filter.imu(&read::<Imu>(bytes)?))?;
            }
            Input::Features => {
                let taken = used(filter.features(&read::<PointCloud2>(bytes)?))?;
                if let Some((unknown, _)) = taken.filter(|(unknown, _)| *unknown > 0) {
                    *self.recording.dropped.entry("no_identity".to_owned()).or_default() += unknown as u64;
                }
            }
            Input::Detections(number) => {
                let (refused, outcome) = filter.detections(number, &read::<AprilTagDetectionArray>(bytes)?);
                for word in refused {
                    *self.recording.dropped.entry(word.to_owned()).or_default() += 1;
                }
                used(outcome)?;
            }
            Input::Odometry => {
                used(filter.odometry(&read::<Odometry>(bytes)?))?;
            }
            Input::AbsolutePose => {
                let taken = used(filter.absolute_pose(&read::<PoseWithCovarianceStamped>(bytes)?))?;
                self.is_placed |= taken.is_some();
            }
            Input::InitialPose => {
                let taken = used(filter.initial_pose(&read::<PoseWithCovarianceStamped>(bytes)?))?;
                self.is_placed |= taken.is_some();
            }
            Input::Truth => {
                let (stamp, pose) = match topic.type_name.as_str() {
                    PoseStamped::TYPE => read::<PoseStamped>(bytes).map(|m| (m.header.stamp, m.pose))?,
                    Odometry::TYPE => read::<Odometry>(bytes).map(|m| (m.header.stamp, m.pose.pose))?,
                    _ => read::<PoseWithCovarianceStamped>(bytes).map(|m| (m.header.stamp, m.pose.pose))?,
                };
                return self.take_truth(stamp_of(&stamp).map_err(|refusal| refusal.word())?, &pose);
            }
        }
        Ok(())
    }

    fn take_truth(&mut self, stamp: Stamp, pose: &Pose) -> Result<(), &'static str> {
        let pose = se3_of(pose).map_err(|refusal| refusal.word())?;
        let truth = &mut self.recording.truth;
        if truth.last().is_some_and(|last| stamp <= last.stamp) || !pose.translation.iter().all(|x| x.is_finite()) {
            return Err("bad_truth");
        }
        truth.push(TruePose { stamp, pose, velocity: None, force_bias: None });
        Ok(())
    }

    fn take_steps(&mut self) {
        loop {
            let begun = Instant::now();
            let step = self.filter.poll();
            self.session.spent_s += begun.elapsed().as_secs_f64();
            let Some(mut step) = step else { return };
            if step.has_frame {
                let body = step.estimate;
                (step.estimate.pose, step.estimate.covariance) = self.filter.to_base(&body.pose, &body.covariance);
                self.session.take(&step);
            }
        }
    }

    fn end(mut self, filter: String, folder: &Path) -> Replay {
        let counts = self.filter.counts().by_word();
        let dropped: BTreeMap<String, u64> = counts
            .into_iter()
            .filter(|(word, _)| *word != DropReason::Gated.word())
            .map(|(word, count)| (word.to_owned(), count))
            .collect();
        self.session.counts.dropped.extend(dropped);
        let source =
            folder.file_name().map_or_else(|| folder.display().to_string(), |name| name.to_string_lossy().into());
        self.recording.name.clone_from(&source);
        let Session { estimates, step_us, counts, .. } = self.session;
        let landmarks = self.filter.listed().into_iter().map(|landmark| (landmark.id, landmark.position)).collect();
        let warnings = self.recording.warnings.clone();
        let run = SpaceRun { filter, source, estimates, step_us, counts, landmarks, windows: Vec::new(), warnings };
        Replay { recording: self.recording, run, is_placed: self.is_placed }
    }
}
