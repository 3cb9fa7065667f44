//! A map of landmarks as a file: written by hand from a survey, or by a filter for its next run.
//!
//! The map is YAML. This is a whole one, as a person writes it:
//!
//! ```yaml
//! lienav_map: 1                                # the version of the format
//! sigma_m: 0.02                                # standard deviation of either coordinate where none is stated, m
//! landmarks:
//! - {id: 7, x_m: 1.25, y_m: -3.5}
//! - {id: 8, x_m: 4.0, y_m: 0.75, sigma_m: 0.05}
//! - {x_m: 2.0, y_m: 6.0, class: 2}             # a sensor that reads no identities needs none
//! ```
//!
//! | key | unit | meaning |
//! |---|---|---|
//! | `lienav_map` | | version of the format: 1 |
//! | `frame` | | frame that positions are in; optional, the user's `map_frame` otherwise |
//! | `sigma_m` | m | standard deviation of either coordinate of landmarks that state none; optional |
//! | `count` | | how many landmarks there are; optional, tells a file that was cut off |
//! | `state` | | file of the joint covariance beside this one; programs write it |
//! | `landmarks` | | the list; `[]` is an empty map |
//!
//! | key of a landmark | unit | meaning |
//! |---|---|---|
//! | `x_m`, `y_m` | m | position in the map frame, up to 10⁷ m from its origin |
//! | `sigma_m` | m | standard deviation of either coordinate, 0 … 10⁵ m; or `covariance_m2` instead |
//! | `covariance_m2` | m² | `[xx, xy, yy]` |
//! | `id` | | what the sensor calls it, 0 … 4294967294; no two are the same |
//! | `class` | | what kind of thing it is, 0 … 4294967295; 0, unknown, if it is left out |
//!
//! A landmark without `id` gets a number from 2147483648 on, which no sensor reports.
//!
//! Beside the map `hall.yaml` may lie its state, `hall.yaml.XXXXXXXX.state`: the joint covariance of the landmarks or
//! the parts of the map (`map.local_features`), and the filter as it was. The map names its state with length and
//! checksum, and the state has a checksum of the landmarks that it belongs to. A pair therefore never mixes: the state
//! is written first, under a name of its own, and one rename of the map makes both valid. A state that is missing,
//! damaged or of other landmarks (somebody has edited the map) is ignored with a warning, and the map is still good.
//!
//! ```
//! use lienav_io::map_file::{MapFile, parse};
//!
//! let survey = "lienav_map: 1\nlandmarks:\n- {id: 7, x_m: 1.25, y_m: -3.5, sigma_m: 0.02}\n";
//! assert_eq!(parse(survey).unwrap().map.landmarks[0].id, 7);
//!
//! let refused = parse(&survey.replace("0.02", "-0.02")).unwrap_err();
//! assert_eq!(refused[0].to_string(), "line 3: sigma_m is -0.02; allowed: 0 … 100000");
//! # let _ = MapFile::default();
//! ```

mod data;
pub mod foreign;
mod state;
#[cfg(test)]
mod tests;
mod text;

pub use data::MapFile;
pub use text::{Companion, MAX_COORDINATE_M, MAX_LANDMARKS, MAX_SIGMA_M, OWN_IDS, Parsed, Problem, UNKNOWN_ID, parse};
pub use text::{VERSION, number, to_text};

pub use state::{StateFile, state_from_text};

use crate::files::write_atomically;
use crate::open;
use crate::place;
use lienav_files::bounds;
use lienav_slam::{LandmarkMap, SavedState};
use lienav_submaps::WholeMap;
use std::io;
use std::path::{Path, PathBuf};

/// A file that is no map, or cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum MapFileError {
    /// What the file system says.
    #[error("{path}: {error}")]
    Io {
        /// The file.
        path: PathBuf,
        /// What the file system says.
        error: io::Error,
    },
    /// The file is not a map, or a damaged one.
    #[error("{path}: {}{}", first(.problems), others(.problems, .path))]
    Bad {
        /// The file.
        path: PathBuf,
        /// Everything that is wrong with it.
        problems: Vec<Problem>,
    },
}

fn first(problems: &[Problem]) -> String {
    problems.first().map(Problem::to_string).unwrap_or_default()
}

fn others(problems: &[Problem], path: &Path) -> String {
    match problems.len().saturating_sub(1) {
        0 => String::new(),
        more => format!(" (and {more} more; `lienav map check {}` lists them)", path.display()),
    }
}

/// A map may be saved again between the measurement of its two files: then it is read anew, so many times.
const ATTEMPTS: usize = 3;

impl From<SavedState> for MapFile {
    /// The map of a run, and all that it needs to go on.
    fn from(saved: SavedState) -> Self {
        Self { map: saved.map(), filter: Some(saved), ..Self::default() }
    }
}

impl From<(WholeMap, SavedState)> for MapFile {
    /// The same of a map in parts, with the filter that has the open one.
    fn from((whole, saved): (WholeMap, SavedState)) -> Self {
        let map = LandmarkMap { landmarks: whole.landmarks, joint: None, near: None };
        Self { map, filter: Some(saved), parts: Some(whole.submaps), ..Self::default() }
    }
}

impl MapFile {
    /// Reads a map, and its state where there is one.
    ///
    /// # Errors
    /// [`MapFileError`]: the file cannot be read, or is no map. It says the line and what can be done.
    pub fn read(path: &Path) -> Result<Self, MapFileError> {
        let mut attempt = 1;
        loop {
            let (mut found, companion) = Self::read_text(path)?;
            let Some(companion) = companion else { return Ok(found) };
            match state::read(path, &companion, &found.map) {
                Ok(state) => {
                    (found.map.joint, found.filter, found.parts) = (state.joint, state.filter, state.parts);
                    found.warnings = state.warnings;
                    return Ok(found);
                }
                Err(_) if attempt < ATTEMPTS && Self::names_another(path, &companion) => attempt += 1,
                Err(why) => {
                    found.warnings.push(format!(
                        "{}: its state {} is ignored: {why}; the landmarks are used, as if independent of each other",
                        path.display(),
                        companion.file
                    ));
                    return Ok(found);
                }
            }
        }
    }

    /// The map without its state, and the name of that.
    fn read_text(path: &Path) -> Result<(Self, Option<Companion>), MapFileError> {
        let failed = |error| MapFileError::Io { path: path.to_owned(), error };
        let file = open::regular(path).map_err(failed)?;
        let text = open::text(file, bounds::MAP).map_err(failed)?;
        let parsed = parse(&text).map_err(|problems| MapFileError::Bad { path: path.to_owned(), problems })?;
        Ok((Self { frame: parsed.frame, map: parsed.map, ..Self::default() }, parsed.state))
    }

    fn names_another(path: &Path, companion: &Companion) -> bool {
        Self::read_text(path).is_ok_and(|(_, now)| now.is_some_and(|now| now != *companion))
    }

    /// Writes the map, and its state beside it. Whoever reads `path` finds the old map with its state or the new one
    /// with its own, at every instant. What killed processes have left of earlier attempts is removed.
    ///
    /// # Errors
    /// What the file system says, or `path` is neither a regular file nor nothing; the old map is untouched then.
    pub fn write(&self, path: &Path) -> io::Result<()> {
        let path = &place::file(path)?;
        let companion = state::write(path, self)?;
        let text = to_text(&self.map, self.frame.as_deref(), companion.as_ref());
        write_atomically(path, |out| out.write_all(text.as_bytes()))?;
        state::remove_others(path, companion.as_ref());
        Ok(())
    }
}
