//! `lienav evaluate --live`: listens to running nodes, and makes of what it hears what the evaluator takes.
//!
//! Everything heard is written to a bag as it comes, and the bag is read as any other is: live and recorded input go
//! through the same door.

use super::qos;
use super::receive::{Inbox, receive};
use super::start::{self, StartError};
use super::stop::Stop;
use lienav_base::stamp::Stamp;
use lienav_eval::run::{Estimate, Run};
use lienav_io::bag::metadata::Qos;
use lienav_io::bag::{BagWriter, Existing, HeardTruth, Role, TopicId, Topics, UNREADABLE, WriteError, cdr, load};
use lienav_io::cloud::{Wanted, decode_landmarks};
use lienav_io::convert::{Refusal, planar_block, pose_of, stamp_of};
use lienav_io::messages::{Message, PointCloud2, PoseWithCovarianceStamped};
use lienav_io::recording::{OpenError, Recording};
use lienav_slam::Landmark;
use nalgebra::Matrix2;
use r2r::diagnostic_msgs::msg::{DiagnosticArray, DiagnosticStatus};
use r2r::{Node, QosProfile};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// What to listen to, and for how long.
#[derive(Clone, Debug)]
pub struct Options {
    /// Topics of poses (`geometry_msgs/PoseWithCovarianceStamped`), each with a name for the report.
    pub poses: Vec<(String, String)>,
    /// Topics of input and truth, where they have other than the usual names.
    pub topics: Topics,
    /// The longest time to listen; `None` for no limit.
    pub duration: Option<Duration>,
    /// The end is also there when nothing has come for this long after the first message.
    pub silence: Duration,
    /// Where what was heard is kept as a bag; `None` keeps nothing.
    pub bag: Option<(PathBuf, Existing)>,
}

/// What was heard.
#[derive(Clone, Debug, Default)]
pub struct Heard {
    /// Input of the filters, and truth.
    pub recording: Recording,
    /// What each topic of poses said, in the order of [`Options::poses`].
    pub runs: Vec<Run>,
}

