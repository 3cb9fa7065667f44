//! What was recorded, wherever it comes from: the filter's input in order of arrival, and the truth to compare with.

use super::bag::{Loading, Topics};
use super::datasets::FORMATS;
use std::path::Path;

pub use lienav_bag::recording::{Equipment, Feeder, Input, PositionFixes, Recording};
pub use lienav_files::OpenError;

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
