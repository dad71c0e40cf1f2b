//! Who did what with letters: a line of JSON for each action, in a file that stays.

use std::fs::{DirBuilder, File};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use redrive_sqs::{QueueArn, queue_name};
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

    #[cfg(test)]
    pub(crate) fn off() -> Self {
        Self(None)
    }

    /// Writes an action down, unless nothing was done. If that fails, the action is none the less done.
    pub(crate) fn record(&self, aws: &Aws, action: Action<'_>) {
        let Some(folder) = &self.0 else { return };
        if action.sent + action.deleted + action.failed == 0 {
            return;
        }
        let entry = Entry::of(aws, action, user(), SystemTime::now());
        if let Err(error) = append(folder, &entry) {
            let path = folder.join(FILE);
            tell(format_args!("warning: the action was not recorded in {}: {error}", path.display()));
        }
    }

    /// The latest actions, oldest first. Lines of others are skipped.
    ///
    /// # Errors
    /// The file cannot be read.
    pub(crate) fn read(&self) -> io::Result<Vec<Entry>> {
        let Some(folder) = &self.0 else { return Ok(vec![]) };
        let mut file = match File::open(folder.join(FILE)) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(vec![]),
            Err(error) => return Err(error),
        };
        let start = file.metadata()?.len().saturating_sub(MOST_BYTES);
        file.seek(SeekFrom::Start(start))?;
        let lines = BufReader::new(file.take(MOST_BYTES)).split(b'\n');
        lines.filter_map(|line| line.map(|line| serde_json::from_slice(&line).ok()).transpose()).collect()
    }
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
        let counts = counts.join(", ");
        format!("{at}  {user}  {verb}  {queue}{to}: {counts}  (account {account}, {region}{endpoint})")
    }
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

fn user() -> String {
    let named = |name| std::env::var(name).ok().filter(|name| !name.is_empty());
    let uid = || format!("uid {}", rustix::process::getuid().as_raw());
    named("USER").or_else(|| named("LOGNAME")).unwrap_or_else(uid)
}

/// By one call, so that lines of several processes do not mix.
fn append(folder: &Path, entry: &Entry) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let mut file = File::options().create(true).append(true).mode(0o600).open(folder.join(FILE))?;
    file.write_all((serde_json::to_string(entry)? + "\n").as_bytes())
}
