//! Reads bags of either storage, record by record in the order of time, holding little of them in memory.

use super::metadata::{self, Metadata};
use super::read_mcap::McapFile;
use super::read_sqlite::SqliteFile;
use super::write::is_storage;
use crate::recording::OpenError;
use lienav_base::stamp::Stamp;
use std::fs::{self, File};
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};
use tempfile::TempPath;

/// A topic of a bag.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Topic {
    /// Its name, as recorded.
    pub name: String,
    /// `package/msg/Type`; empty where the bag does not say.
    pub type_name: String,
    /// How its messages are serialised: `cdr`.
    pub encoding: String,
    /// The profiles of its publishers, as YAML; empty where the bag does not say.
    pub qos: String,
}

/// A message as it was recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Which of [`BagReader::topics`].
    pub topic: usize,
    /// When it was received.
    pub log_time: Stamp,
    /// When it was published; the former where the storage does not know.
    pub publish_time: Stamp,
    /// Its content, CDR header in front.
    pub data: Vec<u8>,
}

/// One storage file.
pub(super) trait Storage: Send {
    /// What it holds; [`Record::topic`] of its records counts these.
    fn topics(&self) -> &[Topic];
    /// Stamps of the first and the last record.
    fn bounds(&self) -> Option<(Stamp, Stamp)>;
    /// How many records it holds, damaged ones included.
    fn message_count(&self) -> u64;
    /// The next record in the order of time.
    fn next(&mut self) -> Option<Record>;
    /// Goes to the first record that was received at `from` or later.
    fn seek(&mut self, from: Stamp);
    /// What was found to be damaged, one sentence each, since the last call.
    fn take_warnings(&mut self) -> Vec<String>;
}

/// A bag that is being read; an iterator over its records in the order of their `log_time`. The source is never
/// written to. What is damaged is left out, and said in [`BagReader::warnings`].
pub struct BagReader {
    metadata: Option<Metadata>,
    topics: Vec<Topic>,
    sources: Vec<Source>,
    messages_are_compressed: bool,
    warnings: Vec<String>,
}

struct Source {
    storage: Box<dyn Storage>,
    /// Which of the bag's topics each of the storage's is.
    topics: Vec<usize>,
    ahead: Option<Record>,
    _unpacked: Option<TempPath>,
}

