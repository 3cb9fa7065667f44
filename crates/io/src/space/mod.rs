//! Recordings of motions in space among landmarks, with the truth to compare with: plain data, in SI units.
//!
//! [`data`] is what a recording holds, [`open`] reads one. Each layout has a file: `euroc_tracks` (an inertial sensor
//! and tracks of points in one camera), `starloc` (an inertial sensor and tags in a pair of cameras), `starry` (rate,
//! body velocity and points in a pair of cameras), `tagslam` and `frc` (corners of tags; [`tags`] is what they hold,
//! and [`tag_map`] reads maps of tags, [`tag_formats`] those of other programs). `files` has what they share. [`robot`] takes
//! the messages of one.

pub mod data;
mod euroc_tracks;
mod files;
mod frc;
mod jumps;
pub mod robot;
mod starloc;
mod starry;
pub mod tag_formats;
pub mod tag_map;
#[cfg(test)]
mod tag_tests;
pub mod tags;
mod tagslam;
#[cfg(test)]
mod tests;

use crate::recording::OpenError;
use data::SpaceRecording;
use std::path::Path;

/// A layout of folders: what the source begins with, before the colon, and its reader.
type Layout = (&'static str, fn(&Path) -> Result<SpaceRecording, OpenError>);

/// All layouts.
const LAYOUTS: [Layout; 5] = [
    ("euroc-tracks", euroc_tracks::open),
    ("starloc", starloc::open),
    ("starry", starry::open),
    ("tagslam", tagslam::open),
    ("frc", frc::open),
];

/// Whether a source names a recording in space: `euroc-tracks:`, `starloc:`, `starry:`, `tagslam:` or `frc:` and a folder.
pub fn is_in_space(source: &str) -> bool {
    layout(source).is_some()
}

fn layout(source: &str) -> Option<(&'static Layout, &str)> {
    let (prefix, folder) = source.split_once(':')?;
    LAYOUTS.iter().find(|(own, _)| *own == prefix).map(|layout| (layout, folder))
}

/// Reads a recording: `euroc-tracks:`, `starloc:`, `starry:`, `tagslam:` or `frc:` and a folder.
///
/// # Errors
/// The source has another prefix; a file is missing, damaged or not as described: with its name, line and column.
pub fn open(source: &str) -> Result<SpaceRecording, OpenError> {
    let Some(((_, read), folder)) = layout(source) else {
        let problem = "it names no recording in space".to_owned();
        return Err(OpenError::Source { given: source.to_owned(), problem });
    };
    read(Path::new(folder))
}
