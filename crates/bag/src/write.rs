//! Writes rosbag2 folders: MCAP storage in zstd chunks, `metadata.yaml` beside it.

use super::cdr::{self, CdrError};
use super::metadata::{
    Document, Duration, FILE_NAME, FileInformation, Metadata, Qos, StartingTime, TopicMetadata, TopicWithCount,
};
use super::schema::definition;
use lienav_base::stamp::Stamp;
use lienav_files::files::{StagedFolder, remedy, write_atomically};
use lienav_intake::messages::Message;
use mcap::records::MessageHeader;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};

/// A bag that cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// The file system says no.
    #[error("{}: cannot be written: {error}{}", path.display(), remedy(error))]
    Io {
        /// Of which file or folder.
        path: PathBuf,
        /// What it says.
        error: io::Error,
    },
    /// A recording with inputs that have no usual topic.
    #[error(
        "the recording has further sensors, tags or sources of odometry, which its own bag has and a converted one would \
         not: keep that bag, or leave them out of its params.yaml"
    )]
    Further,
    /// Something is there already.
    #[error("{} exists already; choose another folder, or replace it with --force", .0.display())]
    Exists(PathBuf),
    /// Something is there that is not a bag, so it is not replaced.
    #[error("{} is not replaced: {found}; choose another folder", path.display())]
    NotABag {
        /// The folder.
        path: PathBuf,
        /// Why it is not a bag, as a clause.
        found: String,
    },
    /// A type without a definition in [`super::schema`].
    #[error("topic {topic}: the message type {type_name} is not one that lienav can write")]
    UnknownType {
        /// The topic.
        topic: String,
        /// Its type.
        type_name: String,
    },
    /// A topic that was added to another bag.
    #[error("the topic was not added to this bag; add it with add_topic")]
    UnknownTopic,
    /// A message that cannot be encoded.
    #[error(transparent)]
    Cdr(#[from] CdrError),
    /// MCAP stamps are not negative.
    #[error("stamp {0} s is negative; a bag can only store stamps from 0 on")]
    BeforeTheEpoch(Stamp),
    /// The MCAP writer says no.
    #[error("{}: {error}", path.display())]
    Mcap {
        /// The file.
        path: PathBuf,
        /// What it says.
        error: mcap::McapError,
    },
}

impl WriteError {
    /// What the MCAP writer says; an error of the file system below it is reported as that.
    fn mcap(path: PathBuf, error: mcap::McapError) -> Self {
        match error {
            mcap::McapError::Io(error) => Self::Io { path, error },
            error => Self::Mcap { path, error },
        }
    }
}

/// What to do where the folder of a new bag exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Existing {
    /// Leave it, and say so.
    Refuse,
    /// Replace it, if it is empty or a bag and nothing else.
    Replace,
}

/// A topic of a bag that is being written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TopicId(usize);

struct Topic {
    name: String,
    type_name: String,
    hash: String,
    qos: Qos,
    channel: u16,
    count: u64,
}

/// What a bag says of a message type, so that it can be read without it.
#[derive(Clone, Copy, Debug)]
pub struct TypeText<'a> {
    /// Full name, `package/msg/Type`.
    pub name: &'a str,
    /// Its definition with those of all types it is made of, as rosbag2 stores it under `ros2msg`; empty where no
    /// writer has it.
    pub text: &'a str,
    /// REP 2011 hash of its description; empty where no writer has it.
    pub hash: &'a str,
}

/// Where the folder of a bag is while it is written.
enum Place {
    /// Hidden, until it takes its place as a whole.
    Staged(StagedFolder),
    /// Where it belongs.
    Open(PathBuf),
}

impl Place {
    fn path(&self) -> &Path {
        match self {
            Self::Staged(folder) => folder.path(),
            Self::Open(path) => path,
        }
    }
}

/// A bag that is being written. It grows in a hidden folder `.NAME…tmp` beside its place, and takes its place, whole,
/// with [`BagWriter::finish`]; dropped before, it leaves nothing. A killed process leaves the hidden folder, whose
/// `.mcap` file can be read up to the last chunk, until [`lienav_files::files::remove_leftovers`].
pub struct BagWriter {
    target: PathBuf,
    existing: Existing,
    mcap: Option<mcap::Writer<BufWriter<File>>>,
    mcap_name: String,
    folder: Place,
    topics: Vec<Topic>,
    bounds: Option<(Stamp, Stamp)>,
    custom_data: BTreeMap<String, String>,
}

impl BagWriter {
    /// Begins a bag that will be the folder `target`.
    ///
    /// # Errors
    /// The folder exists and `existing` does not let it be replaced, or its parent cannot be written to.
    pub fn create(target: &Path, existing: Existing) -> Result<Self, WriteError> {
        check_replaceable(target, existing)?;
        let folder = StagedFolder::create(target).map_err(|error| WriteError::Io { path: target.to_owned(), error })?;
        Self::begin(target, existing, Place::Staged(folder))
    }

