//! Reads bags of either storage, record by record in the order of time, holding little of them in memory.

use super::metadata::{self, Metadata};
use super::read_mcap::McapFile;
use super::read_sqlite::SqliteFile;
use super::record::{Record, Storage, Topic};
use super::unpack::{unpack_file, unpack_message};
use super::write::is_storage;
use lienav_base::stamp::Stamp;
use lienav_files::OpenError;
use lienav_files::bounds::{self, Bytes};
use lienav_files::files::Temporary;
use lienav_files::open;
use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

/// A bag that is being read; an iterator over its records in the order of their `log_time`. The source is never
/// written to. What is damaged is left out, and said in [`BagReader::warnings`].
pub struct BagReader {
    metadata: Option<Metadata>,
    topics: Vec<Topic>,
    /// Which of them has this name, type and encoding.
    places: HashMap<(String, String, String), usize>,
    sources: Vec<Source>,
    messages_are_compressed: bool,
    longest_message: u64,
    /// Bytes of compressed messages so far, and what they unpacked to.
    packed: u64,
    unpacked: u64,
    warnings: Warnings,
}

struct Source {
    storage: Box<dyn Storage>,
    /// Which of the bag's topics each of the storage's is.
    topics: Vec<usize>,
    state: State,
    _unpacked: Option<Temporary>,
}

/// A file is read from when its first record may be the next, and not before: of a bag that is split into many files,
/// few are in memory.
enum State {
    Waiting,
    CheckedMeasurement,
    Ahead(Record),
    Ended,
}

/// Sentences about damage: the first ones, and how many more there are.
#[derive(Default)]
struct Warnings {
    sentences: Vec<String>,
    more: usize,
}

impl Warnings {
    fn push(&mut self, sentence: String) {
        if self.sentences.len() < bounds::WARNINGS {
            self.sentences.push(sentence);
            return;
        }
        self.more += 1;
        self.sentences.truncate(bounds::WARNINGS);
        self.sentences.push(format!("{} more problems of this bag are not listed", self.more));
    }

    fn extend(&mut self, sentences: Vec<String>) {
        sentences.into_iter().for_each(|sentence| self.push(sentence));
    }
}

impl BagReader {
    /// Opens a folder, or a single `.mcap` or `.db3` file, or either of these packed as `….zstd`.
    ///
    /// # Errors
    /// Nothing of it can be read.
    pub fn open(path: &Path) -> Result<Self, OpenError> {
        let kind = fs::metadata(path).map_err(|error| OpenError::io(path, error))?;
        let mut warnings = Warnings::default();
        let (metadata, files) =
            if kind.is_dir() { files_of_folder(path, &mut warnings)? } else { (None, vec![path.to_owned()]) };
        let mut bag = Self {
            metadata,
            topics: Vec::new(),
            places: HashMap::new(),
            sources: Vec::new(),
            messages_are_compressed: false,
            longest_message: bounds::MESSAGE,
            packed: 0,
            unpacked: 0,
            warnings,
        };
        if let Some(metadata) = &bag.metadata {
            let mode = metadata.compression_mode.as_deref().unwrap_or_default();
            bag.messages_are_compressed = mode.eq_ignore_ascii_case("message");
        }
        let size = files.iter().filter_map(|file| fs::metadata(file).ok()).map(|file| file.len()).sum();
        let mut allowance = bounds::unpacked(size);
        for file in files {
            match open_file(&file, &mut allowance) {
                Ok((storage, unpacked)) => bag.add_source(storage, unpacked),
                // What this machine lacks is no damage of the bag.
                Err(error) if kind.is_dir() && !matches!(error, OpenError::NoRoom { .. }) => {
                    bag.warnings.push(error.to_string());
                }
                Err(error) => return Err(error),
            }
        }
        if bag.sources.is_empty() {
            let problem = if !path.join(metadata::FILE_NAME).exists() && !holds_storage(path) {
                format!("not a rosbag2 bag: it has no {}; {DATA_SETS}", metadata::FILE_NAME)
            } else {
                bag.warnings.sentences.join("; ")
            };
            return Err(OpenError::bag(path, problem));
        }
        Ok(bag)
    }

    /// What was recorded.
    pub fn topics(&self) -> &[Topic] {
        &self.topics
    }

