//! `lienav record`: topics into an MCAP bag, for machines without rosbag2.
//!
//! A topic is recorded from the moment on that somebody publishes it, as reliably as its publishers send. The bag is
//! readable at any time up to the last second: a process that is killed loses no more.

use super::names::Names;
use super::receive::{Inbox, WAIT, all, receive};
use super::start::{self, StartError};
use super::stop::Stop;
use lienav_base::stamp::Stamp;
use lienav_io::bag::metadata::Qos;
use lienav_io::bag::{BagWriter, TopicId, TypeText, WriteError};
use r2r::qos::{DurabilityPolicy, ReliabilityPolicy};
use r2r::{Node, QosProfile};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// What `slam_node` subscribes to and publishes, beside ground truth and transforms, as docs/running.md names it.
pub const TOPICS: [&str; 23] = [
    "odom",
    "features",
    "imu",
    "absolute_pose",
    "fix",
    "camera_info",
    "scan",
    "initialpose",
    "/tf",
    "/tf_static",
    "pose",
    "amcl_pose",
    "odometry/filtered",
    "odometry/local",
    "path",
    "landmarks",
    "markers",
    "slam_node/pose_quality",
    "/diagnostics",
    "ground_truth/pose",
    "ground_truth/path",
    "ground_truth/landmarks",
    "/rosout",
];

/// New topics are looked for so often.
const LOOKING: Duration = Duration::from_millis(200);
/// What was received is brought to the file so often: no more is lost where the process is killed.
const FLUSHING: Duration = Duration::from_secs(1);
/// Messages of one topic that may wait while the disk is busy.
const DEPTH: usize = 5000;

/// What to record, and where.
#[derive(Clone, Debug)]
pub struct Options {
    /// The folder of the new bag.
    pub bag: PathBuf,
    /// Only these topics; [`TOPICS`] if there is none.
    pub topics: Vec<String>,
    /// The namespace of names without a slash in front.
    pub namespace: String,
    /// Every topic there is.
    pub all: bool,
    /// The longest time; `None` until the end is asked for.
    pub duration: Option<Duration>,
}

/// Why nothing is recorded.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// ROS refuses.
    #[error(transparent)]
    Start(#[from] StartError),
    /// The bag cannot be written.
    #[error(transparent)]
    Write(#[from] WriteError),
}

impl From<r2r::Error> for RecordError {
    fn from(error: r2r::Error) -> Self {
        Self::Start(error.into())
    }
}

/// What was recorded: each topic with its messages, and the topics that were named and that nobody published.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recorded {
    /// By topic.
    pub messages: BTreeMap<String, u64>,
    /// Topics that were asked for by name.
    pub missing: Vec<String>,
}

/// Records until `stop`, or the end of [`Options::duration`]. `progress` gets the number of messages so far.
///
/// # Errors
/// ROS refuses, or the bag cannot be written; what was recorded before stays readable.
pub fn record(options: &Options, stop: &Stop, mut progress: impl FnMut(u64)) -> Result<Recorded, RecordError> {
    let mut node = Node::create(start::context()?, "lienav_record", "")?;
    let mut writer = BagWriter::record(&options.bag)?;
    let wanted: BTreeSet<String> = wanted(&node, options)?;
    let mut heard = Heard::default();
    let begun = Instant::now();
    let (mut looked, mut flushed) = (None::<Instant>, begun);
    while !stop.is_requested() && options.duration.is_none_or(|limit| begun.elapsed() < limit) {
        if looked.is_none_or(|at| at.elapsed() >= LOOKING) {
            heard.look(&mut node, &mut writer, |topic| options.all || wanted.contains(topic))?;
            looked = Some(Instant::now());
        }
        let now = |batch: Vec<(TopicId, Vec<u8>)>, writer: &mut BagWriter| -> Result<(), WriteError> {
            let received = system_time();
            batch.iter().try_for_each(|(topic, bytes)| writer.write_serialized(*topic, received, received, bytes))
        };
        now(all(&mut node, &mut heard.inboxes, WAIT), &mut writer)?;
        if flushed.elapsed() >= FLUSHING {
            writer.flush()?;
            flushed = Instant::now();
            progress(writer.message_count());
        }
    }
    // What had arrived when the end was asked for.
    let received = system_time();
    for (topic, bytes) in all(&mut node, &mut heard.inboxes, Duration::ZERO) {
        writer.write_serialized(topic, received, received, &bytes)?;
    }
    let messages: BTreeMap<String, u64> = writer.counts().map(|(topic, count)| (topic.to_owned(), count)).collect();
    writer.finish()?;
    let is_missing = |topic: &&String| messages.get(*topic).is_none_or(|count| *count == 0);
    let missing =
        if options.topics.is_empty() { Vec::new() } else { wanted.iter().filter(is_missing).cloned().collect() };
    Ok(Recorded { messages, missing })
}

/// The full names of what is to be recorded.
fn wanted(node: &Node, options: &Options) -> r2r::Result<BTreeSet<String>> {
    let names = Names::of(node)?;
    let namespace = options.namespace.trim_matches('/');
    let full = |topic: &str| match topic.starts_with('/') || namespace.is_empty() {
        true => names.resolve(topic),
        false => format!("/{namespace}/{topic}"),
    };
    let of_node: Vec<String> = TOPICS.iter().map(|topic| full(topic)).collect();
    let given = options.topics.iter().map(|topic| full(topic));
    Ok(if options.topics.is_empty() { of_node.into_iter().collect() } else { given.collect() })
}