impl BagReader {
    /// Opens a folder, or a single `.mcap` or `.db3` file, or either of these packed as `….zstd`.
    ///
    /// # Errors
    /// Nothing of it can be read.
    pub fn open(path: &Path) -> Result<Self, OpenError> {
        let kind = fs::metadata(path).map_err(|error| OpenError::io(path, error))?;
        let mut warnings = Vec::new();
        let (metadata, files) =
            if kind.is_dir() { files_of_folder(path, &mut warnings)? } else { (None, vec![path.to_owned()]) };
        let mut bag =
            Self { metadata, topics: Vec::new(), sources: Vec::new(), messages_are_compressed: false, warnings };
        if let Some(metadata) = &bag.metadata {
            let mode = metadata.compression_mode.as_deref().unwrap_or_default();
            bag.messages_are_compressed = mode.eq_ignore_ascii_case("message");
        }
        for file in files {
            match open_file(&file) {
                Ok((storage, unpacked)) => bag.add_source(storage, unpacked),
                Err(error) if kind.is_dir() => bag.warnings.push(error.to_string()),
                Err(error) => return Err(error),
            }
        }
        if bag.sources.is_empty() {
            let problem = if !path.join(metadata::FILE_NAME).exists() && !holds_storage(path) {
                format!("not a rosbag2 bag: it has no {}; {DATA_SETS}", metadata::FILE_NAME)
            } else {
                bag.warnings.join("; ")
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
        &self.warnings
    }

    /// Goes to the first record that was received at `from` or later; `Stamp::MIN` rewinds.
    pub fn seek(&mut self, from: Stamp) {
        for source in &mut self.sources {
            source.storage.seek(from);
            source.ahead = None;
        }
    }

    fn add_source(&mut self, mut storage: Box<dyn Storage>, unpacked: Option<TempPath>) {
        self.warnings.append(&mut storage.take_warnings());
        let mut topics = Vec::with_capacity(storage.topics().len());
        for topic in storage.topics() {
            let same =
                |t: &Topic| (&t.name, &t.type_name, &t.encoding) == (&topic.name, &topic.type_name, &topic.encoding);
            topics.push(self.topics.iter().position(same).unwrap_or_else(|| {
                self.topics.push(topic.clone());
                self.topics.len() - 1
            }));
        }
        self.sources.push(Source { storage, topics, ahead: None, _unpacked: unpacked });
    }
}

impl Iterator for BagReader {
    type Item = Record;

    fn next(&mut self) -> Option<Record> {
        loop {
            for source in self.sources.iter_mut().filter(|source| source.ahead.is_none()) {
                source.ahead = source.storage.next();
                self.warnings.append(&mut source.storage.take_warnings());
            }
            let stamp = |source: &Source| source.ahead.as_ref().map(|record| record.log_time);
            let source = self.sources.iter_mut().filter(|s| s.ahead.is_some()).min_by_key(|s| stamp(s))?;
            let mut record = source.ahead.take()?;
            record.topic = *source.topics.get(record.topic)?;
            if self.messages_are_compressed {
                match unpack_message(&record.data) {
                    Ok(data) => record.data = data,
                    Err(error) => {
                        let topic = &self.topics[record.topic].name;
                        self.warnings
                            .push(format!("a message of {topic} at {} cannot be unpacked: {error}", record.log_time));
                        continue;
                    }
                }
            }
            return Some(record);
        }
    }
}

/// What to do with a folder that is a data set rather than a bag.
const DATA_SETS: &str = "a data set is given as woods:FOLDER or mrclam:FOLDER:ROBOT";

fn holds_storage(folder: &Path) -> bool {
    fs::read_dir(folder).is_ok_and(|mut entries| entries.any(|entry| entry.is_ok_and(|e| is_storage(&e.path()))))
}

/// The storage files of a folder, as its `metadata.yaml` lists them; by name where there is none, as after a crash of
/// the recorder.
fn files_of_folder(folder: &Path, warnings: &mut Vec<String>) -> Result<(Option<Metadata>, Vec<PathBuf>), OpenError> {
    match Metadata::read(folder) {
        Ok(metadata) if !metadata.relative_file_paths.is_empty() => {
            let files = metadata.file_paths(folder);
            return Ok((Some(metadata), files));
        }
        Ok(_) => warnings.push(format!(
            "{}: lists no storage files; those of the folder are read by name",
            folder.join(metadata::FILE_NAME).display()
        )),
        Err(_) if !folder.join(metadata::FILE_NAME).exists() => {
            warnings.push(format!("{}: no {}; storage files are read by name", folder.display(), metadata::FILE_NAME));
        }
        Err(problem) => warnings.push(format!("{}: {problem}", folder.join(metadata::FILE_NAME).display())),
    }
    let entries = fs::read_dir(folder).map_err(|error| OpenError::io(folder, error))?;
    let mut files: Vec<PathBuf> =
        entries.filter_map(|entry| entry.ok().map(|e| e.path())).filter(|path| is_storage(path)).collect();
    // rosbag2 numbers the files of a split bag without padding: shorter names come first.
    files.sort_by_key(|path| (path.as_os_str().len(), path.clone()));
    Ok((None, files))
}

fn open_file(path: &Path) -> Result<(Box<dyn Storage>, Option<TempPath>), OpenError> {
    let unpacked = if path.extension().is_some_and(|e| e == "zstd") {
        Some(unpack_file(path).map_err(|error| OpenError::io(path, error))?)
    } else {
        None
    };
    let plain: &Path = unpacked.as_deref().unwrap_or(path);
    let mut magic = Vec::new();
    let file = File::open(plain).map_err(|error| OpenError::io(path, error))?;
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

/// Unpacks a file as far as it can be: a cut one gives its beginning.
fn unpack_file(path: &Path) -> io::Result<TempPath> {
    let mut packed = zstd::Decoder::new(BufReader::new(File::open(path)?))?;
    let mut plain = tempfile::NamedTempFile::new()?;
    match io::copy(&mut packed, &mut plain) {
        Err(error) if plain.as_file().metadata()?.len() == 0 => Err(error),
        _ => Ok(plain.into_temp_path()),
    }
}

fn unpack_message(packed: &[u8]) -> io::Result<Vec<u8>> {
    const LIMIT: u64 = 1 << 28;
    let mut data = Vec::new();
    zstd::Decoder::new(packed)?.take(LIMIT).read_to_end(&mut data)?;
    Ok(data)
}