    /// `log_time` of the first and the last record; `None` for an empty bag.
    pub fn bounds(&self) -> Option<(Stamp, Stamp)> {
        let bounds = self.sources.iter().filter_map(|source| source.storage.bounds());
        bounds.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))
    }

    /// How many records there are; a damaged bag may give fewer.
    pub fn message_count(&self) -> u64 {
        self.sources.iter().map(|source| source.storage.message_count()).sum()
    }

    /// `metadata.yaml`, where the bag has one that can be read.
    pub fn metadata(&self) -> Option<&Metadata> {
        self.metadata.as_ref()
    }

    /// What was found to be damaged so far, one sentence each; complete when the last record was read.
    pub fn warnings(&self) -> &[String] {
        &self.warnings.sentences
    }

    /// Reads only the topics for which `wanted`, by the index in [`BagReader::topics`], is true: of others, nothing is
    /// copied, and chunks that hold only others are passed over. Begins anew. Messages of more than 64 MB, which no
    /// filter is fed with, are left out.
    pub fn select(&mut self, wanted: &[bool]) {
        self.longest_message = bounds::FILTER_MESSAGE;
        for source in &mut self.sources {
            let own: Vec<bool> = source.topics.iter().map(|&topic| wanted.get(topic) == Some(&true)).collect();
            source.storage.select(&own, self.longest_message);
            source.state = State::Waiting;
        }
    }

    /// Goes to the first record that was received at `from` or later; `Stamp::MIN` rewinds.
    pub fn seek(&mut self, from: Stamp) {
        (self.packed, self.unpacked) = (0, 0);
        for source in &mut self.sources {
            source.storage.seek(from);
            source.state = State::Waiting;
        }
    }

    fn add_source(&mut self, mut storage: Box<dyn Storage>, unpacked: Option<Temporary>) {
        self.warnings.extend(storage.take_warnings());
        let mut topics = Vec::with_capacity(storage.topics().len());
        for topic in storage.topics() {
            let mut topic = topic.clone();
            if topic.encoding == CDR {
                topic.type_name = full_type_name(topic.type_name);
            }
            let key = (topic.name.clone(), topic.type_name.clone(), topic.encoding.clone());
            topics.push(*self.places.entry(key).or_insert_with(|| {
                self.topics.push(topic);
                self.topics.len() - 1
            }));
        }
        self.sources.push(Source { storage, topics, state: State::Waiting, _unpacked: unpacked });
    }

    /// The file whose next record is the earliest of all.
    fn earliest(&mut self) -> Option<usize> {
        let begins = |source: &Source| source.storage.bounds().map_or(Stamp::MIN, |(first, _)| first);
        loop {
            let ahead = self.sources.iter().enumerate().filter_map(|(index, source)| match &source.state {
                State::Ahead(record) => Some((record.log_time, index)),
                _ => None,
            });
            let earliest = ahead.min();
            let may_be_earlier = |source: &Source| match source.state {
                State::Waiting => earliest.is_none_or(|(stamp, _)| begins(source) <= stamp),
                State::CheckedMeasurement => true,
                State::Ahead(_) | State::Ended => false,
            };
            let behind = self.sources.iter_mut().filter(|source| may_be_earlier(source));
            let Some(source) = behind.min_by_key(|source| begins(source)) else {
                return earliest.map(|(_, index)| index);
            };
            source.state = source.storage.next().map_or(State::Ended, State::Ahead);
            self.warnings.extend(source.storage.take_warnings());
        }
    }

    fn unpack(&mut self, record: &mut Record) -> Result<(), String> {
        self.packed += record.data.len() as u64;
        let allowance = bounds::unpacked_messages(self.packed).saturating_sub(self.unpacked);
        let limit = self.longest_message.min(allowance);
        let data = unpack_message(&record.data, limit);
        // One that is refused has cost as much.
        self.unpacked += data.as_ref().map_or(limit, |data| data.as_ref().map_or(limit, |data| data.len() as u64));
        let Some(data) = data.map_err(|error| error.to_string())? else {
            let longest = self.longest_message;
            return Err(if limit < longest {
                format!("with it, messages unpack to {}, more than those of any recording", Bytes(self.unpacked))
            } else {
                format!("it is longer than {}", Bytes(longest))
            });
        };
        record.data = data;
        Ok(())
    }
}

impl Iterator for BagReader {
    type Item = Record;

    fn next(&mut self) -> Option<Record> {
        loop {
            let index = self.earliest()?;
            let source = self.sources.get_mut(index)?;
            let State::Ahead(mut record) = std::mem::replace(&mut source.state, State::CheckedMeasurement) else {
                continue;
            };
            record.topic = *source.topics.get(record.topic)?;
            if self.messages_are_compressed
                && let Err(problem) = self.unpack(&mut record)
            {
                let topic = self.topics.get(record.topic).map_or("", |topic| topic.name.as_str());
                let (topic, stamp) = (topic.escape_debug(), record.log_time);
                self.warnings.push(format!("a message of {topic} at {stamp} cannot be unpacked: {problem}"));
                continue;
            }
            return Some(record);
        }
    }
}

