//! Which letters are being sent, in a file that outlives the process: after `kill -9` the next run names those that may
//! arrive twice. Each run has its own file, locks it while it lives, and removes it once nothing is open.
//!
//! In a table each run has its own item for a letter, with the lines that a file would have, and deletes it once the letter
//! is not open any more. A table has no locks: nobody else receives a letter while a run holds it. So what was open when this
//! run began, about a letter that it has received, was left open, or its run is about to say that it was not sent. What
//! another run leaves open later, this one does not know, as with files.

mod entry;

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;
use std::fs::{self, DirBuilder, File};
use std::io::{self, BufReader, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};
use std::{iter, mem};

use anyhow::Context;
use tempfile::Builder;

pub(crate) use self::entry::Attempt;
use self::entry::{Action, Attempts, Entry, Open};
use crate::counted::counted;
use crate::find::Queue;
use crate::store::{Change, Store};
use crate::tell::tell;

/// No letter is older: SQS keeps none for longer.
/// <https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_SetQueueAttributes.html>
const KEPT: Duration = Duration::from_secs(14 * 24 * 60 * 60);

const END: &str = ".journal.jsonl";

/// After a write to the table failed, so that a table that does not answer holds up few batches.
const RESPITE: Duration = Duration::from_secs(30);

/// In a table, what is younger may be of a run that lives.
const MAY_LIVE: Duration = Duration::from_secs(5 * 60);

#[derive(Debug)]
pub(crate) struct Journal {
    store: Store,
    /// Of the queue's letters in a table.
    id: String,
    /// What other runs left open.
    earlier: Vec<(Run, Attempts)>,
    own: RefCell<Own>,
    /// Held over calls that write to the table: what is older must not come later.
    turn: tokio::sync::Mutex<()>,
}

/// Another run by its file, or by its id in the table. One that lives may be stopped, as after Ctrl-Z.
#[derive(Debug)]
enum Run {
    File(PathBuf),
    Lives,
    Id(String),
}

/// What this run has written.
#[derive(Debug, Default)]
struct Own {
    file: Option<(PathBuf, File)>,
    /// For a table: its id, the lines of letters that are open, and those that are to be written, by their sort keys.
    run: String,
    lines: BTreeMap<String, String>,
    changes: BTreeMap<String, Option<String>>,
    /// The sort keys of letters that the table may have.
    tried: BTreeSet<String>,
    open: BTreeSet<String>,
    /// Letters of earlier runs that this one has deleted.
    closed: BTreeSet<String>,
    /// It could not be written, which was said.
    is_broken: bool,
    /// When the table was last not written.
    failed: Option<Instant>,
}

impl Journal {
    /// Writes nothing, and knows of no earlier run.
    pub(crate) fn off() -> Self {
        Self::new(Store::Off, String::new(), vec![])
    }

    /// With what earlier runs left open of a queue, or of all in a folder.
    ///
    /// # Errors
    /// The table cannot be read. If a folder cannot be read, this only prints a warning.
    pub(crate) async fn open(store: Store, from: &Queue) -> anyhow::Result<Self> {
        let id = format!("letters#{}", from.arn);
        let earlier = match &store {
            Store::Off => vec![],
            Store::Folder(folder) => read_all(folder),
            Store::Table(table) => by_run(table.read(&id, usize::MAX).await?, SystemTime::now()),
        };
        Ok(Self::new(store, id, earlier))
    }

    fn new(store: Store, id: String, earlier: Vec<(Run, Attempts)>) -> Self {
        Self { store, id, earlier, own: RefCell::new(Own::new()), turn: tokio::sync::Mutex::default() }
    }

    /// What earlier runs left open about a letter, in no order.
    pub(crate) fn earlier(&self, letter: &str) -> impl Iterator<Item = &Attempt> {
        self.earlier.iter().filter_map(move |(_, attempts)| attempts.get(letter))
    }

    /// Says how many letters of a queue earlier runs left open.
    pub(crate) fn announce(&self, from: &Queue) {
        let open = self.left_open(from);
        if open > 0 {
            tell(format_args!(
                "redrive: an earlier run sent, or may have sent, {} of {} without deleting them: redrive dlq retry --dry-run \
                 names those that are still there",
                counted(open, "letter"),
                from.name()
            ));
        }
    }

    /// Whether another run has sent letters of a queue to another, and SQS has confirmed it.
    pub(crate) fn has_confirmed(&self, from: &Queue, to: &Queue) -> bool {
        let mut open = self.earlier.iter().flat_map(|(_, attempts)| attempts.values());
        open.any(|attempt| attempt.from == from.arn && attempt.is_confirmed_to(&to.arn))
    }

