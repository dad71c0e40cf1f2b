//! Files that must not outlive the command, however it ends: they hold what letters hold.

use std::collections::BTreeSet;
use std::fs::{File, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tempfile::{Builder, NamedTempFile};

/// What a process that ends at once has to remove, since nothing is dropped then.
static THERE: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// A file with a name of its own, removed when it is dropped.
#[derive(Debug)]
pub(crate) struct Scratch(Option<NamedTempFile>);

impl Scratch {
    /// In the folder for such files; nobody else may read it.
    ///
    /// # Errors
    /// There is no room for it.
    pub(crate) fn private(prefix: &str, suffix: &str) -> io::Result<Self> {
        let mode = Permissions::from_mode(0o600);
        Self::of(Builder::new().prefix(prefix).suffix(suffix).permissions(mode).tempfile()?)
    }

    /// Beside the file that it is to become.
    ///
    /// # Errors
    /// The folder is not there, or takes no file.
    pub(crate) fn beside(name: &Path) -> io::Result<Self> {
        let mut prefix = name.file_name().unwrap_or_default().to_owned();
        prefix.push(".");
        // The umask takes away from it what it takes from any new file.
        let mode = Permissions::from_mode(0o666);
        let mut builder = Builder::new();
        builder.prefix(&prefix).suffix(".part").permissions(mode);
        Self::of(builder.tempfile_in(folder(name))?)
    }

    fn of(file: NamedTempFile) -> io::Result<Self> {
        there().insert(file.path().to_owned());
        Ok(Self(Some(file)))
    }

    pub(crate) fn path(&self) -> &Path {
        self.file().path()
    }

    /// Gives it its name, unless there is a file of that name by now.
    ///
    /// # Errors
    /// There is one, or it cannot be written.
    pub(crate) fn persist(mut self, name: &Path) -> io::Result<()> {
        let Some(file) = self.0.take() else { return Ok(()) };
        let path = file.path().to_owned();
        let result = file.as_file().sync_all().and_then(|()| Ok(file.persist_noclobber(name)?));
        there().remove(&path);
        result?;
        // What was written may be deleted elsewhere now; a name that is lost with the power would be no copy.
        File::open(folder(name))?.sync_all()
    }

    fn file(&self) -> &NamedTempFile {
        self.0.as_ref().expect("it is taken by what takes all of it")
    }
}

impl Write for Scratch {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        <&File>::write(&mut self.file().as_file(), bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if let Some(file) = self.0.take() {
            let path = file.path().to_owned();
            drop(file);
            there().remove(&path);
        }
    }
}

fn folder(of: &Path) -> &Path {
    of.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Removes all of them, before the process ends without another word.
pub(crate) fn remove_all() {
    for path in std::mem::take(&mut *there()) {
        // It may be gone already, and nobody is left to try again.
        let _ = std::fs::remove_file(path);
    }
}

fn there() -> MutexGuard<'static, BTreeSet<PathBuf>> {
    // A set of paths is never half changed.
    THERE.lock().unwrap_or_else(PoisonError::into_inner)
}
