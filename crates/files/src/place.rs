//! Where a file may be written: in the place of a regular file or of nothing. As root, a rename replaces a device, and
//! the whole machine has lost its `/dev/null`.

use crate::open::{beside, descriptor, is_descriptor};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::OFlags;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Where a path leads that is to be written.
pub(crate) enum Place {
    /// To a regular file, or to nothing yet: links followed.
    File(PathBuf),
    /// To a pipe or a character device, open for writing.
    Stream(Stream),
}

impl Place {
    /// Of a path that is to be written.
    ///
    /// # Errors
    /// What the file system says; [`io::ErrorKind::InvalidInput`] with what it is, where nothing can be written.
    pub fn of(path: &Path) -> io::Result<Self> {
        let kind = match fs::metadata(path) {
            Ok(found) => found.file_type(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self::File(target(path)?)),
            Err(error) => return Err(error),
        };
        if is_descriptor(path) || kind.is_fifo() || kind.is_char_device() {
            return Stream::open(path).map(Self::Stream);
        }
        if kind.is_file() {
            return Ok(Self::File(target(path)?));
        }
        let what = if kind.is_dir() { "a folder" } else { "a disk or a socket" };
        Err(refused(&format!("it is {what}, and is not replaced; give the name of a file")))
    }
}

/// Where a file is written that cannot be a stream, because it is read again: links followed.
///
/// # Errors
/// As `Place::of`, and for streams.
pub fn file(path: &Path) -> io::Result<PathBuf> {
    match fs::metadata(path) {
        Ok(found) if !found.is_file() && !found.is_dir() => {
            Err(refused("it is a pipe, a socket or a device, and is not replaced; give the name of a file"))
        }
        _ => match Place::of(path)? {
            Place::File(path) => Ok(path),
            Place::Stream(_) => Err(refused("it is open already, and is not replaced; give the name of a file")),
        },
    }
}

fn refused(sentence: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, sentence)
}

/// What a chain of links leads to, which need not be there.
fn target(path: &Path) -> io::Result<PathBuf> {
    /// No chain of links is longer (the kernel's figure).
    const MOST_LINKS: usize = 40;
    let mut at = path.to_owned();
    for _ in 0..MOST_LINKS {
        match fs::read_link(&at) {
            Ok(link) => at = beside(&at, &link),
            Err(_) => return Ok(at),
        }
    }
    Err(refused("it is a link that leads to itself; give the name of a file"))
}

/// A pipe or a device that is written to with patience, but not for ever.
pub(crate) struct Stream(File);

/// A stream that takes nothing for so long is given up, s.
const PATIENCE_S: i64 = 4;

impl Stream {
    fn open(path: &Path) -> io::Result<Self> {
        // Opened once more, a file would be written from its beginning.
        let own = match descriptor(path) {
            Some(1) => Some(io::stdout().as_fd().try_clone_to_owned()?),
            Some(2) => Some(io::stderr().as_fd().try_clone_to_owned()?),
            _ => None,
        };
        if let Some(own) = own {
            return Ok(Self(own.into()));
        }
        let flags = (OFlags::NONBLOCK | OFlags::NOCTTY).bits() as i32;
        let file = OpenOptions::new().append(true).custom_flags(flags).open(path);
        file.map(Self).map_err(|error| match error.raw_os_error() {
            Some(code) if code == rustix::io::Errno::NXIO.raw_os_error() => {
                refused("it is a pipe from which nothing reads, or a device that is not there; give the name of a file")
            }
            _ => error,
        })
    }
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        loop {
            match self.0.write(bytes) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    let patience = Timespec { tv_sec: PATIENCE_S, tv_nsec: 0 };
                    if poll(&mut [PollFd::new(&self.0, PollFlags::OUT)], Some(&patience))? == 0 {
                        let sentence = format!("nothing was read from it for {PATIENCE_S} s; give the name of a file");
                        return Err(io::Error::new(io::ErrorKind::TimedOut, sentence));
                    }
                }
                done => return done,
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::write_atomically;
    use std::io::Read;
    use std::os::unix::fs::symlink;
    use std::os::unix::net::UnixListener;
    use std::process::Command;

    fn write(path: &Path, text: &str) -> io::Result<()> {
        write_atomically(path, |out| out.write_all(text.as_bytes()))
    }

    #[test]
    fn links_are_followed_and_the_file_behind_them_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir(at("elsewhere")).unwrap();
        symlink("elsewhere/file", at("link")).unwrap();
        symlink("link", at("link to link")).unwrap();
        for text in ["new", "newer"] {
            write(&at("link to link"), text).unwrap();
            assert_eq!(fs::read_to_string(at("elsewhere/file")).unwrap(), text);
            assert!(at("link").is_symlink() && at("link to link").is_symlink());
        }
        symlink("circle", at("circle")).unwrap();
        assert!(write(&at("circle"), "x").is_err() && at("circle").is_symlink());
        assert!(write(folder.path(), "x").unwrap_err().to_string().contains("it is a folder"));
    }

    #[test]
    fn devices_pipes_and_sockets_are_never_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let null = at("null");
        // Only root makes devices; anybody has a link to one.
        if !Command::new("mknod").arg(&null).args(["c", "1", "3"]).status().is_ok_and(|status| status.success()) {
            symlink("/dev/null", &null).unwrap();
        }
        write(&null, "x").unwrap();
        assert!(fs::metadata(&null).unwrap().file_type().is_char_device());
        assert!(write(Path::new("/dev/full"), "x").is_err());
        let pipe = at("pipe");
        assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        assert!(write(&pipe, "x").unwrap_err().to_string().contains("nothing reads"));
        let open = OpenOptions::new().read(true).custom_flags(OFlags::NONBLOCK.bits() as i32).open(&pipe);
        let mut reader = open.unwrap();
        write(&pipe, "through the pipe").unwrap();
        let mut text = String::new();
        reader.read_to_string(&mut text).unwrap();
        assert_eq!(text, "through the pipe");
        let stuck = write(&pipe, &"x".repeat(1 << 20)).unwrap_err().to_string();
        assert!(stuck.contains("nothing was read from it"), "{stuck}");
        assert!(fs::metadata(&pipe).unwrap().file_type().is_fifo());
        let _socket = UnixListener::bind(at("socket")).unwrap();
        assert!(write(&at("socket"), "x").unwrap_err().to_string().contains("socket"));
        for path in [null, pipe, at("socket")] {
            assert!(file(&path).unwrap_err().to_string().contains("is not replaced"), "{path:?}");
        }
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 3);
    }
}