    /// How many letters of a queue earlier runs left open.
    fn left_open(&self, from: &Queue) -> usize {
        let now = SystemTime::now();
        let open = self.earlier.iter().flat_map(|(run, attempts)| {
            attempts.iter().filter(move |(_, attempt)| {
                attempt.from == from.arn && !attempt.is_remembered(now) && !run.may_have(attempt, now)
            })
        });
        open.map(|(letter, _)| letter).collect::<BTreeSet<_>>().len()
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
        if self.earlier(letter).next().is_some() {
            self.own.borrow_mut().closed.insert(letter.to_owned());
        }
    }

    /// Removes what nobody needs any more, from a table with the next [`Self::commit`]. `is_gone` says of letters of this
    /// queue whether they are in it no more.
    pub(crate) fn finish(&self, from: &Queue, is_gone: impl Fn(&str) -> bool) {
        let Own { file, open, closed, mut changes, is_broken, .. } = self.own.replace(Own::new());
        let now = SystemTime::now();
        for (run, attempts) in &self.earlier {
            let is_over = |(letter, attempt): &(&String, &Attempt)| {
                let is_gone = || attempt.from == from.arn && is_gone(letter) && !run.may_have(attempt, now);
                closed.contains(*letter) || is_gone()
            };
            let over: Vec<_> = attempts.iter().filter(is_over).map(|(letter, _)| letter).collect();
            // Whatever fails here is done by the next run.
            let _ = match run {
                Run::Id(run) => {
                    changes.extend(over.into_iter().map(|letter| (key(letter, run), None)));
                    continue;
                }
                Run::Lives => continue,
                Run::File(path) if over.len() == attempts.len() => fs::remove_file(path),
                Run::File(path) => append(path, over.into_iter().map(|letter| line(letter, Action::Deleted))),
            };
        }
        {
            let mut own = self.own.borrow_mut();
            // The next stage has a new file, which may work.
            (own.changes, own.is_broken) = (changes, is_broken && matches!(self.store, Store::Table(_)));
        }
        if let Some((path, _)) = file.filter(|_| open.is_empty()) {
            let _ = fs::remove_file(path);
        }
    }

    /// Writes to the table what is not written yet: before letters are sent, and after. A file has it already.
    pub(crate) async fn commit(&self) {
        let Store::Table(table) = &self.store else { return };
        let _turn = self.turn.lock().await;
        if self.own.borrow().failed.is_some_and(|failed| failed.elapsed() < RESPITE) {
            return;
        }
        let changes = mem::take(&mut self.own.borrow_mut().changes);
        if !changes.is_empty() {
            let puts = changes.iter().filter(|(_, lines)| lines.is_some()).map(|(key, _)| key.clone());
            self.own.borrow_mut().tried.extend(puts);
            let until = SystemTime::now() + KEPT + Duration::from_secs(24 * 60 * 60);
            let change = |(at, lines): (String, Option<String>)| Change {
                id: self.id.clone(),
                at,
                lines: lines.map(|lines| (lines, until)),
            };
            let written = table.write(changes.clone().into_iter().map(change).collect()).await;
            let mut own = self.own.borrow_mut();
            own.is_broken &= written.is_err();
            if let Err(error) = written {
                // They are tried again together with the next ones, unless these are newer.
                own.changes = changes.into_iter().chain(mem::take(&mut own.changes)).collect();
                own.failed = Some(Instant::now());
                own.warn(&error);
            }
        }
    }

    fn write(&self, letter: &str, action: Action) {
        let mut own = self.own.borrow_mut();
        match &self.store {
            Store::Off => (),
            Store::Folder(folder) => {
                if !own.is_broken
                    && let Err(error) = own.write(folder, &line(letter, action))
                {
                    own.warn(&error);
                }
            }
            Store::Table(_) => own.note(letter, action),
        }
    }
}

impl Own {
    fn new() -> Self {
        let now = humantime::format_rfc3339_millis(SystemTime::now());
        Self { run: format!("{now}-{:016x}", fastrand::u64(..)), ..Self::default() }
    }

    fn write(&mut self, folder: &Path, line: &str) -> anyhow::Result<()> {
        if self.file.is_none() {
            self.file = Some(create(folder)?);
        }
        let Some((path, file)) = &mut self.file else { return Ok(()) };
        // One call for a line, so that a kill leaves whole lines.
        file.write_all(line.as_bytes()).with_context(|| format!("could not write {}", path.display()))
    }

