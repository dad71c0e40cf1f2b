//! Records who did what with letters and queues: a line of JSON for each action, in a file that stays, or in a table.

use std::collections::BTreeSet;
use std::fs::{DirBuilder, File};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use anyhow::bail;
use redrive_sqs::{QueueArn, queue_name};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::aws::Aws;
use crate::problem::{OrProblem, Problem};
use crate::store::{Change, Store, StorePlace};
use crate::tell::tell;

/// Name of the file before `.jsonl`, and id of the items in a table.
const NAME: &str = "history";

/// Bytes at the end of the file that are read.
const MOST_BYTES: u64 = 4 << 20;
const LARGE: u64 = MOST_BYTES / 4;
/// Newest items of a table that are read.
const MOST_LINES: usize = 1_000;

/// Time for which a table keeps an item.
const KEPT: Duration = Duration::from_secs(400 * 24 * 60 * 60);

/// Result of an action that AWS refused, or whose answer was lost.
pub(crate) const UNCONFIRMED: &str = "AWS did not confirm it";

/// Store of the history, unless it is off.
#[derive(Debug, Clone)]
pub(crate) struct History(Store);

/// An action on a queue or its letters.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct HistoryAction<'a> {
    /// Such as `retry`.
    pub(crate) verb: &'a str,
    /// The ARNs of the dead-letter queue, and of the queue to which letters were sent.
    pub(crate) queue: &'a str,
    pub(crate) to: Option<&'a str>,
    pub(crate) sent: u64,
    /// Letters of those that were not deleted.
    pub(crate) not_deleted: u64,
    pub(crate) deleted: u64,
    pub(crate) failed: u64,
    /// Letters that may have been sent.
    pub(crate) perhaps_sent: u64,
    /// The action in words, if it was not on letters.
    pub(crate) what: Option<&'a str>,
    /// Time of the line that recorded the start, if there is one.
    pub(crate) began: Option<&'a str>,
}

/// A line of the history.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct HistoryEntry {
    at: String,
    /// Name of the user on this machine.
    user: String,
    /// ARN of the user's identity, if STS returned it.
    #[serde(skip_serializing_if = "Option::is_none")]
    identity: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    profile: Option<String>,
    account: String,
    region: String,
    /// Endpoint, unless it is AWS.
    #[serde(skip_serializing_if = "Option::is_none")]
    endpoint: Option<String>,
    verb: String,
    queue: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    to: Option<String>,
    #[serde(default, skip_serializing_if = "is_zero")]
    sent: u64,
    #[serde(default, skip_serializing_if = "is_zero")]
    not_deleted: u64,
    #[serde(default, skip_serializing_if = "is_zero")]
    deleted: u64,
    #[serde(default, skip_serializing_if = "is_zero")]
    failed: u64,
    #[serde(default, skip_serializing_if = "is_zero")]
    perhaps_sent: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    what: Option<String>,
    /// True for a start. A line with this time in `began` has the result, unless the run was killed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    started: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    began: Option<String>,
}

impl History {
    pub(crate) fn new(store: Store) -> Self {
        Self(store)
    }

    /// Opens the history that the environment names.
    ///
    /// # Errors
    /// The table's name is invalid, or the table cannot be read.
    pub(crate) async fn from_env(aws: &Aws) -> Result<Self, Problem> {
        let store = StorePlace::from_env()?.reach(async || Ok(aws.clone())).await?;
        if let Store::Table(table) = &store {
            table.check(NAME).await.or_failed()?;
        }
        Ok(Self(store))
    }

    pub(crate) fn is_off(&self) -> bool {
        matches!(self.0, Store::Off)
    }

    /// Describes its place.
    pub(crate) fn place(&self) -> String {
        match &self.0 {
            Store::Off => "nowhere".to_owned(),
            Store::Folder(_) => "this machine".to_owned(),
            Store::Table(table) => format!("table {}", table.name()),
        }
    }

    pub(crate) fn off() -> Self {
        Self(Store::Off)
    }