/// What is listened to.
#[derive(Default)]
struct Heard {
    inboxes: Vec<Inbox<(TopicId, Vec<u8>)>>,
    /// Topics that are recorded, or cannot be.
    known: BTreeSet<String>,
}

impl Heard {
    /// Listens to topics that somebody publishes since the last look.
    fn look(
        &mut self,
        node: &mut Node,
        writer: &mut BagWriter,
        is_wanted: impl Fn(&str) -> bool,
    ) -> Result<(), RecordError> {
        for (topic, types) in node.get_topic_names_and_types()? {
            if !is_wanted(&topic) || self.known.contains(&topic) {
                continue;
            }
            let publishers = node.get_publishers_info_by_topic(&topic, false)?;
            let [type_name] = types.as_slice() else {
                tracing::warn!("{topic} is not recorded: its publishers have several types, {}", types.join(", "));
                self.known.insert(topic);
                continue;
            };
            if publishers.is_empty() {
                continue;
            }
            let is_reliable = publishers.iter().all(|p| p.qos_profile.reliability == ReliabilityPolicy::Reliable);
            let is_latched =
                is_reliable && publishers.iter().all(|p| p.qos_profile.durability == DurabilityPolicy::TransientLocal);
            let (qos, offered) = match (is_reliable, is_latched) {
                (true, true) => (QosProfile::default().reliable().transient_local(), Qos::LATCHED),
                (true, false) => (QosProfile::default().reliable().volatile(), Qos::RELIABLE),
                (false, _) => (QosProfile::sensor_data(), Qos::BEST_EFFORT),
            };
            let stream = node.subscribe_raw(&topic, type_name, qos.keep_last(DEPTH))?;
            let (text, hash) = described(type_name);
            let id =
                writer.add_topic_described(&topic, &TypeText { name: type_name, text: &text, hash: &hash }, offered)?;
            self.inboxes.push(receive(stream, move |bytes| (id, bytes)));
            self.known.insert(topic);
        }
        Ok(())
    }
}

/// Definition and hash of an interface, as installed: empty where it is not.
fn described(type_name: &str) -> (String, String) {
    let prefixes: Vec<PathBuf> =
        std::env::split_paths(&std::env::var_os("AMENT_PREFIX_PATH").unwrap_or_default()).collect();
    let mut text = String::new();
    append(type_name, &prefixes, &mut text, &mut BTreeSet::new());
    let hash = installed(type_name, &prefixes, "json").and_then(|json| {
        let value: serde_json::Value = serde_json::from_str(&json).ok()?;
        Some(value.get("type_hashes")?.get(0)?.get("hash_string")?.as_str()?.to_owned())
    });
    (text, hash.unwrap_or_default())
}

/// The file of an interface such as `std_msgs/msg/Header`.
fn installed(type_name: &str, prefixes: &[PathBuf], extension: &str) -> Option<String> {
    let path = |prefix: &PathBuf| prefix.join("share").join(format!("{type_name}.{extension}"));
    prefixes.iter().find_map(|prefix| std::fs::read_to_string::<&Path>(&path(prefix)).ok())
}

/// Adds a definition and those it is made of, as rosbag2 stores them.
fn append(type_name: &str, prefixes: &[PathBuf], out: &mut String, seen: &mut BTreeSet<String>) {
    if !seen.insert(type_name.to_owned()) {
        return;
    }
    let Some(own) = installed(type_name, prefixes, "msg") else { return };
    if seen.len() > 1 {
        out.push_str(&format!("\n{}\nMSG: {}\n", "=".repeat(80), type_name.replace("/msg/", "/")));
    }
    out.push_str(&own);
    let package = type_name.split('/').next().unwrap_or_default();
    for line in own.lines() {
        let kind = line.trim().split([' ', '[', '#']).next().unwrap_or_default();
        // Types of messages begin with a capital, or name their package.
        let (package, name) = kind.split_once('/').unwrap_or((package, kind));
        if name.starts_with(|c: char| c.is_ascii_uppercase()) && !name.contains('=') {
            append(&format!("{package}/msg/{name}"), prefixes, out, seen);
        }
    }
}

fn system_time() -> Stamp {
    let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Stamp::from_nanos(i64::try_from(since_epoch.as_nanos()).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_definition_has_all_that_it_is_made_of_once() {
        let folder = tempfile::tempdir().unwrap();
        let share = folder.path().join("share/p/msg");
        std::fs::create_dir_all(&share).unwrap();
        std::fs::write(share.join("A.msg"), "B first # of two\nB[] others\nint32 C=3\nfloat64 x\n").unwrap();
        std::fs::write(share.join("B.msg"), "p/A[<=1] ring\n").unwrap();
        let (mut text, prefixes) = (String::new(), [folder.path().to_owned()]);
        append("p/msg/A", &prefixes, &mut text, &mut BTreeSet::new());
        assert_eq!((text.matches("MSG: p/B\n").count(), text.matches("MSG:").count()), (1, 1), "{text}");
        assert!(text.starts_with("B first") && text.ends_with("p/A[<=1] ring\n"), "{text}");
    }
}