    /// Begins a bag that grows in the folder `target` itself, for a recorder: a process that is killed leaves a folder
    /// without `metadata.yaml`, which can be read up to the last [`BagWriter::flush`].
    ///
    /// # Errors
    /// Something is there already, or the folder cannot be written to.
    pub fn record(target: &Path) -> Result<Self, WriteError> {
        check_replaceable(target, Existing::Refuse)?;
        fs::create_dir_all(target).map_err(|error| WriteError::Io { path: target.to_owned(), error })?;
        Self::begin(target, Existing::Refuse, Place::Open(target.to_owned()))
    }

    fn begin(target: &Path, existing: Existing, folder: Place) -> Result<Self, WriteError> {
        let io_error = |error| WriteError::Io { path: target.to_owned(), error };
        let name = target.file_name().unwrap_or_default().to_string_lossy();
        let mcap_name = format!("{name}_0.mcap");
        let path = folder.path().join(&mcap_name);
        let file = File::create(&path).map_err(io_error)?;
        let mcap = mcap::WriteOptions::new()
            .profile("ros2")
            .library(concat!("lienav ", env!("CARGO_PKG_VERSION")))
            .compression(Some(mcap::Compression::Zstd))
            .compression_threads(0)
            .create(BufWriter::new(file))
            .map_err(|error| WriteError::mcap(path, error))?;
        Ok(Self {
            target: target.to_owned(),
            existing,
            folder,
            mcap_name,
            mcap: Some(mcap),
            topics: Vec::new(),
            bounds: None,
            custom_data: BTreeMap::new(),
        })
    }

    /// Adds a topic, by its full name, of a message type.
    ///
    /// # Errors
    /// [`WriteError::UnknownType`] for a message of your own, or the file cannot be written to.
    pub fn add_topic<M: Message>(&mut self, name: &str, qos: Qos) -> Result<TopicId, WriteError> {
        self.add_topic_of_type(name, M::TYPE, qos)
    }

    /// Adds a topic whose messages come serialised, `type_name` being one of [`super::schema::DEFINITIONS`].
    ///
    /// # Errors
    /// An unknown type, or the file cannot be written to.
    pub fn add_topic_of_type(&mut self, name: &str, type_name: &str, qos: Qos) -> Result<TopicId, WriteError> {
        let Some(definition) = definition(type_name) else {
            return Err(WriteError::UnknownType { topic: name.to_owned(), type_name: type_name.to_owned() });
        };
        let text = definition.full_text();
        self.add_topic_described(name, &TypeText { name: definition.name, text: &text, hash: definition.hash }, qos)
    }

    /// Adds a topic whose messages come serialised, of a type that the caller describes.
    ///
    /// # Errors
    /// The file cannot be written to.
    pub fn add_topic_described(&mut self, name: &str, kind: &TypeText<'_>, qos: Qos) -> Result<TopicId, WriteError> {
        let channel_metadata = BTreeMap::from([
            ("offered_qos_profiles".to_owned(), yaml(&[qos])),
            ("topic_type_hash".to_owned(), kind.hash.to_owned()),
        ]);
        let channel = self.with_mcap(|mcap| {
            let schema = mcap.add_schema(kind.name, "ros2msg", kind.text.as_bytes())?;
            mcap.add_channel(schema, name, "cdr", &channel_metadata)
        })?;
        let (type_name, hash) = (kind.name.to_owned(), kind.hash.to_owned());
        self.topics.push(Topic { name: name.to_owned(), type_name, hash, qos, channel, count: 0 });
        Ok(TopicId(self.topics.len() - 1))
    }

    /// Writes a message that was received, and published, at `stamp`.
    ///
    /// # Errors
    /// A negative stamp, or the file cannot be written to.
    pub fn write<M: Message>(&mut self, topic: TopicId, stamp: Stamp, message: &M) -> Result<(), WriteError> {
        self.write_serialized(topic, stamp, stamp, &cdr::encode(message)?)
    }

    /// Writes a message that comes serialised, its CDR header in front.
    ///
    /// # Errors
    /// A negative stamp, or the file cannot be written to.
    pub fn write_serialized(
        &mut self,
        topic: TopicId,
        received: Stamp,
        published: Stamp,
        bytes: &[u8],
    ) -> Result<(), WriteError> {
        let nanos = |stamp: Stamp| u64::try_from(stamp.nanos()).map_err(|_| WriteError::BeforeTheEpoch(stamp));
        let (log_time, publish_time) = (nanos(received)?, nanos(published)?);
        let Some(topic) = self.topics.get_mut(topic.0) else { return Err(WriteError::UnknownTopic) };
        topic.count += 1;
        let header = MessageHeader { channel_id: topic.channel, sequence: topic.count as u32, log_time, publish_time };
        self.with_mcap(|mcap| mcap.write_to_known_channel(&header, bytes))?;
        self.bounds = Some(match self.bounds {
            Some((first, last)) => (first.min(received), last.max(received)),
            None => (received, received),
        });
        Ok(())
    }