    /// Records the start of an action, so that the history has it even if the process is killed. Returns its time for
    /// [`HistoryAction::began`], or none if that failed: then [`Self::record`] reports it.
    pub(crate) async fn start(&self, aws: &Aws, action: HistoryAction<'_>) -> Option<String> {
        if self.is_off() {
            return None;
        }
        let entry = HistoryEntry { started: true, ..HistoryEntry::of(aws, action).await };
        self.add(&entry).await.ok()?;
        Some(entry.at)
    }

    /// Records the result of an action, unless nothing was done. If that fails, it prints a warning.
    pub(crate) async fn record(&self, aws: &Aws, action: HistoryAction<'_>) {
        let is_known = action.began.is_some() || action.what.is_some();
        if self.is_off()
            || !is_known && action.sent + action.deleted + action.failed + action.perhaps_sent == 0
        {
            return;
        }
        if let Err(error) = self.add(&HistoryEntry::of(aws, action).await).await {
            let place = match &self.0 {
                Store::Folder(folder) => format!(" in {}", file(folder, NAME).display()),
                Store::Off | Store::Table(_) => String::new(),
            };
            tell(format_args!("warning: the action was not recorded{place}: {error:#}"));
        }
    }

    async fn add(&self, entry: &HistoryEntry) -> anyhow::Result<()> {
        let at = format!("{}#{:016x}", entry.at, fastrand::u64(..));
        self.append(NAME, at, SystemTime::now() + KEPT, entry).await
    }

    /// Returns the latest actions, oldest first: the result of each, else its start. Skips lines of other programs.
    ///
    /// # Errors
    /// The history cannot be read.
    pub(crate) async fn read(&self) -> anyhow::Result<Vec<HistoryEntry>> {
        Ok(actions(self.lines(NAME).await?))
    }

    /// Returns the latest lines of a file in the same folder, or of the items with this id.
    ///
    /// # Errors
    /// They cannot be read.
    pub(crate) async fn lines<T: DeserializeOwned>(&self, name: &str) -> anyhow::Result<Vec<T>> {
        match &self.0 {
            Store::Off => Ok(vec![]),
            Store::Folder(folder) => Ok(read(&file(folder, name))?),
            Store::Table(table) => {
                // Only the history is ordered by time.
                let most = if name == NAME { MOST_LINES } else { usize::MAX };
                let items = table.read(name, most).await?;
                Ok(items.iter().rev().filter_map(|(_, line)| serde_json::from_str(line).ok()).collect())
            }
        }
    }

    /// Keeps only these lines of a file in the same folder, if it is large. Lines that others append meanwhile are lost.
    ///
    /// # Errors
    /// The file cannot be read or written.
    pub(crate) fn shrink<T: DeserializeOwned + Serialize>(
        &self,
        name: &str,
        keep: impl FnOnce(Vec<T>) -> Vec<T>,
    ) -> anyhow::Result<()> {
        let Store::Folder(folder) = &self.0 else { return Ok(()) };
        let path = file(folder, name);
        if path.metadata()?.len() > LARGE {
            let mut part = tempfile::NamedTempFile::new_in(folder)?;
            for line in keep(read(&path)?) {
                writeln!(part, "{}", serde_json::to_string(&line)?)?;
            }
            part.persist(path)?;
        }
        Ok(())
    }

    /// Appends a line to a file in the same folder. In a table it replaces the line with the same key.
    ///
    /// # Errors
    /// The history is off, or it cannot be written.
    pub(crate) async fn append(
        &self,
        name: &str,
        key: String,
        until: SystemTime,
        line: &impl Serialize,
    ) -> anyhow::Result<()> {
        let line = serde_json::to_string(line)?;
        match &self.0 {
            Store::Off => bail!("the history is off"),
            Store::Folder(folder) => Ok(append(folder, &file(folder, name), &line)?),
            Store::Table(table) => {
                let item = Change { id: name.to_owned(), at: key, lines: Some((line, until)) };
                table.write(vec![item]).await
            }
        }
    }
}

fn file(folder: &Path, name: &str) -> PathBuf {
    folder.join(format!("{name}.jsonl"))
}

