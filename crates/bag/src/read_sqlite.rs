//! One SQLite file of a bag. It is opened as immutable, so that SQLite writes neither to it nor beside it.
//!
//! A database is a program as much as data: views, virtual tables and computed columns run when they are read. Only
//! plain tables are read here, and no more of them than the file has room for.

use super::record::{Record, Storage, Topic};
use lienav_base::stamp::Stamp;
use lienav_files::OpenError;
use lienav_files::bounds::{self, Bytes};
use lienav_files::files::Temporary;
use rusqlite::config::DbConfig;
use rusqlite::limits::Limit;
use rusqlite::{Connection, OpenFlags, Row};
use std::cell::{Cell, OnceCell};
use std::collections::HashMap;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// No row of a table takes less, bytes.
const LEAST_ROW: u64 = 4;
/// SQLite's own steps between two looks at the clock of steps.
const STEPS: u32 = 10_000;

/// An SQLite file.
pub(super) struct SqliteFile {
    path: PathBuf,
    connection: Connection,
    file_length: u64,
    topics: Vec<Topic>,
    topic_of_id: HashMap<i64, usize>,
    wanted: Vec<bool>,
    /// Read when it is needed, and only of topics that are wanted.
    index: OnceCell<Index>,
    next: usize,
    /// Bytes that may still be read.
    allowance: u64,
    warnings: Vec<String>,
    _copy: Option<Temporary>,
}

#[derive(Default)]
struct Index {
    /// Stamp and row of each message, by time, and by row where that is the same.
    rows: Vec<(i64, i64)>,
    damage: Cell<Option<String>>,
}

impl SqliteFile {
    /// Opens `path`; `shown` is what messages call it.
    pub fn open(path: &Path, shown: &Path) -> Result<Self, OpenError> {
        let problem = |error: rusqlite::Error| {
            OpenError::bag(shown, format!("the SQLite database is not a rosbag2 bag: {error}"))
        };
        let file_length = fs::metadata(path).map_err(|error| OpenError::io(shown, error))?.len();
        let copy = copy_with_log(path, shown)?;
        let (mut connection, copy) = match copy {
            Some((folder, copied)) => (Connection::open(&copied).map_err(problem)?, Some(folder)),
            None => {
                let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
                (Connection::open_with_flags(immutable_uri(path), flags).map_err(problem)?, None)
            }
        };
        restrict(&mut connection, file_length).map_err(problem)?;
        check_tables(&connection).map_err(|refusal| match refusal {
            Refusal::Sqlite(error) => problem(error),
            Refusal::NotPlain(sentence) => OpenError::bag(shown, sentence),
        })?;
        let mut file = Self {
            path: shown.to_owned(),
            connection,
            file_length,
            topics: Vec::new(),
            topic_of_id: HashMap::new(),
            wanted: Vec::new(),
            index: OnceCell::new(),
            next: 0,
            allowance: 0,
            warnings: Vec::new(),
            _copy: copy,
        };
        file.read_topics().map_err(problem)?;
        file.allow(bounds::MESSAGE).map_err(problem)?;
        Ok(file)
    }

    /// How long a message may be.
    fn allow(&mut self, longest_message: u64) -> rusqlite::Result<()> {
        self.connection.set_limit(Limit::SQLITE_LIMIT_LENGTH, i32::try_from(longest_message).unwrap_or(i32::MAX))?;
        self.rewind();
        Ok(())
    }

    fn rewind(&mut self) {
        self.next = 0;
        // A file that is read in circles gives more than it holds.
        self.allowance = self.file_length.saturating_mul(2).saturating_add(1 << 20);
    }

