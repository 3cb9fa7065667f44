//! Files that a stranger may have made: only regular ones are opened, and only so much of them is read.
//!
//! A pipe in another user's folder blocks the process that opens it, and a device may never end. [`regular`] looks at
//! what a path leads to before and after it opens it, and opens it without waiting.

use crate::bounds::Bytes;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::OFlags;
use std::fs::{File, FileType, OpenOptions};
use std::io::{self, Read, Seek};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// How a file begins that Git LFS has put in the place of another one.
const LFS_POINTER: &[u8] = b"version https://git-lfs.github.com/spec/";

/// A pipe from which nothing comes for so long is given up, s.
const PATIENCE_S: i64 = 4;

/// Opens a file, unless it is a folder, a pipe, a socket or a device, whose reading may never end.
///
/// # Errors
/// What the file system says; [`io::ErrorKind::InvalidInput`] with what it is, if it is no regular file;
/// [`io::ErrorKind::InvalidData`], if it is a pointer of Git LFS to one.
pub fn regular(path: &Path) -> io::Result<File> {
    refuse_other(std::fs::metadata(path)?.file_type())?;
    let mut file = OpenOptions::new().read(true).custom_flags(OFlags::NONBLOCK.bits() as i32).open(path)?;
    // Somebody may have put another one in its place meanwhile.
    refuse_other(file.metadata()?.file_type())?;
    let mut head = Vec::new();
    (&file).take(LFS_POINTER.len() as u64).read_to_end(&mut head)?;
    if head == LFS_POINTER {
        return Err(io::Error::new(
            io::ErrorKind::InvalidData,
            "it is a pointer of Git LFS, and not the file itself: run `git lfs pull` in its repository",
        ));
    }
    file.rewind()?;
    Ok(file)
}

/// Opens a regular file to be read and written in its place; it is made where nothing is.
///
/// # Errors
/// As [`regular`].
pub fn in_place(path: &Path) -> io::Result<File> {
    if let Ok(found) = std::fs::metadata(path) {
        refuse_other(found.file_type())?;
    }
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).custom_flags(OFlags::NONBLOCK.bits() as i32);
    let file = options.open(path)?;
    refuse_other(file.metadata()?.file_type())?;
    Ok(file)
}

/// Reads a whole regular file of at most `limit` bytes as text.
///
/// # Errors
/// As [`bounded`]; [`io::ErrorKind::InvalidData`] for what is not UTF-8.
pub fn read_text(path: &Path, limit: u64) -> io::Result<String> {
    text(bounded(path, limit)?, limit)
}

fn refuse_other(kind: FileType) -> io::Result<()> {
    if kind.is_file() {
        return Ok(());
    }
    let what = if kind.is_dir() { "a folder" } else { "a pipe, a socket or a device" };
    Err(io::Error::new(io::ErrorKind::InvalidInput, format!("it is {what}; expected a file")))
}

/// Opens what the user himself has named: a regular file, or a pipe that his shell has opened already, as in
/// `--config <(…)`. A pipe with a name is refused: whether anybody writes to it is not known.
pub(crate) fn named(path: &Path) -> io::Result<Box<dyn Read>> {
    if !is_descriptor(path) {
        return Ok(Box::new(regular(path)?));
    }
    let file = File::open(path)?;
    let kind = file.metadata()?.file_type();
    if kind.is_fifo() || kind.is_socket() {
        return Ok(Box::new(Pipe(file)));
    }
    refuse_other(kind)?;
    Ok(Box::new(file))
}

/// Whether a path leads to a descriptor that this process has open, links followed: `/dev/fd/63`, `/dev/stdout`.
pub(crate) fn is_descriptor(path: &Path) -> bool {
    descriptor(path).is_some()
}

/// The number of the descriptor that a path leads to.
pub(crate) fn descriptor(path: &Path) -> Option<u32> {
    /// No chain of links is longer (the kernel's figure).
    const MOST_LINKS: usize = 40;
    let mut at = path.to_owned();
    for _ in 0..MOST_LINKS {
        let is_of_process = at.starts_with("/proc") && at.parent().is_some_and(|parent| parent.ends_with("fd"));
        if is_of_process || at.starts_with("/dev/fd") {
            return at.file_name()?.to_str()?.parse().ok();
        }
        at = beside(&at, &std::fs::read_link(&at).ok()?);
    }
    None
}