/// Why nothing could be heard.
#[derive(Debug, thiserror::Error)]
pub enum LiveError {
    /// ROS refuses.
    #[error(transparent)]
    Start(#[from] StartError),
    /// The bag cannot be written.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// The bag cannot be read again.
    #[error(transparent)]
    Read(#[from] OpenError),
    /// No folder for what is heard.
    #[error("a temporary folder: {0}")]
    Temporary(#[from] std::io::Error),
    /// Nobody said anything.
    #[error("no message was received on {0}; check that the nodes run in this ROS_DOMAIN_ID")]
    Silence(String),
}

impl From<r2r::Error> for LiveError {
    fn from(error: r2r::Error) -> Self {
        Self::Start(error.into())
    }
}

/// The longest a turn of ROS lasts.
const TURN: Duration = Duration::from_millis(50);

/// What is told of a run that goes on: the runs so far, of their sources the topics, and the truth so far.
pub type Watcher<'a> = &'a mut dyn FnMut(&[Run], &Recording);

/// How often a watcher is told.
const GLANCE: Duration = Duration::from_secs(1);

/// Listens until `stop`, the end of [`Options::duration`], or [`Options::silence`], and tells `watcher` once a second.
///
/// # Errors
/// ROS refuses, the bag cannot be written, or no pose was heard.
pub fn listen(options: &Options, stop: &Stop, mut watcher: Option<Watcher>) -> Result<Heard, LiveError> {
    let mut node = Node::create(start::context()?, "lienav_evaluate", "")?;
    let temporary;
    let (path, existing) = match &options.bag {
        Some((path, existing)) => (path.clone(), *existing),
        None => {
            temporary = tempfile::tempdir()?;
            (temporary.path().join("live"), Existing::Refuse)
        }
    };
    let mut writer = BagWriter::create(&path, existing)?;
    let mut ears = Ears::default();
    ears.open_inputs(&mut node, &mut writer, &options.topics)?;
    let mut subjects = Vec::new();
    for (name, topic) in &options.poses {
        subjects.push(ears.open_subject(&mut node, &mut writer, name, topic)?);
    }
    let mut diagnostics = receive(node.subscribe::<DiagnosticArray>("/diagnostics", qos::reliable())?, |m| m);

    let mut statuses = BTreeMap::new();
    let begun = Instant::now();
    let (mut last_heard, mut last_told) = (None, begun);
    while !stop.is_requested() {
        node.spin_once(TURN);
        if ears.hear(&mut writer, &mut subjects)? {
            last_heard = Some(Instant::now());
        }
        diagnostics(&mut |message| statuses.extend(message.status.into_iter().map(|s| (s.name.clone(), s))));
        if let Some(tell) = watcher.as_mut().filter(|_| last_told.elapsed() >= GLANCE) {
            let runs: Vec<Run> = subjects.iter().map(|subject| subject.so_far(&statuses)).collect();
            tell(&runs, ears.truth.recording());
            last_told = Instant::now();
        }
        let too_long = options.duration.is_some_and(|limit| begun.elapsed() >= limit);
        let silent = last_heard.is_some_and(|at: Instant| at.elapsed() >= options.silence);
        if too_long || silent {
            break;
        }
    }
    writer.finish()?;
    if subjects.iter().all(|subject| subject.run.estimates.is_empty()) {
        let topics: Vec<&str> = subjects.iter().map(|s| s.topic.as_str()).collect();
        return Err(LiveError::Silence(topics.join(", ")));
    }
    let mut recording = load(&path, &options.topics)?;
    // The reader warns of topics it does not know; here these are the poses, which were read already.
    recording.warnings.clear();
    let runs = subjects.into_iter().map(|subject| subject.into_run(&recording, &statuses)).collect();
    Ok(Heard { recording, runs })
}

/// Everything that is listened to.
#[derive(Default)]
struct Ears {
    inboxes: Vec<(Inbox<Vec<u8>>, TopicId, Use)>,
    /// For a watcher; the report reads the bag.
    truth: HeardTruth,
}

/// What becomes of a message beside being written down.
#[derive(Clone, Copy)]
enum Use {
    /// What the bag is read for later.
    Recorded(Role),
    /// A pose of this subject.
    Pose(usize),
    /// The map of this subject.
    Map(usize),
}

impl Ears {
    fn open_inputs(&mut self, node: &mut Node, writer: &mut BagWriter, topics: &Topics) -> Result<(), LiveError> {
        for role in Role::ALL {
            let name = match role {
                Role::Odometry => &topics.odometry,
                Role::Scan => &topics.features,
                Role::Imu => &topics.imu,
                Role::AbsolutePose => &topics.absolute_pose,
                Role::Fix => &topics.fix,
                Role::Truth => &topics.truth,
                Role::TrueLandmarks => &topics.true_landmarks,
            };
            let name = name.as_deref().unwrap_or(role.usual_name());
            let latched = role == Role::TrueLandmarks;
            let Some(type_name) = role.types().first() else { continue };
            self.open(node, writer, name, type_name, latched, Use::Recorded(role))?;
        }
        Ok(())
    }

    fn open_subject(
        &mut self,
        node: &mut Node,
        writer: &mut BagWriter,
        name: &str,
        topic: &str,
    ) -> Result<Subject, LiveError> {
        let topic = with_slash(topic);
        let index = self.inboxes.iter().filter(|(_, _, what)| matches!(what, Use::Pose(_))).count();
        self.open(node, writer, &topic, PoseWithCovarianceStamped::TYPE, false, Use::Pose(index))?;
        let namespace = topic.rsplit_once('/').map_or("", |(namespace, _)| namespace).to_owned();
        self.open(node, writer, &format!("{namespace}/landmarks"), PointCloud2::TYPE, false, Use::Map(index))?;
        let run = Run { filter: name.to_owned(), ..Run::default() };
        Ok(Subject { topic, namespace, run })
    }

    fn open(
        &mut self,
        node: &mut Node,
        writer: &mut BagWriter,
        name: &str,
        type_name: &str,
        latched: bool,
        what: Use,
    ) -> Result<(), LiveError> {
        let name = with_slash(name);
        // Best effort fits every publisher of a stream; what was said once is only given to those who ask for it.
        let (listened, written): (QosProfile, Qos) =
            if latched { (qos::latched(), Qos::LATCHED) } else { (qos::sensor_data(), Qos::RELIABLE) };
        let stream = node.subscribe_raw(&name, type_name, listened)?;
        let topic = writer.add_topic_of_type(&name, type_name, written)?;
        self.inboxes.push((receive(stream, |bytes| bytes), topic, what));
        Ok(())
    }

    /// Writes down what has come, and gives poses and maps to their subjects. True if anything came.
    fn hear(&mut self, writer: &mut BagWriter, subjects: &mut [Subject]) -> Result<bool, WriteError> {
        let mut heard = Vec::new();
        for (index, (inbox, ..)) in self.inboxes.iter_mut().enumerate() {
            inbox(&mut |bytes| heard.push((index, bytes)));
        }
        let now = system_time();
        for (index, bytes) in &heard {
            let Some((_, topic, what)) = self.inboxes.get(*index) else { continue };
            writer.write_serialized(*topic, now, now, bytes)?;
            match *what {
                Use::Recorded(role) => role.types().iter().take(1).for_each(|kind| self.truth.take(role, kind, bytes)),
                Use::Pose(subject) => subjects.get_mut(subject).into_iter().for_each(|one| one.hear_pose(bytes)),
                Use::Map(subject) => subjects.get_mut(subject).into_iter().for_each(|one| one.hear_map(bytes)),
            }
        }
        Ok(!heard.is_empty())
    }
}

/// A topic of poses, and what was heard there.
struct Subject {
    topic: String,
    namespace: String,
    run: Run,
}

impl Subject {
    fn hear_pose(&mut self, bytes: &[u8]) {
        match estimate_of(bytes) {
            Ok(estimate) => self.run.estimates.push(estimate),
            Err(word) => *self.run.dropped.entry(word.to_owned()).or_default() += 1,
        }
    }

    fn hear_map(&mut self, bytes: &[u8]) {
        let Ok(message) = cdr::decode::<PointCloud2>(bytes) else { return };
        if let Ok(landmarks) = landmarks_of(&message) {
            self.run.landmarks = landmarks;
        }
    }

    /// The run so far; what the node has dropped is what it last said.
    fn so_far(&self, statuses: &BTreeMap<String, DiagnosticStatus>) -> Run {
        let mut run = Run { source: format!("live {}", self.topic), ..self.run.clone() };
        run.estimates.sort_by_key(|estimate| estimate.stamp);
        for (reason, count) in dropped_by(&self.namespace, statuses) {
            *run.dropped.entry(reason).or_default() += count;
        }
        run
    }

    fn into_run(mut self, recording: &Recording, statuses: &BTreeMap<String, DiagnosticStatus>) -> Run {
        self.run.source = format!("live {}", self.topic);
        self.run.estimates.sort_by_key(|estimate| estimate.stamp);
        // The node and the reader of what was heard refuse the same messages for the same reasons: each counts once.
        let mut dropped = recording.dropped.clone();
        for (reason, count) in dropped_by(&self.namespace, statuses) {
            let known = dropped.entry(reason).or_default();
            *known = count.max(*known);
        }
        for (reason, count) in dropped {
            *self.run.dropped.entry(reason).or_default() += count;
        }
        if self.run.estimates.is_empty() {
            self.run.warnings.push(format!("no message was received on {}", self.topic));
        }
        self.run
    }
}

/// The pose of a message, or the word for why there is none.
fn estimate_of(bytes: &[u8]) -> Result<Estimate, &'static str> {
    let message: PoseWithCovarianceStamped = cdr::decode(bytes).map_err(|_| UNREADABLE)?;
    let stamp = stamp_of(&message.header.stamp).map_err(|refusal| refusal.word())?;
    let pose = pose_of(&message.pose.pose).map_err(|refusal| refusal.word())?;
    Ok(Estimate { stamp, pose, covariance: planar_block(&message.pose.covariance), update: None })
}

/// What the node of a namespace says that it has dropped.
fn dropped_by(namespace: &str, statuses: &BTreeMap<String, DiagnosticStatus>) -> BTreeMap<String, u64> {
    let own = |name: &str| {
        let node = name.strip_suffix(": filter")?;
        let (found, _) = node.rsplit_once('/').unwrap_or(("", node));
        (found == namespace.trim_start_matches('/')).then_some(())
    };
    let mut dropped = BTreeMap::new();
    for status in statuses.values().filter(|status| own(&status.name).is_some()) {
        for value in &status.values {
            if let (Some(reason), Ok(count @ 1..)) = (value.key.strip_prefix("dropped."), value.value.parse::<u64>()) {
                *dropped.entry(reason.to_owned()).or_default() += count;
            }
        }
    }
    dropped
}

/// The map as slam_node publishes it.
fn landmarks_of(cloud: &PointCloud2) -> Result<Vec<Landmark>, Refusal> {
    let stamp = stamp_of(&cloud.header.stamp)?;
    let positions = decode_landmarks(cloud)?;
    let readers = [
        cloud.reader("var_x", Wanted::Number)?,
        cloud.reader("var_y", Wanted::Number)?,
        cloud.reader("cov_xy", Wanted::Number)?,
    ];
    let covariance = |point: usize| match readers {
        [Some(xx), Some(yy), Some(xy)] => {
            let [xx, yy, xy] = [xx, yy, xy].map(|reader| reader.number(&cloud.data.0, point));
            Matrix2::new(xx, xy, xy, yy)
        }
        _ => Matrix2::zeros(),
    };
    let points = cloud.point_offsets()?;
    let landmark = |((id, position), point): ((u32, _), usize)| Landmark {
        id,
        position,
        covariance: covariance(point),
        last_seen: stamp,
        measurements: 0,
    };
    // slam_node gives every landmark an identity, so that none is left out between the two.
    Ok(positions.into_iter().zip(points).map(landmark).collect())
}

fn with_slash(name: &str) -> String {
    format!("/{}", name.trim_start_matches('/'))
}

fn system_time() -> Stamp {
    let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Stamp::from_nanos(i64::try_from(since_epoch.as_nanos()).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use r2r::diagnostic_msgs::msg::KeyValue;

    #[test]
    fn drops_are_those_of_the_node_beside_the_poses() {
        let status = |name: &str, count: u64| DiagnosticStatus {
            name: name.to_owned(),
            values: vec![
                KeyValue { key: "dropped.gated".into(), value: count.to_string() },
                KeyValue { key: "dropped.absurd".into(), value: "0".into() },
                KeyValue { key: "steps".into(), value: "9".into() },
            ],
            ..Default::default()
        };
        let all = [status("ekf/slam_node: filter", 3), status("slam_node: filter", 5), status("other: thing", 7)];
        let all = all.into_iter().map(|s| (s.name.clone(), s)).collect();
        assert_eq!(dropped_by("/ekf", &all), BTreeMap::from([("gated".to_owned(), 3)]));
        assert_eq!(dropped_by("", &all), BTreeMap::from([("gated".to_owned(), 5)]));
        assert!(dropped_by("/reduced", &all).is_empty());
    }
}
