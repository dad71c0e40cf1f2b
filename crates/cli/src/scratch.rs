//! What must not outlive the command, however it ends, and nobody else may read: it holds what letters hold.

use std::collections::BTreeSet;
use std::fs::{File, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::process::getuid;
use tempfile::{Builder, NamedTempFile, TempDir};

use crate::tell::tell;

/// What a process that ends at once has to remove, since nothing is dropped then.
static THERE: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// A file on its way to its name, removed if it is dropped before.
#[derive(Debug)]
pub(crate) struct Scratch {
    // Dropped, and with that removed, before the entry.
    file: NamedTempFile,
    _entry: Entry,
}

impl Scratch {
    /// Beside the file that it is to become.
    ///
    /// # Errors
    /// The folder is not there, or takes no file.
    pub(crate) fn beside(name: &Path) -> io::Result<Self> {
        let mut prefix = name.file_name().unwrap_or_default().to_owned();
        prefix.push(".");
        let mut builder = Builder::new();
        builder.prefix(&prefix).suffix(".part").permissions(Permissions::from_mode(0o600));
        let file = builder.tempfile_in(parent(name))?;
        Ok(Self { _entry: Entry::new(file.path()), file })
    }

    /// Gives it its name, unless there is a file of that name by now.
    ///
    /// # Errors
    /// There is one, or it cannot be written.
    pub(crate) fn persist(self, name: &Path) -> io::Result<()> {
        self.file.as_file().sync_all()?;
        self.file.persist_noclobber(name)?;
        // What was written may be deleted elsewhere now; a name that is lost with the power would be no copy.
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

/// A folder for folders. If this process is killed, the next one that makes such a folder removes it.
#[derive(Debug)]
pub(crate) struct Shelf {
    folder: TempDir,
    // Held by the process, so that others can tell that it lives.
    _lock: File,
}

const LOCK: &str = ".lock";

impl Shelf {
    /// In the folder for temporary files, with a name that begins so.
    ///
    /// # Errors
    /// There is no room for it.
    pub(crate) fn new(prefix: &str) -> io::Result<Self> {
        sweep(prefix);
        let folder = private(prefix).tempdir()?;
        // Another process may sweep now: it removes the folder only if it can lock a file of this name.
        let part = folder.path().join("lock.part");
        let lock = File::create_new(&part)?;
        lock.try_lock()?;
        std::fs::rename(part, folder.path().join(LOCK))?;
        Ok(Self { folder, _lock: lock })
    }

    /// A folder on it.
    ///
    /// # Errors
    /// There is no room for it.
    pub(crate) fn folder(&self) -> io::Result<TempDir> {
        private("").tempdir_in(&self.folder)
    }
}

/// Removes the folders of processes that were killed. One without a lock is just being made.
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

/// A folder with one file, for an editor: what that leaves beside the file, such as a backup, goes with it.
#[derive(Debug)]
pub(crate) struct Desk {
    // Dropped, and with that removed, before the entry.
    folder: TempDir,
    _entry: Entry,
    name: &'static str,
}

impl Desk {
    /// With this text in a file of this name.
    ///
    /// # Errors
    /// There is no room for it.
    pub(crate) fn with(name: &'static str, text: &str) -> io::Result<Self> {
        let folder = private("redrive-").tempdir()?;
        let desk = Self { _entry: Entry::new(folder.path()), folder, name };
        let mut file = File::options().write(true).create_new(true).mode(0o600).open(desk.file())?;
        file.write_all(text.as_bytes())?;
        Ok(desk)
    }

    pub(crate) fn file(&self) -> PathBuf {
        self.folder.path().join(self.name)
    }

    /// Leaves the file of this letter there, and says so: nobody is to type it again.
    pub(crate) fn keep(self, letter: &str) {
        let Self { folder, _entry, name } = self;
        let file = folder.keep().join(name);
        tell(format_args!("redrive: letter {letter} as you edited it is in {}", file.display()));
    }
}

/// A path that is removed if the process ends at once.
#[derive(Debug)]
struct Entry(PathBuf);

impl Entry {
    fn new(path: &Path) -> Self {
        there().insert(path.to_owned());
        Self(path.to_owned())
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        there().remove(&self.0);
    }
}

/// Removes all of them, before the process ends without another word.
pub(crate) fn remove_all() {
    for path in std::mem::take(&mut *there()) {
        // It may be gone already, and nobody is left to try again.
        let _ = if path.is_dir() { std::fs::remove_dir_all(path) } else { std::fs::remove_file(path) };
    }
}

fn parent(of: &Path) -> &Path {
    of.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn there() -> MutexGuard<'static, BTreeSet<PathBuf>> {
    // A set of paths is never half changed.
    THERE.lock().unwrap_or_else(PoisonError::into_inner)
}
