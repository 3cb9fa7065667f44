//! Which trajectory a word on the command line means.

use super::bag::{self, Place};
use super::convention::{Convention, Order};
use super::data::Trajectory;
use super::text;
use crate::recording::OpenError;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// How a trajectory is read.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// What the numbers of covariances mean; by itself, what the format says, otherwise [`Convention::Ros`].
    pub convention: Option<Convention>,
    /// Which numbers come first in messages, arrays and numbered columns; by itself, what the convention says.
    pub order: Option<Order>,
    /// The stamps of KITTI poses.
    pub times: Option<PathBuf>,
}

/// Reads a trajectory: `FILE` (TUM, KITTI, EuRoC, OpenVINS or CSV), `BAG`, `BAG:TOPIC` or `BAG:/tf:PARENT:CHILD`.
/// `progress` hears how much is done: bytes of a file, messages of a bag.
///
/// # Errors
/// Nothing of it can be read: which file, why, and what to do.
pub fn open(source: &str, options: &Options, progress: &mut dyn FnMut(u64)) -> Result<Trajectory, OpenError> {
    let (path, rest) = split(source);
    if !path.exists() {
        let problem = "no such file or folder; a trajectory is FILE, BAG:TOPIC or BAG:/tf:PARENT:CHILD";
        return Err(OpenError::Bag { path: source.into(), problem: problem.to_owned() });
    }
    let mut trajectory = if is_bag(path) {
        let place = match *rest.split(':').collect::<Vec<_>>() {
            [] | [""] => Place::Only,
            [topic] => Place::Topic(topic),
            [_, parent, child] => Place::Transform(parent, child),
            _ => {
                let problem = format!("'{rest}' is neither TOPIC nor /tf:PARENT:CHILD");
                return Err(OpenError::bag(path, problem));
            }
        };
        bag::read(path, &place, options.convention.unwrap_or_default(), progress)?
    } else if rest.is_empty() {
        text::read(path, options.times.as_deref(), options.convention, progress)?
    } else {
        return Err(OpenError::bag(path, format!("it is a text file, which has no topic '{rest}'; leave that out")));
    };
    if trajectory.is_empty() {
        let reasons: Vec<String> = trajectory.dropped.iter().map(|(reason, n)| format!("{reason} {n}")).collect();
        let why = if reasons.is_empty() { String::new() } else { format!(" (left out: {})", reasons.join(", ")) };
        return Err(OpenError::bag(path, format!("there is no pose in it{why}")));
    }
    if let (Some(order), Some(meaning), false) = (options.order, &mut trajectory.meaning, trajectory.is_named) {
        meaning.order = order;
    }
    trajectory.name = name_of(path, rest);
    Ok(trajectory)
}

/// Path and topic: the longest beginning that exists is the path.
fn split(source: &str) -> (&Path, &str) {
    if Path::new(source).exists() {
        return (Path::new(source), "");
    }
    let cuts = source.char_indices().rev().filter(|(_, sign)| *sign == ':').map(|(at, _)| at);
    let found = cuts.map(|at| (Path::new(&source[..at]), &source[at + 1..])).find(|(path, _)| path.exists());
    found.unwrap_or((Path::new(source), ""))
}

fn is_bag(path: &Path) -> bool {
    const MAGICS: [&[u8]; 3] = [b"\x89MCAP0\r\n", b"SQLite format 3\0", b"\x28\xb5\x2f\xfd"];
    if path.is_dir() {
        return true;
    }
    // A pipe is not opened: it is refused as a text file.
    let is_regular = std::fs::metadata(path).is_ok_and(|found| found.is_file());
    let mut begin = Vec::new();
    let opened = is_regular.then(|| File::open(path).ok()).flatten();
    let is_read = opened.is_some_and(|file| file.take(16).read_to_end(&mut begin).is_ok());
    is_read && MAGICS.iter().any(|magic| begin.starts_with(magic))
}

/// A short name: that of the file, and the topic.
fn name_of(path: &Path, rest: &str) -> String {
    let stem = if path.is_dir() { path.file_name() } else { path.file_stem() };
    let stem = stem.map_or_else(|| path.display().to_string(), |stem| stem.to_string_lossy().into_owned());
    match rest.rsplit(':').next().map(|rest| rest.trim_matches('/').replace('/', "_")) {
        Some(topic) if !topic.is_empty() => format!("{stem}_{topic}"),
        _ => stem,
    }
}
