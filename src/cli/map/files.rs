//! Maps read and files written, with what a user can do where that fails.

use crate::cli::failure::{Failure, warn};
use lienav_io::files::remedy;
use lienav_io::map_file::MapFile;
use std::io;
use std::path::Path;

/// Reads a map, and says what of it is left out.
pub(super) fn read(path: &Path) -> Result<MapFile, Failure> {
    let map = MapFile::read(path).map_err(Failure::failed)?;
    map.warnings.iter().for_each(|warning| warn(warning));
    Ok(map)
}

/// An error of writing, with what can be done.
pub(super) fn not_written(path: &Path, error: &io::Error) -> Failure {
    Failure::Failed(format!("{}: {error}{}", path.display(), remedy(error)))
}

/// A file that is there is replaced where that is asked for only.
pub(super) fn refuse_existing(path: &Path, force: bool) -> Result<(), Failure> {
    if force || !path.exists() {
        return Ok(());
    }
    Err(Failure::Failed(format!("{} exists; --force replaces it", path.display())))
}