fn read<T: DeserializeOwned>(path: &Path) -> io::Result<Vec<T>> {
    let mut file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(vec![]),
        Err(error) => return Err(error),
    };
    let start = file.metadata()?.len().saturating_sub(MOST_BYTES);
    file.seek(SeekFrom::Start(start))?;
    let lines = BufReader::new(file.take(MOST_BYTES)).split(b'\n');
    lines.filter_map(|line| line.map(|line| serde_json::from_slice(&line).ok()).transpose()).collect()
}

/// Removes the starts of actions that have a result.
fn actions(mut entries: Vec<HistoryEntry>) -> Vec<HistoryEntry> {
    let key = |entry: &HistoryEntry, at: &str| (at.to_owned(), entry.user.clone(), entry.queue.clone());
    let ended: BTreeSet<_> =
        entries.iter().filter_map(|entry| Some(key(entry, entry.began.as_deref()?))).collect();
    entries.retain(|entry| !(entry.started && ended.contains(&key(entry, &entry.at))));
    entries
}

impl HistoryEntry {
    async fn of(aws: &Aws, action: HistoryAction<'_>) -> Self {
        let arn = QueueArn::parse(action.queue);
        Self {
            at: humantime::format_rfc3339_millis(SystemTime::now()).to_string(),
            user: user(),
            identity: aws.identity().await.map(str::to_owned),
            profile: aws.profile().map(str::to_owned),
            account: arn.map_or("", |arn| arn.account).to_owned(),
            region: arn.map_or("", |arn| arn.region).to_owned(),
            endpoint: aws.emulator(),
            verb: action.verb.to_owned(),
            queue: queue_name(action.queue).to_owned(),
            to: action.to.map(|to| queue_name(to).to_owned()),
            sent: action.sent,
            not_deleted: action.not_deleted,
            deleted: action.deleted,
            failed: action.failed,
            perhaps_sent: action.perhaps_sent,
            what: action.what.map(str::to_owned),
            started: false,
            began: action.began.map(str::to_owned),
        }
    }

    /// For people: `2026-11-26T18:00:00.000Z  ada (user/ada)  retry  orders-dead to orders: 10 sent  (account 123456789012, eu-west-1)`
    pub(crate) fn words(&self) -> String {
        let Self { at, user, verb, queue, account, region, .. } = self;
        let to = self.to.as_ref().map(|to| format!(" to {to}")).unwrap_or_default();
        // `arn:aws:sts::123456789012:assumed-role/admin/ada`
        let identity = self.identity.as_ref().and_then(|arn| arn.splitn(6, ':').nth(5));
        let identity = identity.map(|name| format!(" ({name})")).unwrap_or_default();
        let counts = [
            (self.sent, "sent"),
            (self.not_deleted, "of them not deleted"),
            (self.deleted, "deleted"),
            (self.failed, "failed"),
            (self.perhaps_sent, "may have been sent"),
        ];
        let counts: Vec<String> = counts
            .iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, what)| format!("{count} {what}"))
            .collect();
        let endpoint = self.endpoint.as_ref().map(|endpoint| format!(", {endpoint}")).unwrap_or_default();
        let what = match (&self.what, counts.is_empty()) {
            (Some(what), _) => what.clone(),
            (None, true) if self.started => "started, and its end was not recorded".to_owned(),
            (None, true) => "nothing".to_owned(),
            (None, false) => counts.join(", "),
        };
        format!(
            "{at}  {user}{identity}  {verb}  {queue}{to}: {what}  (account {account}, {region}{endpoint})"
        )
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

/// Appends with one call, so that lines of several processes do not mix. A full disk may have cut off the last line.
fn append(folder: &Path, file: &Path, line: &str) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let mut file = File::options().create(true).read(true).append(true).mode(0o600).open(file)?;
    let mut last = [b'\n'];
    if file.metadata()?.len() > 0 {
        file.seek(SeekFrom::End(-1))?;
        file.read_exact(&mut last)?;
    }
    let break_before = if last == [b'\n'] { "" } else { "\n" };
    file.write_all(format!("{break_before}{line}\n").as_bytes())
}