    fn note(&mut self, letter: &str, action: Action) {
        match action {
            Action::Sending(_) | Action::Sent { .. } => {
                self.lines.entry(letter.to_owned()).or_default().push_str(&line(letter, action));
            }
            Action::Kept | Action::Deleted => drop(self.lines.remove(letter)),
        }
        let (key, lines) = (key(letter, &self.run), self.lines.get(letter).cloned());
        if lines.is_some() || self.tried.remove(&key) {
            self.changes.insert(key, lines);
        } else {
            self.changes.remove(&key);
        }
    }

    fn warn(&mut self, error: &anyhow::Error) {
        if mem::replace(&mut self.is_broken, true) {
            return;
        }
        tell(format_args!(
            "warning: no journal: {error:#}; if this run is killed, the next one cannot name letters that may arrive twice \
             (--journal FOLDER, or --journal off)"
        ));
    }
}

impl Run {
    /// Whether it may live, and be about to delete this letter.
    fn may_have(&self, attempt: &Attempt, now: SystemTime) -> bool {
        !matches!(self, Self::File(_)) && age(attempt, now) < MAY_LIVE
    }
}

/// None by a clock of another machine that is ahead.
fn age(attempt: &Attempt, now: SystemTime) -> Duration {
    now.duration_since(attempt.at).unwrap_or_default()
}

/// The sort key of a letter's item in the table.
fn key(letter: &str, run: &str) -> String {
    format!("{letter}#{run}")
}

/// What items of a table leave open. DynamoDB may delete them days after they have expired.
fn by_run(items: Vec<(String, String)>, now: SystemTime) -> Vec<(Run, Attempts)> {
    let mut runs: BTreeMap<String, Attempts> = BTreeMap::new();
    for (at, lines) in items {
        let open = entry::open_in(lines.as_bytes()).ok().flatten().unwrap_or_default().attempts;
        if let Some((_, run)) = at.rsplit_once('#') {
            let open = open.into_iter().filter(|(_, attempt)| age(attempt, now) < KEPT);
            // By the clock of another machine, nobody knows whether a FIFO queue still drops the same message.
            let open = open.map(|(letter, attempt)| (letter, Attempt { deduplication_id: None, ..attempt }));
            runs.entry(run.to_owned()).or_default().extend(open);
        }
    }
    runs.into_iter().map(|(run, open)| (Run::Id(run), open)).collect()
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

/// What other runs left open, or have not finished. Files that are of no use go.
fn read_all(folder: &Path) -> Vec<(Run, Attempts)> {
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
        Ok(Some((lives, attempts))) if !attempts.is_empty() => {
            Some((if lives { Run::Lives } else { Run::File(path) }, attempts))
        }
        Ok(Some((false, _))) => {
            let _ = fs::remove_file(path);
            None
        }
        Ok(Some((true, _))) => None,
        Ok(None) => {
            if path.symlink_metadata().is_ok_and(|about| about.is_file() && about.len() > 0) {
                could_not_read(&path, &"it has no line of redrive's");
            }
            None
        }
        Err(error) => {
            could_not_read(&path, &error);
            None
        }
    });
    attempts.collect()
}

fn could_not_read(path: &Path, error: &impl Display) {
    tell(format_args!(
        "warning: could not read {}: {error}; letters that an earlier run sent may arrive twice without being named",
        path.display()
    ));
}

/// What a file leaves open, and whether its run lives; none if another program wrote it.
fn read(path: &Path) -> io::Result<Option<(bool, Attempts)>> {
    let about = fs::symlink_metadata(path)?;
    if !about.is_file() {
        return Ok(None);
    }
    let file = File::open(path)?;
    let lives = file.try_lock_shared().is_err();
    let is_old = about.modified().is_ok_and(|at| at.elapsed().is_ok_and(|age| age > KEPT));
    let Some(Open { attempts, damaged }) = entry::open_in(BufReader::new(file))? else { return Ok(None) };
    if is_old {
        return Ok(Some((lives, Attempts::new())));
    }
    if damaged > 0 {
        could_not_read(path, &counted(damaged, "damaged line"));
    }
    Ok(Some((lives, attempts)))
}

/// Begins a new line, because a full disk may have cut off the last one.
fn append(path: &Path, lines: impl Iterator<Item = String>) -> io::Result<()> {
    let lines: String = iter::once("\n".to_owned()).chain(lines).collect();
    File::options().append(true).open(path)?.write_all(lines.as_bytes())
}

#[cfg(test)]
mod tests;
