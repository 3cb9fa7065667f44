//! Files and folders that are either whole or not there, and temporary ones that do not outlive their process.
//!
//! What is being written has a hidden name, `.NAME.XXXXXX.tmp`, beside its place, and is locked. A process that ends by
//! a signal removes what it has begun ([`remove_temporaries`]); what one leaves that was killed, the next one that
//! writes to the same place finds unlocked, and removes ([`remove_leftovers`]). A folder that is about to change places
//! with an old one is `.NAME.XXXXXX.new`: until the user's files are out of it, nothing of it is removed.

use crate::bounds;
use crate::open;
use crate::place::Place;
use std::collections::BTreeSet;
use std::fs::{self, File, Permissions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use tempfile::{NamedTempFile, TempDir, TempPath};

/// Reads a text file that the user has named: settings, a scenario, a map of others. A pipe that his shell has opened
/// is welcome, as in `--config <(…)`; devices, pipes with a name, and what does not end are refused.
///
/// # Errors
/// What the file system says; more than 8 MB; what is not UTF-8.
pub fn read_text(path: &Path) -> io::Result<String> {
    open::text(open::named(path)?, bounds::TEXT)
}

/// What the user can do about an error of writing, as the end of a sentence; empty where no writer knows.
pub fn remedy(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => "; free space or choose a folder on another disk",
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            "; choose a folder that you may write to"
        }
        io::ErrorKind::ResourceBusy | io::ErrorKind::CrossesDevices => {
            "; it is where a disk is mounted: give a new folder inside of it"
        }
        // EFBIG, which is what the limit of a shell gives.
        io::ErrorKind::FileTooLarge => "; raise the limit of the size of files (`ulimit -f`)",
        _ => "",
    }
}

/// Writes a file under a temporary name in the same folder, syncs it, and renames it to `path`: whoever opens `path`
/// finds the old content or the new, never a part. A process that is killed leaves at most a hidden file `.NAME…tmp`.
/// A link is followed, and what it leads to is written. Only a regular file is replaced: a device or a pipe is written
/// to, and anything else is refused.
///
/// # Errors
/// What `write` says, or the folder cannot be written to. `path` is untouched then and the temporary file is removed.
pub fn write_atomically(path: &Path, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let path = match Place::of(path)? {
        Place::File(path) => path,
        Place::Stream(stream) => {
            let mut out = BufWriter::new(stream);
            write(&mut out)?;
            return out.flush();
        }
    };
    let (path, folder) = (path.as_path(), folder_of(&path));
    let prefix = prefix_of(path)?;
    let (file, _registered) = loop {
        let mut builder = tempfile::Builder::new();
        builder.prefix(&prefix).suffix(SUFFIX);
        let mode = ordinary_permissions(0o666);
        if let Some(mode) = mode {
            builder.permissions(mode);
        }
        let file = builder.tempfile_in(folder).map_err(without_path)?;
        let registered = Registered::new(file.path());
        // Where the file system has no locks, nobody takes it for left over either.
        let _ = file.as_file().lock();
        // Between the two lines above, another process may have taken it for left over.
        if file.path().exists() {
            break (file, registered);
        }
    };
    // Not through the temporary file itself, whose errors have the hidden name.
    let mut out = BufWriter::new(file.as_file());
    write(&mut out)?;
    out.flush()?;
    drop(out);
    file.as_file().sync_all()?;
    file.persist(path).map_err(|e| e.error)?;
    sync_folder(folder);
    Ok(())
}

/// A folder that is being filled, beside the place that it will take. Dropped before, it leaves nothing.
pub struct StagedFolder {
    target: PathBuf,
    folder: TempDir,
    _lock: Option<File>,
    registered: Registered,
}