    /// Puts a sentence into `custom_data` of `metadata.yaml`.
    pub fn set_custom_data(&mut self, key: &str, value: &str) {
        self.custom_data.insert(key.to_owned(), value.to_owned());
    }

    /// Puts a file of your own into the bag's folder.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn add_file(&mut self, name: &str, content: &str) -> Result<(), WriteError> {
        let path = self.folder.path().join(name);
        write_atomically(&path, |out| out.write_all(content.as_bytes()))
            .map_err(|error| WriteError::Io { path: self.target.join(name), error })
    }

    /// Brings all that was written to the file, where it can be read even if this process is killed.
    ///
    /// # Errors
    /// The file cannot be written to.
    pub fn flush(&mut self) -> Result<(), WriteError> {
        self.with_mcap(mcap::Writer::flush)
    }

    /// The topics with how many messages of each were written.
    pub fn counts(&self) -> impl Iterator<Item = (&str, u64)> {
        self.topics.iter().map(|topic| (topic.name.as_str(), topic.count))
    }

    /// How many messages were written.
    pub fn message_count(&self) -> u64 {
        self.topics.iter().map(|topic| topic.count).sum()
    }

    /// Ends the bag and puts it in its place: first everything is on the disk, then one rename.
    ///
    /// # Errors
    /// The files cannot be written, or something has taken the place meanwhile.
    pub fn finish(mut self) -> Result<(), WriteError> {
        let metadata = self.metadata();
        let embedded = mcap::records::Metadata {
            name: "rosbag2".to_owned(),
            metadata: BTreeMap::from([("serialized_metadata".to_owned(), yaml(&metadata))]),
        };
        self.with_mcap(|mcap| {
            mcap.write_metadata(&embedded)?;
            mcap.finish()
        })?;
        self.sync().map_err(|error| self.io_error(error))?;
        let document = yaml(&Document { rosbag2_bagfile_information: metadata });
        self.add_file(FILE_NAME, &document)?;
        self.take_place()
    }

    fn sync(&mut self) -> io::Result<()> {
        match self.mcap.take() {
            Some(mcap) => mcap.into_inner().into_inner().map_err(io::IntoInnerError::into_error)?.sync_all(),
            None => Ok(()),
        }
    }

    fn take_place(self) -> Result<(), WriteError> {
        let Self { target, folder, existing, .. } = self;
        let Place::Staged(folder) = folder else { return Ok(()) };
        check_replaceable(&target, existing)?;
        folder.take_place(&|_| true).map_err(|error| WriteError::Io { path: target, error })
    }

    fn metadata(&self) -> Metadata {
        let (first, last) = self.bounds.unwrap_or_default();
        let duration = Duration { nanoseconds: last.nanos() - first.nanos() };
        let starting_time = StartingTime { nanoseconds_since_epoch: first.nanos() };
        let message_count = self.message_count();
        let path = PathBuf::from(&self.mcap_name);
        let topic = |topic: &Topic| TopicWithCount {
            topic_metadata: TopicMetadata {
                name: topic.name.clone(),
                type_name: topic.type_name.clone(),
                serialization_format: "cdr".to_owned(),
                offered_qos_profiles: serde_yaml_ng::to_value([topic.qos]).unwrap_or_default(),
                type_description_hash: topic.hash.clone(),
            },
            message_count: topic.count,
        };
        Metadata {
            version: 9,
            storage_identifier: "mcap".to_owned(),
            duration,
            starting_time,
            message_count,
            topics_with_message_count: self.topics.iter().map(topic).collect(),
            compression_format: Some(String::new()),
            compression_mode: Some(String::new()),
            relative_file_paths: vec![path.clone()],
            files: vec![FileInformation { path, starting_time, duration, message_count }],
            custom_data: (!self.custom_data.is_empty()).then(|| self.custom_data.clone()),
            ros_distro: Some("jazzy".to_owned()),
        }
    }

    fn with_mcap<T>(
        &mut self,
        act: impl FnOnce(&mut mcap::Writer<BufWriter<File>>) -> mcap::McapResult<T>,
    ) -> Result<T, WriteError> {
        let result = match &mut self.mcap {
            Some(mcap) => act(mcap),
            None => Err(mcap::McapError::AttemptedWriteAfterFailure),
        };
        result.map_err(|error| WriteError::mcap(self.target.join(&self.mcap_name), error))
    }

    fn io_error(&self, error: io::Error) -> WriteError {
        WriteError::Io { path: self.target.clone(), error }
    }
}

