//! Who did what with letters: a line of JSON for each action, in a file that stays.

use std::collections::BTreeSet;
use std::fs::{DirBuilder, File};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use redrive_sqs::{QueueArn, queue_name};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::aws::Aws;
use crate::journal;
use crate::tell::tell;

const FILE: &str = "history.jsonl";

/// Of the file, no more than its end is read.
const MOST_BYTES: u64 = 4 << 20;

/// Where actions are written down, if they are.
#[derive(Debug, Clone)]
pub(crate) struct History(Option<PathBuf>);

/// What was done with the letters of a queue.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Action<'a> {
    /// Such as `retry`.
    pub(crate) verb: &'a str,
    /// The ARNs of the dead-letter queue, and of the queue to which letters were sent.
    pub(crate) queue: &'a str,
    pub(crate) to: Option<&'a str>,
    pub(crate) sent: u64,
    pub(crate) deleted: u64,
    pub(crate) failed: u64,
    /// When it started, if a line says so.
    pub(crate) began: Option<&'a str>,
}

/// A line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Entry {
    at: String,
    /// Of this machine: only CloudTrail knows who AWS takes it to be.
    user: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    profile: Option<String>,
    account: String,
    region: String,
    /// Unless it is AWS.
    #[serde(skip_serializing_if = "Option::is_none")]
    endpoint: Option<String>,
    verb: String,
    queue: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    to: Option<String>,
    #[serde(default, skip_serializing_if = "is_zero")]
    sent: u64,
    #[serde(default, skip_serializing_if = "is_zero")]
    deleted: u64,
    #[serde(default, skip_serializing_if = "is_zero")]
    failed: u64,
    /// It is about to be done: a line with this time in `began` says what came of it, unless the run was killed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    started: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    began: Option<String>,
}

impl History {
    /// In this folder.
    pub(crate) fn new(folder: Option<PathBuf>) -> Self {
        Self(folder)
    }

    /// Where the environment says.
    pub(crate) fn from_env() -> Self {
        Self(journal::folder(None, |name| std::env::var_os(name)))
    }

    pub(crate) fn is_off(&self) -> bool {
        self.0.is_none()
    }

    #[cfg(test)]
    pub(crate) fn off() -> Self {
        Self(None)
    }

    /// Writes down that an action starts, so that the history has it even if the process is killed. Its time is for
    /// [`Action::began`]. If that fails, the end says so.
    pub(crate) fn start(&self, aws: &Aws, action: Action<'_>) -> Option<String> {
        let entry = Entry { started: true, ..Entry::of(aws, action, user(), SystemTime::now()) };
        append(self.0.as_deref()?, FILE, &entry).ok()?;
        Some(entry.at)
    }

    /// Writes an action down, unless nothing was done. If that fails, the action is none the less done.
    pub(crate) fn record(&self, aws: &Aws, action: Action<'_>) {
        let Some(folder) = &self.0 else { return };
        if action.began.is_none() && action.sent + action.deleted + action.failed == 0 {
            return;
        }
        let entry = Entry::of(aws, action, user(), SystemTime::now());
        if let Err(error) = append(folder, FILE, &entry) {
            let path = folder.join(FILE);
            tell(format_args!("warning: the action was not recorded in {}: {error}", path.display()));
        }
    }

    /// The latest actions, oldest first: how each ended, else that it started. Lines of others are skipped.
    ///
    /// # Errors
    /// The file cannot be read.
    pub(crate) fn read(&self) -> io::Result<Vec<Entry>> {
        Ok(actions(self.lines(FILE)?))
    }

