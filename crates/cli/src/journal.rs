//! Records the letters that are being sent in a file that outlives the process: after `kill -9` the next run names those that
//! may arrive twice. Each run has its own file, locks it while it lives, and removes it once nothing is open.
//!
//! In a table, each run has its own item for a letter, with the lines of such a file, and deletes it once the letter is not
//! open any more. A table has no locks, but nobody else receives a letter while a run holds it. So an entry that was open when
//! this run began, for a letter that it received, was left open, or its run is about to record that the letter was not sent. As
//! with files, this run does not see what other runs leave open later.

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
use self::entry::{Attempts, JournalEntry, LetterStep, Open};
use crate::counted::counted;
use crate::find::Queue;
use crate::store::{Change, Store};
use crate::tell::tell;

/// Greatest age of a letter. SQS keeps messages for up to 14 days.
/// <https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_SetQueueAttributes.html>
const KEPT: Duration = Duration::from_secs(14 * 24 * 60 * 60);

const END: &str = ".journal.jsonl";

/// Pause after a failed write, so that a table that does not answer delays few batches.
const RESPITE: Duration = Duration::from_secs(30);

/// Age below which an item of a table may belong to a run that lives.
const MAY_LIVE: Duration = Duration::from_secs(5 * 60);

#[derive(Debug)]
pub(crate) struct Journal {
    store: Store,
    /// Id of the items for the queue's letters in a table.
    id: String,
    /// Attempts that other runs left open.
    earlier: Vec<(OtherRun, Attempts)>,
    own: RefCell<Own>,
    /// Locked during writes to the table, so that an older one does not arrive later.
    turn: tokio::sync::Mutex<()>,
}

/// Another run, by its file, or by its id in the table. A run that lives may be suspended, as after Ctrl-Z.
#[derive(Debug)]
enum OtherRun {
    File(PathBuf),
    Lives,
    Id(String),
}

/// State of this run's own file or items.
#[derive(Debug, Default)]
struct Own {
    file: Option<(PathBuf, File)>,
    /// For a table: the run's id, the lines of open letters, and the changes to write, by their sort keys.
    run: String,
    lines: BTreeMap<String, String>,
    changes: BTreeMap<String, Option<String>>,
    /// Sort keys of letters that the table may have.
    tried: BTreeSet<String>,
    open: BTreeSet<String>,
    /// Letters of earlier runs that this one has deleted.
    closed: BTreeSet<String>,
    /// True if a write failed, which was reported.
    is_broken: bool,
    /// Time of the last failed write to the table.
    failed: Option<Instant>,
}

impl Journal {
    /// Returns a journal that writes nothing and knows no earlier run.
    pub(crate) fn off() -> Self {
        Self::new(Store::Off, String::new(), vec![])
    }

    /// Opens the journal with the attempts that earlier runs left open, for a queue or for all of a folder.
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

    fn new(store: Store, id: String, earlier: Vec<(OtherRun, Attempts)>) -> Self {
        Self { store, id, earlier, own: RefCell::new(Own::new()), turn: tokio::sync::Mutex::default() }
    }

    /// Returns the attempts that earlier runs left open for a letter, in no order.
    pub(crate) fn earlier(&self, letter: &str) -> impl Iterator<Item = &Attempt> {
        self.earlier.iter().filter_map(move |(_, attempts)| attempts.get(letter))
    }

    /// Reports the number of a queue's letters that earlier runs left open.
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

    /// Returns true if another run has sent letters from one queue to the other, and SQS has confirmed it.
    pub(crate) fn has_confirmed(&self, from: &Queue, to: &Queue) -> bool {
        let mut open = self.earlier.iter().flat_map(|(_, attempts)| attempts.values());
        open.any(|attempt| attempt.from == from.arn && attempt.is_confirmed_to(&to.arn))
    }

    /// Counts the letters of a queue that earlier runs left open.
    fn left_open(&self, from: &Queue) -> usize {
        let now = SystemTime::now();
        let open = self.earlier.iter().flat_map(|(run, attempts)| {
            attempts.iter().filter(move |(_, attempt)| {
                attempt.from == from.arn && !attempt.is_remembered(now) && !run.may_have(attempt, now)
            })
        });
        open.map(|(letter, _)| letter).collect::<BTreeSet<_>>().len()
    }

    /// Records that a letter is about to be sent.
    pub(crate) fn sending(&self, letter: &str, attempt: &Attempt) {
        self.own.borrow_mut().open.insert(letter.to_owned());
        self.write(letter, LetterStep::Sending(attempt.clone()));
    }

    /// Records that SQS confirmed the send.
    pub(crate) fn sent(&self, letter: &str, sent_as: Option<&str>) {
        self.write(letter, LetterStep::Sent { sent_as: sent_as.map(str::to_owned) });
    }