impl StagedFolder {
    /// Begins a folder that will be `target`; folders above it are made where they are missing.
    ///
    /// # Errors
    /// `target` is no name of a folder, or its parent cannot be written to.
    pub fn create(target: &Path) -> io::Result<Self> {
        let target = resolved(target);
        let parent = folder_of(&target);
        let prefix = prefix_of(&target)?;
        fs::create_dir_all(parent)?;
        loop {
            let mut builder = tempfile::Builder::new();
            builder.prefix(&prefix).suffix(SUFFIX);
            if let Some(mode) = ordinary_permissions(0o777) {
                builder.permissions(mode);
            }
            let folder = builder.tempdir_in(parent).map_err(without_path)?;
            let lock = File::open(folder.path()).ok().filter(|file| file.lock().is_ok());
            // Between the two lines above, another process may have taken it for left over.
            if folder.path().exists() {
                let registered = Registered::new(folder.path());
                return Ok(Self { target, folder, _lock: lock, registered });
            }
        }
    }

    /// Where it is filled.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Puts the folder in its place with one rename. A folder that is there is exchanged for it, and then removed: at
    /// every instant, either the old one is there as a whole or the new one. What is in the old one and not `ours`
    /// moves into the new one.
    ///
    /// # Errors
    /// The file system refuses; what was there is still there then.
    pub fn take_place(self, ours: &dyn Fn(&Path) -> bool) -> io::Result<()> {
        let Self { target, mut folder, _lock, registered } = self;
        // From here on, the hidden folder may be the old one.
        registered.release();
        let hidden = folder.path().with_extension(COMPLETE);
        fs::rename(folder.path(), &hidden)?;
        folder.disable_cleanup(true);
        let remove_hidden = |error| {
            let _ = remove(&hidden);
            error
        };
        if fs::symlink_metadata(&target).is_err() {
            fs::rename(&hidden, &target).map_err(remove_hidden)?;
        } else if exchange(&hidden, &target).is_ok() {
            rescue(&hidden, &target, ours)?;
        } else {
            // Not every file system can exchange. The old folder has a name then that nobody takes for left over.
            let aside = hidden.with_extension("old");
            fs::rename(&target, &aside).map_err(remove_hidden)?;
            if let Err(error) = fs::rename(&hidden, &target) {
                fs::rename(&aside, &target)?;
                return Err(remove_hidden(error));
            }
            rescue(&aside, &target, ours)?;
        }
        sync_folder(folder_of(&target));
        Ok(())
    }
}

#[cfg(target_os = "linux")]
fn exchange(a: &Path, b: &Path) -> io::Result<()> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    Ok(renameat_with(CWD, a, CWD, b, RenameFlags::EXCHANGE)?)
}

