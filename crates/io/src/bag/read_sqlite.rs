//! One SQLite file of a bag. It is opened as immutable, so that SQLite writes neither to it nor beside it.

use super::read::{Record, Storage, Topic};
use crate::recording::OpenError;
use lienav_base::stamp::Stamp;
use rusqlite::{Connection, OpenFlags, Row};
use std::collections::HashMap;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// An SQLite file.
pub(super) struct SqliteFile {
    path: PathBuf,
    connection: Connection,
    topics: Vec<Topic>,
    topic_of_id: HashMap<i64, usize>,
    /// Stamp and row of each message, by time, and by row where that is the same.
    index: Vec<(i64, i64)>,
    next: usize,
    warnings: Vec<String>,
    _copy: Option<TempDir>,
}

impl SqliteFile {
    /// Opens `path`; `shown` is what messages call it.
    pub fn open(path: &Path, shown: &Path) -> Result<Self, OpenError> {
        let problem = |error: rusqlite::Error| {
            OpenError::bag(shown, format!("the SQLite database is not a rosbag2 bag: {error}"))
        };
        let copy = copy_with_log(path).map_err(|error| OpenError::io(shown, error))?;
        let (connection, copy) = match copy {
            Some((folder, copied)) => (Connection::open(&copied).map_err(problem)?, Some(folder)),
            None => {
                let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
                (Connection::open_with_flags(immutable_uri(path), flags).map_err(problem)?, None)
            }
        };
        let mut file = Self {
            path: shown.to_owned(),
            connection,
            topics: Vec::new(),
            topic_of_id: HashMap::new(),
            index: Vec::new(),
            next: 0,
            warnings: Vec::new(),
            _copy: copy,
        };
        // Without this, SQLite refuses a file that is shorter than its header says as a whole.
        file.connection.pragma_update(None, "writable_schema", true).map_err(problem)?;
        file.read_topics().map_err(problem)?;
        file.read_index();
        Ok(file)
    }

    fn read_topics(&mut self) -> rusqlite::Result<()> {
        let has_qos = self.connection.prepare("SELECT offered_qos_profiles FROM topics").is_ok();
        let qos = if has_qos { "offered_qos_profiles" } else { "''" };
        let query = format!("SELECT id, name, type, serialization_format, {qos} FROM topics ORDER BY id");
        let mut statement = self.connection.prepare(&query)?;
        let topic = |row: &Row<'_>| {
            let topic = Topic { name: row.get(1)?, type_name: row.get(2)?, encoding: row.get(3)?, qos: row.get(4)? };
            Ok((row.get(0)?, topic))
        };
        for row in statement.query_map([], topic)? {
            let (id, topic): (i64, Topic) = row?;
            self.topic_of_id.insert(id, self.topics.len());
            self.topics.push(topic);
        }
        Ok(())
    }

    /// Row by row and not by SQLite's own index: a damaged file gives its beginning so.
    fn read_index(&mut self) {
        let mut index = Vec::new();
        let result =
            self.connection.prepare("SELECT timestamp, id FROM messages NOT INDEXED").and_then(|mut statement| {
                for row in statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))? {
                    index.push(row?);
                }
                Ok(())
            });
        index.sort_unstable();
        self.index = index;
        if let Err(error) = result {
            let (path, count) = (self.path.display(), self.index.len());
            let last =
                self.index.last().map_or(String::new(), |last| format!(" up to stamp {}", Stamp::from_nanos(last.0)));
            self.warnings.push(format!("{path}: is damaged ({error}); {count} messages{last} were found"));
        }
    }

    fn read(&self, stamp: i64, row: i64) -> rusqlite::Result<Option<Record>> {
        let mut statement = self.connection.prepare_cached("SELECT topic_id, data FROM messages WHERE id = ?1")?;
        let (topic, data): (i64, Vec<u8>) = statement.query_row([row], |row| Ok((row.get(0)?, row.get(1)?)))?;
        let stamp = Stamp::from_nanos(stamp);
        let record = |&topic: &usize| Record { topic, log_time: stamp, publish_time: stamp, data };
        Ok(self.topic_of_id.get(&topic).map(record))
    }
}

impl Storage for SqliteFile {
    fn topics(&self) -> &[Topic] {
        &self.topics
    }

    fn bounds(&self) -> Option<(Stamp, Stamp)> {
        let (first, last) = (self.index.first()?, self.index.last()?);
        Some((Stamp::from_nanos(first.0), Stamp::from_nanos(last.0)))
    }

    fn message_count(&self) -> u64 {
        self.index.len() as u64
    }

    fn next(&mut self) -> Option<Record> {
        while let Some(&(stamp, row)) = self.index.get(self.next) {
            self.next += 1;
            match self.read(stamp, row) {
                Ok(Some(record)) => return Some(record),
                Ok(None) => {}
                Err(error) => {
                    let (path, stamp) = (self.path.display(), Stamp::from_nanos(stamp));
                    self.warnings.push(format!("{path}: the message at stamp {stamp} cannot be read: {error}"));
                }
            }
        }
        None
    }

    fn seek(&mut self, from: Stamp) {
        self.next = self.index.partition_point(|&(stamp, _)| stamp < from.nanos());
    }

    fn take_warnings(&mut self) -> Vec<String> {
        std::mem::take(&mut self.warnings)
    }
}

/// A recorder that was killed leaves messages in a write-ahead log, which SQLite can only take in by writing: into a
/// copy.
fn copy_with_log(path: &Path) -> std::io::Result<Option<(TempDir, PathBuf)>> {
    let beside = |suffix: &str| {
        let mut name = OsString::from(path);
        name.push(suffix);
        PathBuf::from(name)
    };
    let log = beside("-wal");
    if !fs::metadata(&log).is_ok_and(|log| log.len() > 0) {
        return Ok(None);
    }
    let folder = tempfile::tempdir()?;
    let copy = folder.path().join("bag.db3");
    fs::copy(path, &copy)?;
    fs::copy(&log, folder.path().join("bag.db3-wal"))?;
    Ok(Some((folder, copy)))
}

/// `file:` with every byte that a URI reserves written as %XX.
fn immutable_uri(path: &Path) -> String {
    let mut uri = String::from("file:");
    for &byte in path.as_os_str().as_encoded_bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'-' | b'_' => uri.push(byte as char),
            _ => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    uri + "?immutable=1"
}
