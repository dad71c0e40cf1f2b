//! Which letters are being sent, in a file that outlives the process: after `kill -9` the next run names those that may
//! arrive twice. Each run has its own file, locks it while it lives, and removes it once nothing is open.

mod entry;

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::{self, DirBuilder, File};
use std::io::{self, BufReader, Write};
use std::iter;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use anyhow::Context;
use tempfile::Builder;

pub(crate) use self::entry::Attempt;
use self::entry::{Action, Attempts, Entry};
use crate::counted::counted;
use crate::find::Queue;
use crate::tell::tell;

/// No letter is older: SQS keeps none for longer.
/// <https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_SetQueueAttributes.html>
const KEPT: Duration = Duration::from_secs(14 * 24 * 60 * 60);

const END: &str = ".journal.jsonl";

#[derive(Debug)]
pub(crate) struct Journal {
    /// None if nothing is to be written.
    folder: Option<PathBuf>,
    /// The files of runs that ended with letters open.
    earlier: Vec<(PathBuf, Attempts)>,
    own: RefCell<Own>,
}

/// The file of this run.
#[derive(Debug, Default)]
struct Own {
    file: Option<(PathBuf, File)>,
    open: BTreeSet<String>,
    /// Letters of earlier runs that this one has deleted.
    closed: BTreeSet<String>,
    /// It could not be written, which was said.
    is_broken: bool,
}

impl Journal {
    /// Writes nothing, and knows of no earlier run.
    pub(crate) fn off() -> Self {
        Self { folder: None, earlier: vec![], own: RefCell::default() }
    }

    /// In this folder, with what earlier runs left there.
    pub(crate) fn open(folder: Option<PathBuf>) -> Self {
        let earlier = folder.as_deref().map(read_all).unwrap_or_default();
        Self { folder, earlier, own: RefCell::default() }
    }

    /// What an earlier run left open about a letter.
    pub(crate) fn earlier(&self, letter: &str) -> Option<&Attempt> {
        self.earlier.iter().find_map(|(_, attempts)| attempts.get(letter))
    }

    /// Says how many letters of a queue earlier runs left open.
    pub(crate) fn announce(&self, from: &Queue) {
        let now = SystemTime::now();
        let open = self.earlier.iter().flat_map(|(_, attempts)| attempts.values());
        let open = open.filter(|attempt| attempt.from == from.arn && !attempt.is_remembered(now)).count();
        if open > 0 {
            tell(format_args!(
                "redrive: an earlier run sent, or may have sent, {} of {} without deleting them: --dry-run names those \
                 that are still there",
                counted(open, "letter"),
                from.name()
            ));
        }
    }

    /// Before a letter is sent.
    pub(crate) fn sending(&self, letter: &str, attempt: &Attempt) {
        self.own.borrow_mut().open.insert(letter.to_owned());
        self.write(letter, Action::Sending(attempt.clone()));
    }

    /// SQS confirmed it.
    pub(crate) fn sent(&self, letter: &str, sent_as: Option<&str>) {
        self.write(letter, Action::Sent { sent_as: sent_as.map(str::to_owned) });
    }

    /// It was not sent, and stays.
    pub(crate) fn kept(&self, letter: &str) {
        // What an earlier run has sent is not undone by that.
        if self.own.borrow_mut().open.remove(letter) {
            self.write(letter, Action::Kept);
        }
    }

    /// It was deleted.
    pub(crate) fn deleted(&self, letter: &str) {
        if self.own.borrow_mut().open.remove(letter) {
            self.write(letter, Action::Deleted);
        }
        if self.earlier(letter).is_some() {
            self.own.borrow_mut().closed.insert(letter.to_owned());
        }
    }

    /// Removes what nobody needs any more. `is_gone` says of letters of this queue whether they are in it no more.
    pub(crate) fn finish(&self, from: &Queue, is_gone: impl Fn(&str) -> bool) {
        let Own { file, open, closed, .. } = self.own.take();
        for (path, attempts) in &self.earlier {
            let is_over = |(letter, attempt): &(&String, &Attempt)| {
                closed.contains(*letter) || attempt.from == from.arn && is_gone(letter)
            };
            let over: Vec<_> = attempts.iter().filter(is_over).map(|(letter, _)| letter).collect();
            // Whatever fails here is done by the next run.
            let _ = match over.len() == attempts.len() {
                true => fs::remove_file(path),
                false => append(path, over.into_iter().map(|letter| line(letter, Action::Deleted))),
            };
        }
        if let Some((path, _)) = file.filter(|_| open.is_empty()) {
            let _ = fs::remove_file(path);
        }
    }