#[cfg(not(target_os = "linux"))]
fn exchange(_: &Path, _: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Removes the folder `old`; what is in it and not `ours` moves to `target`.
fn rescue(old: &Path, target: &Path, ours: &dyn Fn(&Path) -> bool) -> io::Result<()> {
    for entry in fs::read_dir(old)? {
        let entry = entry?;
        if !ours(&entry.path()) {
            let place = target.join(entry.file_name());
            if place.exists() {
                return Err(io::Error::new(
                    io::ErrorKind::AlreadyExists,
                    format!("{} is not moved there, where something has its name", entry.path().display()),
                ));
            }
            fs::rename(entry.path(), place)?;
        }
    }
    remove(old)
}

/// Removes a hidden folder of which nothing is the user's. Half of one of ours would look like the user's: its name
/// says first that it is not.
fn remove(hidden: &Path) -> io::Result<()> {
    let garbage = hidden.with_extension(UNFINISHED);
    fs::rename(hidden, &garbage)?;
    fs::remove_dir_all(garbage)
}

/// A place where a folder can be put: `..` and links lead somewhere, and it is put there.
fn resolved(target: &Path) -> PathBuf {
    let is_link = fs::symlink_metadata(target).is_ok_and(|found| found.is_symlink());
    if is_link { target.canonicalize().unwrap_or_else(|_| target.to_owned()) } else { target.to_owned() }
}

/// A file or folder among the system's temporary ones, which is removed when dropped, and by [`remove_temporaries`].
pub struct Temporary {
    kind: Kind,
    _registered: Registered,
}

enum Kind {
    File(NamedTempFile),
    /// A file that is not written to any more.
    Closed(TempPath),
    Folder(TempDir),
}

impl Temporary {
    /// An empty file.
    ///
    /// # Errors
    /// What the file system says.
    pub fn file() -> io::Result<Self> {
        let file = NamedTempFile::with_prefix("lienav-").map_err(without_path)?;
        let _registered = Registered::new(file.path());
        Ok(Self { kind: Kind::File(file), _registered })
    }

    /// An empty folder.
    ///
    /// # Errors
    /// What the file system says.
    pub fn folder() -> io::Result<Self> {
        let folder = TempDir::with_prefix("lienav-").map_err(without_path)?;
        let _registered = Registered::new(folder.path());
        Ok(Self { kind: Kind::Folder(folder), _registered })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        match &self.kind {
            Kind::File(file) => file.path(),
            Kind::Closed(path) => path,
            Kind::Folder(folder) => folder.path(),
        }
    }

    /// Lets go of the file, which stays where it is.
    pub fn close(self) -> Self {
        let kind = match self.kind {
            Kind::File(file) => Kind::Closed(file.into_temp_path()),
            other => other,
        };
        Self { kind, ..self }
    }
}

impl Write for Temporary {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.kind {
            Kind::File(file) => file.write(bytes),
            _ => Err(io::ErrorKind::InvalidInput.into()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// What this process has begun and not finished.
static BEGUN: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// A path in [`BEGUN`], for as long as this lives.
struct Registered(PathBuf);

impl Registered {
    fn new(path: &Path) -> Self {
        BEGUN.lock().unwrap_or_else(PoisonError::into_inner).insert(path.to_owned());
        Self(path.to_owned())
    }

    /// Takes the path out of what a signal removes. Where one is removing it already, this never returns: the process
    /// is about to end, and must not put what is half removed in its place.
    fn release(self) {
        let was_there = BEGUN.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.0);
        if !was_there {
            loop {
                std::thread::park();
            }
        }
    }
}

impl Drop for Registered {
    fn drop(&mut self) {
        BEGUN.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.0);
    }
}

/// Removes every temporary file and folder that this process has begun: for a process that is about to end by a signal,
/// which runs no destructors. Work on them fails from then on.
pub fn remove_temporaries() {
    let begun = std::mem::take(&mut *BEGUN.lock().unwrap_or_else(PoisonError::into_inner));
    for path in begun {
        // A folder that is being filled meanwhile may refuse once.
        let _ = fs::remove_file(&path).or_else(|_| fs::remove_dir_all(&path)).or_else(|_| fs::remove_dir_all(&path));
    }
}

/// Removes what killed processes have left that were writing the folder `target`, and says where that was. What a
/// process that lives is writing is locked, and stays; what is not `ours` moves to `target`, if that is there.
pub fn remove_leftovers(target: &Path, ours: &dyn Fn(&Path) -> bool) -> Vec<PathBuf> {
    let target = resolved(target);
    let (Ok(prefix), Ok(entries)) = (prefix_of(&target), fs::read_dir(folder_of(&target))) else { return Vec::new() };
    let mut removed = Vec::new();
    for entry in entries.flatten() {
        let (name, path) = (entry.file_name(), entry.path());
        let [is_unfinished, is_complete] =
            [UNFINISHED, COMPLETE].map(|extension| is_hidden(&name.to_string_lossy(), &prefix, extension));
        if !(is_unfinished || is_complete) || !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            continue;
        }
        // Held until it is removed: its process may be about to begin.
        let Some(_lock) = File::open(&path).ok().filter(|file| file.try_lock().is_ok()) else { continue };
        let result = if is_unfinished { fs::remove_dir_all(&path) } else { rescue(&path, &target, ours) };
        if result.is_ok() {
            removed.push(path);
        }
    }
    removed
}

/// Removes what killed processes have left in `folder` that were writing files with such names. What a process that
/// lives is writing is locked, and stays.
pub fn remove_leftover_files(folder: &Path, is_target: impl Fn(&str) -> bool) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        // `.TARGET.XXXXXX.tmp`
        let target = name.strip_prefix('.').and_then(|rest| rest.rsplitn(3, '.').last());
        let is_left =
            target.is_some_and(|target| is_target(target) && is_hidden(&name, &format!(".{target}."), UNFINISHED));
        if !is_left || !entry.file_type().is_ok_and(|kind| kind.is_file()) {
            continue;
        }
        // Held until it is removed: its process may be about to begin.
        let Some(_lock) = File::open(entry.path()).ok().filter(|file| file.try_lock().is_ok()) else { continue };
        let _ = fs::remove_file(entry.path());
    }
}