    fn read_topics(&mut self) -> rusqlite::Result<()> {
        let has_qos = self.connection.prepare("SELECT offered_qos_profiles FROM topics").is_ok();
        let qos = if has_qos { "offered_qos_profiles" } else { "''" };
        let query = format!("SELECT id, name, type, serialization_format, {qos} FROM topics");
        let mut statement = self.connection.prepare(&query)?;
        let topic = |row: &Row<'_>| {
            let topic = Topic { name: row.get(1)?, type_name: row.get(2)?, encoding: row.get(3)?, qos: row.get(4)? };
            Ok((row.get(0)?, topic))
        };
        let mut topics: Vec<(i64, Topic)> = Vec::new();
        let mut length = 0;
        for row in statement.query_map([], topic)? {
            let (id, topic) = row?;
            length += (topic.name.len() + topic.type_name.len() + topic.encoding.len() + topic.qos.len()) as u64 + 64;
            if length > bounds::DESCRIPTIONS {
                let limit = Bytes(bounds::DESCRIPTIONS);
                self.warnings.push(format!("{}: the topics after {limit} were left out", self.path.display()));
                break;
            }
            topics.push((id, topic));
        }
        topics.sort_by_key(|(id, _)| *id);
        for (id, topic) in topics {
            self.topic_of_id.insert(id, self.topics.len());
            self.topics.push(topic);
        }
        Ok(())
    }

    fn index(&self) -> &Index {
        self.index.get_or_init(|| self.read_index())
    }

    /// Row by row and not by SQLite's own index: a damaged file gives its beginning so.
    fn read_index(&self) -> Index {
        let mut rows = Vec::new();
        let ids = self.topic_of_id.iter().filter(|&(_, &topic)| self.is_wanted(topic));
        let ids: Vec<String> = ids.map(|(id, _)| id.to_string()).collect();
        let condition = match self.wanted.is_empty() {
            true => String::new(),
            false => format!(" WHERE topic_id IN ({})", ids.join(", ")),
        };
        let query = format!("SELECT timestamp, id FROM messages NOT INDEXED{condition}");
        let mut is_too_long = false;
        let result = self.connection.prepare(&query).and_then(|mut statement| {
            for row in statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))? {
                rows.push(row?);
                is_too_long = rows.len() as u64 > self.file_length / LEAST_ROW;
                if is_too_long {
                    rows.clear();
                    break;
                }
            }
            Ok(())
        });
        rows.sort_unstable();
        let problem = match result {
            Ok(()) if is_too_long => Some("it lists more messages than it has room for".to_owned()),
            Ok(()) => None,
            Err(error) => Some(error.to_string()),
        };
        let damage = problem.map(|error| {
            let (path, count) = (self.path.display(), rows.len());
            let last = rows.last().map_or(String::new(), |last| format!(" up to stamp {}", Stamp::from_nanos(last.0)));
            format!("{path}: is damaged ({error}); {count} messages{last} were found")
        });
        Index { rows, damage: Cell::new(damage) }
    }

    fn is_wanted(&self, topic: usize) -> bool {
        self.wanted.is_empty() || self.wanted.get(topic) == Some(&true)
    }

    fn read(&mut self, stamp: i64, row: i64) -> rusqlite::Result<Option<Record>> {
        let mut statement = self.connection.prepare_cached("SELECT topic_id, data FROM messages WHERE id = ?1")?;
        let (topic, data): (i64, Vec<u8>) = statement.query_row([row], |row| Ok((row.get(0)?, row.get(1)?)))?;
        self.allowance = self.allowance.saturating_sub(data.len() as u64);
        let stamp = Stamp::from_nanos(stamp);
        let topic = self.topic_of_id.get(&topic).filter(|&&topic| self.is_wanted(topic));
        Ok(topic.map(|&topic| Record { topic, log_time: stamp, publish_time: stamp, data }))
    }
}

/// Takes from a connection what a file could do harm with.
fn restrict(connection: &mut Connection, file_length: u64) -> rusqlite::Result<()> {
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_VIEW, false)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false)?;
    connection.set_limit(Limit::SQLITE_LIMIT_LENGTH, bounds::DESCRIPTION as i32)?;
    connection.set_limit(Limit::SQLITE_LIMIT_ATTACHED, 0)?;
    // No statement here takes more steps for a row, and no row fewer bytes.
    let most = file_length.saturating_mul(4).saturating_add(10_000_000) / u64::from(STEPS);
    let mut looks = 0;
    let is_too_much = move || {
        looks += 1;
        looks > most
    };
    connection.progress_handler(STEPS as i32, Some(is_too_much))?;
    // Without this, SQLite refuses a file that is shorter than its header says as a whole.
    connection.pragma_update(None, "writable_schema", true)
}

