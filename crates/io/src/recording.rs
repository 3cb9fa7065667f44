//! What was recorded, wherever it comes from: the filter's input in order of arrival, and the truth to compare with.

use super::bag::{Loading, Topics};
use super::datasets::FORMATS;
use super::identities::Identities;
use lienav_base::stamp::Stamp;
use lienav_lie::Se2;
use lienav_slam::{Config, Features, Imu, Odometry};
use nalgebra::Vector2;
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

/// One thing the filter is fed with.
#[derive(Clone, Debug, PartialEq)]
pub enum Input {
    /// Velocities.
    Odometry(Odometry),
    /// A gyroscope's yaw rate.
    Imu(Imu),
    /// What the feature sensor saw at one instant.
    Features(Features),
}

impl Input {
    /// When it was measured.
    pub fn stamp(&self) -> Stamp {
        match self {
            Self::Odometry(odometry) => odometry.stamp,
            Self::Imu(imu) => imu.stamp,
            Self::Features(features) => features.stamp,
        }
    }
}

/// A recorded run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Recording {
    /// What to call it in a report.
    pub name: String,
    /// The filter's input in order of arrival.
    pub inputs: Vec<Input>,
    /// True poses of the base in the map frame, by increasing stamp; empty where nobody knows.
    pub truth: Vec<(Stamp, Se2)>,
    /// True positions of features in the map frame, m, by identity; empty where nobody knows.
    pub true_landmarks: Vec<(u32, Vector2<f64>)>,
    /// What readings without identity are of, where a judge may know; `None` where identities are known to all or to
    /// nobody.
    pub identities: Option<Identities>,
    /// Positions of one point of the robot, where somebody has them; no truth, but a check.
    pub fixes: Option<PositionFixes>,
    /// What the source says of its sensors and of the start; `None` where it says nothing.
    pub config: Option<Config>,
    /// Input that could not be read or does not belong to this run, by reason.
    pub dropped: BTreeMap<String, u64>,
    /// Statements of the source that contradict each other or cannot be meant, one sentence each: they come first in a
    /// report.
    pub contradictions: Vec<String>,
    /// What the reader should know, one sentence each: where a damaged file ends, which topics were left out.
    pub warnings: Vec<String>,
}

/// Where one point of the robot was, as a satellite receiver or another device had it, in a frame of its own: with
/// errors, jumps and gaps, and without a heading.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PositionFixes {
    /// The point, in the base frame, m: the antenna.
    pub antenna: Vector2<f64>,
    /// Its positions, m, by increasing stamp.
    pub fixes: Vec<(Stamp, Vector2<f64>)>,
}

impl Recording {
    /// Counts input that is left out.
    pub(crate) fn drop_one(&mut self, reason: &str) {
        match self.dropped.get_mut(reason) {
            Some(count) => *count += 1,
            None => {
                self.dropped.insert(reason.to_owned(), 1);
            }
        }
    }
}

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
         victoria:FOLDER, plaza:FOLDER or g2o:FILE[:TRUTH]"
    )]
    Source {
        /// What was given.
        given: String,
        /// What is wrong with it.
        problem: String,
    },
}

impl OpenError {
    pub(crate) fn io(path: &Path, error: io::Error) -> Self {
        Self::Io { path: path.to_owned(), error }
    }

    pub(crate) fn bag(path: &Path, problem: impl Into<String>) -> Self {
        Self::Bag { path: path.to_owned(), problem: problem.into() }
    }
}

/// Reads a recording. `source` is a bag (folder, `.mcap` or `.db3` file), `woods:FOLDER`,
/// `mrclam:FOLDER:ROBOT`, `victoria:FOLDER`, `plaza:FOLDER` or `g2o:FILE[:TRUTH]`.
///
/// # Errors
/// Nothing can be read: [`OpenError`] names file, cause and remedy. A damaged bag of which a part can be read is no
/// error: the part is returned, with a warning that says where it ends.
pub fn open(source: &str) -> Result<Recording, OpenError> {
    open_with(source, &Topics::default())
}

/// [`open`] with topics of your own choice, for bags that name them otherwise.
///
/// # Errors
/// As [`open`]; and a topic that was asked for is not in the bag.
pub fn open_with(source: &str, topics: &Topics) -> Result<Recording, OpenError> {
    let mut stream = stream(source, topics)?;
    let inputs = stream.by_ref().collect();
    Ok(Recording { inputs, ..stream.finish() })
}

/// A recording whose input comes one by one, in order of arrival. Of a bag, no more is in memory than is asked for: a
/// filter can be run over one that is larger than the memory.
pub struct Stream(Source);

enum Source {
    Bag(Box<Loading>),
    /// A data set, which is small.
    Whole(std::vec::IntoIter<Input>, Box<Recording>),
}

impl Stream {
    /// What is known before the input: the name, and what the source says of its sensors and of the start.
    pub fn recording(&self) -> &Recording {
        match &self.0 {
            Source::Bag(loading) => loading.recording(),
            Source::Whole(_, recording) => recording,
        }
    }

    /// What is known after the input, with the input that was not taken out.
    pub fn finish(self) -> Recording {
        match self.0 {
            Source::Bag(loading) => loading.finish(),
            Source::Whole(inputs, recording) => Recording { inputs: inputs.collect(), ..*recording },
        }
    }
}

impl Iterator for Stream {
    type Item = Input;

    fn next(&mut self) -> Option<Input> {
        match &mut self.0 {
            Source::Bag(loading) => loading.next(),
            Source::Whole(inputs, _) => inputs.next(),
        }
    }
}

/// Opens a recording without reading its input.
///
/// # Errors
/// As [`open_with`].
pub fn stream(source: &str, topics: &Topics) -> Result<Stream, OpenError> {
    let wrong = |problem: &str| OpenError::Source { given: source.to_owned(), problem: problem.to_owned() };
    let (prefix, arguments) = source.split_once(':').unwrap_or_default();
    if let Some(format) = FORMATS.iter().find(|format| format.prefix == prefix) {
        let mut recording = (format.open)(arguments)?;
        let inputs = std::mem::take(&mut recording.inputs).into_iter();
        return Ok(Stream(Source::Whole(inputs, Box::new(recording))));
    }
    if !Path::new(source).exists() {
        return Err(wrong("no such file or folder"));
    }
    Loading::open(Path::new(source), topics).map(|loading| Stream(Source::Bag(Box::new(loading))))
}