    /// Records that the letter was not sent and stays.
    pub(crate) fn kept(&self, letter: &str) {
        // An earlier run may have sent it, which this does not undo.
        if self.own.borrow_mut().open.remove(letter) {
            self.write(letter, LetterStep::Kept);
        }
    }

    /// Records that the letter was deleted.
    pub(crate) fn deleted(&self, letter: &str) {
        if self.own.borrow_mut().open.remove(letter) {
            self.write(letter, LetterStep::Deleted);
        }
        if self.earlier(letter).next().is_some() {
            self.own.borrow_mut().closed.insert(letter.to_owned());
        }
    }

    /// Removes entries that nobody needs any more. In a table, the next [`Self::commit`] does so. `is_gone` returns true for
    /// letters that have left the queue.
    pub(crate) fn finish(&self, from: &Queue, is_gone: impl Fn(&str) -> bool) {
        let Own { file, open, closed, mut changes, is_broken, .. } = self.own.replace(Own::new());
        let now = SystemTime::now();
        for (run, attempts) in &self.earlier {
            let is_over = |(letter, attempt): &(&String, &Attempt)| {
                let is_gone = || attempt.from == from.arn && is_gone(letter) && !run.may_have(attempt, now);
                closed.contains(*letter) || is_gone()
            };
            let over: Vec<_> = attempts.iter().filter(is_over).map(|(letter, _)| letter).collect();
            // If this fails, the next run does it.
            let _ = match run {
                OtherRun::Id(run) => {
                    changes.extend(over.into_iter().map(|letter| (key(letter, run), None)));
                    continue;
                }
                OtherRun::Lives => continue,
                OtherRun::File(path) if over.len() == attempts.len() => fs::remove_file(path),
                OtherRun::File(path) => {
                    append(path, over.into_iter().map(|letter| line(letter, LetterStep::Deleted)))
                }
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

    /// Writes pending changes to the table, before and after letters are sent. A file already has them.
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
                // They are written again with the next changes, unless these are newer.
                own.changes = changes.into_iter().chain(mem::take(&mut own.changes)).collect();
                own.failed = Some(Instant::now());
                own.warn(&error);
            }
        }
    }

    fn write(&self, letter: &str, action: LetterStep) {
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

    fn note(&mut self, letter: &str, action: LetterStep) {
        match action {
            LetterStep::Sending(_) | LetterStep::Sent { .. } => {
                self.lines.entry(letter.to_owned()).or_default().push_str(&line(letter, action));
            }
            LetterStep::Kept | LetterStep::Deleted => drop(self.lines.remove(letter)),
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

impl OtherRun {
    /// Returns true if the run may live and be about to delete this letter.
    fn may_have(&self, attempt: &Attempt, now: SystemTime) -> bool {
        !matches!(self, Self::File(_)) && age(attempt, now) < MAY_LIVE
    }
}

/// Computes the age, which is zero if another machine's clock is ahead.
fn age(attempt: &Attempt, now: SystemTime) -> Duration {
    now.duration_since(attempt.at).unwrap_or_default()
}

/// Returns the sort key of a letter's item in the table.
fn key(letter: &str, run: &str) -> String {
    format!("{letter}#{run}")
}

/// Returns the attempts that the items leave open, by run. DynamoDB may delete items days after they expire.
fn by_run(items: Vec<(String, String)>, now: SystemTime) -> Vec<(OtherRun, Attempts)> {
    let mut runs: BTreeMap<String, Attempts> = BTreeMap::new();
    for (at, lines) in items {
        let open = entry::open_in(lines.as_bytes()).ok().flatten().unwrap_or_default().attempts;
        if let Some((_, run)) = at.rsplit_once('#') {
            let open = open.into_iter().filter(|(_, attempt)| age(attempt, now) < KEPT);
            // The clocks of machines differ, so nobody knows whether a FIFO queue still drops the same message.
            let open = open.map(|(letter, attempt)| (letter, Attempt { deduplication_id: None, ..attempt }));
            runs.entry(run.to_owned()).or_default().extend(open);
        }
    }
    runs.into_iter().map(|(run, open)| (OtherRun::Id(run), open)).collect()
}

fn line(letter: &str, action: LetterStep) -> String {
    JournalEntry::new(SystemTime::now(), letter, action).line()
}

/// Creates the file under another name until it is locked, so that nobody takes it for the file of a run that has ended.
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

/// Returns the attempts that other runs left open or have not finished. Removes files that are of no use.
fn read_all(folder: &Path) -> Vec<(OtherRun, Attempts)> {
    let files = match fs::read_dir(folder) {
        Ok(files) => files,
        Err(error) => {
            // In these two cases, no run can have written there.
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
            Some((if lives { OtherRun::Lives } else { OtherRun::File(path) }, attempts))
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

/// Reads the attempts that a file leaves open, and whether its run lives. Returns none if another program wrote the file.
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
