//! `metadata.yaml` of a rosbag2 folder: version 9 (Jazzy) is written, every version since Foxy's is read.

use lienav_files::bounds;
use lienav_files::open;
use lienav_files::yaml;
use serde::{Deserialize, Serialize};
use serde_yaml_ng::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The name of the file.
pub const FILE_NAME: &str = "metadata.yaml";

/// The file's content.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Document {
    /// Everything there is.
    pub rosbag2_bagfile_information: Metadata,
}

/// What a bag says of itself.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Metadata {
    /// Of the format of this file.
    pub version: i64,
    /// `mcap` or `sqlite3`.
    pub storage_identifier: String,
    /// From the first to the last message.
    pub duration: Duration,
    /// Of the first message.
    pub starting_time: StartingTime,
    /// Of all topics together.
    pub message_count: u64,
    /// Each topic.
    pub topics_with_message_count: Vec<TopicWithCount>,
    /// `zstd` or nothing.
    pub compression_format: Option<String>,
    /// `FILE`, `MESSAGE` or nothing.
    pub compression_mode: Option<String>,
    /// The files, in the order in which they were recorded.
    pub relative_file_paths: Vec<PathBuf>,
    /// What each file holds.
    pub files: Vec<FileInformation>,
    /// Anything, by name.
    pub custom_data: Option<BTreeMap<String, String>>,
    /// The distribution that recorded it.
    pub ros_distro: Option<String>,
}

/// A length of time.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Duration {
    /// In nanoseconds.
    pub nanoseconds: i64,
}

/// An instant.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct StartingTime {
    /// In nanoseconds since the epoch.
    pub nanoseconds_since_epoch: i64,
}

/// A topic, and how much there is of it.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct TopicWithCount {
    /// The topic.
    pub topic_metadata: TopicMetadata,
    /// Its messages.
    pub message_count: u64,
}

/// A topic.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct TopicMetadata {
    /// Its name, with the leading slash.
    pub name: String,
    /// `package/msg/Type`.
    #[serde(rename = "type")]
    pub type_name: String,
    /// `cdr`.
    pub serialization_format: String,
    /// A list since version 9, a text that holds one before.
    pub offered_qos_profiles: Value,
    /// REP 2011 hash of the type.
    pub type_description_hash: String,
}

/// What a file holds.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct FileInformation {
    /// Relative to the folder.
    pub path: PathBuf,
    /// Of its first message.
    pub starting_time: StartingTime,
    /// From its first to its last message.
    pub duration: Duration,
    /// Its messages.
    pub message_count: u64,
}

/// How a topic was published.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Qos {
    history: &'static str,
    depth: u32,
    reliability: &'static str,
    durability: &'static str,
    deadline: Interval,
    lifespan: Interval,
    liveliness: &'static str,
    liveliness_lease_duration: Interval,
    avoid_ros_namespace_conventions: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
struct Interval {
    sec: u64,
    nsec: u64,
}

impl Qos {
    /// Reliable and volatile, the last ten: what most publishers offer.
    pub const RELIABLE: Self = Self::new("volatile", 10);
    /// Best effort and volatile: what drivers of sensors offer.
    pub const BEST_EFFORT: Self = Self { reliability: "best_effort", ..Self::RELIABLE };
    /// Reliable and kept for those who come late.
    pub const LATCHED: Self = Self::new("transient_local", 1);

    const fn new(durability: &'static str, depth: u32) -> Self {
        // As rmw says "for ever": the greatest number of nanoseconds.
        const FOREVER: Interval = Interval { sec: 9_223_372_036, nsec: 854_775_807 };
        Self {
            history: "keep_last",
            depth,
            reliability: "reliable",
            durability,
            deadline: FOREVER,
            lifespan: FOREVER,
            liveliness: "automatic",
            liveliness_lease_duration: FOREVER,
            avoid_ros_namespace_conventions: false,
        }
    }
}

/// Where a file of a bag is, links resolved. What a bag names it does not choose itself: someone else may have made it.
///
/// # Errors
/// The sentence to show: it lies outside of the bag's folder, or is not there.
pub(super) fn inside(folder: &Path, file: &Path) -> Result<PathBuf, String> {
    let canonical = |path: &Path| path.canonicalize().map_err(|error| format!("{}: {error}", file.display()));
    let (folder, found) = (canonical(folder)?, canonical(file)?);
    if !found.starts_with(&folder) {
        let (file, found) = (file.display(), found.display());
        return Err(format!("{file}: leads out of the bag's folder, to {found}; give that file itself to read it"));
    }
    Ok(found)
}

impl Metadata {
    /// Reads the file of a folder.
    ///
    /// # Errors
    /// Why it cannot be read, in words.
    pub fn read(folder: &Path) -> Result<Self, String> {
        let path = folder.join(FILE_NAME);
        let text = open::regular(&path).and_then(|file| open::text(file, bounds::TEXT));
        let text = text.map_err(|e| e.to_string())?;
        let document: Document = yaml::from_str(&text).map_err(|e| e.to_string())?;
        Ok(document.rosbag2_bagfile_information)
    }

    /// The files, as paths to open. The first versions named them with the folder in front.
    pub fn file_paths(&self, folder: &Path) -> Vec<PathBuf> {
        let path = |relative: &PathBuf| {
            let joined = folder.join(relative);
            match relative.file_name() {
                Some(name) if !joined.exists() => folder.join(name),
                _ => joined,
            }
        };
        self.relative_file_paths.iter().map(path).collect()
    }
}