/// Where a link at `path` leads that says `target`.
pub(crate) fn beside(path: &Path, target: &Path) -> PathBuf {
    path.parent().map_or_else(|| target.to_owned(), |folder| folder.join(target))
}

/// A pipe that is read with patience, but not for ever.
struct Pipe(File);

impl Read for Pipe {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let patience = Timespec { tv_sec: PATIENCE_S, tv_nsec: 0 };
        if poll(&mut [PollFd::new(&self.0, PollFlags::IN)], Some(&patience))? == 0 {
            let sentence = format!("nothing came through the pipe for {PATIENCE_S} s; give a file");
            return Err(io::Error::new(io::ErrorKind::TimedOut, sentence));
        }
        self.0.read(bytes)
    }
}

/// Opens a regular file of at most `limit` bytes; of one that grows meanwhile, no more is read.
///
/// # Errors
/// As [`regular`]; [`io::ErrorKind::FileTooLarge`].
pub fn bounded(path: &Path, limit: u64) -> io::Result<io::Take<File>> {
    let file = regular(path)?;
    if file.metadata()?.len() > limit {
        return Err(too_long(limit));
    }
    Ok(file.take(limit))
}

fn too_long(limit: u64) -> io::Error {
    let sentence = format!("it is longer than {}, which no such file is", Bytes(limit));
    io::Error::new(io::ErrorKind::FileTooLarge, sentence)
}

/// Reads a whole text of at most `limit` bytes. A byte order mark in front, which some editors put there, is left out.
///
/// # Errors
/// What the file system says; [`io::ErrorKind::FileTooLarge`], [`io::ErrorKind::InvalidData`] for what is not UTF-8.
pub fn text(from: impl Read, limit: u64) -> io::Result<String> {
    let mut text = String::new();
    let read = from.take(limit + 1).read_to_string(&mut text).map_err(|error| match error.kind() {
        io::ErrorKind::InvalidData => {
            io::Error::new(io::ErrorKind::InvalidData, "it is no text in UTF-8; save it as UTF-8, or give another file")
        }
        _ => error,
    })?;
    if read as u64 > limit {
        return Err(too_long(limit));
    }
    if text.starts_with('\u{feff}') {
        text.drain(..'\u{feff}'.len_utf8());
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, Instant};

    #[test]
    fn only_regular_files_of_a_bounded_size_are_opened_and_no_pipe_is_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        assert!(std::process::Command::new("mkfifo").arg(at("pipe")).status().unwrap().success());
        std::os::unix::fs::symlink(at("pipe"), at("link")).unwrap();
        File::create(at("sparse")).unwrap().set_len(10 << 30).unwrap();
        std::fs::write(at("text"), "\u{feff}a: 1").unwrap();
        let begin = Instant::now();
        for path in [at("pipe"), at("link"), "/dev/zero".into(), "/dev/null".into(), folder.path().to_owned()] {
            let refused = regular(&path).unwrap_err().to_string();
            assert!(refused.contains("expected a file"), "{path:?}: {refused}");
            assert!(named(&path).is_err(), "{path:?}");
        }
        assert!(bounded(&at("sparse"), 1 << 28).unwrap_err().to_string().contains("longer than 268 MB"));
        assert!(
            text(regular(&at("sparse")).unwrap(), 1 << 20).unwrap_err().to_string().contains("longer than 1048 kB")
        );
        assert_eq!(text(named(&at("text")).unwrap(), 100).unwrap(), "a: 1");
        std::fs::write(at("text"), [0xff, 0xfe, b'a']).unwrap();
        assert!(text(regular(&at("text")).unwrap(), 100).unwrap_err().to_string().contains("UTF-8"));
        assert!(begin.elapsed() < Duration::from_secs(3));
    }

    #[test]
    fn what_a_shell_has_opened_is_a_descriptor() {
        for (path, expected) in [("/dev/fd/63", true), ("/proc/self/fd/1", true), ("/dev/null", false), ("a", false)] {
            assert_eq!(is_descriptor(Path::new(path)), expected, "{path}");
        }
    }
}