enum Refusal {
    Sqlite(rusqlite::Error),
    NotPlain(String),
}

impl From<rusqlite::Error> for Refusal {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

/// Whether `topics` and `messages` are tables with nothing computed in them.
fn check_tables(connection: &Connection) -> Result<(), Refusal> {
    for name in ["topics", "messages"] {
        let mut statement = connection.prepare("SELECT type, rootpage FROM sqlite_schema WHERE lower(name) = ?1")?;
        for row in statement.query_map([name], |row| Ok((row.get(0)?, row.get(1)?)))? {
            let (kind, root): (String, i64) = row?;
            let kind = if kind == "table" && root == 0 { "virtual table" } else { kind.as_str() };
            if kind != "table" {
                let kind = kind.escape_debug();
                return Err(Refusal::NotPlain(format!(
                    "'{name}' is a {kind}; a rosbag2 bag has a table there, and only tables are read"
                )));
            }
        }
        let mut statement = connection.prepare("SELECT name FROM pragma_table_xinfo(?1) WHERE hidden > 1")?;
        let mut computed = statement.query_map([name], |row| row.get::<_, String>(0))?;
        if let Some(column) = computed.next().transpose()? {
            let column = column.escape_debug();
            return Err(Refusal::NotPlain(format!(
                "column '{column}' of '{name}' is computed; a rosbag2 bag has none, and only stored columns are read"
            )));
        }
    }
    Ok(())
}

impl Storage for SqliteFile {
    fn topics(&self) -> &[Topic] {
        &self.topics
    }

    fn bounds(&self) -> Option<(Stamp, Stamp)> {
        let rows = &self.index().rows;
        let (first, last) = (rows.first()?, rows.last()?);
        Some((Stamp::from_nanos(first.0), Stamp::from_nanos(last.0)))
    }

    fn message_count(&self) -> u64 {
        self.index().rows.len() as u64
    }

    fn select(&mut self, wanted: &[bool], longest_message: u64) {
        self.wanted = wanted.to_vec();
        self.index = OnceCell::new();
        if let Err(error) = self.allow(longest_message) {
            self.warnings.push(format!("{}: {error}", self.path.display()));
        }
    }

    fn next(&mut self) -> Option<Record> {
        while let Some(&(stamp, row)) = self.index().rows.get(self.next) {
            self.next += 1;
            match self.read(stamp, row) {
                Ok(_) if self.allowance == 0 => {
                    let (path, count) = (self.path.display(), self.next - 1);
                    self.warnings.push(format!(
                        "{path}: is damaged: its messages are longer than the file; the first {count} were read"
                    ));
                    self.next = usize::MAX;
                }
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
        self.rewind();
        self.next = self.index().rows.partition_point(|&(stamp, _)| stamp < from.nanos());
    }

    fn take_warnings(&mut self) -> Vec<String> {
        self.warnings.extend(self.index.get().and_then(|index| index.damage.take()));
        std::mem::take(&mut self.warnings)
    }
}

/// A recorder that was killed leaves messages in a write-ahead log, which SQLite can only take in by writing: into a
/// copy.
fn copy_with_log(path: &Path, shown: &Path) -> Result<Option<(Temporary, PathBuf)>, OpenError> {
    let beside = |suffix: &str| {
        let mut name = OsString::from(path);
        name.push(suffix);
        PathBuf::from(name)
    };
    let log = beside("-wal");
    // No link and no pipe: what lies beside a bag is not what the user has named.
    if !fs::symlink_metadata(&log).is_ok_and(|log| log.is_file() && log.len() > 0) {
        return Ok(None);
    }
    let no_room = |error: io::Error| {
        let folder = std::env::temp_dir();
        OpenError::NoRoom { path: shown.to_owned(), folder, error }
    };
    let folder = Temporary::folder().map_err(no_room)?;
    let copy = folder.path().join("bag.db3");
    fs::copy(path, &copy).map_err(no_room)?;
    fs::copy(&log, folder.path().join("bag.db3-wal")).map_err(no_room)?;
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