/// The only encoding of messages that is read.
pub(super) const CDR: &str = "cdr";

/// `package/msg/Type` of a message in CDR that is called `package/Type`, `package::msg::dds_::Type_` or
/// `package::msg::Type`; any other name as it is.
fn full_type_name(name: String) -> String {
    let plain = name.replace("::dds_::", "::").replace("::", "/");
    match plain.trim_end_matches('_').split('/').collect::<Vec<_>>()[..] {
        [package, kind] | [package, "msg", kind] if !package.is_empty() && !kind.is_empty() => {
            format!("{package}/msg/{kind}")
        }
        _ => name,
    }
}

/// What to do with a folder that is a data set rather than a bag.
const DATA_SETS: &str = "a data set is given as woods:FOLDER or mrclam:FOLDER:ROBOT";

fn holds_storage(folder: &Path) -> bool {
    fs::read_dir(folder).is_ok_and(|mut entries| entries.any(|entry| entry.is_ok_and(|e| is_storage(&e.path()))))
}

/// The storage files of a folder, as its `metadata.yaml` lists them; by name where there is none, as after a crash of
/// the recorder.
fn files_of_folder(folder: &Path, warnings: &mut Warnings) -> Result<(Option<Metadata>, Vec<PathBuf>), OpenError> {
    let io_error = |error| OpenError::io(folder, error);
    match Metadata::read(folder) {
        Ok(metadata) if !metadata.relative_file_paths.is_empty() => {
            let mut files = Vec::new();
            let mut seen = BTreeSet::new();
            for file in metadata.file_paths(folder) {
                // A name that leads nowhere is reported where it is opened.
                match metadata::inside(folder, &file) {
                    Ok(canonical) if seen.insert(canonical.clone()) => files.push(file),
                    Ok(_) => warnings.push(format!("{}: is listed twice; it is read once", file.display())),
                    Err(problem) => warnings.push(problem),
                }
            }
            return Ok((Some(metadata), files));
        }
        Ok(_) => warnings.push(format!(
            "{}: lists no storage files; those of the folder are read by name",
            folder.join(metadata::FILE_NAME).display()
        )),
        Err(_) if !folder.join(metadata::FILE_NAME).exists() => {
            warnings.push(format!(
                "{}: no {}: the bag is still being recorded, or its recorder was killed; what is in its files so far is \
                 read",
                folder.display(),
                metadata::FILE_NAME
            ));
        }
        Err(problem) => warnings.push(format!("{}: {problem}", folder.join(metadata::FILE_NAME).display())),
    }
    let entries = fs::read_dir(folder).map_err(io_error)?;
    let mut files: Vec<PathBuf> =
        entries.filter_map(|entry| entry.ok().map(|e| e.path())).filter(|path| is_storage(path)).collect();
    // rosbag2 numbers the files of a split bag without padding: shorter names come first.
    files.sort_by_key(|path| (path.as_os_str().len(), path.clone()));
    files.retain(|file| match metadata::inside(folder, file) {
        Ok(_) => true,
        Err(problem) => {
            warnings.push(problem);
            false
        }
    });
    Ok((None, files))
}

type Opened = (Box<dyn Storage>, Option<Temporary>);

fn open_file(path: &Path, allowance: &mut u64) -> Result<Opened, OpenError> {
    let is_packed = path.extension().is_some_and(|e| e == "zstd");
    let unpacked = if is_packed { Some(unpack_file(path, allowance)?) } else { None };
    let plain: &Path = unpacked.as_ref().map_or(path, Temporary::path);
    let mut magic = Vec::new();
    let file = open::regular(plain).map_err(|error| OpenError::io(path, error))?;
    file.take(16).read_to_end(&mut magic).map_err(|error| OpenError::io(path, error))?;
    let storage: Box<dyn Storage> = if magic.starts_with(mcap::MAGIC) {
        Box::new(McapFile::open(plain, path)?)
    } else if magic.starts_with(b"SQLite format 3\0") {
        Box::new(SqliteFile::open(plain, path)?)
    } else {
        return Err(OpenError::bag(path, "neither an MCAP file nor an SQLite database"));
    };
    Ok((storage, unpacked))
}
