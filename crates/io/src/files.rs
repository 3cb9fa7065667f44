//! Files that are either whole or not there.

use std::fs::{File, Permissions};
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// Writes a file under a temporary name in the same folder, syncs it, and renames it to `path`: whoever opens `path`
/// finds the old content or the new, never a part. A process that is killed leaves at most a hidden file `.NAME…tmp`.
///
/// # Errors
/// What `write` says, or the folder cannot be written to. `path` is untouched then and the temporary file is removed.
pub fn write_atomically(path: &Path, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let folder = folder_of(path);
    let name = path.file_name().ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "not a file name"))?;
    let prefix = format!(".{}.", name.to_string_lossy());
    let mut builder = tempfile::Builder::new();
    builder.prefix(&prefix).suffix(".tmp");
    let mode = ordinary_permissions();
    if let Some(mode) = mode {
        builder.permissions(mode);
    }
    let mut out = BufWriter::new(builder.tempfile_in(folder)?);
    write(&mut out)?;
    let file = out.into_inner().map_err(io::IntoInnerError::into_error)?;
    file.as_file().sync_all()?;
    file.persist(path).map_err(|e| e.error)?;
    sync_folder(folder);
    Ok(())
}

/// The folder a path lies in; `.` for a bare name.
pub(crate) fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

/// Makes a rename in `folder` last. Not every file system can: that is no error, the file itself is synced.
pub(crate) fn sync_folder(folder: &Path) {
    if let Ok(folder) = File::open(folder) {
        let _ = folder.sync_all();
    }
}

/// What `File::create` would give; temporary files are private otherwise, and would stay so after the rename.
#[cfg(unix)]
fn ordinary_permissions() -> Option<Permissions> {
    use std::os::unix::fs::PermissionsExt;
    Some(Permissions::from_mode(0o666))
}

#[cfg(not(unix))]
fn ordinary_permissions() -> Option<Permissions> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn the_new_content_replaces_the_old() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("report.csv");
        for text in ["old and long", "new"] {
            write_atomically(&path, |out| out.write_all(text.as_bytes())).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
        }
    }

    #[test]
    fn a_failure_leaves_the_old_content_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("report.csv");
        fs::write(&path, "old").unwrap();
        let result = write_atomically(&path, |out| {
            out.write_all(b"half")?;
            Err(io::Error::other("disk full"))
        });
        assert_eq!(result.unwrap_err().to_string(), "disk full");
        assert_eq!(fs::read_to_string(&path).unwrap(), "old");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[cfg(unix)]
    #[test]
    fn permissions_are_those_of_an_ordinary_file() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let (ours, theirs) = (folder.path().join("ours"), folder.path().join("theirs"));
        write_atomically(&ours, |out| out.write_all(b"x")).unwrap();
        fs::write(&theirs, "x").unwrap();
        let mode = |p: &Path| fs::metadata(p).unwrap().permissions().mode();
        assert_eq!(mode(&ours), mode(&theirs));
    }
}
