//! How much of this machine a file may take. A bag of ten gigabytes passes; one that unpacks to a thousand times its
//! size, or is read in circles, does not.

use std::fmt;
use std::fs::File;
use std::io::{self, Read, Seek};
use std::path::Path;

/// No summary of an MCAP file is longer, bytes.
pub(super) const SUMMARY: u64 = 1 << 26;
/// No schema and no description of a topic is longer, bytes.
pub(super) const DESCRIPTION: u64 = 1 << 20;
/// All of them together are not longer, bytes.
pub(super) const DESCRIPTIONS: u64 = 1 << 26;
/// No message is longer, bytes.
pub(super) const MESSAGE: u64 = 1 << 28;
/// No message of a topic that a filter is fed with is longer, bytes.
pub(super) const FILTER_MESSAGE: u64 = 1 << 26;
/// Messages that wait for their turn take no more memory than this, bytes, unless it is a single one.
pub(super) const WAITING: usize = 1 << 25;
/// A reader keeps so many sentences about damage, and counts the rest.
pub(super) const WARNINGS: usize = 50;
/// `metadata.yaml` and `params.yaml` are not longer, bytes.
pub(crate) const TEXT: u64 = 1 << 23;
/// A file of a data set is not longer, bytes; unpacked, if it is compressed.
pub(crate) const DATA_SET: u64 = 1 << 28;

/// A map of landmarks is not longer, bytes: a hundred thousand of them.
pub(crate) const MAP: u64 = 1 << 25;
/// The state of a filter beside a map is not longer, bytes: two thousand features.
pub(crate) const STATE: u64 = 1 << 30;

/// A file of this length may be unpacked to this many bytes, its parts that are read again included: a thousand times
/// its length where it is small, a hundred times where it is large.
pub(super) fn unpacked(file_length: u64) -> u64 {
    let small = (1_u64 << 28).saturating_add(file_length.saturating_mul(1000));
    let large = (1_u64 << 32).saturating_add(file_length.saturating_mul(100));
    small.min(large)
}

/// A number of bytes for people.
pub(crate) struct Bytes(pub u64);

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            0..10_000 => write!(f, "{} bytes", self.0),
            10_000..10_000_000 => write!(f, "{} kB", self.0 / 1000),
            10_000_000..10_000_000_000 => write!(f, "{} MB", self.0 / 1_000_000),
            _ => write!(f, "{} GB", self.0 / 1_000_000_000),
        }
    }
}

/// How a file begins that Git LFS has put in the place of another one.
const LFS_POINTER: &[u8] = b"version https://git-lfs.github.com/spec/";

/// Opens a file, unless it is a folder, a pipe, a socket or a device, whose measurement may never end.
///
/// # Errors
/// What the file system says; [`io::ErrorKind::InvalidInput`] with what it is, if it is no regular file;
/// [`io::ErrorKind::InvalidData`], if it is a pointer of Git LFS to one.
pub(crate) fn open_regular(path: &Path) -> io::Result<File> {
    let kind = std::fs::metadata(path)?.file_type();
    if kind.is_file() {
        let mut file = File::open(path)?;
        let mut head = Vec::new();
        (&file).take(LFS_POINTER.len() as u64).read_to_end(&mut head)?;
        if head == LFS_POINTER {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                "it is a pointer of Git LFS, and not the file itself: run `git lfs pull` in its repository",
            ));
        }
        file.rewind()?;
        return Ok(file);
    }
    let what = if kind.is_dir() { "a folder" } else { "a pipe, a socket or a device" };
    Err(io::Error::new(io::ErrorKind::InvalidInput, format!("it is {what}; expected a file")))
}

/// Reads a whole text of at most `limit` bytes.
///
/// # Errors
/// What the file system says; [`io::ErrorKind::FileTooLarge`], [`io::ErrorKind::InvalidData`] for what is not UTF-8.
pub(crate) fn read_text(from: impl Read, limit: u64) -> io::Result<String> {
    let mut text = String::new();
    if from.take(limit + 1).read_to_string(&mut text)? as u64 > limit {
        return Err(io::Error::new(
            io::ErrorKind::FileTooLarge,
            format!("it is longer than {}, which no such file is", Bytes(limit)),
        ));
    }
    Ok(text)
}