/// Whether a name is that of a hidden file or folder that will take the place of another.
fn is_hidden(name: &str, prefix: &str, extension: &str) -> bool {
    let middle = name.strip_prefix(prefix).and_then(|rest| rest.strip_suffix(extension)?.strip_suffix('.'));
    middle.is_some_and(|middle| middle.len() == 6 && middle.bytes().all(|byte| byte.is_ascii_alphanumeric()))
}

/// The library names the hidden file in its errors, which nobody knows.
fn without_path(error: io::Error) -> io::Error {
    error.kind().into()
}

const SUFFIX: &str = ".tmp";
/// Of a hidden folder of which nothing is the user's.
const UNFINISHED: &str = "tmp";
/// Of a hidden folder that is complete, or that was in the place before: something in it may be the user's.
const COMPLETE: &str = "new";

fn prefix_of(path: &Path) -> io::Result<String> {
    let name = path.file_name().ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "it ends with no name"))?;
    Ok(format!(".{}.", name.to_string_lossy()))
}

/// The folder a path lies in; `.` for a bare name.
pub fn folder_of(path: &Path) -> &Path {
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
fn ordinary_permissions(mode: u32) -> Option<Permissions> {
    use std::os::unix::fs::PermissionsExt;
    Some(Permissions::from_mode(mode))
}

#[cfg(not(unix))]
fn ordinary_permissions(_: u32) -> Option<Permissions> {
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

    #[test]
    fn a_folder_takes_its_place_whole_and_what_a_killed_process_left_is_removed() {
        let root = tempfile::tempdir().unwrap();
        let target = root.path().join("deep/results");
        let fill = |text: &str| {
            let staged = StagedFolder::create(&target).unwrap();
            fs::write(staged.path().join(text), text).unwrap();
            staged
        };
        let names = |folder: &Path| {
            let mut names: Vec<String> =
                fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
            names.sort();
            names
        };
        let ours = |path: &Path| !path.ends_with("notes");
        fill("old").take_place(&ours).unwrap();
        drop(fill("dropped"));
        assert_eq!(names(&target), ["old"]);
        fs::write(target.join("notes"), "of the user").unwrap();
        fill("new").take_place(&ours).unwrap();
        assert_eq!(names(&target), ["new", "notes"]);
        assert_eq!(names(root.path().join("deep").as_path()), ["results"]);
        let alive = fill("alive");
        let killed = root.path().join("deep/.results.abc123.tmp");
        fs::create_dir(&killed).unwrap();
        fs::create_dir(root.path().join("deep/.results.notes.tmp")).unwrap();
        fs::create_dir(killed.join("notes")).unwrap();
        let replaced = root.path().join("deep/.results.abc123.new");
        fs::create_dir_all(replaced.join("notes.d")).unwrap();
        let ours = |path: &Path| !path.ends_with("notes") && !path.ends_with("notes.d");
        assert_eq!(remove_leftovers(&target, &ours).len(), 2);
        assert!(!killed.exists() && !replaced.exists());
        assert_eq!(names(&target), ["new", "notes", "notes.d"]);
        assert!(alive.path().exists() && root.path().join("deep/.results.notes.tmp").exists());
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