fn yaml<T: serde::Serialize + ?Sized>(value: &T) -> String {
    serde_yaml_ng::to_string(value).unwrap_or_default()
}

/// Whether the folder may be taken: it is not there, or it may be replaced and holds nothing but a bag.
fn check_replaceable(target: &Path, existing: Existing) -> Result<(), WriteError> {
    let Ok(found) = fs::symlink_metadata(target) else { return Ok(()) };
    if existing == Existing::Refuse {
        return Err(WriteError::Exists(target.to_owned()));
    }
    let not_a_bag = |found: String| Err(WriteError::NotABag { path: target.to_owned(), found });
    if !found.is_dir() {
        return not_a_bag("it is a file, not the folder of a bag".to_owned());
    }
    let io_error = |error| WriteError::Io { path: target.to_owned(), error };
    for entry in fs::read_dir(target).map_err(io_error)? {
        let entry = entry.map_err(io_error)?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let of_a_bag = [FILE_NAME, super::params::FILE_NAME, super::SPACE_FILE_NAME].contains(&name.as_str())
            || is_storage(Path::new(&name));
        if !of_a_bag || entry.file_type().map_err(io_error)?.is_dir() {
            return not_a_bag(format!("it contains '{name}', which is not part of a rosbag2 bag"));
        }
    }
    Ok(())
}

/// Whether a file is named as the storage of a bag.
pub(super) fn is_storage(path: &Path) -> bool {
    let plain = if path.extension().is_some_and(|e| e == "zstd") { path.with_extension("") } else { path.to_owned() };
    plain.extension().is_some_and(|e| e == "mcap" || e == "db3")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::BagReader;
    use lienav_intake::messages::Clock;

    #[test]
    fn what_was_flushed_of_a_recording_can_be_read_while_it_goes_on() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run");
        let mut bag = BagWriter::record(&path).unwrap();
        let clock = bag.add_topic::<Clock>("/clock", Qos::RELIABLE).unwrap();
        let foreign = TypeText { name: "my_msgs/msg/Mine", text: "int32 x\n", hash: "" };
        let mine = bag.add_topic_described("/mine", &foreign, Qos::BEST_EFFORT).unwrap();
        for k in 0..7 {
            bag.write(clock, Stamp::from_secs(f64::from(k)), &Clock::default()).unwrap();
        }
        bag.write_serialized(mine, Stamp::from_secs(3.0), Stamp::from_secs(3.0), &[0, 1, 0, 0, 5, 0, 0, 0]).unwrap();
        bag.flush().unwrap();
        // What comes after it is lost with a process that is killed here.
        bag.write(clock, Stamp::from_secs(9.0), &Clock::default()).unwrap();
        let mut read = BagReader::open(&path).unwrap();
        assert_eq!(read.by_ref().count(), 8);
        assert!(read.warnings()[0].contains("still being recorded"), "{:?}", read.warnings());
        bag.finish().unwrap();
        let mut read = BagReader::open(&path).unwrap();
        assert_eq!((read.by_ref().count(), read.warnings().len(), read.topics().len()), (9, 0, 2));
        assert!(matches!(BagWriter::record(&path), Err(WriteError::Exists(_))));
    }

    #[test]
    fn a_topic_of_another_bag_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let mut one = BagWriter::create(&folder.path().join("one"), Existing::Refuse).unwrap();
        let mut other = BagWriter::create(&folder.path().join("other"), Existing::Refuse).unwrap();
        let clock = one.add_topic::<Clock>("/clock", Qos::RELIABLE).unwrap();
        let written = other.write(clock, Stamp::default(), &Clock::default());
        assert!(matches!(written, Err(WriteError::UnknownTopic)), "{written:?}");
    }

    #[test]
    fn a_full_disk_is_reported_with_the_file_the_cause_and_a_remedy() {
        let full = mcap::McapError::Io(io::ErrorKind::StorageFull.into());
        let text = WriteError::mcap("run/run_0.mcap".into(), full).to_string();
        let cause = io::Error::from(io::ErrorKind::StorageFull);
        let remedy = "free space or choose a folder on another disk";
        assert_eq!(text, format!("run/run_0.mcap: cannot be written: {cause}; {remedy}"));
    }

    #[test]
    fn what_is_not_a_bag_is_not_replaced_and_the_reason_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("notes");
        fs::write(&file, "").unwrap();
        let text = |path: &Path| BagWriter::create(path, Existing::Replace).err().unwrap().to_string();
        assert!(
            text(&file)
                .ends_with("notes is not replaced: it is a file, not the folder of a bag; choose another folder")
        );
        let reason = "it contains 'notes', which is not part of a rosbag2 bag; choose another folder";
        assert!(text(folder.path()).ends_with(reason), "{}", text(folder.path()));
    }
}