    /// The latest lines of a file in the same folder.
    ///
    /// # Errors
    /// The file cannot be read.
    pub(crate) fn lines<T: DeserializeOwned>(&self, file: &str) -> io::Result<Vec<T>> {
        let Some(folder) = &self.0 else { return Ok(vec![]) };
        let mut file = match File::open(folder.join(file)) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(vec![]),
            Err(error) => return Err(error),
        };
        let start = file.metadata()?.len().saturating_sub(MOST_BYTES);
        file.seek(SeekFrom::Start(start))?;
        let lines = BufReader::new(file.take(MOST_BYTES)).split(b'\n');
        lines.filter_map(|line| line.map(|line| serde_json::from_slice(&line).ok()).transpose()).collect()
    }

    /// Appends a line to a file in the same folder.
    ///
    /// # Errors
    /// The history is off, or the file cannot be written.
    pub(crate) fn append(&self, file: &str, line: &impl Serialize) -> io::Result<()> {
        append(self.0.as_deref().ok_or_else(|| io::Error::other("the history is off"))?, file, line)
    }
}

/// Without the starts of those that ended.
fn actions(mut entries: Vec<Entry>) -> Vec<Entry> {
    let key = |entry: &Entry, at: &str| (at.to_owned(), entry.user.clone(), entry.queue.clone());
    let ended: BTreeSet<_> =
        entries.iter().filter_map(|entry| Some(key(entry, entry.began.as_deref()?))).collect();
    entries.retain(|entry| !(entry.started && ended.contains(&key(entry, &entry.at))));
    entries
}

impl Entry {
    fn of(aws: &Aws, action: Action<'_>, user: String, at: SystemTime) -> Self {
        let arn = QueueArn::parse(action.queue);
        Self {
            at: humantime::format_rfc3339_millis(at).to_string(),
            user,
            profile: aws.profile().map(str::to_owned),
            account: arn.map_or("", |arn| arn.account).to_owned(),
            region: arn.map_or("", |arn| arn.region).to_owned(),
            endpoint: aws.emulator(),
            verb: action.verb.to_owned(),
            queue: queue_name(action.queue).to_owned(),
            to: action.to.map(|to| queue_name(to).to_owned()),
            sent: action.sent,
            deleted: action.deleted,
            failed: action.failed,
            started: false,
            began: action.began.map(str::to_owned),
        }
    }

    /// For people: `2026-11-26T18:00:00.000Z  ada  retry  orders-dead to orders: 10 sent  (account 123456789012, eu-west-1)`
    pub(crate) fn words(&self) -> String {
        let Self { at, user, verb, queue, account, region, .. } = self;
        let to = self.to.as_ref().map(|to| format!(" to {to}")).unwrap_or_default();
        let counts = [(self.sent, "sent"), (self.deleted, "deleted"), (self.failed, "failed")];
        let counts: Vec<String> = counts
            .iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, what)| format!("{count} {what}"))
            .collect();
        let endpoint = self.endpoint.as_ref().map(|endpoint| format!(", {endpoint}")).unwrap_or_default();
        let counts = match counts.is_empty() {
            true if self.started => "started, and its end was not recorded".to_owned(),
            true => "nothing".to_owned(),
            false => counts.join(", "),
        };
        format!("{at}  {user}  {verb}  {queue}{to}: {counts}  (account {account}, {region}{endpoint})")
    }
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

pub(crate) fn user() -> String {
    let named = |name| std::env::var(name).ok().filter(|name| !name.is_empty());
    let uid = || format!("uid {}", rustix::process::getuid().as_raw());
    named("USER").or_else(|| named("LOGNAME")).unwrap_or_else(uid)
}

/// By one call, so that lines of several processes do not mix. A full disk may have cut off the last one.
fn append(folder: &Path, file: &str, line: &impl Serialize) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let mut file =
        File::options().create(true).read(true).append(true).mode(0o600).open(folder.join(file))?;
    let mut last = [b'\n'];
    if file.metadata()?.len() > 0 {
        file.seek(SeekFrom::End(-1))?;
        file.read_exact(&mut last)?;
    }
    let break_before = if last == [b'\n'] { "" } else { "\n" };
    file.write_all(format!("{break_before}{}\n", serde_json::to_string(line)?).as_bytes())
}