    fn write(&self, letter: &str, action: Action) {
        let mut own = self.own.borrow_mut();
        let Some(folder) = self.folder.as_deref().filter(|_| !own.is_broken) else { return };
        let write = |own: &mut Own| {
            if own.file.is_none() {
                own.file = Some(create(folder)?);
            }
            let Some((path, file)) = &mut own.file else { return Ok(()) };
            // One call for a line, so that a kill leaves whole lines.
            file.write_all(line(letter, action).as_bytes())
                .with_context(|| format!("could not write {}", path.display()))
        };
        if let Err(error) = write(&mut own) {
            own.is_broken = true;
            tell(format_args!(
                "warning: no journal: {error:#}; if this run is killed, the next one cannot name letters that may arrive \
                 twice (--journal FOLDER, or --journal off)"
            ));
        }
    }
}

/// The folder that is meant: none for `off`. `variable` reads the environment.
pub(crate) fn folder(flag: Option<&Path>, variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let set = |name: &str| variable(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    // A relative one is to be ignored: https://specifications.freedesktop.org/basedir-spec/latest/
    let absolute = |name: &str| set(name).filter(|path| path.is_absolute());
    let of_state = || absolute("XDG_STATE_HOME").or_else(|| Some(absolute("HOME")?.join(".local/state")));
    let given = flag.map(Path::to_owned).or_else(|| set("REDRIVE_JOURNAL"));
    given.or_else(|| Some(of_state()?.join("redrive"))).filter(|path| path.as_os_str() != "off")
}

fn line(letter: &str, action: Action) -> String {
    Entry::new(SystemTime::now(), letter, action).line()
}

/// Under another name until it is locked: nobody takes it for the file of a run that has ended.
fn create(folder: &Path) -> anyhow::Result<(PathBuf, File)> {
    let could_not = || format!("could not write to {}", folder.display());
    DirBuilder::new().recursive(true).mode(0o700).create(folder).with_context(could_not)?;
    let now = humantime::format_rfc3339_millis(SystemTime::now()).to_string().replace(':', "-");
    let mut builder = Builder::new();
    let part =
        builder.prefix(&format!("{now}-")).suffix(&format!("{END}.part")).append(true).tempfile_in(folder);
    let part = part.with_context(could_not)?;
    part.as_file().try_lock().with_context(could_not)?;
    let path = part.path().with_extension("");
    let file = part.persist_noclobber(&path).with_context(could_not)?;
    Ok((path, file))
}

/// What runs left that live no more. Files that are of no use go.
fn read_all(folder: &Path) -> Vec<(PathBuf, Attempts)> {
    let files = match fs::read_dir(folder) {
        Ok(files) => files,
        Err(error) => {
            // No run can have written there.
            if !matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) {
                could_not_read(folder, &error);
            }
            return vec![];
        }
    };
    let paths = files.filter_map(|file| Some(file.ok()?.path()));
    let paths = paths.filter(|path| path.to_string_lossy().ends_with(END));
    let attempts = paths.filter_map(|path| match read(&path) {
        Ok(Some(attempts)) if !attempts.is_empty() => Some((path, attempts)),
        Ok(Some(_)) => {
            let _ = fs::remove_file(path);
            None
        }
        Ok(None) => None,
        Err(error) => {
            could_not_read(&path, &error);
            None
        }
    });
    attempts.collect()
}

fn could_not_read(path: &Path, error: &io::Error) {
    tell(format_args!(
        "warning: could not read {}: {error}; letters that an earlier run sent may arrive twice without being named",
        path.display()
    ));
}

/// None if its run lives, or if another program wrote it.
fn read(path: &Path) -> io::Result<Option<Attempts>> {
    let about = fs::symlink_metadata(path)?;
    if !about.is_file() {
        return Ok(None);
    }
    let file = File::open(path)?;
    if file.try_lock_shared().is_err() {
        return Ok(None);
    }
    let is_old = about.modified().is_ok_and(|at| at.elapsed().is_ok_and(|age| age > KEPT));
    Ok(entry::open_in(BufReader::new(file))?.map(|open| if is_old { Attempts::new() } else { open }))
}

/// Begins a new line, because a full disk may have cut off the last one.
fn append(path: &Path, lines: impl Iterator<Item = String>) -> io::Result<()> {
    let lines: String = iter::once("\n".to_owned()).chain(lines).collect();
    File::options().append(true).open(path)?.write_all(lines.as_bytes())
}

#[cfg(test)]
mod tests;
