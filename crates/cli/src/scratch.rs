//! Private files with contents of letters, which are removed however the command ends.

use std::collections::BTreeSet;
use std::fs::{File, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::process::getuid;
use tempfile::{Builder, NamedTempFile, TempDir};

use crate::tell::tell;

/// Paths that a process must remove if it exits, because exiting drops nothing.
static TEMPORARY_PATHS: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// An unfinished file, removed if it is dropped before it gets its name.
#[derive(Debug)]
pub(crate) struct Scratch {
    // The file is dropped, and so removed, before its path.
    file: NamedTempFile,
    _path: TemporaryPath,
}

impl Scratch {
    /// Creates the file in the folder of its name.
    ///
    /// # Errors
    /// The folder does not exist or is not writable.
    pub(crate) fn beside(name: &Path) -> io::Result<Self> {
        let mut prefix = name.file_name().unwrap_or_default().to_owned();
        prefix.push(".");
        let mut builder = Builder::new();
        builder.prefix(&prefix).suffix(".part").permissions(Permissions::from_mode(0o600));
        let file = builder.tempfile_in(parent(name))?;
        Ok(Self { _path: TemporaryPath::new(file.path()), file })
    }

    /// Gives the file its name.
    ///
    /// # Errors
    /// A file with this name exists, or the file cannot be written.
    pub(crate) fn persist(self, name: &Path) -> io::Result<()> {
        self.file.as_file().sync_all()?;
        self.file.persist_noclobber(name)?;
        // The caller may now delete the originals, so the name must survive a power failure.
        File::open(parent(name))?.sync_all()
    }
}

impl Write for Scratch {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// A folder for folders. If this process is killed, the next one that creates such a folder removes it.
#[derive(Debug)]
pub(crate) struct Shelf {
    folder: TempDir,
    // Locked, so that other processes see that this one lives.
    _lock: File,
}

const LOCK: &str = ".lock";

impl Shelf {
    /// Creates it in the folder for temporary files, with this prefix.
    ///
    /// # Errors
    /// The folder cannot be created.
    pub(crate) fn new(prefix: &str) -> io::Result<Self> {
        sweep(prefix);
        let folder = private(prefix).tempdir()?;
        // Another process may sweep now. It removes the folder only if it can lock a file with this name.
        let part = folder.path().join("lock.part");
        let lock = File::create_new(&part)?;
        lock.try_lock()?;
        std::fs::rename(part, folder.path().join(LOCK))?;
        Ok(Self { folder, _lock: lock })
    }

    /// Creates a folder in it.
    ///
    /// # Errors
    /// The folder cannot be created.
    pub(crate) fn folder(&self) -> io::Result<TempDir> {
        private("").tempdir_in(&self.folder)
    }
}

/// Removes the folders of processes that were killed. One without a lock file is being created.
fn sweep(prefix: &str) {
    for entry in std::fs::read_dir(std::env::temp_dir()).into_iter().flatten().flatten() {
        let is_ours = entry.file_name().as_encoded_bytes().starts_with(prefix.as_bytes())
            && entry.metadata().is_ok_and(|it| it.is_dir() && it.uid() == getuid().as_raw());
        let path = entry.path();
        if is_ours && File::open(path.join(LOCK)).is_ok_and(|lock| lock.try_lock().is_ok()) {
            // Another process may be removing it too.
            let _ = std::fs::remove_dir_all(path);
        }
    }
}

fn private(prefix: &str) -> Builder<'_, 'static> {
    let mut builder = Builder::new();
    builder.prefix(prefix).permissions(Permissions::from_mode(0o700));
    builder
}

/// A folder with one file for an editor. Files beside it, such as backups, are removed with it.
#[derive(Debug)]
pub(crate) struct Desk {
    // The folder is dropped, and so removed, before its path.
    folder: TempDir,
    _path: TemporaryPath,
    name: &'static str,
}

impl Desk {
    /// Creates a folder with this text in a file of this name.
    ///
    /// # Errors
    /// The folder or the file cannot be created.
    pub(crate) fn with(name: &'static str, text: &str) -> io::Result<Self> {
        let folder = private("redrive-").tempdir()?;
        let desk = Self { _path: TemporaryPath::new(folder.path()), folder, name };
        let mut file = File::options().write(true).create_new(true).mode(0o600).open(desk.file())?;
        file.write_all(text.as_bytes())?;
        Ok(desk)
    }

    pub(crate) fn file(&self) -> PathBuf {
        self.folder.path().join(self.name)
    }

    /// Keeps the letter's file and prints its path, so that nobody has to type it again.
    pub(crate) fn keep(self, letter: &str) {
        let Self { folder, _path, name } = self;
        let file = folder.keep().join(name);
        tell(format_args!("redrive: letter {letter} as you edited it is in {}", file.display()));
    }
}

/// A path that is removed if the process exits early.
#[derive(Debug)]
struct TemporaryPath(PathBuf);

impl TemporaryPath {
    fn new(path: &Path) -> Self {
        temporary_paths().insert(path.to_owned());
        Self(path.to_owned())
    }
}

impl Drop for TemporaryPath {
    fn drop(&mut self) {
        temporary_paths().remove(&self.0);
    }
}

/// Removes all paths before the process exits.
pub(crate) fn remove_all() {
    for path in std::mem::take(&mut *temporary_paths()) {
        // It may be gone already, and there is no second attempt.
        let _ = if path.is_dir() { std::fs::remove_dir_all(path) } else { std::fs::remove_file(path) };
    }
}

fn parent(of: &Path) -> &Path {
    of.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn temporary_paths() -> MutexGuard<'static, BTreeSet<PathBuf>> {
    // A set of paths is never half changed.
    TEMPORARY_PATHS.lock().unwrap_or_else(PoisonError::into_inner)
}
