//! Why a source gives no recording.

use std::io;
use std::path::{Path, PathBuf};

/// A source that gives no recording: which file, why, and what to do.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The file system says no.
    #[error("{}: {error}", path.display())]
    Io {
        /// Of which file.
        path: PathBuf,
        /// What it says.
        error: io::Error,
    },
    /// A text file of a data set that is not as published.
    #[error("{}:{line}: {problem}", path.display())]
    Text {
        /// Which file.
        path: PathBuf,
        /// Which line, counted from 1.
        line: u64,
        /// What is wrong with it.
        problem: String,
    },
    /// A bag of which nothing can be read.
    #[error("{}: {problem}", path.display())]
    Bag {
        /// Which file or folder.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// A compressed file that cannot be unpacked for want of room.
    #[error(
        "{}: cannot be unpacked into {}: {error}; free space there, or set TMPDIR to a folder on another disk",
        path.display(), folder.display()
    )]
    NoRoom {
        /// Which file.
        path: PathBuf,
        /// Where it was to be unpacked.
        folder: PathBuf,
        /// What the file system says.
        error: io::Error,
    },
    /// Not a source at all.
    #[error(
        "'{given}' is not a source: {problem}; give a bag (folder, .mcap or .db3), woods:FOLDER, mrclam:FOLDER:ROBOT, \
         victoria:FOLDER, plaza:FOLDER or g2o:FILE[:TRUTH]; for evaluate and info also euroc-tracks:FOLDER, \
         starloc:FOLDER or starry:FOLDER"
    )]
    Source {
        /// What was given.
        given: String,
        /// What is wrong with it.
        problem: String,
    },
}

impl OpenError {
    /// What the file system says of a file.
    pub fn io(path: &Path, error: io::Error) -> Self {
        Self::Io { path: path.to_owned(), error }
    }

    /// What is wrong with a bag.
    pub fn bag(path: &Path, problem: impl Into<String>) -> Self {
        Self::Bag { path: path.to_owned(), problem: problem.into() }
    }
}
