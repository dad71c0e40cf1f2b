//! Copies letters to a file before they are deleted.

use std::cell::RefCell;
use std::fs::File;
use std::io::{ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, anyhow};

use super::letter::Letter;
use super::line::LetterLine;
use crate::output;
use crate::problem::Problem;

/// A file for the letters that a run deletes, as `dlq export` writes them. It is created with the first letter. Each letter is
/// in it before SQS deletes it.
#[derive(Debug)]
pub(crate) struct Copies {
    name: PathBuf,
    file: RefCell<Option<File>>,
}

impl Copies {
    /// # Errors
    /// A file with this name exists.
    pub(crate) fn to(name: &Path) -> Result<Self, Problem> {
        match name.exists() {
            true => Err(Problem::Input(exists(name))),
            false => Ok(Self { name: name.to_owned(), file: RefCell::default() }),
        }
    }

    /// Writes letters and flushes them to the disk.
    ///
    /// # Errors
    /// The letters may not be in the file, so none of them may be deleted.
    pub(super) fn add<'a>(
        &self,
        letters: impl Iterator<Item = &'a Letter>,
        retention: Duration,
    ) -> anyhow::Result<()> {
        let failed = || format!("could not write {}", self.name.display());
        let mut lines = String::new();
        for letter in letters {
            lines += &output::json(&LetterLine::of(letter, retention), serde_json::to_string)
                .with_context(failed)?;
            lines.push('\n');
        }
        let mut file = self.file.borrow_mut();
        let file = match &mut *file {
            Some(file) => file,
            none => none.insert(create(&self.name)?),
        };
        file.write_all(lines.as_bytes()).and_then(|()| file.sync_data()).with_context(failed)
    }

    /// Returns the file, if it has a letter.
    pub(crate) fn written(&self) -> Option<&Path> {
        self.file.borrow().is_some().then_some(&self.name)
    }
}

/// Creates a file that only its owner may read. Does not follow a link.
fn create(name: &Path) -> anyhow::Result<File> {
    match File::options().write(true).create_new(true).mode(0o600).open(name) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Err(exists(name)),
        created => created.with_context(|| format!("could not write {}", name.display())),
    }
}

fn exists(name: &Path) -> anyhow::Error {
    anyhow!("{} exists: choose another name, or remove it", name.display())
}
